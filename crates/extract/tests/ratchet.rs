//! Ratchet: our own pages with their expected results, scored against a pinned baseline that may not fall.
//!
//! A folder of `fixtures/pages` with a `gold.json` is scored. `source.html` (or `source.txt`) is the page,
//! and `gold.txt` its content as text. `gold.json` has `type`, `url`, `title`, `authors`, `published`, and
//! strings that the content must contain (`with`) or not (`without`). The expectations are those of a reader,
//! not the current results.
//!
//! Scores: F1 of the multisets of lower-case words, mean over pages, by type (as in the WCXB benchmark).
//! Further scores are the shares of correct `with` and `without` strings, titles, authors and dates.
//! `UPDATE_BASELINE=1` pins the current scores; the difference belongs into the commit.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Format, Input, Options, PageExtractor};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gold {
    r#type: String,
    url: Option<String>,
    title: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    published: Option<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    without: Vec<String>,
}

/// Reached scores: means over pages, 0 to 1, rounded to four digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Baseline {
    /// Hash of all scored folders: scores of different corpora are not compared.
    corpus: String,
    /// F1 of words, by type of page and `all`.
    f1: BTreeMap<String, f64>,
    /// Share of `with` strings found.
    with: f64,
    /// Share of `without` strings not found.
    clean: f64,
    /// Share of correct titles, authors and dates among pages that have them.
    metadata: BTreeMap<String, f64>,
    /// F1 by page, to see which one changed.
    pages: BTreeMap<String, f64>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folders() -> Vec<PathBuf> {
    let all = fs::read_dir(root().join("fixtures/pages")).unwrap().map(|entry| entry.unwrap().path());
    let mut scored: Vec<PathBuf> = all.filter(|folder| folder.join("gold.json").exists()).collect();
    scored.sort();
    scored
}

fn words(text: &str) -> BTreeMap<String, u32> {
    let mut out = BTreeMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        *out.entry(word.to_lowercase()).or_default() += 1;
    }
    out
}

