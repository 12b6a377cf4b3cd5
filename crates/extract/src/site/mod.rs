//! Extraction by other pages of a site: text that differs from page to page is content, text that repeats is
//! frame.
//!
//! A block's position is the path of tags and classes to it. Over the pages of a host each position has three
//! shares of its words: on one page alone, in the extractions, and in links. Content differs and frames
//! repeat (Bar-Yossef and Rajagopalan 2002; Yi, Liu and Li 2003). [`SiteEvidence`] counts the shares;
//! `adjust` corrects an extraction by them.

mod adjust;
mod blocks;
mod evidence;
mod outline;
mod saved;
mod site_use;
mod title;

use crate::{dom::NONE, page::Page, selection::Selection};
use adjust::{CorrectionRules, adjust};
use blocks::{SiteBlock, Texts};
pub use evidence::{ContentCheck, CountedBlock, SiteEvidence};
use html5ever::local_name;
use outline::outline;
pub use outline::{OutlineBlock, PageOutline, SiteArea};
pub use site_use::{CountPolicy, CountedExtraction};
pub(crate) use site_use::{CrawlUse, SiteUse};
use std::ops::ControlFlow;

/// Share of the page's own words below which the extraction has missed the content.
const MISSED_SHARE: f64 = 0.2;
/// Minimum own words of a page with content.
const MISSED_WORDS: u32 = 20;
/// Half of the pages, or of the words.
const HALF: f64 = 0.5;
/// Maximum roots of a selection that are read on their own: each costs the path to it.
const MAX_ROOTS: usize = 16;
/// Elements in the name of a template.
const TEMPLATE_STEPS: usize = 6;
/// Characters of a class in the name of a template.
const CLASS_CHARS: usize = 40;

/// Returns true if an extraction missed the content of a page. Both values are words: non-repeated extracted
/// ones, and the page's own.
fn is_missed(taken_words: u32, own_words: u32) -> bool {
    own_words >= MISSED_WORDS && f64::from(taken_words) < MISSED_SHARE * f64::from(own_words)
}

/// Returns true if a page has much text outside links and outside of the extraction, so that its site may
/// show missed content. Every page that [missed](is_missed) because it took too little is doubtful.
fn is_doubtful(page: &Page<'_>, selection: &Selection) -> bool {
    let visible = page.amount(page.body);
    let outside_links = f64::from(visible.words) * f64::from(1.0 - visible.link_density());
    outside_links >= f64::from(MISSED_WORDS) && f64::from(selection.words) < MISSED_SHARE * outside_links
}

/// Blocks of a page for the evidence, with those marked that a selection takes. The title is a block without
/// words.
fn counted(page: &Page<'_>, selection: &Selection, title: Option<&str>) -> Vec<CountedBlock> {
    let taken = adjust::taken(page, selection);
    let blocks = blocks::of(page, Texts::Hashed).into_iter();
    let title = title.map(|text| CountedBlock {
        path: title::PLACE,
        text: title::hash(text),
        words: 0,
        chars: 0,
        link_chars: 0,
        taken: false,
    });
    let counted = |block: SiteBlock| CountedBlock {
        path: block.path,
        text: block.text,
        words: block.amount.words,
        chars: block.amount.chars,
        link_chars: block.amount.link_chars,
        taken: holds_taken(&taken, &block),
    };
    title.into_iter().chain(blocks.map(counted)).collect()
}

/// Returns true if the positions of the blocks alone show that a selection took the content, so that the page adds
/// little to the evidence. The blocks of the selection decide most pages.
fn is_surely_taken(page: &Page<'_>, selection: &Selection, evidence: &SiteEvidence) -> bool {
    let words = page.amount(page.body).words;
    let mut check = evidence.position_check(words);
    for root in selection.roots.iter().take(MAX_ROOTS) {
        let is_skipped = |id: u32| selection.drop[id as usize];
        let decided = blocks::visit(page, *root, Texts::Skipped, &is_skipped, &mut |block| {
            check.add(block.path, block.amount.words, true);
            if check.is_surely_taken() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if decided.is_break() {
            return true;
        }
    }
    let taken = adjust::taken(page, selection);
    let mut check = evidence.position_check(words);
    for block in blocks::of(page, Texts::Skipped) {
        check.add(block.path, block.amount.words, holds_taken(&taken, &block));
    }
    check.is_surely_taken()
}

fn holds_taken(taken: &[bool], block: &SiteBlock) -> bool {
    taken[block.id as usize..block.end as usize].contains(&true)
}

/// Name of the template whose content is in an element. It consists of tags and first classes of the last six
/// elements on the path to it, as a CSS selector without escapes.
fn template(page: &Page<'_>, root: u32) -> String {
    let is_inside = |id: &u32| *id != NONE && *id >= page.body;
    let path = std::iter::once(root).chain(page.dom.ancestors(root)).take_while(is_inside);
    let mut steps: Vec<String> = path.take(TEMPLATE_STEPS).map(|id| element(page, id)).collect();
    steps.reverse();
    steps.join(" > ")
}

/// Tag and first class of an element.
fn element(page: &Page<'_>, id: u32) -> String {
    let name = page.dom.name(id);
    first_class(page, id).map_or_else(
        || name.to_owned(),
        |class| {
            let class = class.chars().take(CLASS_CHARS).map(|c| if c.is_control() { '?' } else { c });
            format!("{name}.{}", class.collect::<String>())
        },
    )
}

fn first_class<'a>(page: &'a Page<'_>, id: u32) -> Option<&'a str> {
    page.dom.attr(id, &local_name!("class")).and_then(|class| class.split_ascii_whitespace().next())
}

/// Selector of an element: its id, else the path to it from the nearest element with a class or an id.
fn selector(page: &Page<'_>, root: u32) -> String {
    let is_name = |name: &&str| {
        !name.is_empty()
            && !name.contains(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let mut steps = Vec::new();
    for id in std::iter::once(root).chain(page.dom.ancestors(root)) {
        if id == NONE || id < page.body {
            break;
        }
        let name = page.dom.name(id);
        if let Some(own) = page.dom.attr(id, &local_name!("id")).filter(is_name) {
            steps.push(format!("{name}#{own}"));
            break;
        }
        if let Some(class) = first_class(page, id).filter(is_name) {
            steps.push(format!("{name}.{class}"));
            break;
        }
        steps.push(name.to_owned());
    }
    steps.reverse();
    steps.join(" > ")
}
