//! Recrawls: rounds over URLs of earlier rounds.

use crate::*;
use crawl_model::{Before, BodyHash, KnownUrl, RulesVersion, TextHash, Visits};

/// History of a page with this text after a visit at this time.
fn page(text: &str, at: i64) -> PageHistory {
    PageHistory {
        status: Some(200),
        etag: Some(format!("\"{text}\"")),
        last_modified: Some("Thu, 01 Jan 1970 00:00:00 GMT".into()),
        sitemap_lastmod: None,
        content_hash: Some(ContentHash::of(text)),
        text_hash: Some(TextHash::of(&text.to_uppercase())),
        body_hash: Some(BodyHash::of(text.as_bytes(), None)),
        rules: Some(RulesVersion(-7)),
        strategy: Some(Strategy::Static),
        fetched_at_ms: Some(at),
    }
}

fn end(store: &impl Store, request: &CrawlRequest, outcome: Outcome, history: PageHistory) {
    let done = Settlement { lease: request.into(), outcome, history };
    assert_eq!(store.settle(&[done], &[]).unwrap(), 0);
}

/// Makes a first round in which these URLs of host a became pages.
fn first_round(store: &impl Store, urls: &[&str]) {
    store.begin_round().unwrap();
    enqueue(store, urls);
    for request in lease(store, "a", urls.len()) {
        end(store, &request, Outcome::Record, page(request.url.path(), 10));
    }
}

fn all_known(store: &impl Store) -> Vec<KnownUrl> {
    store.known(RequestId(0), 99).unwrap()
}

fn known_paths(store: &impl Store) -> Vec<String> {
    all_known(store).iter().map(|k| k.url.url.trim_start_matches("https://a").to_owned()).collect()
}

pub fn known_urls_rest_until_revisited(store: &impl Store) {
    first_round(store, &["https://a/1", "https://a/2", "https://a/3"]);
    assert!(!store.is_recrawl().unwrap());
    assert_eq!(store.begin_recrawl(true).unwrap(), 2);
    assert!(store.is_recrawl().unwrap());
    assert_eq!(known_paths(store), ["/1", "/2", "/3"]);
    assert_eq!(enqueue(store, &["https://a/2", "https://a/4"]), added(1, 1));
    assert_eq!(enqueue(store, &["https://a/2"]), added(0, 1));
    assert_eq!(known_paths(store), ["/1", "/2", "/3"], "a link to it does not end its rest");
    assert_eq!(store.counts().unwrap().pending, 1);

    let again = |url: &str| store.revisit(&[new_url(url, 1)]).unwrap().new;
    assert_eq!([again("https://a/2"), again("https://a/2"), again("https://a/5")], [1, 0, 1]);
    assert_eq!(known_paths(store), ["/1", "/3"]);
    let leased = lease(store, "a", 9);
    assert_eq!(paths(&leased), ["/4", "/2", "/5"]);
    let expected = Before {
        content_hash: ContentHash::of("/2"),
        text_hash: Some(TextHash::of("/2")),
        body_hash: Some(BodyHash::of(b"/2", None)),
        rules: Some(RulesVersion(-7)),
        strategy: Some(Strategy::Static),
        status: Some(200),
        read_at_ms: Some(10),
        seen_at_ms: Some(10),
    };
    assert_eq!(leased[1].before.as_deref(), Some(&expected));
    assert_eq!(leased[1].etag.as_deref(), Some("\"/2\""));
    assert!(leased[0].before.is_none() && leased[2].before.is_none());
    settle(store, &leased, Outcome::Failed);
    assert!(store.drained().unwrap(), "what rests is not waited for");
    store.begin_round().unwrap();
    assert!(!store.is_recrawl().unwrap());
    enqueue(store, &["https://a/1"]);
    assert!(one(store, "a").before.is_none(), "a round of its own begins anew");
}

