//! Positions and notations of data for scripts in a page.

use crate::{
    dom::{Dom, Tag},
    json,
};
use html5ever::local_name;
use serde_json::{Map, Value};

/// Maximum bytes of data that are parsed.
const MAX_DATA: usize = 8 << 20;
/// Minimum bytes of data in an attribute.
const MIN_ATTRIBUTE: usize = 200;
/// Maximum assignments at the start of a script.
const MAX_ASSIGNMENTS: usize = 16;

/// A piece of data.
pub(super) struct Data {
    pub(super) value: Value,
    /// Length of its notation.
    pub(super) bytes: usize,
    /// True if a script assigns it to a name.
    pub(super) assigned: bool,
}

/// Data of an element: a script of JSON, a script that begins by assigning data, or an attribute.
pub(super) fn of(dom: &Dom, id: u32) -> Vec<Data> {
    match dom.tag(id) {
        Tag::Text => Vec::new(),
        Tag::Script => {
            let kind = dom.attr(id, &local_name!("type")).unwrap_or_default();
            let text = dom.raw_text(id);
            if text.len() > MAX_DATA {
                return Vec::new();
            }
            match kind.trim().to_ascii_lowercase().as_str() {
                "application/json" => json(&text).into_iter().collect(),
                "" | "text/javascript" | "application/javascript" => assigned(&text),
                _ => Vec::new(),
            }
        }
        _ => dom
            .attrs(id)
            .filter(|(name, value)| {
                matches!(&***name, "data-preloaded" | "data-page" | "data-state" | "data-initial-state")
                    && (MIN_ATTRIBUTE..=MAX_DATA).contains(&value.len())
            })
            .filter_map(|(_, value)| json(value))
            .collect(),
    }
}

fn json(text: &str) -> Option<Data> {
    let value = serde_json::from_str(text).ok();
    let value = value.or_else(|| json::has_surrogates(text).then(|| json::parse(text)).flatten())?;
    Some(Data { value: unflattened(&value, text.len()).unwrap_or(value), bytes: text.len(), assigned: false })
}

/// Assignments at the start of a script: `window.__INITIAL_STATE__ = {…};`, possibly several, also as
/// `JSON.parse("…")`. Other code ends the search.
fn assigned(script: &str) -> Vec<Data> {
    let mut found = Vec::new();
    let mut rest = script;
    while found.len() < MAX_ASSIGNMENTS {
        let Some(right) = after_name(rest) else { break };
        let Some((value, length)) = parsed(right) else { break };
        found.push(Data { value, bytes: length, assigned: true });
        rest = right.get(length..).unwrap_or_default().trim_start_matches([';', ')', ',']);
    }
    found
}

/// Text after `name =` at the start of a script.
fn after_name(script: &str) -> Option<&str> {
    let mut left = script.trim_start();
    for keyword in ["var ", "let ", "const "] {
        left = left.strip_prefix(keyword).unwrap_or(left);
    }
    let (name, right) = left.split_once('=')?;
    let is_name =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '[' | ']' | '"' | '\'');
    let name = name.trim();
    (!name.is_empty() && name.chars().all(is_name)).then(|| right.trim_start())
}

/// Value at the start of a text, and its length.
fn parsed(text: &str) -> Option<(Value, usize)> {
    if let Some(call) = text.strip_prefix("JSON.parse(") {
        let (literal, length) = literal(call)?;
        return Some((serde_json::from_str(&literal).ok()?, text.len() - call.len() + length));
    }
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

/// JavaScript string at the start of a text, and its length.
fn literal(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((out, at + 1)),
            '\\' => match chars.next()?.1 {
                c @ ('\\' | '"' | '\'' | '/') => out.push(c),
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                // templates write quotes and braces this way
                kind @ ('x' | 'u') => {
                    let digits = if kind == 'x' { 2 } else { 4 };
                    let code = text.get(at + 2..at + 2 + digits);
                    let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
                    let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
                    match code.and_then(char::from_u32) {
                        Some(c) => {
                            out.push(c);
                            chars.nth(digits - 1);
                        }
                        // half of a pair, which JSON knows as well
                        None => out.extend(['\\', kind]),
                    }
                }
                // other escapes are those of JSON, which is read next
                c => out.extend(['\\', c]),
            },
            c => out.push(c),
        }
    }
    None
}

