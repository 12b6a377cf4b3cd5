//! Tree of a page: one vector in document order, in which a subtree is a range.
//!
//! Built by html5ever (the HTML standard's algorithm) on our own sink. Three buffers hold everything: nodes,
//! text, attribute values. No code here recurses, so depth costs no stack.

#[cfg(test)]
mod differential_tests;
mod parse;
mod references;
mod sink;
#[cfg(test)]
mod suite_tests;
mod tag;
mod tokens;

use crate::invisible;
use html5ever::{LocalName, local_name};
pub(crate) use parse::{parse, parse_within};
pub(crate) use references::in_text as decode_references;
use std::ops::Range;
pub(crate) use tag::Tag;
use zerocopy::IntoBytes;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// Bounds on the parser's work. The time of html5ever is quadratic in open elements and in attributes of a
/// tag, so both are cut first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum depth; deeper elements are flattened into their ancestor.
    pub max_depth: u16,
    /// Maximum attributes of one element; the rest is dropped.
    pub max_attributes: usize,
    /// Maximum nodes; the rest of the page is left out.
    pub max_nodes: u32,
}

impl Limits {
    /// Sets [`max_depth`](Self::max_depth).
    #[must_use]
    pub const fn with_max_depth(mut self, max_depth: u16) -> Self {
        self.max_depth = max_depth;
        self
    }

    /// Sets [`max_attributes`](Self::max_attributes).
    #[must_use]
    pub const fn with_max_attributes(mut self, max_attributes: usize) -> Self {
        self.max_attributes = max_attributes;
        self
    }

    /// Sets [`max_nodes`](Self::max_nodes).
    #[must_use]
    pub const fn with_max_nodes(mut self, max_nodes: u32) -> Self {
        self.max_nodes = max_nodes;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 512, max_attributes: 256, max_nodes: 400_000 }
    }
}

/// Parses a page with the default limits and returns its number of nodes. It serves the bench of the tree.
#[doc(hidden)]
#[must_use]
pub fn parse_only(html: &str) -> u32 {
    parse(html, &Limits::default()).dom.len()
}

/// An element, or a run of text.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Parent, or [`NONE`] for the document.
    parent: u32,
    /// One past the last node of its subtree.
    end: u32,
    /// First attribute of an element; first byte of a text.
    start: u32,
    /// Number of attributes; bytes of a text.
    len: u32,
}

#[derive(Clone, Debug)]
struct Attr {
    name: LocalName,
    start: u32,
    len: u32,
}

/// A parsed page.
#[derive(Debug)]
pub(crate) struct Dom {
    /// Tags by node, apart from the nodes, since most steps search for nodes of a kind.
    tags: Vec<Tag>,
    nodes: Vec<Node>,
    text: String,
    attrs: Vec<Attr>,
    attr_text: String,
    /// Names of [`Tag::Other`] and [`Tag::CustomBlock`] elements, by node, in order.
    custom: Vec<(u32, LocalName)>,
    /// Removed invisible characters that can carry a text.
    pub(crate) carriers: u32,
}

impl Dom {
    /// Removes invisible characters from the texts, and from the attributes that hold texts.
    fn remove_invisible(&mut self) {
        if let Some(first) = invisible::next_suspect(&self.text, 0) {
            for id in 0..self.len() {
                let node = &self.nodes[id as usize];
                // A page mostly has such characters in its article, behind the scripts of its head.
                if (node.start + node.len) as usize <= first {
                    continue;
                }
                let Some(cleaned) = invisible::clean(self.text(id)) else { continue };
                let node = &mut self.nodes[id as usize];
                (node.start, node.len) = (self.text.len() as u32, cleaned.text.len() as u32);
                self.text.push_str(&cleaned.text);
                self.carriers = self.carriers.saturating_add(cleaned.carriers);
            }
        }
        if invisible::has_suspect(&self.attr_text) {
            for at in 0..self.attrs.len() {
                let attr = &self.attrs[at];
                let holds_text = matches!(
                    attr.name,
                    local_name!("alt")
                        | local_name!("aria-label")
                        | local_name!("content")
                        | local_name!("label")
                        | local_name!("title")
                        | local_name!("value")
                );
                let Some(cleaned) = holds_text.then(|| invisible::clean(self.value(attr))).flatten() else {
                    continue;
                };
                let attr = &mut self.attrs[at];
                (attr.start, attr.len) = (self.attr_text.len() as u32, cleaned.text.len() as u32);
                self.attr_text.push_str(&cleaned.text);
            }
        }
    }

    /// Number of nodes; ids are `0..len`.
    pub(crate) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The node's kind.
    pub(crate) fn tag(&self, id: u32) -> Tag {
        self.tags[id as usize]
    }

    /// The nodes of some kinds, in order.
    pub(crate) fn of_kind(&self, is_wanted: impl Fn(Tag) -> bool) -> impl Iterator<Item = u32> {
        (0..).zip(&self.tags).filter(move |(_, tag)| is_wanted(**tag)).map(|(id, _)| id)
    }

    /// The node's parent, or [`NONE`].
    pub(crate) fn parent(&self, id: u32) -> u32 {
        self.nodes[id as usize].parent
    }

    /// One past the last node of the subtree.
    pub(crate) fn end(&self, id: u32) -> u32 {
        self.nodes[id as usize].end
    }

