//! Counting of terms, most of which occur once, in bounded memory.

use super::terms_of;
use crate::{
    CorpusError,
    sorter::{Fixed, Sorted, Sorter},
};
use rustc_hash::FxHashMap;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Counts of a term by its hash (XXH3, 64 bits: among a hundred million terms two share one with a
/// probability of 3 in 10,000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TermCount {
    pub hash: u64,
    /// Distinguishes partial counts of a term, so that equal ones are not merged.
    part: u32,
    pub documents: u32,
    pub count: u64,
}

impl Fixed for TermCount {
    type Bytes = [u8; 24];

    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let fields = [self.hash, (u64::from(self.part) << 32) | u64::from(self.documents), self.count];
        for (place, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *place = field.to_le_bytes();
        }
        bytes
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of 64 bits")]
    fn from_bytes(bytes: &[u8; 24]) -> Self {
        let mut fields = bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk));
        let mut next = || fields.next().unwrap_or_default();
        let (hash, both, count) = (next(), next(), next());
        Self { hash, part: (both >> 32) as u32, documents: both as u32, count }
    }
}

/// Terms of one text: hash and number of occurrences.
pub(crate) type TermsOfText = Vec<(u64, u32)>;

/// Adds up the terms of documents.
pub(crate) struct TermCounter {
    /// Hash → occurrences, documents.
    counts: FxHashMap<u64, (u64, u32)>,
    sorter: Sorter<TermCount>,
    limit: usize,
    part: u32,
}

impl TermCounter {
    pub(crate) fn new(directory: &Path, run_records: usize) -> Self {
        Self {
            counts: FxHashMap::default(),
            sorter: Sorter::new(directory, run_records),
            limit: run_records,
            part: 0,
        }
    }

    /// Counts the terms of a text; needs no counter, so texts can be counted in parallel.
    pub(crate) fn terms(lemmas: &str, ngrams: (usize, usize)) -> TermsOfText {
        let mut hashes: Vec<u64> = terms_of(lemmas, ngrams).map(|term| xxh3_64(term.as_bytes())).collect();
        hashes.sort_unstable();
        let runs = hashes.chunk_by(|a, b| a == b);
        runs.filter_map(|run| Some((*run.first()?, u32::try_from(run.len()).unwrap_or(u32::MAX)))).collect()
    }

    /// Adds a text that `documents` documents have.
    pub(crate) fn add(&mut self, terms: &[(u64, u32)], documents: u32) -> Result<(), CorpusError> {
        for (hash, count) in terms {
            let known = self.counts.entry(*hash).or_default();
            known.0 += u64::from(*count) * u64::from(documents);
            known.1 = known.1.saturating_add(documents);
        }
        if self.counts.len() >= self.limit { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), CorpusError> {
        for (hash, (count, documents)) in self.counts.drain() {
            self.sorter.push(TermCount { hash, part: self.part, documents, count })?;
        }
        self.part += 1;
        Ok(())
    }

    /// Every term once, by hash.
    pub(crate) fn counts(mut self) -> Result<Totals, CorpusError> {
        self.spill()?;
        Ok(Totals { parts: self.sorter.sorted()?, next: None })
    }
}

/// Adds up the parts of each term.
pub(crate) struct Totals {
    parts: Sorted<TermCount>,
    next: Option<TermCount>,
}

impl Iterator for Totals {
    type Item = Result<TermCount, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut total: Option<TermCount> = self.next.take();
        for part in self.parts.by_ref() {
            let part = match part {
                Ok(part) => part,
                Err(e) => return Some(Err(e)),
            };
            match &mut total {
                None => total = Some(part),
                Some(total) if total.hash == part.hash => {
                    total.count += part.count;
                    total.documents = total.documents.saturating_add(part.documents);
                }
                Some(_) => {
                    self.next = Some(part);
                    break;
                }
            }
        }
        total.map(Ok)
    }
}
