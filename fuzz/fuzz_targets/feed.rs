//! Feeds: RSS, RDF and Atom.
#![no_main]

use crawl_fetch::{SitemapKind, SitemapLimits, parse_sitemap};
use crawl_fuzz::in_linear_time;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use url::Url;

static ADDRESS: LazyLock<Url> = LazyLock::new(|| Url::parse("https://h.test/blog/feed").expect("a URL"));

const LIMITS: SitemapLimits = SitemapLimits { entries: 64, bytes: 1 << 20, strict_location: false };

/// Longest element that is read, in bytes: percent-encoding may lengthen a URL.
const MAX_TEXT: usize = 16 << 10;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b"\x1f\x8b") {
        return; // the target `sitemap` has compressed files
    }
    let found = in_linear_time(data.len(), || parse_sitemap(data, &ADDRESS, &LIMITS));
    assert_eq!(found, parse_sitemap(data, &ADDRESS, &LIMITS));
    let Ok(feed) = found else { return };
    assert!(feed.entries.len() <= LIMITS.entries);
    let mut entries = Vec::new();
    for entry in &feed.entries {
        assert!(matches!(entry.url.scheme(), "http" | "https") && entry.url.fragment().is_none());
        assert!(entry.lastmod.as_ref().is_none_or(|date| date.len() <= 64), "{:?}", entry.lastmod);
        if entry.url.as_str().len() <= MAX_TEXT {
            entries.push(entry.url.as_str());
        }
    }
    if entries.is_empty() {
        return;
    }
    // The same URLs in either kind of feed are read back.
    let items =
        entries.iter().map(|url| format!("<item><title>t</title><link>{}</link></item>", escaped(url)));
    let rss = format!(
        "<rss version=\"2.0\"><channel><title>t</title>{}</channel></rss>",
        items.collect::<String>()
    );
    let items = entries.iter().map(|url| format!("<entry><link href=\"{}\"/></entry>", escaped(url)));
    let atom = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{}</feed>", items.collect::<String>());
    for (text, kind) in [(rss, SitemapKind::Rss), (atom, SitemapKind::Atom)] {
        let again = parse_sitemap(text.as_bytes(), &ADDRESS, &LIMITS).expect("a feed");
        let read: Vec<&str> = again.entries.iter().map(|entry| entry.url.as_str()).collect();
        assert_eq!((read, again.kind), (entries.clone(), kind), "{text}");
        assert!(!again.damaged && !again.truncated);
    }
});
