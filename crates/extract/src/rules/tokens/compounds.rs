//! Names that consist of known words without a mark between them: `mainfooter`.

use rustc_hash::FxHashMap;

/// Words that compounds are split into: `mainfooter` is `main` and `footer`.
#[derive(Clone, Debug, Default)]
pub(super) struct Compounds {
    words: Index<()>,
}

/// Bytes of a compound: a shorter name is a word by itself, a longer one is generated.
const COMPOUND: std::ops::RangeInclusive<usize> = 5..=40;

impl Compounds {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a String>) -> Self {
        let mut words: Vec<String> =
            all.filter(|word| word.is_ascii() && word.len() > 1).map(|word| word.to_lowercase()).collect();
        words.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        words.dedup();
        let mut index = Index::default();
        words.iter().for_each(|word| index.add(word, ()));
        Self { words: index }
    }

    /// Returns true if a name consists of two known words or more; `parts` then holds them, longest words first. Digits may
    /// stand behind a word.
    pub(super) fn split<'a>(&'a self, name: &'a str, parts: &mut Vec<&'a str>) -> bool {
        if !COMPOUND.contains(&name.len()) || !name.is_ascii() {
            return false;
        }
        parts.clear();
        let whole = self.parts(name, 0, &mut 0, parts);
        let words = parts.iter().filter(|part| !part.starts_with(|c: char| c.is_ascii_digit())).count();
        whole && words > 1
    }

    /// Splits the rest of a name from a byte on. `dead` holds the bytes from which that fails.
    fn parts<'a>(&'a self, name: &'a str, at: usize, dead: &mut u64, parts: &mut Vec<&'a str>) -> bool {
        let rest = &name[at..];
        if rest.is_empty() {
            return true;
        }
        if *dead & (1 << at) != 0 {
            return false;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && at > 0 {
            parts.push(&rest[..digits]);
            if self.parts(name, at + digits, dead, parts) {
                return true;
            }
            parts.pop();
        }
        for (word, ()) in self.words.beginning(rest) {
            parts.push(word);
            if self.parts(name, at + word.len(), dead, parts) {
                return true;
            }
            parts.pop();
        }
        *dead |= 1 << at;
        false
    }
}

/// Words with values, to be found by the texts that they begin. Words of one first byte keep their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Index<T> {
    /// By first byte.
    lists: FxHashMap<u8, Vec<Indexed<T>>>,
}

#[derive(Clone, Debug)]
struct Indexed<T> {
    /// The first eight bytes, which nearly all texts fail at.
    head: u64,
    mask: u64,
    word: String,
    value: T,
}

impl<T> Index<T> {
    /// Adds a word unless it is empty.
    pub(super) fn add(&mut self, word: &str, value: T) {
        let Some(first) = word.bytes().next() else { return };
        let mask = u64::MAX.checked_shr(64 - 8 * word.len().min(8) as u32).unwrap_or(0);
        let indexed = Indexed { head: head(word), mask, word: word.to_owned(), value };
        self.lists.entry(first).or_default().push(indexed);
    }

    /// The words that begin a text.
    pub(super) fn beginning<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, &'a T)> {
        let first = head(text);
        let list = text.as_bytes().first().and_then(|byte| self.lists.get(byte)).into_iter().flatten();
        list.filter(move |it| {
            first & it.mask == it.head && (it.word.len() <= 8 || text.starts_with(&*it.word))
        })
        .map(|it| (&*it.word, &it.value))
    }
}

/// The first eight bytes of a text, the first one lowest; zeros behind a shorter one.
fn head(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_le_bytes(bytes)
}
