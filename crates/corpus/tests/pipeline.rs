//! The whole pipeline against simple computations of its expected results.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_corpus::{
    Analysis, COLUMNS, Cell, ClusterAlgorithm, ClusterSettings, Findings, Keep, Origin, Page, Settings,
    TfIdfSettings, clean, jaccard, rows, shingles, write_html, write_report,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn settings() -> Settings {
    Settings {
        language: "all".into(),
        shingle_words: 5,
        permutations: 128,
        jaccard: 0.85,
        tfidf: Some(TfIdfSettings {
            cosine: 0.92,
            vocabulary: 50_000,
            min_df: 3,
            ngrams: (1, 2),
            max_lemma_chars: 300_000,
            clusters: ClusterSettings { algorithm: ClusterAlgorithm::KMeans, number: 0 },
        }),
        pairs_per_group: 10_000,
        seed: 42,
        run_records: 1 << 20,
    }
}

/// Numbers that look drawn.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

const WORDS: [&str; 24] = [
    "harbour", "ferry", "island", "crane", "rope", "tide", "anchor", "quay", "sail", "gull", "storm",
    "lantern", "captain", "market", "fish", "net", "bridge", "river", "cargo", "signal", "fog", "bell",
    "deck", "pilot",
];

fn page(id: usize, text: String) -> Page {
    Page {
        id: format!("d{id}"),
        url: format!("https://a.test/{id}"),
        title: format!("Title {id}"),
        text,
        text_source: "text".into(),
        ..Page::default()
    }
}

/// Families of texts with some words changed, and copies.
fn corpus() -> Vec<Page> {
    let mut draw = Draw(1);
    let mut pages: Vec<Page> = Vec::new();
    for family in 0..40 {
        let words: Vec<String> = (0..80 + family * 3)
            .map(|_| {
                format!("{}{}", WORDS[draw.below(24) as usize], ["", "s", "ing"][draw.below(3) as usize])
            })
            .collect();
        for _ in 0..1 + draw.below(6) {
            let mut own = words.clone();
            for _ in 0..draw.below(5) {
                let place = draw.below(own.len() as u64) as usize;
                own[place] = format!("changed{}", draw.below(50));
            }
            pages.push(page(pages.len(), own.join(" ")));
        }
    }
    pages.push(page(pages.len(), String::new()));
    pages.push(page(pages.len(), "  ".into()));
    pages
}

fn analysed(settings: Settings, pages: &[Page], batch: usize) -> Findings {
    let directory = tempfile::tempdir().unwrap();
    let mut analysis = Analysis::new(settings, Keep::Pages, directory.path()).unwrap();
    for pages in pages.chunks(batch) {
        analysis.add(pages.to_vec()).unwrap();
    }
    analysis.finish().unwrap()
}

