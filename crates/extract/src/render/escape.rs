//! Escapes of characters that Markdown would read as marks. Only necessary escapes are written, since a
//! backslash disturbs readers of the text.

/// Marks of a paragraph, which decide its escapes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paragraph {
    stars: bool,
    underscores: bool,
    tildes: bool,
    dollars: bool,
    /// True if `[1]` refers to a URL below the text.
    numbers: bool,
}

impl Paragraph {
    /// Reads the prose of a paragraph, and the whole of it with a sign for each mark. `marked`: parts of it
    /// get marks; `formula`: it contains a formula.
    pub(super) fn of(prose: &str, whole: &str, marked: bool, formula: bool, numbers: bool) -> Self {
        let several = |mark: u8| memchr::memchr_iter(mark, prose.as_bytes()).take(2).count() > 1;
        let any = |mark: u8| memchr::memchr(mark, prose.as_bytes()).is_some();
        Self {
            stars: several(b'*') || marked && any(b'*'),
            underscores: several(b'_') || marked && any(b'_'),
            tildes: several(b'~') || marked && any(b'~'),
            dollars: any(b'$') && (formula || encloses(whole)),
            numbers,
        }
    }
}

/// Returns true for two dollar signs that Markdown readers take for the marks of a formula.
fn encloses(prose: &str) -> bool {
    let bytes = prose.as_bytes();
    let is_gap = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let mut opened = false;
    for at in memchr::memchr_iter(b'$', bytes) {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + 1);
        if opened && !is_gap(before) && !after.is_some_and(u8::is_ascii_digit) {
            return true;
        }
        opened |= !is_gap(after);
    }
    false
}

/// Context of a run of prose.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunContext {
    /// Character of the output after the run.
    pub(super) next: Option<char>,
    /// True if the run is in the text of a link.
    pub(super) in_link: bool,
    /// True if a reference to a footnote precedes it.
    pub(super) behind_note: bool,
}

/// True for bytes that may be marks.
const MAY_BE_MARK: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        table[byte as usize] = may_be_mark(byte);
        byte += 1;
    }
    table
};

/// Returns true for a byte that may be a mark; all are ASCII.
const fn may_be_mark(byte: u8) -> bool {
    matches!(byte, b'\\' | b'`' | b'*' | b'_' | b'~' | b'[' | b']' | b'!' | b'<' | b'&' | b'$')
}

/// Returns true if a text contains a byte that may be a mark.
pub(super) fn has_marks(text: &str) -> bool {
    // Without an early exit, the compiler compares many bytes at once.
    text.bytes().fold(false, |found, byte| found | may_be_mark(byte))
}

/// Returns true if a text contains a mark that [`Paragraph::of`] counts.
pub(super) fn has_counted_marks(text: &str) -> bool {
    text.bytes().fold(false, |found, byte| found | matches!(byte, b'*' | b'_' | b'~' | b'$'))
}

/// Adds a run of prose with the necessary escapes.
pub(super) fn push(out: &mut String, prose: &str, around: RunContext, paragraph: Paragraph) {
    if around.behind_note && prose.starts_with(['(', ':', '[']) {
        out.push('\\');
    }
    let mut rest = prose;
    let mut prev = out.chars().next_back();
    while let Some(at) = rest.bytes().position(|byte| MAY_BE_MARK[usize::from(byte)]) {
        let run = &rest[..at];
        out.push_str(run);
        prev = run.chars().next_back().or(prev);
        let mut chars = rest[at..].chars();
        let Some(mark) = chars.next() else { break };
        rest = chars.as_str();
        let next = rest.chars().next().or(around.next);
        let already = at == 0 && around.behind_note && mark == '[' && rest.len() + 1 == prose.len();
        if !already && is_read(mark, prev, next, rest, around, paragraph) {
            out.push('\\');
        }
        out.push(mark);
        prev = Some(mark);
    }
    out.push_str(rest);
}

/// Returns true if a character is read as a mark at its position.
fn is_read(
    mark: char,
    prev: Option<char>,
    next: Option<char>,
    rest: &str,
    around: RunContext,
    paragraph: Paragraph,
) -> bool {
    let is_gap = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let alone = is_gap(prev) && is_gap(next);
    match mark {
        '\\' => next.is_none_or(|c| c.is_ascii_punctuation() || c == '\n'),
        '`' => true,
        '*' => paragraph.stars && !alone,
        '_' => {
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            paragraph.underscores && !alone && !(is_word(prev) && is_word(next))
        }
        '~' => paragraph.tildes && !alone,
        '[' => {
            around.in_link
                || next == Some('^')
                || paragraph.numbers && next.is_some_and(|c| c.is_ascii_digit())
        }
        ']' => around.in_link || matches!(next, Some('(' | '[' | ':')),
        '!' => rest.is_empty() && next == Some('['),
        '<' => next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
        '&' => is_entity(rest),
        '$' => paragraph.dollars,
        _ => false,
    }
}

