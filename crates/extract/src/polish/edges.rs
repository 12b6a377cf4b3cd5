//! Edges of an article that are no part of it: author and date before its first paragraph; requests to the
//! reader after its last one.

use super::Pieces;
use crate::{
    metadata,
    page::Page,
    render::{Kind, Piece},
    rules::Rules,
    text,
};
use html5ever::local_name;

/// Minimum characters of a paragraph that begins the text.
const FIRST_PARAGRAPH: u32 = 100;
/// Maximum bytes of a byline.
const MAX_BYLINE: usize = 90;
/// Minimum dates behind the opening that make a date there one of several posts.
const MIN_RECURRING_DATES: usize = 2;
/// Maximum bytes of a request after the text; a longer paragraph belongs to the text.
const MAX_CALL: usize = 320;
/// Minimum share of links in a closing line of links.
const CLOSING_LINKS: f32 = 0.5;
/// Maximum share of the characters that are cut off at the end.
const MAX_CLOSING: f32 = 0.2;

/// Drops bylines, dates and reading times before the text: before its first paragraph, or between its lead
/// and the next one. Dates that recur behind, in elements of one tag and class, are those of posts and stay.
pub(crate) fn drop_opening(pieces: &mut Pieces<'_>, page: &Page<'_>) {
    let rules = page.rules;
    let long = |piece: &Piece| piece.chars >= FIRST_PARAGRAPH && !matches!(piece.kind, Kind::Heading(_));
    let mut paragraphs = pieces.list.iter().enumerate().filter(|(_, piece)| long(piece)).map(|(at, _)| at);
    let text_from = paragraphs.by_ref().take(2).last().unwrap_or(0);
    let (opening, behind) = pieces.list.split_at(pieces.list.len().min(text_from + 1));
    // most pages have no such date, and their text is not searched
    let is_searched = opening.iter().any(|piece| is_date(piece, rules) && place(page, piece).is_some());
    let behind = behind.iter().filter(|piece| is_searched && is_date(piece, rules));
    let dated: Vec<Option<Place<'_>>> = behind.map(|piece| place(page, piece)).collect();
    let is_of_posts = |piece: &Piece| {
        let place = place(page, piece);
        place.is_some()
            && is_date(piece, rules)
            && dated.iter().filter(|other| **other == place).count() >= MIN_RECURRING_DATES
    };
    let mut at = 0;
    pieces.keep("a byline, a date or a reading time in front of the text", |piece| {
        at += 1;
        at > text_from || !is_byline(piece, rules) || is_of_posts(piece)
    });
}

/// Tag and class of the element with a piece.
type Place<'a> = (&'a str, &'a str);

/// The innermost element of a piece; `None` if it has no class.
fn place<'a>(page: &'a Page<'_>, piece: &Piece) -> Option<Place<'a>> {
    let element = page.dom.parent(*piece.nodes.first()?);
    Some((page.dom.name(element), page.dom.attr(element, &local_name!("class"))?))
}

/// Returns true for a short line with only a date.
fn is_date(piece: &Piece, rules: &Rules) -> bool {
    matches!(piece.kind, Kind::Paragraph | Kind::Item)
        && piece.plain().len() <= MAX_BYLINE
        && metadata::is_date_line(&rules.dates, &text::fold_lower(piece.bare()))
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
