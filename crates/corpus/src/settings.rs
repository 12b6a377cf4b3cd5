//! Parameters of the specification's table.

use crate::CorpusError;
use serde::{Deserialize, Serialize};

/// Most words in a term.
pub(crate) const LONGEST_TERM: usize = 5;

/// Listed pairs of a group. A group of 1,000 copies has half a million pairs, which no reader looks at; a group
/// of 100 is listed whole.
pub const PAIRS_PER_GROUP: u64 = 10_000;

/// Parameters of the pipeline; the report states the effective values as `meta.params`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Only documents in this language (ISO 639-1, one that is identified, or `und`), or `all`.
    pub language: String,
    /// Words in a shingle (`K`).
    pub shingle_words: usize,
    /// Permutations of a MinHash signature (`NUM_PERM`).
    pub permutations: usize,
    /// Minimum exact Jaccard similarity of shingles, 0 to 1 (`JACCARD_T`).
    pub jaccard: f64,
    /// TF-IDF: lemmas, cosine, clusters. Without it only Jaccard decides.
    pub tfidf: Option<TfIdfSettings>,
    /// Maximum listed pairs of a group. A larger group lists only those between different texts, and one to
    /// each copy.
    pub pairs_per_group: u64,
    /// Seed of the permutations and of the clustering.
    pub seed: u64,
    /// Records sorted in memory at a time, of 8 to 24 bytes; more are sorted in files.
    pub run_records: usize,
}

/// Lemmas and their vectors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TfIdfSettings {
    /// Minimum cosine of two documents' TF-IDF vectors, 0 to 1 (`NEAR_TFIDF_SIM`).
    pub cosine: f64,
    /// Most terms.
    pub vocabulary: usize,
    /// Minimum documents of a term.
    pub min_df: u32,
    /// Words in the shortest and in the longest term (`ngram_range`).
    pub ngrams: (usize, usize),
    /// Maximum characters of a document that are lemmatised.
    pub max_lemma_chars: usize,
    /// Topic clusters.
    pub clusters: ClusterSettings,
}

/// Settings of topic clusters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterSettings {
    /// The algorithm.
    pub algorithm: ClusterAlgorithm,
    /// Number of clusters; 0 takes the square root of the number of documents, 200 at most.
    pub number: usize,
}

/// Algorithms of clustering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterAlgorithm {
    /// Spherical k-means (Dhillon and Modha 2001) with seeds by k-means++.
    KMeans,
    /// Mini-batch k-means (Sculley 2010): cheaper on large corpora, slightly coarser.
    MiniBatch,
    /// No clusters.
    None,
}

impl Settings {
    /// Checks the ranges.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self) -> Result<(), CorpusError> {
        if self.language != "all" && !crawl_model::is_detected(&self.language) {
            let range = "the ISO 639-1 code of a language that is identified, und, or all";
            return Err(CorpusError::Setting { name: "language", given: self.language.clone(), range });
        }
        within("shingle_words", self.shingle_words, 1, 100, "1 to 100")?;
        within("permutations", self.permutations, 8, 4096, "8 to 4096")?;
        within("jaccard", self.jaccard, 0.05, 1.0, "0.05 to 1")?;
        within("run_records", self.run_records, 1 << 10, 1 << 30, "1,024 to 1,073,741,824")?;
        if let Some(tfidf) = &self.tfidf {
            within("cosine", tfidf.cosine, 0.0, 1.0, "0 to 1")?;
            within("vocabulary", tfidf.vocabulary, 1, 10_000_000, "1 to 10,000,000")?;
            within("ngrams", tfidf.ngrams.1, 1, LONGEST_TERM, "two numbers from 1 to 5")?;
            within(
                "ngrams",
                tfidf.ngrams.0,
                1,
                tfidf.ngrams.1,
                "two numbers from 1 to 5, the lesser one first",
            )?;
            within("min_df", tfidf.min_df, 1, u32::MAX, "1 or more")?;
            within("clusters", tfidf.clusters.number, 0, 1000, "0 to 1,000")?;
        }
        Ok(())
    }
}

pub(crate) fn within<T: PartialOrd + std::fmt::Display + Copy>(
    name: &'static str,
    given: T,
    least: T,
    most: T,
    range: &'static str,
) -> Result<(), CorpusError> {
    if given >= least && given <= most {
        return Ok(());
    }
    Err(CorpusError::Setting { name, given: given.to_string(), range })
}
