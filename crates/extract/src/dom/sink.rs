//! Sink of html5ever's tree builder: linked nodes in one vector, converted to a [`Dom`] in document order.

mod custom;
mod spare;
mod streamed;

use super::{Attr, Dom, Limits, NONE, Node, Tag};
use html5ever::{
    Attribute, LocalName, Namespace, QualName,
    interface::tree_builder::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink},
    ns,
    tendril::StrTendril,
};
use rustc_hash::{FxHashMap, FxHashSet};
pub(super) use spare::Spare;
use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    fmt,
};
use typed_arena::Arena;

/// A node during the construction of the tree.
struct Link {
    /// Index of its name in [`Inner::names`].
    name: u32,
    tag: Tag,
    parent: u32,
    first: u32,
    last: u32,
    prev: u32,
    next: u32,
    start: u32,
    len: u32,
    depth: u16,
}

/// Name of elements.
pub(super) struct Name {
    namespace: Namespace,
    local: LocalName,
    tag: Tag,
}

/// Element, text or document. The tree builder asks for the names of open elements all the time, so a handle
/// leads to the name directly.
#[derive(Clone, Copy)]
pub(super) struct Handle<'a> {
    id: u32,
    name: &'a Name,
}

struct Inner<'a> {
    nodes: Vec<Link>,
    /// Memory of the names.
    arena: &'a Arena<Name>,
    /// Each element name once. The first one is for text nodes and the document.
    names: Vec<&'a Name>,
    /// Index in `names` by name.
    known: FxHashMap<(Namespace, LocalName), u32>,
    text: String,
    attrs: Vec<Attr>,
    attr_text: String,
    spare: &'a Spare,
}

/// State that the token filter before the tree builder needs.
#[derive(Default)]
pub(super) struct Progress {
    /// Depth of the last inserted node.
    pub(super) depth: Cell<u16>,
    /// Nodes made so far.
    pub(super) nodes: Cell<u32>,
}

/// Name of an open element, as the tree builder requests it.
#[derive(Clone, Copy)]
pub(super) struct NameRef<'a>(&'a Name);

impl fmt::Debug for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.local)
    }
}

impl ElemName for NameRef<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.namespace
    }
    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

/// The tree sink. Index 0 is the document.
pub(super) struct Sink<'a> {
    inner: RefCell<Inner<'a>>,
    document: Handle<'a>,
    pub(super) progress: Progress,
    max_attributes: usize,
    max_depth: u16,
    pub(super) attributes_capped: Cell<bool>,
    /// `annotation-xml` elements whose contents are HTML (§13.2.6.1, "HTML integration point").
    integration_points: RefCell<FxHashSet<u32>>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(html: &str, limits: &Limits, arena: &'a Arena<Name>, spare: &'a Spare) -> Self {
        let input_bytes = html.len();
        let mut inner = Inner::new(arena, spare);
        // Start and end tag of an element, each with a run of text: about a node per bracket. Growing a buffer of a
        // large page would copy it, and need twice its memory. Memory that stays empty costs nothing.
        let tags = memchr::memchr_iter(b'<', html.as_bytes()).count();
        inner.nodes.reserve((tags + tags / 4).min(limits.max_nodes as usize) + 16);
        inner.text.reserve(input_bytes);
        inner.attr_text.reserve(input_bytes / 2);
        inner.attrs.reserve(input_bytes / 40);
        let name = inner.add_name(ns!(), LocalName::from(""), Tag::Document);
        let document = Handle { id: inner.node(Link::new(Tag::Document, 0)), name };
        Self {
            inner: RefCell::new(inner),
            document,
            progress: Progress::default(),
            max_attributes: limits.max_attributes,
            max_depth: limits.max_depth,
            attributes_capped: Cell::new(false),
            integration_points: RefCell::default(),
        }
    }

    fn note(&self, depth: u16) {
        self.progress.depth.set(depth);
    }
}

impl Link {
    const fn new(tag: Tag, name: u32) -> Self {
        Self {
            name,
            tag,
            parent: NONE,
            first: NONE,
            last: NONE,
            prev: NONE,
            next: NONE,
            start: 0,
            len: 0,
            depth: 0,
        }
    }
}

impl<'a> Inner<'a> {
    fn new(arena: &'a Arena<Name>, spare: &'a Spare) -> Self {
        Self {
            nodes: Vec::new(),
            arena,
            names: Vec::new(),
            known: FxHashMap::default(),
            text: String::new(),
            attrs: Vec::new(),
            attr_text: String::new(),
            spare,
        }
    }

