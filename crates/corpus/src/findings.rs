//! Results of an analysis, for the outputs.

use crate::{
    CorpusError, Page, Settings,
    cluster::Clusters,
    documents::{Distinct, Documents, Members},
    groups::Groups,
    minhash::Banding,
    model::Model,
    spool::Entries,
    tfidf::Vocabulary,
    verify::{CosineTerms, Pair},
};

/// Input of all outputs. Texts are in files.
pub struct Findings {
    /// Settings of the analysis.
    pub settings: Settings,
    /// Bands of the signatures.
    pub banding: Banding,
    /// Documents left out for their language.
    pub other_languages: u64,
    /// Pairs of texts that were compared exactly.
    pub candidates: u64,
    /// Buckets too large for comparing all of their pairs.
    pub thinned: u64,
    /// All documents.
    pub documents: Documents,
    /// Pairs of different texts, by their numbers.
    pub pairs: Vec<Pair>,
    /// Groups of documents.
    pub groups: Groups,
    /// Topics, if requested.
    pub clusters: Option<Clusters>,
    pub(crate) model: Option<Model>,
    pub(crate) signatures: Entries,
    pub(crate) lemmas: Entries,
    pub(crate) texts: Entries,
    pub(crate) pages: Entries,
}

/// Two documents that are near duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DocumentPair {
    /// Place of the one document.
    pub i: u32,
    /// Position of the other document, which comes later.
    pub j: u32,
    /// Similarity of their texts.
    pub scores: Pair,
}

/// Pairs of documents, derived from the pairs of their texts.
#[derive(Debug, Default)]
pub struct DocumentPairs {
    /// Sorted by `i`, then `j`.
    pub pairs: Vec<DocumentPair>,
    /// Pairs of copies in large groups that are not listed.
    pub not_listed: u64,
}

impl Findings {
    /// Terms by which documents were compared.
    #[must_use]
    pub fn vocabulary(&self) -> Option<&Vocabulary> {
        self.model.as_ref().map(|model| &model.vocabulary)
    }

    /// The cleaned text with a number; empty unless texts were kept.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn text(&self, text: u32) -> Result<String, CorpusError> {
        self.texts.text(text as usize)
    }

    /// Lemmas of the text with a number; empty without TF-IDF.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn lemmas(&self, text: u32) -> Result<String, CorpusError> {
        if self.model.is_some() { self.lemmas.text(text as usize) } else { Ok(String::new()) }
    }

    /// The original document; empty unless pages were kept.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn page(&self, document: u32) -> Result<Page, CorpusError> {
        let bytes = self.pages.read(document as usize)?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Hashes of the bands of a text's signature.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn bands(&self, text: u32) -> Result<Vec<u64>, CorpusError> {
        let bytes = self.signatures.read(text as usize)?;
        let signature: Vec<u32> =
            bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row)).collect();
        Ok(self.banding.hashes(&signature).collect())
    }

    /// All pairs of documents. A pair of texts gives a pair for each of their documents, and copies of a
    /// non-empty text are pairs too. A group with more than [`Settings::pairs_per_group`] pairs is shortened.
    /// It lists only pairs between the first documents of its texts, and one from there to each copy.
    #[must_use]
    pub fn document_pairs(&self) -> DocumentPairs {
        let members = self.documents.members();
        let sizes = self.pairs_by_group();
        let full = |document: u32| {
            sizes.get(self.groups.of(document) as usize).is_some_and(|n| *n <= self.settings.pairs_per_group)
        };
        let mut found = DocumentPairs::default();
        for pair in &self.pairs {
            let (a, b) = (members.of(pair.a), members.of(pair.b));
            found.cross(a, b, *pair, a.first().is_some_and(|d| full(*d)));
        }
        let copied = |(_, text): &(u32, &Distinct)| text.documents > 1 && text.chars > 0;
        for (text, _) in (0..).zip(self.documents.distinct()).filter(copied) {
            found.copies(&members, text, members.of(text).first().is_some_and(|d| full(*d)));
        }
        found.pairs.sort_unstable_by_key(|pair| (pair.i, pair.j));
        found
    }

    /// Number of pairs of documents per group.
    fn pairs_by_group(&self) -> Vec<u64> {
        let mut sizes = vec![0_u64; self.documents.len() as usize];
        let distinct = self.documents.distinct();
        let mut add = |document: u32, pairs: u64| {
            if let Some(size) = sizes.get_mut(self.groups.of(document) as usize) {
                *size = size.saturating_add(pairs);
            }
        };
        for pair in &self.pairs {
            if let Some((a, b)) = distinct.get(pair.a as usize).zip(distinct.get(pair.b as usize)) {
                add(a.first, u64::from(a.documents) * u64::from(b.documents));
            }
        }
        for text in distinct.iter().filter(|text| text.chars > 0) {
            let n = u64::from(text.documents);
            add(text.first, n * (n - n.min(1)) / 2);
        }
        sizes
    }
}

impl DocumentPairs {
    fn push(&mut self, a: u32, b: u32, scores: Pair) {
        self.pairs.push(DocumentPair { i: a.min(b), j: a.max(b), scores });
    }

    fn cross(&mut self, a: &[u32], b: &[u32], scores: Pair, full: bool) {
        let some = |all: &[u32]| if full { all.len() } else { all.len().min(1) };
        for x in a.iter().take(some(a)) {
            for y in b.iter().take(some(b)) {
                self.push(*x, *y, scores);
            }
        }
        self.not_listed += (a.len() * b.len() - some(a) * some(b)) as u64;
    }

    fn copies(&mut self, members: &Members, text: u32, full: bool) {
        let terms = CosineTerms::Identical;
        let same = Pair { a: text, b: text, jaccard: 1.0, estimate: 1.0, cosine: 1.0, terms };
        let documents = members.of(text);
        let listed = self.pairs.len();
        for (at, x) in documents.iter().enumerate().take(if full { documents.len() } else { 1 }) {
            for y in documents.iter().skip(at + 1) {
                self.push(*x, *y, same);
            }
        }
        let all = documents.len() * documents.len().saturating_sub(1) / 2;
        self.not_listed += (all - (self.pairs.len() - listed)) as u64;
    }
}
