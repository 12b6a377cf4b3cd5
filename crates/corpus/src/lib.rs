//! Exact and near duplicates of a corpus: cleaning, exact groups by hash, candidates by MinHash and bands, verification by
//! exact Jaccard similarity and TF-IDF cosine, groups with canonical documents, topic clusters, report and table.
//!
//! [`Sketcher`] and [`Comparison`] compare pages one at a time, as a crawl brings them.
//!
//! Pages are added to an [`Analysis`] in any number; what is needed of them again lies in files, so memory holds a few
//! hundred bytes a document. The same pages in the same order with the same settings give the same findings, whatever the
//! number of threads.

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
pub use settings::{ClusterAlgorithm, ClusterSettings, Settings, TfIdfSettings};
pub use sketch::{Comparison, SketchSettings, Sketcher};
pub use table::{COLUMNS, Cell, Column, rows};
pub use tfidf::{Term, Vocabulary};
pub use verify::{CosineTerms, Pair};
pub use words::{jaccard, shingles, shingles_in_order, words};
