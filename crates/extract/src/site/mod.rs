//! Extraction by the other pages of a site: text that differs from page to page is content, text that repeats is frame.
//!
//! A block's place is the path of tags and classes that leads to it. Over the pages of a host, each place has a share of its words
//! that stand on one page alone (content differs, frame repeats: Bar-Yossef and Rajagopalan 2002, Yi, Liu and Li 2003), a
//! share that the extraction took, and a share in links. [`SiteEvidence`] counts them; `adjust` mends an extraction by them.

mod adjust;
mod blocks;
mod evidence;

use crate::page::Page;
pub(crate) use adjust::adjust;
pub use evidence::{CountedBlock, SiteEvidence};

/// Returns the blocks of a page for the evidence. `in_content` tells the nodes whose text the extraction took.
pub(crate) fn counted(page: &Page<'_>, in_content: &[bool]) -> Vec<CountedBlock> {
    let blocks = blocks::of(page).into_iter();
    let counted = |block: blocks::SiteBlock| CountedBlock {
        path: block.path,
        text: block.text,
        words: block.amount.words,
        chars: block.amount.chars,
        link_chars: block.amount.link_chars,
        taken: (block.id..block.end).any(|id| in_content[id as usize]),
    };
    blocks.map(counted).collect()
}
