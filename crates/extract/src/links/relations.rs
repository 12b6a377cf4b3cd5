//! Relations of a page to others, as named by `link` elements and `Link` headers.

use crate::{dom::Tag, page::Page, text::has_token};
use crawl_model::LinkKind;
use html5ever::local_name;

/// Attributes of a `link` element, or parameters of a `Link` header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Relation<'a> {
    pub(super) rel: &'a str,
    pub(super) hreflang: &'a str,
    pub(super) media: &'a str,
    pub(super) kind: &'a str,
}

impl Relation<'_> {
    /// Kind of a link to another page: the next or the previous one of a series (HTML standard, "Sequential link types"). It
    /// may also be the same page in another language than `own` ("Link type alternate").
    pub(super) fn link(&self, own: &str) -> Option<LinkKind> {
        if has_token(self.rel, &["next", "prev"]) {
            return Some(LinkKind::Paging);
        }
        // other forms of the page have media, or are style sheets
        let is_page = self.media.trim().is_empty()
            && PAGES.iter().any(|page| self.media_type().eq_ignore_ascii_case(page));
        let is_alternate =
            has_token(self.rel, &["alternate"]) && !has_token(self.rel, &["stylesheet", "amphtml"]);
        (is_page && is_alternate && self.is_translation(own)).then_some(LinkKind::Translation)
    }

    /// Returns true for another language. The same language in another region is nearly the same text.
    fn is_translation(&self, own: &str) -> bool {
        let language = primary(self.hreflang);
        !matches!(language, "" | "x" | "X") && !language.eq_ignore_ascii_case(primary(own))
    }

    /// Returns true if it names a feed of the page.
    pub(super) fn names_feed(&self) -> bool {
        is_feed(self.media_type()) && has_token(self.rel, &["alternate"])
    }

    fn media_type(&self) -> &str {
        self.kind.split(';').next().unwrap_or_default().trim()
    }
}

/// Types of pages; the type may be missing.
const PAGES: [&str; 3] = ["", "text/html", "application/xhtml+xml"];

/// The language of a tag such as `en-GB`.
fn primary(tag: &str) -> &str {
    tag.trim().split(['-', '_']).next().unwrap_or_default()
}

/// Language that the page declares, or none.
pub(super) fn language<'a>(page: &'a Page<'_>) -> &'a str {
    let root = page.dom.find(0..page.dom.len(), Tag::Html);
    root.and_then(|root| page.dom.attr(root, &local_name!("lang"))).unwrap_or_default()
}

/// Returns true for the type of a feed: RSS, Atom, JSON Feed 1.1.
pub(super) fn is_feed(media_type: &str) -> bool {
    ["application/rss+xml", "application/atom+xml", "application/feed+json"]
        .iter()
        .any(|feed| media_type.eq_ignore_ascii_case(feed))
}

/// The address of a `link` element that leads to another page, and its kind.
pub(super) fn of_element<'a>(page: &'a Page<'_>, id: u32, language: &str) -> (LinkKind, Option<&'a str>) {
    let dom = &page.dom;
    let Some(rel) = dom.attr(id, &local_name!("rel")) else { return (LinkKind::Paging, None) };
    let relation = Relation {
        rel,
        hreflang: dom.attr(id, &local_name!("hreflang")).unwrap_or_default(),
        media: dom.attr(id, &local_name!("media")).unwrap_or_default(),
        kind: dom.attr(id, &local_name!("type")).unwrap_or_default(),
    };
    match relation.link(language) {
        Some(kind) => (kind, dom.attr(id, &local_name!("href"))),
        None => (LinkKind::Paging, None),
    }
}
