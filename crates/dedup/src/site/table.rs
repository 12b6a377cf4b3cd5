//! Counts of a host, in bounded memory.

use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// Maximum number of groups; pages of further groups count for the host alone.
const MAX_GROUPS: usize = 1 << 12;
/// Bits of a group's name.
const NAME_BITS: u32 = 24;
/// Placeholder for a group's name: several groups have the feature, and each has a count of its own.
const SEVERAL: u32 = (1 << NAME_BITS) - 1;
/// Placeholder for a group's name: no group is known.
pub(crate) const NO_GROUP: u32 = 0;
/// Groupings of pages: by section, and by first lines.
pub(crate) const GROUPINGS: usize = 2;

/// Hashes of a page's groups, one per grouping.
pub(super) type GroupHashes = [Option<u64>; GROUPINGS];
/// Names of a page's groups in the table; [`NO_GROUP`] for none.
pub(crate) type GroupNames = [u32; GROUPINGS];

/// Counts features exactly up to a bound on the distinct ones, for the host and for each page group.
///
/// Most features occur on one page or in one group: these have one entry, with the name of the group. A
/// second group gives each group its own count. Beyond the bound, entries up to the median count are dropped
/// (after lossy counting, Manku and Motwani 2002). No count is ever too high, and none is too low by more
/// than `undercount`. A feature that is always above the median keeps its exact count. Up to the bound the
/// order of the pages has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) pieces: FxHashMap<Key, FeatureCount>,
    /// Pages of each group.
    pub(crate) groups: FxHashMap<u32, u32>,
    max: usize,
    pub(crate) undercount: u64,
}

/// First 40 bits of a feature's hash, without padding. In a full table the odds that two features share a key
/// are 1 to 170.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key([u8; Key::BYTES]);

impl Key {
    /// Bytes of a key.
    pub(crate) const BYTES: usize = 5;

    /// The key of a hash.
    pub(crate) const fn of(hash: u64) -> Self {
        let [a, b, c, d, e, ..] = hash.to_be_bytes();
        Self([a, b, c, d, e])
    }

    /// The key as the upper bits of a number.
    pub(crate) const fn number(self) -> u64 {
        let [a, b, c, d, e] = self.0;
        u64::from_be_bytes([a, b, c, d, e, 0, 0, 0])
    }

    /// Key of saved bytes.
    pub(crate) const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.number());
    }
}

/// Number of pages with a feature and, for each grouping, its only group or [`SEVERAL`]. Without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeatureCount {
    pages: [u8; 3],
    groups: [[u8; 3]; GROUPINGS],
}

impl FeatureCount {
    pub(crate) fn new(pages: u32, groups: GroupNames) -> Self {
        let [section, opening] = groups;
        Self { pages: narrow(pages), groups: [narrow(section), narrow(opening)] }
    }

    /// Number of pages with the feature, up to 16,777,215.
    pub(crate) const fn pages(self) -> u32 {
        wide(self.pages)
    }

    pub(crate) const fn groups(self) -> GroupNames {
        let [section, opening] = self.groups;
        [wide(section), wide(opening)]
    }

    fn set_pages(&mut self, pages: u32) {
        self.pages = narrow(pages);
    }
}

/// Saturating conversion to 24 bits.
fn narrow(number: u32) -> [u8; 3] {
    let [_, a, b, c] = number.min(SEVERAL).to_be_bytes();
    [a, b, c]
}

