//! Edges of an article that are no part of it: author and date before its first paragraph; requests to the
//! reader after its last one.

use super::Pieces;
use crate::{
    metadata,
    render::{Kind, Piece},
    rules::Rules,
    text,
};

/// Minimum characters of a paragraph that begins the text.
const FIRST_PARAGRAPH: u32 = 100;
/// Maximum bytes of a byline.
const MAX_BYLINE: usize = 90;
/// Maximum bytes of a request after the text; a longer paragraph belongs to the text.
const MAX_CALL: usize = 320;
/// Minimum share of links in a closing line of links.
const CLOSING_LINKS: f32 = 0.5;
/// Maximum share of the characters that are cut off at the end.
const MAX_CLOSING: f32 = 0.2;

/// Drops bylines, dates and reading times before the text: before its first paragraph, or between its lead
/// and the next one.
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

/// Returns true if the line names the author, the date or the reading time.
fn is_byline(piece: &Piece, rules: &Rules) -> bool {
    if piece.kind != Kind::Paragraph && piece.kind != Kind::Item || piece.plain().len() > MAX_BYLINE {
        return false;
    }
    let line = text::fold_lower(piece.bare());
    let boilerplate = &rules.boilerplate;
    boilerplate.byline_starts.begin(&line)
        || boilerplate.reading_time.are_in(&line)
        || metadata::is_date_line(&rules.dates, &line)
}

/// Cuts off lines after the text that ask the reader to act and, if `links`, lines of links; with the
/// headings before them.
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
        && piece.plain().len() <= MAX_CALL
        && piece.link_density() >= CLOSING_LINKS
}

fn is_call(piece: &Piece, rules: &Rules) -> bool {
    if !matches!(piece.kind, Kind::Paragraph | Kind::Item) || piece.plain().len() > MAX_CALL {
        return false;
    }
    let line = text::fold_lower(piece.bare());
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '(' && c != '¡');
    rules.boilerplate.call_starts.begin(line)
        || rules.boilerplate.calls.are_in(line)
        || metadata::is_date_line(&rules.dates, line)
}
