//! Correction of an extraction by evidence from other pages of its site.
//!
//! Four rules apply, each with its reason in the extraction:
//!
//! - *Missed*: the extraction without repeated text has less than a fifth of the page's own text. The
//!   smallest element with most of that text replaces it, without repeated text.
//! - *Added*: a block of the page's own text is added, if the extraction takes its position on other pages. The block
//!   repeats no text of the page.
//! - *Title*: a heading before the content is added, if its position has a heading on each page, and another
//!   on each. It is not added if the first heading of the content has the same text.
//! - *Dropped*: a block before the first or after the last of the page's own text is dropped. Most pages with
//!   its position, and a part of the site, must have its text. If such blocks are more than half of the text,
//!   all stay.

use super::{
    HALF, SiteEvidence,
    blocks::{self, SiteBlock, Texts},
    evidence::{CONTENT_LINKS, CONTENT_OWN, PositionCounts},
    is_missed, template, title,
};
use crate::{
    content::{BOILERPLATE_ROLES, Chosen},
    dom::Tag,
    metadata::without_marks,
    page::Page,
    rules::Roles,
    selection::Selection,
    text,
};
use crawl_model::{BySite, Extractor, PageMetadata};
use rustc_hash::FxHashSet;
use std::cell::LazyCell;

/// Minimum share of a position's words in the extractions for taking its own text on all pages. The choice of the
/// content may miss a part on most pages of a template.
const MIN_EXTRACTED_SHARE: f64 = 0.1;
/// The same for a block with a name of the frame: a rule drops it on most pages for a reason.
const MIN_EXTRACTED_SHARE_OF_FRAME: f64 = 0.5;
/// Minimum share of a title position's pages with one heading there.
const MIN_ONE_HEADING_SHARE: f64 = 0.8;
/// Minimum share of a position's pages with a text of the frame there.
const REPEATED: f64 = 0.7;
/// Minimum pages with a text of the frame: on fewer it may be chance.
const REPEATED_PAGES: u32 = 10;
/// Minimum share of the site's pages with it.
const MIN_SITE_SHARE: f64 = 0.4;
/// Minimum characters of a frame text: a shorter one is a label of the next text.
const REPEATED_CHARS: u32 = 30;
/// Maximum share of an extraction's words in dropped blocks: a name or a ratio may rank, but not destroy.
const DROPPED: f64 = HALF;
/// Minimum share of the page's own words in the replacing element.
const MIN_HELD_SHARE: f64 = 0.9;

/// Roles of elements that frame the content.
const FRAME_ROLES: Roles = BOILERPLATE_ROLES
    .and(Roles::COMMENTS)
    .and(Roles::AUTHOR)
    .and(Roles::META)
    .and(Roles::CALL)
    .and(Roles::REVIEWS);

/// Rules for correcting an extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CorrectionRules {
    /// The first rule only; [`SiteEvidence::classify`] has reported missed content.
    Missed,
    /// All four.
    All,
}

/// A block with the counts of its position.
pub(super) struct KnownBlock {
    pub(super) block: SiteBlock,
    pub(super) place: PositionCounts,
    /// The extraction takes it.
    pub(super) taken: bool,
}

impl KnownBlock {
    /// Returns true for a block of the page's own text at a position of content.
    pub(super) fn is_content(&self) -> bool {
        self.place.is_content()
    }

    /// Returns true for a block whose text differs from other pages, in links or not.
    pub(super) fn differs(&self) -> bool {
        self.place.is_own() && self.place.own >= CONTENT_OWN
    }

    pub(super) fn is_title(&self) -> bool {
        self.block.may_be_title && self.differs() && self.place.once >= MIN_ONE_HEADING_SHARE
    }

    /// Returns true for a text of a site template, not only of a few similar pages.
    fn is_frame(&self, pages_of_site: u32) -> bool {
        !self.block.may_be_title
            && self.place.repeated() >= REPEATED
            && self.place.pages_with_text >= REPEATED_PAGES
            && f64::from(self.place.pages_with_text) >= MIN_SITE_SHARE * f64::from(pages_of_site)
            && self.block.amount.chars >= REPEATED_CHARS
    }
}

/// Corrects a choice by the evidence of the site. It does not change if fewer than five pages have a block at
/// the same positions.
pub(crate) fn adjust(
    page: &Page<'_>,
    evidence: &SiteEvidence,
    rules: CorrectionRules,
    chosen: Chosen,
    metadata: &mut PageMetadata,
) -> Chosen {
    let blocks = known_blocks(page, evidence, &taken(page, &chosen.selection));
    if rules == CorrectionRules::All {
        title::correct(page, evidence, &blocks, metadata);
    }
    let (chosen, changes) = choose(page, evidence, rules, &blocks, chosen);
    metadata.by_site = changes;
    chosen
}

