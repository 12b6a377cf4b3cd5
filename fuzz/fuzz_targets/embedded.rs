//! JSON-LD and framework data in a page: the first byte selects the position, the rest is the data.
#![no_main]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_fuzz::in_linear_time;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use url::Url;

static EXTRACTOR: LazyLock<PageExtractor> =
    LazyLock::new(|| PageExtractor::new(Options::default()).expect("the built-in rules are right"));

static ADDRESS: LazyLock<Url> = LazyLock::new(|| Url::parse("https://h.test/a/b").expect("a URL"));

/// Maximum bytes of content per byte of a page, as for whole pages.
const GROWTH: usize = 64;

/// Markup before and after the data.
const PLACES: [(&str, &str); 7] = [
    ("<script type=application/ld+json>", "</script>"),
    ("<script id=__NEXT_DATA__ type=application/json>", "</script>"),
    ("<script>window.__INITIAL_STATE__ = ", "</script>"),
    ("<script>window.__NUXT__=JSON.parse(\"", "\")</script>"),
    ("<script>self.__next_f.push([1,\"", "\"])</script>"),
    ("<div data-page=\"", "\"></div>"),
    ("<div itemscope itemtype=https://schema.org/Article><p itemprop=articleBody>", "</p></div>"),
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let (before, behind) = PLACES[usize::from(*choice) % PLACES.len()];
    let mut data = String::from_utf8_lossy(data).into_owned();
    if behind.starts_with("\">") {
        data = data.replace('&', "&amp;").replace('"', "&quot;");
    }
    let html = format!("<!doctype html><title>t</title><body>{before}{data}{behind}<p>Text.</p>");
    let input =
        Input::new(html.as_bytes()).with_url(&ADDRESS).with_content_type("text/html; charset=utf-8");
    let found = in_linear_time(html.len(), || EXTRACTOR.extract(&input));
    assert_eq!(format!("{found:?}"), format!("{:?}", EXTRACTOR.extract(&input)));
    assert!(found.content.len() <= GROWTH * html.len() + 1024, "{} bytes", found.content.len());
    assert!(!found.content.contains(['\r', '\0']), "{:?}", found.content);
    for link in &found.links {
        assert!(link.url.starts_with("http://") || link.url.starts_with("https://"), "{}", link.url);
    }
});
