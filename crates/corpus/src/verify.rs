//! Verification of candidates: the exact similarity of their shingles, then the cosine of their vectors.

use crate::{
    CorpusError, Settings,
    documents::Documents,
    minhash::estimate,
    model::Model,
    sorter::{Candidate, Sorted},
    spool::{self, Entries},
    tfidf::{OtherTerms, Vector, Vocabulary},
    words::jaccard,
};
use rayon::prelude::*;
use serde::Serialize;

/// Candidates verified at a time.
const BATCH: usize = 1 << 14;

/// Two texts that are near duplicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Number of the one text.
    pub a: u32,
    /// Number of the other, which is greater.
    pub b: u32,
    /// Exact similarity of their shingles.
    pub jaccard: f64,
    /// MinHash estimate of the similarity.
    pub estimate: f64,
    /// Cosine of their TF-IDF vectors; 1 without any.
    pub cosine: f64,
    /// Terms of the cosine.
    pub terms: CosineTerms,
}

/// Terms from which the cosine of a pair was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CosineTerms {
    /// The vocabulary: terms in `min_df` documents, up to the maximum of the settings.
    Vocabulary,
    /// The vocabulary and the other terms that both texts have. Used if the vocabulary alone does not reach
    /// the threshold.
    Shared,
    /// None: neither text has a word, or TF-IDF is off. The Jaccard similarity alone decides.
    None,
    /// No terms: the texts are equal.
    Identical,
}

pub(crate) struct Verifier<'a> {
    pub settings: &'a Settings,
    pub documents: &'a Documents,
    pub shingles: &'a Entries,
    pub signatures: &'a Entries,
    pub lemmas: &'a Entries,
    pub model: Option<&'a Model>,
}

/// Verified pairs, and the number of candidates.
pub(crate) struct Verified {
    pub pairs: Vec<Pair>,
    pub candidates: u64,
}

/// Buffers of a thread.
#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    /// Shingles of the text with this number: candidates are sorted, so it is often the previous one.
    a: (Option<u32>, Vec<u64>),
    b: Vec<u64>,
    /// Terms of the text outside of the vocabulary, cached like `a`.
    others: (Option<u32>, OtherTerms),
}

impl Verifier<'_> {
    pub(crate) fn verify(&self, mut candidates: Sorted<Candidate>) -> Result<Verified, CorpusError> {
        let mut verified = Verified { pairs: Vec::new(), candidates: 0 };
        loop {
            let batch: Vec<Candidate> = candidates.by_ref().take(BATCH).collect::<Result<_, _>>()?;
            if batch.is_empty() {
                return Ok(verified);
            }
            verified.candidates += batch.len() as u64;
            let kept: Result<Vec<Option<Pair>>, CorpusError> = batch
                .par_chunks(256)
                .flat_map_iter(|chunk| {
                    let mut buffers = Buffers::default();
                    chunk.iter().map(move |pair| self.pair(*pair, &mut buffers))
                })
                .collect();
            verified.pairs.extend(kept?.into_iter().flatten());
        }
    }

    fn pair(&self, (a, b): Candidate, buffers: &mut Buffers) -> Result<Option<Pair>, CorpusError> {
        let least = self.settings.jaccard;
        let size = |text: u32| self.documents.distinct().get(text as usize).map_or(0, |t| t.shingles);
        let (small, large) = (size(a).min(size(b)), size(a).max(size(b)));
        if f64::from(small) < least * f64::from(large) {
            return Ok(None);
        }
        if buffers.a.0 != Some(a) {
            self.shingles.read_into(a as usize, &mut buffers.bytes)?;
            spool::from_bytes(&buffers.bytes, &mut buffers.a.1);
            buffers.a.0 = Some(a);
        }
        self.shingles.read_into(b as usize, &mut buffers.bytes)?;
        spool::from_bytes(&buffers.bytes, &mut buffers.b);
        let Some(jaccard) = jaccard(&buffers.a.1, &buffers.b, least) else { return Ok(None) };
        let Some((cosine, terms)) = self.cosine(a, b, &mut buffers.others)? else { return Ok(None) };
        let estimate = estimate(&self.signature(a)?, &self.signature(b)?);
        Ok(Some(Pair { a, b, jaccard, estimate, cosine, terms }))
    }

    /// The cosine if it is high enough; 1 without lemmas.
    ///
    /// The vocabulary has no terms of fewer than `min_df` documents. In a small corpus, or in unusual texts,
    /// two texts mostly share such terms. So if the vocabulary does not suffice, the other terms that both
    /// texts have are added.
    fn cosine(
        &self,
        a: u32,
        b: u32,
        others: &mut (Option<u32>, OtherTerms),
    ) -> Result<Option<(f64, CosineTerms)>, CorpusError> {
        let Some((model, tfidf)) = self.model.zip(self.settings.tfidf.as_ref()) else {
            return Ok(Some((1.0, CosineTerms::None)));
        };
        let vector = |text: u32| -> Result<(Vector, f64), CorpusError> {
            let norm = model.norms.get(text as usize).copied().unwrap_or(0.0);
            Ok((Vector::from_bytes(&model.vectors.read(text as usize)?), norm))
        };
        let (x, y) = (vector(a)?, vector(b)?);
        let cosine = model.vocabulary.cosine((&x.0, x.1), (&y.0, y.1));
        if cosine >= tfidf.cosine {
            return Ok(Some((cosine, CosineTerms::Vocabulary)));
        }
        let other_norm = |text: u32| model.other_norms.get(text as usize).copied().unwrap_or(0.0);
        let (m, n) = (other_norm(a), other_norm(b));
        if x.1 + y.1 + m + n <= 0.0 {
            return Ok(Some((0.0, CosineTerms::None)));
        }
        // most pairs of pages from one template end here, without reading their lemmas again
        if Vocabulary::most_with_shared(cosine, x.1 * y.1, m * n) < tfidf.cosine - 1e-9 {
            return Ok(None);
        }
        let other_terms = |text: u32| Ok(model.vocabulary.other_terms(&self.lemmas.text(text as usize)?));
        if others.0 != Some(a) {
            *others = (Some(a), other_terms(a)?);
        }
        let cosine = model.vocabulary.cosine_with_shared((&x.0, &others.1), (&y.0, &other_terms(b)?));
        Ok((cosine >= tfidf.cosine).then_some((cosine, CosineTerms::Shared)))
    }

    fn signature(&self, text: u32) -> Result<Vec<u32>, CorpusError> {
        let bytes = self.signatures.read(text as usize)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|row| u32::from_le_bytes(*row)).collect())
    }
}
