//! Heuristics reference §6: every pattern and every extension of the URL rules.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_fetch::{FilterDecision, UrlFilter};
use regex::Regex;
use url::Url;

fn decide(filter: &UrlFilter, rest: &str) -> FilterDecision {
    filter.classify(&Url::parse(&format!("https://example.org{rest}")).unwrap())
}

fn built_in() -> UrlFilter {
    UrlFilter::new(true, &[], &[]).unwrap()
}

#[test]
fn hard_excluded_patterns_are_never_fetched() {
    for rest in [
        "/_next/static/chunks/a",
        "/cdn-cgi/l/email-protection",
        "/wp-content/uploads/2024/a",
        "/__webpack_hmr",
        "/wp-json/wp/v2",
        "/wp-admin/",
        "/xmlrpc.php",
        "/story.amp",
        "/story.amp?x=1",
    ] {
        assert!(matches!(decide(&built_in(), rest), FilterDecision::Exclude { .. }), "{rest}");
    }
    for rest in ["/story.amplified", "/next/static", "/wp-content/themes/x", "/amp"] {
        assert_eq!(decide(&built_in(), rest), FilterDecision::Fetch, "{rest}");
    }
}

#[test]
fn soft_excluded_patterns_are_fetched() {
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
        "/archives",
        "/feed",
        "/rss",
        "/sitemap",
    ] {
        let rest = format!("{pattern}x");
        assert!(matches!(decide(&built_in(), &rest), FilterDecision::LinksOnly { .. }), "{rest}");
    }
}

#[test]
fn every_extension_of_the_list_is_excluded() {
    for extension in [
        "pdf", "jpg", "jpeg", "png", "gif", "svg", "webp", "css", "js", "woff", "woff2", "ttf", "ico", "zip",
        "tar", "gz",
    ] {
        for rest in [format!("/a/b.{extension}"), format!("/a/b.{}?v=1", extension.to_uppercase())] {
            let rule = format!(".{extension}");
            assert_eq!(decide(&built_in(), &rest), FilterDecision::Exclude { rule }, "{rest}");
        }
    }
    for rest in ["/a/b.html", "/a/b.php", "/a/b", "/pdf/b"] {
        assert_eq!(decide(&built_in(), rest), FilterDecision::Fetch, "{rest}");
    }
}

#[test]
fn user_expression_applies_after_the_built_in_rules() {
    let filter = UrlFilter::new(true, &[], &[Regex::new("/(draft|wp-json)/").unwrap()]).unwrap();
    let rule = |rest: &str| match decide(&filter, rest) {
        FilterDecision::Exclude { rule } => rule,
        other => panic!("{rest}: {other:?}"),
    };
    assert_eq!(rule("/draft/a"), "/(draft|wp-json)/");
    assert_eq!(rule("/wp-json/a"), "wp-json", "the built-in rule names itself first");
    assert_eq!(rule("/draft/a.pdf"), ".pdf");
}
