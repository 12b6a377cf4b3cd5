//! Soft 404s: error pages with the status 200.
//!
//! The evidence is the site's answer to a path that cannot exist ([`probe_url`]). If it answers with an error status,
//! it has no soft 404s. Otherwise the text of its error page is compared with other pages
//! ([`ErrorPage::any_matches`]). Without a probe, the words of short pages decide ([`says_not_found`]).

use rustc_hash::{FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};
use std::{
    hash::{Hash, Hasher},
    sync::LazyLock,
};
use url::Url;

const FILE: &str = "soft404.toml";
const TEXT: &str = include_str!("../../../config/rules/soft404.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    phrases: Vec<String>,
    max_words: usize,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| crate::rules::embedded(FILE, TEXT));

/// Words per shingle.
const SHINGLE: usize = 3;
/// Minimum Jaccard similarity of two error pages of a site. They differ in parts of the URL, in suggestions
/// and in dates.
const SAME: f64 = 0.8;
/// Maximum words of a page that are compared: error pages are short.
const MAX_WORDS: usize = 2_000;

/// A URL beside `url` that cannot exist. It has the same directory, since sites run several programs, and the
/// same extension. `nonce` makes it unique.
#[must_use]
pub fn probe_url(url: &Url, nonce: u64) -> Url {
    let mut probe = url.clone();
    probe.set_query(None);
    probe.set_fragment(None);
    let (directory, name) = url.path().rsplit_once('/').unwrap_or(("", ""));
    let extension = name.rsplit_once('.').map(|(_, extension)| format!(".{extension}")).unwrap_or_default();
    probe.set_path(&format!("{directory}/{nonce:016x}-nowhere{extension}"));
    probe
}

/// A site's answer to a path that does not exist.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorPage {
    shingles: FxHashSet<u64>,
}

impl ErrorPage {
    /// Creates the profile from the page's text and the requested URL, whose words the text may repeat.
    #[must_use]
    pub fn new(text: &str, requested: &Url) -> Self {
        Self { shingles: shingles(text, requested) }
    }

    /// Returns true if a page's text matches one of these error pages.
    #[must_use]
    pub fn any_matches<'a>(pages: impl Iterator<Item = &'a Self>, text: &str, url: &Url) -> bool {
        let mut pages = pages.peekable();
        if pages.peek().is_none() {
            return false;
        }
        let other = shingles(text, url);
        pages.any(|page| page.is_like(&other))
    }

    fn is_like(&self, other: &FxHashSet<u64>) -> bool {
        if self.shingles.is_empty() || other.is_empty() {
            return self.shingles.is_empty() && other.is_empty();
        }
        let common = self.shingles.intersection(other).count();
        let all = self.shingles.len() + other.len() - common;
        // numbers of shingles are far below the exact range of a float
        common as f64 >= SAME * all as f64
    }
}

/// Hashes of the word triples of a text, without the words of the URL.
fn shingles(text: &str, url: &Url) -> FxHashSet<u64> {
    let is_word = |word: &&str| !word.is_empty();
    let lower = |word: &str| word.to_lowercase();
    let echoed: FxHashSet<String> =
        url.path().split(|c: char| !c.is_alphanumeric()).filter(is_word).map(lower).collect();
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(is_word)
        .take(MAX_WORDS)
        .map(lower)
        // numbers are dates, counters and echoes
        .filter(|word| !echoed.contains(word) && !word.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let size = SHINGLE.min(words.len()).max(1);
    words
        .windows(size)
        .map(|window| {
            let mut hasher = FxHasher::default();
            window.hash(&mut hasher);
            hasher.finish()
        })
        .collect()
}

/// Returns true if the title or first heading of a short page says that the page does not exist.
#[must_use]
pub fn says_not_found(title: &str, heading: &str, words: usize) -> bool {
    if words > RULES.max_words {
        return false;
    }
    [title, heading].iter().any(|text| {
        let text = text.to_lowercase();
        RULES.phrases.iter().any(|phrase| text.contains(phrase.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> Url {
        Url::parse(&format!("http://h.test{path}")).unwrap()
    }

    #[test]
    fn soft404_phrases_parse_and_are_lower_case() {
        let rules: Rules = crate::rules::parse(FILE, TEXT).unwrap();
        assert!(rules.phrases.iter().all(|phrase| *phrase == phrase.to_lowercase()));
    }

    #[test]
    fn probe_url_is_a_sibling_of_the_page() {
        let probe = probe_url(&url("/shop/items/red-shoe.html?x#y"), 7);
        assert_eq!(probe.as_str(), "http://h.test/shop/items/0000000000000007-nowhere.html");
        assert_eq!(probe_url(&url("/"), 1).path(), "/0000000000000001-nowhere");
    }

    #[test]
    fn error_pages_that_echo_the_url_match() {
        let text = |what: &str| {
            format!(
                "Sorry! We could not find {what}. Try the search, or go back to the start page. 2026-01-01 12:00"
            )
        };
        let page = ErrorPage::new(&text("nowhere 0001"), &url("/0001-nowhere"));
        let matches = |page: &ErrorPage, text: &str, path: &str| {
            ErrorPage::any_matches(std::iter::once(page), text, &url(path))
        };
        assert!(matches(&page, &text("red shoe"), "/red-shoe"));
        assert!(!matches(
            &page,
            "An article about red shoes, which we could not find anywhere else.",
            "/red-shoe"
        ));
        assert!(!matches(&page, "", "/red-shoe"));
        assert!(matches(&ErrorPage::new("", &url("/x")), "", "/y"), "an empty page for everything");
    }

    #[test]
    fn only_short_pages_are_judged_by_their_words() {
        assert!(says_not_found("Page not found – Example", "", 20));
        assert!(says_not_found("Example", "Страница не найдена", 20));
        assert!(!says_not_found("HTTP error 404 explained", "", 900));
        assert!(!says_not_found("Lost and found", "Welcome", 20));
    }
}
