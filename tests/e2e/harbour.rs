//! The whole fixture site: fetched pages, skipped pages, and the contents of each record.

use crate::{
    run::{self, Done, Sandbox, record, run, url_counts},
    support::{server::Server, site::Site},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Sufficient depth for every page of the site. Of its endless calendar it admits five months before the one
/// on the start page, and five after it.
const DEPTH: &str = "6";

/// Reached months of 2026.
const MONTHS: std::ops::RangeInclusive<u32> = 1..=11;

/// Known from the sitemap alone.
const LISTED_ONLY: &str = "/guides/ice-season.html";

/// Pages that are never requested: by robots.txt, and because only nofollow links lead there.
const LEFT_ALONE: [&str; 4] =
    ["/members/", "/members/minutes.html", "/archive/only-here.html", "/archive/unvouched.html"];

/// Fetched, but kept out of the output: by a meta element, and by a header.
const NOT_INDEXED: [&str; 2] = ["/archive/old-notices.html", "/archive/header-noindex.html"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour")
}

/// A crawl of the site. Each test makes its own: they are fast, and tests may run in separate processes.
struct Crawl {
    server: Server,
    sandbox: Sandbox,
    done: Done,
    records: Vec<Value>,
}

impl Crawl {
    fn new() -> Self {
        let server = Server::start(0, Site::open(&folder()).unwrap()).unwrap();
        let sandbox = Sandbox::new();
        let done =
            run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--depth", DEPTH])).expect(0);
        let records = sandbox.records("out.jsonl");
        Self { server, sandbox, done, records }
    }

    fn record(&self, path: &str) -> &Value {
        record(&self.records, &self.server.url(path))
    }

    fn text(&self, path: &str) -> &str {
        self.record(path)["text"].as_str().unwrap()
    }
}

/// URLs of the folder's HTML files, as the site links to them.
fn pages(folder: &Path, prefix: &str, out: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('_') {
            continue;
        }
        if entry.path().is_dir() {
            pages(&entry.path(), &format!("{prefix}{name}/"), out);
        } else if let Some(stem) = name.strip_suffix(".html") {
            // the second and third list of berths have a query
            let address = match (prefix, stem) {
                ("/berths/", "page-2") => "/berths/?page=2".to_owned(),
                ("/berths/", "page-3") => "/berths/?page=3".to_owned(),
                (_, "index") => prefix.to_owned(),
                _ => format!("{prefix}{name}"),
            };
            out.insert(address);
        }
    }
}

#[test]
fn every_page_becomes_exactly_one_record() {
    let crawl = Crawl::new();
    let mut want = BTreeSet::new();
    pages(&folder(), "/", &mut want);
    assert!(want.len() > 60, "{}", want.len());
    want.retain(|path| !LEFT_ALONE.contains(&path.as_str()) && !NOT_INDEXED.contains(&path.as_str()));
    // one page under two URLs, and the shop's page for missing products
    want.extend(["/index.html".to_owned(), "/shop/winter-sale.html".to_owned()]);
    want.extend(MONTHS.map(|month| format!("/calendar/2026/{month:02}/")));
    let got = url_counts(&crawl.records);
    let want: BTreeMap<String, usize> = want.iter().map(|path| (crawl.server.url(path), 1)).collect();
    let missing: Vec<_> = want.keys().filter(|url| !got.contains_key(*url)).collect();
    let more: Vec<_> = got.iter().filter(|(url, n)| **n > 1 || !want.contains_key(*url)).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "missing {missing:?}\nnot expected {more:?}\n{}",
        crawl.done.stderr
    );
}

#[test]
fn robots_rules_and_exclusions_of_the_site_are_obeyed() {
    let crawl = Crawl::new();
    let asked: BTreeSet<String> = crawl.server.requests().iter().map(|r| r.path().to_owned()).collect();
    assert!(asked.contains("/robots.txt"));
    for path in LEFT_ALONE {
        assert!(!asked.contains(path), "{path} was asked for");
    }
    for path in NOT_INDEXED {
        assert!(asked.contains(path), "{path} had to be read to learn that it must not be indexed");
    }
    // the links of a noindex page are still followed
    assert!(asked.contains("/archive/1998-storm.html"));
    // excluded by their extensions
    assert!(!asked.contains("/files/harbour-dues-2026.pdf") && !asked.contains("/webcam/quay.png"));
}

