//! Flags of `crawl duplicates`.

use super::{Overrides, RulesArgs};
use clap::Args;
use crawl_engine::config::Override;
use std::path::PathBuf;
use toml::Value;

/// `crawl duplicates`
#[derive(Debug, Args)]
pub struct DuplicatesArgs {
    /// Files or patterns such as 'crawl/*.warc.gz': JSONL (`text`, `content` or `html`), WARC, WET, CSV (also .gz),
    /// Parquet
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Write the report (JSON: documents, pairs, groups, clusters) to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Write a table (CSV, one row per document) to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub table: Option<PathBuf>,
    /// Write an HTML page for review (groups with differences, plots, clusters, filters) to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the table as Parquet too, beside the CSV
    #[arg(long, requires = "table", help_heading = "Output")]
    pub parquet: bool,
    /// Write the MinHash bands (Parquet: doc_id, band, hash) to FILE, to join them on many machines
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub bands: Option<PathBuf>,
    /// Write the terms of the TF-IDF vectors (TSV: term, count, documents, idf) to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub terms: Option<PathBuf>,
    /// Extraction rules
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Compare only documents in this language (en, en-US, english), or all [default: all]
    #[arg(long, value_name = "LANGUAGE", help_heading = "Parameters")]
    pub language: Option<String>,
    /// Words in a shingle [default: 5]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub shingle_words: Option<u32>,
    /// Permutations of a MinHash signature [default: 128]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub permutations: Option<u32>,
    /// Minimum exact Jaccard similarity of shingles [default: 0.85]
    #[arg(long, value_name = "SHARE", help_heading = "Parameters")]
    pub jaccard: Option<f64>,
    /// Minimum cosine of TF-IDF vectors [default: 0.92]
    #[arg(long, value_name = "SHARE", help_heading = "Parameters")]
    pub cosine: Option<f64>,
    /// Use only Jaccard similarity, without lemmas, TF-IDF and clusters
    #[arg(long, help_heading = "Parameters")]
    pub no_tfidf: bool,
    /// Maximum terms of the TF-IDF vectors [default: 50000]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub vocabulary: Option<u32>,
    /// Minimum documents that contain a term [default: 3]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub min_df: Option<u32>,
    /// Minimum and maximum words of a term [default: 1,2]
    #[arg(long, value_name = "MIN,MAX", help_heading = "Parameters")]
    pub ngrams: Option<String>,
    /// Maximum characters of a document to lemmatize [default: 300000]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub max_lemma_chars: Option<u32>,
    /// Topic clustering algorithm: k-means, mini-batch, none [default: k-means]
    #[arg(long, value_name = "NAME", help_heading = "Parameters")]
    pub cluster_algorithm: Option<String>,
    /// Number of topic clusters [default: the square root of the number of documents, at most 200]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub clusters: Option<u32>,
    /// Random seed of the permutations and of the clustering [default: 42]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub seed: Option<u32>,
    /// Maximum index records to sort in memory at a time [default: 4000000]
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    pub run_records: Option<u32>,
    /// Directory for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", help_heading = "Parameters")]
    pub work_dir: Option<PathBuf>,
    /// Settings file, section `duplicates`
    #[arg(long, value_name = "FILE", help_heading = "Parameters")]
    pub config: Option<PathBuf>,
}

impl DuplicatesArgs {
    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        out.text("--language", "duplicates.language", self.language.as_ref());
        out.number("--shingle-words", "duplicates.shingle_words", self.shingle_words);
        out.number("--permutations", "duplicates.permutations", self.permutations);
        out.share("--jaccard", "duplicates.jaccard", self.jaccard);
        out.share("--cosine", "duplicates.cosine", self.cosine);
        out.switch("--no-tfidf", "duplicates.tfidf", self.no_tfidf, false);
        out.number("--vocabulary", "duplicates.vocabulary", self.vocabulary);
        out.number("--min-df", "duplicates.min_df", self.min_df);
        if let Some(ngrams) = &self.ngrams {
            let numbers: Result<Vec<i64>, _> = ngrams.split(',').map(str::parse).collect();
            // the setting refuses a value that is not a list of numbers
            let value = numbers.map_or_else(|_| Value::from(ngrams.as_str()), Value::from);
            out.set("--ngrams", "duplicates.ngrams", value);
        }
        out.number("--run-records", "duplicates.run_records", self.run_records);
        out.number("--max-lemma-chars", "duplicates.max_lemma_chars", self.max_lemma_chars);
        out.text("--cluster-algorithm", "duplicates.cluster_algorithm", self.cluster_algorithm.as_ref());
        out.number("--clusters", "duplicates.clusters", self.clusters);
        out.number("--seed", "duplicates.seed", self.seed);
        out.path("--work-dir", "duplicates.work_dir", self.work_dir.as_ref());
        out.0
    }
}
