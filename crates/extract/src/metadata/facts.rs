//! Section, access, URLs of authors, and the object of a recipe, a product or the like.

use super::{
    Sources,
    authors::{MAX_LISTED, is_marked_link},
    jsonld, microdata, non_empty,
    title::plain,
    types,
};
use crate::dom::Tag;
use crawl_model::AuthorUrl;
use html5ever::local_name;
use serde_json::{Map, Value, json};
use std::cell::OnceCell;

/// Types of objects that a record includes, best first: <https://schema.org/docs/full.html>.
const INCLUDED_TYPES: [&str; 12] = [
    "Recipe",
    "Product",
    "ProductGroup",
    "Event",
    "JobPosting",
    "Course",
    "Book",
    "Movie",
    "SoftwareApplication",
    "HowTo",
    "VideoObject",
    "Review",
];

/// Properties of an object that repeat the page's text, or describe other pages.
const EXCLUDED_PROPERTIES: [&str; 13] = [
    "@context",
    "@id",
    "articleBody",
    "breadcrumb",
    "comment",
    "description",
    "image",
    "isPartOf",
    "isRelatedTo",
    "mainEntityOfPage",
    "potentialAction",
    "review",
    "reviewBody",
];

/// Maximum depth of nested objects.
const MAX_DEPTH: usize = 6;
/// Maximum entries of a list.
const MAX_ENTRIES: usize = 100;
/// Maximum bytes of an object's JSON.
const MAX_BYTES: usize = 32 << 10;

/// The section of the site that the page calls its own.
pub(super) fn section(s: &Sources<'_>) -> Option<String> {
    let in_json = || jsonld::text(s.main?.get("articleSection")?);
    s.metas.first(&["article:section"]).or_else(in_json).and_then(plain)
}

/// Access to the page by its data: its own value, else that of a part (`hasPart`).
pub(super) fn accessible(s: &Sources<'_>) -> Option<bool> {
    let is_free = |node: &Value| match node.get("isAccessibleForFree")? {
        Value::Bool(free) => Some(*free),
        // also as the URL of schema.org's value
        Value::String(text) => match text.trim().rsplit('/').next()?.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        _ => None,
    };
    let parts = |node: &&Value| match node.get("hasPart") {
        Some(Value::Array(list)) => list.iter().filter_map(is_free).min(),
        Some(part) => is_free(part),
        None => None,
    };
    s.nodes.iter().find_map(|node| is_free(node)).or_else(|| s.nodes.iter().find_map(parts))
}

/// URLs of the authors' pages: from JSON-LD, then from links with their name. Such a link has `rel=author`,
/// is marked as the author, or leads to an author's page.
pub(super) fn author_urls(s: &Sources<'_>, authors: &[String]) -> Vec<AuthorUrl> {
    if authors.is_empty() {
        return Vec::new();
    }
    let objects = s.main.and_then(|main| main.get("author")).map_or(&[][..], |author| match author {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    });
    // Each may need a search of all objects.
    let objects = objects.iter().take(MAX_LISTED);
    let objects = objects.map(|object| s.json.by_id(&s.nodes, object).unwrap_or(object));
    let name = |object: &Value| plain(object.get("name").and_then(jsonld::text)?);
    let named: Vec<(&Value, Vec<String>)> =
        objects.filter_map(|object| Some((object, words(&name(object)?)))).collect();
    let in_json = |author: &String| best(&named, author, &|object| s.page.resolve(address_of(object)?));
    let dom = &s.page.dom;
    let longest = authors.iter().map(|author| author.chars().count()).max().unwrap_or(0) + MAX_AROUND_CHARS;
    let is_short = |id: &u32| (1..=longest).contains(&(s.page.chars(*id) as usize));
    let links = OnceCell::new();
    let links = || {
        links.get_or_init(|| {
            let links = dom.find_all(s.page.within_body(), Tag::A).filter(is_short);
            // Few links are marked, and splitting a text into words takes longer than looking for a mark.
            links
                .filter(|id| is_marked_link(s, *id))
                .map(|id| (id, words(&s.page.visible_text(id))))
                .collect::<Vec<(u32, Vec<String>)>>()
        })
    };
    let in_links =
        |author: &String| best(links(), author, &|id| s.page.resolve(dom.attr(id, &local_name!("href"))?));
    let found = authors.iter().filter_map(|author| {
        let url = in_json(author).or_else(|| in_links(author))?;
        Some(AuthorUrl { name: author.clone(), url })
    });
    found.collect()
}

