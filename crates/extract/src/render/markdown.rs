//! Conversion of a block's text and marks to Markdown that renders as that block.

mod fit;
mod writer;

use super::{
    escape::{self, Paragraph, RunContext},
    inline::{Mark, Span, trimmed},
};
use std::{borrow::Cow, cmp::Reverse, ops::Range};

/// Kind of the block for which a text is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockContext {
    /// A heading: one line, without bold.
    pub(super) heading: bool,
    /// True for a table cell: one line.
    pub(super) cell: bool,
    /// True for the first block of a list item.
    pub(super) item: bool,
    /// True if all of it is bold: a defined term, or a heading in an item.
    pub(super) bold: bool,
    /// True if `[1]` refers to a URL below the text.
    pub(super) numbers: bool,
}

/// A mark on a range; later marks enclose earlier ones.
#[derive(Clone, Debug)]
struct Part<'a> {
    range: Range<usize>,
    mark: &'a Mark,
    order: usize,
}

/// Writes a block.
pub(super) fn write(text: &str, spans: &[Span], place: BlockContext) -> String {
    let one_line = place.heading || place.cell;
    let mut parts: Vec<Part<'_>> = spans
        .iter()
        .enumerate()
        .map(|(order, span)| Part { range: span.range.clone(), mark: &span.mark, order: 2 * order + 1 })
        .collect();
    parts.sort_by_key(|part| part.range.start);
    if one_line || paragraph_end(text, 0) == text.len() {
        return paragraph(text, parts, 0..text.len(), place);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut parts = parts.into_iter().peekable();
    // Marks that continue in the next paragraph.
    let mut open: Vec<Part<'_>> = Vec::new();
    let mut from = 0;
    loop {
        let end = paragraph_end(text, from);
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

/// End of the paragraph that begins at a byte: an empty line, or the end of the text.
fn paragraph_end(text: &str, from: usize) -> usize {
    let mut breaks = memchr::memchr_iter(b'\n', &text.as_bytes()[from..]).map(|at| from + at);
    breaks.find(|at| text.as_bytes().get(at + 1) == Some(&b'\n')).unwrap_or(text.len())
}

/// Maximum passes over marks that depend on each other.
const MAX_FITS: usize = 8;

const BOLD: Mark = Mark::Strong;

fn paragraph(text: &str, parts: Vec<Part<'_>>, range: Range<usize>, place: BlockContext) -> String {
    let Some(range) = trimmed(text, range) else { return String::new() };
    if parts.is_empty() && !place.bold {
        return starts(unmarked(&text[range], place), place);
    }
    let mut parts = clipped(text, parts, &range);
    // Code and links stand out already.
    let stands_out =
        |part: &Part<'_>| part.range == range && matches!(part.mark, Mark::Code | Mark::Link { .. });
    if place.bold && !parts.iter().any(stands_out) {
        parts.push(Part { range: range.clone(), mark: &BOLD, order: usize::MAX });
    }
    if place.heading {
        // A heading is bold anyway.
        parts.retain(|part| *part.mark != Mark::Strong || part.range != range);
    }
    if parts.len() > 1 {
        sort(&mut parts);
        parts = fit::nested(text, parts);
    }
    // A removed mark may be the border of another one.
    for _ in 0..MAX_FITS {
        if !fit::fit(text, &mut parts, &range) {
            break;
        }
    }
    let tokens = writer::tokens(text, &parts, range);
    let lines = writer::emit(&tokens, place);
    starts(lines, place)
}

/// Escapes a paragraph without marks.
fn unmarked(text: &str, place: BlockContext) -> String {
    let text = if place.heading || place.cell { writer::on_one_line(text) } else { Cow::Borrowed(text) };
    if !escape::has_marks(&text) {
        return text.into_owned();
    }
    let paragraph = Paragraph::of(&text, &text, false, false, place.numbers);
    let around = RunContext { next: None, in_link: false, behind_note: false };
    let mut out = String::with_capacity(text.len());
    escape::push(&mut out, &text, around, paragraph);
    out
}

/// Parts clipped to a paragraph.
fn clipped<'a>(text: &str, parts: Vec<Part<'a>>, range: &Range<usize>) -> Vec<Part<'a>> {
    let inside = parts.into_iter().filter_map(|part| {
        let inside = part.range.start.max(range.start)..part.range.end.min(range.end);
        let range = match part.mark {
            Mark::Raw => inside,
            mark if is_emphasis(mark) => trimmed_of_spaces(text, inside)?,
            _ => trimmed(text, inside)?,
        };
        (range.start < range.end).then_some(Part { range, ..part })
    });
    inside.collect()
}

/// A range without whitespace of any script at its ends, next to which marks of emphasis are not recognised.
fn trimmed_of_spaces(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let inner = text.get(range.clone())?;
    let start = range.start + inner.len() - inner.trim_start().len();
    let end = range.start + inner.trim_end().len();
    (start < end).then_some(start..end)
}

const fn is_emphasis(mark: &Mark) -> bool {
    matches!(mark, Mark::Strong | Mark::Em | Mark::Del)
}

/// Outer marks before inner ones.
fn sort(parts: &mut [Part<'_>]) {
    parts.sort_by_key(|part| (part.range.start, Reverse(part.range.end), Reverse(part.order)));
}

/// Escapes the starts of lines; a line that ends within a paragraph is broken there.
fn starts(mut lines: String, place: BlockContext) -> String {
    if place.heading {
        let text = lines.trim_end_matches('#');
        let end = text.len();
        // Marks at the end of a heading close it.
        if end < lines.len() && (text.is_empty() || text.ends_with(' ')) {
            lines.insert(end, '\\');
        }
        return lines;
    }
    if place.cell {
        return lines;
    }
    if !lines.contains('\n') && lines.trim().len() == lines.len() {
        escape::escape_start(&mut lines, 0, true, place.item);
        return lines;
    }
    let mut out = String::with_capacity(lines.len());
    for (at, line) in lines.split('\n').enumerate() {
        if at > 0 {
            out.push_str("  \n");
        }
        let from = out.len();
        out.push_str(line.trim());
        escape::escape_start(&mut out, from, at == 0, at == 0 && place.item);
    }
    out
}

/// Adds lines of plain text with the necessary escapes, each after its indent.
pub(super) fn push_plain(out: &mut String, text: &str) {
    let paragraph = Paragraph::of(text, text, false, false, false);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let bare = line.trim_start();
        out.push_str(&line[..line.len() - bare.len()]);
        let mut escaped = String::with_capacity(bare.len());
        let around = RunContext { next: None, in_link: false, behind_note: false };
        escape::push(&mut escaped, bare, around, paragraph);
        escape::escape_start(&mut escaped, 0, at == 0, false);
        out.push_str(&escaped);
    }
}

/// Writes the label of an image.
pub(super) fn write_label(text: &str, place: BlockContext) -> String {
    let mut out = String::with_capacity(text.len());
    let around = RunContext { next: Some(']'), in_link: true, behind_note: false };
    escape::push(&mut out, text, around, Paragraph::of(text, text, false, false, place.numbers));
    out
}
