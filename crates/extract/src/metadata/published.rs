//! When a page was published and last changed.

use super::{Order, Sources, dates, jsonld, near};
use crate::{
    dom::Tag,
    page::Page,
    rules::{Part, Roles},
    text,
};
use html5ever::{LocalName, local_name};

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
    let in_meta = || rules.published.iter().find_map(|name| s.metas.all(name).find_map(parse));
    s.first(
        "published",
        &[
            ("a line near the heading, before the day on which the page was built", &|| {
                before_build(s, &in_json().or_else(in_meta)?, order)
            }),
            ("JSON-LD", &in_json),
            ("meta elements", &in_meta),
            ("the first post of the thread", &|| posted(s, order)),
            ("a time element, or an element named like a date", &|| visible(s, order)),
            ("the URL", &|| s.page.url.and_then(|url| dates::from_path(url.path()))),
            ("a line near the heading", &|| s.near().iter().find_map(|line| dated_line(s, line, order))),
            ("a line that calls itself a date of publication", &|| {
                labelled(s, &rules.published_words, order)
            }),
            ("the only date there is, of the last change", &|| changed(s, order)),
        ],
    )
}

/// Where a program stamps publication and change with the day on which it built the page, and the page itself shows
/// an earlier day beside its heading: that day.
fn before_build(s: &Sources<'_>, stamped: &str, order: Order) -> Option<String> {
    let day = |date: &str| text::head(date, "2026-01-01".len()).to_owned();
    if day(&modified_in_data(s, order)?.1) != day(stamped) {
        return None;
    }
    let shown = s.near().iter().find_map(|line| dated_line(s, line, order))?;
    (day(&shown) < day(stamped)).then_some(shown)
}

/// The date of the last change, near the heading or in the page's data: this text is not older than that.
fn changed(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let shown = s.near().iter().find_map(|line| dates::parse(rules, line, order));
    shown
        .or_else(|| Some(modified_in_data(s, order)?.1))
        .or_else(|| labelled(s, &rules.modified_words, order))
}

/// A short line anywhere, or a part of one, that begins with one of the words and holds a date.
fn labelled(s: &Sources<'_>, words: &[String], order: Order) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let dated = |line: &str| {
        let lower = line.to_lowercase();
        let named = words.iter().any(|word| lower.starts_with(word.as_str()));
        named.then(|| dates::parse(&page.rules.dates, line, order))?
    };
    s.numbered().iter().find_map(|&id| {
        let whole = || {
            let block = dom.ancestors(id).find(|up| dom.tag(*up).is_block())?;
            let is_line = page.amount(block).chars <= MAX_LABELLED;
            is_line.then(|| dated(&text::fold(&page.visible_text(block))))?
        };
        let found = dated(&text::fold(dom.text(id))).or_else(whole)?;
        (!near::is_elsewhere(page, id)).then_some(found)
    })
}

/// The short visible texts that may hold a date: those with three digits, since of a date there are at least day and year.
pub(super) fn numbered(page: &Page<'_>) -> Vec<u32> {
    let dom = &page.dom;
    let may_hold_date = |id: &u32| {
        dom.tag(*id) == Tag::Text
            && page.is_visible(*id)
            && page.amount(*id).chars <= MAX_LABELLED
            && dom.text(*id).bytes().filter(u8::is_ascii_digit).take(3).count() == 3
    };
    (page.body..dom.end(page.body)).filter(may_hold_date).collect()
}

/// A longer line says more than a date (characters).
const MAX_LABELLED: u32 = 60;

/// The date of the last change: JSON-LD, then meta elements.
pub(super) fn modified(s: &Sources<'_>, order: Order) -> Option<String> {
    let (source, date) = modified_in_data(s, order)?;
    s.page.trace.source("modified", source);
    Some(date)
}

/// The same, with where it stands.
fn modified_in_data(s: &Sources<'_>, order: Order) -> Option<(&'static str, String)> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let in_json = s.main.and_then(|main| jsonld::text(main.get("dateModified")?).and_then(parse));
    let in_meta = || rules.modified.iter().find_map(|name| s.metas.all(name).find_map(parse));
    in_json.map(|date| ("JSON-LD", date)).or_else(|| Some(("meta elements", in_meta()?)))
}

/// The date of a thread's first post.
fn posted(s: &Sources<'_>, order: Order) -> Option<String> {
    let (_, _, id) = s.page.parts.iter().find(|(part, ..)| *part == Part::PostDate)?;
    let dom = &s.page.dom;
    let stamp = dom
        .attr(*id, &local_name!("datetime"))
        .or_else(|| dom.attrs(*id).find(|(name, _)| &***name == "ts").map(|(_, value)| value));
    let rules = &s.page.rules.dates;
    stamp
        .and_then(|stamp| dates::parse(rules, stamp, order))
        .or_else(|| dates::parse(rules, &text::fold(&s.page.visible_text(*id)), order))
}

/// The date in a line near the heading, unless the line speaks of a change.
fn dated_line(s: &Sources<'_>, line: &str, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let date = dates::parse(rules, line, order)?;
    (!speaks_of_change(rules, &line.to_lowercase())).then_some(date)
}

/// Text of an element for dates that is longer says more than a date (characters).
const MAX_STAMP: u32 = 200;

/// The line, in lower case, has a word for the last change and none for publication.
fn speaks_of_change(rules: &dates::DateRules, line: &str) -> bool {
    // "date" must not be found in "updated".
    let has = |words: &[String]| {
        words.iter().any(|word| {
            line.match_indices(word.as_str())
                .any(|(at, _)| !line[..at].chars().next_back().is_some_and(char::is_alphabetic))
        })
    };
    has(&rules.modified_words) && !has(&rules.published_words)
}

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
        let is_named = fallback.is_none() && is_named_as_date(page, id);
        // Last, since it is dear: all that stands above the element is looked at.
        if !is_time && !is_named || near::is_elsewhere(page, id) {
            continue;
        }
        if is_time {
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
        if is_named {
            fallback = dates::parse(rules, &text::fold(&page.visible_text(id)), order);
        }
    }
    fallback
}

/// A short element whose class or id speaks of a date.
fn is_named_as_date(page: &Page<'_>, id: u32) -> bool {
    let named = |name: LocalName| {
        let names = page.dom.attr(id, &name).filter(|names| !names.is_empty());
        names.is_some_and(|names| page.rules.dates.names.roles(names).has(Roles::META))
    };
    (1..=MAX_NAMED).contains(&page.amount(id).chars)
        && (named(local_name!("class")) || named(local_name!("id")))
}

/// Longer text of an element that is named as a date says more (characters).
const MAX_NAMED: u32 = 60;
