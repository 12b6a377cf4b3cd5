//! From a block's text and the marks of its parts to Markdown that renders as that block.

use super::{
    escape::{self, Around, Paragraph},
    inline::{Mark, Span},
};
use rustc_hash::FxHashMap;
use std::{cmp::Reverse, ops::Range};

/// What kind of block a text is written for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// A heading: one line, without bold.
    pub(super) heading: bool,
    /// A cell of a table: one line.
    pub(super) cell: bool,
    /// The first block of an item of a list.
    pub(super) item: bool,
    /// All of it is bold: a defined term, or a heading in an item.
    pub(super) bold: bool,
    /// `[1]` refers to an address below the text.
    pub(super) numbers: bool,
}

/// A mark on a range; what was set later encloses what was set before.
#[derive(Clone, Debug)]
struct Part<'a> {
    range: Range<usize>,
    mark: &'a Mark,
    order: usize,
}

/// A paragraph cut at its marks.
#[derive(Clone, Copy, Debug)]
enum Token<'a> {
    Open(&'a Mark),
    Close(&'a Mark),
    Text(&'a str),
}

/// Writes a block.
pub(super) fn write(text: &str, spans: &[Span], place: Place) -> String {
    let one_line = place.heading || place.cell;
    let mut out = String::with_capacity(text.len() + 16);
    let mut from = 0;
    loop {
        let end = if one_line { None } else { text[from..].find("\n\n") }.map_or(text.len(), |at| from + at);
        let written = paragraph(text, spans, from..end, place);
        if !written.is_empty() {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(&written);
        }
        if end == text.len() {
            return out;
        }
        from = end + 2;
    }
}

const BOLD: Mark = Mark::Strong;

fn paragraph(text: &str, spans: &[Span], range: Range<usize>, place: Place) -> String {
    let Some(range) = trimmed(text, range) else { return String::new() };
    let mut parts = clipped(text, spans, &range, place);
    if place.bold && parts.iter().all(|part| *part.mark != Mark::Code || part.range != range) {
        parts.push(Part { range: range.clone(), mark: &BOLD, order: 2 * spans.len() + 1 });
    }
    sort(&mut parts);
    let mut parts = nested(text, parts);
    fit(text, &mut parts, &range);
    let tokens = tokens(text, &parts, range);
    let lines = emit(&tokens, place);
    starts(&lines, place)
}

fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let inner = text.get(range.clone())?;
    let start = range.start + inner.len() - inner.trim_start_matches([' ', '\n']).len();
    let end = range.start + inner.trim_end_matches([' ', '\n']).len();
    (start < end).then_some(start..end)
}

fn clipped<'a>(text: &str, spans: &'a [Span], range: &Range<usize>, place: Place) -> Vec<Part<'a>> {
    let all = spans.iter().enumerate().filter(|(_, span)| !(place.heading && span.mark == Mark::Strong));
    all.filter_map(|(order, span)| {
        let inside = span.range.start.max(range.start)..span.range.end.min(range.end);
        let range = if span.mark == Mark::Raw { inside } else { trimmed(text, inside)? };
        (range.start < range.end).then_some(Part { range, mark: &span.mark, order: 2 * order + 1 })
    })
    .collect()
}

