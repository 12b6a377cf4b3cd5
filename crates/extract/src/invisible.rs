//! Invisible characters, which carry instructions for programs or command a terminal.
//!
//! Joiners, direction marks and variation selectors stay if they change the look of the text. They do so in
//! emoji, in scripts with joining letters, and in right-to-left text.

mod classes;

use classes::{
    BEGINS_SUSPECT, can_join, has_variants, is_carrier, is_conjoining, is_control, is_direction, is_emoji,
    is_mark, is_mongolian, is_rtl, is_suspect, is_unspaced,
};
use std::borrow::Cow;

/// A text without its invisible characters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    /// The text that is left.
    pub(crate) text: String,
    /// Number of removed characters that have no use in a text and can carry a hidden one.
    pub(crate) carriers: u32,
}

/// Maximum combining marks of one letter.
const MAX_MARKS: u32 = 4;

/// Subdivision flags that Unicode recommends for interchange, as tag characters after a black flag.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
const BLACK_FLAG: char = '\u{1f3f4}';
const CANCEL_TAG: char = '\u{e007f}';

/// Removes invisible characters, and control characters except tabs and line feeds. A control that ends a
/// line or a word is replaced by a line feed or a space. `None` if the text has none.
pub(crate) fn clean(text: &str) -> Option<Cleaned> {
    let mut at = next_suspect(text, 0)?;
    let mut cleaner = Cleaner::new(text);
    let mut done = 0;
    loop {
        cleaner.push_plain(&text[done..at]);
        let mut rest = text[at..].chars();
        let Some(c) = rest.next() else { break };
        done = at + c.len_utf8();
        if text[..at].ends_with(BLACK_FLAG)
            && let Some(flag) = flag_at(&text[at..])
        {
            done = at + flag;
            cleaner.out.push_str(&text[at..done]);
        } else if is_control(c) {
            let gap = replacement_space(c, rest.as_str());
            gap.filter(|gap| *gap != ' ' || !cleaner.out.ends_with(' '))
                .into_iter()
                .for_each(|gap| cleaner.push(gap));
        } else if cleaner.keeps(c, rest.as_str()) {
            cleaner.push(c);
        } else {
            cleaner.carriers += u32::from(is_carrier(c));
        }
        at = next_suspect(text, done).unwrap_or(text.len());
    }
    let Cleaner { out, carriers, .. } = cleaner;
    (out != text).then_some(Cleaned { text: out, carriers })
}

/// Whitespace that replaces a control. CommonMark reads a carriage return as a line end. C1 controls are
/// mostly bytes of doubly decoded text, and separate words there.
fn replacement_space(control: char, rest: &str) -> Option<char> {
    match control {
        '\r' => (!rest.starts_with('\n')).then_some('\n'),
        '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1f}' | '\u{80}'..='\u{9f}' => Some(' '),
        _ => None,
    }
}

/// Bytes of a text that are checked together.
const CHUNK: usize = 64;

/// Returns true if the text has a character that may be invisible.
pub(crate) fn has_suspect(text: &str) -> bool {
    next_suspect(text, 0).is_some()
}

/// Position of the first possibly invisible character at or after `from`.
pub(crate) fn next_suspect(text: &str, from: usize) -> Option<usize> {
    let is_at = |at: usize| text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(is_suspect);
    let begins = |(at, byte): (usize, &u8)| BEGINS_SUSPECT[usize::from(*byte)] && is_at(at);
    let first_in = |start: usize, part: &[u8]| {
        part.iter().enumerate().map(|(at, byte)| (start + at, byte)).find(|at| begins(*at)).map(|(at, _)| at)
    };
    let mut start = from;
    // Chunks of a known length compile to vector instructions without a loop.
    let (chunks, rest) = text.as_bytes()[from..].as_chunks::<CHUNK>();
    for chunk in chunks {
        if chunk.iter().fold(false, |any, byte| any | is_unusual(*byte))
            && let Some(at) = first_in(start, chunk)
        {
            return Some(at);
        }
        start += CHUNK;
    }
    first_in(start, rest)
}

/// Returns true for a byte that is neither printable ASCII, a tab nor a line feed. As signed numbers, bytes
/// beyond ASCII are below zero, so one comparison finds them and most controls.
const fn is_unusual(byte: u8) -> bool {
    (byte.cast_signed() < b' '.cast_signed()) & (byte != b'\t') & (byte != b'\n') | (byte == b'\x7f')
}

/// The text without invisible characters.
pub(crate) fn without(text: &str) -> Cow<'_, str> {
    clean(text).map_or(Cow::Borrowed(text), |cleaned| Cow::Owned(cleaned.text))
}

/// Removes invisible characters and soft hyphens from a text in place.
pub(crate) fn remove_from(text: &mut String) {
    if let Some(cleaned) = clean(text) {
        cleaned.text.trim().clone_into(text);
    }
    if text.contains('\u{ad}') {
        text.retain(|c| c != '\u{ad}');
    }
}

