//! Names that consist of known words without a separator: `mainfooter`.

use rustc_hash::FxHashMap;

/// Words into which compounds are split: `mainfooter` is `main` and `footer`.
#[derive(Clone, Debug, Default)]
pub(super) struct Compounds {
    words: Index<()>,
}

/// Length of a compound in bytes: a shorter name is a word, a longer one is generated.
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

    /// Ends of the parts of a name as bits, if it consists of at least two known words; otherwise 0. Longer
    /// words are tried first. Digits may follow a word.
    pub(super) fn split(&self, name: &str) -> u64 {
        if !COMPOUND.contains(&name.len()) || !name.is_ascii() {
            return 0;
        }
        let cuts = self.cuts(name, 0, &mut 0).unwrap_or(0);
        let words = parts(name, cuts).filter(|part| !part.starts_with(|c: char| c.is_ascii_digit())).count();
        if words > 1 { cuts } else { 0 }
    }

    /// Ends of the parts from a byte on. `dead` holds the bytes from which no split exists.
    fn cuts(&self, name: &str, at: usize, dead: &mut u64) -> Option<u64> {
        let rest = &name[at..];
        if rest.is_empty() {
            return Some(0);
        }
        if *dead & (1 << at) != 0 {
            return None;
        }
        let mut cut = |length: usize| Some(self.cuts(name, at + length, dead)? | 1 << (at + length));
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let behind_digits = if digits > 0 && at > 0 { cut(digits) } else { None };
        let cuts =
            behind_digits.or_else(|| self.words.beginning(rest).find_map(|(word, ())| cut(word.len())));
        if cuts.is_none() {
            *dead |= 1 << at;
        }
        cuts
    }
}

/// Parts of a name that end at the set bits.
pub(super) fn parts(name: &str, mut cuts: u64) -> impl Iterator<Item = &str> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = (cuts != 0).then_some(cuts.trailing_zeros() as usize)?;
        cuts &= cuts - 1;
        let part = name.get(start..end);
        start = end;
        part
    })
}

/// Words with values, found by the texts that they begin. Words with the same first byte keep their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Index<T> {
    /// Lists by first byte.
    lists: FxHashMap<u8, Vec<Indexed<T>>>,
}

#[derive(Clone, Debug)]
struct Indexed<T> {
    /// The first eight bytes, which nearly all texts fail to match.
    head: u64,
    mask: u64,
    word: String,
    value: T,
}

impl<T> Index<T> {
    /// Adds a non-empty word.
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

/// The first eight bytes of a text, the first one lowest; zeros after a shorter one.
fn head(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_le_bytes(bytes)
}
