//! Web archive duplicates: fields of the report, columns of the table, and effects of each parameter.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_corpus::{
    Analysis, COLUMNS, Cell, ClusterAlgorithm, ClusterSettings, Findings, Keep, Lemmatizer, MinHash, Origin,
    Page, Settings, TfIdfSettings, clean, estimate, rows, shingles, write_report,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

fn settings() -> Settings {
    Settings {
        language: "all".into(),
        shingle_words: 5,
        permutations: 128,
        jaccard: 0.85,
        tfidf: Some(TfIdfSettings {
            cosine: 0.92,
            vocabulary: 50_000,
            min_df: 1,
            ngrams: (1, 2),
            max_lemma_chars: 300_000,
            clusters: ClusterSettings { algorithm: ClusterAlgorithm::KMeans, number: 2 },
        }),
        pairs_per_group: 10_000,
        seed: 42,
        run_records: 1 << 20,
    }
}

fn with_tfidf(change: impl FnOnce(&mut TfIdfSettings)) -> Settings {
    let mut settings = settings();
    change(settings.tfidf.as_mut().unwrap());
    settings
}

fn page(url: &str, text: &str) -> Page {
    Page {
        id: url.into(),
        url: url.into(),
        title: format!("About {url}"),
        text: text.into(),
        ..Page::default()
    }
}

/// This many distinct words of letters alone.
fn words(count: usize) -> Vec<String> {
    let word = |n: usize| n.to_string().bytes().map(|b| char::from(b'a' + b - b'0')).collect::<String>();
    (0..count).map(|n| format!("zq{}", word(n))).collect()
}

/// Text of this many words, with one of them changed.
fn changed(count: usize, at: usize) -> String {
    let mut words = words(count);
    "other".clone_into(&mut words[at]);
    words.join(" ")
}

fn analysed(settings: Settings, pages: &[Page]) -> Findings {
    let directory = tempfile::tempdir().unwrap();
    let mut analysis = Analysis::new(settings, Keep::Pages, directory.path()).unwrap();
    analysis.add(pages.to_vec()).unwrap();
    analysis.finish().unwrap()
}

fn report(findings: &Findings) -> Value {
    let mut out = Vec::new();
    write_report(findings, &Origin { timestamp: "2026-01-02T03:04:05Z".into(), inputs: vec![] }, &mut out)
        .unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// Two copies and two near duplicates of a text, and another text.
fn corpus() -> Vec<Page> {
    let base = words(200).join(" ");
    let other = "the quay is closed on sundays and on the days of the great market in the town".repeat(3);
    vec![
        page("http://a.test/1", &base),
        page("https://a.test/2", &base),
        page("http://a.test/3", &changed(200, 100)),
        page("http://b.test/4", &other),
        page("http://b.test/5", &base.to_uppercase()),
    ]
}

fn has(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "{field} is not in {value}");
    }
}

#[test]
fn the_report_has_the_fields_of_the_specification() {
    let report = report(&analysed(settings(), &corpus()));
    has(&report["meta"], &["timestamp", "counts", "params", "tfidf_vocabulary_size"]);
    assert_eq!(report["meta"]["timestamp"], "2026-01-02T03:04:05Z");
    has(
        &report["meta"]["counts"],
        &[
            "documents",
            "near_duplicate_pairs",
            "near_duplicate_groups",
            "exact_duplicate_groups",
            "topic_clusters",
        ],
    );
    has(&report["meta"]["params"], &["shingle_words", "permutations", "jaccard", "language"]);
    has(&report["meta"]["params"]["tfidf"], &["cosine", "vocabulary", "min_df", "ngrams", "max_lemma_chars"]);
    has(
        &report["documents"][0],
        &[
            "id",
            "url",
            "title",
            "len_clean",
            "exact_hash",
            "exact_group_size",
            "dup_group",
            "dup_group_size",
            "canonical_ix",
            "is_canonical",
            "cluster",
        ],
    );
    has(
        &report["near_duplicate_pairs"][0],
        &["i", "j", "tfidf_cosine", "minhash_jaccard_est", "url_i", "title_i", "url_j", "title_j"],
    );
    has(&report["near_duplicate_groups"][0], &["dup_group", "size", "canonical", "members", "sample_titles"]);
    has(&report["exact_duplicate_groups"][0], &["exact_hash", "size", "members"]);
    has(&report["topic_clusters"][0], &["cluster", "size", "top_terms", "sample_documents"]);
    assert_eq!(report["documents"].as_array().unwrap().len(), 5, "no page is left out");
}

