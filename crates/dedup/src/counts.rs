//! Counts of hashes in bounded memory.

use rustc_hash::FxHashMap;

/// Counts hashes exactly up to a bound on the distinct ones. Beyond it counts are too low by a known amount.
///
/// Beyond the bound the median count is subtracted from every count, and counts of zero or less are dropped
/// (Misra and Gries 1982). This is the form of Anderson et al. 2017, which clears half of the table at a
/// time. So no count is ever too high. A count is too low by at most `undercount`, which stays below `2 * N /
/// max`, where `N` is the number of hashes counted.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    pub(crate) map: FxHashMap<u64, u32>,
    max: usize,
    pub(crate) undercount: u64,
}

impl Counts {
    pub(crate) fn new(max: usize) -> Self {
        Self { map: FxHashMap::default(), max: max.max(2), undercount: 0 }
    }

    /// Counts a hash; returns its count, and true if counts were lowered to make room.
    pub(crate) fn add(&mut self, hash: u64) -> (u32, bool) {
        let full = self.map.len() >= self.max && !self.map.contains_key(&hash);
        if full {
            self.forget();
        }
        let count = self.map.entry(hash).or_default();
        *count = count.saturating_add(1);
        (*count, full)
    }

    pub(crate) fn get(&self, hash: u64) -> u32 {
        self.map.get(&hash).copied().unwrap_or(0)
    }

    /// Clears at least half of the table; see the type.
    fn forget(&mut self) {
        let mut counts: Vec<u32> = self.map.values().copied().collect();
        let middle = counts.len() / 2;
        let (_, &mut median, _) = counts.select_nth_unstable(middle);
        self.undercount += u64::from(median);
        self.map.retain(|_, count| {
            *count = count.saturating_sub(median);
            *count > 0
        });
    }
}
