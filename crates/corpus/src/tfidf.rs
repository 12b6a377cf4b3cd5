//! TF-IDF of n-grams of lemmas, by default of one and two words, computed like scikit-learn's
//! `TfidfVectorizer`. Terms are ranked by corpus frequency among those in `min_df` documents; idf = ln((1 +
//! n) / (1 + df)) + 1; rows have length one.

mod count;

use crate::{
    CorpusError,
    settings::{LONGEST_TERM, TfIdfSettings},
    spool,
};
use count::TermCount;
use rustc_hash::FxHashMap;
use std::{cmp::Reverse, collections::BinaryHeap, sync::OnceLock};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) use count::TermCounter;

/// Terms by which documents are compared.
#[derive(Debug)]
pub struct Vocabulary {
    /// Hash of a term → its number.
    numbers: FxHashMap<u64, u32>,
    terms: Vec<Term>,
    /// Texts of the terms. Counting only uses hashes: the texts are stored when vectors are computed.
    texts: Vec<OnceLock<Box<str>>>,
    ngrams: (usize, usize),
    /// Inverse document frequency of a term in too few documents, computed for at least two.
    rare_idf: f64,
}

/// A term of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Times in the corpus.
    pub count: u64,
    /// Number of documents that contain it.
    pub documents: u32,
    /// Its inverse document frequency.
    pub idf: f64,
}

impl Vocabulary {
    /// The most frequent terms; of equally frequent ones those with the lesser hash.
    pub(crate) fn most_frequent(
        counts: impl Iterator<Item = Result<TermCount, CorpusError>>,
        documents: u32,
        settings: &TfIdfSettings,
    ) -> Result<Self, CorpusError> {
        let mut best: BinaryHeap<Reverse<(u64, Reverse<u64>, u32)>> = BinaryHeap::new();
        for term in counts {
            let term = term?;
            if term.documents >= settings.min_df {
                best.push(Reverse((term.count, Reverse(term.hash), term.documents)));
                if best.len() > settings.vocabulary {
                    best.pop();
                }
            }
        }
        let mut chosen: Vec<_> =
            best.into_iter().map(|Reverse((c, Reverse(hash), d))| (hash, c, d)).collect();
        chosen.sort_unstable();
        let idf = |df: u32| ((1.0 + f64::from(documents)) / (1.0 + f64::from(df))).ln() + 1.0;
        Ok(Self {
            rare_idf: idf(settings.min_df.saturating_sub(1).max(2).min(documents)),
            ngrams: settings.ngrams,
            numbers: chosen.iter().map(|(hash, ..)| *hash).zip(0..).collect(),
            texts: chosen.iter().map(|_| OnceLock::new()).collect(),
            terms: chosen
                .into_iter()
                .map(|(_, count, documents)| Term { count, documents, idf: idf(documents) })
                .collect(),
        })
    }

    /// Number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns true if no term is in enough documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Terms with their texts, in the order of their numbers.
    pub fn terms(&self) -> impl Iterator<Item = (&str, Term)> {
        (0..).map_while(|number| Some((self.text(number)?, *self.terms.get(number as usize)?)))
    }

    /// A term by its number.
    #[must_use]
    pub fn term(&self, number: u32) -> Option<Term> {
        self.terms.get(number as usize).copied()
    }

    /// Text of a term; empty until a vector with it is computed.
    #[must_use]
    pub fn text(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(|text| text.get().map_or("", |t| t))
    }

    /// Vector of a document: its terms with their counts. Also the norm of the vector of its other terms,
    /// provided that another text shares all of them.
    pub(crate) fn vector(&self, lemmas: &str) -> (Vector, f64) {
        let (mut numbers, mut others): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
        for term in terms_of(lemmas, self.ngrams) {
            let hash = xxh3_64(term.as_bytes());
            let Some(number) = self.numbers.get(&hash) else {
                others.push(hash);
                continue;
            };
            numbers.push(*number);
            if let Some(text) = self.texts.get(*number as usize) {
                text.get_or_init(|| term.into());
            }
        }
        let squares: f64 = counted(others).into_iter().map(|(_, count)| f64::from(count).powi(2)).sum();
        (Vector(counted(numbers)), self.rare_idf * squares.sqrt())
    }

    /// Weight of a term with `count` occurrences in a document, before normalisation.
    pub(crate) fn weight(&self, number: u32, count: u32) -> f64 {
        f64::from(count) * self.terms.get(number as usize).map_or(0.0, |term| term.idf)
    }

    pub(crate) fn norm(&self, vector: &Vector) -> f64 {
        vector.0.iter().map(|(term, count)| self.weight(*term, *count).powi(2)).sum::<f64>().sqrt()
    }

    /// Cosine of two vectors with their norms; 0 if one has no term.
    pub(crate) fn cosine(&self, a: (&Vector, f64), b: (&Vector, f64)) -> f64 {
        if a.1 <= 0.0 || b.1 <= 0.0 {
            return 0.0;
        }
        let products = common(&a.0.0, &b.0.0).map(|(x, m, n)| self.weight(x, m) * self.weight(x, n));
        products.sum::<f64>() / (a.1 * b.1)
    }