#[test]
fn the_table_has_the_columns_of_the_specification_in_its_order() {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    // the specification writes "languges"; id and language_confidence are ours
    let expected = "id url warc_date content_type title text len_text languages text_src text_clean title_clean len_clean \
        tokens lemmas len_tokens dup_group dup_group_size canonical_ix is_canonical exact_hash exact_group_size \
        language_confidence";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
}

fn column(findings: &Findings, name: &str) -> Vec<Cell> {
    let at = COLUMNS.iter().position(|(n, _)| *n == name).unwrap();
    rows(findings).map(|row| row.unwrap()[at].clone()).collect()
}

#[test]
fn the_table_marks_duplicates_and_one_of_each_group() {
    let findings = analysed(settings(), &corpus());
    let sizes = column(&findings, "dup_group_size");
    assert_eq!(sizes, [4, 4, 4, 1, 4].map(Cell::Integer));
    let canonical = column(&findings, "is_canonical");
    // of the longest texts the one with https
    assert_eq!(canonical, [false, true, false, true, false].map(Cell::Boolean));
    assert_eq!(column(&findings, "canonical_ix"), [1, 1, 1, 3, 1].map(Cell::Integer));
    assert_eq!(column(&findings, "exact_group_size"), [3, 3, 1, 1, 3].map(Cell::Integer));
}

#[test]
fn exact_hash_is_sha_256_of_the_cleaned_text() {
    let findings = analysed(settings(), &corpus());
    let texts = column(&findings, "text_clean");
    for (text, hash) in texts.iter().zip(column(&findings, "exact_hash")) {
        let Cell::Text(text) = text else { continue };
        let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, Cell::Text(digest));
    }
    assert_eq!(texts[0], texts[4], "case is no difference");
}

#[test]
fn a_near_duplicate_is_confirmed_by_its_cosine() {
    let pages = [page("http://a.test/1", &words(200).join(" ")), page("http://a.test/2", &changed(200, 100))];
    let pairs = |cosine: f64| {
        report(&analysed(with_tfidf(|t| t.cosine = cosine), &pages))["near_duplicate_pairs"].clone()
    };
    let found = pairs(0.92);
    let cosine = found[0]["tfidf_cosine"].as_f64().unwrap();
    assert!(cosine >= 0.92, "{found}");
    assert_eq!(pairs(cosine - 1e-6).as_array().unwrap().len(), 1);
    assert_eq!(pairs(cosine + 1e-6).as_array().unwrap().len(), 0);
}

#[test]
fn candidate_pairs_reach_the_jaccard_threshold() {
    let pages = [page("http://a.test/1", &words(200).join(" ")), page("http://a.test/2", &changed(200, 100))];
    // 196 shingles each, of which five differ
    let exact = 191.0 / 201.0;
    let pairs = |jaccard: f64| {
        let findings = analysed(Settings { jaccard, ..with_tfidf(|t| t.cosine = 0.1) }, &pages);
        report(&findings)["near_duplicate_pairs"].as_array().unwrap().len()
    };
    assert_eq!([pairs(0.85), pairs(exact - 1e-6), pairs(exact + 1e-6)], [1, 1, 0]);
}

#[test]
fn longer_shingles_lower_the_similarity() {
    let similarity = |words: usize| {
        let pages = [
            page("http://a.test/1", &self::words(200).join(" ")),
            page("http://a.test/2", &changed(200, 100)),
        ];
        let settings = Settings { shingle_words: words, jaccard: 0.3, ..with_tfidf(|t| t.cosine = 0.1) };
        report(&analysed(settings, &pages))["near_duplicate_pairs"][0]["jaccard"].as_f64().unwrap()
    };
    assert!(similarity(3) > similarity(5) && similarity(5) > similarity(8));
}