/// Outer marks before inner ones.
fn sort(parts: &mut [Part<'_>]) {
    parts.sort_by_key(|part| (part.range.start, Reverse(part.range.end), Reverse(part.order)));
}

/// Takes marks apart that Markdown cannot nest: a mark in one of its own kind goes, code holds no marks, and is cut where a
/// link begins or ends.
fn nested<'a>(text: &str, parts: Vec<Part<'a>>) -> Vec<Part<'a>> {
    let mut out: Vec<Part<'a>> = Vec::with_capacity(parts.len());
    let mut open: Vec<Part<'a>> = Vec::new();
    let mut code: Option<Part<'a>> = None;
    let mut cut = false;
    let end_code = |code: Part<'a>, out: &mut Vec<Part<'a>>| {
        if let Some(range) = trimmed(text, code.range.clone()) {
            out.push(Part { range, ..code });
        }
    };
    for mut part in parts {
        while open.last().is_some_and(|last| last.range.end <= part.range.start) {
            open.pop();
        }
        if let Some(last) = open.last() {
            part.range.end = part.range.end.min(last.range.end);
        }
        if code.as_ref().is_some_and(|code| code.range.end <= part.range.start) {
            code.take().into_iter().for_each(|code| end_code(code, &mut out));
        }
        let same = |last: &Part<'_>| std::mem::discriminant(last.mark) == std::mem::discriminant(part.mark);
        if open.iter().any(|last| same(last) || *last.mark == Mark::Raw) {
            continue;
        }
        let links = matches!(part.mark, Mark::Link { .. } | Mark::Raw);
        if let Some(whole) = &mut code {
            if !links {
                continue;
            }
            let rest = part.range.end.max(whole.range.start)..whole.range.end;
            let before = Part { range: whole.range.start..part.range.start, ..whole.clone() };
            // Now the link encloses the code.
            let within = Part { range: part.range.clone(), order: part.order, mark: whole.mark };
            part.order = whole.order;
            whole.range = rest;
            cut = true;
            end_code(before, &mut out);
            if *part.mark != Mark::Raw {
                end_code(within, &mut out);
            }
        } else if *part.mark == Mark::Code {
            code = Some(part);
            continue;
        }
        open.push(part.clone());
        out.push(part);
    }
    code.into_iter().for_each(|code| end_code(code, &mut out));
    out.retain(|part| part.range.start < part.range.end);
    if cut || !out.is_sorted_by_key(|part| part.range.start) {
        sort(&mut out);
    }
    out
}

const fn is_emphasis(mark: &Mark) -> bool {
    matches!(mark, Mark::Strong | Mark::Em | Mark::Del)
}

/// Neither a letter, a digit nor a gap: what CommonMark calls punctuation, which decides if a mark opens or closes.
fn is_punctuation(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace()
}

/// Where marks that are punctuation themselves begin and end, by the order in which they were set.
#[derive(Default)]
struct Borders {
    starts: FxHashMap<usize, (usize, usize)>,
    ends: FxHashMap<usize, (usize, usize)>,
    links: FxHashMap<Range<usize>, usize>,
}

