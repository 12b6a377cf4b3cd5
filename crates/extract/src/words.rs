//! Counting words in any script.

/// Reading speed in words per minute (heuristics reference §7).
const WORDS_PER_MINUTE: u32 = 200;

/// Reading time in minutes: at 200 words per minute, rounded up, at least 1 (heuristics reference §7).
#[must_use]
pub fn reading_time_minutes(words: u32) -> u32 {
    words.div_ceil(WORDS_PER_MINUTE).max(1)
}

/// Counts the words of a text.
///
/// A run of letters and digits is a word, with inner apostrophes and full stops. In scripts without spaces
/// between words, characters are divided by the usual length of a word, rounded up for each run. That is 2
/// for Chinese and Japanese, 4 for Thai, Lao, Khmer and Burmese.
#[must_use]
pub fn count_words(text: &str) -> u32 {
    let mut counter = Counter::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let ascii = ascii_prefix(&bytes[at..]);
        counter.ascii(ascii);
        at += ascii.len();
        for c in text[at..].chars().take_while(|c| !c.is_ascii()) {
            counter.wide(c);
            at += c.len_utf8();
        }
    }
    counter.finish()
}

/// A letter or digit of ASCII.
pub(crate) const LETTER: u8 = 1;
/// ASCII byte that may be within a word.
pub(crate) const INNER: u8 = 2;
/// Whitespace of ASCII.
pub(crate) const SPACE: u8 = 4;
/// ASCII comma, semicolon or sentence end.
pub(crate) const MARK: u8 = 8;
/// First byte of commas and sentence ends beyond ASCII. Quotation marks and dashes begin with other bytes.
pub(crate) const BEGINS_MARK: u8 = 16;

/// Classes of each byte.
pub(crate) const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < MARK_STARTS.len() {
        classes[MARK_STARTS[at] as usize] = BEGINS_MARK;
        at += 1;
    }
    let mut byte = 0u8;
    while byte < 0x80 {
        let mut class = 0;
        if byte.is_ascii_alphanumeric() {
            class |= LETTER;
        }
        if matches!(byte, b'\'' | b'.' | b'_') {
            class |= INNER;
        }
        if byte.is_ascii_whitespace() {
            class |= SPACE;
        }
        if matches!(byte, b',' | b'.' | b';' | b'!' | b'?') {
            class |= MARK;
        }
        classes[byte as usize] = class;
        byte += 1;
    }
    classes
};

/// First bytes of the marks that [`crate::text::is_mark`] names.
const MARK_STARTS: [u8; 8] = [0xc2, 0xd6, 0xd8, 0xdb, 0xe0, 0xe1, 0xe3, 0xef];

#[derive(Default)]
struct Counter {
    words: u32,
    in_word: bool,
    two: u32,
    four: u32,
}

impl Counter {
    /// Takes ASCII bytes.
    fn ascii(&mut self, bytes: &[u8]) {
        if bytes.len() < MIN_VECTOR {
            return bytes.iter().for_each(|byte| self.byte(*byte));
        }
        // A byte that may be within a word does not end a run of a script without spaces.
        if self.two + self.four > 0 && bytes.iter().any(|byte| !is_inner(*byte)) {
            self.end_runs();
        }
        for part in bytes.chunks(MAX_PART) {
            let (words, in_word) = ascii_words(part, self.in_word);
            self.words += words;
            self.in_word = in_word;
        }
    }

    fn byte(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() {
            self.start_word();
        } else if !is_inner(byte) {
            self.end_runs();
            self.in_word = false;
        }
    }

    fn start_word(&mut self) {
        if !self.in_word {
            self.end_runs();
            self.words += 1;
            self.in_word = true;
        }
    }

    fn wide(&mut self, c: char) {
        match script(c) {
            Script::Two => {
                self.in_word = false;
                self.two += 1;
            }
            Script::Four => {
                self.in_word = false;
                self.four += 1;
            }
            Script::Spaced if is_alphanumeric(c) => self.start_word(),
            // Marks belong to the previous letter; typographic apostrophes and joiners are within words.
            Script::Spaced if c == '\u{2019}' || c == '\u{ad}' || ('\u{200b}'..='\u{200d}').contains(&c) => {}
            Script::Spaced if is_mark(c) => {}
            Script::Spaced => {
                self.end_runs();
                self.in_word = false;
            }
        }
    }

