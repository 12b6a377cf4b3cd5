//! Sections with other products on the page of a product ("Similar items"), recognised by their titles.
//!
//! A shop shows them anywhere: between the name and the description, or behind both. They may be longer than
//! the text of the product.

use super::{LINKED, Pieces, RUNNING_TEXT, key};
use crate::{
    page::Page,
    render::{Kind, Piece},
    sentence::ends_sentence,
};

/// Minimum characters outside of the sections, without headings; a page with less lists products.
const PRODUCT_TEXT: u32 = 80;
/// Level of a title that is no heading.
const NO_HEADING: u8 = u8::MAX;

/// A section that is being dropped.
struct Section {
    /// Level of the title.
    level: u8,
    /// Node at which it ends at the latest: the end of its box.
    end: u32,
    /// Level of the products' names, once the first piece behind the title is known. [`NO_HEADING`] if that is no
    /// heading.
    names: Option<u8>,
}

impl Section {
    /// Returns true if the section ends before a piece.
    fn ends_at(&self, piece: &Piece) -> bool {
        let level = if let Kind::Heading(level) = piece.kind { Some(level) } else { None };
        // a heading above the names of the products is that of another section
        let is_above = |level: u8| level <= self.level || self.names.is_some_and(|names| level < names);
        is_running(piece)
            || piece.kind == Kind::Table
            || level.is_some_and(is_above)
            || piece.nodes.first().is_some_and(|node| *node >= self.end)
    }
}

/// Drops sections of other products, unless hardly any text stands outside of them.
///
/// A section ends with its box, at a table, or at a paragraph of running text: other products have names and prices. A
/// heading of its level, or above the names of the products, ends it as well.
pub(super) fn cut(pieces: &mut Pieces<'_>, page: &Page<'_>) {
    let mut open = None::<Section>;
    let (mut left, mut before) = (0, 0);
    let mut dropped = vec![false; pieces.list.len()];
    for (at, piece) in pieces.list.iter().enumerate() {
        open = open.filter(|section| !section.ends_at(piece));
        if let Some(section) = &mut open {
            let level = if let Kind::Heading(level) = piece.kind { level } else { NO_HEADING };
            section.names.get_or_insert(level);
        } else if at > 0
            && let Some(level) = title_level(piece, page)
        {
            open = Some(Section { level, end: end_of_box(page, piece, before), names: None });
        }
        dropped[at] = open.is_some();
        // the name of a product may be long
        let is_text = open.is_none() && !matches!(piece.kind, Kind::Heading(_));
        left += if is_text { piece.chars } else { 0 };
        before = piece.nodes.last().copied().unwrap_or(before);
    }
    if left < PRODUCT_TEXT {
        return;
    }
    let mut at = 0..;
    pieces.keep("a section with other products, by its title", |_| !at.next().is_some_and(|at| dropped[at]));
}

/// Level of a title of such a section. A paragraph is one as well, unless it is a link to the section, or a badge such
/// as "Best sellers".
fn title_level(piece: &Piece, page: &Page<'_>) -> Option<u8> {
    let rules = &page.rules.boilerplate;
    let key = key(piece)?;
    let is_title = rules.offer_titles.contains(&key);
    match piece.kind {
        Kind::Heading(level) => (is_title || rules.offer_headings.contains(&key)).then_some(level),
        Kind::Paragraph => (is_title && piece.link_density() < LINKED).then_some(NO_HEADING),
        _ => None,
    }
}

/// End of the largest element around a title that begins behind the node `before` and holds more than the title.
fn end_of_box(page: &Page<'_>, title: &Piece, before: u32) -> u32 {
    let Some(&first) = title.nodes.first() else { return u32::MAX };
    let around = page.dom.ancestors(first).take_while(|up| *up > before).last();
    around.filter(|up| page.chars(*up) > title.chars).map_or(u32::MAX, |up| page.dom.end(up))
}

/// Returns true for a paragraph or an item of running text.
fn is_running(piece: &Piece) -> bool {
    matches!(piece.kind, Kind::Paragraph | Kind::Item)
        && piece.chars >= RUNNING_TEXT
        && piece.link_density() < LINKED
        && ends_sentence(piece.plain())
}
