//! Blocks of a page for the evidence of its site: position in the tree and text, as hashes.

use crate::{
    dom::{NONE, Tag},
    page::{Amount, Page},
    text,
};
use html5ever::local_name;
use std::ops::ControlFlow;
use xxhash_rust::xxh3::xxh3_64;

/// Visible text without inner blocks: a block element without a block inside, or text beside blocks in an
/// element.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteBlock {
    /// The element, or the first node of the text.
    pub(super) id: u32,
    /// One past its last node.
    pub(super) end: u32,
    /// True for an element, which can be taken or dropped.
    pub(super) is_element: bool,
    /// Hash of the tags and first classes from the body down. Further classes often name the page
    /// (`category-news`).
    pub(super) path: u64,
    /// Hash of the text in lower case, digits masked; 0 if texts are [skipped](Texts::Skipped).
    pub(super) text: u64,
    /// Visible text.
    pub(super) amount: Amount,
    /// True for a heading of level one or two, which may be the title.
    pub(super) may_be_title: bool,
}

/// Treatment of the texts of blocks; to hash them is most of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    Hashed,
    Skipped,
}

/// Blocks of a page, in document order.
pub(super) fn of(page: &Page<'_>, texts: Texts) -> Vec<SiteBlock> {
    let mut out = Vec::new();
    // nothing breaks
    let _ = visit(page, page.body, texts, &|_| false, &mut |block| {
        out.push(block);
        ControlFlow::Continue(())
    });
    out
}

/// Visits the blocks of a subtree in document order, without subtrees for which `is_skipped` returns true. Ends when
/// `found` breaks.
pub(super) fn visit(
    page: &Page<'_>,
    root: u32,
    texts: Texts,
    is_skipped: &dyn Fn(u32) -> bool,
    found: &mut dyn FnMut(SiteBlock) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let dom = &page.dom;
    let end = dom.end(root);
    let path_above = path_above(page, root);
    let holds_block = holders(page, root);
    let mut paths = vec![0_u64; (end - root) as usize];
    let mut run = Run::default();
    let mut hasher = TextHasher { texts, text: String::new(), masked: Vec::new() };
    let mut id = root;
    while id < end && !page.budget.is_over() {
        let tag = dom.tag(id);
        if !page.is_visible(id) || is_skipped(id) {
            id = dom.end(id);
            continue;
        }
        let parent = dom.parent(id);
        let at_body = id == page.body || parent == NONE;
        let above = if id == root { path_above } else { paths[(parent - root) as usize] };
        let holds = holds_block[(id - root) as usize];
        if !holds && !tag.is_block() && !at_body {
            // text and inline elements beside blocks
            if run.parent != parent {
                run.close(page, &mut hasher).map_or(ControlFlow::Continue(()), &mut *found)?;
                (run.parent, run.path) = (parent, mix(above, BESIDE));
            }
            run.nodes.push(id);
            id = dom.end(id);
            continue;
        }
        run.close(page, &mut hasher).map_or(ControlFlow::Continue(()), &mut *found)?;
        let path = if at_body { 0 } else { mix(above, step(page, id)) };
        paths[(id - root) as usize] = path;
        let amount = page.amount(id);
        if !holds && amount.words > 0 {
            found(SiteBlock {
                id,
                end: dom.end(id),
                is_element: true,
                path,
                text: hasher.hash(page, &[id]),
                amount,
                may_be_title: matches!(tag, Tag::H1 | Tag::H2),
            })?;
        }
        id = if holds || at_body { id + 1 } else { dom.end(id) };
    }
    run.close(page, &mut hasher).map_or(ControlFlow::Continue(()), found)
}

/// Path of the parent of an element; 0 for the body and its children.
fn path_above(page: &Page<'_>, id: u32) -> u64 {
    let mut above: Vec<u32> = page.dom.ancestors(id).take_while(|up| *up > page.body).collect();
    above.reverse();
    above.into_iter().fold(0, |path, up| mix(path, step(page, up)))
}

/// Step of the path to text beside blocks.
const BESIDE: u64 = 1;

/// Text and inline elements beside blocks in an element, up to the next block.
#[derive(Default)]
struct Run {
    parent: u32,
    path: u64,
    nodes: Vec<u32>,
}

impl Run {
    /// Ends the run; returns it if it has words.
    fn close(&mut self, page: &Page<'_>, hasher: &mut TextHasher) -> Option<SiteBlock> {
        let block = self.block(page, hasher);
        // The next run uses the memory of the nodes.
        self.nodes.clear();
        (self.parent, self.path) = (0, 0);
        block
    }

