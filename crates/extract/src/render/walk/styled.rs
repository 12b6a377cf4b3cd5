//! Bold text and italics by style.

use super::{super::inline::Mark, Walk};
use crate::{dom::Tag, style};
use html5ever::local_name;
use std::ops::Range;

/// Minimum weight of bold text (CSS Fonts: `bold` is 700, browsers show 600 as bold).
const BOLD: u32 = 600;

impl Walk<'_> {
    /// Opens the marks of an element's style.
    pub(super) fn open_styled(&mut self, id: u32) {
        let Some(style) = self.page.dom.attr(id, &local_name!("style")) else { return };
        if is_bold(style) == Some(true) {
            self.inline.open(id, Some(Mark::Strong));
        }
        if is_italic(style) {
            self.inline.open(id, Some(Mark::Em));
        }
    }

    /// Returns true for an inline element that its style shows on lines of its own.
    pub(super) fn is_line_by_style(&self, id: u32, tag: Tag) -> bool {
        let is_text = matches!(
            tag,
            Tag::Span
                | Tag::Font
                | Tag::A
                | Tag::B
                | Tag::Strong
                | Tag::Em
                | Tag::I
                | Tag::Small
                | Tag::Label
        );
        is_text && self.page.dom.attr(id, &local_name!("style")).is_some_and(is_on_own_lines)
    }

    /// Returns true if the style of an element removes bold type, as editors do with the box around pasted
    /// text.
    pub(super) fn is_light(&self, id: u32) -> bool {
        self.page.dom.attr(id, &local_name!("style")).and_then(is_bold) == Some(false)
    }

    /// Returns true if a mark is written: an ordinal's letters (1st) and signs such as a trademark need no
    /// superscript.
    pub(super) fn is_marked(&self, mark: &Mark, range: &Range<usize>) -> bool {
        let text = &self.inline.text;
        let before = text[..range.start].chars().next_back();
        match mark {
            Mark::Sup => {
                let inner = &text[range.clone()];
                let ordinal =
                    before.is_some_and(|c| c.is_ascii_digit()) && inner.chars().all(char::is_alphabetic);
                !ordinal && inner.contains(char::is_alphanumeric)
            }
            _ => true,
        }
    }
}

/// Returns true for bold type, false for a lighter one, and `None` if the style sets no weight.
fn is_bold(style: &str) -> Option<bool> {
    if !style.contains("weight") {
        return None;
    }
    let weight = style::value(style, "font-weight")?;
    match weight.parse::<u32>() {
        Ok(weight) => Some(weight >= BOLD),
        Err(_) if ["bold", "bolder"].iter().any(|name| weight.eq_ignore_ascii_case(name)) => Some(true),
        Err(_) if ["normal", "lighter"].iter().any(|name| weight.eq_ignore_ascii_case(name)) => Some(false),
        Err(_) => None,
    }
}

/// Returns true for a style of a box with lines of its own (CSS Display 3, outer display type `block`). The text
/// flows around a box that floats, such as an initial.
fn is_on_own_lines(style: &str) -> bool {
    const OWN: [&str; 6] = ["block", "flex", "grid", "table", "list-item", "flow-root"];
    const OUT_OF_FLOW: [&str; 4] = ["left", "right", "absolute", "fixed"];
    let is = |property: &str, values: &[&str]| {
        style::value(style, property)
            .is_some_and(|value| values.iter().any(|one| value.eq_ignore_ascii_case(one)))
    };
    style.contains("display")
        && is("display", &OWN)
        && !is("float", &OUT_OF_FLOW)
        && !is("position", &OUT_OF_FLOW)
}

fn is_italic(style: &str) -> bool {
    style.contains("italic")
        && style::value(style, "font-style").is_some_and(|style| style.eq_ignore_ascii_case("italic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn font_weight_and_style_are_read_from_css() {
        for (style, want) in [
            ("font-weight: bold", Some(true)),
            ("color:red; FONT-weight :700 !important", Some(true)),
            ("font-weight:500", Some(false)),
            ("font-weight:normal", Some(false)),
            ("font-weight:inherit", None),
            ("-x-font-weight:700", None),
            ("color:red", None),
        ] {
            assert_eq!(is_bold(style), want, "{style}");
        }
        assert!(is_italic("font-style:italic") && !is_italic("font-family:italic"));
    }
}
