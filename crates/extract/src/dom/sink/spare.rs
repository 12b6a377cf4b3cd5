//! Memory of attributes.

use html5ever::Attribute;
use std::cell::RefCell;

/// Empty lists of attributes, whose memory the next tags use.
#[derive(Default)]
pub(in crate::dom) struct Spare(RefCell<Vec<Vec<Attribute>>>);

impl Spare {
    /// An empty list.
    pub(in crate::dom) fn take(&self) -> Vec<Attribute> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn put(&self, list: Vec<Attribute>) {
        let mut lists = self.0.borrow_mut();
        if lists.len() < MAX_SPARE && list.capacity() <= MAX_SPARE_ATTRIBUTES {
            lists.push(list);
        }
    }
}

/// Maximum lists that are kept; the tree builder uses one after the other.
const MAX_SPARE: usize = 4;
/// Maximum attributes of a list that is kept.
const MAX_SPARE_ATTRIBUTES: usize = 64;
