//! Sitemaps and feeds, compressed or not.
#![no_main]

use crawl_fetch::{SitemapLimits, parse_sitemap};
use crawl_fuzz::in_linear_time;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use url::Url;

static ADDRESS: LazyLock<Url> = LazyLock::new(|| Url::parse("https://h.test/maps/map.xml").expect("a URL"));

const LIMITS: SitemapLimits = SitemapLimits { entries: 64, bytes: 1 << 20, strict_location: false };

fuzz_target!(|data: &[u8]| {
    // A few compressed bytes may unpack to the limit.
    let bytes = if data.starts_with(b"\x1f\x8b") { LIMITS.bytes as usize } else { data.len() };
    let found = in_linear_time(bytes, || parse_sitemap(data, &ADDRESS, &LIMITS));
    assert_eq!(found, parse_sitemap(data, &ADDRESS, &LIMITS));
    let Ok(sitemap) = found else { return };
    assert!(sitemap.entries.len() <= LIMITS.entries);
    assert!(
        !(sitemap.damaged && sitemap.truncated)
            || data.starts_with(b"\x1f\x8b")
            || data.len() as u64 > LIMITS.bytes
    );
    for entry in &sitemap.entries {
        assert!(
            matches!(entry.url.scheme(), "http" | "https") && entry.url.fragment().is_none(),
            "{}",
            entry.url
        );
    }
    // The entries in the directory of the sitemap are a part of all entries.
    let strict = SitemapLimits { strict_location: true, ..LIMITS };
    let under = parse_sitemap(data, &ADDRESS, &strict).expect("the location says nothing about the format");
    assert!(under.entries.iter().all(|entry| sitemap.entries.contains(entry)));
    // The same URLs in a plain list and in a urlset are read back, except for those that percent-encoding
    // lengthens beyond the limit.
    let urls = sitemap.entries.iter().map(|entry| entry.url.as_str()).filter(|url| url.len() <= 16 * 1024);
    let urls: Vec<&str> = urls.collect();
    if urls.is_empty() {
        return;
    }
    let escaped =
        |url: &&str| format!("<url><loc>{}</loc></url>", url.replace('&', "&amp;").replace('<', "&lt;"));
    let xml = format!("<urlset>{}</urlset>", urls.iter().map(escaped).collect::<String>());
    for text in [urls.join("\n"), xml] {
        let again = parse_sitemap(text.as_bytes(), &ADDRESS, &LIMITS).expect("a list of URLs is a sitemap");
        let read: Vec<&str> = again.entries.iter().map(|entry| entry.url.as_str()).collect();
        assert_eq!(read, urls, "{text}");
        assert!(!again.damaged && !again.truncated);
    }
});
