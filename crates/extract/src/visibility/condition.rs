//! Conditions of at-rules: `and`, `or`, `not` and parentheses around the tests of a browser.

/// Maximum parentheses and negations inside of each other; a deeper condition counts as not met.
const MAX_DEPTH: u8 = 16;

/// Text in lower case with single spaces and without comments, as [`holds`] reads it.
pub(super) fn normalised(condition: &str) -> String {
    let mut out = String::with_capacity(condition.len());
    let mut parts = condition.split("/*");
    let first = parts.next().unwrap_or_default();
    let behind = parts.map(|part| part.split_once("*/").map_or("", |(_, behind)| behind));
    for word in std::iter::once(first).chain(behind).flat_map(str::split_ascii_whitespace) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.make_ascii_lowercase();
    out
}

/// Evaluates a condition. `test` gets the words outside of parentheses, and the content of the innermost ones.
pub(super) fn holds(condition: &str, test: &impl Fn(&str) -> bool) -> bool {
    evaluate(condition, test, MAX_DEPTH).unwrap_or(false)
}

/// `None` for a condition that is too deep.
fn evaluate(condition: &str, test: &impl Fn(&str) -> bool, depth: u8) -> Option<bool> {
    let condition = condition.trim();
    let depth = depth.checked_sub(1)?;
    if let Some(inner) = negated(condition) {
        return Some(!evaluate(inner, test, depth)?);
    }
    for (word, decides) in [(" or ", true), (" and ", false)] {
        let parts = parts(condition, word);
        if parts.len() > 1 {
            for part in parts {
                if evaluate(part, test, depth)? == decides {
                    return Some(decides);
                }
            }
            return Some(!decides);
        }
    }
    match condition.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::trim) {
        Some(inner) if inner.starts_with('(') || negated(inner).is_some() => evaluate(inner, test, depth),
        Some(inner) => Some(test(inner)),
        None => Some(test(condition)),
    }
}

/// The condition behind `not`.
pub(super) fn negated(condition: &str) -> Option<&str> {
    condition.strip_prefix("not").filter(|rest| rest.starts_with([' ', '(']))
}

/// Parts of a condition between words outside of parentheses.
fn parts<'a>(condition: &'a str, word: &str) -> Vec<&'a str> {
    let (mut depth, mut start) = (0u32, 0);
    let mut parts = Vec::new();
    for (at, byte) in condition.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && at >= start && condition[at..].starts_with(word) => {
                parts.push(&condition[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&condition[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_evaluated_inside_of_parentheses() {
        for (condition, expected) in [
            ("a", true),
            ("(a)", true),
            ("not (a)", false),
            ("(not (a))", false),
            ("(a) and (not (b))", true),
            ("(b) and ((a) or (b))", false),
            ("(b) or ((a) and (not b))", true),
            ("not ((a) and (b))", true),
            ("(A)\n  AND\t(not(b))", true),
            ("/* b */ a /* and (b) */", true),
            ("a/**/and/**/(a)", true),
            ("a() and (a: (b and b))", false),
        ] {
            assert_eq!(holds(&normalised(condition), &|text| text == "a"), expected, "{condition}");
        }
    }

    #[test]
    fn deep_conditions_end() {
        let deep = "(".repeat(100_000) + "a" + &")".repeat(100_000);
        assert!(!holds(&deep, &|_| true));
        assert!(!holds(&format!("(b) or {}", "not ".repeat(100_001)), &|_| false));
    }
}
