//! Properties that hold for every input. `PROPTEST_CASES` sets the number of cases; failures stay in
//! `proptest-regressions`.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use crawl_fetch::{
    Canonicalizer, IdnForm, PageWorth, RobotsTxt, SitemapLimits, TrapSettings, Traps, UrlFilter,
    parse_seed_line, parse_sitemap, x_robots_tag,
};
use crawl_model::Headers;
use proptest::prelude::*;
use std::sync::LazyLock;
use url::Url;

static FILTER: LazyLock<UrlFilter> = LazyLock::new(|| UrlFilter::new(true, &[], &[]).unwrap());

/// Text of the parsers' keywords, so that random input passes the first character.
fn robots_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"User-agent: ".to_vec()),
        Just(b"disallow:".to_vec()),
        Just(b"Allow: /".to_vec()),
        Just(b"Crawl-delay: ".to_vec()),
        Just(b"sitemap:".to_vec()),
        Just(b"*".to_vec()),
        Just(b"$".to_vec()),
        Just(b"%2".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"#".to_vec()),
        Just(b"<br>".to_vec()),
        Just(b"crawl".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..12),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn url_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("/".to_owned()),
        Just("//".to_owned()),
        Just("..".to_owned()),
        Just("%2".to_owned()),
        Just("%".to_owned()),
        Just("%7e".to_owned()),
        Just("?".to_owned()),
        Just("&".to_owned()),
        Just("=".to_owned()),
        Just(";jsessionid=1".to_owned()),
        Just("utm_source=x".to_owned()),
        Just("#".to_owned()),
        Just("xn--".to_owned()),
        Just("ü".to_owned()),
        Just(":80".to_owned()),
        "[a-zA-Z0-9.@\\[\\]|^{} +-]{0,8}",
        any::<String>().prop_map(|s| s.chars().take(4).collect()),
    ];
    (
        prop_oneof![Just("http://h.test/"), Just("https://"), Just("//"), Just("")],
        proptest::collection::vec(piece, 0..12),
    )
        .prop_map(|(head, pieces)| format!("{head}{}", pieces.concat()))
}

fn sitemap_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("<urlset>".to_owned()),
        Just("<url>".to_owned()),
        Just("<loc>".to_owned()),
        Just("</loc>".to_owned()),
        Just("</url>".to_owned()),
        Just("<sitemap>".to_owned()),
        Just("<rss><item><link>".to_owned()),
        Just("<feed><entry><link href='/a'/>".to_owned()),
        Just("<lastmod>".to_owned()),
        Just("<![CDATA[".to_owned()),
        Just("]]>".to_owned()),
        Just("&amp;".to_owned()),
        Just("&x;".to_owned()),
        Just("<!DOCTYPE a [".to_owned()),
        Just("<?xml encoding='latin1'?>".to_owned()),
        Just("http://h.test/a\n".to_owned()),
        any::<String>().prop_map(|s| s.chars().take(6).collect()),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_robots_txt_parses_and_gives_verdicts(robots in robots_like(), path in url_like()) {
        let parsed = RobotsTxt::parse(&robots);
        let rules = parsed.rules("crawl");
        let verdict = rules.verdict_of_path(&path);
        prop_assert_eq!(verdict.line.is_none(), verdict.rule.is_none());
        prop_assert!(verdict.allowed || verdict.line.is_some());
    }

    #[test]
    fn a_star_matches_what_a_search_for_the_pieces_matches(pattern in "/[ab*]{0,12}\\$?", path in "/[ab]{0,16}") {
        // the same rule as a regular expression
        let anchored = pattern.ends_with('$');
        let regex = format!("^{}{}", pattern.trim_end_matches('$').replace('*', ".*"), if anchored { "$" } else { "" });
        let expected = regex::Regex::new(&regex).unwrap().is_match(&path);
        let robots = format!("user-agent: *\ndisallow: {pattern}");
        let found = !RobotsTxt::parse(robots.as_bytes()).rules("crawl").verdict_of_path(&path).allowed;
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn canonicalization_is_idempotent(text in url_like()) {
        let canonicalizer = Canonicalizer::default();
        if let Ok(once) = canonicalizer.parse(&text) {
            prop_assert_eq!(&canonicalizer.canonical(&once), &once);
            prop_assert_eq!(canonicalizer.parse(once.as_str()), Ok(once.clone()));
            prop_assert!(once.fragment().is_none() && once.username().is_empty());
            prop_assert!(once.as_str().is_ascii());
        }
        let _ = canonicalizer.canonical_text(&text, IdnForm::Unicode);
    }

    #[test]
    fn url_filters_and_traps_accept_any_url(text in url_like()) {
        let traps = Traps::new(TrapSettings::default(), 2026);
        if let Ok(url) = Url::parse(&text) {
            let _ = FILTER.classify(&url);
            let _ = traps.classify(&url);
            let _ = traps.charge_fetch(&url);
            traps.learn(&url, PageWorth::New);
            let _ = crawl_fetch::probe_url(&url, 1);
        }
        let _ = parse_seed_line(&text);
    }

    #[test]
    fn a_sitemap_gives_absolute_urls_or_an_error(bytes in sitemap_like()) {
        let base = Url::parse("https://h.test/map.xml").unwrap();
        let limits = SitemapLimits { entries: 10, ..SitemapLimits::default() };
        if let Ok(sitemap) = parse_sitemap(&bytes, &base, &limits) {
            prop_assert!(sitemap.entries.len() <= 10);
            for entry in sitemap.entries {
                prop_assert!(matches!(entry.url.scheme(), "http" | "https") && entry.url.fragment().is_none());
            }
        }
    }

    #[test]
    fn robots_and_tdm_headers_accept_any_value(value in any::<String>()) {
        let headers = Headers(vec![("x-robots-tag".into(), value.clone()), ("tdm-reservation".into(), value)]);
        let _ = x_robots_tag(&headers, "crawl");
        let _ = crawl_fetch::tdm_header(&headers);
    }
}
