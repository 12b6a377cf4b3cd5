//! Publication dates in data of a page's scripts.

use super::{Order, Sources, dates, jsonld, published::day, types};
use crate::{dom::Tag, text};
use html5ever::local_name;
use memchr::memmem;
use serde_json::Value;

/// Date of publication in scripts and data attributes, if all of them have one day.
///
/// Data with several days also describes other pages. In JSON-LD, objects that describe a web page count.
pub(super) fn published(s: &Sources<'_>, order: Order) -> Option<String> {
    let dom = &s.page.dom;
    let mut found = None;
    let mut is_same = |date: String| {
        let first = found.get_or_insert_with(|| date.clone());
        day(first) == day(&date)
    };
    let is_one_in_json = dates_of_pages(s, order).all(&mut is_same);
    let mut left = MAX_BYTES;
    let mut is_one_day = |data: &str| {
        let Some(rest) = left.checked_sub(data.len()) else { return false };
        left = rest;
        dates_in(s, data, order).into_iter().all(&mut is_same)
    };
    let in_attributes = dom.attrs_hold(CENTURY);
    let is_one = is_one_in_json
        && dom.of_kind(|tag| tag == Tag::Script || in_attributes && tag != Tag::Text).all(|id| {
            match dom.tag(id) {
                Tag::Script if is_json_ld(s, id) => true,
                Tag::Script => dom.children(id).all(|text| is_one_day(dom.text(text))),
                _ => dom.attrs(id).filter(|(_, value)| is_data(value)).all(|(_, value)| is_one_day(value)),
            }
        });
    found.filter(|_| is_one)
}

/// Dates after keys for a publication: `"published_at":"2026-03-05"`, also with escaped quotation marks.
fn dates_in(s: &Sources<'_>, data: &str, order: Order) -> Vec<String> {
    let rules = &s.page.rules.dates;
    let at_value = |at: usize| {
        let value = text::head(&data[at + 1..], MAX_VALUE).split(['"', '\\']).next()?;
        let key = data[..at].trim_end_matches('\\').trim_end().strip_suffix([':', '='])?;
        let key = key.trim_end().trim_end_matches(['"', '\'', '\\']);
        let name = key.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        rules.script_keys.iter().any(|known| known == name).then(|| dates::parse(rules, value, order))?
    };
    memmem::find_iter(data.as_bytes(), CENTURY).filter_map(at_value).collect()
}

/// Start of a date in quotation marks.
const CENTURY: &str = "\"20";

/// Dates of JSON-LD objects that describe a web page, since the page's own object may be a product.
fn dates_of_pages(s: &Sources<'_>, order: Order) -> impl Iterator<Item = String> {
    let is_page = |node: &&&Value| types(node).iter().any(|kind| kind.ends_with("Page"));
    let pages = s.nodes.iter().filter(is_page);
    let dates = pages.filter_map(|node| jsonld::text(node.get("datePublished")?));
    dates.filter_map(move |date| dates::parse(&s.page.rules.dates, date, order))
}

/// Returns true if the script holds JSON-LD.
fn is_json_ld(s: &Sources<'_>, id: u32) -> bool {
    let kind = s.page.dom.attr(id, &local_name!("type")).unwrap_or_default();
    kind.trim().to_ascii_lowercase().starts_with("application/ld+json")
}

/// An attribute that holds an object.
fn is_data(value: &str) -> bool {
    value.len() >= MIN_DATA && value.starts_with('{')
}

/// Maximum bytes of scripts and attributes: beyond it no date is used, since the rest may have another day.
const MAX_BYTES: usize = 4 << 20;
/// A shorter attribute is no data.
const MIN_DATA: usize = 40;
/// A longer value is no date.
const MAX_VALUE: usize = 64;
