//! `crawl extract --select`: content chosen by CSS selectors, with the full syntax of `scraper`.
//!
//! The elements that match are marked by an attribute in the HTML. The extractor then takes the marked elements, so that
//! hidden text, links and metadata are treated as on any other page.

use crawl_engine::exit::{Exit, Failure};
use crawl_extract::{Input, Rules, charset};
use html5ever::{
    LocalName, QualName, ns,
    serialize::{SerializeOpts, TraversalScope, serialize},
};
use scraper::{Html, Node, Selector, StrTendril};

/// Attribute of an element that matches.
const MARK: &str = "data-crawl-select";

/// The `Content-Type` of a page that [`Select::mark`] returns.
pub const CONTENT_TYPE: &str = "text/html; charset=utf-8";

/// The selectors of `--select`.
pub struct Select(Selector);

impl Select {
    /// Parses a list of selectors.
    ///
    /// # Errors
    /// When it is no list of CSS selectors.
    pub fn parse(selectors: &str) -> Result<Self, Failure> {
        let selector = Selector::parse(selectors);
        selector.map(Self).map_err(|_| {
            let problem = "it is no list of CSS selectors, or has a pseudo-element or a state such as :hover";
            Failure::usage(format!("--select \"{selectors}\": {problem}"))
        })
    }

    /// Makes marked elements the content of every page.
    ///
    /// # Errors
    /// When the rules refuse the selector of the mark, which a test excludes.
    pub fn rules(rules: Rules) -> Result<Rules, Failure> {
        let selected = rules.with_selected(&format!("[{MARK}]"));
        selected.map_err(|problem| Failure::new(Exit::Internal, problem))
    }

    /// Returns the page as UTF-8, with a mark on each element that matches and on no other.
    pub fn mark(&self, input: &Input<'_>) -> Vec<u8> {
        let text = charset::decode(input.bytes, input.content_type).text;
        let mut page = Html::parse_document(&text);
        let chosen: Vec<_> = page.select(&self.0).map(|element| element.id()).collect();
        for node in page.tree.values_mut() {
            if let Node::Element(element) = node {
                element.attrs.retain(|(name, _)| &*name.local != MARK);
            }
        }
        let mark = QualName::new(None, ns!(), LocalName::from(MARK));
        for id in chosen {
            if let Some(mut node) = page.tree.get_mut(id)
                && let Node::Element(element) = node.value()
            {
                element.attrs.push((mark.clone(), StrTendril::new()));
            }
        }
        // with scripting, as the page is parsed: what `noscript` holds is not escaped
        let options = SerializeOpts {
            scripting_enabled: true,
            traversal_scope: TraversalScope::IncludeNode,
            create_missing_parent: false,
        };
        let mut bytes = Vec::new();
        if serialize(&mut bytes, &page, options).is_err() {
            // memory takes whatever is written; half a page would be no page
            bytes.clear();
        }
        bytes
    }
}