/// Bytes of the flag at the start of the tag characters.
fn flag_at(text: &str) -> Option<usize> {
    let is_flag = |flag: &&&str| {
        let tags = flag.chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).chain([CANCEL_TAG]);
        text.chars().take(flag.len() + 1).eq(tags)
    };
    FLAGS.iter().find(is_flag).map(|flag| CANCEL_TAG.len_utf8() * (flag.len() + 1))
}

/// The state of a removal.
struct Cleaner<'a> {
    text: &'a str,
    out: String,
    /// The last character that was kept.
    last: char,
    /// Combining marks since the last other character.
    marks: u32,
    carriers: u32,
    /// Kept direction controls, in order; computed at the first one.
    pairs: Option<Vec<bool>>,
    controls: usize,
    has_rtl: Option<bool>,
    /// Last result of [`Self::next_shown`], and its position.
    shown: Option<(usize, Option<char>)>,
}

impl<'a> Cleaner<'a> {
    fn new(text: &'a str) -> Self {
        let out = String::with_capacity(text.len());
        Self {
            text,
            out,
            last: ' ',
            marks: 0,
            carriers: 0,
            pairs: None,
            controls: 0,
            has_rtl: None,
            shown: None,
        }
    }

    /// Adds text without a suspect.
    fn push_plain(&mut self, text: &str) {
        if let Some(last) = text.chars().next_back() {
            (self.marks, self.last) = (0, last);
            self.out.push_str(text);
        }
    }

    fn push(&mut self, c: char) {
        self.marks = if is_mark(c) { self.marks + 1 } else { 0 };
        self.last = c;
        self.out.push(c);
    }

    fn has_rtl(&mut self) -> bool {
        *self.has_rtl.get_or_insert_with(|| self.text.chars().any(is_rtl))
    }

    /// The first character of the rest that is no suspect. A run of suspects is searched once.
    fn next_shown(&mut self, rest: &str) -> Option<char> {
        let from = self.text.len() - rest.len();
        if let Some((_, c)) = self.shown.filter(|(at, _)| *at >= from) {
            return c;
        }
        let found = rest.char_indices().find(|(_, c)| !is_suspect(*c));
        self.shown = Some((from + found.map_or(rest.len(), |(at, _)| at), found.map(|(_, c)| c)));
        found.map(|(_, c)| c)
    }

    /// Returns true if a suspect character changes the look of the text between the kept part and the rest.
    fn keeps(&mut self, c: char, rest: &str) -> bool {
        let last = self.last;
        let mut next = || self.next_shown(rest);
        match c {
            _ if is_mark(c) => self.marks < MAX_MARKS,
            // possible hyphenation; Markdown has none
            '\u{ad}' => last.is_alphanumeric() && rest.starts_with(char::is_alphanumeric),
            // a word break in scripts without spaces
            '\u{200b}' => is_unspaced(last) && next().is_some_and(is_unspaced),
            '\u{200c}' => {
                can_join(last) && next().is_some() || next().is_some_and(can_join) && last.is_alphanumeric()
            }
            '\u{200d}' => can_join(last) || is_emoji(last) && next().is_some_and(is_emoji),
            '\u{200e}' | '\u{200f}' | '\u{61c}' => {
                !matches!(last, '\u{200e}' | '\u{200f}' | '\u{61c}') && self.has_rtl()
            }
            _ if is_direction(c) => self.is_paired(),
            '\u{fe0e}' | '\u{fe0f}' => {
                is_emoji(last) && !is_suspect(last) || matches!(last, '0'..='9' | '#' | '*')
            }
            '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => has_variants(last),
            '\u{180b}'..='\u{180f}' => is_mongolian(last),
            '\u{115f}' | '\u{1160}' => is_conjoining(last) || rest.chars().next().is_some_and(is_conjoining),
            _ => false,
        }
    }

    /// Returns true if the next direction control has a partner, overrides no letters, and the text runs from
    /// right to left.
    fn is_paired(&mut self) -> bool {
        if !self.has_rtl() {
            return false;
        }
        let at = self.controls;
        self.controls += 1;
        let pairs = self.pairs.get_or_insert_with(|| paired(self.text));
        pairs.get(at).copied().unwrap_or(false)
    }
}