    fn add_name(&mut self, namespace: Namespace, local: LocalName, tag: Tag) -> &'a Name {
        let name = &*self.arena.alloc(Name { namespace, local, tag });
        self.names.push(name);
        name
    }

    fn node(&mut self, link: Link) -> u32 {
        let id = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        self.nodes.push(link);
        id
    }

    /// A name, and its index.
    fn name(&mut self, name: QualName) -> (u32, &'a Name) {
        let key = (name.ns, name.local);
        if let Some(known) = self.known.get(&key) {
            return (*known, self.names[*known as usize]);
        }
        let tag = if key.0 == ns!(html) {
            Tag::of(&key.1)
        } else {
            match &*key.1 {
                "svg" => Tag::Svg,
                "math" => Tag::Math,
                _ => Tag::Other,
            }
        };
        let at = self.names.len() as u32;
        let name = self.add_name(key.0.clone(), key.1.clone(), tag);
        self.known.insert(key, at);
        (at, name)
    }

    fn attrs(&mut self, mut attrs: Vec<Attribute>) {
        if attrs.is_empty() {
            return;
        }
        for attr in attrs.drain(..) {
            let start = self.attr_text.len() as u32;
            self.attr_text.push_str(&attr.value);
            self.attrs.push(Attr { name: attr.name.local, start, len: attr.value.len() as u32 });
        }
        self.spare.put(attrs);
    }

    /// Detaches a node, which keeps its children.
    fn detach(&mut self, id: u32) {
        let (parent, prev, next) = {
            let link = &mut self.nodes[id as usize];
            let places = (link.parent, link.prev, link.next);
            (link.parent, link.prev, link.next) = (NONE, NONE, NONE);
            places
        };
        if parent == NONE {
            return;
        }
        if prev == NONE {
            self.nodes[parent as usize].first = next;
        } else {
            self.nodes[prev as usize].next = next;
        }
        if next == NONE {
            self.nodes[parent as usize].last = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
    }

    /// Inserts a detached node before `next` (or last, if that is `NONE`) under `parent`; returns its depth.
    fn attach(&mut self, parent: u32, next: u32, id: u32) -> u16 {
        self.detach(id);
        let depth = self.nodes[parent as usize].depth.saturating_add(1);
        let prev = if next == NONE {
            std::mem::replace(&mut self.nodes[parent as usize].last, id)
        } else {
            std::mem::replace(&mut self.nodes[next as usize].prev, id)
        };
        if prev == NONE {
            self.nodes[parent as usize].first = id;
        } else {
            self.nodes[prev as usize].next = id;
        }
        let link = &mut self.nodes[id as usize];
        (link.parent, link.prev, link.next, link.depth) = (parent, prev, next, depth);
        depth
    }

    /// Appends text to the one buffer; extends a run that ends there.
    fn insert_text(&mut self, parent: u32, next: u32, text: &str) -> u16 {
        let prev =
            if next == NONE { self.nodes[parent as usize].last } else { self.nodes[next as usize].prev };
        let end = self.text.len() as u32;
        self.text.push_str(text);
        if prev != NONE {
            let link = &mut self.nodes[prev as usize];
            if link.tag == Tag::Text && link.start + link.len == end {
                link.len += text.len() as u32;
                return link.depth;
            }
        }
        let mut link = Link::new(Tag::Text, 0);
        (link.start, link.len) = (end, text.len() as u32);
        let id = self.node(link);
        self.attach(parent, next, id)
    }

    fn insert(&mut self, parent: u32, next: u32, child: NodeOrText<Handle<'_>>) -> Option<u16> {
        match child {
            NodeOrText::AppendText(text) => Some(self.insert_text(parent, next, &text).saturating_sub(1)),
            // Comments and processing instructions have no node.
            NodeOrText::AppendNode(Handle { id: NONE, .. }) => None,
            NodeOrText::AppendNode(Handle { id, .. }) => Some(self.attach(parent, next, id)),
        }
    }
}

impl<'a> TreeSink for Sink<'a> {
    type Handle = Handle<'a>;
    type Output = (Dom, bool);
    type ElemName<'b>
        = NameRef<'a>
    where
        Self: 'b;

    fn finish(self) -> (Dom, bool) {
        let mut inner = self.inner.into_inner();
        inner.place_streamed(self.max_depth);
        let mut dom = flatten(inner);
        dom.remove_invisible();
        (dom, self.attributes_capped.get())
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle<'a> {
        self.document
    }

