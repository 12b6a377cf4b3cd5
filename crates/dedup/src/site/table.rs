//! What was counted of a host, in bounded memory.

use rustc_hash::FxHashMap;

/// Sections that are told apart; pages of more are counted for the host alone.
const MAX_SECTIONS: usize = 1 << 16;
/// In place of a section's name: the piece stands in more than one, and each has a count of its own.
const SEVERAL: u32 = u32::MAX;
/// The pages of which no section is known.
pub(super) const NO_SECTION: u32 = 0;

/// Counts pieces of evidence exactly up to a bound on the distinct ones, for the host and for each section that has them.
///
/// Most pieces stand on one page, or in one section: such a one has one entry, with the name of the section. Its second section
/// gives each its own count. Where there are more entries than the bound, the median count is subtracted from every count and what
/// is not above zero is forgotten, as [`Counts`](crate::counts::Counts) does; no count is ever too high, and none too low by more than
/// `undercount`. Up to the bound the order of the pages does not matter.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) pieces: FxHashMap<u64, Piece>,
    /// Pages of each section.
    pub(crate) sections: FxHashMap<u32, u32>,
    max: usize,
    pub(crate) undercount: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) pages: u32,
    /// The one section that it stands in, or [`SEVERAL`].
    pub(crate) section: u32,
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self { pieces: FxHashMap::default(), sections: FxHashMap::default(), max: max.max(4), undercount: 0 }
    }

    /// Counts a page of a section; returns the name by which its pieces are to be counted.
    pub(super) fn page(&mut self, section: u64) -> u32 {
        let name = name(section);
        if self.sections.len() >= MAX_SECTIONS && !self.sections.contains_key(&name) {
            return NO_SECTION;
        }
        let pages = self.sections.entry(name).or_default();
        *pages = pages.saturating_add(1);
        name
    }

    /// Counts a piece that a page of a section has.
    pub(super) fn add(&mut self, key: u64, section: u32) {
        // one that becomes common to two sections takes two entries more
        if self.pieces.len() + 2 >= self.max && !self.pieces.contains_key(&key) {
            self.forget();
        }
        let piece = self.pieces.entry(key).or_insert(Piece { pages: 0, section });
        let before = *piece;
        piece.pages = piece.pages.saturating_add(1);
        if before.section == section {
            return;
        }
        piece.section = SEVERAL;
        if before.section != SEVERAL && before.section != NO_SECTION {
            self.within(key, before.section, before.pages);
        }
        if section != NO_SECTION {
            self.within(key, section, 1);
        }
    }

    fn within(&mut self, key: u64, section: u32, pages: u32) {
        let piece =
            self.pieces.entry(in_section(key, section)).or_insert(Piece { pages: 0, section: NO_SECTION });
        piece.pages = piece.pages.saturating_add(pages);
    }

    /// Pages of the host that have a piece, and those of a section.
    pub(super) fn get(&self, key: u64, section: Option<u64>) -> (u64, u64) {
        let Some(piece) = self.pieces.get(&key) else { return (0, 0) };
        let within = section.map(name).map_or(0, |name| match piece.section {
            SEVERAL => self.pieces.get(&in_section(key, name)).map_or(0, |piece| piece.pages),
            only if only == name => piece.pages,
            _ => 0,
        });
        (u64::from(piece.pages), u64::from(within))
    }

    /// Pages of a section.
    pub(super) fn pages_of(&self, section: u64) -> u64 {
        self.sections.get(&name(section)).copied().map_or(0, u64::from)
    }

    /// Clears at least half of the table.
    fn forget(&mut self) {
        let mut counts: Vec<u32> = self.pieces.values().map(|piece| piece.pages).collect();
        let middle = counts.len() / 2;
        let (_, &mut median, _) = counts.select_nth_unstable(middle);
        self.undercount += u64::from(median);
        self.pieces.retain(|_, piece| {
            piece.pages = piece.pages.saturating_sub(median);
            piece.pages > 0
        });
    }
}

/// The name of a section in the table: 32 bits of its hash.
const fn name(section: u64) -> u32 {
    match section as u32 {
        NO_SECTION | SEVERAL => 1,
        name => name,
    }
}

const fn in_section(key: u64, section: u32) -> u64 {
    super::words::mix(key, section as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_counted_for_each_section_that_has_it() {
        let orders: [[u64; 6]; 3] = [[7, 7, 8, 9, 8, 7], [8, 7, 9, 7, 8, 7], [9, 8, 8, 7, 7, 7]];
        for order in orders {
            let mut table = Table::new(100);
            for section in order {
                let name = table.page(section);
                table.add(1, name);
            }
            assert_eq!(
                [7, 8, 9, 6].map(|section| table.get(1, Some(section))),
                [(6, 3), (6, 2), (6, 1), (6, 0)]
            );
            assert_eq!(table.get(1, None), (6, 0));
            assert_eq!([7, 6].map(|section| table.pages_of(section)), [3, 0]);
        }
    }

    #[test]
    fn pages_without_a_section_count_for_the_host() {
        let mut table = Table::new(100);
        table.add(1, NO_SECTION);
        assert_eq!(table.pieces.len(), 1);
        let name = table.page(7);
        table.add(1, name);
        table.add(1, NO_SECTION);
        assert_eq!(table.get(1, Some(7)), (3, 1));
    }

    #[test]
    fn no_more_than_the_bound_is_kept_and_no_count_is_too_high() {
        let mut table = Table::new(64);
        for page in 0..2_000_u64 {
            let name = table.page(page % 3);
            table.add(1, name);
            (0..20).for_each(|n| table.add(100 + page * 20 + n, name));
            assert!(table.pieces.len() <= 64);
            let (pages, within) = table.get(1, Some(page % 3));
            assert!(pages <= page + 1 && within <= table.pages_of(page % 3));
            assert!(pages + table.undercount > page);
        }
        assert!(table.undercount <= 2 * 2_000 * 21 / 64 * 2);
    }
}
