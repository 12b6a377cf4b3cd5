//! JSON as pages write it.

use serde_json::{Deserializer, Value};

/// Reads JSON of a page, also with faults that browsers and search engines pass over. These are a frame of comments or
/// CDATA, comments, line breaks in strings, and commas before a closing bracket. So are unknown escapes, and text behind
/// the value.
pub(crate) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let repaired = repaired(unframed(text));
        // several values without a list around them are read as a list
        let mut values: Vec<Value> =
            Deserializer::from_str(&repaired).into_iter().map_while(Result::ok).collect();
        if values.len() > 1 { Some(Value::Array(values)) } else { values.pop() }
    })
}

/// Returns true if a text of JSON may be invalid only for single surrogates. Scripts write one for a text that was cut
/// within a character.
pub(crate) fn has_surrogates(text: &str) -> bool {
    text.contains("\\ud") || text.contains("\\uD")
}

/// The value within `<!-- … -->` and `/*<![CDATA[*/ … /*]]>*/`, with what follows it.
fn unframed(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some(mark) =
        ["<!--", "<![CDATA[", "//<![CDATA[", "/*<![CDATA[*/"].iter().find(|m| text.starts_with(**m))
    {
        text = text[mark.len()..].trim_start();
    }
    text
}

/// Repairs faults outside of strings and in them.
fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped, mut from) = (false, false, 0);
    for (at, c) in text.char_indices() {
        if at < from {
            continue;
        }
        let rest = &text[at..];
        if let Some(length) = (!in_string).then(|| comment(rest)).flatten() {
            from = at + length;
            continue;
        }
        match c {
            _ if escaped => {
                escaped = false;
                if !is_escape(c) {
                    out.pop();
                }
            }
            '\\' if in_string => match surrogates(rest) {
                Some(escapes) => {
                    out.push_str(if escapes == PAIR { &rest[..PAIR] } else { r"\ufffd" });
                    from = at + escapes;
                    continue;
                }
                None => escaped = true,
            },
            '"' => in_string = !in_string,
            _ => {}
        }
        if !in_string && matches!(c, '}' | ']') {
            let len = out.trim_end().len();
            if out[..len].ends_with(',') {
                out.truncate(len - 1);
            }
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

/// Length of the comment with which a text begins.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\n', '\r']).unwrap_or(text.len()));
    }
    let rest = text.strip_prefix("/*")?;
    Some(rest.find("*/").map_or(text.len(), |end| end + "/**/".len()))
}

/// Returns true for a character that JSON knows behind a backslash.
const fn is_escape(c: char) -> bool {
    matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')
}

/// Bytes of `\ud83d` and of `\ud83d\ude00`.
const SINGLE: usize = 6;
const PAIR: usize = 2 * SINGLE;

/// Length of the surrogates, single or a pair, whose escapes are at the start of a text.
fn surrogates(text: &str) -> Option<usize> {
    let unit =
        |from: usize| u16::from_str_radix(text.get(from..from + SINGLE)?.strip_prefix(r"\u")?, 16).ok();
    match (unit(0)?, unit(SINGLE)) {
        (0xd800..=0xdbff, Some(0xdc00..=0xdfff)) => Some(PAIR),
        (0xd800..=0xdfff, _) => Some(SINGLE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn common_faults_are_repaired() {
        let want = json!({"a": "x y", "b": [1, 2], "u": "http://h.test/*"});
        let body = r#""a":"x y","b":[1,2],"u":"http://h.test/*""#;
        for text in [
            format!("{{{body}}}"),
            format!("<!-- {{{body}}} -->"),
            format!("<!--\n{{{body}}}\n//-->"),
            format!("//<![CDATA[\n{{{body}}}\n//]]>"),
            format!("/*<![CDATA[*/{{{body}}}/*]]>*/"),
            format!("<![CDATA[{{{body},}}]]>"),
            format!("/* one */ {{{body}, // two\n}} // three"),
            format!("{{// \"c\": 1,\r\n{body}}};"),
            format!("{{{}}}", body.replace("x y", "x\ny")),
            format!("{{{}}}", body.replace("2]", "2,\n]")),
        ] {
            assert_eq!(parse(&text).as_ref(), Some(&want), "{text}");
        }
        assert_eq!(parse("{\"a\":1}\n{\"b\":2}"), Some(json!([{"a": 1}, {"b": 2}])));
        for text in ["{nonsense", "", "//", "/*", "{\"a\":\"\\"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn escapes_that_json_does_not_know_are_read() {
        for (text, want) in [
            (r#"{"a":"it\'s \ud83d"}"#, "it's \u{fffd}"),
            (r#"{"a":"\ud83d\ude00 \ude00\ud83d\ud83d\ude00 \'"}"#, "\u{1f600} \u{fffd}\u{fffd}\u{1f600} '"),
            (r#"{"a":"\\ud83d \"b\" \'"}"#, "\\ud83d \"b\" '"),
        ] {
            assert_eq!(parse(text), Some(json!({"a": want})), "{text}");
        }
    }
}
