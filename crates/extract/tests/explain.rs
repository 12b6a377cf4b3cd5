//! An explanation describes the extraction of a page, and changes nothing about it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Explanation, Input, Options, PageExtractor};
use crawl_model::Extraction;

fn explain(html: &str) -> (Extraction, Explanation) {
    let url = url::Url::parse("https://example.org/news/2026/03/harbour-wall.html").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    let (extraction, explanation) = extractor.explain(&input);
    assert_eq!(extraction.content, extractor.extract(&input).content, "explaining changes nothing");
    assert_eq!(
        explanation.score.iter().map(|part| part.points).sum::<i32>(),
        extraction.article_score,
        "the parts make up the score"
    );
    (extraction, explanation)
}

fn article() -> String {
    let paragraph = "<p>The wall of the outer harbour was raised by a metre, since the storms of the last winter, \
        which came from the north, had gone over it twice, and the boats behind it were damaged.</p>";
    format!(
        "<html lang=en><head><title>The wall grows | Harbour News</title>\
         <meta property='article:published_time' content='2026-03-04'></head><body>\
         <div id='onetrust-consent-sdk'><p>We use cookies to make this site work.</p></div>\
         <div class='xk-cookie-77'><p>We use cookies. Accept all of them here.</p></div>\
         <article><h1>The wall grows</h1><p class='byline'>By Ada Quay</p>{}\
         <div class='related-posts'><p>More about boats and walls and other things.</p></div>\
         <p>Last updated: 2026-03-05</p>{paragraph}</article></body></html>",
        paragraph.repeat(4)
    )
}

#[test]
fn each_part_of_an_article_is_explained() {
    let (extraction, told) = explain(&article());
    let removed: Vec<&str> = told.removed.iter().map(|r| r.rule.as_str()).collect();
    assert_eq!(removed, ["OneTrust: #onetrust-consent-sdk", "keyword sweep: \"we use cookies\""]);
    assert_eq!(told.removed[1].element, "div.xk-cookie-77");
    assert!(told.removed[0].starts.starts_with("We use cookies"), "{:?}", told.removed[0]);

    let names: Vec<&str> = told.candidates.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["readability", "trafilatura", "whole body"]);
    let best = &told.candidates[0];
    assert_eq!(best.elements, ["article"]);
    assert!(best.score.is_some_and(|score| score > 10.0) && best.words > 100 && best.prose > 0.9, "{best:?}");

    let dropped: Vec<&str> = told.dropped.iter().map(|r| r.rule.as_str()).collect();
    let has = |part: &str| dropped.iter().any(|rule| rule.contains(part));
    assert!(has("names of related") && has("only says when the page was changed"), "{dropped:?}");

    let source = |field| told.metadata.iter().find(|s| s.field == field).map(|s| s.source);
    assert_eq!(source("title"), Some("the heading that agrees with the page's data"));
    assert_eq!(source("authors"), Some("an element marked as the author"));
    assert_eq!(source("published"), Some("meta elements"));
    assert_eq!(source("modified"), Some("a date that calls itself one of a change"));
    assert!(told.evidence[0].starts_with("cleaned as an article by its score"), "{:?}", told.evidence);
    assert!(!extraction.content.contains("cookies"));
}

#[test]
fn plain_text_has_an_empty_explanation() {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let input = Input::new(b"Only text.").with_content_type("text/plain");
    assert_eq!(extractor.explain(&input).1, Explanation::default());
}

#[test]
fn explanation_shows_each_source_block_with_its_reason() {
    let (extraction, told) = explain(
        &article().replace("<body>", "<body><nav>Home Boats</nav><script>x()</script><p hidden>Secret</p>"),
    );
    let fate = |part: &str| {
        let mut spans = told.page.iter().flat_map(|block| &block.spans);
        let found = spans.find(|span| span.text.contains(part));
        found.unwrap_or_else(|| panic!("{part} is not shown")).dropped.as_deref()
    };
    assert_eq!(fate("The wall of the outer"), None);
    assert_eq!(fate("Secret"), Some("hidden by attribute or style"));
    assert_eq!(fate("Home Boats"), Some("the element nav"));
    assert_eq!(fate("We use cookies to"), Some("consent banner: OneTrust: #onetrust-consent-sdk"));
    assert_eq!(fate("More about boats"), Some("the element div; names of related"));
    assert!(fate("Last updated").is_some());
    assert!(told.page.iter().all(|block| block.spans.iter().all(|span| !span.text.contains("x()"))));
    let taken: Vec<&str> = told.candidates.iter().filter(|c| c.taken).map(|c| c.name.as_str()).collect();
    assert_eq!(extraction.extractor, crawl_model::Extractor::Readability);
    assert_eq!(taken, ["readability"], "{:?}", told.candidates);
}