pub fn known_urls_are_listed_with_paging_and_by_url(store: &impl Store) {
    first_round(store, &["https://a/1", "https://a/2", "https://a/3"]);
    store.begin_recrawl(true).unwrap();
    let first = store.known(RequestId(0), 2).unwrap();
    let second = store.known(first[1].id, 2).unwrap();
    assert_eq!((first.len(), second.len()), (2, 1));
    assert_eq!((second[0].outcome, &second[0].history), (Some(Outcome::Record), &page("/3", 10)));
    assert_eq!(second[0].url, new_url("https://a/3", 0));
    let among = |url: &str| store.known_among(&[UrlKey::of("https://a/9"), UrlKey::of(url)]).unwrap();
    assert_eq!(among("https://a/3"), second);
    let listed = NewUrl { sitemap_lastmod: Some("2026-01-01".into()), ..new_url("https://a/3", 4) };
    assert_eq!(store.enqueue(&[listed]).unwrap(), added(0, 1));
    assert_eq!(among("https://a/3")[0].url.sitemap_lastmod.as_deref(), Some("2026-01-01"));
    assert_eq!(among("https://a/3")[0].url.depth, 0);
    store.revisit(&[new_url("https://a/3", 4)]).unwrap();
    assert_eq!(among("https://a/3"), []);
}

pub fn visits_and_changes_are_counted(store: &impl Store) {
    first_round(store, &["https://a/1"]);
    let visit = |outcome, history: PageHistory| {
        store.begin_recrawl(true).unwrap();
        store.revisit(&[new_url("https://a/1", 0)]).unwrap();
        end(store, &one(store, "a"), outcome, history);
        store.begin_recrawl(true).unwrap();
        let known = all_known(store).remove(0);
        store.revisit(&[new_url("https://a/1", 0)]).unwrap();
        let before = one(store, "a").before;
        (known, before)
    };
    let not_modified = PageHistory { status: Some(304), fetched_at_ms: Some(20), ..Default::default() };
    let (known, before) = visit(Outcome::Unchanged, not_modified);
    let visits = Visits { first_ms: Some(10), changed_ms: Some(10), visits: 1, changes: 0 };
    assert_eq!((known.visits, known.outcome), (visits, Some(Outcome::Unchanged)));
    assert_eq!(known.history.etag.as_deref(), Some("\"/1\""), "a 304 keeps what is not given");
    let before = before.unwrap();
    assert_eq!((before.read_at_ms, before.seen_at_ms, before.status), (Some(10), Some(20), Some(304)));

    let (known, _) = visit(Outcome::Record, page("new", 30));
    assert_eq!(known.visits, Visits { visits: 2, changes: 1, changed_ms: Some(30), ..visits });
    let (known, before) = visit(Outcome::Unchanged, page("other body", 40));
    assert_eq!(known.visits, Visits { visits: 3, changes: 1, changed_ms: Some(30), ..visits });
    assert_eq!(before.unwrap().read_at_ms, Some(40), "the body was another one");
    let failed = PageHistory { fetched_at_ms: Some(50), ..Default::default() };
    let (known, before) = visit(Outcome::Failed, failed);
    assert_eq!((known.visits.visits, known.visits.changes), (4, 1));
    assert_eq!(before.unwrap().seen_at_ms, Some(40), "it was not seen");
    let (known, before) = visit(Outcome::Skipped, PageHistory::default());
    assert_eq!((known.visits.visits, known.history.fetched_at_ms), (4, Some(50)), "no request was made");
    assert_eq!(before.unwrap().seen_at_ms, Some(40));
    // the clock was ahead for one visit: the next one of any outcome corrects the last change
    let (known, _) = visit(Outcome::Record, page("of 2100", 4_000));
    assert_eq!(known.visits, Visits { visits: 5, changes: 2, changed_ms: Some(4_000), ..visits });
    let failed = PageHistory { fetched_at_ms: Some(60), ..Default::default() };
    let (known, _) = visit(Outcome::Failed, failed);
    assert_eq!((known.visits.first_ms, known.visits.changed_ms), (Some(10), Some(60)));
    // and the first visit, if its time was wrong
    let (known, _) = visit(Outcome::Unchanged, page("of 2100", 5));
    assert_eq!((known.visits.first_ms, known.visits.changed_ms), (Some(5), Some(5)));
}