    fn block(&self, page: &Page<'_>, hasher: &mut TextHasher) -> Option<SiteBlock> {
        let (id, last) = (*self.nodes.first()?, *self.nodes.last()?);
        let end = page.dom.end(last);
        let amount = page.amount_in(id..end);
        (amount.words > 0).then(|| {
            let text = hasher.hash(page, &self.nodes);
            SiteBlock { id, end, is_element: false, path: self.path, text, amount, may_be_title: false }
        })
    }
}

/// Hashes the texts of blocks in memory that all blocks of a page share.
struct TextHasher {
    texts: Texts,
    text: String,
    masked: Vec<u8>,
}

impl TextHasher {
    /// Hash of the visible text of nodes: whitespace folded, lower case, each run of digits as one.
    fn hash(&mut self, page: &Page<'_>, nodes: &[u32]) -> u64 {
        if self.texts == Texts::Skipped {
            return 0;
        }
        self.text.clear();
        for node in nodes {
            page.push_visible_text(*node, &mut self.text);
            self.text.push(' ');
        }
        self.masked.clear();
        if self.text.is_ascii() {
            self.mask_ascii();
        } else if self.text.contains(text::SIGMA) {
            return masked(&text::fold_lower(&self.text));
        } else {
            self.mask();
        }
        xxh3_64(self.masked.strip_suffix(b" ").unwrap_or(&self.masked))
    }

    fn mask_ascii(&mut self) {
        self.masked.resize(self.text.len(), 0);
        let (mut last, mut len) = (b' ', 0);
        for byte in self.text.bytes() {
            let byte = FOLDED[usize::from(byte)];
            // A byte that is left out is overwritten by the next one.
            self.masked[len] = byte;
            len += usize::from(byte != last || !matches!(byte, b'0' | b' '));
            last = byte;
        }
        self.masked.truncate(len);
    }

    /// Masks text of any script in one pass.
    fn mask(&mut self) {
        let (mut last, mut utf8) = (' ', [0; 4]);
        let mut push = |c: char| {
            if c != last || !matches!(c, '0' | ' ') {
                self.masked.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
            last = c;
        };
        for c in self.text.chars() {
            match c {
                '\0'..='\x7f' => push(FOLDED[c as usize].into()),
                _ if text::is_unchanged(c) => push(c),
                _ => text::for_each_lower(c, |c| push(if c.is_numeric() { '0' } else { c })),
            }
        }
    }
}

/// Each ASCII byte in lower case, digits as `0` and whitespace as a space.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        folded[byte as usize] = match byte {
            b'0'..=b'9' => b'0',
            b' ' | b'\t'..=b'\r' => b' ',
            _ => byte.to_ascii_lowercase(),
        };
        byte += 1;
    }
    folded
};

/// True for nodes of a subtree with a block of text inside.
fn holders(page: &Page<'_>, root: u32) -> Vec<bool> {
    let dom = &page.dom;
    let mut holds = vec![false; (dom.end(root) - root) as usize];
    for id in (root + 1..dom.end(root)).rev() {
        let is_block = dom.tag(id).is_block() && page.is_visible(id) && page.amount(id).words > 0;
        if is_block || holds[(id - root) as usize] {
            holds[(dom.parent(id) - root) as usize] = true;
        }
    }
    holds
}

/// Hash of an element's tag and first class.
fn step(page: &Page<'_>, id: u32) -> u64 {
    let tag = xxh3_64(page.dom.name(id).as_bytes());
    let class = page.dom.attr(id, &local_name!("class")).unwrap_or_default();
    class.split_ascii_whitespace().next().map_or(tag, |class| mix(tag, masked(class)))
}

/// Hash of a text, with each run of digits as one.
fn masked(text: &str) -> u64 {
    let is_numbered = match text.is_ascii() {
        true => text.bytes().any(|byte| byte.is_ascii_digit()),
        false => text.contains(char::is_numeric),
    };
    if !is_numbered {
        return xxh3_64(text.as_bytes());
    }
    let mut masked = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_numeric() { '0' } else { c };
        if !(c == '0' && masked.ends_with('0')) {
            masked.push(c);
        }
    }
    xxh3_64(masked.as_bytes())
}

/// Mixes two hashes; the order counts.
pub(super) const fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_masking_equals_folding_then_masking() {
        let mut hasher = TextHasher { texts: Texts::Hashed, text: String::new(), masked: Vec::new() };
        let mut agree = |text: &str| {
            let want = masked(&text::fold_lower(text));
            (hasher.text, hasher.masked) = (text.to_owned(), Vec::new());
            hasher.mask();
            assert_eq!(xxh3_64(hasher.masked.strip_suffix(b" ").unwrap_or(&hasher.masked)), want, "{text:?}");
        };
        for c in ('\0'..='\u{1ffff}').filter(|c| *c != text::SIGMA) {
            // Runs of whitespace and of digits are one, at both ends and within.
            agree(&format!("{c}{c} A{c}7 {c} 1{c}"));
        }
    }
}
