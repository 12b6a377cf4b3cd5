//! Candidates: documents that share a bucket, found by sorting instead of by a table in memory.

use crate::{
    CorpusError,
    sorter::{Bucketed, Sorted, Sorter},
};
use std::path::Path;

/// Maximum documents of a bucket for comparing all pairs.
const FULL_BUCKET: usize = 1000;

/// In a larger bucket each document is compared with this many of the first ones and of its neighbours.
/// Similar documents are still joined, at a linear instead of a quadratic cost.
const ANCHORS: usize = 16;

/// All pairs that share a bucket, sorted, each once.
pub(crate) struct Candidates {
    pub pairs: Sorted<(u32, u32)>,
    /// Buckets too large for all of their pairs.
    pub thinned: u64,
}

pub(crate) fn candidates(
    buckets: Sorted<Bucketed>,
    directory: &Path,
    run_records: usize,
) -> Result<Candidates, CorpusError> {
    let mut pairs = Sorter::new(directory, run_records);
    let mut thinned = 0;
    let mut members: Vec<u32> = Vec::new();
    let mut hash = None;
    for record in buckets {
        let record = record?;
        if hash != Some(record.hash) {
            thinned += u64::from(pair_up(&members, &mut pairs)?);
            members.clear();
            hash = Some(record.hash);
        }
        members.push(record.document);
    }
    thinned += u64::from(pair_up(&members, &mut pairs)?);
    Ok(Candidates { pairs: pairs.sorted()?, thinned })
}

/// Adds pairs of a bucket with sorted members; returns true if there were too many for all pairs.
fn pair_up(members: &[u32], pairs: &mut Sorter<(u32, u32)>) -> Result<bool, CorpusError> {
    let full = members.len() <= FULL_BUCKET;
    for (at, b) in members.iter().enumerate() {
        let before = members.get(..at).unwrap_or_default();
        if full {
            for a in before {
                pairs.push((*a, *b))?;
            }
        } else {
            let near = before.len().saturating_sub(ANCHORS);
            for a in before.iter().take(ANCHORS).chain(before.get(near..).unwrap_or_default()) {
                pairs.push((*a, *b))?;
            }
        }
    }
    Ok(!full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::Components;

    fn found(buckets: &[(u64, u32)]) -> (Vec<(u32, u32)>, u64) {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(directory.path(), 1000);
        for (hash, document) in buckets {
            sorter.push(Bucketed { hash: *hash, document: *document }).unwrap();
        }
        let found = candidates(sorter.sorted().unwrap(), directory.path(), 1000).unwrap();
        (found.pairs.map(Result::unwrap).collect(), found.thinned)
    }

    #[test]
    fn documents_in_one_bucket_are_candidates_once() {
        assert_eq!(
            found(&[(1, 5), (1, 2), (2, 5), (2, 2), (3, 9), (4, 9), (4, 2)]),
            (vec![(2, 5), (2, 9)], 0)
        );
        assert_eq!(found(&[]), (vec![], 0));
    }

    #[test]
    fn huge_bucket_gives_few_pairs_and_stays_connected() {
        let (pairs, thinned) = found(&(0..3000).map(|d| (7, d)).collect::<Vec<_>>());
        assert_eq!(thinned, 1);
        assert!(pairs.len() < 3000 * 2 * ANCHORS);
        let mut components = Components::new(3000);
        pairs.iter().for_each(|(a, b)| components.join(*a, *b));
        assert!((0..3000).all(|d| components.root(d) == 0));
    }
}
