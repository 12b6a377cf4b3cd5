//! URLs whose keys begin alike.

use crate::*;

/// SQLite stores the first six bytes of a key. The SHA-256 of both URLs begins with 5dcfec93c1c2.
const ALIKE: [&str; 2] = ["https://a.example/926326", "https://a.example/29902992"];

pub fn urls_with_equal_key_prefixes_stay_distinct(store: &impl Store) {
    let [first, second] = ALIKE;
    let keys = ALIKE.map(UrlKey::of);
    assert!(keys[0].0[..6] == keys[1].0[..6] && keys[0] != keys[1]);
    store.begin_round().unwrap();
    enqueue(store, &[first]);
    assert_eq!(store.history_of(second), None);
    assert_eq!(store.found_on(keys[1]).unwrap(), None);
    let leased = lease(store, "a.example", 9);
    assert_eq!(store.enqueue_found_on(&[new_url(second, 1)], leased[0].id).unwrap(), added(1, 0));
    assert_eq!(store.enqueue(&ALIKE.map(|url| new_url(url, 1))).unwrap(), added(0, 2));
    assert_eq!(store.found_on(keys[1]).unwrap().as_deref(), Some(first));
    assert_eq!(store.found_on(keys[0]).unwrap(), None);

    settle(store, &leased, Outcome::Record);
    assert_eq!(keys.map(|key| store.became_page(key).unwrap()), [true, false]);
    let leased = lease(store, "a.example", 9);
    assert_eq!(leased.iter().map(|request| request.url.as_str()).collect::<Vec<_>>(), [second]);
    let history = PageHistory { etag: Some("2".into()), ..PageHistory::default() };
    let end = Settlement { lease: (&leased[0]).into(), outcome: Outcome::Failed, history };
    store.settle(&[end], &[]).unwrap();
    assert_eq!(store.history_of(first).unwrap().etag, None);
    assert_eq!(store.history_of(second).unwrap().etag.as_deref(), Some("2"));

    store.begin_recrawl(true).unwrap();
    let known = |keys: &[UrlKey]| -> Vec<String> {
        store.known_among(keys).unwrap().into_iter().map(|known| known.url.url).collect()
    };
    assert_eq!(known(&keys[1..]), [second]);
    assert_eq!(known(&keys), ALIKE);
    assert_eq!(store.revisit(&[new_url(second, 0)]).unwrap(), added(1, 0));
    assert_eq!(known(&keys), [first]);
}