/// Longest name of a character reference, in bytes.
const LONGEST_NAME: usize = 31;

/// Returns true if the text after an ampersand makes it a character reference. The search for its end is
/// bounded, since a text may consist of ampersands.
fn is_entity(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    let start = &bytes[..bytes.len().min(LONGEST_NAME + 1)];
    let Some(name) = start.iter().position(|b| *b == b';').map(|end| &rest[..end]) else { return false };
    let digits = |text: &str, hex: bool| {
        (1..=7).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_digit() || hex && b.is_ascii_hexdigit())
    };
    match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => digits(hex, true),
            None => digits(number, false),
        },
        None => (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric()),
    }
}

/// Escapes a line start that would be read as heading, list, quotation, rule, fence, URL or border of a
/// table. The line is the text from byte `from` on. `first`: it begins a paragraph; `item`: that of a list item.
pub(super) fn escape_start(text: &mut String, from: usize, first: bool, item: bool) {
    let bytes = &text.as_bytes()[from..];
    let ends = |at: usize| bytes.get(at).is_none_or(|b| *b == b' ');
    let special = match bytes.first() {
        Some(b'#') => bytes.iter().position(|b| *b != b'#').is_none_or(|at| at <= 6 && bytes[at] == b' '),
        Some(b'-' | b'+' | b'*') if ends(1) => true,
        Some(b'>') => true,
        Some(b'~') => bytes.starts_with(b"~~~"),
        Some(b'=') => !first && bytes.iter().all(|b| matches!(b, b'=' | b' ')),
        Some(b'[') => item && matches!(bytes, [b'[', b' ' | b'x' | b'X', b']', ..]) && ends(3),
        _ => is_rule(bytes) || !first && is_border(bytes),
    };
    if special {
        text.insert(from, '\\');
        return;
    }
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if (1..=9).contains(&digits) && matches!(bytes.get(digits), Some(b'.' | b')')) && ends(digits + 1) {
        text.insert(from + digits, '\\');
    }
}

/// Returns true for at least three of one mark, and nothing else.
fn is_rule(bytes: &[u8]) -> bool {
    let Some(mark @ (b'-' | b'_' | b'*')) = bytes.first() else { return false };
    let marks = bytes.iter().filter(|b| *b == mark).count();
    let only = bytes.iter().all(|b| b == mark || *b == b' ');
    // Below text two hyphens make it a heading.
    only && (marks > 2 || *mark == b'-')
}

/// Returns true for the line below a table header.
fn is_border(bytes: &[u8]) -> bool {
    bytes.contains(&b'-') && bytes.iter().all(|b| matches!(b, b'|' | b':' | b'-' | b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(prose: &str) -> String {
        let mut out = String::new();
        let around = RunContext { next: None, in_link: false, behind_note: false };
        push(&mut out, prose, around, Paragraph::of(prose, prose, false, false, false));
        out
    }

    #[test]
    fn only_markdown_line_starts_are_escaped() {
        for (text, want) in [
            ("# a", "\\# a"),
            ("#a", "#a"),
            ("- a", "\\- a"),
            ("-a", "-a"),
            ("1. a", "1\\. a"),
            ("1.5 a", "1.5 a"),
            ("> a", "\\> a"),
            ("---", "\\---"),
        ] {
            let mut line = format!("# {text}");
            escape_start(&mut line, 2, true, false);
            assert_eq!(line, format!("# {want}"));
        }
    }

    #[test]
    fn ampersands_take_linear_time() {
        let prose = "&".repeat(1 << 20);
        let begun = std::time::Instant::now();
        assert_eq!(escaped(&prose), prose);
        assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
        let longest = format!("&{};", "a".repeat(LONGEST_NAME));
        assert_eq!(escaped(&longest), format!("\\{longest}"));
        assert_eq!(escaped(&format!("&a{}", &longest[1..])), format!("&a{}", &longest[1..]));
    }

    #[test]
    fn only_markdown_characters_in_prose_are_escaped() {
        for (text, want) in [
            ("*a* and **b**", "\\*a\\* and \\*\\*b\\*\\*"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("a footnote*", "a footnote*"),
            ("snake_case_name", "snake_case_name"),
            ("_c_", "\\_c\\_"),
            ("Vec<F> < 3", "Vec\\<F> < 3"),
            ("[a](b) [c] [d]: e", "[a\\](b) [c] [d\\]: e"),
            ("&copy; & Co; &", "\\&copy; & Co; &"),
            ("$5 and $10", "$5 and $10"),
            ("$a$", "\\$a\\$"),
            ("C:\\dir\\*", "C:\\dir\\\\*"),
            ("it`s", "it\\`s"),
        ] {
            assert_eq!(escaped(text), want, "{text}");
        }
    }
}
