//! The title of a page, without the name of its site.

use super::{Sources, jsonld, non_empty};
use crate::{dom::Tag, text};

/// What stands between a title and the site's name.
const SEPARATORS: [&str; 12] =
    [" | ", " - ", " – ", " — ", " :: ", " » ", " « ", " · ", " • ", " / ", " > ", " ~ "];

/// The title: what the page's data calls it, checked against its heading.
pub(super) fn find(s: &Sources<'_>, site: Option<&str>) -> Option<String> {
    let heading = heading(s);
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
    let full =
        headline.map(str::to_owned).or_else(|| declared.map(str::to_owned)).or_else(|| element.clone());
    let Some(full) = full.and_then(|t| non_empty(&t)) else { return heading };
    if let Some(heading) = heading {
        let (short, long) = (text::fold_lower(&heading), text::fold_lower(&full));
        if long.contains(&short) && short.len() * 5 >= long.len() {
            return Some(heading);
        }
    }
    Some(without_site(&full, site, s))
}

fn title_element(s: &Sources<'_>) -> Option<String> {
    let dom = &s.page.dom;
    let id = dom.find(0..dom.len(), Tag::Title)?;
    non_empty(&dom.raw_text(id))
}

/// The page's heading: the only visible h1, or the first that is not the site's name in its header.
fn heading(s: &Sources<'_>) -> Option<String> {
    let dom = &s.page.dom;
    let mut all = (s.page.body..dom.end(s.page.body))
        .filter(|id| dom.tag(*id) == Tag::H1 && s.page.is_visible(*id))
        .filter_map(|id| non_empty(&s.page.visible_text(id)))
        .filter(|t| t.len() <= 300);
    let first = all.next()?;
    Some(first)
}

/// Cuts the site's name off a title, at either end.
fn without_site(title: &str, site: Option<&str>, s: &Sources<'_>) -> String {
    let host = s.page.url.and_then(|url| url.host_str()).unwrap_or_default();
    let letters =
        |t: &str| t.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let is_site = |part: &str| {
        let part = letters(part);
        let host = letters(host.trim_start_matches("www."));
        !part.is_empty()
            && (site
                .is_some_and(|site| letters(site) == part || letters(site).contains(&part) && part.len() > 3)
                || host.starts_with(&part) && part.len() > 2)
    };
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
    let words = |t: &str| t.split_whitespace().count();
    if is_site(tail) || words(tail) <= 3 && words(head) >= 3 {
        return head.trim().to_owned();
    }
    title.to_owned()
}
