//! A page as its site shows it: its template, and each block with what the other pages say of its place.

use super::{
    HALF, SiteEvidence,
    adjust::{Known, known_blocks, root_of},
    blocks, element, is_missed, template,
};
use crate::{content::Selection, page::Page};

/// Words of a text that is particular in small: a title, a date, an author, a price.
const PARTICULAR_WORDS: u32 = 12;
/// Share of the pages of a place of such texts that have one there.
const PARTICULAR_ONCE: f64 = 0.8;
/// Characters of a block's text that are shown.
const SHOWN_CHARS: usize = 240;

/// The part of a site's pages that a place belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteArea {
    /// Text that differs from page to page, outside links.
    Content,
    /// Short text that differs, once a page: a title, a date, an author, a price.
    Particular,
    /// Text that repeats.
    Frame,
    /// Links whose texts differ, text of which too few pages say anything, and what is neither.
    Unsure,
}

/// A page as its site shows it.
#[derive(Clone, Debug)]
pub struct PageOutline {
    /// The place of the smallest element that holds nine tenths of the text that differs from other pages, links included, as tags and
    /// first classes; empty for a page without such text.
    pub template: String,
    /// A selector of that element for a rule in `sites.toml`.
    pub selector: String,
    /// Words of the page's own text, which differs and is not a list of links.
    pub own_words: u32,
    /// Words that the extraction took, not counting what repeats on the site.
    pub taken_words: u32,
    /// The extraction took less than a fifth of the page's own text.
    pub missed: bool,
    /// The blocks, in document order.
    pub blocks: Vec<OutlineBlock>,
}

/// A block of a page.
#[derive(Clone, Debug)]
pub struct OutlineBlock {
    /// Elements above it, from the body down.
    pub depth: u32,
    /// Its tag and first class.
    pub element: String,
    /// The beginning of its text.
    pub text: String,
    /// Words.
    pub words: u32,
    /// The part of the page.
    pub area: SiteArea,
    /// The extraction took it.
    pub taken: bool,
    /// Pages of the site that have a block at this place; 0 if they are too few to say anything.
    pub pages: u32,
    /// Of them, those that have its text there.
    pub pages_with_text: u32,
}

fn area(known: &Known) -> SiteArea {
    let place = &known.place;
    let words = known.block.amount.words;
    match () {
        () if known.is_content() && words <= PARTICULAR_WORDS && place.once >= PARTICULAR_ONCE => {
            SiteArea::Particular
        }
        () if known.is_content() => SiteArea::Content,
        () if place.repeated() >= HALF => SiteArea::Frame,
        () => SiteArea::Unsure,
    }
}

/// Returns the smallest element that holds nine tenths of the text that differs, and is no single block.
fn container(page: &Page<'_>, known: &[Known]) -> u32 {
    let root = root_of(page, known, Known::differs);
    let is_block = known.iter().any(|known| known.block.is_element && known.block.id == root);
    if is_block && root > page.body { page.dom.parent(root) } else { root }
}

/// Outlines a page, of which the extraction took a selection.
pub(crate) fn outline(page: &Page<'_>, evidence: &SiteEvidence, selection: &Selection) -> PageOutline {
    let taken = super::adjust::taken(page, selection);
    let known = known_blocks(page, evidence, &taken);
    let words = |filter: &dyn Fn(&Known) -> bool| -> u32 {
        known.iter().filter(|known| filter(known)).map(|known| known.block.amount.words).sum()
    };
    let own_words = words(&Known::is_content);
    let repeated = words(&|known| known.taken && known.place.repeated() >= HALF);
    let taken_words = selection.words.saturating_sub(repeated);
    let root = known.iter().any(Known::differs).then(|| container(page, &known));
    let mut by_id = known.iter().peekable();
    let mut outlined = Vec::new();
    for block in blocks::of(page) {
        let known = by_id.next_if(|known| known.block.id == block.id);
        let text = match block.is_element {
            true => page.visible_text(block.id),
            false => (block.id..block.end)
                .filter(|id| block.id == *id || page.dom.parent(*id) == page.dom.parent(block.id))
                .map(|id| page.visible_text(id) + " ")
                .collect(),
        };
        let text: Vec<&str> = text.split_whitespace().collect();
        outlined.push(OutlineBlock {
            depth: u32::try_from(page.dom.ancestors(block.id).count()).unwrap_or(0),
            element: element(page, if block.is_element { block.id } else { page.dom.parent(block.id) }),
            text: text.join(" ").chars().take(SHOWN_CHARS).collect(),
            words: block.amount.words,
            area: known.map_or(SiteArea::Unsure, area),
            taken: taken[block.id as usize],
            pages: known.map_or(0, |known| known.place.pages),
            pages_with_text: known.map_or(0, |known| known.place.pages_with_text),
        });
    }
    PageOutline {
        template: root.map(|root| template(page, root)).unwrap_or_default(),
        selector: root.map(|root| super::selector(page, root)).unwrap_or_default(),
        own_words,
        taken_words,
        missed: is_missed(taken_words, own_words),
        blocks: outlined,
    }
}
