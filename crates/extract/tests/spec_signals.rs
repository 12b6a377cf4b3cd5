//! Heuristics reference §2 and §3: computation of each signal from a page, by fingerprint.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageSignals;
use std::sync::LazyLock;

static EXTRACTOR: LazyLock<PageExtractor> = LazyLock::new(|| PageExtractor::new(Options::default()).unwrap());

fn signals(html: &str) -> PageSignals {
    let url = url::Url::parse("https://example.org/x/y").unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    EXTRACTOR.extract(&input).signals
}

fn words(count: usize) -> String {
    "word ".repeat(count)
}

#[test]
fn body_word_count_excludes_six_elements() {
    for tag in ["nav", "header", "footer", "script", "style", "template"] {
        let html = format!("<body><{tag}>{}</{tag}><p>{}</p></body>", words(30), words(7));
        assert_eq!(signals(&html).body_word_count, 7, "{tag}");
    }
    let kept = signals(&format!("<body><aside>{}</aside><p>{}</p></body>", words(30), words(7)));
    assert_eq!(kept.body_word_count, 37);
}

#[test]
fn every_fingerprint_names_its_framework() {
    for (html, name) in [
        ("<script src=/_next/static/a.js></script>", "Next.js"),
        ("<div id=__next></div>", "Next.js"),
        ("<div id=root></div>", "React"),
        ("<div id=react-root></div>", "React"),
        ("<div id=app></div>", "Vue"),
        ("<div id=__nuxt></div>", "Vue"),
        ("<app-root></app-root>", "Angular"),
        ("<div ng-app></div>", "Angular"),
        ("<div id=gatsby-focus-wrapper></div>", "Gatsby"),
        ("<div id=svelte></div>", "Svelte"),
        ("<div id=ember></div>", "Ember"),
        ("<body class=ember-application>", "Ember"),
    ] {
        let found = signals(html);
        assert!(
            found.frameworks_detected.iter().any(|n| n == name),
            "{html}: {:?}",
            found.frameworks_detected
        );
        assert!(found.is_js_spa, "{html}");
    }
    let plain = signals("<div id=content></div>");
    assert!(plain.frameworks_detected.is_empty() && !plain.is_js_spa);
}

#[test]
fn framework_page_below_200_words_is_a_spa() {
    let page = |count: usize| signals(&format!("<body><div id=root>{}</div></body>", words(count)));
    assert!(page(199).is_js_spa && !page(200).is_js_spa);
    assert_eq!(page(200).frameworks_detected, ["React"], "the framework is named all the same");
}

#[test]
fn script_page_below_10_words_is_a_spa() {
    let page = |count: usize, script: &str| {
        signals(&format!("<body><div>{}</div>{script}</body>", words(count))).is_js_spa
    };
    let external = "<script src=/a.js></script>";
    assert!(page(9, external) && !page(10, external));
    assert!(!page(9, ""), "without a script it is a page of few words");
}

#[test]
fn amp_and_feed_are_absolute_addresses() {
    let head = "<link rel=amphtml href=/y.amp>\
        <link rel=alternate type=application/rss+xml href=/feed.xml>";
    let found = signals(&format!("<html><head>{head}</head><body>x</body></html>"));
    assert_eq!(found.amp_url.as_deref(), Some("https://example.org/y.amp"));
    assert_eq!(found.feed_url.as_deref(), Some("https://example.org/feed.xml"));
    let none = signals("<link rel=alternate hreflang=de href=/de><body>x</body>");
    assert_eq!((none.amp_url, none.feed_url), (None, None));
}

#[test]
fn each_javascript_message_is_detected() {
    for message in [
        "Enable JavaScript",
        "JavaScript is required",
        "Please enable JavaScript",
        "JavaScript must be enabled",
        "This site requires JavaScript",
        "You need to enable JavaScript",
    ] {
        let found = signals(&format!("<body><p>{message} to go on.</p></body>"));
        assert!(found.asks_for_javascript, "{message}");
    }
    assert!(!signals("<body><p>JavaScript is a language.</p></body>").asks_for_javascript);
    // a text about scripts requests none
    let article = format!("<body><p>Enable JavaScript in the settings.</p><p>{}</p></body>", words(400));
    assert!(!signals(&article).asks_for_javascript);
}

#[test]
fn each_framework_root_is_detected() {
    for html in [
        "<div id=__next></div>",
        "<div id=app></div>",
        "<div id=root></div>",
        "<div id=__nuxt></div>",
        "<div id=app-root></div>",
        "<div id=gatsby-focus-wrapper></div>",
        "<div data-reactroot></div>",
        "<div data-server-rendered=true></div>",
        "<div ng-app=x></div>",
    ] {
        assert!(signals(html).has_js_root, "{html}");
    }
    assert!(!signals("<div id=content></div>").has_js_root);
}

#[test]
fn external_scripts_are_counted_and_others_are_not() {
    let scripts = "<script src=/a.js></script>".repeat(9) + "<script>go()</script>";
    assert_eq!(signals(&format!("<body>{scripts}</body>")).external_scripts, 9);
}

#[test]
fn noscript_words_come_from_the_longest_element() {
    let html = format!("<body><noscript>{}</noscript><noscript>{}</noscript></body>", words(21), words(20));
    assert_eq!(signals(&html).noscript_words, 21);
}

#[test]
fn visible_word_count_excludes_scripts_styles_and_navigation() {
    for tag in ["script", "style", "nav", "header", "footer"] {
        let html = format!("<body><{tag}>{}</{tag}><p>{}</p></body>", words(30), words(7));
        assert_eq!(signals(&html).visible_word_count, 7, "{tag}");
    }
}
