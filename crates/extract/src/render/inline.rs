//! The text of one block while it is being put together.

/// An inline element that is open, and where its text begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) id: u32,
    pub(super) start: usize,
}

/// Text of a block: whitespace folded, marks put around what is inside of them.
#[derive(Debug, Default)]
pub(super) struct Inline {
    pub(super) text: String,
    pub(super) marks: Vec<Mark>,
    pub(super) chars: u32,
    pub(super) link_chars: u32,
    pub(super) nodes: Vec<u32>,
}

impl Inline {
    /// Adds the text of a node.
    pub(super) fn push(&mut self, text: &str, in_link: bool) {
        let before = self.text.len();
        let mut rest = text;
        if rest.starts_with(|c: char| is_space(c)) {
            self.space();
            rest = rest.trim_start_matches(is_space);
        }
        // Runs without whitespace are copied whole.
        while !rest.is_empty() {
            let end = rest.find(is_space).unwrap_or(rest.len());
            self.text.push_str(&rest[..end]);
            rest = &rest[end..];
            if !rest.is_empty() {
                self.space();
                rest = rest.trim_start_matches(is_space);
            }
        }
        let added = self.text[before..].bytes().filter(|b| b & 0xC0 != 0x80).count() as u32;
        self.chars += added;
        if in_link {
            self.link_chars += added;
        }
    }

    /// One space, unless there is one or nothing yet.
    pub(super) fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// A line break inside of the block.
    pub(super) fn newline(&mut self, hard: &str) {
        let len = self.text.trim_end_matches(' ').len();
        self.text.truncate(len);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(hard);
            self.text.push('\n');
        }
    }

    /// Opens an inline element.
    pub(super) fn open(&mut self, id: u32) {
        self.marks.push(Mark { id, start: self.text.len() });
    }

    /// Closes an inline element; gives the byte range of its text without whitespace at the ends, if it has any.
    /// `None` as well if a block ended inside of it.
    pub(super) fn close(&mut self, id: u32) -> Option<std::ops::Range<usize>> {
        let at = self.marks.iter().rposition(|mark| mark.id == id)?;
        let start = self.marks[at].start;
        self.marks.truncate(at);
        let inner = self.text.get(start..)?;
        let trimmed = inner.trim_matches([' ', '\n']);
        if trimmed.is_empty() {
            return None;
        }
        let from = start + inner.len() - inner.trim_start_matches([' ', '\n']).len();
        Some(from..from + trimmed.len())
    }

    /// Puts marks around a range.
    pub(super) fn wrap(&mut self, range: std::ops::Range<usize>, before: &str, after: &str) {
        self.text.insert_str(range.end, after);
        self.text.insert_str(range.start, before);
    }
}

/// What HTML folds, and the no-break space, which in text is a space.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c' | '\u{a0}' | '\u{2028}' | '\u{200b}' | '\u{feff}')
}

/// Escapes what at the start of a paragraph would be read as a heading, list or quote.
pub(super) fn escape_start(text: &mut String) {
    let bytes = text.as_bytes();
    let special = match bytes.first() {
        Some(b'#') => bytes.iter().position(|b| *b != b'#').is_none_or(|at| at <= 6 && bytes[at] == b' '),
        Some(b'-' | b'+' | b'*' | b'>') => bytes.get(1).is_none_or(|b| *b == b' '),
        _ => false,
    };
    if special {
        text.insert(0, '\\');
        return;
    }
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if (1..=9).contains(&digits)
        && matches!(bytes.get(digits), Some(b'.' | b')'))
        && matches!(bytes.get(digits + 1), Some(b' '))
    {
        text.insert(digits, '\\');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_and_wraps() {
        let mut inline = Inline::default();
        inline.push(" a\n ", false);
        inline.open(7);
        inline.push(" b\u{a0}c ", true);
        let range = inline.close(7).unwrap();
        inline.wrap(range, "**", "**");
        inline.push(" d", false);
        assert_eq!(inline.text, "a **b c** d");
        assert_eq!((inline.chars, inline.link_chars), (7, 4));
    }

    #[test]
    fn escapes_only_what_would_be_read_otherwise() {
        for (text, want) in [
            ("# a", "\\# a"),
            ("#a", "#a"),
            ("- a", "\\- a"),
            ("-a", "-a"),
            ("1. a", "1\\. a"),
            ("1.5 a", "1.5 a"),
            ("*a*", "*a*"),
            ("> a", "\\> a"),
        ] {
            let mut text = text.to_owned();
            escape_start(&mut text);
            assert_eq!(text, want);
        }
    }
}
