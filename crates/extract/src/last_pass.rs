//! Last pass over a page's text after site cleaning (html-cleaner-impact, step 4; domain boilerplate, layers
//! 1 and 2). It removes tracking pixels, lines that are only a link, and links before the text.
//!
//! Extraction does the same with the page's tree. Site cleaning then removes blocks, which may leave only
//! links between two of them; here only the Markdown is available.

mod begins;

use crate::{rules::LastPass, text, words};
use begins::{behind_item, behind_items, marks};
use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Minimum words beside links (html-cleaner-impact, step 4).
const MIN_WORDS: u32 = 3;

/// Removes the boilerplate of a text. A text that would lose all its words is unchanged. So are links beyond
/// their maximum share of it, since then they are the content. With `pictures_only` links always stay.
pub(crate) fn run(text: String, rules: &LastPass, pictures_only: bool) -> String {
    if pictures_only && memmem::find(text.as_bytes(), b"![").is_none() {
        return text;
    }
    let mut lines = read(&text, rules);
    if !pictures_only {
        drop_preamble(&mut lines, rules);
        drop_bare_links(&mut lines, rules);
        drop_bare_headings(&mut lines);
        drop_addresses(&mut lines);
    }
    if lines.iter().all(|line| !line.dropped && line.pictures.is_empty()) {
        return text;
    }
    let left = write(&lines);
    if words::count_words(&left) == 0 { text } else { left }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blank,
    /// A heading of that level.
    Heading(usize),
    Item,
    Paragraph,
    /// The address of a reference: `[1]: address`.
    Address,
    /// A line of a table, a quotation, code or a footnote.
    Other,
}

struct Line<'a> {
    text: &'a str,
    kind: Kind,
    /// Visible characters, and those of them inside links.
    chars: usize,
    link_chars: usize,
    /// Positions of tracking pixels.
    pictures: Vec<Range<usize>>,
    dropped: bool,
}

impl Line<'_> {
    const fn outside(&self) -> usize {
        self.chars - self.link_chars
    }

    fn is_links(&self, share: f32) -> bool {
        self.link_chars > 0 && self.link_chars as f32 >= self.chars as f32 * share
    }
}

fn read<'a>(text: &'a str, rules: &LastPass) -> Vec<Line<'a>> {
    let mut fence = None;
    text.split('\n')
        .map(|text| {
            let start = text.trim_start();
            let before = fence;
            // The first block of a list item may be code.
            let own = if before.is_none() { behind_items(start) } else { start };
            fence = match (before, marks(own)) {
                (None, Some((marks, behind))) if !behind.contains('`') => Some(marks),
                (Some(open), Some((marks, behind))) if marks.starts_with(open) && behind.is_empty() => None,
                _ => before,
            };
            let in_code = before.is_some() || fence.is_some();
            let mut line = Line {
                text,
                kind: if in_code { Kind::Other } else { kind(start) },
                chars: 0,
                link_chars: 0,
                pictures: Vec::new(),
                dropped: false,
            };
            if !in_code {
                measure(&mut line, rules);
                line.dropped = !line.pictures.is_empty() && without(text, &line.pictures).trim().is_empty();
            }
            line
        })
        .collect()
}

fn kind(line: &str) -> Kind {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if line.is_empty() {
        Kind::Blank
    } else if (1..=6).contains(&level) && line[level..].starts_with(' ') {
        Kind::Heading(level)
    } else if behind_item(line).is_some() {
        Kind::Item
    } else if line.starts_with(['|', '>', ':']) || line.starts_with("[^") && line.contains("]: ") {
        Kind::Other
    } else if number(line).is_some() {
        Kind::Address
    } else {
        Kind::Paragraph
    }
}