const fn wide([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self { pieces: FxHashMap::default(), groups: FxHashMap::default(), max: max.max(8), undercount: 0 }
    }

    /// Counts a page of some groups; returns the names under which its features are counted.
    pub(super) fn page(&mut self, groups: GroupHashes) -> GroupNames {
        groups.map(|group| group.map_or(NO_GROUP, |group| self.page_of(group)))
    }

    fn page_of(&mut self, group: u64) -> u32 {
        let name = name(group);
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(&name) {
            return NO_GROUP;
        }
        let pages = self.groups.entry(name).or_default();
        *pages = pages.saturating_add(1);
        name
    }

    /// Counts a feature of a page of some groups.
    pub(super) fn add(&mut self, key: u64, groups: GroupNames) {
        // a feature that a second group gets takes two more entries
        if self.pieces.len() + 2 * GROUPINGS >= self.max {
            self.forget();
        }
        let piece = self.pieces.entry(Key::of(key)).or_insert_with(|| FeatureCount::new(0, groups));
        let before = *piece;
        piece.set_pages(before.pages() + 1);
        for (stored, (known, group)) in piece.groups.iter_mut().zip(before.groups().into_iter().zip(groups)) {
            if known != group {
                *stored = narrow(SEVERAL);
            }
        }
        for (known, group) in before.groups().into_iter().zip(groups) {
            if known == group {
                continue;
            }
            if known != SEVERAL && known != NO_GROUP {
                self.add_within(key, known, before.pages());
            }
            if group != NO_GROUP {
                self.add_within(key, group, 1);
            }
        }
    }

    fn add_within(&mut self, key: u64, group: u32, pages: u32) {
        let none = || FeatureCount::new(0, [NO_GROUP; GROUPINGS]);
        let piece = self.pieces.entry(Key::of(in_group(key, group))).or_insert_with(none);
        piece.set_pages(piece.pages() + pages);
    }

    /// Number of the host's pages with a feature.
    pub(super) fn get(&self, key: u64) -> u64 {
        self.pieces.get(&Key::of(key)).map_or(0, |piece| u64::from(piece.pages()))
    }

    /// Number of pages with a feature: of the host, and of each group.
    pub(super) fn get_within(&self, key: u64, groups: GroupHashes) -> (u64, [u64; GROUPINGS]) {
        let Some(piece) = self.pieces.get(&Key::of(key)) else { return (0, [0; GROUPINGS]) };
        let mut within = [0; GROUPINGS];
        for (within, (group, known)) in within.iter_mut().zip(groups.into_iter().zip(piece.groups())) {
            let Some(name) = group.map(name) else { continue };
            *within = match known {
                SEVERAL => self.get(in_group(key, name)),
                only if only == name => u64::from(piece.pages()),
                _ => 0,
            };
        }
        (u64::from(piece.pages()), within)
    }

    /// Pages of a group.
    pub(super) fn pages_of(&self, group: u64) -> u64 {
        self.groups.get(&name(group)).copied().map_or(0, u64::from)
    }

    /// Shrinks a table of an earlier version to the bound.
    pub(crate) fn shrink(&mut self) {
        while self.pieces.len() >= self.max {
            self.forget();
        }
    }

    /// Clears at least half of the table.
    fn forget(&mut self) {
        let mut counts: Vec<u32> = self.pieces.values().map(|piece| piece.pages()).collect();
        let middle = counts.len() / 2;
        let (_, &mut median, _) = counts.select_nth_unstable(middle);
        self.undercount += u64::from(median);
        self.pieces.retain(|_, piece| piece.pages() > median);
        // removed entries keep their slots, and a table full of them would grow
        self.pieces.shrink_to_fit();
    }
}

/// Name of a group in the table: 24 bits of its hash.
const fn name(group: u64) -> u32 {
    match group as u32 & SEVERAL {
        NO_GROUP | SEVERAL => 1,
        name => name,
    }
}

const fn in_group(key: u64, group: u32) -> u64 {
    super::words::mix(key, group as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_is_counted_per_group_of_pages() {
        let orders: [[u64; 6]; 3] = [[7, 7, 8, 9, 8, 7], [8, 7, 9, 7, 8, 7], [9, 8, 8, 7, 7, 7]];
        for order in orders {
            let mut table = Table::new(100);
            for section in order {
                // pages of odd sections begin alike
                let names = table.page([Some(section), Some(100 + section % 2)]);
                table.add(1, names);
            }
            let within = |section| table.get_within(1, [Some(section), None]);
            assert_eq!([7, 8, 9, 6].map(within), [(6, [3, 0]), (6, [2, 0]), (6, [1, 0]), (6, [0, 0])]);
            assert_eq!(table.get_within(1, [Some(7), Some(101)]), (6, [3, 4]));
            assert_eq!(table.get(1), 6);
            assert_eq!([7, 101, 6].map(|group| table.pages_of(group)), [3, 4, 0]);
        }
    }

    #[test]
    fn pages_without_a_group_count_for_the_host() {
        let mut table = Table::new(100);
        table.add(1, [NO_GROUP; GROUPINGS]);
        assert_eq!(table.pieces.len(), 1);
        let names = table.page([Some(7), None]);
        table.add(1, names);
        table.add(1, [NO_GROUP; GROUPINGS]);
        assert_eq!(table.get_within(1, [Some(7), None]), (3, [1, 0]));
    }

    #[test]
    fn table_of_an_earlier_version_shrinks_to_the_limit() {
        let mut table = Table::new(64);
        let hash = |n: u64| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes());
        let piece = |n: u64| FeatureCount::new(if n == 7 { 900 } else { 1 }, [NO_GROUP; GROUPINGS]);
        table.pieces = (0..1_000).map(|n| (Key::of(hash(n)), piece(n))).collect();
        table.shrink();
        assert!(table.pieces.len() < 64 && table.pieces.capacity() < 128);
        assert_eq!((table.get(hash(7)), table.undercount), (900, 1));
    }

    #[test]
    fn table_is_bounded_and_never_overcounts() {
        let mut table = Table::new(64);
        for page in 0..2_000_u64 {
            let groups = [Some(page % 3), Some(50 + page % 2)];
            let names = table.page(groups);
            table.add(1, names);
            // known features that each page brings to a new group
            let own = table.page([Some(1_000 + page), None]);
            let hash = |n: u64| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes());
            (10..40).for_each(|key| table.add(hash(key), own));
            (0..20).for_each(|n| table.add(hash(100 + page * 20 + n), names));
            assert!(table.pieces.len() <= 64 && table.pieces.capacity() <= 112);
            let (pages, within) = table.get_within(1, groups);
            assert!(pages <= page + 1 && within[0] <= table.pages_of(page % 3));
            assert!(pages + table.undercount > page);
        }
        assert!(table.undercount <= 2 * 2_000 * 111 / 64 * 2);
    }
}
