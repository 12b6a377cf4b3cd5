//! Positions in a style sheet: braces and semicolons outside of strings, comments and parentheses.

use memchr::memmem::Finder;
use std::sync::LazyLock;

/// A set of bytes.
type Bytes = [bool; 256];

/// Bytes that end a declaration, or that hide such bytes.
const STOP_BYTES: Bytes = set(b"{};\"'\\/(");
/// The same without semicolons.
const BRACES: Bytes = set(b"{}\"'\\/(");
/// The same in parentheses.
const NESTED: Bytes = set(b"()\"'\\/{}");

const fn set(bytes: &[u8]) -> Bytes {
    let mut set = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        set[bytes[at] as usize] = true;
        at += 1;
    }
    set
}

/// Position of the next byte of a set, searched in steps of four bytes.
fn next_of(set: &Bytes, css: &[u8], at: usize) -> Option<usize> {
    let rest = css.get(at..)?;
    let is_one = |byte: &u8| set[usize::from(*byte)];
    let (fours, _) = rest.as_chunks::<4>();
    let has_none = |four: &&[u8; 4]| !four.iter().fold(false, |any, byte| any | is_one(byte));
    let passed = 4 * fours.iter().take_while(has_none).count();
    rest[passed..].iter().position(is_one).map(|step| at + passed + step)
}

/// The next brace or semicolon outside of strings, comments and parentheses; the end counts as a semicolon.
pub(super) fn next_stop(css: &[u8], at: usize) -> (usize, u8) {
    next_in(&STOP_BYTES, css, at)
}

fn next_in(stops: &Bytes, css: &[u8], mut at: usize) -> (usize, u8) {
    while let Some(next) = next_of(stops, css, at) {
        at = next;
        match css[at] {
            byte @ (b'{' | b'}' | b';') => return (at, byte),
            b'(' => at = behind_parenthesis(css, at),
            _ => at = behind_token(css, at),
        }
    }
    (css.len(), b';')
}

/// Position after a string, a comment, or an escaped character.
fn behind_token(css: &[u8], at: usize) -> usize {
    let end = match css[at] {
        quote @ (b'"' | b'\'') => {
            let mut end = at + 1;
            loop {
                match memchr::memchr3(quote, b'\\', b'\n', &css[end.min(css.len())..]) {
                    None => break css.len(),
                    Some(step) if css[end + step] == b'\\' => end += step + 2,
                    Some(step) => break end + step + 1,
                }
            }
        }
        b'/' if css.get(at + 1) == Some(&b'*') => {
            memchr::memmem::find(&css[at + 2..], b"*/").map_or(css.len(), |step| at + 2 + step + 2)
        }
        b'\\' => at + 2,
        _ => at + 1,
    };
    end.min(css.len())
}

/// Position after a parenthesised part.
fn behind_parenthesis(css: &[u8], at: usize) -> usize {
    let is_address = at >= 3 && css[at - 3..at].eq_ignore_ascii_case(b"url");
    let mut depth = 0;
    let mut at = at;
    while let Some(next) = next_of(&NESTED, css, at) {
        at = next;
        match css[at] {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            // a URL without quotes may contain them, and two slashes
            b'"' | b'\'' | b'/' if is_address && css.get(at.wrapping_sub(1)) != Some(&b'(') => {}
            b'"' | b'\'' | b'\\' | b'/' => {
                at = behind_token(css, at);
                continue;
            }
            // no value contains these: the parenthesis was not closed
            b'{' | b'}' if !is_address => return at,
            _ => {}
        }
        at += 1;
    }
    css.len()
}

/// Position after the brace that closes a block without rules and variables.
pub(super) fn behind_plain_block(css: &[u8], at: usize) -> Option<usize> {
    static DASHES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("--"));
    let (end, byte) = next_in(&BRACES, css, at);
    // the names of used variables are in parentheses
    let is_set = |dashes: usize| {
        let before = css[(at + dashes).saturating_sub(1)];
        !before.is_ascii_alphanumeric() && !matches!(before, b'(' | b'-' | b'_')
    };
    (byte == b'}' && !DASHES.find_iter(&css[at..end]).any(is_set)).then_some(end + 1)
}

/// Position after the brace that closes a block.
pub(super) fn behind_block(css: &[u8], mut at: usize) -> usize {
    let mut depth = 1;
    while at < css.len() {
        let (stop, byte) = next_stop(css, at);
        at = stop + 1;
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    css.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_skips_plain_declaration_blocks() {
        for (block, is_plain) in [
            ("color:red}x", true),
            ("color:var(--a--b);width:calc(1px + var(--c))}x", true),
            ("content:'}';background:url(a;{)}x", true),
            ("--a:none}x", false),
            ("color:red;--a:none}x", false),
            ("color:red;/**/--a:none}x", false),
            ("color:red;&.b{color:red}}x", false),
            ("color:red", false),
        ] {
            let css = format!("{{{block}");
            let behind = behind_plain_block(css.as_bytes(), 1);
            assert_eq!(behind, is_plain.then(|| css.len() - 1), "{block}");
        }
    }

    #[test]
    fn next_stop_ignores_parentheses_and_strings() {
        for (css, place) in [
            ("a:b;", 3),
            ("abcdefgh:b}", 10),
            ("a:url(b;'c)}", 11),
            ("a:f(b;(c;)d)}", 12),
            ("a:';\\';'}", 8),
            ("a:f(b}", 5),
            ("a:f(b", 5),
            ("/*;*/a;", 6),
        ] {
            assert_eq!(next_stop(css.as_bytes(), 0).0, place, "{css}");
        }
    }
}
