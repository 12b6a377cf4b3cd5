//! Teasers: boxes that lead to other pages of the site, recognised by a heading that is a link.

use crate::{
    dom::Tag,
    page::Page,
    selection::{kept, kept_in},
};
use crawl_model::registrable_domain;
use html5ever::local_name;
use url::Url;

/// Maximum words of a teaser.
pub(super) const MAX_WORDS: u32 = 120;
/// Maximum words of teasers within a text, on average. Teasers have one or two sentences.
const MAX_MEAN_WORDS: u32 = 40;
/// Minimum share of a heading inside a link.
const LINKED: f32 = 0.8;

/// Masks teasers, unless they are so much of the page that it is a list of them. In an article the share of teasers
/// after the text does not matter.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool], max_share: f32, article: bool) {
    let cards = cards(page, mask);
    let Some(first) = cards.first() else { return };
    let words: u32 = cards.iter().map(|id| page.amount(*id).words).sum();
    let whole = kept(page, page.body, mask).words;
    let is_list = words as f32 > whole as f32 * max_share;
    let end = match (is_list, article) {
        (false, _) => 0,
        (true, true) => match end_of_text(page, *first, mask) {
            Some(end) => end,
            None => return,
        },
        (true, false) => return,
    };
    // The items of an article that is a list stand within it. Longer boxes are content and stay, unless most of them
    // are cut.
    let are_teasers = words <= cards.len() as u32 * MAX_MEAN_WORDS
        || 2 * cards.iter().filter(|id| is_cut(page, **id)).count() > cards.len();
    for id in cards.into_iter().filter(|id| are_teasers || *id >= end) {
        mask[id as usize] = true;
        page.trace.mark(id, "a teaser: its heading is a link");
    }
}

/// Returns true if the longest text of an element ends within a sentence, or with an ellipsis.
fn is_cut(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let texts = (id..dom.end(id)).filter(|id| dom.tag(*id) == Tag::Text).map(|id| dom.text(id).trim());
    texts.max_by_key(|text| text.len()).is_some_and(|text| {
        text.ends_with("..") || text.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '…' | ',' | ';'))
    })
}

/// End of the smallest element with the heading of the page and the prose before a teaser. `None` without enough
/// prose for a text.
fn end_of_text(page: &Page<'_>, teaser: u32, mask: &[bool]) -> Option<u32> {
    let dom = &page.dom;
    let heading = page.heading?;
    let start = dom.end(heading);
    if start > teaser || kept_in(page, start..teaser, mask).prose < page.rules.extraction.prune.teaser_prose {
        return None;
    }
    let is_prose = |id: &u32| dom.end(*id) <= teaser && !mask[*id as usize] && page.amount(*id).prose > 0;
    let last = (start..teaser).rev().find(is_prose)?;
    let whole = dom.ancestors(heading).find(|up| dom.end(*up) > last)?;
    Some(dom.end(whole))
}

/// The largest box around each linked heading that holds no other heading.
pub(super) fn cards(page: &Page<'_>, mask: &[bool]) -> Vec<u32> {
    let dom = &page.dom;
    let headings = dom.of_kind(|tag| tag.heading_level().is_some());
    let headings: Vec<u32> = headings.filter(|id| page.is_visible(*id)).collect();
    let is_only = |id: u32| {
        let behind = &headings[headings.partition_point(|heading| *heading < id)..];
        behind.first().is_some_and(|first| *first < dom.end(id))
            && behind.get(1).is_none_or(|second| *second >= dom.end(id))
    };
    let is_left_out = |id: u32| mask[id as usize] || !page.is_visible(id);
    let mut cards: Vec<u32> = Vec::new();
    let mut from = page.body;
    for &id in headings.iter().take_while(|_| !page.budget.is_over()) {
        let is_outside = id < from || id >= dom.end(page.body);
        if is_outside || parts_around(page, id).any(is_left_out) || !is_linked_heading(page, id) {
            continue;
        }
        let is_box =
            |up: &u32| is_only(*up) && page.amount(*up).words <= MAX_WORDS && dom.tag(*up) != Tag::Main;
        let around = dom.ancestors(id).take_while(|up| *up > page.body && is_box(up));
        let card = around.last().unwrap_or(id);
        cards.push(card);
        from = dom.end(card);
    }
    cards
}

/// An element and those around it within the body.
fn parts_around(page: &Page<'_>, id: u32) -> impl Iterator<Item = u32> {
    std::iter::once(id).chain(page.dom.ancestors(id)).take_while(|up| *up >= page.body)
}

/// Returns true for the URL of the page itself, to which many programs link the heading of an article.
fn is_own_address(page: &Page<'_>, href: &str) -> bool {
    let Some(own) = page.url else { return false };
    page.resolve(href).is_some_and(|address| page_address(&address) == page_address(own.as_str()))
}

/// Returns true for a URL of another site. A heading with such a link names the subject of the text below it.
fn leaves_site(page: &Page<'_>, href: &str) -> bool {
    other_site(page, href).is_some()
}

/// Name of the other site that a URL leads to.
///
/// A URL whose query has a URL of the page's domain shares the page. Domains of one name under two suffixes
/// belong to one site. The site of the canonical URL is the page's own, too.
pub(super) fn other_site(page: &Page<'_>, href: &str) -> Option<String> {
    let own = page.url.and_then(Url::host_str)?;
    // Most links are relative or name the page's host, and parsing is expensive.
    let (_, rest) = href.split_once("//")?;
    if rest.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#'])) {
        return None;
    }
    let address = Url::parse(&page.resolve(href)?).ok()?;
    let host = address.host_str()?;
    let name = |host| match registrable_domain(host) {
        Some(domain) => domain.split('.').next().unwrap_or(domain),
        None => host,
    };
    let declared = page.canonical.as_ref().and_then(Url::host_str);
    let is_own = name(host) == name(own) || declared.is_some_and(|own| name(host) == name(own));
    let domain = registrable_domain(own).unwrap_or(own);
    let is_shared = address.query_pairs().any(|(_, value)| value.contains("//") && value.contains(domain));
    (!is_own && !is_shared).then(|| name(host).to_owned())
}

/// Target of a link, if that is another page of the host.
pub(super) fn target(page: &Page<'_>, id: u32) -> Option<String> {
    if page.dom.tag(id) != Tag::A {
        return None;
    }
    let href = page.dom.attr(id, &local_name!("href"))?.trim();
    if href.is_empty() || href.starts_with('#') || is_own_address(page, href) {
        return None;
    }
    let (own, address) = (page.url?, page.resolve(href)?);
    let host = page_address(&address).split('/').next();
    (host == page_address(own.as_str()).split('/').next()).then(|| page_address(&address).to_owned())
}

/// A URL without its scheme, query, fragment and other variants of the same page.
fn page_address(address: &str) -> &str {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let address = address.strip_prefix("www.").unwrap_or(address);
    address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/')
}

/// Returns true for a heading below level one that links to another page of the site.
fn is_linked_heading(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    if dom.tag(id).heading_level().is_none_or(|level| level == 1) || page.amount(id).chars == 0 {
        return false;
    }
    let leads_away = |a: u32| {
        dom.tag(a) == Tag::A
            && dom.attr(a, &local_name!("href")).is_some_and(|href| {
                let href = href.trim();
                !href.is_empty()
                    && !href.starts_with('#')
                    && !href.starts_with("javascript:")
                    && !is_own_address(page, href)
                    && !leaves_site(page, href)
            })
    };
    page.amount(id).link_density() >= LINKED
        && ((id..dom.end(id)).any(leads_away) || dom.ancestors(id).take(4).any(leads_away))
}