/// Number of a reference whose URL is on the line.
fn number(line: &str) -> Option<&str> {
    let (number, _) = line.strip_prefix('[')?.split_once("]: ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// Counts the visible characters of a line in one pass. A closing bracket with a URL makes a link of the
/// characters since its opening one. Brackets in code and in URLs between angle brackets are no marks.
fn measure(line: &mut Line<'_>, rules: &LastPass) {
    let bytes = line.text.as_bytes();
    // For each open bracket: its position, or that of the `!` before it, and the counts so far.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    let mut code = Code::of(bytes);
    let (mut from, mut addresses) = (0, true);
    let rest = |from| bytes.get(from..).unwrap_or_default();
    let is_mark = |byte: &u8| matches!(byte, b'\\' | b'[' | b']' | b'`' | b'<');
    while let Some(next) = rest(from).iter().position(is_mark) {
        let mut at = from + next;
        let run = &bytes[from..at];
        line.chars += characters(run);
        match bytes[at] {
            // The next character is skipped as well.
            b'\\' => at += 1,
            b'`' => {
                let end = code.end(bytes, at);
                line.chars += characters(&bytes[at..end]);
                at = end - 1;
            }
            b'<' => {
                let end = enclosed(rest(at)).map_or(at + 1, |end| at + end);
                line.chars += characters(&bytes[at..end]);
                at = end - 1;
            }
            // A picture; its mark counts as text unless a URL follows.
            b'[' if run.last() == Some(&b'!') => open.push((at - 1, line.chars - 1, line.link_chars)),
            b'[' => open.push((at, line.chars, line.link_chars)),
            _ => {
                let Some((start, chars, link_chars)) = open.pop() else {
                    from = at + 1;
                    continue;
                };
                let closing = match bytes.get(at + 1) {
                    Some(b'(') if addresses => address_end(rest(at + 2)).map(|end| end + 2),
                    Some(b'[') if addresses => memchr::memchr(b']', &bytes[at + 1..]).map(|end| end + 1),
                    _ => None,
                };
                // Without this, each bracket of a hostile line would search for a URL to its end.
                addresses &= closing.is_some() || !matches!(bytes.get(at + 1), Some(b'(' | b'['));
                if let Some(end) = closing.map(|found| at + found) {
                    let address = &line.text[at + 2..end];
                    if bytes[start] == b'!' {
                        (line.chars, line.link_chars) = (chars, link_chars);
                        if rules.pixels.iter().any(|part| address.contains(part.as_str())) {
                            while line.pictures.last().is_some_and(|inner| inner.start >= start) {
                                line.pictures.pop();
                            }
                            line.pictures.push(start..end + 1);
                        }
                    } else {
                        line.link_chars = link_chars + line.chars - chars;
                        // A link without other content is removed with its picture.
                        if let Some(last) = line.pictures.last_mut().filter(|last| **last == (start + 1..at))
                        {
                            *last = start..end + 1;
                        }
                    }
                    at = end;
                }
            }
        }
        from = at + 1;
    }
    line.chars += characters(rest(from));
}

/// Code in a line: between two runs of equally many backticks.
struct Code {
    /// Start of the last run of each length.
    last: FxHashMap<usize, usize>,
}

impl Code {
    fn of(line: &[u8]) -> Self {
        let mut last = FxHashMap::default();
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'`', &line[from..]).map(|next| from + next) {
            let length = ticks(&line[at..]);
            last.insert(length, at);
            from = at + length;
        }
        Self { last }
    }

    /// End of the code that begins at a backtick, or of its run if none begins there.
    fn end(&mut self, line: &[u8], at: usize) -> usize {
        let length = ticks(&line[at..]);
        let behind = at + length;
        if self.last.get(&length).is_none_or(|last| *last < behind) {
            return behind;
        }
        let mut from = behind;
        while let Some(next) = memchr::memchr(b'`', &line[from..]).map(|next| from + next) {
            let other = ticks(&line[next..]);
            if other == length {
                return next + length;
            }
            from = next + other;
        }
        behind
    }
}

/// Backticks that a text begins with.
fn ticks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'`').count()
}

/// Bytes of the URL or tag between angle brackets at the start of a text.
fn enclosed(text: &[u8]) -> Option<usize> {
    let is_end = |byte: &u8| matches!(byte, b'>' | b'<' | b' ');
    let end = 1 + text.get(1..)?.iter().position(is_end)?;
    (text[1].is_ascii_alphabetic() && text[end] == b'>').then_some(end + 1)
}

/// Position of the bracket that ends the URL at the start of a text.
fn address_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0;
    let mut bytes = text.iter().enumerate();
    let is_enclosed = text.first() == Some(&b'<');
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => _ = bytes.next(),
            b'>' if is_enclosed => return (text.get(at + 1) == Some(&b')')).then_some(at + 1),
            _ if is_enclosed => {}
            // A title follows, which our own text never has.
            b' ' => return memchr::memchr(b')', &text[at..]).map(|end| at + end),
            b'(' => depth += 1,
            b')' if depth == 0 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Characters other than spaces.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte != b' ' && **byte & 0xC0 != 0x80).count()
}

