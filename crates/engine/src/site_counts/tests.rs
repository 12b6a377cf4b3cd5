//! The evidence of hosts over forms of a page, evictions and processes.

use super::*;
use crawl_extract::Options;
use crawl_model::{Extractor, Frontier, RunStore};
use crawl_store::MemoryStore;
use url::Url;

/// A page whose text stands in a part that no rule takes.
fn page(n: usize) -> String {
    let name = |n: usize| -> String { n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect() };
    let words: Vec<String> = (0..30).map(|k| format!("rope{}", name(n * 31 + k))).collect();
    format!(
        "<html><body><nav><a href=/>Home</a></nav><main></main><aside class=sidebar><p>{}.</p></aside></body></html>",
        words.join(" ")
    )
}

struct Crawl {
    store: MemoryStore,
    extractor: PageExtractor,
}

impl Crawl {
    fn new() -> Self {
        let store = MemoryStore::new();
        store.begin_round().unwrap();
        Self { store, extractor: PageExtractor::new(Options::default()).unwrap() }
    }

    fn read(&self, counts: &SiteCounts, url: &str, html: &str, words_before: Option<u32>) -> SitePage {
        let url = Url::parse(url).unwrap();
        let host = HostKey::of(&url).unwrap();
        let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
        let visit = Visit { host: &host, url: url.as_str(), is_known: false, words_before };
        counts.extract(&self.store, &self.extractor, &input, &visit).unwrap()
    }

    fn decision(&self, counts: &SiteCounts, url: &str) -> PageDecision {
        counts.take_decision(&self.store, &host(url), url).unwrap()
    }
}

fn host(url: &str) -> HostKey {
    HostKey::of(&Url::parse(url).unwrap()).unwrap()
}

#[test]
fn pages_are_decided_by_later_pages() {
    let (crawl, counts) = (Crawl::new(), SiteCounts::default());
    let url = |n: usize| format!("https://harbour.example/log/{n}");
    for n in 0..4 {
        let read = crawl.read(&counts, &url(n), &page(n), None);
        assert!(read.is_undecided && read.is_doubtful, "{n}");
    }
    // written before its check
    assert_eq!(crawl.decision(&counts, &url(0)), PageDecision::Undecided);
    let fifth = crawl.read(&counts, &url(4), &page(4), None);
    assert_eq!(fifth.extraction.extractor, Extractor::SiteTemplate);
    assert_eq!(
        [1, 1, 4].map(|n| crawl.decision(&counts, &url(n))),
        [PageDecision::Missed, PageDecision::Unknown, PageDecision::Unknown]
    );
    assert_eq!(counts.due_again(), 1);
    crawl.store.begin_round().unwrap();
    assert_eq!(due_again(&crawl.store).unwrap(), [url(0)]);
}

#[test]
fn last_version_of_a_page_is_decided() {
    let (crawl, counts) = (Crawl::new(), SiteCounts::default());
    let url = |n: usize| format!("https://harbour.example/log/{n}");
    crawl.read(&counts, &url(0), &page(0), None);
    // in the rendered page the rules find the text
    let rendered = page(0).replace("<aside class=sidebar>", "<article>").replace("</aside>", "</article>");
    crawl.read(&counts, &url(0), &rendered, Some(30));
    (1..8).for_each(|n| drop(crawl.read(&counts, &url(n), &page(n), None)));
    assert_ne!(crawl.decision(&counts, &url(0)), PageDecision::Missed);
    counts.complete(&crawl.store, &host(&url(0))).unwrap();
    assert_eq!(counts.due_again(), 0);
}

#[test]
fn site_counts_survive_an_eviction() {
    let crawl = Crawl::new();
    let counts = SiteCounts { max_bytes: 8_000, ..SiteCounts::default() };
    let url = |host: usize, n: usize| format!("https://h{host}.example/log/{n}");
    for n in 0..8 {
        for host in 0..20 {
            let read = crawl.read(&counts, &url(host, n), &page(n), None);
            let mended = read.extraction.extractor == Extractor::SiteTemplate;
            assert_eq!(mended, n >= 4, "page {n} of host {host}");
            let sites = lock(&counts.sites);
            assert_eq!(sites.bytes, sites.by_host.values().map(|entry| entry.bytes).sum::<usize>());
            assert!(
                sites.bytes <= 8_000 && sites.by_host.len() < 20,
                "{} of {}",
                sites.bytes,
                sites.by_host.len()
            );
        }
    }
}

