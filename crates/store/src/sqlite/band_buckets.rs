//! Text bands in memory, in the order of their hashes.
//!
//! Hashes are random, so buckets by their upper bits have few bands each. A bucket is a sorted list, so a band
//! takes little more than its 16 bytes.

use std::{mem, ops::Range};

/// Number of buckets.
const BUCKETS: usize = 1 << 14;

/// Hash and place of a band.
type Band = (i64, i64);

/// Bands by their hashes.
pub(super) struct BandBuckets {
    buckets: Vec<Vec<Band>>,
    len: usize,
}

impl BandBuckets {
    pub(super) fn new() -> Self {
        Self { buckets: vec![Vec::new(); BUCKETS], len: 0 }
    }

    /// Number of bands.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Adds a band, once.
    pub(super) fn insert(&mut self, hash: i64, place: i64) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        let Err(at) = bucket.binary_search(&(hash, place)) else { return };
        if bucket.len() == bucket.capacity() {
            // doubling would leave a third of a large buffer's memory unused
            bucket.reserve_exact(bucket.len() / 8 + 4);
        }
        bucket.insert(at, (hash, place));
        self.len += 1;
    }

    pub(super) fn remove(&mut self, hash: i64, place: i64) {
        let bucket = &mut self.buckets[bucket_of(hash)];
        if let Ok(at) = bucket.binary_search(&(hash, place)) {
            bucket.remove(at);
            self.len -= 1;
        }
    }

    /// Places that have a band, ascending.
    pub(super) fn places(&self, hash: i64) -> impl Iterator<Item = i64> {
        let bucket = &self.buckets[bucket_of(hash)];
        let first = bucket.partition_point(|band| band.0 < hash);
        bucket[first..].iter().take_while(move |band| band.0 == hash).map(|band| band.1)
    }

    /// Removes one of `parts` equal parts of the hashes; returns its bands in order.
    pub(super) fn take_part(&mut self, part: usize, parts: usize) -> impl Iterator<Item = Band> + use<> {
        let of_part: Range<usize> = part * BUCKETS / parts..(part + 1) * BUCKETS / parts;
        let taken: Vec<Vec<Band>> = self.buckets[of_part].iter_mut().map(mem::take).collect();
        self.len -= taken.iter().map(Vec::len).sum::<usize>();
        taken.into_iter().flatten()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

/// Bucket of a hash. Within a bucket all hashes have the same sign, so their order is that of the table.
fn bucket_of(hash: i64) -> usize {
    (hash.cast_unsigned() >> (u64::BITS - BUCKETS.ilog2())) as usize
}
