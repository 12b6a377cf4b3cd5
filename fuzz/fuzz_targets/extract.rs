//! Extraction of a page: the first byte selects options, the rest is the page.
#![no_main]

use crawl_extract::{Format, Input, LinkStyle, Options, PageExtractor, count_words};
use crawl_fuzz::in_linear_time;
use crawl_model::Extractor;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use url::Url;

static EXTRACTORS: LazyLock<Vec<PageExtractor>> = LazyLock::new(|| {
    let plain = Options::default().with_format(Format::Text).with_blocks(true);
    let everything = Options::default().with_images(true).with_comments(true).with_blocks(true).with_links(LinkStyle::Reference);
    let bare = Options::default().with_tables(false).with_links(LinkStyle::Strip);
    let all = [Options::default(), plain, everything, bare];
    all.into_iter()
        .map(|options| PageExtractor::new(options).expect("the built-in rules are right"))
        .collect()
});

static ADDRESS: LazyLock<Url> = LazyLock::new(|| Url::parse("https://h.test/a/b?c=d").expect("a URL"));

/// Maximum bytes of content per byte of a page. Links become absolute, and each line of a nested list carries
/// the marks of both: a dozen bytes of page give some hundred of content.
const GROWTH: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let extractor = &EXTRACTORS[usize::from(*choice) % EXTRACTORS.len()];
    let content_type = if choice & 0x10 == 0 { Some("text/html; charset=utf-8") } else { None };
    let input = Input::new(bytes).with_url((choice & 0x20 == 0).then_some(&*ADDRESS)).with_content_type(content_type);
    let found = in_linear_time(bytes.len(), || extractor.extract(&input));
    let again = extractor.extract(&input);
    assert_eq!(format!("{found:?}"), format!("{again:?}"));

    let content = &found.content;
    assert!(content.len() <= GROWTH * bytes.len() + 1024, "{} bytes became {}", bytes.len(), content.len());
    assert_eq!(content.trim_matches('\n'), content);
    assert!(!content.contains(['\r', '\0']), "{content:?}");
    assert_eq!(found.word_count, count_words(content));
    assert!(found.blocks.len() <= bytes.len());
    for (at, link) in found.links.iter().enumerate() {
        assert!(link.url.starts_with("http://") || link.url.starts_with("https://"), "{}", link.url);
        assert!(!link.url.contains('#'), "{}", link.url);
        assert!(found.links[..at.min(64)].iter().all(|other| other.url != link.url), "twice: {}", link.url);
    }
    // No extractor means no content, and vice versa.
    assert_eq!(content.is_empty(), found.extractor == Extractor::None, "{:?}", found.extractor);
});
