//! Exact duplicates within a crawl.

use crate::blocks::strip_end;
use crawl_model::ContentHash;

/// Minimum characters of a page for exact comparison (heuristics reference §9). Shorter pages, such as error
/// messages or empty categories, have equal texts without being duplicates.
pub const MIN_CHARS: usize = 100;

/// Hash of the whole content; equal for pages with the same content. `None` below [`MIN_CHARS`].
///
/// §9 hashes the first 5,000 characters, which confuses long pages with the same beginning. Only trailing
/// whitespace is left out, since the final line feed depends on the writer of the file. All else counts,
/// including case and inner whitespace, which distinguish code, poems and tables.
#[must_use]
pub fn exact_hash(content: &str) -> Option<ContentHash> {
    let content = strip_end(content);
    is_compared(content).then(|| ContentHash::of(content))
}

/// Hash of a text as it is, and its [`exact_hash`]; computed once if both cover the same bytes.
#[must_use]
pub fn hashes(content: &str) -> (ContentHash, Option<ContentHash>) {
    let whole = ContentHash::of(content);
    let exact = if strip_end(content).len() == content.len() {
        is_compared(content).then_some(whole)
    } else {
        exact_hash(content)
    };
    (whole, exact)
}

fn is_compared(content: &str) -> bool {
    content.chars().nth(MIN_CHARS - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pages_have_no_exact_hash() {
        assert_eq!(exact_hash(&"é".repeat(99)), None);
        assert!(exact_hash(&"é".repeat(100)).is_some());
        assert_eq!(exact_hash(&format!("{}{}", "x".repeat(99), " \n".repeat(9))), None);
    }

    #[test]
    fn exact_hash_covers_all_text_but_trailing_whitespace() {
        let text = "word ".repeat(2_000);
        let hash = exact_hash(&text);
        assert_eq!(exact_hash(&format!("{text}\n\n")), hash);
        assert_ne!(exact_hash(&format!("{text}end")), hash, "past 5,000 characters");
        assert_ne!(exact_hash(&text.to_uppercase()), hash);
        assert_ne!(exact_hash(&format!(" {text}")), hash);
    }

    #[test]
    fn combined_hashing_equals_separate_hashing() {
        for text in
            ["word ".repeat(50), "a word".repeat(50), "é".repeat(100), "short".to_owned(), String::new()]
        {
            assert_eq!(hashes(&text), (ContentHash::of(&text), exact_hash(&text)), "{text}");
        }
    }
}