/// Unflattens devalue's notation (Nuxt's payload): a list in which objects and lists hold indexes of the list
/// instead of values. `None` for other data. Only the texts of each object are restored, so the result is at
/// most as long as the notation.
fn unflattened(value: &Value, bytes: usize) -> Option<Value> {
    let list = value.as_array().filter(|list| list.len() > 1)?;
    let is_place = |value: &Value| value.as_u64().is_some_and(|place| place < list.len() as u64);
    let first = match list.first()? {
        Value::Object(map) => !map.is_empty() && map.values().all(is_place),
        Value::Array(tagged) => matches!(tagged.as_slice(), [Value::String(_), place] if is_place(place)),
        _ => false,
    };
    if !first {
        return None;
    }
    let mut left = bytes;
    let mut text_at = |place: &Value| {
        let text = list.get(usize::try_from(place.as_u64()?).ok()?)?.as_str()?;
        left = left.checked_sub(text.len())?;
        Some(Value::from(text))
    };
    let objects = list.iter().filter_map(Value::as_object).map(|map| {
        map.iter().filter_map(|(key, place)| Some((key.clone(), text_at(place)?))).collect::<Map<_, _>>()
    });
    Some(objects.filter(|map| !map.is_empty()).map(Value::Object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(script: &str) -> Vec<Value> {
        assigned(script).into_iter().map(|data| data.value).collect()
    }

    #[test]
    fn assignments_at_the_start_of_a_script_are_read() {
        for (script, expected) in [
            (r#"window.__STATE__ = {"a":[1,2]};start()"#, vec![json!({"a": [1, 2]})]),
            (r#"var a={"x":1};window["b"]=[2];c()"#, vec![json!({"x": 1}), json!([2])]),
            (
                r#"window.s=JSON.parse("{\"t\":\"a \\\"b\\\" \u00e4\\n\"}");"#,
                vec![json!({"t": "a \"b\" ä\n"})],
            ),
            (r#"self.s = JSON.parse('{"t":"it\'s"}')"#, vec![json!({"t": "it's"})]),
            (
                r#"a=JSON.parse("\u007B\u0022t\u0022: \u0022\u003Cp\u003E\ud83d\ude00\u0022}")"#,
                vec![json!({"t": "<p>😀"})],
            ),
            (r"a=JSON.parse('\x7b\x22t\x22:\x22a\\n\x22}')", vec![json!({"t": "a\n"})]),
            (r#"a=JSON.parse('{\r\n\t"t": "a\\r\\nb"\r\n}')"#, vec![json!({"t": "a\r\nb"})]),
            (r"a=JSON.parse('\x7b\xz')", vec![]),
            (r"a=JSON.parse('\x7b\x22t\x22:\x22\u+041\x22}')", vec![]),
            (r#"window.n=(function(a){return {a}})("x")"#, vec![]),
            (r#"if (a == {"b":1}) {}"#, vec![]),
            ("window.s={\"open\":", vec![]),
            ("window.s=JSON.parse(\"{", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(values(script), expected, "{script}");
        }
    }

    #[test]
    fn flat_payload_is_unflattened() {
        let flat = json!([["ShallowReactive", 1], {"data": 2}, {"story": 3}, {"title": 4, "body": 5, "self": 3}, "T", "B"]);
        let found = unflattened(&flat, flat.to_string().len());
        assert_eq!(found, Some(json!([{"title": "T", "body": "B"}])));
        for other in
            [json!([1, 2]), json!([{"a": "b"}, 1]), json!({"a": 0}), json!([{}, 1]), json!([{"a": 7}, 1])]
        {
            assert_eq!(unflattened(&other, 100), None, "{other}");
        }
    }

    #[test]
    fn repeated_references_do_not_multiply_text() {
        let mut list = vec![json!({"a": 1}), json!("x".repeat(1000))];
        list.extend((0..1000).map(|_| json!({"text": 1})));
        let flat = Value::from(list);
        let bytes = flat.to_string().len();
        let found = unflattened(&flat, bytes).map(|value| value.to_string().len());
        assert!(found.is_some_and(|length| length < 2 * bytes), "{found:?} of {bytes}");
    }
}
