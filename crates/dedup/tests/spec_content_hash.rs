//! Heuristics reference §9: equality of two pages' content.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_dedup::exact_hash;

#[test]
fn the_hash_has_64_digits_of_sha_256() {
    // printf 'x%.0s' $(seq 100) | sha256sum
    let expected = "09ecb6ebc8bcefc733f6f2ec44f791abeed6a99edf0cc31519637898aebd52d8";
    assert_eq!(exact_hash(&"x".repeat(100)).unwrap().to_string(), expected);
}

#[test]
fn only_contents_from_100_characters_have_a_hash() {
    assert!(exact_hash(&"ü".repeat(100)).is_some());
    assert_eq!(exact_hash(&"ü".repeat(99)), None);
}

#[test]
fn texts_that_differ_after_5000_characters_hash_differently() {
    let begin = "word ".repeat(1_000);
    assert_ne!(exact_hash(&format!("{begin}one")), exact_hash(&format!("{begin}two")));
}
