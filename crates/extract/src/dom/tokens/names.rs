//! Names of tags and attributes.

use super::no_nulls;
use html5ever::LocalName;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Names on this page, by the hash of their text: html5ever's table of names is slow.
pub(super) struct Names<'a> {
    /// Each with its text in the page.
    slots: Vec<(&'a str, LocalName)>,
}

const SLOTS: usize = 256;

impl Default for Names<'_> {
    fn default() -> Self {
        Self { slots: vec![("", LocalName::from("")); SLOTS] }
    }
}

impl<'a> Names<'a> {
    /// The name, in lower case.
    pub(super) fn get(&mut self, text: &'a str) -> LocalName {
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        let slot = &mut self.slots[hasher.finish() as usize % SLOTS];
        if slot.0 != text {
            *slot = (text, in_lower_case(text));
        }
        slot.1.clone()
    }
}

/// A text as a name, in lower case.
pub(super) fn in_lower_case(text: &str) -> LocalName {
    if text.bytes().any(|b| b.is_ascii_uppercase() || b == 0) {
        LocalName::from(no_nulls(text).to_ascii_lowercase())
    } else {
        LocalName::from(text)
    }
}