/// Words of a text, without punctuation, in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The first URL with a label equal to a name, else with a label that contains it ("By Ada Holm").
fn best<T: Copy>(
    named: &[(T, Vec<String>)],
    name: &str,
    address: &dyn Fn(T) -> Option<String>,
) -> Option<String> {
    let name = words(name);
    let holds = |text: &[String]| {
        text.len() <= name.len() + MAX_AROUND && text.windows(name.len()).any(|words| words == name)
    };
    if name.is_empty() {
        return None;
    }
    let of = |accept: &dyn Fn(&[String]) -> bool| {
        named.iter().filter(|(_, text)| accept(text)).find_map(|(thing, _)| address(*thing))
    };
    of(&|text| text == name).or_else(|| of(&holds))
}

/// Maximum further words around a name.
const MAX_AROUND: usize = 5;
/// Characters of those words.
const MAX_AROUND_CHARS: usize = 24;

/// URL of a person's page, possibly from `@id`.
fn address_of(person: &Value) -> Option<&str> {
    let of = |key: &str| person.get(key).and_then(jsonld::text);
    let page = |id: &&str| id.starts_with("http") && !id.contains('#');
    of("url").or_else(|| of("sameAs")).or_else(|| of("@id").filter(page))
}

/// Object of the best included type as JSON: in JSON-LD, else in microdata. Else price and availability of a
/// product from meta elements.
pub(super) fn structured(s: &Sources<'_>) -> Option<String> {
    let of = |kind: &&str| s.nodes.iter().copied().find(|node| types(node).contains(kind));
    let object = INCLUDED_TYPES.iter().find_map(of).and_then(|node| trimmed(node, 0));
    let in_attributes = || trimmed(&microdata::object(s, &INCLUDED_TYPES)?, 0);
    let text = object.or_else(in_attributes).or_else(|| product(s))?.to_string();
    (text.len() <= MAX_BYTES).then_some(text)
}

/// Value without excluded and empty properties; texts with single spaces.
fn trimmed(value: &Value, depth: usize) -> Option<Value> {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !EXCLUDED_PROPERTIES.contains(&key.as_str()));
            let kept: Map<String, Value> =
                kept.filter_map(|(key, value)| Some((key.clone(), nested(value, depth)?))).collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(list) => {
            let list: Vec<Value> =
                list.iter().filter_map(|value| nested(value, depth)).take(MAX_ENTRIES).collect();
            (!list.is_empty()).then_some(Value::Array(list))
        }
        // ampersands of a URL begin its parameters
        Value::String(text) if text.contains("://") => non_empty(text).map(Value::String),
        Value::String(text) => plain(text).map(Value::String),
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) => Some(value.clone()),
    }
}

fn nested(value: &Value, depth: usize) -> Option<Value> {
    if depth >= MAX_DEPTH { None } else { trimmed(value, depth + 1) }
}

/// The product that OpenGraph's elements describe.
fn product(s: &Sources<'_>) -> Option<Value> {
    let meta = |names: &[&str]| s.metas.first(names).and_then(non_empty);
    let price = meta(&["product:price:amount", "og:price:amount"])?;
    let mut offer = json!({ "@type": "Offer", "price": price });
    if let Some(currency) = meta(&["product:price:currency", "og:price:currency"]) {
        offer["priceCurrency"] = Value::String(currency);
    }
    if let Some(availability) = meta(&["product:availability", "og:availability"]) {
        offer["availability"] = Value::String(availability);
    }
    Some(json!({ "@type": "Product", "offers": offer }))
}