    fn elem_name<'b>(&'b self, target: &'b Handle<'a>) -> NameRef<'a> {
        NameRef(target.name)
    }

    fn create_element(&self, name: QualName, mut attrs: Vec<Attribute>, flags: ElementFlags) -> Handle<'a> {
        if attrs.len() > self.max_attributes {
            attrs.truncate(self.max_attributes);
            self.attributes_capped.set(true);
        }
        let mut inner = self.inner.borrow_mut();
        let (at, name) = inner.name(name);
        let mut link = Link::new(name.tag, at);
        (link.start, link.len) = (inner.attrs.len() as u32, attrs.len() as u32);
        inner.attrs(attrs);
        self.progress.nodes.set(inner.nodes.len() as u32);
        let id = inner.node(link);
        if flags.mathml_annotation_xml_integration_point {
            self.integration_points.borrow_mut().insert(id);
        }
        Handle { id, name }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle<'a>) -> bool {
        self.integration_points.borrow().contains(&handle.id)
    }

    fn create_comment(&self, _: StrTendril) -> Handle<'a> {
        Handle { id: NONE, ..self.document }
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle<'a> {
        Handle { id: NONE, ..self.document }
    }

    fn append(&self, parent: &Handle<'a>, child: NodeOrText<Handle<'a>>) {
        if let Some(depth) = self.inner.borrow_mut().insert(parent.id, NONE, child) {
            self.note(depth);
        }
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle<'a>,
        prev_element: &Handle<'a>,
        child: NodeOrText<Handle<'a>>,
    ) {
        let has_parent = self.inner.borrow().nodes[element.id as usize].parent != NONE;
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(prev_element, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// Template contents are the template's children here, since one tree suffices for reading.
    fn get_template_contents(&self, target: &Handle<'a>) -> Handle<'a> {
        *target
    }

    fn same_node(&self, x: &Handle<'a>, y: &Handle<'a>) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle<'a>, new_node: NodeOrText<Handle<'a>>) {
        let mut inner = self.inner.borrow_mut();
        let parent = inner.nodes[sibling.id as usize].parent;
        if parent == NONE {
            return;
        }
        if let Some(depth) = inner.insert(parent, sibling.id, new_node) {
            self.note(depth);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle<'a>, attrs: Vec<Attribute>) {
        let mut guard = self.inner.borrow_mut();
        let inner = &mut *guard;
        let (start, len) = {
            let link = &inner.nodes[target.id as usize];
            (link.start as usize, link.len as usize)
        };
        let room = self.max_attributes.saturating_sub(len);
        let new: Vec<Attribute> = attrs
            .into_iter()
            .filter(|attr| !inner.attrs[start..start + len].iter().any(|a| a.name == attr.name.local))
            .take(room)
            .collect();
        if new.is_empty() {
            return;
        }
        // An element's attributes are adjacent, so the old ones are copied before the new.
        let moved = inner.attrs.len() as u32;
        inner.attrs.extend_from_within(start..start + len);
        inner.attrs(new);
        let end = inner.attrs.len() as u32;
        let link = &mut inner.nodes[target.id as usize];
        (link.start, link.len) = (moved, end - moved);
    }

    fn remove_from_parent(&self, target: &Handle<'a>) {
        if target.id != NONE {
            self.inner.borrow_mut().detach(target.id);
        }
    }

    fn reparent_children(&self, node: &Handle<'a>, new_parent: &Handle<'a>) {
        let mut inner = self.inner.borrow_mut();
        let mut child = inner.nodes[node.id as usize].first;
        while child != NONE {
            let next = inner.nodes[child as usize].next;
            inner.attach(new_parent.id, NONE, child);
            child = next;
        }
    }
}

/// Numbers the nodes in document order, so that a subtree is a range. Nodes outside of the tree are dropped.
fn flatten(inner: Inner<'_>) -> Dom {
    let links = &inner.nodes;
    let mut nodes: Vec<Node> = Vec::with_capacity(links.len());
    let mut tags = Vec::with_capacity(links.len());
    let mut custom = Vec::new();
    let (mut at, mut parent) = (0u32, NONE);
    loop {
        let link = &links[at as usize];
        let id = nodes.len() as u32;
        if link.tag == Tag::Other {
            custom.push((id, inner.names[link.name as usize].local.clone()));
        }
        tags.push(link.tag);
        nodes.push(Node { parent, end: id + 1, start: link.start, len: link.len });
        if link.first != NONE {
            (at, parent) = (link.first, id);
            continue;
        }
        // Goes up to the next sibling; each node that is left is complete.
        loop {
            if at == 0 {
                let mut dom = Dom {
                    tags,
                    nodes,
                    text: inner.text,
                    attrs: inner.attrs,
                    attr_text: inner.attr_text,
                    custom,
                    carriers: 0,
                };
                custom::make_blocks(&mut dom);
                return dom;
            }
            let link = &links[at as usize];
            if link.next != NONE {
                at = link.next;
                break;
            }
            at = link.parent;
            let done = parent as usize;
            nodes[done].end = nodes.len() as u32;
            parent = nodes[done].parent;
        }
    }
}