fn choose(
    page: &Page<'_>,
    evidence: &SiteEvidence,
    rules: CorrectionRules,
    blocks: &[KnownBlock],
    chosen: Chosen,
) -> (Chosen, Option<BySite>) {
    let own = |known: &&KnownBlock| known.is_content();
    let words = |known: &KnownBlock| known.block.amount.words;
    let own_words: u32 = blocks.iter().filter(own).map(words).sum();
    let repeats = |known: &&KnownBlock| known.taken && known.place.repeated() >= HALF;
    let taken_words = chosen.selection.words.saturating_sub(blocks.iter().filter(repeats).map(words).sum());
    // the crawl has decided that already
    if rules == CorrectionRules::Missed || is_missed(taken_words, own_words) {
        let reason = format!(
            "the extraction took {taken_words} words, where {own_words} are the page's own by {} pages of the site: {}",
            evidence.pages(),
            chosen.reason
        );
        let selection = rebuilt(page, blocks);
        let template = selection.roots.first().map(|root| template(page, *root));
        let mut changes = BySite::of_pages(evidence.pages());
        (changes.rebuilt, changes.template) = (true, template);
        return (Chosen { selection, extractor: Extractor::SiteTemplate, reason, ..chosen }, Some(changes));
    }
    corrected(page, blocks, evidence, chosen)
}

/// Blocks of a page whose positions are known.
pub(super) fn known_blocks(page: &Page<'_>, evidence: &SiteEvidence, taken: &[bool]) -> Vec<KnownBlock> {
    let known = |block: SiteBlock| {
        let taken = taken[block.id as usize];
        Some(KnownBlock { place: evidence.place(&block)?, block, taken })
    };
    blocks::of(page, Texts::Hashed).into_iter().filter_map(known).collect()
}

/// The smallest element with nine tenths of the words of some blocks.
pub(super) fn root_of(page: &Page<'_>, blocks: &[KnownBlock], is_one: impl Fn(&KnownBlock) -> bool) -> u32 {
    let blocks: Vec<&SiteBlock> =
        blocks.iter().filter(|known| is_one(known)).map(|known| &known.block).collect();
    // blocks are disjoint and in document order
    let mut words_before = vec![0_u32];
    words_before.extend(blocks.iter().scan(0, |sum, block| {
        *sum += block.amount.words;
        Some(*sum)
    }));
    let words_in = |id: u32| -> u32 {
        let end = page.dom.end(id);
        let first = blocks.partition_point(|block| block.id < id);
        // text that begins in the element may continue after it
        let last = first + blocks[first..].partition_point(|block| block.id < end && block.end <= end);
        words_before[last] - words_before[first]
    };
    let all = f64::from(words_in(page.body));
    let holds = |id: &u32| page.dom.tag(*id) != Tag::Text && f64::from(words_in(*id)) >= MIN_HELD_SHARE * all;
    let mut root = page.body;
    while !page.budget.is_over()
        && let Some(child) = page.dom.children(root).find(holds)
    {
        root = child;
    }
    root
}

/// Selects the smallest element with most of the page's own text, without repeated text and links.
fn rebuilt(page: &Page<'_>, blocks: &[KnownBlock]) -> Selection {
    let root = root_of(page, blocks, KnownBlock::is_content);
    let mut drop = vec![false; page.dom.len() as usize];
    for known in blocks {
        let repeats = !known.place.is_own() && known.place.repeated() >= REPEATED;
        if known.block.is_element && (repeats || known.place.links >= CONTENT_LINKS && !known.is_title()) {
            drop[known.block.id as usize] = true;
        }
    }
    Selection::new(page, vec![root], drop)
}

