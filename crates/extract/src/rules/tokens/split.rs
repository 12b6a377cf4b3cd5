//! Words of the names in a class or id attribute.

/// Kind of a byte of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Lower,
    Upper,
    Digit,
    Mark,
}

/// Kinds by byte.
const KINDS: [Byte; 256] = {
    let mut kinds = [Byte::Mark; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' => Byte::Lower,
            b'A'..=b'Z' => Byte::Upper,
            b'0'..=b'9' => Byte::Digit,
            _ => Byte::Mark,
        };
        byte += 1u8;
    }
    kinds
};

/// Names in lower case, split into words.
#[derive(Default)]
pub(super) struct Split {
    text: String,
    /// Start of its name, start and end of each word.
    ends: Vec<(u32, u32, u32)>,
}

impl Split {
    /// Reads the words of names between white space, in place of those before.
    pub(super) fn read(&mut self, names: &str) {
        self.text.clear();
        self.ends.clear();
        names.split_ascii_whitespace().for_each(|name| self.name(name));
    }

    /// Adds the words of a name: split at characters other than letters and digits, and before a capital that
    /// follows a small letter.
    fn name(&mut self, name: &str) {
        let first = self.text.len();
        let (mut start, mut last_lower) = (first, false);
        if name.is_ascii() {
            self.text.push_str(name);
            self.text[first..].make_ascii_lowercase();
            for (at, byte) in name.bytes().enumerate() {
                let kind = KINDS[usize::from(byte)];
                if kind == Byte::Mark || last_lower && kind == Byte::Upper {
                    self.word(first, start, first + at);
                    start = first + at + usize::from(kind == Byte::Mark);
                }
                last_lower = kind == Byte::Lower;
            }
        } else {
            for c in name.chars() {
                let splits = !c.is_alphanumeric();
                if splits || last_lower && c.is_uppercase() {
                    self.word(first, start, self.text.len());
                    start = self.text.len();
                }
                if !splits {
                    self.text.extend(c.to_lowercase());
                }
                last_lower = c.is_lowercase();
            }
        }
        self.word(first, start, self.text.len());
    }

    /// Adds a non-empty word. Attributes are far shorter than 4 GiB.
    fn word(&mut self, name: usize, start: usize, end: usize) {
        if start < end {
            self.ends.push((name as u32, start as u32, end as u32));
        }
    }

    /// Words, each with its start and the start of its name.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.ends.iter().map(|(name, start, end)| (self.part(*start, *end), *start, *name))
    }

    /// A part of a word.
    pub(super) fn part(&self, start: u32, end: u32) -> &str {
        &self.text[start as usize..end as usize]
    }
}
