//! Exact duplicates within a crawl.

use crate::blocks::strip_end;
use crawl_model::ContentHash;

/// Characters from which on a page is compared at all (heuristics reference §9): shorter ones, an error message or an
/// empty category, are alike without being the same page.
pub const MIN_CHARS: usize = 100;

/// What decides that two pages have the same content: the hash of the whole of it. `None` below [`MIN_CHARS`].
///
/// §9 hashes the first 5,000 characters, which takes two long pages with the same beginning for one. Only whitespace at
/// the end is left out, since whether a text ends in a line feed is a matter of who wrote the file; anything else, case
/// and inner whitespace included, may be what tells two pages apart (code, poems, tables).
#[must_use]
pub fn exact_hash(content: &str) -> Option<ContentHash> {
    let content = strip_end(content);
    content.chars().nth(MIN_CHARS - 1).map(|_| ContentHash::of(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pages_are_not_compared() {
        assert_eq!(exact_hash(&"é".repeat(99)), None);
        assert!(exact_hash(&"é".repeat(100)).is_some());
        assert_eq!(exact_hash(&format!("{}{}", "x".repeat(99), " \n".repeat(9))), None);
    }

    #[test]
    fn the_whole_text_decides_but_for_its_end() {
        let text = "word ".repeat(2_000);
        let hash = exact_hash(&text);
        assert_eq!(exact_hash(&format!("{text}\n\n")), hash);
        assert_ne!(exact_hash(&format!("{text}end")), hash, "past 5,000 characters");
        assert_ne!(exact_hash(&text.to_uppercase()), hash);
        assert_ne!(exact_hash(&format!(" {text}")), hash);
    }
}
