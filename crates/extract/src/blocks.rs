//! The blocks of the whole page, for a site's fingerprint.

use crate::{
    dom::Tag,
    page::{HiddenReason, Page},
    text,
};
use crawl_model::Block;
use html5ever::local_name;
use rustc_hash::FxHasher;
use sha2::{Digest, Sha256};
use std::hash::{Hash, Hasher};

/// Collects every block of text of the page, gone or not, except what is never text: a fingerprint should
/// learn consent banners too. A block is the text between two borders of block elements.
pub(crate) fn collect(page: &Page<'_>, in_content: &[bool]) -> Vec<Block> {
    let dom = &page.dom;
    let mut out = Vec::new();
    let mut open = Open::default();
    let mut levels = levels_above(page);
    let mut link_end = 0;
    let mut id = page.body;
    while id < dom.end(page.body) && !page.budget.is_over() {
        while levels.last().is_some_and(|level| level.end <= id) {
            if levels.pop().is_some_and(|level| level.is_block) {
                open.close(&mut out);
            }
        }
        let tag = dom.tag(id);
        if page.gone[id as usize] == HiddenReason::Silent {
            id = dom.end(id);
            continue;
        }
        let above = levels.last().copied().unwrap_or_default();
        if tag == Tag::Text {
            open.push(dom.text(id), above.block_path, id < link_end, in_content[id as usize]);
            id += 1;
            continue;
        }
        levels.push(above.below(page, id));
        if tag.is_block() {
            open.close(&mut out);
        } else if tag == Tag::Br {
            open.push(" ", 0, false, false);
        } else if tag == Tag::A && dom.attr(id, &local_name!("href")).is_some() {
            link_end = link_end.max(dom.end(id));
        }
        id += 1;
    }
    open.close(&mut out);
    out
}

/// Returns true if the page has a block, without building any.
pub(crate) fn has_text(page: &Page<'_>) -> bool {
    let dom = &page.dom;
    let shown = |id: &u32| dom.tag(*id) == Tag::Text && page.gone[*id as usize] != HiddenReason::Silent;
    (page.body..dom.end(page.body)).filter(shown).any(|id| !dom.text(id).trim().is_empty())
}

/// The paragraphs of plain text.
pub(crate) fn of_plain(content: &str) -> Vec<Block> {
    let texts = content.split("\n\n").map(text::fold_lower).filter(|text| !text.is_empty());
    let block = |(position, text): (usize, String)| Block {
        hash: hash(&text),
        tag_path: 0,
        chars: text.chars().count() as u32,
        position: position as u32,
        link_density: 0,
        in_content: true,
    };
    texts.enumerate().map(block).collect()
}

/// The first 64 bits of the SHA-256 of a block's text.
fn hash(text: &str) -> u64 {
    let mut head = [0; 8];
    head.copy_from_slice(&Sha256::digest(text.as_bytes())[..8]);
    u64::from_be_bytes(head)
}

/// An element that is open.
#[derive(Clone, Copy, Default)]
struct Level {
    end: u32,
    is_block: bool,
    /// Hash of the path of tags and classes to the node.
    path: u64,
    /// Path of the innermost open block element.
    block_path: u64,
}

impl Level {
    /// The level of a child.
    fn below(self, page: &Page<'_>, id: u32) -> Self {
        let dom = &page.dom;
        let mut hasher = FxHasher::default();
        self.path.hash(&mut hasher);
        dom.name(id).hash(&mut hasher);
        dom.attr(id, &local_name!("class")).hash(&mut hasher);
        let path = hasher.finish();
        let is_block = dom.tag(id).is_block();
        let block_path = if is_block { path } else { self.block_path };
        Self { end: dom.end(id), is_block, path, block_path }
    }
}

/// The elements around the body.
fn levels_above(page: &Page<'_>) -> Vec<Level> {
    let mut around: Vec<u32> = page.dom.ancestors(page.body).collect();
    around.reverse();
    let mut levels: Vec<Level> = Vec::new();
    for id in around {
        levels.push(levels.last().copied().unwrap_or_default().below(page, id));
    }
    levels
}

/// The block that is being read.
#[derive(Default)]
struct Open {
    text: String,
    path: u64,
    link_bytes: usize,
    content: bool,
}

impl Open {
    fn push(&mut self, text: &str, path: u64, in_link: bool, in_content: bool) {
        let blank = text.bytes().all(|b| b.is_ascii_whitespace());
        if blank && self.text.is_empty() {
            return;
        }
        if !blank {
            if self.path == 0 {
                self.path = path;
            }
            self.content |= in_content;
            if in_link {
                self.link_bytes += text.len();
            }
        }
        self.text.push_str(text);
    }

    fn close(&mut self, out: &mut Vec<Block>) {
        let text = text::fold_lower(&self.text);
        if !text.is_empty() {
            out.push(Block {
                hash: hash(&text),
                tag_path: self.path,
                chars: text.chars().count() as u32,
                position: out.len() as u32,
                link_density: (self.link_bytes * 255 / self.text.len().max(1)).min(255) as u8,
                in_content: self.content,
            });
        }
        *self = Self { text: std::mem::take(&mut self.text), ..Self::default() };
        self.text.clear();
    }
}
