//! The blocks of the whole page, for a site's fingerprint.

use crate::{
    dom::{NONE, Tag},
    page::{Gone, Page},
    text,
};
use crawl_model::Block;
use html5ever::local_name;
use rustc_hash::FxHasher;
use sha2::{Digest, Sha256};
use std::hash::{Hash, Hasher};

/// Every block of text of the page, gone or not (a consent banner is what a fingerprint should learn), except what is
/// never text. A block is the text between two borders of block elements.
pub(crate) fn collect(page: &Page<'_>, in_content: &[bool]) -> Vec<Block> {
    let dom = &page.dom;
    let paths = tag_paths(page);
    let mut out = Vec::new();
    let mut open = Open::default();
    // Ends of the block elements that are open.
    let mut ends: Vec<u32> = Vec::new();
    let mut link_end = 0;
    let mut id = page.body;
    while id < dom.end(page.body) {
        while ends.last().is_some_and(|end| *end <= id) {
            ends.pop();
            open.close(&mut out);
        }
        let tag = dom.tag(id);
        if page.gone[id as usize] == Gone::Silent {
            id = dom.end(id);
            continue;
        }
        if tag == Tag::Text {
            let parent = nearest_block(page, id);
            open.push(dom.text(id), paths[parent as usize], id < link_end, in_content[id as usize]);
        } else if tag.is_block() {
            open.close(&mut out);
            ends.push(dom.end(id));
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

fn nearest_block(page: &Page<'_>, id: u32) -> u32 {
    page.dom.ancestors(id).find(|up| page.dom.tag(*up).is_block()).unwrap_or(page.body)
}

/// For each element, a hash of the path of tags and classes down to it.
fn tag_paths(page: &Page<'_>) -> Vec<u64> {
    let dom = &page.dom;
    let mut paths = vec![0u64; dom.len() as usize];
    for id in 0..dom.len() {
        if dom.tag(id) == Tag::Text {
            continue;
        }
        let parent = dom.parent(id);
        let mut hasher = FxHasher::default();
        (if parent == NONE { 0 } else { paths[parent as usize] }).hash(&mut hasher);
        dom.name(id).hash(&mut hasher);
        dom.attr(id, &local_name!("class")).hash(&mut hasher);
        paths[id as usize] = hasher.finish();
    }
    paths
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
            let digest = Sha256::digest(text.as_bytes());
            let mut hash = [0; 8];
            hash.copy_from_slice(&digest[..8]);
            out.push(Block {
                hash: u64::from_be_bytes(hash),
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
