//! Microdata: objects in attributes of elements (HTML standard, §5 "Microdata"). `itemref` is not followed.

use super::{Sources, non_empty};
use crate::dom::Tag;
use html5ever::{LocalName, local_name};
use serde_json::{Map, Value};

/// Maximum depth of nested objects.
const MAX_DEPTH: usize = 6;
/// Maximum bytes of the values of one object, including nested objects.
const MAX_TOTAL: usize = 64 << 10;
/// Maximum names in one `itemprop`.
const MAX_NAMES: usize = 8;

/// The first object of the first type in the list that the page has, in the form of JSON-LD.
pub(super) fn object(s: &Sources<'_>, kinds: &[&str]) -> Option<Value> {
    let body = s.page.within_body();
    let scopes = s.marks.itemscope.iter().copied().filter(|id| body.contains(id));
    let rank = |id: u32| Some((kinds.iter().position(|kind| type_of(s, id) == Some(kind))?, id));
    let (_, id) = scopes.filter_map(rank).min()?;
    Some(read(s, id, 0, &mut MAX_TOTAL.clone()))
}

/// Type of an object, without its namespace.
fn type_of<'a>(s: &'a Sources<'_>, id: u32) -> Option<&'a str> {
    let named = s.page.dom.attr(id, &local_name!("itemtype"))?.split_ascii_whitespace().next()?;
    named.rsplit(['/', '#', ':']).next()
}

/// Reads an object, with at most `left` more bytes.
fn read(s: &Sources<'_>, item: u32, depth: usize, left: &mut usize) -> Value {
    let dom = &s.page.dom;
    let mut out = Map::new();
    if let Some(kind) = type_of(s, item) {
        out.insert("@type".to_owned(), Value::String(kind.to_owned()));
    }
    let mut at = item + 1;
    while at < dom.end(item) && *left > 0 && !s.page.budget.is_over() {
        let is_item = dom.attr(at, &local_name!("itemscope")).is_some();
        if let Some(names) = dom.attr(at, &local_name!("itemprop")) {
            let value = match is_item {
                true if depth < MAX_DEPTH => Some(read(s, at, depth + 1, left)),
                true => None,
                false => value(s, at, *left).map(Value::String),
            };
            for name in names.split_ascii_whitespace().take(MAX_NAMES) {
                let length = value.as_ref().and_then(Value::as_str).map_or(0, str::len);
                *left = left.saturating_sub(name.len() + length);
                value.iter().for_each(|value| add(&mut out, name, value.clone()));
            }
        }
        // properties within a nested object belong to it
        at = if is_item { dom.end(at) } else { at + 1 };
    }
    Value::Object(out)
}

/// Adds a value to a property; several values become a list.
fn add(object: &mut Map<String, Value>, name: &str, value: Value) {
    match object.get_mut(name) {
        None => {
            object.insert(name.to_owned(), value);
        }
        Some(Value::Array(list)) => list.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
    }
}

/// Value of a property that is no object: an attribute or the text, by the element. None for a text of more
/// than `most` bytes.
fn value(s: &Sources<'_>, id: u32, most: usize) -> Option<String> {
    let dom = &s.page.dom;
    let attribute = |name: LocalName| dom.attr(id, &name).and_then(non_empty);
    let address = |name| attribute(name).and_then(|address| s.page.resolve(&address));
    let text = || {
        let mut text = String::new();
        s.page.push_text(id, most, |_| true, &mut text);
        if text.len() > most { None } else { non_empty(&text) }
    };
    match dom.tag(id) {
        Tag::Meta => attribute(local_name!("content")),
        Tag::A | Tag::Link => address(local_name!("href")),
        Tag::Img | Tag::Video | Tag::Audio | Tag::Iframe | Tag::Source => address(local_name!("src")),
        Tag::Time => attribute(local_name!("datetime")).or_else(text),
        // `data`, `meter`, and shops that write `content` on any element
        _ => attribute(local_name!("content")).or_else(|| attribute(local_name!("value"))).or_else(text),
    }
}