    const fn end_runs(&mut self) {
        self.words += self.two.div_ceil(2) + self.four.div_ceil(4);
        self.two = 0;
        self.four = 0;
    }

    fn finish(mut self) -> u32 {
        self.end_runs();
        self.words
    }
}

/// Leading ASCII bytes.
fn ascii_prefix(bytes: &[u8]) -> &[u8] {
    /// Bytes that are tested at once.
    const STEP: usize = 32;
    let whole = bytes.chunks_exact(STEP).take_while(|chunk| chunk.is_ascii()).count() * STEP;
    let rest = bytes[whole..].iter().take(STEP).take_while(|byte| byte.is_ascii()).count();
    &bytes[..whole + rest]
}

const fn is_inner(byte: u8) -> bool {
    CLASSES[byte as usize] & INNER != 0
}

/// Words that begin in ASCII text, and true if it ends within one. `in_word`: a word ends right before it.
///
/// Counts letters that follow no letter, which compiles to vector instructions. Then it subtracts those that
/// go on with a word after bytes that may be within one: those bytes are rare.
pub(crate) fn ascii_words(bytes: &[u8], in_word: bool) -> (u32, bool) {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return (0, in_word) };
    let later = count_pairs(bytes, &bytes[1..], |a, b| !is_letter(a) & is_letter(b));
    let words = later + u32::from(is_letter(*first) && !in_word);
    let (joined, ends_in_word) = joined(bytes, in_word);
    (words - joined, ends_in_word.unwrap_or(is_letter(*last)))
}

/// Counts the pairs of bytes at the same position that pass a test. A count in one byte is added by vector
/// instructions for many bytes at once.
pub(crate) fn count_pairs(a: &[u8], b: &[u8], test: impl Fn(u8, u8) -> bool) -> u32 {
    let count = |a: &[u8], b: &[u8]| {
        let pairs = a.iter().zip(b);
        u32::from(pairs.fold(0_u8, |count, (a, b)| count + u8::from(test(*a, *b))))
    };
    a.chunks(MAX_BYTE_COUNT).zip(b.chunks(MAX_BYTE_COUNT)).map(|(a, b)| count(a, b)).sum()
}

/// Counts the bytes that pass a test with the two bytes behind them, like [`count_pairs`].
fn count_triples(bytes: &[u8], test: impl Fn(u8, u8, u8) -> bool) -> u32 {
    let (Some(second), Some(third)) = (bytes.get(1..), bytes.get(2..)) else { return 0 };
    let count = |((a, b), c): ((&[u8], &[u8]), &[u8])| {
        let triples = a.iter().zip(b).zip(c);
        u32::from(triples.fold(0_u8, |count, ((a, b), c)| count + u8::from(test(*a, *b, *c))))
    };
    let parts = bytes.chunks(MAX_BYTE_COUNT).zip(second.chunks(MAX_BYTE_COUNT));
    parts.zip(third.chunks(MAX_BYTE_COUNT)).map(count).sum()
}

/// Starts of letters that go on with a word after bytes that may be within one. The second value is set if
/// the text ends with such bytes: true if they may be within a word.
fn joined(bytes: &[u8], in_word: bool) -> (u32, Option<bool>) {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
    let before = |at: usize| at.checked_sub(1).map_or(in_word, |at| is_letter(bytes[at]));
    // With `matches!` this would not compile to vector instructions.
    let is_inner_byte = |byte: u8| (byte == b'\'') | (byte == b'.') | (byte == b'_');
    if let [first, second, .., last] = bytes
        && count_pairs(bytes, &bytes[1..], |a, b| is_inner_byte(a) & is_inner_byte(b)) == 0
    {
        let inner = count_triples(bytes, |a, b, c| is_letter(a) & is_inner_byte(b) & is_letter(c));
        let at_start = u32::from(in_word && is_inner(*first) && is_letter(*second));
        return (inner + at_start, is_inner(*last).then(|| before(bytes.len() - 1)));
    }
    let (mut joined, mut run_end) = (0, 0);
    for at in memchr::memchr3_iter(b'\'', b'.', b'_', bytes) {
        if at < run_end {
            continue;
        }
        run_end = bytes[at..].iter().position(|byte| !is_inner(*byte)).map_or(bytes.len(), |len| at + len);
        match bytes.get(run_end) {
            Some(byte) => joined += u32::from(before(at) && is_letter(*byte)),
            None => return (joined, Some(before(at))),
        }
    }
    (joined, None)
}