#[test]
fn undecided_urls_survive_a_restart() {
    let crawl = Crawl::new();
    let url = |n: usize| format!("https://harbour.example/log/{n}");
    let killed = SiteCounts::default();
    crawl.read(&killed, &url(0), &page(0), None);
    assert_eq!(crawl.decision(&killed, &url(0)), PageDecision::Undecided);
    let next = SiteCounts::default();
    (1..9).for_each(|n| drop(crawl.read(&next, &url(n), &page(n), None)));
    assert_eq!(next.due_again(), 0);
    next.complete(&crawl.store, &host(&url(0))).unwrap();
    assert_eq!(next.due_again(), 1);
    let sites = missed_sites(&crawl.store).unwrap();
    next.save(&crawl.store).unwrap();
    assert_eq!((sites.len(), sites[0].due_again), (1, 1));
    assert_eq!(missed_sites(&crawl.store).unwrap()[0].templates[0].template, "body > aside.sidebar > p");
}

#[test]
fn usual_pages_are_sampled_and_a_late_failure_is_noticed() {
    let (crawl, counts) = (Crawl::new(), SiteCounts::default());
    let url = |n: usize| format!("https://harbour.example/log/{n}");
    let usual =
        |n: usize| page(n).replace("<aside class=sidebar>", "<article>").replace("</aside>", "</article>");
    let counted = || {
        counts.save(&crawl.store).unwrap();
        saved::evidence(&crawl.store, &host(&url(0))).unwrap().unwrap().evidence.pages()
    };
    for n in 0..400 {
        let read = crawl.read(&counts, &url(n), &usual(n), None);
        assert!(n < 5 || !read.is_undecided, "{n}");
    }
    let usual_pages = counted();
    assert!((210..250).contains(&usual_pages), "{usual_pages}");
    // the text moves to a part that no rule takes
    let mended = |n: &usize| {
        crawl.read(&counts, &url(*n), &page(*n), None).extraction.extractor == Extractor::SiteTemplate
    };
    let first = (400..500).find(mended).unwrap();
    assert!(first < 450 && counted() >= usual_pages + 5, "{first}");
    assert!((first + 1..500).all(|n| mended(&n)));
}

#[test]
fn page_of_an_earlier_round_is_not_counted_again() {
    let crawl = Crawl::new();
    let url = |n: usize| format!("https://harbour.example/log/{n}");
    let first = SiteCounts::default();
    (0..10).for_each(|n| drop(crawl.read(&first, &url(n), &page(n), None)));
    first.save(&crawl.store).unwrap();
    crawl.store.begin_round().unwrap();
    let next = SiteCounts::default();
    for n in 0..20 {
        let (url, html) = (Url::parse(&url(n)).unwrap(), page(n));
        let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
        let visit =
            Visit { host: &host(url.as_str()), url: url.as_str(), is_known: n < 10, words_before: None };
        let read = next.extract(&crawl.store, &crawl.extractor, &input, &visit).unwrap();
        assert_eq!(read.extraction.extractor, Extractor::SiteTemplate, "{n}");
    }
    next.save(&crawl.store).unwrap();
    let saved = saved::evidence(&crawl.store, &host(&url(0))).unwrap().unwrap();
    assert_eq!(saved.evidence.pages(), 20);
}

#[test]
fn unreadable_site_evidence_is_rebuilt() {
    let crawl = Crawl::new();
    for name in ["site:", "site_missed:", "site_unjudged:"] {
        crawl.store.put(&format!("{name}harbour.example"), "{\"version\": 99}").unwrap();
    }
    let read = crawl.read(&SiteCounts::default(), "https://harbour.example/log/1", &page(1), None);
    assert!(read.is_undecided);
}
