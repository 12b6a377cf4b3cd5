//! Names of tags and attributes.

use super::no_nulls;
use html5ever::LocalName;
use rustc_hash::FxHasher;
use std::{borrow::Cow, hash::Hasher};

/// Names on this page, by hash: html5ever's table of names is slow.
pub(super) struct Names {
    slots: Vec<LocalName>,
}

const SLOTS: usize = 256;

impl Default for Names {
    fn default() -> Self {
        Self { slots: vec![LocalName::from(""); SLOTS] }
    }
}

impl Names {
    /// The name, in lower case.
    pub(super) fn get(&mut self, text: &str) -> LocalName {
        let lower = if text.bytes().any(|b| b.is_ascii_uppercase() || b == 0) {
            Cow::Owned(no_nulls(text).to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
        let mut hasher = FxHasher::default();
        hasher.write(lower.as_bytes());
        let slot = &mut self.slots[hasher.finish() as usize % SLOTS];
        if **slot != *lower {
            *slot = LocalName::from(&*lower);
        }
        slot.clone()
    }
}