/// Adds missing blocks, and drops the frame at either end.
fn corrected(
    page: &Page<'_>,
    blocks: &[KnownBlock],
    evidence: &SiteEvidence,
    mut chosen: Chosen,
) -> (Chosen, Option<BySite>) {
    let Some(&first) = chosen.selection.roots.first() else { return (chosen, None) };
    let is_text =
        |known: &&KnownBlock| known.taken && known.place.is_own() && known.block.amount.link_density() <= 0.5;
    let begin = blocks.iter().find(is_text).map(|known| known.block.id);
    let end = blocks.iter().rev().find(is_text).map(|known| known.block.id);
    let (mut added, mut shown) = (0_u32, None);
    let mut frame: Vec<&KnownBlock> = Vec::new();
    let said: LazyCell<FxHashSet<u64>, _> =
        LazyCell::new(|| blocks.iter().filter(|known| known.taken).map(|known| known.block.text).collect());
    for known in blocks.iter().filter(|known| known.block.is_element) {
        let id = known.block.id;
        if known.taken {
            let at_edge = begin.is_some_and(|begin| id < begin) || end.is_some_and(|end| id > end);
            if at_edge && known.is_frame(evidence.pages()) {
                frame.push(known);
            }
        } else if known.is_content()
            && known.place.taken >= least_extracted_share(page, id)
            && !repeats_page(page, &chosen.selection, known, &said)
            || known.is_title()
                && id < first
                && *shown.get_or_insert_with(|| first_heading(page, blocks))
                    != Some(heading_text(page, known))
        {
            take(page, &mut chosen.selection, id);
            added += 1;
        }
    }
    let frame_words: u32 = frame.iter().map(|known| known.block.amount.words).sum();
    if f64::from(frame_words) > DROPPED * f64::from(chosen.selection.words) {
        frame.clear();
    }
    frame.iter().for_each(|known| chosen.selection.drop[known.block.id as usize] = true);
    let dropped = frame.len() as u32;
    if added + dropped == 0 {
        return (chosen, None);
    }
    let pages = evidence.pages();
    chosen.reason =
        format!("{}; {added} blocks added and {dropped} dropped by {pages} pages of the site", chosen.reason);
    let Selection { roots, drop, .. } = chosen.selection;
    chosen.selection = Selection::new(page, roots, drop);
    let mut changes = BySite::of_pages(pages);
    (changes.added, changes.dropped) = (added, dropped);
    (chosen, Some(changes))
}

/// Minimum share of the words at the position of a block in the extractions.
fn least_extracted_share(page: &Page<'_>, id: u32) -> f64 {
    let mut around = std::iter::once(id).chain(page.dom.ancestors(id)).take_while(|up| *up > page.body);
    let is_frame = around.any(|up| page.roles[up as usize].has(FRAME_ROLES));
    if is_frame { MIN_EXTRACTED_SHARE_OF_FRAME } else { MIN_EXTRACTED_SHARE }
}

/// Returns true for a block that repeats a text of the page: one with an extracted text, or in a dropped quotation.
fn repeats_page(page: &Page<'_>, selection: &Selection, known: &KnownBlock, said: &FxHashSet<u64>) -> bool {
    let id = known.block.id;
    let is_dropped_quote =
        |up: u32| matches!(page.dom.tag(up), Tag::Blockquote | Tag::Aside) && selection.drop[up as usize];
    said.contains(&known.block.text)
        || std::iter::once(id).chain(page.dom.ancestors(id)).any(is_dropped_quote)
}

/// Text of the first heading that the selection has. A header or a trail of links may repeat it.
fn first_heading(page: &Page<'_>, blocks: &[KnownBlock]) -> Option<String> {
    blocks.iter().find(|known| known.taken && known.block.may_be_title).map(|known| heading_text(page, known))
}

fn heading_text(page: &Page<'_>, known: &KnownBlock) -> String {
    let id = known.block.id;
    without_marks(page, id, &text::fold_lower(&page.visible_text(id))).to_owned()
}

/// Flags by node: true if the selection contains it.
pub(super) fn taken(page: &Page<'_>, selection: &Selection) -> Vec<bool> {
    let mut taken = vec![false; page.dom.len() as usize];
    for root in &selection.roots {
        let mut id = *root;
        while id < page.dom.end(*root) {
            if selection.drop[id as usize] {
                id = page.dom.end(id);
            } else {
                taken[id as usize] = true;
                id += 1;
            }
        }
    }
    taken
}

/// Adds a block to a selection: as a root, or from a dropped subtree of a root.
fn take(page: &Page<'_>, selection: &mut Selection, id: u32) {
    let dom = &page.dom;
    let next = selection.roots.partition_point(|root| *root <= id);
    let around = next.checked_sub(1).map(|at| selection.roots[at]).filter(|root| id < dom.end(*root));
    if let Some(root) = around {
        // siblings of the block in the dropped subtree stay dropped
        let mut above: Vec<u32> = dom.ancestors(id).take_while(|up| *up >= root).collect();
        above.reverse();
        for up in above {
            if std::mem::take(&mut selection.drop[up as usize]) {
                dom.children(up).for_each(|child| selection.drop[child as usize] = true);
            }
        }
    } else {
        selection.roots.insert(next, id);
    }
    selection.drop[id as usize..dom.end(id) as usize].fill(false);
}