fn report(findings: &Findings) -> String {
    let mut out = Vec::new();
    write_report(findings, &Origin::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Words and pairs of words of texts, with their counts.
fn counts(lemmas: &[String]) -> Vec<BTreeMap<String, f64>> {
    let of = |text: &String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut counts = BTreeMap::new();
        for n in 1..=2 {
            words.windows(n).for_each(|w| *counts.entry(w.join(" ")).or_default() += 1.0);
        }
        counts
    };
    lemmas.iter().map(of).collect()
}

/// TF-IDF vectors by the formulas in scikit-learn's documentation.
fn vectors(lemmas: &[String], min_df: usize) -> Vec<BTreeMap<String, f64>> {
    let counts = counts(lemmas);
    let mut df: BTreeMap<&String, usize> = BTreeMap::new();
    counts.iter().flat_map(BTreeMap::keys).for_each(|term| *df.entry(term).or_default() += 1);
    let n = lemmas.len() as f64;
    counts
        .iter()
        .map(|counts| {
            let mut vector: BTreeMap<String, f64> = counts
                .iter()
                .filter(|(term, _)| df[term] >= min_df)
                .map(|(term, tf)| (term.clone(), tf * (((1.0 + n) / (1.0 + df[term] as f64)).ln() + 1.0)))
                .collect();
            let norm = vector.values().map(|w| w * w).sum::<f64>().sqrt();
            vector.values_mut().for_each(|w| *w /= norm);
            vector
        })
        .collect()
}

#[test]
fn pairs_equal_those_of_all_against_all_comparison() {
    let pages = corpus();
    let findings = analysed(settings(), &pages, 7);
    let report: Value = serde_json::from_str(&report(&findings)).unwrap();
    let texts: Vec<String> = pages.iter().map(|page| clean(&page.text)).collect();
    let sets: Vec<Vec<u64>> = texts.iter().map(|text| shingles(text, 5)).collect();
    let lemmas: Vec<String> = (0..findings.documents.len())
        .map(|d| findings.lemmas(findings.documents.text_of(d)).unwrap())
        .collect();
    let vectors = vectors(&lemmas, 3);
    let cosine = |a: usize, b: usize| -> f64 {
        vectors[a].iter().filter_map(|(term, w)| vectors[b].get(term).map(|v| w * v)).sum()
    };
    // the same with the terms of fewer than three documents that both texts have
    let counts = counts(&lemmas);
    let mut df: BTreeMap<&String, usize> = BTreeMap::new();
    counts.iter().flat_map(BTreeMap::keys).for_each(|term| *df.entry(term).or_default() += 1);
    let idf = |df: usize| ((1.0 + lemmas.len() as f64) / (1.0 + df as f64)).ln() + 1.0;
    let with_shared = |a: usize, b: usize| -> f64 {
        let mut sums = [0.0; 3];
        for term in counts[a].keys().chain(counts[b].keys()).collect::<BTreeSet<_>>() {
            let of = |text: usize| counts[text].get(term).copied().unwrap_or(0.0) * idf(df[term]);
            let (x, y) = (of(a), of(b));
            if df[term] >= 3 || x * y > 0.0 {
                sums = [sums[0] + x * y, sums[1] + x * x, sums[2] + y * y];
            }
        }
        sums[0] / (sums[1] * sums[2]).sqrt()
    };
    let mut expected = BTreeSet::new();
    for b in 0..texts.len() {
        for a in (0..b).filter(|a| jaccard(&sets[*a], &sets[b], 0.85).is_some() && !texts[b].is_empty()) {
            if cosine(a, b) >= 0.92 || with_shared(a, b) >= 0.92 {
                expected.insert((a, b));
            }
        }
    }
    assert!(expected.len() > 50, "the corpus has too few pairs to tell anything: {}", expected.len());
    let pairs = report["near_duplicate_pairs"].as_array().unwrap();
    let place = |v: &Value| usize::try_from(v.as_u64().unwrap()).unwrap();
    let found: BTreeSet<_> = pairs.iter().map(|p| (place(&p["i"]), place(&p["j"]))).collect();
    assert_eq!(found, expected);
    for pair in pairs {
        let (i, j) = (place(&pair["i"]), place(&pair["j"]));
        let by = if pair["cosine_terms"] == "shared" { with_shared(i, j) } else { cosine(i, j) };
        assert!((pair["tfidf_cosine"].as_f64().unwrap() - by).abs() < 1e-9, "{pair}");
        assert!(
            (pair["jaccard"].as_f64().unwrap() - jaccard(&sets[i], &sets[j], 0.0).unwrap()).abs() < 1e-12
        );
    }
}

#[test]
fn reports_do_not_depend_on_threads_batches_or_runs() {
    let once = |threads: usize, batch: usize, run_records: usize, algorithm: ClusterAlgorithm| {
        let mut settings = Settings { run_records, ..settings() };
        settings.tfidf.as_mut().unwrap().clusters.algorithm = algorithm;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let findings = analysed(settings, &corpus(), batch);
            let mut html = Vec::new();
            write_html(&findings, &Origin::default(), &mut html).unwrap();
            let strip = |text: String| {
                text.replace("\"run_records\":1024", "").replace("\"run_records\":1048576", "")
            };
            (strip(report(&findings)), strip(String::from_utf8(html).unwrap()))
        })
    };
    for algorithm in [ClusterAlgorithm::KMeans, ClusterAlgorithm::MiniBatch] {
        let first = once(1, 1000, 1 << 20, algorithm);
        assert!(first.0.contains("\"top_terms\":[\""));
        assert!(first == once(4, 3, 1 << 20, algorithm));
        assert!(first == once(2, 50, 1024, algorithm), "sorted in files");
    }
}

