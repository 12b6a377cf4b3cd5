//! The table of heuristics reference §1, "Score Examples".

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn score(url: &str, html: &str) -> i32 {
    let url = url::Url::parse(url).unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor
        .extract(&Input { bytes: html.as_bytes(), url: Some(&url), content_type: Some("text/html") })
        .article_score
}

fn paragraphs(count: usize) -> String {
    (0..count)
        .map(|n| format!("<p>Paragraph {n} has eleven words in it, so that words add up.</p>"))
        .collect()
}

#[test]
fn a_full_blog_post_with_metadata() {
    let head = "<title>A post</title><meta property='og:type' content='article'><meta name='author' content='Jane Roe'>\
        <meta property='article:published_time' content='2024-03-05'>";
    let page = format!("<html><head>{head}</head><body><h1>A post</h1>{}</body></html>", paragraphs(40));
    let score = score("https://example.org/blog/a-post", &page);
    assert!((70..=90).contains(&score), "{score}");
}

#[test]
fn a_short_blog_post_without_metadata() {
    let page = format!("<html><body><h1>A post</h1>{}</body></html>", paragraphs(15));
    let score = score("https://example.org/blog/a-post", &page);
    assert!((40..=55).contains(&score), "{score}");
}

#[test]
fn a_listing_of_posts() {
    let items: String = (0..30)
        .map(|n| format!("<h2><a href=/blog/{n}>Post number {n}</a></h2><div>What it is about</div>"))
        .collect();
    let page =
        format!("<html><body><h1>Blog</h1><main>{items}</main><a rel=next href=?p=2>Older</a></body></html>");
    let score = score("https://example.org/en/blog/", &page);
    assert!((5..=25).contains(&score), "{score}");
}

#[test]
fn a_tag_page() {
    let items: String = (0..8).map(|n| format!("<div><a href=/blog/{n}>Post number {n}</a></div>")).collect();
    let page = format!("<html><body><h2>Tag</h2>{items}</body></html>");
    let score = score("https://example.org/tag/rust", &page);
    assert!((-50..=-5).contains(&score), "{score}");
}

#[test]
fn a_home_page() {
    let page = format!("<html><body><h1>Example</h1>{}</body></html>", paragraphs(6));
    let score = score("https://example.org/", &page);
    assert!((-20..=10).contains(&score), "{score}");
}

#[test]
fn a_paginated_list() {
    let items: String = (0..20)
        .map(|n| format!("<h2><a href=/a/{n}>Post number {n}</a></h2><div>Text of it</div>"))
        .collect();
    let page = format!(
        "<html><head><link rel=prev href=/writing/page/2></head><body><h1>Writing</h1>{items}</body></html>"
    );
    let score = score("https://example.org/writing/page/3", &page);
    assert!((-20..=0).contains(&score), "{score}");
}

#[test]
fn signals_of_the_url_alone() {
    let base = score("https://example.org/x/y", "<p>x</p>");
    for (path, points) in [
        ("/news/y", 15),
        ("/2024/05", 10),
        ("/a/b/c/d", 5),
        ("/x", -20),
        ("/category/y", -30),
        ("/x/page/2", -15),
        ("/x/y?page=2", -15),
        ("/author/jane", -10),
        ("/author/jane/post", 0),
    ] {
        assert_eq!(score(&format!("https://example.org{path}"), "<p>x</p>") - base, points, "{path}");
    }
}
