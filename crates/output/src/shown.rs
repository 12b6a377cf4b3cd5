//! Escaping of untrusted text for a terminal, so that it contains no control sequence.

use std::{borrow::Cow, fmt::Write as _};

/// Returns true for a character that commands a terminal or changes the order of the text around it. These
/// are controls, line separators, embeddings, overrides and isolates.
const fn is_command(c: char) -> bool {
    c.is_ascii_control()
        || matches!(c, '\u{80}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text of several lines with escapes (`\u{1b}`) in place of controls; line feeds and tabs stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_command(c) && !matches!(c, '\n' | '\t'), |c, out| out.extend(c.escape_default()))
}

/// Text of one line with escapes in place of controls, line feeds among them.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_command, |c, out| out.extend(c.escape_default()))
}

/// Replaces control characters in the strings of a JSON text by escapes.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let is_held = |c| is_command(c) && !matches!(c, '\n' | '\r' | '\t');
    escaped(text, is_held, |c, out| {
        // writing to a string cannot fail
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_escaped(c) {
            escape(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_text_has_no_terminal_commands() {
        let hostile = "a\u{1b}[2Jb\u{9b}31m\rc\u{7f}\u{202e}d\u{2066}\u{2028}\u{8}";
        for shown in [lines(hostile), line(hostile), json(hostile)] {
            assert!(shown.replace('\r', "").chars().all(|c| !is_command(c)), "{shown:?}");
        }
        assert_eq!(lines("x\n\ty\u{1b}"), "x\n\ty\\u{1b}");
        assert_eq!(line("x\n\ty\r"), "x\\n\\ty\\r");
        for text in ["", "plain", "Grüße, 世界 שלום \u{200f}"] {
            assert!(matches!(lines(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn shown_json_keeps_its_value() {
        let value = serde_json::json!({"a": "x\u{1b}\u{9b}\u{7f}\u{202e}\n", "b\u{85}": [1]});
        for text in [value.to_string(), format!("{value:#}")] {
            let shown = json(&text);
            assert!(shown.chars().all(|c| c == '\n' || !is_command(c)), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