fn f1(got: &str, gold: &str) -> f64 {
    let (got, gold) = (words(got), words(gold));
    let sum = |words: &BTreeMap<String, u32>| f64::from(words.values().sum::<u32>());
    let shared: u32 = got.iter().map(|(word, n)| (*n).min(gold.get(word).copied().unwrap_or(0))).sum();
    match (sum(&got), sum(&gold)) {
        (0.0, 0.0) => 1.0,
        (a, b) => 2.0 * f64::from(shared) / (a + b),
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Sums that become means.
#[derive(Default)]
struct Mean(f64, u32);

impl Mean {
    fn add(&mut self, value: f64) {
        self.0 += value;
        self.1 += 1;
    }

    fn value(&self) -> f64 {
        if self.1 == 0 { 0.0 } else { (self.0 / f64::from(self.1) * 1e4).round() / 1e4 }
    }
}

fn score() -> Baseline {
    let extractor = PageExtractor::new(Options::default().with_format(Format::Text)).unwrap();
    let mut corpus = Sha256::new();
    let mut by_type: BTreeMap<String, Mean> = BTreeMap::new();
    let mut metadata: BTreeMap<String, Mean> = BTreeMap::new();
    let (mut with, mut clean) = (Mean::default(), Mean::default());
    let mut pages = BTreeMap::new();
    for folder in folders() {
        let slug = folder.file_name().unwrap().to_string_lossy().into_owned();
        let html = folder.join("source.html");
        let is_html = html.exists();
        let source = fs::read(if is_html { html } else { folder.join("source.txt") }).unwrap();
        let (json, text) =
            (fs::read(folder.join("gold.json")).unwrap(), fs::read(folder.join("gold.txt")).unwrap());
        for part in [slug.as_bytes(), &source, &json, &text] {
            corpus.update((part.len() as u64).to_be_bytes());
            corpus.update(part);
        }
        let gold: Gold = serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{slug}: {error}"));
        let url = gold.url.as_deref().map(|url| url::Url::parse(url).unwrap());
        let content_type =
            Some(if is_html { "text/html; charset=utf-8" } else { "text/plain; charset=utf-8" });
        let page =
            extractor.extract(&Input::new(&source).with_url(url.as_ref()).with_content_type(content_type));

        let f1 = f1(&page.content, &String::from_utf8(text).unwrap());
        by_type.entry(gold.r#type.clone()).or_default().add(f1);
        by_type.entry("all".to_owned()).or_default().add(f1);
        pages.insert(slug, (f1 * 1e4).round() / 1e4);
        let content = folded(&page.content);
        gold.with.iter().for_each(|s| with.add(f64::from(u8::from(content.contains(&folded(s))))));
        gold.without.iter().for_each(|s| clean.add(f64::from(u8::from(!content.contains(&folded(s))))));
        let found = page.metadata;
        let mut right = |field: &str, asked: bool, right: bool| {
            if asked {
                metadata.entry(field.to_owned()).or_default().add(f64::from(u8::from(right)));
            }
        };
        right("title", gold.title.is_some(), found.title == gold.title);
        right("authors", !gold.authors.is_empty(), found.authors == gold.authors);
        let day = found.published.as_deref().map(|date| date.get(..10).unwrap_or(date));
        right("published", gold.published.is_some(), day == gold.published.as_deref());
    }
    let values = |means: BTreeMap<String, Mean>| means.into_iter().map(|(k, m)| (k, m.value())).collect();
    Baseline {
        corpus: corpus.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        f1: values(by_type),
        with: with.value(),
        clean: clean.value(),
        metadata: values(metadata),
        pages,
    }
}

impl Baseline {
    /// All scores except those of single pages, by name.
    fn figures(&self) -> BTreeMap<String, f64> {
        let f1 = self.f1.iter().map(|(kind, value)| (format!("F1 {kind}"), *value));
        let metadata = self.metadata.iter().map(|(field, value)| (format!("{field} right"), *value));
        let strings = [("with found".to_owned(), self.with), ("without left out".to_owned(), self.clean)];
        f1.chain(metadata).chain(strings).collect()
    }
}

/// Tolerance for rounding.
const TOLERANCE: f64 = 0.0002;

#[test]
fn no_score_falls_below_the_baseline() {
    let path = root().join("benches/eval_baseline.json");
    let now = score();
    if std::env::var_os("UPDATE_BASELINE").is_some() {
        fs::write(&path, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let pinned: Baseline = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let (figures, old) = (now.figures(), pinned.figures());
    let mut table = format!("{:<22} {:>8} {:>8}\n", "our own fixtures", "now", "pinned");
    let (mut fallen, mut risen) = (Vec::new(), false);
    for (name, value) in &figures {
        let was = old.get(name).copied().unwrap_or(0.0);
        table += &format!("{name:<22} {value:>8.4} {was:>8.4}\n");
        risen |= *value > was + TOLERANCE;
        if *value < was - TOLERANCE {
            fallen.push(format!("{name}: {was} -> {value}"));
        }
    }
    for (slug, value) in &now.pages {
        let was = pinned.pages.get(slug).copied().unwrap_or(0.0);
        if (value - was).abs() > TOLERANCE {
            table += &format!("  {slug}: {was} -> {value}\n");
        }
    }
    std::io::stdout().write_all(table.as_bytes()).unwrap();
    assert_eq!(
        now.corpus, pinned.corpus,
        "the fixtures have changed: pin them anew by `./benches/eval --update`"
    );
    assert!(fallen.is_empty(), "extraction became worse:\n{}", fallen.join("\n"));
    if risen {
        std::io::stdout()
            .write_all(b"better than the baseline: pin it by `./benches/eval --update`\n")
            .unwrap();
    }
}

#[test]
fn every_page_type_has_three_scored_fixtures() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for folder in folders() {
        let gold: Gold = serde_json::from_slice(&fs::read(folder.join("gold.json")).unwrap()).unwrap();
        *counts.entry(gold.r#type).or_default() += 1;
    }
    for kind in ["article", "documentation", "service", "forum", "collection", "listing", "product"] {
        assert!(counts.get(kind).is_some_and(|n| *n >= 3), "{kind}: {counts:?}");
    }
}

#[test]
fn f1_score_is_computed_from_word_counts() {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(near(f1("a b c d", "a b c d"), 1.0) && near(f1("", ""), 1.0) && near(f1("x", ""), 0.0));
    // three of four words found, one word too many: P = R = 3/4
    assert!(near(f1("A b. c x", "a b c d"), 0.75));
    // words count with their multiplicity
    assert!(near(f1("a a", "a"), 2.0 / 3.0));
}
