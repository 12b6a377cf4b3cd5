//! Conditions of style sheets, for a screen of 1,280 by 720 pixels.

use super::condition;

const WIDTH: f32 = 1280.0;
const HEIGHT: f32 = 720.0;

/// Widths of other screens: a phone, a tablet, a large one.
const OTHER_WIDTHS: [f32; 3] = [390.0, 820.0, 1920.0];

/// Returns true if one query of a list matches. An empty list matches.
pub(super) fn matches(list: &str) -> bool {
    matches_at(list, WIDTH)
}

/// Returns true if a list of queries matches on a screen of another width.
pub(super) fn matches_elsewhere(list: &str) -> bool {
    list.contains("width") && OTHER_WIDTHS.iter().any(|width| matches_at(list, *width))
}

/// Returns true if a container query matches for each possible width.
pub(super) fn matches_everywhere(query: &str) -> bool {
    query.starts_with('(') && OTHER_WIDTHS.iter().chain(&[WIDTH]).all(|width| matches_at(query, *width))
}

fn matches_at(list: &str, width: f32) -> bool {
    let list = condition::normalised(list);
    list.is_empty() || list.split(',').any(|one| query(one, width))
}

/// Returns true if a browser supports the condition of an `@supports` rule.
pub(super) fn is_supported(condition: &str) -> bool {
    let is_known = |test: &str| !["-ms-", "-moz-", "-o-"].iter().any(|prefix| test.contains(prefix));
    condition::holds(&condition::normalised(condition), &is_known)
}

fn query(query: &str, width: f32) -> bool {
    let query = query.trim();
    // `not` before a type negates the whole query
    let (is_negated, query) = match query.strip_prefix("not ").filter(|rest| !rest.starts_with('(')) {
        Some(rest) => (true, rest),
        None => (false, query.strip_prefix("only ").unwrap_or(query)),
    };
    let test = |term: &str| matches!(term, "all" | "screen") || feature(term, width);
    condition::holds(query, &test) != is_negated
}

fn feature(feature: &str, width: f32) -> bool {
    if let Some((name, value)) = feature.split_once(':') {
        return named(name.trim(), value.trim(), width);
    }
    if feature.contains(['<', '>']) {
        return range(feature, width);
    }
    matches!(
        feature,
        "width" | "height" | "color" | "hover" | "any-hover" | "pointer" | "any-pointer" | "scripting"
    )
}

fn named(name: &str, value: &str, width: f32) -> bool {
    let length = || length(value);
    match name {
        "min-width" | "min-device-width" => length().is_some_and(|least| width >= least),
        "max-width" | "max-device-width" => length().is_some_and(|most| width <= most),
        "min-height" | "min-device-height" => length().is_some_and(|least| HEIGHT >= least),
        "max-height" | "max-device-height" => length().is_some_and(|most| HEIGHT <= most),
        "width" | "device-width" => length() == Some(width),
        "height" | "device-height" => length() == Some(HEIGHT),
        "orientation" => value == "landscape",
        "prefers-color-scheme" => value == "light",
        "prefers-reduced-motion" | "prefers-contrast" => value == "no-preference",
        "hover" | "any-hover" => value == "hover",
        "pointer" | "any-pointer" => value == "fine",
        "scripting" => value == "enabled",
        "display-mode" => value == "browser",
        "forced-colors" | "inverted-colors" => value == "none",
        "min-resolution" | "-webkit-min-device-pixel-ratio" => number(value)
            .is_some_and(|(least, unit)| if unit == "dpi" { least <= 96.0 } else { least <= 1.0 }),
        "max-resolution" | "-webkit-max-device-pixel-ratio" => {
            number(value).is_some_and(|(most, unit)| if unit == "dpi" { most >= 96.0 } else { most >= 1.0 })
        }
        _ => false,
    }
}

/// `width >= 600px`, `400px <= width < 800px`.
fn range(feature: &str, width: f32) -> bool {
    let mut parts: Vec<(&str, f32)> = Vec::new();
    let mut sign = "";
    let mut rest = feature;
    loop {
        let end = rest.find(['<', '>']).unwrap_or(rest.len());
        let (operand, behind) = rest.split_at(end);
        let value = match operand.trim() {
            "width" | "device-width" => Some(width),
            "height" | "device-height" => Some(HEIGHT),
            other => length(other),
        };
        let Some(value) = value else { return false };
        parts.push((sign, value));
        if behind.is_empty() {
            break;
        }
        let sign_end = behind.find(|c| !matches!(c, '<' | '>' | '=')).unwrap_or(behind.len());
        (sign, rest) = behind.split_at(sign_end);
    }
    parts.windows(2).all(|pair| {
        let (left, right) = (pair[0].1, pair[1].1);
        match pair[1].0 {
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            ">=" => left >= right,
            _ => false,
        }
    })
}

fn number(text: &str) -> Option<(f32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

fn length(text: &str) -> Option<f32> {
    let (value, unit) = number(text)?;
    match unit {
        "px" | "" => Some(value),
        "em" | "rem" => Some(value * 16.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_queries_match_a_wide_screen() {
        for (list, holds) in [
            ("", true),
            ("all", true),
            ("print", false),
            ("print, screen", true),
            ("not print", true),
            ("not all", false),
            ("only screen and (min-width: 600px)", true),
            ("screen and (max-width:400px)", false),
            ("(max-width: 80em)", true),
            ("(min-width:600px) and (max-width:1199px)", false),
            ("(width >= 600px)", true),
            ("(400px <= width < 800px)", false),
            ("(prefers-color-scheme: dark)", false),
            ("(orientation: landscape)", true),
            ("(-webkit-min-device-pixel-ratio:0)", true),
            ("(min-resolution: 2dppx)", false),
            ("(scripting: none)", false),
            ("(hover)", true),
            ("(unknown: 1)", false),
            ("not screen and (min-width: 2000px)", true),
            ("screen\nand (min-width: 600px)", true),
            ("(min-width: 2000px) and ((hover) or (pointer: fine))", false),
            ("(not (hover)) or (min-width: 600px)", true),
        ] {
            assert_eq!(matches(list), holds, "{list}");
        }
        assert!(matches_elsewhere("(max-width: 600px)") && !matches_elsewhere("(max-width: 1px)"));
        assert!(!matches_elsewhere("print") && !matches_elsewhere("print and (max-width: 600px)"));
        assert!(matches_everywhere("(min-width: 1px)") && !matches_everywhere("(min-width: 600px)"));
        assert!(is_supported("(display: grid)") && is_supported("selector(:has(a))"));
        assert!(!is_supported("not (display: grid)") && !is_supported("(-ms-ime-align: auto)"));
        assert!(!is_supported("(not (display: grid))"));
        assert!(is_supported("(display: grid) and (not (-ms-ime-align: auto))"));
        assert!(is_supported("(-moz-appearance: none) or (appearance: none)"));
    }
}
