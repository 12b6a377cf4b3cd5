//! Names of elements in a part of a page: most rules of a sheet concern none of them.

use crate::dom::Dom;
use html5ever::local_name;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Bits of the filter, a power of two.
const BITS: usize = 1 << 14;

/// A Bloom filter of the classes, ids and tags of elements.
#[derive(Debug)]
pub(super) struct Names {
    bits: Vec<u64>,
}

impl Names {
    /// Names of the elements of a part of a page.
    pub(super) fn of(dom: &Dom, part: &[u32]) -> Self {
        let mut names = Self { bits: vec![0; BITS / 64] };
        for id in part {
            names.add(dom.name(*id));
            for (name, value) in dom.attrs(*id) {
                match *name {
                    local_name!("id") => names.add(value),
                    local_name!("class") => value.split_ascii_whitespace().for_each(|class| names.add(class)),
                    _ => {}
                }
            }
        }
        names
    }

    fn add(&mut self, name: &str) {
        let bit = bit_of(name.as_bytes());
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    /// Returns false if no element has the name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        let bit = bit_of(name);
        self.bits[bit / 64] & (1 << (bit % 64)) != 0
    }

    /// Returns true if a selector of the list may concern one of the elements. It compares tag and names, if
    /// the selector requires them.
    pub(super) fn may_match(&self, prelude: &str) -> bool {
        let mut selectors = prelude.as_bytes();
        loop {
            if self.may_be_subject(selectors) {
                return true;
            }
            let Some(comma) = memchr::memrchr(b',', selectors) else { return false };
            selectors = &selectors[..comma];
        }
    }

    /// Returns true if the last selector of a list may concern such an element; reads it from its end.
    fn may_be_subject(&self, selectors: &[u8]) -> bool {
        let selectors = selectors.trim_ascii_end();
        let mut has_name = false;
        let (mut start, mut end) = (0, selectors.len());
        for (at, byte) in selectors.iter().enumerate().rev() {
            match byte {
                b'.' | b'#' => {
                    if self.has(&selectors[at + 1..end]) {
                        return true;
                    }
                    (has_name, end) = (true, at);
                }
                b':' | b'[' => end = at,
                b' ' | b'>' | b'+' | b'~' | b',' | b'\n' | b'\t' | b'\r' | b'\x0c' => {
                    start = at + 1;
                    break;
                }
                // escapes, functions, strings, comments and the outer rule
                b'\\' | b'(' | b')' | b'&' | b'"' | b'\'' | b'/' | b'@' => return true,
                _ => {}
            }
        }
        let tag = &selectors[start..end];
        let is_plain = tag.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        !has_name && (tag.is_empty() || !is_plain || self.has(tag))
    }
}

fn bit_of(name: &[u8]) -> usize {
    hash(name) as usize % BITS
}

/// Hash of a name, mostly unique.
pub(super) fn hash(name: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    (hasher.finish() >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dom::{Limits, parse};

    #[test]
    fn rules_for_absent_names_are_skipped() {
        let dom = parse("<main id=m><p class='a b-c'>x</p></main>", &Limits::default()).dom;
        let names = Names::of(&dom, &(1..dom.len()).collect::<Vec<_>>());
        for prelude in [
            "p",
            ".a",
            ".x, div .b-c",
            "#m",
            ".a.is-open",
            ".x > p",
            ".x:not(.y)",
            r".\61",
            "[hidden]",
            ".x p:first-child",
            ":is(.x > .y)",
            ".x /* .y */",
            ".x:nth-child(2n + 1)",
            "[title='.x .y']",
            "MAIN, *",
            ":root",
        ] {
            assert!(names.may_match(prelude), "{prelude}");
        }
        for prelude in
            [".x", ".a .x", "p.x", "#z, .y", ".a>.z:hover", ".x[data-a]", ".a:not(.b) .x", "ul, .a>li:hover"]
        {
            assert!(!names.may_match(prelude), "{prelude}");
        }
    }
}