impl Borders {
    fn of(parts: &[Part<'_>]) -> Self {
        let mut borders = Self::default();
        for part in parts.iter().filter(|part| !is_emphasis(part.mark)) {
            for (side, at) in [(&mut borders.starts, part.range.start), (&mut borders.ends, part.range.end)] {
                let (least, most) = side.entry(at).or_insert((part.order, part.order));
                *least = part.order.min(*least);
                *most = part.order.max(*most);
            }
            if matches!(part.mark, Mark::Link { .. }) {
                borders.links.insert(part.range.clone(), part.order);
            }
        }
        borders
    }
}

/// Moves marks of emphasis off punctuation where they would not be read (`a**「b」**c`), and leaves out those that still
/// would not.
fn fit(text: &str, parts: &mut Vec<Part<'_>>, all: &Range<usize>) {
    if !parts.iter().any(|part| is_emphasis(part.mark)) {
        return;
    }
    let borders = Borders::of(parts);
    let before = |at: usize| text[all.start..at].chars().next_back();
    let after = |at: usize| text[at..all.end].chars().next();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    for part in parts.iter_mut().filter(|part| is_emphasis(part.mark)) {
        let order = part.order;
        let inner = |side: &FxHashMap<usize, (usize, usize)>, at| {
            side.get(&at).is_some_and(|(least, _)| *least < order)
        };
        let outer = |side: &FxHashMap<usize, (usize, usize)>, at| {
            side.get(&at).is_some_and(|(_, most)| *most > order)
        };
        let Range { mut start, mut end } = part.range.clone();
        let mut stuck = false;
        if is_word(before(start)) && !borders.ends.contains_key(&start) && !outer(&borders.starts, start) {
            stuck |= inner(&borders.starts, start);
            start += after(start).filter(|c| is_punctuation(*c)).map_or(0, char::len_utf8);
        }
        if is_word(after(end)) && !borders.starts.contains_key(&end) && !outer(&borders.ends, end) {
            stuck |= inner(&borders.ends, end);
            end -= before(end).filter(|c| is_punctuation(*c)).map_or(0, char::len_utf8);
        }
        if stuck {
            match borders.links.get(&part.range) {
                // Inside of the link's brackets the mark is read.
                Some(link) => part.order = link - 1,
                None => part.range = start..start,
            }
        } else {
            part.range = trimmed(text, start..end.max(start)).unwrap_or(start..start);
        }
    }
    parts.retain(|part| part.range.start < part.range.end);
    sort(parts);
}

fn tokens<'a>(text: &'a str, parts: &[Part<'a>], range: Range<usize>) -> Vec<Token<'a>> {
    let mut out = Tokens { text, at: range.start, list: Vec::with_capacity(2 * parts.len() + 1) };
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

    /// Neighbours of one kind become one: their marks would be read as others.
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

fn emit(tokens: &[Token<'_>], place: Place) -> String {
    let mut out = Writer { out: String::new(), place, ..Writer::default() };
    let (mut raw, mut code) = (false, false);
    let mut prose = String::new();
    let (mut marked, mut formula) = (false, false);
    for token in tokens {
        match token {
            Token::Open(mark) => {
                raw |= **mark == Mark::Raw;
                code |= **mark == Mark::Code;
                marked |= is_emphasis(mark);
            }
            Token::Close(mark) => {
                raw &= **mark != Mark::Raw;
                code &= **mark != Mark::Code;
            }
            Token::Text(text) if raw => formula |= text.starts_with('$'),
            Token::Text(text) if !code => prose.push_str(text),
            Token::Text(_) => {}
        }
    }
    out.paragraph = Paragraph::of(&prose, marked, formula, place.numbers);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).copied();
        match *token {
            Token::Open(mark) => out.open(mark, next),
            Token::Close(mark) => out.close(mark),
            Token::Text(text) => out.text(text, next),
        }
    }
    out.out
}

#[derive(Default)]
struct Writer {
    out: String,
    place: Place,
    paragraph: Paragraph,
    in_link: bool,
    in_raw: bool,
    behind_note: bool,
    /// Where the code that is open began.
    code: Option<usize>,
    /// The mark of the emphasis that is open.
    em: char,
}

impl Writer {
    fn open(&mut self, mark: &Mark, next: Option<Token<'_>>) {
        self.behind_note = false;
        match mark {
            Mark::Strong => self.out.push_str("**"),
            Mark::Del => self.out.push_str("~~"),
            Mark::Em => {
                // Three stars are read as bold in italics.
                let in_bold = self.out.ends_with("**") && !matches!(next, Some(Token::Open(Mark::Strong)));
                self.em = if in_bold { '_' } else { '*' };
                self.out.push(self.em);
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

    fn close(&mut self, mark: &Mark) {
        match mark {
            Mark::Strong => self.out.push_str("**"),
            Mark::Del => self.out.push_str("~~"),
            Mark::Em => self.out.push(self.em),
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
        let mut runs: Vec<usize> = inner.split(|c| c != '`').map(str::len).filter(|len| *len > 0).collect();
        runs.sort_unstable();
        runs.dedup();
        // The shortest run of marks that does not stand in the code.
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
            self.out.push_str(&text.replace('\n', " "));
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
            Around { next, in_link: self.in_link, behind_note: std::mem::take(&mut self.behind_note) };
        if self.place.heading || self.place.cell {
            let line = text.replace("\n\n", " ").replace('\n', " ");
            escape::push(&mut self.out, &line, around, self.paragraph);
        } else {
            escape::push(&mut self.out, text, around, self.paragraph);
        }
    }
}

/// Escapes the starts of lines; a line that ends inside of a paragraph is broken there.
fn starts(lines: &str, place: Place) -> String {
    if place.heading {
        let text = lines.trim_end_matches('#');
        // Marks at the end of a heading close it.
        if text.len() < lines.len() && (text.is_empty() || text.ends_with(' ')) {
            return format!("{text}\\{}", &lines[text.len()..]);
        }
        return lines.to_owned();
    }
    if place.cell {
        return lines.to_owned();
    }
    let mut out = String::with_capacity(lines.len());
    for (at, line) in lines.split('\n').enumerate() {
        let mut line = line.trim().to_owned();
        escape::escape_start(&mut line, at == 0, at == 0 && place.item);
        if at > 0 {
            out.push_str("  \n");
        }
        out.push_str(&line);
    }
    out
}

/// Writes what stands in the brackets of an image.
pub(super) fn write_label(text: &str, place: Place) -> String {
    let mut out = String::with_capacity(text.len());
    let around = Around { next: Some(']'), in_link: true, behind_note: false };
    escape::push(&mut out, text, around, Paragraph::of(text, false, false, place.numbers));
    out
}
