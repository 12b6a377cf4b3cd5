//! Sections with other products on the page of a product ("Similar items"), recognised by their titles.
//!
//! A shop shows them anywhere: between the name and the description, or behind both. They may be longer than
//! the text of the product.

use super::{Pieces, RUNNING_TEXT, key};
use crate::{
    page::Page,
    render::{Kind, Piece},
    sentence::ends_sentence,
};

/// Minimum characters that stay outside of the sections; a page with less lists products.
const PRODUCT_TEXT: u32 = 80;
/// Maximum share of links in a paragraph of running text.
const LINKED: f32 = 0.5;
/// Level of a title that is no heading. Any heading ends its section.
const NO_HEADING: u8 = u8::MAX;

/// Drops sections of other products, unless hardly any text stands outside of them.
///
/// A section ends at a heading of its level, or at a paragraph of running text: other products have names and
/// prices.
pub(super) fn cut(pieces: &mut Pieces<'_>, page: &Page<'_>) {
    let titles = &page.rules.boilerplate.offer_titles;
    let mut open = None::<u8>;
    let mut left = 0;
    let mut dropped = vec![false; pieces.list.len()];
    for (at, piece) in pieces.list.iter().enumerate() {
        let level = match piece.kind {
            Kind::Heading(level) => Some(level),
            Kind::Paragraph => Some(NO_HEADING),
            _ => None,
        };
        let ends =
            |open: u8| is_running(piece) || level.is_some_and(|level| level != NO_HEADING && level <= open);
        open = open.filter(|open| !ends(*open));
        if open.is_none()
            && at > 0
            && let Some(level) = level
            && key(piece).is_some_and(|key| titles.contains(&key))
        {
            open = Some(level);
        }
        dropped[at] = open.is_some();
        left += if open.is_some() { 0 } else { piece.chars };
    }
    if left < PRODUCT_TEXT {
        return;
    }
    let mut at = 0..;
    pieces.keep("a section with other products, by its title", |_| !at.next().is_some_and(|at| dropped[at]));
}

/// Returns true for a paragraph or an item of running text.
fn is_running(piece: &Piece) -> bool {
    matches!(piece.kind, Kind::Paragraph | Kind::Item)
        && piece.chars >= RUNNING_TEXT
        && piece.link_density() < LINKED
        && ends_sentence(piece.plain())
}