#[test]
fn groups_have_the_canonical_document_that_the_rule_names() {
    let base = WORDS.repeat(8).join(" ");
    let of = |url: &str, text: &str| Page { url: url.into(), ..page(0, text.into()) };
    let pages = vec![
        of("http://a.test/longest-address-of-all", &base),
        of("https://a.test/long-address", &base),
        of("https://a.test/b", &base),
        of("https://a.test/c", &base),
        of("http://b.test/", "quite another text about nothing at all in particular today"),
        of("http://a.test/d", &base[..base.len() - 6]),
    ];
    let mut settings = settings();
    settings.tfidf.as_mut().unwrap().min_df = 1;
    let findings = analysed(settings.clone(), &pages, 100);
    let groups = findings.groups.of_several();
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].1.members.clone(), groups[0].1.canonical), (vec![0, 1, 2, 3, 5], 2));
    let longer = of("http://a.test/e", &format!("{base} more"));
    let findings = analysed(settings.clone(), &[pages.clone(), vec![longer]].concat(), 100);
    assert_eq!(findings.groups.of_several()[0].1.canonical, 6);
    // four copies are six pairs, and three more with the shorter text; a large group lists fewer
    assert_eq!(analysed(settings.clone(), &pages, 9).document_pairs().pairs.len(), 10);
    let few = analysed(Settings { pairs_per_group: 9, ..settings }, &pages, 9).document_pairs();
    assert_eq!((few.pairs.len(), few.not_listed), (4, 6));
}

/// A story of a hundred words that no other text of these tests has.
fn story(changed: &str) -> String {
    let words: Vec<String> = (0..100).map(|n| format!("story{}", letters(n))).collect();
    words.join(" ").replace(&format!("story{} ", letters(70)), &format!("{changed} "))
}

fn letters(n: u32) -> String {
    n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'q')).collect()
}

/// With the defaults: terms in three documents. Two pages that differ in a word have none, alone or among
/// others.
#[test]
fn rare_terms_shared_by_two_documents_count() {
    let others = |n: usize| {
        let words = |n: usize| (0..50).map(move |k| format!("other{}of{}", letters(k), letters(n as u32)));
        page(n, words(n).collect::<Vec<_>>().join(" "))
    };
    let common = |text: String| format!("the harbour and the ferry {text}");
    for among in [0, 20] {
        let pair = [page(100, story("lantern")), page(101, story("torch"))];
        let alike = |page: &Page| Page { text: common(page.text.clone()), ..page.clone() };
        let rest: Vec<Page> = (0..among).map(others).collect();
        // with words that all documents have the vectors are cut, without them empty
        for pages in [
            [rest.clone(), pair.to_vec()].concat(),
            [rest.iter().map(alike).collect::<Vec<_>>(), pair.iter().map(alike).collect()].concat(),
        ] {
            let findings = analysed(settings(), &pages, 9);
            let groups = findings.groups.of_several();
            assert_eq!(groups.len(), 1, "among {among}");
            assert_eq!(groups[0].1.members, [among as u32, among as u32 + 1]);
            let report: Value = serde_json::from_str(&report(&findings)).unwrap();
            assert_eq!(report["near_duplicate_pairs"].as_array().unwrap().len(), 1);
        }
    }
}

