//! JSON-LD about the page itself.

use crate::{dom::Tag, json, page::Page};
use html5ever::local_name;
use serde_json::Value;

/// Longer scripts are not parsed.
const MAX_SCRIPT: usize = 2 << 20;
/// Maximum objects that are read.
const MAX_NODES: usize = 2000;

/// All objects of the page's JSON-LD, with flattened graphs and lists, outermost first.
#[derive(Debug, Default)]
pub(crate) struct JsonLd {
    roots: Vec<Value>,
}

impl JsonLd {
    /// Parses the page's `application/ld+json` scripts; skips invalid ones.
    pub(crate) fn of(page: &Page<'_>) -> Self {
        let dom = &page.dom;
        let roots = dom
            .find_all(0..dom.len(), Tag::Script)
            .filter(|id| match dom.attr(*id, &local_name!("type")) {
                Some(kind) => kind.trim().to_ascii_lowercase().starts_with("application/ld+json"),
                // Some pages omit the type; their script is a single object with a context.
                None => {
                    let mut children = dom.children(*id);
                    children.next().is_some_and(|text| is_context(dom.text(text)))
                }
            })
            .filter_map(|id| parse(&dom.raw_text(id)))
            .collect();
        Self { roots }
    }

    /// Values of the scripts, one each.
    pub(super) fn roots(&self) -> &[Value] {
        &self.roots
    }

    /// Every independent object: at the top, in a list, in a graph, or as the main entity of another.
    pub(crate) fn nodes(&self) -> Vec<&Value> {
        let mut out = Vec::new();
        let mut stack: Vec<&Value> = self.roots.iter().rev().collect();
        while let Some(value) = stack.pop() {
            match value {
                Value::Array(list) => stack.extend(list.iter().rev()),
                Value::Object(map) => {
                    if out.len() >= MAX_NODES {
                        break;
                    }
                    out.push(value);
                    for key in ["mainEntity", "mainEntityOfPage", "@graph"] {
                        if let Some(inner) = map.get(key).filter(|v| v.is_array() || v.is_object()) {
                            stack.push(inner);
                        }
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// Object that another one references by `@id`.
    pub(crate) fn by_id<'a>(&self, nodes: &[&'a Value], reference: &Value) -> Option<&'a Value> {
        let id = reference.get("@id")?.as_str()?;
        nodes.iter().copied().find(|node| {
            node.get("@id").and_then(Value::as_str) == Some(id)
                && node.as_object().is_some_and(|map| map.len() > 1)
        })
    }
}

/// Returns true if the script begins with the context of a JSON-LD object.
fn is_context(script: &str) -> bool {
    let start = crate::text::head(script.trim_start(), 80);
    start.starts_with('{') && start.contains("\"@context\"") && start.contains("schema.org")
}

/// The `@type`s of an object, without namespaces.
pub(crate) fn types(node: &Value) -> Vec<&str> {
    let short = |text: &'_ str| -> usize { text.rfind(['/', ':']).map_or(0, |at| at + 1) };
    match node.get("@type") {
        Some(Value::String(text)) => vec![&text[short(text)..]],
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).map(|text| &text[short(text)..]).collect()
        }
        _ => Vec::new(),
    }
}

/// Text of a string, of the first entry of a list, or of an object's `name`, `@value` or `url`.
pub(crate) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.trim()).filter(|t| !t.is_empty()),
        Value::Array(list) => list.iter().find_map(text_shallow),
        _ => text_shallow(value),
    }
}

fn text_shallow(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.trim()).filter(|t| !t.is_empty()),
        Value::Object(map) => ["name", "@value", "url", "contentUrl"]
            .iter()
            .find_map(|key| map.get(*key)?.as_str())
            .map(str::trim)
            .filter(|t| !t.is_empty()),
        _ => None,
    }
}

fn parse(script: &str) -> Option<Value> {
    let text = script.trim();
    if text.is_empty() || text.len() > MAX_SCRIPT {
        return None;
    }
    json::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_ld_types_lose_their_namespace() {
        let value = serde_json::json!({"@type": ["https://schema.org/Article", "schema:Thing", "Report"]});
        assert_eq!(types(&value), ["Article", "Thing", "Report"]);
    }
}