    /// Upper bound of [`cosine_with_shared`](Self::cosine_with_shared). Its inputs are the cosine of two
    /// vectors, the product of their norms, and that of the norms of the other terms.
    ///
    /// With the shared parts u and v in units of the norms it is `(c + uv) / √((1 + u²)(1 + v²))`. The root
    /// is at least 1 + uv.
    pub(crate) fn most_with_shared(cosine: f64, norms: f64, others: f64) -> f64 {
        if norms <= 0.0 {
            return if others > 0.0 { 1.0 } else { 0.0 };
        }
        let shared = others / norms;
        (cosine + shared) / (1.0 + shared)
    }

    /// Cosine of two texts by the terms of the vocabulary and the other terms that both have; 0 if there is
    /// none. The other terms have the inverse document frequency of `min_df` − 1 documents, at least two.
    /// Terms outside of the vocabulary that only one text has do not count, as `min_df` intends.
    pub(crate) fn cosine_with_shared(&self, a: (&Vector, &OtherTerms), b: (&Vector, &OtherTerms)) -> f64 {
        let weight = |count: u32| f64::from(count) * self.rare_idf;
        let mut product: f64 =
            common(&a.0.0, &b.0.0).map(|(x, m, n)| self.weight(x, m) * self.weight(x, n)).sum();
        let (mut square_a, mut square_b) = (self.norm(a.0).powi(2), self.norm(b.0).powi(2));
        for (_, m, n) in common(a.1, b.1) {
            product += weight(m) * weight(n);
            square_a += weight(m).powi(2);
            square_b += weight(n).powi(2);
        }
        if square_a <= 0.0 || square_b <= 0.0 { 0.0 } else { product / (square_a * square_b).sqrt() }
    }

    /// Terms of a text outside of the vocabulary with their counts, sorted by hash.
    pub(crate) fn other_terms(&self, lemmas: &str) -> OtherTerms {
        let hashes = terms_of(lemmas, self.ngrams).map(|term| xxh3_64(term.as_bytes()));
        counted(hashes.filter(|hash| !self.numbers.contains_key(hash)).collect())
    }
}

/// Terms of a document outside of the vocabulary: hashes with their counts, sorted by hash.
pub(crate) type OtherTerms = Vec<(u64, u32)>;

/// Terms of a document with their counts, sorted by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vector(pub Vec<(u32, u32)>);

impl Vector {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let packed: Vec<u64> = self.0.iter().map(|(t, c)| (u64::from(*t) << 32) | u64::from(*c)).collect();
        spool::to_bytes(&packed)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of 64 bits")]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut packed = Vec::new();
        spool::from_bytes(bytes, &mut packed);
        Self(packed.into_iter().map(|both| ((both >> 32) as u32, both as u32)).collect())
    }
}

/// Counts equal values; sorted by value.
fn counted<T: Ord + Copy>(mut all: Vec<T>) -> Vec<(T, u32)> {
    all.sort_unstable();
    let runs = all.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, u32::try_from(run.len()).unwrap_or(u32::MAX)))).collect()
}

/// Iterates over the values of both sorted lists, with the count in each.
fn common<'a, T: Ord + Copy>(
    a: &'a [(T, u32)],
    b: &'a [(T, u32)],
) -> impl Iterator<Item = (T, u32, u32)> + 'a {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let ((x, m), (y, n)) = (*left.peek()?, *right.peek()?);
            if x <= y {
                left.next();
            }
            if y <= x {
                right.next();
            }
            if x == y {
                return Some((*x, *m, *n));
            }
        }
    })
}

/// N-grams between the shortest and longest number of words; single spaces separate words.
fn terms_of(lemmas: &str, (shortest, longest): (usize, usize)) -> impl Iterator<Item = &str> {
    let mut starts = std::iter::once(0).chain(lemmas.match_indices(' ').map(|(at, _)| at + 1)).peekable();
    // starts of the last words, the newest first
    let mut last = [0; LONGEST_TERM];
    let mut words = 0;
    std::iter::from_fn(move || {
        let start = starts.next()?;
        let end = starts.peek().map_or(lemmas.len(), |next| next - 1);
        last.rotate_right(1);
        last[0] = start;
        words += 1;
        let begins = last.into_iter().take(longest.min(words)).skip(shortest.saturating_sub(1));
        Some(begins.filter_map(move |from| lemmas.get(from..end)))
    })
    .flatten()
    .filter(|term| !term.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_word_ngrams() {
        let of = |ngrams| terms_of("a b c d", ngrams).collect::<Vec<_>>();
        assert_eq!(of((1, 2)), ["a", "b", "a b", "c", "b c", "d", "c d"]);
        assert_eq!(of((2, 3)), ["a b", "b c", "a b c", "c d", "b c d"]);
        assert_eq!(of((5, 5)), [""; 0]);
        assert_eq!(terms_of("", (1, 2)).count(), 0);
    }
}