    /// Text of a text node; empty for elements.
    pub(crate) fn text(&self, id: u32) -> &str {
        let node = &self.nodes[id as usize];
        if self.tag(id) == Tag::Text {
            &self.text[node.start as usize..(node.start + node.len) as usize]
        } else {
            ""
        }
    }

    fn attr_slice(&self, id: u32) -> &[Attr] {
        let node = &self.nodes[id as usize];
        if self.tag(id) == Tag::Text {
            &[]
        } else {
            &self.attrs[node.start as usize..(node.start + node.len) as usize]
        }
    }

    fn value(&self, attr: &Attr) -> &str {
        &self.attr_text[attr.start as usize..(attr.start + attr.len) as usize]
    }

    /// The value of an attribute.
    pub(crate) fn attr(&self, id: u32, name: &LocalName) -> Option<&str> {
        self.attr_slice(id).iter().find(|a| a.name == *name).map(|a| self.value(a))
    }

    /// Elements that have an attribute, with its value, in order.
    pub(crate) fn with_attr(&self, name: LocalName) -> impl Iterator<Item = (u32, &str)> {
        let all = (0..).zip(self.nodes.iter().zip(&self.tags));
        let elements = all.filter(|(_, (node, tag))| node.len > 0 && **tag != Tag::Text);
        elements.filter_map(move |(id, (node, _))| {
            let own = &self.attrs[node.start as usize..(node.start + node.len) as usize];
            own.iter().find(|attr| attr.name == name).map(|attr| (id, self.value(attr)))
        })
    }

    /// Returns true if the value of an attribute may hold a text.
    pub(crate) fn attrs_hold(&self, text: &str) -> bool {
        memchr::memmem::find(self.attr_text.as_bytes(), text.as_bytes()).is_some()
    }

    /// Names of all attributes, in order.
    pub(crate) fn attr_names(&self, id: u32) -> impl Iterator<Item = &LocalName> {
        self.attr_slice(id).iter().map(|attr| &attr.name)
    }

    /// All attributes, in order.
    pub(crate) fn attrs(&self, id: u32) -> impl Iterator<Item = (&LocalName, &str)> {
        self.attr_slice(id).iter().map(|a| (&a.name, self.value(a)))
    }

    /// Any element's name; empty for text and document.
    pub(crate) fn name(&self, id: u32) -> &str {
        match self.tag(id) {
            Tag::Other | Tag::CustomBlock => match self.custom.binary_search_by_key(&id, |(node, _)| *node) {
                Ok(at) => &self.custom[at].1,
                Err(_) => "",
            },
            tag => tag.name(),
        }
    }

    /// Ancestors, innermost first.
    pub(crate) fn ancestors(&self, id: u32) -> impl Iterator<Item = u32> {
        let mut at = id;
        std::iter::from_fn(move || {
            at = self.parent(at);
            (at != NONE).then_some(at)
        })
    }

    /// Children, in order.
    pub(crate) fn children(&self, id: u32) -> impl Iterator<Item = u32> {
        let (mut at, end) = (id + 1, self.end(id));
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let child = at;
                at = self.end(child);
                child
            })
        })
    }

    /// The siblings after a node that has a parent, in order.
    pub(crate) fn siblings_after(&self, id: u32) -> impl Iterator<Item = u32> {
        let (mut at, end) = (self.end(id), self.end(self.parent(id)));
        std::iter::from_fn(move || {
            let sibling = Some(at).filter(|at| *at < end)?;
            at = self.end(sibling);
            Some(sibling)
        })
    }

    /// The siblings before a node that has a parent, the nearest first.
    pub(crate) fn siblings_before(&self, id: u32) -> impl Iterator<Item = u32> {
        let parent = self.parent(id);
        let mut at = id;
        std::iter::from_fn(move || {
            // The last node before it is its parent, or in the sibling before it.
            let mut sibling = Some(at - 1).filter(|last| *last > parent)?;
            while self.parent(sibling) != parent {
                sibling = self.parent(sibling);
            }
            at = sibling;
            Some(sibling)
        })
    }

    /// Raw text of a whole subtree, including scripts.
    pub(crate) fn raw_text(&self, id: u32) -> String {
        let texts = (id..self.end(id)).map(|node| self.text(node));
        let mut out = String::with_capacity(texts.clone().map(str::len).sum());
        texts.for_each(|text| out.push_str(text));
        out
    }

    /// The nodes of a kind in a range of nodes, in order.
    pub(crate) fn find_all(&self, range: Range<u32>, tag: Tag) -> impl Iterator<Item = u32> {
        memchr::memchr_iter(tag as u8, self.tag_bytes(&range)).map(move |at| range.start + at as u32)
    }

    /// The first element of a kind in a range of nodes.
    pub(crate) fn find(&self, range: Range<u32>, tag: Tag) -> Option<u32> {
        memchr::memchr(tag as u8, self.tag_bytes(&range)).map(|at| range.start + at as u32)
    }

    /// The texts in a range of nodes, in order. Every second node is a text, so that a search for bytes would not pay.
    pub(crate) fn texts(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        let tags = self.tags.get(range.start as usize..range.end as usize).unwrap_or_default();
        (range.start..).zip(tags).filter(|(_, tag)| **tag == Tag::Text).map(|(id, _)| id)
    }

    /// Tags of a range of nodes; none for an empty range whose start is behind its end.
    fn tag_bytes(&self, range: &Range<u32>) -> &[u8] {
        self.tags.get(range.start as usize..range.end as usize).unwrap_or_default().as_bytes()
    }
}
