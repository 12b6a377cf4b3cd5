//! Filter that answers most look-ups of bands without the table.

use rusqlite::Connection;

/// Filter of the hashes of the table `bands`, with false positives. It is a Bloom filter whose bits for one hash lie in one
/// word (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). It takes 6 to 24
/// bits per row.
pub(super) struct Filter {
    words: Vec<u64>,
    rows: usize,
}

impl Filter {
    /// Maximum number of words, 16 MiB; more rows give more false positives.
    const MOST_WORDS: usize = 1 << 21;

    pub(super) fn of_table(conn: &Connection) -> rusqlite::Result<Self> {
        let rows: usize = conn.query_row("SELECT count(*) FROM bands", [], |row| row.get(0))?;
        let mut filter = Self::for_rows(rows);
        let mut select = conn.prepare_cached("SELECT hash FROM bands")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            filter.add(row.get(0)?);
        }
        Ok(filter)
    }

    fn for_rows(rows: usize) -> Self {
        let words = (rows.saturating_mul(12) / 64).next_power_of_two();
        Self { words: vec![0; words.clamp(1 << 10, Self::MOST_WORDS)], rows: 0 }
    }

    /// Adds a hash; returns false if the filter is full.
    pub(super) fn add(&mut self, hash: i64) -> bool {
        let (at, bits) = self.bits(hash);
        self.words[at] |= bits;
        self.rows += 1;
        self.rows < self.words.len() * 10 || self.words.len() == Self::MOST_WORDS
    }

    pub(super) fn may_have(&self, hash: i64) -> bool {
        let (at, bits) = self.bits(hash);
        self.words[at] & bits == bits
    }

    /// Word and bits of a hash: each of the four bits uses other bits of the hash.
    fn bits(&self, hash: i64) -> (usize, u64) {
        let hash = hash.cast_unsigned();
        let bits = [0, 6, 12, 18].iter().fold(0, |bits, shift| bits | 1 << (hash >> shift & 63));
        ((hash >> 24) as usize & (self.words.len() - 1), bits)
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;

    /// A small number as a hash of any part.
    fn band(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn band_filter_has_no_misses_and_few_false_positives() {
        let mut filter = Filter::for_rows(10_000);
        let mut of = |range: std::ops::Range<u64>| {
            range
                .filter(|n| {
                    let n = band(*n).cast_signed();
                    filter.add(n);
                    filter.may_have(n)
                })
                .count()
        };
        assert_eq!(of(0..10_000), 10_000);
        let alarms = (10_000..20_000).filter(|n| filter.may_have(band(*n).cast_signed())).count();
        assert!(alarms < 500, "{alarms}");
    }
}
