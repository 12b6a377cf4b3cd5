//! The title of a page, without the name of its site.

use super::{Sources, jsonld, non_empty};
use crate::{dom::Tag, text};

/// What stands between a title and the site's name.
const SEPARATORS: [&str; 12] =
    [" | ", " - ", " – ", " — ", " :: ", " » ", " « ", " · ", " • ", " / ", " > ", " ~ "];

/// Longer headings are no titles (bytes).
const MAX_HEADING: usize = 250;
/// More headings of the first level than this are not looked at.
const MAX_HEADINGS: usize = 12;

/// The title: the heading that the page's own data agrees with, else what the data calls the page.
pub(super) fn find(s: &Sources<'_>, site: Option<&str>) -> Option<String> {
    let declared = s.metas.first(&[
        "og:title",
        "twitter:title",
        "dc.title",
        "citation_title",
        "parsely-title",
        "sailthru.title",
    ]);
    let headline = s.main.and_then(|main| main.get("headline").and_then(jsonld::text));
    let element = title_element(s);
    let named: Vec<String> =
        headline.into_iter().chain(declared).chain(element.as_deref()).filter_map(plain).collect();
    let data = match (headline, declared) {
        (Some(_), _) => "JSON-LD headline",
        (None, Some(_)) => "meta elements",
        (None, None) => "the title element",
    };
    let headings = headings(s, site);
    let agreeing = headings
        .iter()
        .map(|heading| (named.iter().map(|name| shared(heading, name)).fold(0.0, f32::max), heading))
        .filter(|(share, _)| *share >= AGREES)
        // Among those that agree as much, the longest says most; among equals the first.
        .reduce(|best, next| if (next.0, next.1.len()) > (best.0, best.1.len()) { next } else { best });
    let told = |title: String, source: &'static str| {
        s.page.trace.source("title", source);
        Some(title)
    };
    if let Some((_, heading)) = agreeing {
        return told(heading.clone(), "the heading that agrees with the page's data");
    }
    let full = named.first().map(|full| without_site(full, site, s));
    match (full, headings.as_slice()) {
        (None, [first, ..]) => told(first.clone(), "the first heading, as the page's data has no title"),
        // The data calls the page by its site's name; its one heading says more.
        (Some(full), [only])
            if is_site(&full, site, s) || shared(only, &full) > 0.55 && words(only).count() > 2 =>
        {
            told(only.clone(), "the only heading, as the page's data names no more than the site")
        }
        (Some(full), _) => told(full, data),
        (None, []) => None,
    }
}

/// A heading agrees with a name of the page if this share of its words stands in it.
const AGREES: f32 = 0.5;

/// What is looked at of a name (bytes): every word of a heading is looked for in it.
const MAX_NAME: usize = 4 * MAX_HEADING;

/// Share of the heading's words that stand in the name.
fn shared(heading: &str, name: &str) -> f32 {
    let name: Vec<String> = words(text::head(name, MAX_NAME)).collect();
    let (mut all, mut found) = (0.0, 0.0);
    for word in words(heading) {
        let weight = if word.chars().count() > 3 { 1.0 } else { 0.3 };
        all += weight;
        if name.contains(&word) {
            found += weight;
        }
    }
    if all == 0.0 { 0.0 } else { found / all }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase)
}

/// Text of an attribute or of JSON that may hold character references a second time.
fn plain(text: &str) -> Option<String> {
    if text.contains('&') && text.contains(';') {
        let dom = crate::dom::parse(&text.replace('<', "&lt;"), &crate::dom::Limits::default()).dom;
        return non_empty(&dom.raw_text(0));
    }
    non_empty(text)
}

fn title_element(s: &Sources<'_>) -> Option<String> {
    let dom = &s.page.dom;
    let id = dom.find(0..dom.len(), Tag::Title)?;
    non_empty(&dom.raw_text(id))
}

/// Visible headings of the first level that are not the site's name.
fn headings(s: &Sources<'_>, site: Option<&str>) -> Vec<String> {
    let dom = &s.page.dom;
    let mut out: Vec<String> = Vec::new();
    let all =
        (s.page.body..dom.end(s.page.body)).filter(|id| dom.tag(*id) == Tag::H1 && s.page.is_visible(*id));
    for heading in all.take(MAX_HEADINGS).filter_map(|id| non_empty(&s.page.visible_text(id))) {
        let heading = heading.trim_end_matches(['¶', '#', ' ']).to_owned();
        if heading.len() <= MAX_HEADING
            && !heading.is_empty()
            && !is_site(&heading, site, s)
            && !out.contains(&heading)
        {
            out.push(heading);
        }
    }
    out
}

/// The text is the site's name, or its host's.
fn is_site(part: &str, site: Option<&str>, s: &Sources<'_>) -> bool {
    let letters =
        |t: &str| t.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let host = s.page.url.and_then(|url| url.host_str()).unwrap_or_default();
    let part = letters(part);
    let host = letters(host.trim_start_matches("www."));
    !part.is_empty()
        && (site.is_some_and(|site| letters(site) == part || letters(site).contains(&part) && part.len() > 3)
            || host.starts_with(&part) && part.len() > 2)
}

/// Cuts the site's name off a title, at either end.
fn without_site(title: &str, site: Option<&str>, s: &Sources<'_>) -> String {
    let is_site = |part: &str| is_site(part, site, s);
    let split = SEPARATORS.iter().filter_map(|sep| title.rfind(sep).map(|at| (at, sep.len()))).max();
    let Some((at, len)) = split else { return title.to_owned() };
    let (head, tail) = (&title[..at], &title[at + len..]);
    let first = SEPARATORS
        .iter()
        .filter_map(|sep| title.find(sep).map(|at| (at, sep.len())))
        .min()
        .unwrap_or((at, len));
    if is_site(&title[..first.0]) && !is_site(tail) {
        return title[first.0 + first.1..].trim().to_owned();
    }
    // A short tail behind a longer head is the site or a section of it.
    let count = |t: &str| t.split_whitespace().count();
    if is_site(tail) || count(tail) <= 3 && count(head) >= 3 {
        return head.trim().to_owned();
    }
    title.to_owned()
}
