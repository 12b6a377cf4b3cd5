use super::*;
use flate2::{Compression, write::GzEncoder};
use std::{cell::Cell, io::Write};

fn parse(text: &str) -> Result<Sitemap, SitemapError> {
    parse_bytes(text.as_bytes())
}

fn parse_bytes(bytes: &[u8]) -> Result<Sitemap, SitemapError> {
    parse_sitemap(bytes, &Url::parse("https://h.test/dir/map.xml").unwrap(), &SitemapLimits::default())
}

fn found(sitemap: &Sitemap) -> Vec<(&str, Option<&str>)> {
    sitemap.entries.iter().map(|e| (e.url.as_str(), e.lastmod.as_deref())).collect()
}

const URLSET: &str = "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='i'>\
    <url><loc> https://h.test/a?x&amp;y#f </loc><image:image><image:loc>https://h.test/no.jpg</image:loc></image:image>\
    <lastmod>2024-05-01</lastmod></url>\
    <url><lastmod>2024-05-02</lastmod><loc><![CDATA[/b]]></loc></url>\
    <url><loc>mailto:x@y.z</loc></url></urlset>";

#[test]
fn urlset_with_all_elements_is_parsed() {
    let sitemap = parse(URLSET).unwrap();
    assert_eq!((sitemap.kind, sitemap.damaged, sitemap.truncated), (SitemapKind::UrlSet, false, false));
    assert_eq!(
        found(&sitemap),
        [("https://h.test/a?x&y", Some("2024-05-01")), ("https://h.test/b", Some("2024-05-02"))]
    );
}