/// Drops links before the first running text, if they are most of the text there and little of the whole.
fn drop_preamble(lines: &mut [Line<'_>], rules: &LastPass) {
    let total: usize = lines.iter().map(|line| line.chars).sum();
    let begins = |line: &Line<'_>| match line.kind {
        Kind::Other => true,
        Kind::Paragraph | Kind::Item => {
            line.chars >= rules.running_chars && !line.is_links(rules.preamble_share)
        }
        _ => false,
    };
    let Some(end) = lines.iter().position(begins) else { return };
    let region = || lines[..end].iter().filter(|line| matches!(line.kind, Kind::Paragraph | Kind::Item));
    let chars: usize = region().map(|line| line.chars).sum();
    let link_chars: usize = region().map(|line| line.link_chars).sum();
    if link_chars == 0
        || (link_chars as f32) < chars as f32 * rules.preamble_share
        || chars as f32 > total as f32 * rules.max_share
    {
        return;
    }
    for line in &mut lines[..end] {
        line.dropped |= matches!(line.kind, Kind::Paragraph | Kind::Item)
            && (line.is_links(rules.preamble_share) && line.outside() <= rules.outside_chars
                || words::count_words(line.text) < MIN_WORDS);
    }
}

/// Drops paragraphs that are only links, unless they are much of the text. A link on a line of a paragraph or
/// list item belongs to the text beside it, and a bold one is a heading.
fn drop_bare_links(lines: &mut [Line<'_>], rules: &LastPass) {
    let is_bare = |line: &Line<'_>| {
        line.kind == Kind::Paragraph
            && line.chars <= rules.line_chars
            && line.is_links(rules.line_share)
            && line.outside() <= rules.outside_chars
            && !line.text.starts_with([' ', '*'])
    };
    let total: usize = lines.iter().map(|line| line.chars).sum();
    let mut blocks: Vec<&mut [Line<'_>]> = lines
        .chunk_by_mut(|one, next| one.kind != Kind::Blank && next.kind != Kind::Blank)
        .filter(|block| block.iter().all(is_bare))
        .collect();
    let links: usize = blocks.iter().flat_map(|block| block.iter()).map(|line| line.chars).sum();
    if links as f32 <= total as f32 * rules.max_share {
        blocks.iter_mut().flat_map(|block| block.iter_mut()).for_each(|line| line.dropped = true);
    }
}

/// Drops headings whose sections are empty after the drops.
fn drop_bare_headings(lines: &mut [Line<'_>]) {
    // Level of the next heading that stays after the line, and true if text was dropped before it.
    let (mut lost, mut next) = (false, 0);
    for line in lines.iter_mut().rev() {
        match line.kind {
            Kind::Blank | Kind::Address => {}
            Kind::Heading(level) if lost && next <= level => line.dropped = true,
            Kind::Heading(level) => (lost, next) = (false, level),
            _ if line.dropped && next < usize::MAX => lost = true,
            _ if line.dropped => {}
            // Text, which may belong to any heading above.
            _ => (lost, next) = (false, usize::MAX),
        }
    }
}

/// Drops the URLs of references whose lines were dropped.
fn drop_addresses(lines: &mut [Line<'_>]) {
    if !lines.iter().any(|line| line.dropped) {
        return;
    }
    let used: FxHashSet<&str> = lines
        .iter()
        .filter(|line| !line.dropped)
        .flat_map(|line| text::reference_numbers(line.text))
        .collect();
    for line in lines.iter_mut().filter(|line| line.kind == Kind::Address) {
        line.dropped = number(line.text).is_some_and(|number| !used.contains(number));
    }
}

/// Writes the remaining lines, with one blank line where several met.
fn write(lines: &[Line<'_>]) -> String {
    let mut out = String::new();
    let mut gap = false;
    for line in lines {
        if line.dropped {
            gap = true;
            continue;
        }
        if line.kind == Kind::Blank && gap && (out.is_empty() || out.ends_with("\n\n")) {
            continue;
        }
        gap &= line.kind == Kind::Blank;
        if line.pictures.is_empty() {
            out.push_str(line.text);
        } else {
            out.push_str(without(line.text, &line.pictures).trim_end());
        }
        out.push('\n');
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        out.push_str(&text[from..range.start]);
        from = range.end;
    }
    out + &text[from..]
}