#[test]
fn sitemap_adds_unlinked_pages() {
    let crawl = Crawl::new();
    assert!(crawl.text(LISTED_ONLY).contains("ice"), "{}", crawl.text(LISTED_ONLY));
    let (server, sandbox) = (Server::start(0, Site::open(&folder()).unwrap()).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--depth", DEPTH, "--no-sitemaps"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), crawl.records.len() - 1);
    assert!(server.requests().iter().all(|r| r.path() != LISTED_ONLY && r.path() != "/sitemap.xml"));
}

#[test]
fn robots_txt_is_requested_once_with_our_user_agent() {
    let crawl = Crawl::new();
    let requests = crawl.server.requests();
    assert_eq!(requests.iter().filter(|r| r.target == "/robots.txt").count(), 1);
    assert_eq!(requests[0].target, "/robots.txt", "it comes before everything else");
    for request in &requests {
        let agent = request.header("user-agent").unwrap_or_default();
        // a mobile client's request ends with the crawler's name
        assert!(
            agent.starts_with("crawl/") || agent.contains("(compatible; crawl/"),
            "{agent:?} for {}",
            request.target
        );
    }
}

#[test]
fn no_page_is_requested_twice() {
    let crawl = Crawl::new();
    let mut times = BTreeMap::new();
    for request in crawl.server.requests() {
        // short pages are also fetched as a mobile client, but no more often
        let mobile = request.header("sec-ch-ua-mobile").is_some();
        *times.entry((request.target, mobile)).or_insert(0) += 1;
    }
    times.retain(|_, n| *n > 1);
    let mut times: BTreeMap<String, i32> = times.into_iter().map(|((target, _), n)| (target, n)).collect();
    // a redirect's target may have been requested before the redirect is met
    times.remove("/docs/tide-endpoint.html");
    times.remove("/timetable/");
    times.retain(|target, _| !target.starts_with("/go/"));
    assert!(times.is_empty(), "{times:?}");
}

#[test]
fn tracking_parameters_and_session_ids_are_dropped() {
    let crawl = Crawl::new();
    for request in crawl.server.requests() {
        for name in ["utm_", "fbclid", "sid=", "jsessionid"] {
            assert!(!request.target.to_lowercase().contains(name), "{}", request.target);
        }
    }
}

#[test]
fn unfetchable_pages_are_in_the_error_log() {
    let crawl = Crawl::new();
    let errors = crawl.sandbox.errors();
    let by_url: BTreeMap<&str, &Value> = errors.iter().map(|e| (e["url"].as_str().unwrap(), e)).collect();
    assert_eq!(by_url.len(), errors.len(), "a URL twice: {errors:?}");
    for (path, status) in [("/news/missing-story.html", 404), ("/news/withdrawn.html", 410)] {
        let error = by_url[crawl.server.url(path).as_str()];
        assert_eq!(error["status"], status, "{error}");
        assert_eq!(error["stage"], "fetch", "{error}");
        assert_eq!(error["attempts"], 1, "what is gone is not asked for again: {error}");
        assert!(
            !error["message"].as_str().unwrap().is_empty() && !error["kind"].as_str().unwrap().is_empty()
        );
    }
    let looping = by_url[crawl.server.url("/go/round").as_str()];
    assert_eq!(looping["kind"], "redirect_loop", "{looping}");
    let disallowed = by_url[crawl.server.url("/members/minutes.html").as_str()];
    assert_eq!(
        (&disallowed["stage"], &disallowed["status"]),
        (&"robots".into(), &Value::Null),
        "{disallowed}"
    );
    assert!(
        disallowed["message"].as_str().unwrap().contains("Disallow: /members/"),
        "names the rule: {disallowed}"
    );
    assert_eq!(errors.len(), 4, "{errors:?}");
}

#[test]
fn redirects_end_at_their_target() {
    let crawl = Crawl::new();
    assert!(crawl.text("/timetable/").contains("Elsa Brandt"));
    let got = url_counts(&crawl.records);
    for path in ["/old-timetable.html", "/go/tides", "/go/tides-v2", "/go/weather"] {
        assert!(!got.contains_key(&crawl.server.url(path)), "{path} is no page");
    }
}

#[test]
fn texts_hold_the_page_without_its_frame() {
    let crawl = Crawl::new();
    // menu, sidebar, footer, consent banner, and the strip that only counting distinguishes from the content
    let frame = [
        "Pontoon talk Ferry",
        "Today at the pier head",
        "High water 14.52",
        "Set by hand and by the tide",
        "Watch on channel 12, day and night",
        "biscuits",
        "Accept all",
        "tide bulletin comes by post card",
    ];
    // on lists the strip has another position than on the pages that prove it: it stays there, since text at
    // another position may be content
    let is_list = |record: &Value| {
        record["url"].as_str().is_some_and(|url| url.contains("/news/page/") || url.ends_with("/news/"))
    };
    let kept = |record: &Value, part: &str| part.starts_with("tide bulletin") && is_list(record);
    let mut found = Vec::new();
    for record in &crawl.records {
        let text = record["text"].as_str().unwrap();
        assert!(!text.trim().is_empty(), "empty: {}", record["url"]);
        found.extend(
            frame
                .iter()
                .filter(|part| text.contains(**part) && !kept(record, part))
                .map(|part| (record["url"].to_string(), part)),
        );
        let menu = ["News", "Berths", "Ferry", "Guides", "Open data", "Shop"];
        if menu.iter().filter(|name| text.lines().any(|l| l.contains(&format!("[{name}](")))).count() > 3 {
            found.push((record["url"].to_string(), &"the menu"));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn content_keeps_site_boilerplate_and_text_removes_it() {
    let crawl = Crawl::new();
    let strip = "tide bulletin comes by post card";
    let record = crawl.record("/news/seal-on-slipway.html");
    assert!(run::content(record).contains(strip), "the strip is in the middle of the main content");
    assert!(!record["text"].as_str().unwrap().contains(strip));
    let boilerplate = &record["boilerplate"];
    assert_eq!(boilerplate["status"], "applied");
    assert!(boilerplate["blocksRemoved"].as_u64().unwrap() >= 1, "{boilerplate}");
    assert!(boilerplate["bytesRemoved"].as_u64().unwrap() >= strip.len() as u64, "{boilerplate}");
    assert!(boilerplate["pages"].as_u64().unwrap() >= 5, "min_pages were counted: {boilerplate}");
}

#[test]
fn article_has_its_full_text_and_metadata() {
    let crawl = Crawl::new();
    let record = crawl.record("/news/ferry-timetable-summer.html");
    let (text, meta) = (record["text"].as_str().unwrap(), &record["metadata"]);
    for part in [
        "eleven crossings a day",
        "22.40",
        "Monday to Thursday",
        "piano that crosses every August",
        "Corrected on 4 May",
    ] {
        assert!(text.contains(part), "{part:?} is missing from\n{text}");
    }
    assert!(text.contains('|'), "the timetable is a table:\n{text}");
    assert_eq!(meta["title"], "Summer ferry: an extra boat on Fridays and none at noon");
    assert_eq!(meta["author"], "Ines Calloway");
    assert_eq!(meta["published"], "2026-04-30");
    assert_eq!(meta["modified"], "2026-05-04");
    assert_eq!(meta["siteName"], "Aldermere Harbour");
    assert_eq!(meta["language"], "en");
    assert_eq!(meta["statusCode"], 200);
    assert_eq!(meta["contentType"], "text/html");
    assert_eq!(meta["isArticle"], true);
    assert_eq!(meta["canonical"], crawl.server.url("/news/ferry-timetable-summer.html"));
    assert!(meta["description"].as_str().unwrap().starts_with("From 16 May the Holm ferry"));
    assert_eq!(record["schema_version"], 2);
    assert_eq!(record["id"].as_str().unwrap().len(), 32);
}

#[test]
fn documentation_keeps_its_code_and_tables() {
    let crawl = Crawl::new();
    let text = crawl.text("/docs/getting-started.html");
    assert!(
        text.contains("```") && text.contains("    tide = json.load(answer)"),
        "indentation is kept:\n{text}"
    );
    let table = crawl.text("/docs/tide-endpoint.html");
    assert!(table.lines().any(|l| l.starts_with('|') && l.contains("RFC 3339")), "{table}");
}

#[test]
fn thread_record_has_every_post() {
    let crawl = Crawl::new();
    let text = crawl.text("/forum/thread-118.html");
    for part in [
        "two of us on eleven metres",
        "like a book on a shelf",
        "hold the cake",
        "like a lift in a good hotel",
    ] {
        assert!(text.contains(part), "{part:?} is missing from\n{text}");
    }
}

#[test]
fn declared_charsets_are_decoded() {
    let crawl = Crawl::new();
    let german = crawl.record("/de/");
    assert!(german["text"].as_str().unwrap().contains("500 Kronen – nicht für 500 €"), "{}", german["text"]);
    assert_eq!(german["metadata"]["language"], "de");
    assert_eq!(german["metadata"]["description"], "Kurz gefaßt für Gäste aus deutschsprachigen Häfen.");
    assert!(crawl.text("/de/liegeplaetze.html").contains("Müll, Altöl und Grüße"));
    let japanese = crawl.record("/ja/tides.html");
    assert!(japanese["text"].as_str().unwrap().contains("十二分の一の法則"), "{}", japanese["text"]);
    assert_eq!(japanese["metadata"]["title"], "潮汐表の読み方");
    assert_eq!(japanese["metadata"]["language"], "ja");
    for record in &crawl.records {
        assert!(!record["text"].as_str().unwrap().contains('\u{fffd}'), "{}", record["url"]);
    }
}

/// The same story under two URLs, the start page under two, a print version with its canonical URL. Exactly
/// one of each pair is marked, and names the other.
#[test]
fn duplicates_name_the_record_that_came_first() {
    let crawl = Crawl::new();
    for (one, other) in [
        ("/news/dredging-starts.html", "/press/dredging-starts.html"),
        ("/", "/index.html"),
        ("/guides/visitor-guide.html", "/print/visitor-guide.html"),
    ] {
        let (one, other) = (crawl.record(one), crawl.record(other));
        let named = |r: &Value| r["metadata"]["duplicateOf"].as_str().map(str::to_owned);
        let pair = (named(one), named(other));
        let id = |r: &Value| r["id"].as_str().map(str::to_owned);
        assert!(pair == (None, id(one)) || pair == (id(other), None), "{}: {pair:?}", one["url"]);
        assert_eq!(one["metadata"]["contentHash"], other["metadata"]["contentHash"]);
    }
    let marked = crawl.records.iter().filter(|r| !r["metadata"]["duplicateOf"].is_null()).count();
    assert_eq!(marked, 3, "nothing else is a duplicate");
}

#[test]
fn record_links_are_canonical_and_unique() {
    let crawl = Crawl::new();
    for record in &crawl.records {
        let links: Vec<&str> =
            record["links"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
        let once: BTreeSet<&str> = links.iter().copied().collect();
        assert_eq!(once.len(), links.len(), "{}: {links:?}", record["url"]);
    }
    let staff = crawl.record("/about/staff.html")["links"].to_string();
    assert!(staff.contains(&crawl.server.url("/guides/reading-the-tide.html")), "base href counts: {staff}");
}

#[test]
fn summary_has_the_counts_and_file_names() {
    let crawl = Crawl::new();
    let stderr = &crawl.done.stderr;
    for part in [crawl.records.len().to_string().as_str(), "out.jsonl", "errors.jsonl"] {
        assert!(stderr.contains(part), "{part} is not in the summary:\n{stderr}");
    }
}
