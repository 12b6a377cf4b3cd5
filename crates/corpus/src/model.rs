//! TF-IDF vectors of all texts of a corpus.

use crate::{
    CorpusError,
    documents::Documents,
    settings::TfIdfSettings,
    spool::{Entries, Spool},
    tfidf::{TermCounter, Vocabulary},
};
use rayon::prelude::*;
use std::path::Path;

/// Texts whose terms are counted, or whose vectors are computed, at a time.
const BATCH: usize = 512;

/// The vectors of all texts.
pub(crate) struct Model {
    pub vocabulary: Vocabulary,
    pub vectors: Entries,
    /// Length of each vector, before normalisation.
    pub norms: Vec<f64>,
    /// Norm of each text's terms outside of the vocabulary.
    pub other_norms: Vec<f64>,
}

impl Model {
    pub fn new(
        settings: &TfIdfSettings,
        run_records: usize,
        documents: &Documents,
        lemmas: &Entries,
        directory: &Path,
    ) -> Result<Self, CorpusError> {
        let mut counter = TermCounter::new(directory, run_records);
        each_batch(
            lemmas,
            |lemmas| TermCounter::terms(lemmas, settings.ngrams),
            |text, terms| counter.add(&terms, documents.distinct().get(text).map_or(0, |t| t.documents)),
        )?;
        let vocabulary = Vocabulary::most_frequent(counter.counts()?, documents.len(), settings)?;
        let mut vectors = Spool::new(directory)?;
        let mut norms = Vec::with_capacity(lemmas.len());
        let mut other_norms = Vec::with_capacity(lemmas.len());
        let vector = |lemmas: &str| {
            let (vector, others) = vocabulary.vector(lemmas);
            (vector.to_bytes(), vocabulary.norm(&vector), others)
        };
        each_batch(lemmas, vector, |_, (bytes, norm, others)| {
            norms.push(norm);
            other_norms.push(others);
            vectors.push(&bytes)
        })?;
        Ok(Self { vectors: vectors.finish()?, vocabulary, norms, other_norms })
    }
}

/// Processes all texts in parallel and takes the results in order.
fn each_batch<T: Send>(
    texts: &Entries,
    work: impl Fn(&str) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), CorpusError>,
) -> Result<(), CorpusError> {
    for start in (0..texts.len()).step_by(BATCH) {
        let batch = start..(start + BATCH).min(texts.len());
        let results: Result<Vec<T>, CorpusError> =
            batch.clone().into_par_iter().map(|index| Ok(work(&texts.text(index)?))).collect();
        for (index, result) in batch.zip(results?) {
            take(index, result)?;
        }
    }
    Ok(())
}
