//! From a block's text and the marks of its parts to Markdown that renders as that block.

use super::{
    escape::{self, Around, Paragraph},
    inline::{Mark, Span},
};
use rustc_hash::{FxHashMap, FxHashSet};
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
    let mut parts: Vec<Part<'_>> = spans
        .iter()
        .enumerate()
        .map(|(order, span)| Part { range: span.range.clone(), mark: &span.mark, order: 2 * order + 1 })
        .collect();
    parts.sort_by_key(|part| part.range.start);
    let mut parts = parts.into_iter().peekable();
    // Marks that go on in the next paragraph.
    let mut open: Vec<Part<'_>> = Vec::new();
    let mut from = 0;
    loop {
        let end = if one_line { None } else { text[from..].find("\n\n") }.map_or(text.len(), |at| from + at);
        let mut here = std::mem::take(&mut open);
        here.extend(std::iter::from_fn(|| parts.next_if(|part| part.range.start < end)));
        open.extend(here.iter().filter(|part| part.range.end > end).cloned());
        let written = paragraph(text, here, from..end, place);
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

fn paragraph(text: &str, parts: Vec<Part<'_>>, range: Range<usize>, place: Place) -> String {
    let Some(range) = trimmed(text, range) else { return String::new() };
    let mut parts = clipped(text, parts, &range);
    // Code and links stand out by themselves.
    let stands_out =
        |part: &Part<'_>| part.range == range && matches!(part.mark, Mark::Code | Mark::Link { .. });
    if place.bold && !parts.iter().any(stands_out) {
        parts.push(Part { range: range.clone(), mark: &BOLD, order: usize::MAX });
    }
    if place.heading {
        // A heading is bold as it is.
        parts.retain(|part| *part.mark != Mark::Strong || part.range != range);
    }
    sort(&mut parts);
    let mut parts = nested(text, parts);
    // A mark that goes was the border of another one.
    for _ in 0..MAX_FITS {
        if !fit(text, &mut parts, &range) {
            break;
        }
    }
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

/// The parts as far as they stand in a paragraph.
fn clipped<'a>(text: &str, parts: Vec<Part<'a>>, range: &Range<usize>) -> Vec<Part<'a>> {
    let inside = parts.into_iter().filter_map(|part| {
        let inside = part.range.start.max(range.start)..part.range.end.min(range.end);
        let range = if *part.mark == Mark::Raw { inside } else { trimmed(text, inside)? };
        (range.start < range.end).then_some(Part { range, ..part })
    });
    inside.collect()
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
        let within = open.iter().filter(|last| same(last)).count();
        let accent = *part.mark == Mark::Em && within == 1 && is_apart(text, &part.range);
        if within > 0 && !accent || open.iter().any(|last| *last.mark == Mark::Raw) {
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

/// No letter touches a range: there italics in italics can be marked.
fn is_apart(text: &str, range: &Range<usize>) -> bool {
    let outside = [text[..range.start].chars().next_back(), text[range.end..].chars().next()];
    outside.into_iter().flatten().all(|c| !c.is_alphanumeric() && c != '_')
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
    /// The borders of the parts that are not left out.
    fn of(parts: &[Part<'_>], left_out: &[&Mark]) -> Self {
        let mut borders = Self::default();
        for part in parts.iter().filter(|part| !left_out.contains(&part.mark)) {
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

/// Marks that depend on each other deeper than this are left as they are.
const MAX_FITS: usize = 8;

/// Moves marks of emphasis off punctuation where they would not be read (`a**「b」**c`), and leaves out those that still
/// would not. Returns true if a mark was moved or left out.
fn fit(text: &str, parts: &mut Vec<Part<'_>>, all: &Range<usize>) -> bool {
    if !parts.iter().any(|part| is_emphasis(part.mark)) {
        return false;
    }
    let mut changed = false;
    // Some libraries look past waves at what stands behind them, others take them for punctuation.
    let stars = [&[&Mark::Strong, &Mark::Em, &Mark::Del][..], &[&Mark::Strong, &Mark::Em]];
    let stars = stars.map(|left_out| Borders::of(parts, left_out));
    let waves = Borders::of(parts, &[&Mark::Del]);
    let before = |at: usize| text[all.start..at].chars().next_back();
    let after = |at: usize| text[at..all.end].chars().next();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    for part in parts.iter_mut().filter(|part| is_emphasis(part.mark)) {
        let order = part.order;
        let is_del = *part.mark == Mark::Del;
        let borders = if is_del { &waves } else { &stars[0] };
        let stands = |borders: &Borders, at: usize, starts: bool| {
            let (own, other) =
                if starts { (&borders.starts, &borders.ends) } else { (&borders.ends, &borders.starts) };
            let outer = own.get(&at).is_some_and(|(_, most)| *most > order);
            let inner = own.get(&at).is_some_and(|(least, _)| *least < order);
            (other.contains_key(&at) || outer, inner)
        };
        let Range { mut start, mut end } = part.range.clone();
        let mut stuck = false;
        for (at, starts) in [(start, true), (end, false)] {
            if !is_word(if starts { before(at) } else { after(at) }) {
                continue;
            }
            let (beside, holds) = stands(borders, at, starts);
            if !beside {
                stuck |= holds;
                let edge = if starts { after(at) } else { before(at) };
                let moved = edge.filter(|c| is_punctuation(*c)).map_or(0, char::len_utf8);
                if starts { start += moved } else { end -= moved }
            }
            let (beside, holds) = stands(&stars[1], at, starts);
            stuck |= !is_del && !beside && holds;
        }
        changed |= stuck || (start, end) != (part.range.start, part.range.end);
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
    let before = parts.len();
    sort(parts);
    part_runs(text, parts);
    changed || parts.len() < before
}

/// Leaves out italics that touch bold text and hold some, or touch it at punctuation: the stars of both would be one run,
/// which is read otherwise.
fn part_runs(text: &str, parts: &mut Vec<Part<'_>>) {
    let bold: Vec<Range<usize>> =
        parts.iter().filter(|part| *part.mark == Mark::Strong).map(|part| part.range.clone()).collect();
    let starts: FxHashSet<usize> = bold.iter().map(|range| range.start).collect();
    let ends: FxHashSet<usize> = bold.iter().map(|range| range.end).collect();
    let is_plain = |at: usize| {
        let sides = [text[..at].chars().next_back(), text[at..].chars().next()];
        sides.into_iter().all(|side| side.is_some_and(char::is_alphanumeric))
    };
    parts.retain(|part| {
        let Range { start, end } = part.range;
        // The parts are in order.
        let first = bold.partition_point(|range| range.start < start);
        let holds = bold.get(first).is_some_and(|range| range.start < end);
        let touches = |at: usize, side: &FxHashSet<usize>| side.contains(&at) && (holds || !is_plain(at));
        *part.mark != Mark::Em || !touches(start, &ends) && !touches(end, &starts)
    });
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
    out.paragraph = read(tokens, place);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).copied();
        match *token {
            Token::Open(mark) => out.open(mark, &tokens[at + 1..]),
            Token::Close(mark) => out.close(mark),
            Token::Text(text) => out.text(text, next),
        }
    }
    out.out
}

/// Reads what the escapes of a paragraph depend on.
fn read(tokens: &[Token<'_>], place: Place) -> Paragraph {
    let (mut raw, mut code, mut marked, mut formula) = (false, false, false, false);
    let mut prose = String::new();
    // The paragraph as it is read by whoever looks for formulas first: inside of code, and with a sign for each mark.
    let mut whole = String::new();
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
    /// Bold text is open.
    bold: bool,
    /// The marks of the italics that are open.
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

    /// Italics in bold text or around it: stars of both are read otherwise where they touch. Where a letter touches the
    /// italics outside, only stars are read.
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
    escape::push(&mut out, text, around, Paragraph::of(text, text, false, false, place.numbers));
    out
}
