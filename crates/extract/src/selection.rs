//! Chosen part of a page: roots, and dropped subtrees below them.

use crate::page::{Amount, Page};
use memchr::memchr;
use std::ops::Range;
use zerocopy::IntoBytes;

/// Chosen nodes.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Subtrees, in document order, none nested.
    pub(crate) roots: Vec<u32>,
    /// True for a node whose subtree is left out.
    pub(crate) drop: Vec<bool>,
    /// Remaining words.
    pub(crate) words: u32,
}

impl Selection {
    /// A selection with its words counted.
    pub(crate) fn new(page: &Page<'_>, roots: Vec<u32>, drop: Vec<bool>) -> Self {
        let words = roots.iter().map(|root| kept(page, *root, &drop).words).sum();
        Self { roots, drop, words }
    }

    /// Visible text of the selection.
    pub(crate) fn amount(&self, page: &Page<'_>) -> Amount {
        let mut sum = Amount::default();
        self.roots.iter().for_each(|root| sum.add(kept(page, *root, &self.drop)));
        sum
    }
}

/// Visible text of a subtree without dropped parts.
pub(crate) fn kept(page: &Page<'_>, root: u32, drop: &[bool]) -> Amount {
    kept_in(page, root..page.dom.end(root), drop)
}

/// Visible text of a range of nodes without dropped parts.
pub(crate) fn kept_in(page: &Page<'_>, nodes: Range<u32>, drop: &[bool]) -> Amount {
    let mut left = page.amount_in(nodes.clone());
    let mut id = nodes.start;
    // Hardly a node is dropped, so the next one is searched for as a byte.
    while let Some(ahead) = drop.get(id as usize..nodes.end as usize)
        && let Some(at) = memchr(u8::from(true), ahead.as_bytes())
    {
        id += at as u32;
        left = left.minus(page.amount(id));
        id = page.dom.end(id);
    }
    left
}
