//! Values that a browser ignores: the declaration before them stays effective.

use super::property::Property;
use cssparser::{Parser, Token};

/// Words that each property takes.
const GLOBAL: [&str; 5] = ["inherit", "initial", "unset", "revert", "revert-layer"];
const VISIBILITIES: [&str; 3] = ["visible", "hidden", "collapse"];
const CONTENTS: [&str; 3] = ["visible", "auto", "hidden"];
const FONT_SIZES: [&str; 11] = [
    "xx-small",
    "x-small",
    "small",
    "medium",
    "large",
    "x-large",
    "xx-large",
    "xxx-large",
    "smaller",
    "larger",
    "math",
];
const DISPLAYS: [&str; 30] = [
    "none",
    "block",
    "inline",
    "inline-block",
    "flex",
    "inline-flex",
    "grid",
    "inline-grid",
    "contents",
    "flow",
    "flow-root",
    "list-item",
    "table",
    "inline-table",
    "table-row",
    "table-cell",
    "table-column",
    "table-caption",
    "table-row-group",
    "table-header-group",
    "table-footer-group",
    "table-column-group",
    "ruby",
    "ruby-text",
    "ruby-base",
    "math",
    "-webkit-box",
    "-webkit-inline-box",
    "-webkit-flex",
    "-webkit-inline-flex",
];

impl Property {
    /// Returns true for a value without `!important` that no browser takes. Only properties that can hide by a single
    /// word or number are known.
    pub(super) fn ignores(self, value: &str) -> bool {
        let (words, is_number): (&[&str], bool) = match self {
            Self::Display => (&DISPLAYS, false),
            Self::Visibility => (&VISIBILITIES, false),
            Self::Contents => (&CONTENTS, false),
            Self::Opacity => (&[], true),
            Self::FontSize => (&FONT_SIZES, true),
            _ => return false,
        };
        // functions are evaluated elsewhere, and variables may have any value
        if words.contains(&value) || value.contains('(') {
            return false;
        }
        let mut input = Parser::new(value);
        let mut count = 0;
        while let Ok(token) = input.next() {
            let is_taken = match token {
                Token::Ident(word) => {
                    words.iter().chain(&GLOBAL).any(|known| known.eq_ignore_ascii_case(word))
                }
                Token::Number { .. } | Token::Percentage { .. } | Token::Dimension { .. } => is_number,
                _ => false,
            };
            if !is_taken {
                return true;
            }
            count += 1;
        }
        count == 0 || count > 1 && self != Self::Display
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_browser_takes_are_ignored() {
        for (property, value, expected) in [
            (Property::Display, "none", false),
            (Property::Display, "Inline Flex", false),
            (Property::Display, "var(--x)", false),
            (Property::Display, "INHERIT", false),
            (Property::Display, "foo", true),
            (Property::Display, "-ms-grid", true),
            (Property::Display, r"none\9", true),
            (Property::Display, r"n\6fne", false),
            (Property::Display, "block !ie", true),
            (Property::Display, "", true),
            (Property::Visibility, "shown", true),
            (Property::Opacity, ".5", false),
            (Property::Opacity, "1 1", true),
            (Property::Opacity, "full", true),
            (Property::FontSize, "1.2em", false),
            (Property::FontSize, "huge", true),
            (Property::FontSize, "calc(1px + 1em)", false),
            (Property::Width, "foo", false),
        ] {
            assert_eq!(property.ignores(value), expected, "{value}");
        }
    }
}