/// Fewer bytes are counted faster one by one.
const MIN_VECTOR: usize = 32;

/// Bytes that are counted in one byte: a multiple of the bytes of vector instructions, at most 255.
const MAX_BYTE_COUNT: usize = 224;

/// Bytes that are counted together: in a long text, several bytes that may be within a word are somewhere in
/// a row.
const MAX_PART: usize = 4 * MAX_BYTE_COUNT;

enum Script {
    Spaced,
    Two,
    Four,
}

const fn script(c: char) -> Script {
    match c as u32 {
        // the middle dot between katakana is no letter
        0x30FB => Script::Spaced,
        0x3040..=0x30FF
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF => Script::Two,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF => Script::Four,
        _ => Script::Spaced,
    }
}

/// [`char::is_alphanumeric`] of characters beyond ASCII. Common ones are found without the search in the
/// tables of the standard library.
fn is_alphanumeric(c: char) -> bool {
    match c {
        '\u{c0}'..='\u{d6}'
        | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2c1}'
        | '\u{400}'..='\u{481}'
        | '\u{5d0}'..='\u{5ea}'
        | '\u{620}'..='\u{64a}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        '\u{2010}'..='\u{206f}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' => false,
        _ => c.is_alphanumeric(),
    }
}

/// Returns true for combining marks of scripts in which a word would otherwise be split (Devanagari and
/// related scripts, Hebrew, Arabic, combining diacritics). The standard library does not have their general
/// category.
const fn is_mark(c: char) -> bool {
    matches!(c as u32, 0x0300..=0x036F | 0x0591..=0x05C7 | 0x0610..=0x061A | 0x064B..=0x065F | 0x0670
        | 0x0900..=0x0DFF | 0xFE20..=0xFE2F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_time_is_rounded_up() {
        for (words, minutes) in [(0, 1), (1, 1), (200, 1), (201, 2), (1000, 5), (1001, 6)] {
            assert_eq!(reading_time_minutes(words), minutes, "{words} words");
        }
    }

    #[test]
    fn bulk_ascii_word_count_equals_byte_by_byte() {
        let slow = |bytes: &[u8], mut in_word: bool| {
            let mut words = 0;
            for byte in bytes {
                let was_in_word = in_word;
                in_word = byte.is_ascii_alphanumeric() || is_inner(*byte) && was_in_word;
                words += u32::from(in_word && !was_in_word);
            }
            (words, in_word)
        };
        // All texts of six bytes of four kinds.
        for number in 0..4_usize.pow(6) {
            let bytes: Vec<u8> = (0..6).map(|at| b"a. '"[number / 4_usize.pow(at) % 4]).collect();
            for in_word in [false, true] {
                for len in 0..=bytes.len() {
                    assert_eq!(
                        ascii_words(&bytes[..len], in_word),
                        slow(&bytes[..len], in_word),
                        "{bytes:?}"
                    );
                }
            }
        }
        for len in [0, 1, 31, 32, 33, 64, 70] {
            let text = format!("{}é{}", "a".repeat(len), "b".repeat(40));
            assert_eq!(ascii_prefix(text.as_bytes()).len(), len);
        }
    }

    #[test]
    fn alphanumeric_table_equals_the_standard_library() {
        let other = ('\u{80}'..=char::MAX).find(|c| is_alphanumeric(*c) != c.is_alphanumeric());
        assert_eq!(other, None);
    }

    #[test]
    fn words_are_counted_in_many_scripts() {
        for (text, words) in [
            ("", 0),
            (" -- ", 0),
            ("It's a well-known fact.", 5),
            ("Größe und Übergröße", 3),
            ("Привет, мир!", 2),
            ("مرحبا بالعالم", 2),
            ("नमस्ते दुनिया", 2),
            ("这是一个测试。", 3),
            ("東京タワーに行く", 4),
            ("「東京・大阪」、京都。", 3),
            ("ภาษาไทย", 2),
            ("mixed 中文 text", 3),
        ] {
            assert_eq!(count_words(text), words, "{text}");
        }
    }
}
