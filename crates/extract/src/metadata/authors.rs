//! Who wrote a page.

use super::{Sources, jsonld, non_empty};
use crate::{dom::Tag, text};
use html5ever::local_name;
use serde_json::Value;

/// Meta names that hold an author, best first.
const METAS: [&str; 12] = [
    "author",
    "article:author",
    "byl",
    "dc.creator",
    "dcterms.creator",
    "dc.contributor",
    "citation_author",
    "parsely-author",
    "sailthru.author",
    "article:author_name",
    "og:article:author",
    "twitter:data1",
];
const MAX_AUTHORS: usize = 20;

/// The authors' names: JSON-LD, then meta elements, then what the page marks as its author.
pub(super) fn find(s: &Sources<'_>, site: Option<&str>) -> Vec<String> {
    let mut names = from_json(s);
    if names.is_empty() {
        names = METAS[..11]
            .iter()
            .map(|name| s.metas.all(name).flat_map(split).filter_map(|n| clean(&n)).collect::<Vec<_>>())
            .find(|list| !list.is_empty())
            .unwrap_or_default();
    }
    if names.is_empty() {
        names = visible(s);
    }
    names.retain(|name| !site.is_some_and(|site| text::fold_lower(site) == text::fold_lower(name)));
    let mut out: Vec<String> = Vec::new();
    for name in names {
        if !out.iter().any(|n| n.eq_ignore_ascii_case(&name)) && out.len() < MAX_AUTHORS {
            out.push(name);
        }
    }
    out
}

fn from_json(s: &Sources<'_>) -> Vec<String> {
    let Some(author) = s.main.and_then(|main| main.get("author").or_else(|| main.get("creator"))) else {
        return Vec::new();
    };
    let list: Vec<&Value> = match author {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    };
    let mut names = Vec::new();
    for value in list {
        let value = s.json.by_id(&s.nodes, value).unwrap_or(value);
        let name = match value {
            Value::String(text) => Some(text.as_str()),
            Value::Object(map) => map.get("name").and_then(jsonld::text),
            _ => None,
        };
        names.extend(name.into_iter().flat_map(split).filter_map(|n| clean(&n)));
    }
    names
}

/// Several names in one string.
fn split(text: &str) -> Vec<String> {
    text.split([';', '|', '\n'])
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" & "))
        .flat_map(|part| part.split(", "))
        .filter_map(non_empty)
        .collect()
}

/// A name as it should stand in a record, or nothing if it is none.
fn clean(name: &str) -> Option<String> {
    let mut name = text::fold(name);
    for prefix in ["by ", "written by ", "posted by ", "author: ", "von ", "par ", "por ", "di "] {
        if name.len() > prefix.len()
            && name.is_char_boundary(prefix.len())
            && name[..prefix.len()].eq_ignore_ascii_case(prefix)
        {
            name = name[prefix.len()..].trim().to_owned();
        }
    }
    let name = name
        .trim_matches(|c: char| matches!(c, ',' | '.' | ':' | '-' | '–' | '|' | '@' | '"' | ' '))
        .to_owned();
    let words = name.split(' ').count();
    let bad = name.is_empty()
        || name.chars().count() > 60
        || words > 6
        || name.contains("://")
        || name.contains("www.")
        || name.contains('@')
        || !name.chars().any(char::is_alphabetic)
        || matches!(
            name.to_lowercase().as_str(),
            "admin"
                | "administrator"
                | "editor"
                | "staff"
                | "author"
                | "unknown"
                | "anonymous"
                | "guest"
                | "root"
                | "webmaster"
                | "user"
                | "null"
                | "undefined"
        );
    (!bad).then_some(name)
}

/// `rel=author`, `itemprop=author`, and classes that say byline or author.
fn visible(s: &Sources<'_>) -> Vec<String> {
    let page = s.page;
    let dom = &page.dom;
    let mut best: Option<(u8, Vec<String>)> = None;
    for id in page.body..dom.end(page.body) {
        if dom.tag(id) == Tag::Text || !page.is_visible(id) {
            continue;
        }
        let has = |name: html5ever::LocalName, value: &str| {
            dom.attr(id, &name)
                .is_some_and(|v| v.split_ascii_whitespace().any(|t| t.eq_ignore_ascii_case(value)))
        };
        let class = dom.attr(id, &local_name!("class")).unwrap_or_default().to_ascii_lowercase();
        let rank = if has(local_name!("itemprop"), "author") {
            0
        } else if has(local_name!("rel"), "author") {
            1
        } else if class
            .split(|c: char| !c.is_alphanumeric())
            .any(|t| matches!(t, "byline" | "author" | "authors"))
        {
            2
        } else {
            continue;
        };
        if best.as_ref().is_some_and(|(r, _)| *r <= rank) || page.amount(id).chars > 80 {
            continue;
        }
        let names: Vec<String> = split(&page.visible_text(id)).iter().filter_map(|n| clean(n)).collect();
        if let Some(first) = names.into_iter().next() {
            best = Some((rank, vec![first]));
        }
    }
    best.map(|(_, names)| names).unwrap_or_default()
}
