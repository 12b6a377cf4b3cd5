//! Writer of a paragraph, mark by mark.

use super::{BlockContext, Part, is_emphasis};
use crate::render::{
    escape::{self, Paragraph, RunContext},
    inline::Mark,
};
use std::{borrow::Cow, ops::Range};

/// A paragraph cut at its marks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'a> {
    Open(&'a Mark),
    Close(&'a Mark),
    Text(&'a str),
}

impl Token<'_> {
    /// Bytes of text.
    const fn text_len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Open(_) | Self::Close(_) => 0,
        }
    }
}

pub(super) fn tokens<'a>(text: &'a str, parts: &[Part<'a>], range: Range<usize>) -> Vec<Token<'a>> {
    let mut out = Tokens { text, at: range.start, list: Vec::with_capacity(2 * parts.len() + 1) };
    if let [part] = parts {
        out.open(part.range.start, part.mark);
        out.close(part.range.end, part.mark);
        out.text_to(range.end);
        return out.list;
    }
    let mut open: Vec<(usize, &Mark)> = Vec::new();
    for part in parts {
        while let Some((end, mark)) = open.pop_if(|(end, _)| *end <= part.range.start) {
            out.close(end, mark);
        }
        let end = open.last().map_or(part.range.end, |(end, _)| part.range.end.min(*end));
        out.open(part.range.start, part.mark);
        open.push((end, part.mark));
    }
    while let Some((end, mark)) = open.pop() {
        out.close(end, mark);
    }
    out.text_to(range.end);
    out.list
}

struct Tokens<'a> {
    text: &'a str,
    at: usize,
    list: Vec<Token<'a>>,
}

impl<'a> Tokens<'a> {
    fn text_to(&mut self, at: usize) {
        if self.at < at {
            self.list.push(Token::Text(&self.text[self.at..at]));
            self.at = at;
        }
    }

    /// Opens a mark; adjacent marks of one kind are merged, since they would be read differently.
    fn open(&mut self, at: usize, mark: &'a Mark) {
        self.text_to(at);
        let merges = is_emphasis(mark) || *mark == Mark::Code;
        if merges && matches!(self.list.last(), Some(Token::Close(last)) if *last == mark) {
            self.list.pop();
        } else {
            self.list.push(Token::Open(mark));
        }
    }

    fn close(&mut self, at: usize, mark: &'a Mark) {
        self.text_to(at);
        if matches!(self.list.last(), Some(Token::Open(last)) if *last == mark) {
            self.list.pop();
        } else {
            self.list.push(Token::Close(mark));
        }
    }
}

pub(super) fn emit(tokens: &[Token<'_>], place: BlockContext) -> String {
    let len = |token: &Token<'_>| match token {
        Token::Text(text) => text.len(),
        Token::Close(Mark::Link { after, .. }) => after.len(),
        // Most other marks have a few bytes.
        Token::Open(_) | Token::Close(_) => 4,
    };
    let out = String::with_capacity(tokens.iter().map(len).sum());
    let mut out = Writer { out, place, ..Writer::default() };
    out.paragraph = read(tokens, place);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).copied();
        match *token {
            Token::Open(Mark::Em) if is_bold_throughout(tokens, at) => {
                out.em.push('*');
                out.out.push('*');
                out.behind_note = false;
            }
            Token::Open(mark) => out.open(mark, &tokens[at + 1..]),
            Token::Close(mark) => out.close(mark),
            Token::Text(text) => out.text(text, next),
        }
    }
    out.out
}

