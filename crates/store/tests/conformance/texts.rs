//! The index of texts.

use super::*;
use crawl_model::{KnownText, NewText, Sketch};

fn sketch(content: u8, bands: &[u64]) -> Sketch {
    Sketch {
        content: (content > 0).then_some(ContentHash([content; 32])),
        shingles: bands.iter().flat_map(|band| band.to_le_bytes()).collect(),
        signature: bands.iter().map(|band| *band as u32).collect(),
        bands: bands.to_vec(),
    }
}

fn text(url: &str, sketch: Sketch, place: Option<i64>) -> NewText {
    NewText { page: UrlKey::of(url), sketch, place }
}

fn put(store: &impl Store, texts: &[NewText]) {
    assert_eq!(store.settle_with_texts(&[], &[], texts).unwrap(), 0);
}

fn pages(found: &[KnownText]) -> Vec<UrlKey> {
    found.iter().map(|text| text.page).collect()
}

fn keys<const N: usize>(urls: [&str; N]) -> Vec<UrlKey> {
    urls.into_iter().map(UrlKey::of).collect()
}

pub fn texts_are_found_by_content_and_bands(store: &impl Store) {
    store.begin_round().unwrap();
    let (a, b) = (sketch(1, &[10, 20, u64::MAX]), sketch(2, &[10, 21, 30]));
    put(store, &[text("a", a.clone(), None), text("b", b, None), text("c", sketch(3, &[]), None)]);
    let found = store.similar_texts(&sketch(9, &[10, 20, 30]), 9).unwrap();
    assert_eq!(pages(&found), keys(["a", "b"]), "two shared bands each: the oldest first");
    assert!(found[0].place < found[1].place && found[0].this_round);
    assert_eq!(*found[0].sketch, Sketch { bands: Vec::new(), ..a }, "all but the bands comes back");
    assert_eq!(pages(&store.similar_texts(&sketch(9, &[10, 21]), 9).unwrap()), keys(["b", "a"]));
    assert_eq!(pages(&store.similar_texts(&sketch(9, &[10, 21]), 1).unwrap()), keys(["b"]));
    assert_eq!(pages(&store.similar_texts(&sketch(1, &[21, 30]), 9).unwrap()), keys(["a", "b"]));
    assert_eq!(pages(&store.similar_texts(&sketch(3, &[]), 9).unwrap()), keys(["c"]));
    assert_eq!(store.similar_texts(&sketch(0, &[99]), 9).unwrap(), []);
}

pub fn a_page_has_one_text_and_may_keep_its_place(store: &impl Store) {
    store.begin_round().unwrap();
    put(store, &[text("a", sketch(1, &[1, 2]), None), text("b", sketch(2, &[2, 3]), None)]);
    let place = |url: &str| {
        let found = store.similar_texts(&sketch(0, &[1, 2, 3, 4, 5]), 9).unwrap();
        let known: Vec<_> = found.iter().filter(|text| text.page == UrlKey::of(url)).collect();
        assert_eq!(known.len(), 1, "{url} has one text");
        known[0].place
    };
    let first = place("a");
    put(store, &[text("a", sketch(5, &[2, 4]), Some(first))]);
    assert_eq!(place("a"), first);
    assert_eq!(store.similar_texts(&sketch(1, &[1]), 9).unwrap(), [], "nothing is left of the earlier text");
    put(store, &[text("a", sketch(6, &[5]), None)]);
    assert!(place("a") > place("b"), "another text came later");
    put(store, &[text("a", sketch(7, &[5]), Some(first))]);
    assert!(place("a") > place("b"), "a place that is no longer its own is not given back");
}

pub fn texts_survive_rounds_but_not_their_pages(store: &impl Store) {
    store.begin_round().unwrap();
    put(
        store,
        &[text("http://a.test/1", sketch(1, &[1]), None), text("http://a.test/2", sketch(2, &[1]), None)],
    );
    store.begin_round().unwrap();
    let found = store.similar_texts(&sketch(0, &[1]), 9).unwrap();
    assert!(found.len() == 2 && found.iter().all(|text| !text.this_round));
    put(store, &[text("http://a.test/2", sketch(2, &[1]), Some(found[1].place))]);
    enqueue(store, &["http://a.test/1"]);
    let lease = LeaseRef::from(&one(store, "a.test"));
    store.settle(&[settlement(lease, Outcome::Failed)], &[]).unwrap();
    let found = store.similar_texts(&sketch(0, &[1]), 9).unwrap();
    assert_eq!(pages(&found), keys(["http://a.test/2"]));
    assert!(found[0].this_round);
    store.begin_recrawl(true).unwrap();
    store.begin_recrawl(true).unwrap();
    assert_eq!(
        pages(&store.similar_texts(&sketch(0, &[1]), 9).unwrap()),
        keys(["http://a.test/2"]),
        "it rests"
    );
    store.revisit(&[new_url("http://a.test/2", 0)]).unwrap();
    let lease = LeaseRef::from(&one(store, "a.test"));
    store.settle(&[settlement(lease, Outcome::Unchanged)], &[]).unwrap();
    assert!(store.similar_texts(&sketch(0, &[1]), 9).unwrap()[0].this_round, "it has not changed");
    store.begin_round().unwrap();
    assert_eq!(store.similar_texts(&sketch(0, &[1]), 9).unwrap().len(), 1);
    store.begin_round().unwrap();
    assert_eq!(store.similar_texts(&sketch(0, &[1]), 9).unwrap(), [], "a whole round did not bring it");
}

pub fn texts_made_with_other_settings_are_dropped(store: &impl Store) {
    store.begin_round().unwrap();
    assert!(!store.keep_texts_of_method("5 words").unwrap(), "there were none");
    put(store, &[text("a", sketch(1, &[1]), None)]);
    assert!(!store.keep_texts_of_method("5 words").unwrap());
    assert_eq!(store.similar_texts(&sketch(1, &[1]), 9).unwrap().len(), 1);
    assert!(store.keep_texts_of_method("7 words").unwrap());
    assert_eq!(store.similar_texts(&sketch(1, &[1]), 9).unwrap(), []);
}
