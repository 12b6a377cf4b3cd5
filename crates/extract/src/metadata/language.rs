//! Declared language of a page, and language tags.

use super::{Sources, jsonld};
use crate::dom::Tag;
use html5ever::local_name;

/// Declared language (heuristics reference §8): from the html element, `og:locale`, JSON-LD, meta elements;
/// else none.
pub(super) fn declared(s: &Sources<'_>) -> Option<String> {
    let dom = &s.page.dom;
    let html = dom.find(0..dom.len().min(16), Tag::Html);
    let attribute = html.and_then(|id| {
        dom.attr(id, &local_name!("lang")).or_else(|| {
            dom.attrs(id).find(|(name, _)| matches!(&***name, "xml:lang" | "lang")).map(|(_, value)| value)
        })
    });
    let in_json = || s.nodes.iter().find_map(|node| jsonld::text(node.get("inLanguage")?));
    attribute
        .and_then(tag_of)
        .or_else(|| s.metas.get("og:locale").and_then(primary_of))
        .or_else(|| in_json().and_then(tag_of))
        .or_else(|| {
            s.metas
                .first(&["content-language", "language", "dc.language", "dcterms.language"])
                .and_then(tag_of)
        })
}

/// `en_US` becomes `en` (§8, step 2).
fn primary_of(locale: &str) -> Option<String> {
    tag_of(locale.split(['_', '-']).next()?)
}

/// Language tag with hyphens, in the case that BCP 47 recommends; the first of a list. None for other text.
fn tag_of(text: &str) -> Option<String> {
    let tag = text
        .split([',', ';', ' '])
        .map(str::trim)
        .find(|t| !t.is_empty())?
        .to_ascii_lowercase()
        .replace('_', "-");
    let primary = tag.split('-').next()?;
    let fine = (2..=3).contains(&primary.len())
        && !NO_LANGUAGE.contains(&primary)
        && primary.bytes().all(|b| b.is_ascii_lowercase())
        && tag.len() <= 35
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    fine.then(|| in_case(&tag))
}

/// Tags that name no language: undetermined, several, none, and one without a code.
const NO_LANGUAGE: [&str; 4] = ["und", "mul", "zxx", "mis"];

/// Tag in the case of RFC 5646 §2.1.1: regions in capitals (`en-US`), scripts with one capital (`zh-Hant`),
/// the rest in lower case.
pub(super) fn in_case(tag: &str) -> String {
    let mut out = String::with_capacity(tag.len());
    let mut lower = false;
    for (at, part) in tag.split('-').enumerate() {
        if at > 0 {
            out.push('-');
        }
        let start = out.len();
        out.push_str(part);
        out[start..].make_ascii_lowercase();
        match part.len() {
            // After a singleton (`x`, `u`) no part is a region or a script.
            1 => lower = true,
            2 if at > 0 && !lower => out[start..].make_ascii_uppercase(),
            4 if at > 0 && !lower => {
                let first = out[start..].chars().next().map_or(1, char::len_utf8);
                out[start..start + first].make_ascii_uppercase();
            }
            _ => {}
        }
    }
    out
}