/// True for each direction control of a text that is a closed embedding or isolate, or closes one.
fn paired(text: &str) -> Vec<bool> {
    let controls: Vec<char> = text.chars().filter(|c| is_direction(*c)).collect();
    let mut stays = vec![false; controls.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, c) in controls.iter().enumerate() {
        let is_isolate = |from: usize| matches!(controls[from], '\u{2066}'..='\u{2068}');
        let from = match c {
            '\u{202c}' => open.pop_if(|from| !is_isolate(*from)),
            '\u{2069}' => {
                // an isolate ends the embeddings inside of it
                let start = open.iter().rposition(|from| is_isolate(*from));
                start.and_then(|start| open.drain(start..).next())
            }
            _ => {
                open.push(at);
                None
            }
        };
        if let Some(from) = from
            && !matches!(controls[from], '\u{202d}' | '\u{202e}')
        {
            (stays[from], stays[at]) = (true, true);
        }
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_byte_filter_misses_no_suspect_character() {
        let mut bytes = [0; 4];
        for c in '\0'..=char::MAX {
            let first = c.encode_utf8(&mut bytes).as_bytes()[0];
            assert!(!is_suspect(c) || BEGINS_SUSPECT[usize::from(first)], "{c:?}");
        }
        assert!((0..=u8::MAX).all(|byte| !BEGINS_SUSPECT[usize::from(byte)] || is_unusual(byte)));
        // a character across the border of two chunks
        for n in 0..2 * CHUNK {
            let around = |c: &str| format!("{}{c}{}", "a".repeat(n), "b".repeat(CHUNK));
            for c in ["\u{200b}", "\u{1b}", "\u{7f}"] {
                assert_eq!(next_suspect(&around(c), 0), Some(n), "{n}");
            }
            assert!(!has_suspect(&around("\u{2019}\u{e9}\t\n")), "{n}");
        }
    }

    #[test]
    fn controls_are_removed_or_become_whitespace() {
        for (text, left) in [
            ("a\u{1b}[31mb\u{9b}2Jc\u{7f}\u{0}\u{8}d", "a[31mb 2Jcd"),
            ("\u{e2}\u{80}\u{99}s \u{9b}t", "\u{e2} s t"),
            ("a\tb\nc", "a\tb\nc"),
            ("a\r\nb\rc\u{b}d\u{c}e\u{85}f\u{1d}g", "a\nb\nc d e f g"),
        ] {
            assert_eq!(without(text), left, "{text:?}");
        }
        for c in ('\0'..='\u{a0}').filter(|c| c.is_control() && !matches!(c, '\t' | '\n')) {
            assert!(!without(&format!("a{c}b")).contains(c), "{c:?}");
        }
    }

    #[test]
    fn invisible_characters_are_removed() {
        for (text, left) in [
            ("plain", "plain"),
            ("Grüße", "Grüße"),
            ("a\u{e0049}\u{e0067}\u{e006e}b", "ab"),
            ("a\u{1f600}\u{e0139}\u{e0157}b", "a\u{1f600}b"),
            ("i\u{200b}g\u{200b}n", "ign"),
            ("s\u{200b}\u{200c}\u{200c}\u{200b} t", "s t"),
            ("a\u{200d}\u{200d}b \u{1f600}\u{200d}", "ab \u{1f600}"),
            ("a \u{202e}cba\u{202c} d", "a cba d"),
            ("a \u{2067}b", "a b"),
            ("a \u{ad}\u{ad}b\u{2063}c\u{34f}d\u{feff}e\u{2060}f", "a bcdef"),
            ("a\u{3164}\u{115f}\u{1160}\u{ffa0}b", "ab"),
            ("a\u{fff9}b\u{fffa}c\u{fffb}", "abc"),
            ("a\u{fe0f}\u{fe00}\u{fe01}b", "ab"),
            ("\u{1f600}\u{fe0f}\u{fe0e}\u{fe0f}", "\u{1f600}\u{fe0f}"),
            ("a\u{1d173}\u{206a}\u{180e}b", "ab"),
            // tags of no flag
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}", "\u{1f3f4}"),
        ] {
            assert_eq!(without(text), left, "{text:?}");
        }
        let zalgo = format!("Z{}y", "\u{335}".repeat(40));
        assert_eq!(without(&zalgo), format!("Z{}y", "\u{335}".repeat(4)));
    }

    #[test]
    fn joiners_that_shape_text_stay() {
        for text in [
            "می\u{200c}خواهم برمی\u{200c}گردم PDF\u{200c}ها",
            "families 👨\u{200d}👩\u{200d}👧 and 🏳\u{fe0f}\u{200d}🌈 and 👩🏽\u{200d}🚀",
            "flags \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}.",
            "1\u{fe0f}\u{20e3} and ❤\u{fe0f} and ©\u{fe0f}",
            "العبارة \u{200f}(A)\u{200f} و \u{2066}B\u{2069} \u{202a}C\u{202c}",
            "क्\u{200d}ष ന്\u{200d} ක්\u{200d}ර",
            "葛\u{e0100}城 辻\u{fe00}",
            "ᠠ\u{180b}ᠨ\u{180e}ᠠ",
            "ភាសា\u{200b}ខ្មែរ",
            "soft\u{ad}hyphen",
            "e\u{301}\u{323} Vie\u{302}\u{323}t",
            "\u{115f}\u{1161}",
        ] {
            assert_eq!(clean(text), None, "{text}");
        }
    }

    #[test]
    fn only_hidden_data_carriers_are_counted() {
        let count = |text: &str| clean(text).map_or(0, |cleaned| cleaned.carriers);
        assert_eq!(count("soft\u{ad}\u{ad}hyphen zero\u{200b}width"), 0);
        assert_eq!(count("a\u{e0049}\u{e0067}b\u{2063}c\u{e0139}\u{202e}d"), 5);
    }

    #[test]
    fn bidi_controls_are_paired_in_order() {
        assert_eq!(
            paired("\u{202a}\u{2067}\u{202b}\u{2069}\u{202c}\u{202c}"),
            [true, true, false, true, true, false]
        );
        assert_eq!(paired("\u{202e}\u{202c}\u{2069}\u{2066}"), [false; 4]);
    }
}
