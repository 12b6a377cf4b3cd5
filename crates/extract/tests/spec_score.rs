//! Heuristics reference §1, row by row: the points of each signal of the URL and of the page.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::Extraction;
use std::sync::LazyLock;

static EXTRACTOR: LazyLock<PageExtractor> = LazyLock::new(|| PageExtractor::new(Options::default()).unwrap());

/// A path of two segments without signals.
const PLAIN: &str = "/x/y";

fn extract(path: &str, html: &str) -> Extraction {
    let url = url::Url::parse(&format!("https://example.org{path}")).unwrap();
    EXTRACTOR.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html"))
}

/// Points of a path beyond the plain one.
fn url_points(path: &str) -> i32 {
    let html = "<p>x</p>";
    extract(path, html).article_score - extract(PLAIN, html).article_score
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

fn page(head: &str, body: &str) -> String {
    format!("<html><head>{head}</head><body>{body}<div>{}</div></body></html>", words(100))
}

/// Points that a head and a body add to a page of a hundred words.
fn points(head: &str, body: &str) -> i32 {
    extract(PLAIN, &page(head, body)).article_score - extract(PLAIN, &page("", "")).article_score
}

#[test]
fn every_segment_of_articles_adds_15() {
    for segment in [
        "blog", "post", "posts", "article", "articles", "news", "story", "stories", "essay", "essays",
        "journal", "write", "p",
    ] {
        assert_eq!(url_points(&format!("/{segment}/y")), 15, "{segment}");
        // the segment must be whole
        assert_eq!(url_points(&format!("/x{segment}/y")), 0, "x{segment}");
    }
    assert_eq!(url_points("/blog/news"), 15, "once, however many there are");
}

#[test]
fn a_date_in_the_path_adds_10() {
    assert_eq!(url_points("/2024/05"), 10);
    assert_eq!(url_points("/a/2024-05"), 0);
    assert_eq!(url_points("/204/05"), 0);
}

#[test]
fn four_segments_add_5() {
    assert_eq!([url_points("/a/b/c"), url_points("/a/b/c/d"), url_points("/a/b/c/d/e")], [0, 5, 5]);
    // the example of the table: a segment of articles, and four segments
    assert_eq!(url_points("/en/blog/2024/my-great-post"), 15 + 5);
}

#[test]
fn one_segment_or_none_subtracts_20() {
    assert_eq!([url_points("/"), url_points("/home"), url_points("/home/")], [-20, -20, -20]);
}

#[test]
fn every_excluded_pattern_subtracts_30() {
    for pattern in [
        "/tag/",
        "/tags/",
        "/category/",
        "/categories/",
        "/search",
        "/login",
        "/signup",
        "/register",
        "/privacy",
        "/terms",
        "/contact",
        "/about",
        "/archive",
        "/archives/",
        "/feed",
        "/rss",
        "/sitemap",
    ] {
        assert_eq!(url_points(&format!("/x{pattern}y")), -30, "{pattern}");
    }
    assert_eq!(url_points("/tag/search"), -30, "once, however many there are");
}

#[test]
fn paginated_url_subtracts_15() {
    assert_eq!(
        [url_points("/x/page/2"), url_points("/x/y?page=2"), url_points("/x/y?a=b&page=17")],
        [-15; 3]
    );
    assert_eq!([url_points("/x/page/two"), url_points("/x/y?page=two"), url_points("/x/y?mypage=2")], [0; 3]);
}

#[test]
fn author_list_subtracts_10() {
    assert_eq!([url_points("/author/jane"), url_points("/author/jane/")], [-10; 2]);
    assert_eq!(url_points("/author/jane/post"), 0);
}

#[test]
fn words_are_counted_without_nav_header_and_footer() {
    let score = |count: usize, frame: &str| {
        extract(PLAIN, &format!("<body>{frame}<div>{}</div></body>", words(count))).article_score
    };
    let middle = score(100, "");
    for (count, expected) in [(301, 20), (300, 10), (150, 10), (149, 0), (50, 0), (49, -20), (0, -20)] {
        assert_eq!(score(count, "") - middle, expected, "{count} words");
        let frame = format!("<nav>{0}</nav><header>{0}</header><footer>{0}</footer>", words(200));
        assert_eq!(score(count, &frame) - middle, expected, "{count} words in a frame");
    }
}

#[test]
fn exactly_one_h1_adds_15() {
    assert_eq!(
        [points("", "<h1>A</h1>"), points("", "<h1>A</h1><h1>B</h1>"), points("", "<h2>A</h2>")],
        [15, 0, 0]
    );
}

#[test]
fn author_from_any_source_adds_10() {
    let json =
        r#"<script type=application/ld+json>{"@type":"WebPage","author":{"name":"Jane Roe"}}</script>"#;
    for head in [
        "<meta property='article:author' content='Jane Roe'>",
        "<meta property='og:article:author' content='Jane Roe'>",
        "<meta name=author content='Jane Roe'>",
        json,
    ] {
        assert_eq!(points(head, ""), 10, "{head}");
    }
    // 15 of these are the heading's, which is needed for a byline
    assert_eq!(points("", "<h1>A ferry</h1><p>By Jane Roe</p>"), 15 + 10);
    assert_eq!(points("", "<h1>A ferry</h1><p class=byline>Jane Roe</p>"), 15 + 10);
}

#[test]
fn declared_publication_date_adds_10() {
    let json =
        r#"<script type=application/ld+json>{"@type":"WebPage","datePublished":"2024-03-05"}</script>"#;
    for head in [
        "<meta property='article:published_time' content='2024-03-05T08:00:00Z'>",
        "<meta name=date content='2024-03-05'>",
        "<meta itemprop=datePublished content='2024-03-05'>",
        json,
    ] {
        assert_eq!(points(head, ""), 10, "{head}");
    }
    assert_eq!(points("<meta name=date content=soon>", ""), 0);
}

#[test]
fn a_type_of_articles_in_json_ld_adds_10() {
    let json = |kind: &str| format!(r#"<script type=application/ld+json>{{"@type":"{kind}"}}</script>"#);
    for kind in ["Article", "BlogPosting", "NewsArticle", "TechArticle", "ScholarlyArticle"] {
        assert_eq!(points(&json(kind), ""), 10, "{kind}");
    }
    assert_eq!(points(&(json("Article") + &json("BlogPosting")), ""), 10, "once");
    assert_eq!([points(&json("Product"), ""), points(&json("WebPage"), "")], [0; 2]);
}

#[test]
fn og_type_article_adds_5() {
    let og = |kind: &str| points(&format!("<meta property=og:type content={kind}>"), "");
    assert_eq!([og("article"), og("website")], [5, 0]);
}

#[test]
fn more_than_three_paragraphs_of_20_characters_add_5() {
    let body = |count: usize, chars: usize| format!("<p>{}</p>", "x".repeat(chars)).repeat(count);
    assert_eq!(points("", &body(4, 20)), 5);
    assert_eq!(points("", &body(3, 20)), 0);
    assert_eq!(points("", &body(4, 19)), 0);
}

#[test]
fn more_than_20_links_to_other_hosts_subtract_10() {
    let links = |count: usize, host: &str| -> String {
        (0..count).map(|n| format!("<a href=https://{host}/{n}>w</a> ")).collect()
    };
    assert_eq!(points("", &links(21, "other.example")), -10);
    assert_eq!(points("", &links(20, "other.example")), 0);
    assert_eq!(points("", &links(40, "example.org")), 0, "its own host is not another one");
}

#[test]
fn rel_next_or_prev_subtracts_15() {
    for rel in ["next", "prev"] {
        assert_eq!(points(&format!("<link rel={rel} href=/x/2>"), ""), -15, "{rel}");
        assert_eq!(points("", &format!("<a rel={rel} href=/x/2>w</a>")), -15, "{rel}");
    }
}

#[test]
fn a_page_is_an_article_from_35_points_on() {
    assert_eq!(EXTRACTOR.article_threshold(), 35);
    // 20 for its words, and 15 for the segment
    let text = format!("<body><div>{}</div></body>", words(301));
    let below = extract("/x/y", &text);
    assert!(below.article_score == 20 && !below.is_article, "{}", below.article_score);
    let page = format!("<body><h1>A ferry</h1>{}</body>", format!("<p>{}</p>", words(100)).repeat(4));
    let above = extract("/blog/y", &page);
    assert!(above.article_score == 20 + 15 + 15 + 5 && above.is_article, "{}", above.article_score);
}

#[test]
fn a_tag_page_and_a_home_page_are_below_the_threshold() {
    let items: String = (0..8).map(|n| format!("<div><a href=/blog/{n}>Post {n}</a></div>")).collect();
    let tag = extract("/tag/rust", &format!("<body><h1>Tag</h1>{items}</body>"));
    assert_eq!((tag.article_score, tag.is_article), (-30 + 15 - 20, false));
    let home = extract("/", &format!("<body><h1>Home</h1><div>{}</div></body>", words(100)));
    assert_eq!((home.article_score, home.is_article), (-20 + 15, false));
}
