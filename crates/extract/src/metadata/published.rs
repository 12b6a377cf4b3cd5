//! When a page was published and last changed.

use super::{Order, Sources, dates, jsonld, near};
use crate::{
    dom::Tag,
    rules::{Part, Roles},
    text,
};
use html5ever::local_name;

/// Only US English and a few others write the month first.
pub(super) fn order_of(language: Option<&str>) -> Order {
    match language {
        None | Some("en" | "en-us" | "en-ph") => Order::MonthFirst,
        _ => Order::DayFirst,
    }
}

/// The date of publication: JSON-LD, meta elements, `time`, elements named like dates, the URL.
pub(super) fn published(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let in_json = || {
        let keys = ["datePublished", "dateCreated", "uploadDate"];
        s.main.and_then(|main| keys.iter().find_map(|key| jsonld::text(main.get(*key)?).and_then(parse)))
    };
    s.first(
        "published",
        &[
            ("JSON-LD", &in_json),
            ("meta elements", &|| rules.published.iter().find_map(|name| s.metas.all(name).find_map(parse))),
            ("the first post of the thread", &|| posted(s, order)),
            ("a time element, or an element named like a date", &|| visible(s, order)),
            ("the URL", &|| s.page.url.and_then(|url| dates::from_path(url.path()))),
            ("a line near the heading", &|| {
                near::lines(s.page).iter().find_map(|line| dated_line(s, line, order))
            }),
        ],
    )
}

/// The date of the last change: JSON-LD, then meta elements.
pub(super) fn modified(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    s.first(
        "modified",
        &[
            ("JSON-LD", &|| s.main.and_then(|main| jsonld::text(main.get("dateModified")?).and_then(parse))),
            ("meta elements", &|| rules.modified.iter().find_map(|name| s.metas.all(name).find_map(parse))),
        ],
    )
}

/// The date of a thread's first post.
fn posted(s: &Sources<'_>, order: Order) -> Option<String> {
    let (_, _, id) = s.page.parts.iter().find(|(part, ..)| *part == Part::PostDate)?;
    let stamp = s.page.dom.attr(*id, &local_name!("datetime"));
    let rules = &s.page.rules.dates;
    stamp
        .and_then(|stamp| dates::parse(rules, stamp, order))
        .or_else(|| dates::parse(rules, &text::fold(&s.page.visible_text(*id)), order))
}

/// The date in a line near the heading, unless the line speaks of a change.
fn dated_line(s: &Sources<'_>, line: &str, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let lower = line.to_lowercase();
    let named = rules.published_words.iter().any(|word| lower.contains(word.as_str()));
    if !named && rules.modified_words.iter().any(|word| lower.contains(word.as_str())) {
        return None;
    }
    dates::parse(rules, line, order)
}

/// Text of an element for dates that is longer says more than a date (characters).
const MAX_STAMP: u32 = 200;

/// A date that a reader sees.
fn visible(s: &Sources<'_>, order: Order) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let rules = &page.rules.dates;
    let mut fallback = None;
    for id in page.body..dom.end(page.body) {
        if page.budget.is_over() {
            break;
        }
        let tag = dom.tag(id);
        if tag == Tag::Text || !page.is_visible(id) {
            continue;
        }
        let itemprop = dom.attr(id, &local_name!("itemprop")).unwrap_or_default();
        let is_time = tag == Tag::Time || itemprop.eq_ignore_ascii_case("datePublished");
        if !is_time && fallback.is_some() || near::is_elsewhere(page, id) {
            continue;
        }
        if tag == Tag::Time || itemprop.eq_ignore_ascii_case("datePublished") {
            let stamp =
                dom.attr(id, &local_name!("datetime")).or_else(|| dom.attr(id, &local_name!("content")));
            let found = stamp.and_then(|t| dates::parse(rules, t, order)).or_else(|| {
                // An element that was never closed holds the rest of the page.
                let short = page.amount(id).chars <= MAX_STAMP;
                short.then(|| dates::parse(rules, &text::fold(&page.visible_text(id)), order)).flatten()
            });
            if found.is_some() {
                return found;
            }
        }
        if fallback.is_none() && (1..=60).contains(&page.amount(id).chars) {
            let class = dom.attr(id, &local_name!("class")).unwrap_or_default();
            let own = dom.attr(id, &local_name!("id")).unwrap_or_default();
            if rules.names.roles(class).and(rules.names.roles(own)).has(Roles::META) {
                fallback = dates::parse(rules, &text::fold(&page.visible_text(id)), order);
            }
        }
    }
    fallback
}
