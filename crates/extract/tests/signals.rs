//! Signals of a page for classification.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageSignals;
use serde_json::Value;

fn signals(html: &str) -> (PageSignals, u32) {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let extraction = extractor.extract(&Input::new(html.as_bytes()).with_content_type("text/html"));
    (extraction.signals, extraction.word_count)
}

const ASKS: &str = "We use cookies to count the readers of this page and to show them offers.";
const TEXT: &str = "<p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine takes no cards.</p>";

/// Compares pages with the value of a signal, and lists all that differ.
#[track_caller]
fn hold(cases: &[(&str, String, &str, Value)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, html, signal, expected)| {
            let found = serde_json::to_value(signals(html).0).unwrap()[signal].clone();
            (found != *expected).then(|| format!("{name}: {signal} is {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn words(count: usize) -> String {
    format!("<p>{}</p>", "word ".repeat(count))
}

#[test]
fn executable_scripts_are_detected() {
    let case = |name, html: &str, runs: bool| (name, html.to_owned(), "runsScripts", Value::from(runs));
    hold(&[
        case("no script", "<div id=a></div>", false),
        case("an external script", "<script src=/a.js></script>", true),
        case("an inline script", "<script>go()</script>", true),
        case("an empty script", "<script> </script>", false),
        case("data", "<script type=application/ld+json>{}</script>", false),
        case("a module to load", "<link rel=modulepreload href=/a.js>", true),
        case("a script to load", "<link rel=preload as=script href=/a.js>", true),
        case("a font to load", "<link rel=preload as=font href=/a.woff>", false),
    ]);
}

#[test]
fn empty_app_roots_are_detected() {
    let case = |name, html: &str, waits: bool| {
        (name, format!("{html}<script>go()</script>"), "hasEmptyRoot", Value::from(waits))
    };
    hold(&[
        case("an empty place", "<main></main>", true),
        case("an empty list", "<main><h1>All of it</h1><ul></ul></main>", true),
        case("a place with a picture", "<main><img src=a></main>", false),
        case("a place with a word", "<main>Sold</main>", false),
        case("a place that says so", "<main>Loading…</main>", true),
        case("a hidden place", "<main hidden></main>", false),
        ("an empty place without scripts", "<main></main>".into(), "hasEmptyRoot", false.into()),
    ]);
}

#[test]
fn consent_walls_and_banners_are_distinguished() {
    let wall = |phrase: &str, beside: &str| {
        format!("<div role=dialog class=x1>{phrase}<button>Accept all</button></div>{beside}")
    };
    let demand = format!("{ASKS} To continue, please accept.");
    let case = |name, html: String, walled: bool| (name, html, "isCookieWalled", Value::from(walled));
    hold(&[
        case("a dialog alone", wall(ASKS, ""), true),
        case("a dialog over a short text", wall(ASKS, TEXT), false),
        case("one that demands it", wall(&demand, TEXT), true),
        case("the same over a text", wall(&demand, &words(60)), false),
        case("a short text about cookies", format!("<p>{ASKS}</p>"), false),
        case("a dialog about a parcel", wall("Your parcel has been sent.", ""), false),
        ("the words of a dialog", wall(ASKS, TEXT), "overlayWordCount", 17.into()),
    ]);
}

#[test]
fn both_word_counts_follow_their_rules() {
    let template = format!("<body><template>{}</template>", words(7));
    let shadow = format!("<a-b><template shadowrootmode=open>{}</template></a-b>", words(7));
    hold(&[
        ("a template as §2 counts", template.clone(), "bodyWordCount", 0.into()),
        ("a template as §3 counts", template, "visibleWordCount", 7.into()),
        ("a shadow root", shadow, "bodyWordCount", 7.into()),
        ("a menu", format!("<nav>{}</nav>", words(7)), "visibleWordCount", 0.into()),
    ]);
}

#[test]
fn paywalls_and_article_counters_are_detected() {
    let data =
        "<script type=application/ld+json>{\"@type\":\"Article\",\"isAccessibleForFree\":false}</script>";
    let wall = |attr: &str, phrase: &str| format!("{TEXT}<div class=paywall {attr}>{phrase}</div>");
    let case = |name, html: String, walled: bool| (name, html, "isPaywalled", Value::from(walled));
    hold(&[
        case("a teaser", wall("", "Subscribe to continue."), true),
        case("a hidden paywall", wall("hidden", "Subscribe to continue."), false),
        case("a counter", wall("", "3 free articles left. Already a subscriber?"), false),
        case("not free by its own data", format!("{data}{TEXT}<p>Already a subscriber?</p>"), true),
        case("the same question on a free page", format!("{TEXT}<p>Already a subscriber?</p>"), false),
    ]);
}

#[test]
fn consent_dialog_text_is_not_content() {
    let dialog = |inside: &str| format!("<div role=dialog>{inside}<button>Agree</button></div>");
    assert_eq!(signals(&dialog(&format!("<h1>Your privacy</h1><p>{}</p>", ASKS.repeat(12)))).1, 0);
    // an article in a dialog, one about cookies without a button, and a dialog as long as a book
    let article = format!("<article><h1>Cookies</h1>{}</article>", ASKS.repeat(12));
    assert!(signals(&dialog(&article)).1 > 150);
    assert!(signals(&format!("<div role=dialog><p>{}</p></div>", ASKS.repeat(12))).1 > 150);
    assert!(signals(&dialog(&format!("<p>{}</p>", ASKS.repeat(80)))).1 > 1000);
}