#[test]
fn gzip_bom_whitespace_and_charsets_are_accepted() {
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(URLSET.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    assert_eq!(parse_bytes(&gz).unwrap().entries.len(), 2);
    assert!(parse_bytes(&gz[..gz.len() - 30]).unwrap().truncated);
    assert_eq!(parse_bytes(&gz[..12]), Err(SitemapError::Compression));
    assert_eq!(parse(&format!("\u{feff}\n \t{URLSET}")).unwrap().entries.len(), 2);
    let utf16: Vec<u8> = format!("\u{feff}{URLSET}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(parse_bytes(&utf16).unwrap().entries.len(), 2);
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>/caf\xe9</loc></url></urlset>";
    assert_eq!(found(&parse_bytes(latin).unwrap()), [("https://h.test/caf%C3%A9", None)]);
}

#[test]
fn index_rss_rdf_atom_and_text_are_parsed() {
    let index = "<sm:sitemapindex><sm:sitemap><sm:loc>/1.xml</sm:loc><sm:loc>/2.xml</sm:loc><sm:lastmod>x</sm:lastmod>\
        </sm:sitemap><sm:sitemap>\nhttps://h.test/3.xml?a&amp;b\n</sm:sitemap></sm:sitemapindex>";
    let index = parse(index).unwrap();
    assert_eq!(index.kind, SitemapKind::Index);
    assert_eq!(
        found(&index),
        [
            ("https://h.test/1.xml", None),
            ("https://h.test/2.xml", Some("x")),
            ("https://h.test/3.xml?a&b", None)
        ]
    );
    let rss = "<rss><channel><link>/home</link><item><link>/1</link><guid>no</guid><pubDate>d</pubDate></item>\
        <item><guid isPermaLink='false'>https://h.test/2</guid></item></channel></rss>";
    assert_eq!(found(&parse(rss).unwrap()), [("https://h.test/1", Some("d")), ("https://h.test/2", None)]);
    let rdf = "<rdf:RDF><channel/><item rdf:about='https://h.test/r'><dc:date>d</dc:date></item></rdf:RDF>";
    assert_eq!(found(&parse(rdf).unwrap()), [("https://h.test/r", Some("d"))]);
    let atom = "<feed><link href='/home'/><entry><link rel='self' href='/no'/><link href='/yes'/>\
        <updated>u</updated><content><entry/><link href='/inner'/></content></entry></feed>";
    let atom = parse(atom).unwrap();
    assert_eq!((atom.kind, found(&atom)), (SitemapKind::Atom, vec![("https://h.test/yes", Some("u"))]));
    let text = parse("https://h.test/1\r\n\r\nrubbish\nhttps://h.test/2\n").unwrap();
    assert_eq!((text.kind, text.entries.len(), text.damaged), (SitemapKind::Text, 2, true));
}

#[test]
fn json_feed_is_parsed() {
    let items = r#"{"id": 1, "url": "https://h.test/\u0061", "date_published": "p", "content_html": "<p>"}, {}, 7, "x", [1],
        {"id": "2", "url": "b", "date_published": "p", "date_modified": "m"}, {"url": null}, {"url": {"a": [1]}, "date_modified": 1.5},
        {"url": "c", "date_published": 1700000000, "url_": true}"#;
    let feed = |items: &str| {
        format!(
            r#"{{"title": "F", "author": {{"name": ["x", 1]}}, "items": [{items}], "version": "https://jsonfeed.org/version/1.1"}}"#
        )
    };
    let sitemap = parse(&format!("\u{feff}{}\n", feed(items))).unwrap();
    let want = vec![
        ("https://h.test/a", Some("p")),
        ("https://h.test/dir/b", Some("m")),
        ("https://h.test/dir/c", None),
    ];
    assert_eq!((sitemap.kind, sitemap.damaged, found(&sitemap)), (SitemapKind::Json, false, want.clone()));
    let first =
        format!("{{\"version\": \"https://jsonfeed.org/version/1\", \"items\": [{items}, {{\"url\": \"d");
    let cut = parse(&first).unwrap();
    assert_eq!((cut.damaged, found(&cut)), (true, want));
    for other in [
        "{}",
        "{\"version\": \"2\", \"items\": []}",
        "{\"version\": 1}",
        "{\"items\": [{\"url\": \"a\"}]",
        "{",
    ] {
        assert!(matches!(parse(other), Err(SitemapError::Unknown(_))), "{other}");
    }
}

/// Items beyond the limit are passed over, and empty ones are not kept.
#[test]
fn json_feed_is_bounded() {
    let feed = format!(
        "{{\"items\": [{}{}{{}}], \"version\": \"{}1\"}}",
        "{},".repeat(100_000),
        "{\"url\": \"a\"},".repeat(9),
        json::VERSIONS
    );
    let (limits, base) =
        (SitemapLimits { entries: 5, ..SitemapLimits::default() }, Url::parse("https://h.test/").unwrap());
    let cut = parse_sitemap(feed.as_bytes(), &base, &limits).unwrap();
    assert_eq!((cut.entries.len(), cut.truncated, cut.damaged), (5, true, false));
    let asked = Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) == 50;
    let stopped = parse_sitemap_until(feed.as_bytes(), &base, &SitemapLimits::default(), &stop).unwrap();
    assert_eq!((stopped.entries.len(), stopped.truncated), (0, true));
}

#[test]
fn entries_before_damage_are_read() {
    for (text, count) in [
        ("<urlset><url><loc>/a?x&y=1</loc></url></urlset>", 1),
        ("<urlset><url><loc>/a</loc></url><url><loc>/b", 1),
        ("<urlset><url><loc>/a</loc></wrong><url><loc>/b</loc></url></urlset>", 1),
        ("<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url><!-- never closed", 2),
        ("<urlset><url><loc>/a&undeclared;b</loc></url><url><loc>/b</loc></url></urlset>", 1),
    ] {
        assert!(parse(text).unwrap().entries.len() >= count, "{text}");
    }
}

#[test]
fn entities_are_never_expanded() {
    let laughs = "<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><urlset><url><loc>http://x/&b;</loc></url></urlset>";
    assert_eq!(parse(laughs), Err(SitemapError::Entities));
    let external = "<!DOCTYPE l SYSTEM 'file:///etc/passwd'><urlset><url><loc>/a</loc></url></urlset>";
    assert_eq!(parse(external).unwrap().entries.len(), 1, "a type that is only named is never fetched");
}

#[test]
fn non_sitemap_content_is_refused() {
    for text in ["", "<html><body/></html>", "just words", "<?xml version='1.0'?>", "{\"a\":1}"] {
        assert!(matches!(parse(text), Err(SitemapError::Unknown(_))), "{text}");
    }
}

#[test]
fn sitemap_limits_truncate_the_result() {
    let many: String = (0..100).map(|n| format!("<url><loc>/{n}</loc></url>")).collect();
    let many = format!("<urlset>{many}</urlset>");
    let base = Url::parse("https://h.test/").unwrap();
    let few = SitemapLimits { entries: 10, ..SitemapLimits::default() };
    let cut = parse_sitemap(many.as_bytes(), &base, &few).unwrap();
    assert_eq!((cut.entries.len(), cut.truncated, cut.damaged), (10, true, false));
    let short = SitemapLimits { bytes: 300, ..SitemapLimits::default() };
    let cut = parse_sitemap(many.as_bytes(), &base, &short).unwrap();
    assert!(cut.truncated && cut.entries.len() < 20);
    let mut gz = GzEncoder::new(Vec::new(), Compression::best());
    gz.write_all(b"<urlset>").unwrap();
    gz.write_all(&vec![b' '; 20 << 20]).unwrap();
    let bomb = gz.finish().unwrap();
    let small = SitemapLimits { bytes: 1 << 20, ..SitemapLimits::default() };
    assert!(parse_sitemap(&bomb, &base, &small).unwrap().truncated);
    let deep = format!("<urlset>{}", "<a>".repeat(1_000_000));
    assert!(parse(&deep).unwrap().damaged);
}

#[test]
fn strict_location_keeps_urls_of_the_own_directory() {
    let strict = SitemapLimits { strict_location: true, ..SitemapLimits::default() };
    let text = "https://h.test/dir/a\nhttps://h.test/dirt\nhttp://h.test/dir/a\nhttps://o.test/dir/a\nhttps://h.test/";
    let base = Url::parse("https://h.test/dir/map.xml").unwrap();
    let sitemap = parse_sitemap(text.as_bytes(), &base, &strict).unwrap();
    assert_eq!(found(&sitemap), [("https://h.test/dir/a", None)]);
}

#[test]
fn overlong_urls_and_dates_are_dropped() {
    let (long, date) = ("x".repeat(5_000), "2026-11-24T22:41:38.000000+00:00".repeat(3));
    let entries = format!(
        "<url><loc>/{long}</loc></url><url><loc>/a</loc><lastmod>{date}</lastmod></url>\
         <url><loc>/b</loc><lastmod>2026-11-24T22:41:38.000000+00:00</lastmod></url>"
    );
    let sitemap = parse(&format!("<urlset>{entries}</urlset>")).unwrap();
    let date = Some("2026-11-24T22:41:38.000000+00:00");
    assert_eq!(found(&sitemap), [("https://h.test/a", None), ("https://h.test/b", date)]);
    let base = Url::parse(&format!("https://h.test/{}/map.xml", "d".repeat(4_090))).unwrap();
    let relative =
        parse_sitemap(b"<urlset><url><loc>1.html</loc></url></urlset>", &base, &SitemapLimits::default());
    assert!(relative.unwrap().entries.is_empty(), "what it is resolved to is too long");
}

#[test]
fn reading_stops_when_the_callback_ends_it() {
    let entries: String = (0..9).map(|n| format!("<url><loc>http://a.test/{n}</loc></url>")).collect();
    let lines: String = (0..9).map(|n| format!("http://a.test/{n}\n")).collect();
    for text in [format!("<urlset>{entries}</urlset>"), lines] {
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) >= 4;
        let base = Url::parse("http://a.test/map.xml").unwrap();
        let found = parse_sitemap_until(text.as_bytes(), &base, &SitemapLimits::default(), &stop).unwrap();
        assert_eq!((found.entries.len(), found.truncated), (4, true));
    }
}
