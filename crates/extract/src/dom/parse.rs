//! Parsing of text to a tree: tokens, a filter on them, html5ever's tree builder.

use super::{
    Dom, Limits,
    sink::{Handle, Sink, Spare},
    tokens,
};
use crate::budget::Budget;
use html5ever::{
    LocalName,
    interface::tree_builder::TreeSink,
    tokenizer::{Tag as TagToken, TagKind, Token, TokenSink, TokenSinkResult},
    tree_builder::{TreeBuilder, TreeBuilderOpts},
};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use typed_arena::Arena;

/// A tree, and the bounds that it met.
pub(crate) struct Parsed {
    /// The tree.
    pub(crate) dom: Dom,
    /// True if elements were flattened, or the page was cut at the node limit.
    pub(crate) depth_capped: bool,
    /// Attributes were dropped.
    pub(crate) attributes_capped: bool,
}

/// Parses a page without a time limit.
pub(crate) fn parse(html: &str, limits: &Limits) -> Parsed {
    parse_within(html, limits, &Budget::unlimited())
}

/// Parses a page. Never fails: the HTML standard gives every text a tree. Once the budget is over, the rest
/// of the page is left out.
///
/// Scripting counts as off, so that `noscript` is parsed as markup.
pub(crate) fn parse_within(html: &str, limits: &Limits, budget: &Budget) -> Parsed {
    let (names, spare) = (Arena::new(), Spare::default());
    let sink = Sink::new(html, limits, &names, &spare);
    let builder = TreeBuilder::new(sink, TreeBuilderOpts { scripting_enabled: false, ..Default::default() });
    let filter = Filter {
        builder,
        limits: *limits,
        dropped: RefCell::default(),
        capped: Cell::new(false),
        full: Cell::new(false),
    };
    let attributes_capped = tokens::run(html, &filter, limits.max_attributes, budget, &spare);
    let depth_capped = filter.capped.get() || filter.full.get();
    let (dom, attributes_dropped) = filter.builder.sink.finish();
    Parsed { dom, depth_capped, attributes_capped: attributes_dropped || attributes_capped }
}

/// Filter between tokenizer and tree builder against deep nesting: it drops a start tag at the limit, and the
/// next end tag of its name.
struct Filter<'a> {
    builder: TreeBuilder<Handle<'a>, Sink<'a>>,
    limits: Limits,
    dropped: RefCell<FxHashMap<LocalName, u32>>,
    capped: Cell<bool>,
    full: Cell<bool>,
}

impl Filter<'_> {
    /// Returns true if a tag must not reach the tree builder.
    fn drops(&self, tag: &TagToken) -> bool {
        match tag.kind {
            TagKind::StartTag => {
                let deep = self.builder.sink.progress.depth.get() >= self.limits.max_depth;
                if deep && !is_void(&tag.name) {
                    self.capped.set(true);
                    *self.dropped.borrow_mut().entry(tag.name.clone()).or_default() += 1;
                    // The contents of these are not markup; without their tag they would become markup.
                    return !is_raw(&tag.name);
                }
                false
            }
            TagKind::EndTag if self.capped.get() => match self.dropped.borrow_mut().get_mut(&tag.name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    !is_raw(&tag.name)
                }
                _ => false,
            },
            TagKind::EndTag => false,
        }
    }
}

impl<'a> TokenSink for Filter<'a> {
    type Handle = Handle<'a>;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle<'a>> {
        if self.full.get() && !matches!(token, Token::EOFToken) {
            return TokenSinkResult::Continue;
        }
        if let Token::TagToken(tag) = &token {
            if self.builder.sink.progress.nodes.get() >= self.limits.max_nodes {
                self.full.set(true);
                return TokenSinkResult::Continue;
            }
            if self.drops(tag) {
                return TokenSinkResult::Continue;
            }
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

fn is_raw(name: &str) -> bool {
    matches!(
        name,
        "script" | "style" | "textarea" | "title" | "xmp" | "iframe" | "noembed" | "noframes" | "plaintext"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dom::Tag;

    #[test]
    fn an_open_iframe_ends_with_a_noscript_that_is_too_deep() {
        let limits = Limits { max_depth: 40, ..Limits::default() };
        let html = format!("{}<noscript><iframe src='x' /></noscript><br>text", "<div>".repeat(50));
        let parsed = parse(&html, &limits);
        assert!(parsed.depth_capped);
        assert_eq!(parsed.dom.raw_text(0), "text");
    }

    #[test]
    fn an_open_iframe_ends_with_its_noscript() {
        let html = "<body><noscript><iframe src='x' /></noscript><p>text</p>";
        let dom = parse(html, &Limits::default()).dom;
        let found = dom.find(0..dom.len(), Tag::P).map(|p| dom.raw_text(p));
        assert_eq!(found.as_deref(), Some("text"));
    }
}