/// Returns true if italics open that are bold throughout, without an inner or adjacent mark of emphasis.
/// Three stars on each side are then read as both marks.
fn is_bold_throughout(tokens: &[Token<'_>], em: usize) -> bool {
    let is_mark = |at: Option<usize>| {
        let token = at.and_then(|at| tokens.get(at));
        matches!(token, Some(Token::Open(mark) | Token::Close(mark)) if is_emphasis(mark))
    };
    let holds = matches!(tokens.get(em + 1), Some(Token::Open(Mark::Strong)));
    let (first, inner) = if holds {
        (em, em + 2)
    } else if em.checked_sub(1).is_some_and(|at| matches!(tokens[at], Token::Open(Mark::Strong))) {
        (em - 1, em + 1)
    } else {
        return false;
    };
    let Some(end) = (inner..tokens.len()).find(|at| is_mark(Some(*at))) else { return false };
    let closes = match (tokens[end], tokens.get(end + 1)) {
        (Token::Close(Mark::Strong), Some(Token::Close(Mark::Em))) => holds,
        (Token::Close(Mark::Em), Some(Token::Close(Mark::Strong))) => !holds,
        _ => false,
    };
    closes && !is_mark(first.checked_sub(1)) && !is_mark(Some(end + 2))
}

/// Reads the properties that decide the escapes of a paragraph.
fn read(tokens: &[Token<'_>], place: BlockContext) -> Paragraph {
    let is_counted =
        |token: &Token<'_>| matches!(token, Token::Text(text) if escape::has_counted_marks(text));
    if !tokens.iter().any(is_counted) {
        return Paragraph::of("", "", false, false, place.numbers);
    }
    let (mut raw, mut code, mut marked, mut formula) = (false, false, false, false);
    let len: usize = tokens.iter().map(Token::text_len).sum();
    let mut prose = String::with_capacity(len);
    // The paragraph as a formula scanner reads it: inside of code, and with a sign for each mark.
    let mut whole = String::with_capacity(len + tokens.len());
    for token in tokens {
        match token {
            Token::Open(mark) | Token::Close(mark) => {
                let open = matches!(token, Token::Open(_));
                match mark {
                    Mark::Raw => raw = open,
                    Mark::Code => code = open,
                    _ => {}
                }
                marked |= is_emphasis(mark);
                whole.push('*');
            }
            Token::Text(text) => {
                formula |= raw && text.starts_with('$');
                whole.push_str(text);
                if !raw && !code {
                    prose.push_str(text);
                }
            }
        }
    }
    Paragraph::of(&prose, &whole, marked, formula, place.numbers)
}

/// Text with a space for each line break.
pub(super) fn on_one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { text.replace("\n\n", " ").replace('\n', " ").into() } else { text.into() }
}

#[derive(Default)]
struct Writer {
    out: String,
    place: BlockContext,
    paragraph: Paragraph,
    in_link: bool,
    in_raw: bool,
    behind_note: bool,
    /// Start of the open code.
    code: Option<usize>,
    /// Bold text is open.
    bold: bool,
    /// Marks of the open italics.
    em: Vec<char>,
}

impl Writer {
    fn open(&mut self, mark: &Mark, next: &[Token<'_>]) {
        self.behind_note = false;
        match mark {
            Mark::Strong => {
                self.bold = true;
                self.out.push_str("**");
            }
            Mark::Del => self.out.push_str("~~"),
            Mark::Em => {
                let mark = match self.em.last() {
                    Some('_') => '*',
                    Some(_) => '_',
                    None if self.meets_bold(next) => '_',
                    None => '*',
                };
                self.em.push(mark);
                self.out.push(mark);
            }
            Mark::Sup => self.out.push_str("<sup>"),
            Mark::Sub => self.out.push_str("<sub>"),
            Mark::Code => self.code = Some(self.out.len()),
            Mark::Link { .. } => {
                self.in_link = true;
                self.out.push('[');
            }
            Mark::Raw => self.in_raw = true,
        }
    }

    /// Returns true for italics within or around bold text, whose touching stars would be misread. If an
    /// outer letter touches the italics, only stars are recognised.
    fn meets_bold(&self, next: &[Token<'_>]) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let mut depth = 1;
        let end = next.iter().position(|token| {
            depth += match token {
                Token::Open(Mark::Em) => 1,
                Token::Close(Mark::Em) => -1,
                _ => 0,
            };
            depth == 0
        });
        let end = end.unwrap_or(next.len());
        let holds = next[..end].iter().any(|token| matches!(token, Token::Open(Mark::Strong)));
        if !holds && !self.bold
            || is_word(self.out.trim_end_matches(['*', '~', '_', '[']).chars().next_back())
        {
            return false;
        }
        let behind = next.iter().skip(end + 1).find_map(|token| match token {
            Token::Text(text) => text.chars().next(),
            Token::Open(mark) | Token::Close(mark) => (!is_emphasis(mark)).then_some('['),
        });
        !is_word(behind)
    }

    fn close(&mut self, mark: &Mark) {
        match mark {
            Mark::Strong => {
                self.bold = false;
                self.out.push_str("**");
            }
            Mark::Del => self.out.push_str("~~"),
            Mark::Em => self.out.push(self.em.pop().unwrap_or('*')),
            Mark::Sup => self.out.push_str("</sup>"),
            Mark::Sub => self.out.push_str("</sub>"),
            Mark::Code => self.close_code(),
            Mark::Link { after, .. } => {
                self.in_link = false;
                self.out.push_str(after);
            }
            Mark::Raw => {
                self.in_raw = false;
                self.behind_note = self.out.ends_with(']');
            }
        }
    }

    fn close_code(&mut self) {
        let Some(start) = self.code.take() else { return };
        let inner = &self.out[start..];
        if !inner.contains('`') {
            self.out.insert(start, '`');
            self.out.push('`');
            return;
        }
        let mut runs: Vec<usize> = inner.split(|c| c != '`').map(str::len).filter(|len| *len > 0).collect();
        runs.sort_unstable();
        runs.dedup();
        // The shortest run of backticks that does not occur in the code.
        let length = runs.iter().zip(1..).take_while(|(run, length)| *run == length).count() + 1;
        let fence = "`".repeat(length);
        let pad = if inner.starts_with('`') || inner.ends_with('`') { " " } else { "" };
        self.out.insert_str(start, &format!("{fence}{pad}"));
        self.out.push_str(pad);
        self.out.push_str(&fence);
    }

    fn text(&mut self, text: &str, next: Option<Token<'_>>) {
        if self.in_raw {
            self.out.push_str(text);
            return;
        }
        if self.code.is_some() {
            for (at, line) in text.split('\n').enumerate() {
                if at > 0 {
                    self.out.push(' ');
                }
                self.out.push_str(line);
            }
            return;
        }
        let next = match next {
            Some(Token::Text(text)) => text.chars().next(),
            Some(Token::Open(Mark::Link { .. })) => Some('['),
            Some(Token::Open(Mark::Code)) => Some('`'),
            Some(Token::Open(Mark::Raw)) => Some('!'),
            Some(Token::Open(_) | Token::Close(_)) => Some('*'),
            None => None,
        };
        let around =
            RunContext { next, in_link: self.in_link, behind_note: std::mem::take(&mut self.behind_note) };
        if self.place.heading || self.place.cell {
            escape::push(&mut self.out, &on_one_line(text), around, self.paragraph);
        } else {
            escape::push(&mut self.out, text, around, self.paragraph);
        }
    }
}
