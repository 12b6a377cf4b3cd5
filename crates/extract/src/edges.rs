//! What stands at the edges of an article and is none of it: who wrote it and when, in front of its first paragraph;
//! what the reader is asked to do, behind its last one.

use crate::{
    metadata,
    polish::Pieces,
    render::{Kind, Piece},
    rules::Rules,
    text,
};

/// A paragraph from this length on begins the text (characters).
const FIRST_PARAGRAPH: u32 = 100;
/// A longer line is no byline (bytes).
const MAX_BYLINE: usize = 90;
/// A longer paragraph behind the text is part of it (bytes).
const MAX_CALL: usize = 320;
/// Lines behind the text that are made of links: this share of them is.
const CLOSING_LINKS: f32 = 0.5;
/// What is cut off at the end is at most this share of the characters.
const MAX_CLOSING: f32 = 0.2;

/// Leaves out bylines, dates and reading times that stand before the text: before its first paragraph, or between its
/// lead and the next one.
pub(crate) fn drop_opening(pieces: &mut Pieces<'_>, rules: &Rules) {
    let long = |piece: &Piece| piece.chars >= FIRST_PARAGRAPH && !matches!(piece.kind, Kind::Heading(_));
    let mut paragraphs = pieces.list.iter().enumerate().filter(|(_, piece)| long(piece)).map(|(at, _)| at);
    let text_from = paragraphs.by_ref().take(2).last().unwrap_or(0);
    let mut at = 0;
    pieces.keep("a byline, a date or a reading time in front of the text", |piece| {
        at += 1;
        at > text_from || !is_byline(piece, rules)
    });
}

/// The line says who wrote the text, when, or how long it is.
fn is_byline(piece: &Piece, rules: &Rules) -> bool {
    if piece.kind != Kind::Paragraph && piece.kind != Kind::Item || piece.text.len() > MAX_BYLINE {
        return false;
    }
    let line = text::fold_lower(piece.bare());
    let boilerplate = &rules.boilerplate;
    boilerplate.byline_starts.begin(&line)
        || boilerplate.reading_time.are_in(&line)
        || metadata::is_date_line(&rules.dates, &line)
}

/// Cuts off what follows the text: lines that ask the reader for something and, if `links`, lines made of links; with
/// the headings in front of them.
pub(crate) fn cut_closing(pieces: &mut Pieces<'_>, rules: &Rules, links: bool) {
    let total: u32 = pieces.list.iter().map(|piece| piece.chars).sum();
    let (mut end, mut cut) = (pieces.list.len(), 0);
    while let Some(piece) = end.checked_sub(1).and_then(|last| pieces.list.get(last)) {
        let closing =
            matches!(piece.kind, Kind::Heading(_)) || is_call(piece, rules) || links && is_link_line(piece);
        cut += piece.chars;
        if !closing || cut as f32 > total as f32 * MAX_CLOSING {
            break;
        }
        end -= 1;
    }
    let mut at = 0;
    pieces.keep("a call to the reader, a credit or a link behind the text", |_| {
        at += 1;
        at <= end
    });
}

fn is_link_line(piece: &Piece) -> bool {
    matches!(piece.kind, Kind::Paragraph | Kind::Item)
        && piece.text.len() <= MAX_CALL
        && piece.link_density() >= CLOSING_LINKS
}

fn is_call(piece: &Piece, rules: &Rules) -> bool {
    if !matches!(piece.kind, Kind::Paragraph | Kind::Item) || piece.text.len() > MAX_CALL {
        return false;
    }
    let line = text::fold_lower(piece.bare());
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '(' && c != '¡');
    rules.boilerplate.call_starts.begin(line)
        || rules.boilerplate.calls.are_in(line)
        || metadata::is_date_line(&rules.dates, line)
}