/// A group has pairs even if no word of its texts is in the vocabulary, or they have no words.
#[test]
fn every_group_has_its_pairs() {
    let marks = |last: &str| ["★ ☆ ✦ ✧ ✩ ✪ ✫ ✬"; 8].join(" ") + " " + &"— … ".repeat(30) + last;
    let pages = vec![
        page(0, story("lantern")),
        page(1, story("lantern")),
        page(2, marks("")),
        page(3, marks("")),
        page(4, marks("†")),
    ];
    let findings = analysed(settings(), &pages, 10);
    let report: Value = serde_json::from_str(&report(&findings)).unwrap();
    let groups: Vec<&Value> = report["near_duplicate_groups"].as_array().unwrap().iter().collect();
    assert_eq!(groups.len(), 2, "{report:#}");
    let pairs = report["near_duplicate_pairs"].as_array().unwrap();
    let found: Vec<(u64, u64, &str)> = pairs
        .iter()
        .map(|p| (p["i"].as_u64().unwrap(), p["j"].as_u64().unwrap(), p["cosine_terms"].as_str().unwrap()))
        .collect();
    let all = [(0, 1, "identical"), (2, 3, "identical"), (2, 4, "none"), (3, 4, "none")];
    assert_eq!(found, all);
    assert_eq!((&pairs[0]["tfidf_cosine"], &pairs[2]["tfidf_cosine"]), (&Value::from(1.0), &Value::Null));
}

#[test]
fn empty_texts_are_exact_duplicates_but_no_group() {
    let findings = analysed(settings(), &[page(0, String::new()), page(1, "<p>".into())], 10);
    let report: Value = serde_json::from_str(&report(&findings)).unwrap();
    assert_eq!(report["exact_duplicate_groups"][0]["members"], serde_json::json!([0, 1]));
    assert_eq!(report["meta"]["counts"]["near_duplicate_groups"], 0);
}

#[test]
fn language_filter_excludes_other_languages() {
    let german = "Die Fähre zur Insel fährt jeden Morgen vom alten Hafen ab und kommt am Abend zurück.";
    let english =
        "The ferry to the island leaves every morning from the old harbour and returns in the evening.";
    let pages = vec![page(0, english.into()), page(1, german.into())];
    let findings = analysed(Settings { language: "de".into(), ..settings() }, &pages, 10);
    assert_eq!((findings.documents.len(), findings.other_languages, findings.documents.id(0)), (1, 1, "d1"));
}

#[test]
fn table_rows_hold_the_values_of_their_columns() {
    let text =
        "Two <b>Ferries</b> are running at 10:30 – see https://a.test/x and the ferries of the islands.";
    let findings = analysed(settings(), &[page(0, text.into())], 10);
    let row = rows(&findings).next().unwrap().unwrap();
    let cell = |name: &str| row[COLUMNS.iter().position(|(n, _)| *n == name).unwrap()].clone();
    assert_eq!(cell("text"), Cell::Text(text.into()));
    assert_eq!(cell("len_text"), Cell::Integer(text.chars().count() as i64));
    assert_eq!(
        cell("text_clean"),
        Cell::Text("two ferries are running at <num> – see and the ferries of the islands.".into())
    );
    assert_eq!(
        cell("tokens"),
        Cell::Text("two ferries are running at <num> see and the ferries of the islands".into())
    );
    assert_eq!(
        cell("lemmas"),
        Cell::Text("two ferry be run at <num> see and the ferry of the island".into())
    );
    assert_eq!(cell("len_tokens"), Cell::Integer(13));
    assert_eq!(cell("languages"), Cell::Text("en".into()));
    assert_eq!((cell("is_canonical"), cell("dup_group_size")), (Cell::Boolean(true), Cell::Integer(1)));
}

#[test]
fn html_report_escapes_document_text() {
    let evil = "</script><script>alert(1)</script> ".to_owned() + &WORDS.repeat(4).join(" ");
    let pages = vec![
        Page { title: "</script><b>".into(), ..page(0, evil.clone()) },
        Page { url: "http://</script>".into(), ..page(1, evil) },
    ];
    let mut out = Vec::new();
    write_html(&analysed(settings(), &pages, 10), &Origin::default(), &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(page.contains("\\u003c/script>\\u003cb>"));
    for outside in ["http-equiv=\"refresh\"", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = Settings { jaccard: 1.5, ..settings() };
    let error = Analysis::new(wrong, Keep::Report, directory.path()).err().unwrap();
    assert_eq!(error.to_string(), "jaccard is 1.5: it must be 0.05 to 1");
}
