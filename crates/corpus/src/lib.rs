//! Exact and near duplicates of a corpus. The steps are cleaning, exact groups by hash, candidates by MinHash
//! and bands, and verification by exact Jaccard similarity and TF-IDF cosine. The results are groups with
//! canonical documents, topic clusters, report and table.
//!
//! [`Sketcher`] and [`Comparison`] compare the pages of a crawl one at a time.
//!
//! Pages are added to an [`Analysis`] in any number. Reusable data is in files, so memory holds a few hundred
//! bytes per document. The same pages in the same order with the same settings give the same findings, for
//! any number of threads.

mod analysis;
mod candidates;
mod clean;
mod cluster;
mod components;
mod documents;
mod error;
mod findings;
mod groups;
mod html;
mod language;
mod lemma;
mod minhash;
mod model;
mod page;
mod report;
mod settings;
mod sketch;
mod sorter;
mod spool;
mod table;
mod tfidf;
mod verify;
mod words;

pub use analysis::{Analysis, Keep};
pub use clean::{NUMBER, clean};
pub use cluster::{Cluster, Clusters};
pub use documents::{Distinct, Documents, Members, TextHash};
pub use error::CorpusError;
pub use findings::{DocumentPair, DocumentPairs, Findings};
pub use groups::{Group, Groups};
pub use html::{fill_page, write_html};
pub use language::{Language, detect};
pub use lemma::Lemmatizer;
pub use minhash::{Banding, MinHash, estimate};
pub use page::Page;
pub use report::{InputCount, Origin, write_report};
pub use settings::{ClusterAlgorithm, ClusterSettings, PAIRS_PER_GROUP, Settings, TfIdfSettings};
pub use sketch::{Comparison, SketchSettings, Sketcher, Threshold};
pub use table::{COLUMNS, Cell, Column, rows};
pub use tfidf::{Term, Vocabulary};
pub use verify::{CosineTerms, Pair};
pub use words::{jaccard, shingles, shingles_in_order, words};
