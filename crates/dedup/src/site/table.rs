//! What was counted of a host, in bounded memory.

use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// Groups that are told apart; pages of more are counted for the host alone.
const MAX_GROUPS: usize = 1 << 12;
/// Bits of a group's name.
const NAME_BITS: u32 = 24;
/// In place of a group's name: the piece stands in more than one, and each has a count of its own.
const SEVERAL: u32 = (1 << NAME_BITS) - 1;
/// In place of a group's name: no group is known.
pub(crate) const NO_GROUP: u32 = 0;
/// Ways in which pages are grouped: by section, and by their first lines.
pub(crate) const GROUPINGS: usize = 2;

/// A page's groups as hashes, one of each grouping.
pub(super) type GroupHashes = [Option<u64>; GROUPINGS];
/// The names of a page's groups in the table, [`NO_GROUP`] where there is none.
pub(crate) type GroupNames = [u32; GROUPINGS];

/// Counts pieces of evidence exactly up to a bound on the distinct ones, for the host and for each group of pages that has them.
///
/// Most pieces stand on one page, or in one group: such a one has one entry, with the name of the group. Its second group
/// gives each its own count. Where there are more entries than the bound, those up to the median count are forgotten (after
/// lossy counting, Manku and Motwani 2002). No count is ever too high, and none is too low by more than `undercount`. A piece that is
/// above the median each time keeps its exact count. Up to the bound the order of the pages does not matter.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) pieces: FxHashMap<Key, Piece>,
    /// Pages of each group.
    pub(crate) groups: FxHashMap<u32, u32>,
    max: usize,
    pub(crate) undercount: u64,
}

/// The first 40 bits of a piece's hash, without padding: with the pieces of a full table the odds that two share one are 1 to 170.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key([u8; Key::BYTES]);

impl Key {
    /// Bytes of a key.
    pub(crate) const BYTES: usize = 5;

    /// The key of a hash.
    pub(crate) const fn of(hash: u64) -> Self {
        let [a, b, c, d, e, ..] = hash.to_be_bytes();
        Self([a, b, c, d, e])
    }

    /// The key as it is saved.
    pub(crate) const fn bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// The key of bytes that were saved.
    pub(crate) const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d, e] = self.0;
        state.write_u64(u64::from_be_bytes([a, b, c, d, e, 0, 0, 0]));
    }
}

/// A count, and the only group that has the piece, for each grouping, or [`SEVERAL`]. Without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pages: [u8; 3],
    groups: [[u8; 3]; GROUPINGS],
}

impl Piece {
    pub(crate) fn new(pages: u32, groups: GroupNames) -> Self {
        Self { pages: narrow(pages), groups: groups.map(narrow) }
    }

    /// Pages that have it, up to 16,777,215.
    pub(crate) const fn pages(self) -> u32 {
        wide(self.pages)
    }

    pub(crate) fn groups(self) -> GroupNames {
        self.groups.map(wide)
    }

    fn set_pages(&mut self, pages: u32) {
        self.pages = narrow(pages);
    }
}

/// A number in 24 bits; a greater one becomes the greatest of them.
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

    /// Counts a page of some groups; returns the names by which its pieces are to be counted.
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

    /// Counts a piece that a page of some groups has.
    pub(super) fn add(&mut self, key: u64, groups: GroupNames) {
        // one that becomes common to two groups takes two entries more
        if self.pieces.len() + 2 * GROUPINGS >= self.max {
            self.forget();
        }
        let piece = self.pieces.entry(Key::of(key)).or_insert_with(|| Piece::new(0, groups));
        let before = *piece;
        piece.set_pages(before.pages() + 1);
        for (grouping, (known, group)) in before.groups().into_iter().zip(groups).enumerate() {
            if known == group {
                continue;
            }
            if let Some(piece) = self.pieces.get_mut(&Key::of(key)) {
                piece.groups[grouping] = narrow(SEVERAL);
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
        let none = || Piece::new(0, [NO_GROUP; GROUPINGS]);
        let piece = self.pieces.entry(Key::of(in_group(key, group))).or_insert_with(none);
        piece.set_pages(piece.pages() + pages);
    }

    /// Pages of the host that have a piece.
    pub(super) fn get(&self, key: u64) -> u64 {
        self.pieces.get(&Key::of(key)).map_or(0, |piece| u64::from(piece.pages()))
    }

    /// Pages of the host that have a piece, and those of each group.
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

    /// Brings a table that an earlier version wrote within the bound.
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
        // removed entries keep their slots, and a table that fills up with them grows
        self.pieces.shrink_to_fit();
    }
}

/// The name of a group in the table: 24 bits of its hash.
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
    fn a_piece_is_counted_for_each_group_that_has_it() {
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
    fn a_table_of_an_earlier_version_is_brought_within_the_bound() {
        let mut table = Table::new(64);
        let hash = |n: u64| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes());
        let piece = |n: u64| Piece::new(if n == 7 { 900 } else { 1 }, [NO_GROUP; GROUPINGS]);
        table.pieces = (0..1_000).map(|n| (Key::of(hash(n)), piece(n))).collect();
        table.shrink();
        assert!(table.pieces.len() < 64 && table.pieces.capacity() < 128);
        assert_eq!((table.get(hash(7)), table.undercount), (900, 1));
    }

    #[test]
    fn no_more_than_the_bound_is_kept_and_no_count_is_too_high() {
        let mut table = Table::new(64);
        for page in 0..2_000_u64 {
            let groups = [Some(page % 3), Some(50 + page % 2)];
            let names = table.page(groups);
            table.add(1, names);
            // known pieces that each page brings a new group to
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
