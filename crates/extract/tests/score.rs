//! The table of heuristics reference §1, "Score Examples".

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn score(url: &str, html: &str) -> i32 {
    let url = url::Url::parse(url).unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor
        .extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html"))
        .article_score
}

fn paragraphs(count: usize) -> String {
    (0..count)
        .map(|n| format!("<p>Paragraph {n} has eleven words in it, so that words add up.</p>"))
        .collect()
}

#[test]
fn blog_post_with_metadata_scores_70_to_90() {
    let head = "<title>A post</title><meta property='og:type' content='article'><meta name='author' content='Jane Roe'>\
        <meta property='article:published_time' content='2024-03-05'>";
    let page = format!("<html><head>{head}</head><body><h1>A post</h1>{}</body></html>", paragraphs(40));
    let score = score("https://example.org/blog/a-post", &page);
    assert!((70..=90).contains(&score), "{score}");
}

#[test]
fn short_blog_post_scores_40_to_55() {
    let page = format!("<html><body><h1>A post</h1>{}</body></html>", paragraphs(15));
    let score = score("https://example.org/blog/a-post", &page);
    assert!((40..=55).contains(&score), "{score}");
}

#[test]
fn listing_of_posts_scores_5_to_25() {
    let items: String = (0..30)
        .map(|n| format!("<h2><a href=/blog/{n}>Post number {n}</a></h2><div>What it is about</div>"))
        .collect();
    let page =
        format!("<html><body><h1>Blog</h1><main>{items}</main><a rel=next href=?p=2>Older</a></body></html>");
    let score = score("https://example.org/en/blog/", &page);
    assert!((5..=25).contains(&score), "{score}");
}

#[test]
fn tag_page_scores_minus_50_to_minus_5() {
    let items: String = (0..8).map(|n| format!("<div><a href=/blog/{n}>Post number {n}</a></div>")).collect();
    let page = format!("<html><body><h2>Tag</h2>{items}</body></html>");
    let score = score("https://example.org/tag/rust", &page);
    assert!((-50..=-5).contains(&score), "{score}");
}

#[test]
fn home_page_scores_minus_20_to_10() {
    let page = format!("<html><body><h1>Example</h1>{}</body></html>", paragraphs(6));
    let score = score("https://example.org/", &page);
    assert!((-20..=10).contains(&score), "{score}");
}

#[test]
fn paginated_list_scores_minus_20_to_0() {
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
fn url_signals_add_their_points() {
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

fn extraction(url: &str, html: &str) -> crawl_model::Extraction {
    let url = url::Url::parse(url).unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html"))
}

#[test]
fn declared_date_counts_once() {
    let of = |url: &str, html: &str| score(&format!("https://example.org{url}"), html);
    let base = of("/x/y", "<p>x</p>");
    assert_eq!(
        of("/2024/05/06/y", "<p>x</p>") - base,
        15,
        "a date and four segments, no date of publication"
    );
    let visible = "<p>x</p><p>Published: <time datetime=2024-05-06>6 May 2024</time></p>";
    assert_eq!(of("/x/y", visible), base);
    let json = |key: &str| {
        format!(
            "<script type=application/ld+json>{{\"@type\":\"WebPage\",\"{key}\":\"2024-05-06\"}}</script><p>x</p>"
        )
    };
    assert_eq!(of("/x/y", &json("datePublished")) - base, 10);
    assert_eq!(of("/x/y", &json("dateModified")), base);
    for name in ["article:published_time", "dc.date", "article:modified_time"] {
        let html = format!("<meta property='{name}' content='2024-05-06'><p>x</p>");
        assert_eq!(of("/x/y", &html) - base, 10, "{name}");
    }
}

#[test]
fn twitter_creator_counts_as_author() {
    let page = |creator: &str, site: &str| {
        let head = format!(
            "<meta name='twitter:creator' content='{creator}'><meta name='twitter:site' content='{site}'>"
        );
        extraction("https://harbour.example/x/y", &format!("{head}<p>x</p>"))
    };
    let without = page("", "");
    for (creator, site, author) in [
        ("@jane_roe", "@harbour", Some("@jane_roe")),
        ("Jane Roe", "@harbour", Some("Jane Roe")),
        ("@Pier9", "@pier9", None),
        ("@harbour_news", "", None),
        ("@handle", "", None),
    ] {
        let page = page(creator, site);
        assert_eq!(page.metadata.authors.first().map(String::as_str), author, "{creator}");
        assert_eq!(
            page.article_score - without.article_score,
            if author.is_some() { 10 } else { 0 },
            "{creator}"
        );
    }
}

#[test]
fn repeated_links_to_other_hosts_all_count() {
    let page = |count: usize| format!("<p>x</p>{}", "<a href=https://other.example/a>x</a>".repeat(count));
    let url = "https://example.org/x/y";
    assert_eq!(score(url, &page(20)) - score(url, &page(21)), 10);
    assert_eq!(
        score(url, &page(1).replace("other", "example.org/a#")),
        score(url, &page(1)),
        "one or none costs nothing"
    );
    let own = page(30).replace("https://other.example/a", "https://example.org/a");
    assert_eq!(score(url, &own), score(url, "<p>x</p>"));
}

#[test]
fn listing_is_not_an_article_at_any_score() {
    let teaser = |n: usize| {
        let text = "The ferry of the week, what it carries, where it goes, and why the harbour master likes it so much. ".repeat(2);
        format!(
            "<article><h2><a href=/blog/{n}>Ferry number {n}</a></h2><p>{text}</p><a href=/blog/{n}>Read more</a></article>"
        )
    };
    let listing: String = (0..10).map(teaser).collect();
    let page = extraction("https://example.org/en/blog/", &format!("<h1>Blog</h1><main>{listing}</main>"));
    assert!(page.article_score >= 35, "{}", page.article_score);
    assert!(!page.is_article);

    // Teasers with a heading that is no link, and boxes of a list.
    let plain =
        listing.replace("<h2><a", "<h2><i").replace("</a></h2>", "</i></h2>").replace("<article>", "<li>");
    let page = extraction("https://example.org/en/blog/", &format!("<h1>Blog</h1><ul>{plain}</ul>"));
    assert!(page.article_score >= 35 && !page.is_article, "{}", page.article_score);

    // A post with teasers below it.
    let post = format!("<h1>A post</h1><main>{}</main><div>{}</div>", paragraphs(60), teaser(1));
    let page = extraction("https://example.org/blog/a-post", &post);
    assert!(page.article_score >= 35 && page.is_article, "{}", page.article_score);
}

#[test]
fn dated_post_exceeds_the_specified_example_score() {
    // §1 prints 70 to 90 for a full post; its own numbers give a dated one in four segments 105.
    let head = "<meta property='og:type' content='article'><meta name='author' content='Jane Roe'>\
        <meta property='article:published_time' content='2024-03-05'>\
        <script type=application/ld+json>{\"@type\":\"BlogPosting\"}</script>";
    let page = format!("<html><head>{head}</head><body><h1>A post</h1>{}</body></html>", paragraphs(40));
    assert_eq!(score("https://example.org/blog/2024/03/a-post", &page), 105);
}