#[test]
fn more_permutations_reduce_the_estimation_error() {
    let (a, b) = (shingles(&words(200).join(" "), 5), shingles(&changed(200, 100), 5));
    let exact = 191.0 / 201.0;
    let error = |permutations: usize| -> f64 {
        let one = |seed: u64| {
            let hash = MinHash::new(permutations, seed);
            (estimate(&hash.signature(&a), &hash.signature(&b)) - exact).powi(2)
        };
        (0..40).map(one).sum()
    };
    assert!(
        error(16) > error(128) && error(128) > error(1024),
        "{} {} {}",
        error(16),
        error(128),
        error(1024)
    );
}

#[test]
fn vocabulary_and_document_frequency_limit_the_terms() {
    let size = |settings: Settings| {
        report(&analysed(settings, &corpus()))["meta"]["tfidf_vocabulary_size"].as_u64().unwrap()
    };
    let (all, rare) = (size(settings()), size(with_tfidf(|t| t.min_df = 4)));
    assert!(rare < all && rare > 0, "{rare} of {all}");
    assert_eq!(size(with_tfidf(|t| t.vocabulary = 7)), 7);
    assert!(size(with_tfidf(|t| t.ngrams = (1, 1))) < all, "pairs of words are terms too");
}

#[test]
fn lemmas_stop_at_the_text_length_limit() {
    let text = "houses ".repeat(50_000);
    let lemmas = |chars: usize| Lemmatizer::new("en").lemmas(&text, chars).split(' ').count();
    assert_eq!([lemmas(300_000), lemmas(700)], [42_858, 100]);
}

#[test]
fn documents_linked_by_a_third_are_one_group() {
    let base = words(200);
    let change = |places: &[usize]| {
        let mut own = base.clone();
        places.iter().for_each(|at| own[*at] = format!("other{}", "x".repeat(*at % 7 + 1)));
        own.join(" ")
    };
    // each pair of neighbours is similar, the ends are not
    let pages: Vec<Page> = [&[][..], &[20, 60][..], &[20, 60, 100, 140][..]]
        .iter()
        .enumerate()
        .map(|(n, places)| page(&format!("http://a.test/{n}"), &change(places)))
        .collect();
    let findings = analysed(Settings { jaccard: 0.88, ..with_tfidf(|t| t.cosine = 0.5) }, &pages);
    let report = report(&findings);
    let pairs: Vec<(u64, u64)> = report["near_duplicate_pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair["i"].as_u64().unwrap(), pair["j"].as_u64().unwrap()))
        .collect();
    assert_eq!(pairs, [(0, 1), (1, 2)]);
    assert_eq!(report["near_duplicate_groups"][0]["members"], serde_json::json!([0, 1, 2]));
}

#[test]
fn lower_thresholds_find_more_pairs() {
    let pages: Vec<Page> = (0..6)
        .map(|n| {
            let mut own = words(120);
            (0..n).for_each(|at| own[at * 20] = format!("other{}", "y".repeat(at + 1)));
            page(&format!("http://a.test/{n}"), &own.join(" "))
        })
        .collect();
    let pairs = |jaccard: f64, cosine: f64| {
        let findings = analysed(Settings { jaccard, ..with_tfidf(|t| t.cosine = cosine) }, &pages);
        report(&findings)["near_duplicate_pairs"].as_array().unwrap().len()
    };
    assert!(pairs(0.7, 0.92) > pairs(0.85, 0.92), "{} {}", pairs(0.7, 0.92), pairs(0.85, 0.92));
    assert!(pairs(0.5, 0.5) > pairs(0.5, 0.97), "{} {}", pairs(0.5, 0.5), pairs(0.5, 0.97));
}

#[test]
fn titles_are_cleaned_as_texts_are() {
    let titled = Page { title: "<b>The Ferry</b> of 1911".into(), ..page("http://a.test/1", "a text") };
    let findings = analysed(settings(), &[titled]);
    assert_eq!(column(&findings, "title_clean"), [Cell::Text("the ferry of <num>".into())]);
    assert_eq!(clean("<b>The Ferry</b> of 1911"), "the ferry of <num>");
}
