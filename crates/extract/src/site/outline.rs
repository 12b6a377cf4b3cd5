//! Outline of a page by its site: its template, and each block with evidence from other pages.

use super::{
    HALF, SiteEvidence, Texts,
    adjust::{KnownBlock, known_blocks, root_of},
    blocks, element, is_missed, template,
};
use crate::{page::Page, selection::Selection};

/// Maximum words of a small particular text: a title, a date, an author, a price.
const PARTICULAR_WORDS: u32 = 12;
/// Minimum share of the pages with one such text at its position.
const MIN_SINGLE_SHARE: f64 = 0.8;
/// Maximum characters shown of a block's text.
const SHOWN_CHARS: usize = 240;

/// Part of a site's pages that contains a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteArea {
    /// Text that differs from page to page, outside links.
    Content,
    /// Short text that differs, once per page: a title, a date, an author, a price.
    Particular,
    /// Text that repeats.
    Frame,
    /// Links with different texts, text on too few pages, and the rest.
    Unsure,
}

/// Outline of a page by its site.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageOutline {
    /// Position of the smallest element with nine tenths of the text that differs from other pages, including
    /// links. Written as tags and first classes; empty for a page without such text.
    pub template: String,
    /// Selector of that element for a rule in `sites.toml`.
    pub selector: String,
    /// Words of the page's own text, which differs and is not a list of links.
    pub own_words: u32,
    /// Extracted words without those that repeat on the site.
    pub taken_words: u32,
    /// True if the extraction took less than a fifth of the page's own text.
    pub missed: bool,
    /// The blocks, in document order.
    pub blocks: Vec<OutlineBlock>,
}

/// A block of a page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutlineBlock {
    /// Number of ancestors, from the body down.
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
    /// Pages of the site with a block at this position; 0 if they are too few.
    pub pages: u32,
    /// Those of them with its text there.
    pub pages_with_text: u32,
}

fn area(known: &KnownBlock) -> SiteArea {
    let place = &known.place;
    let words = known.block.amount.words;
    match () {
        () if known.is_content() && words <= PARTICULAR_WORDS && place.once >= MIN_SINGLE_SHARE => {
            SiteArea::Particular
        }
        () if known.is_content() => SiteArea::Content,
        () if place.repeated() >= HALF => SiteArea::Frame,
        () => SiteArea::Unsure,
    }
}

/// The smallest element with nine tenths of the differing text that is no single block.
fn container(page: &Page<'_>, known: &[KnownBlock]) -> u32 {
    let root = root_of(page, known, KnownBlock::differs);
    let is_block = known.iter().any(|known| known.block.is_element && known.block.id == root);
    if is_block && root > page.body { page.dom.parent(root) } else { root }
}

/// Outlines a page and the selection of its extraction.
pub(crate) fn outline(page: &Page<'_>, evidence: &SiteEvidence, selection: &Selection) -> PageOutline {
    let taken = super::adjust::taken(page, selection);
    let known = known_blocks(page, evidence, &taken);
    let words = |filter: &dyn Fn(&KnownBlock) -> bool| -> u32 {
        known.iter().filter(|known| filter(known)).map(|known| known.block.amount.words).sum()
    };
    let own_words = words(&KnownBlock::is_content);
    let repeated = words(&|known| known.taken && known.place.repeated() >= HALF);
    let taken_words = selection.words.saturating_sub(repeated);
    let root = known.iter().any(KnownBlock::differs).then(|| container(page, &known));
    let mut by_id = known.iter().peekable();
    let mut outlined = Vec::new();
    for block in blocks::of(page, Texts::Hashed) {
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
