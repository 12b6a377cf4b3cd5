//! Heuristics reference §8: where a page's language is taken from, and in what order.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageMetadata;

fn metadata(html: &str) -> PageMetadata {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input { bytes: html.as_bytes(), url: None, content_type: Some("text/html") }).metadata
}

const LOCALE: &str = "<meta property=og:locale content=fr_FR>";
const JSON: &str = r#"<script type=application/ld+json>{"@type":"Article","inLanguage":"es"}</script>"#;
const EQUIV: &str = "<meta http-equiv=content-language content=it>";
const NAME: &str = "<meta name=language content=pt>";

#[test]
fn the_language_is_that_of_the_first_place_that_names_one() {
    let language =
        |lang: &str, head: &str| metadata(&format!("<html {lang}><head>{head}</head><body>x")).language;
    let all = format!("{NAME}{EQUIV}{JSON}{LOCALE}");
    assert_eq!(language("lang=de", &all).as_deref(), Some("de"));
    assert_eq!(language("", &all).as_deref(), Some("fr"));
    assert_eq!(language("", &format!("{NAME}{EQUIV}{JSON}")).as_deref(), Some("es"));
    assert_eq!(language("", EQUIV).as_deref(), Some("it"));
    assert_eq!(language("", NAME).as_deref(), Some("pt"));
    assert_eq!(language("", ""), None);
}

#[test]
fn a_locale_loses_its_region() {
    let page = metadata("<html><head><meta property=og:locale content=en_US></head><body>x");
    assert_eq!(page.language.as_deref(), Some("en"));
}

#[test]
fn a_language_that_is_not_declared_is_not_guessed() {
    let text =
        "The ferry leaves the old harbour every morning and returns in the evening with the post. ".repeat(9);
    let page = metadata(&format!("<html><body><p>{text}</p></body></html>"));
    assert_eq!(page.language, None);
    // what the text is written in stands in a field of its own
    assert_eq!(page.language_detected.as_deref(), Some("en"));
}