pub fn gone_page_is_new_when_it_returns(store: &impl Store) {
    first_round(store, &["https://a/1"]);
    store.begin_recrawl(true).unwrap();
    store.revisit(&[new_url("https://a/1", 0)]).unwrap();
    let request = one(store, "a");
    assert!(
        store.mark_possibly_gone(&request, 50, 404).unwrap()
            && !store.mark_possibly_gone(&request, 50, 404).unwrap()
    );
    assert!(lease(store, "a", 1).is_empty(), "it waits");
    let again = store.lease(&host("a"), Lane::Plain, 1, "w", 50, 100).unwrap().remove(0);
    let before = again.before.clone().unwrap();
    assert_eq!((before.status, before.content_hash), (Some(404), ContentHash::of("/1")));
    let gone = PageHistory { status: Some(404), fetched_at_ms: Some(50), ..Default::default() };
    end(store, &again, Outcome::Gone, gone);
    assert_eq!(
        (store.counts().unwrap().gone, store.became_page(UrlKey::of("https://a/1")).unwrap()),
        (1, false)
    );

    store.begin_recrawl(true).unwrap();
    let known = all_known(store).remove(0);
    assert_eq!((known.outcome, known.history.status), (Some(Outcome::Gone), Some(404)));
    assert_eq!((known.history.content_hash, known.history.etag), (None, None));
    assert_eq!((known.visits.visits, known.visits.changes), (1, 1));
    assert_eq!(enqueue(store, &["https://a/1"]).new, 1, "a link leads there");
    assert!(one(store, "a").before.is_none());
}

pub fn resting_and_unchanged_urls_count_as_pages(store: &impl Store) {
    first_round(store, &["https://a/1", "https://a/2"]);
    store.begin_recrawl(true).unwrap();
    let is_page = |url: &str| store.became_page(UrlKey::of(url)).unwrap();
    assert!(is_page("https://a/1"));
    store.revisit(&[new_url("https://a/1", 0)]).unwrap();
    assert!(!is_page("https://a/1") && is_page("https://a/2"), "nobody knows before it has answered");
    end(store, &one(store, "a"), Outcome::Unchanged, PageHistory::default());
    assert!(is_page("https://a/1"));
    assert_eq!(store.counts().unwrap().unchanged, 1);
    store.begin_round().unwrap();
    assert!(!is_page("https://a/1") && !is_page("https://a/2"));
}

pub fn recrawl_keeps_host_state_and_claims_on_request(store: &impl Store) {
    first_round(store, &["https://a/1"]);
    let (hash, first, second) = (ContentHash::of("text"), UrlKey::of("1"), UrlKey::of("2"));
    let claim = |hash, claimant| store.claim_content(hash, claimant, other_page(store)).unwrap();
    let release = |hash, claimant| store.release_content(hash, claimant, other_page(store)).unwrap();
    let fill = || {
        store.save_host(&host("a"), b"state").unwrap();
        assert_eq!(store.load_earlier_host(&host("a")).unwrap(), None, "it is of this round");
        claim(&hash, first);
    };
    let states = || (store.load_host(&host("a")).unwrap(), store.load_earlier_host(&host("a")).unwrap());
    fill();
    for _ in 0..2 {
        store.begin_recrawl(true).unwrap();
        assert_eq!(states(), (None, Some(b"state".to_vec())), "kept for as long as it is not replaced");
    }
    assert_eq!(claim(&hash, second), first);
    release(&hash, second);
    assert_eq!(claim(&hash, second), first, "it is not the claimant's to give");
    release(&hash, first);
    assert_eq!(claim(&hash, second), second);
    release(&hash, second);
    fill();
    store.begin_recrawl(false).unwrap();
    assert_eq!(states(), (None, None));
    assert_eq!(claim(&hash, second), second);
    fill_and_begin_anew(store, &hash);
}

fn fill_and_begin_anew(store: &impl Store, hash: &ContentHash) {
    store.save_host(&host("a"), b"state").unwrap();
    store.begin_recrawl(true).unwrap();
    store.begin_round().unwrap();
    assert_eq!(store.load_earlier_host(&host("a")).unwrap(), None);
    let third = UrlKey::of("3");
    assert_eq!(store.claim_content(hash, third, other_page(store)).unwrap(), third);
}
