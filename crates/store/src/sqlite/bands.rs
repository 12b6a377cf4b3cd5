//! Index of text bands: the table `bands`, plus a memory buffer of bands not yet in it.
//!
//! A page has about sixteen bands, each a row on another page of the table. Written at once, they would cost
//! more than all other writes of the page. So they are buffered and written in parts, in the order of their
//! hashes. Two more entries of a text find it by its page and by its content.
//!
//! A crash loses nothing: each row of `texts` holds its bands, from which missing rows are rebuilt. Most
//! look-ups find nothing, and a filter answers them without the table.

use super::{
    band_buckets::BandBuckets,
    band_filter::Filter,
    error::sql,
    memory::{number, set_number},
};
use crawl_model::StoreError;
use rusqlite::Connection;

/// Number of parts, selected by the upper bits of a hash.
const PARTS: usize = 64;

/// Bands buffered before the first part is written: those of 8,000 pages, 3 MiB.
const BUFFERED_BANDS: usize = 1 << 17;

/// Growth of the buffer with the table, up to this multiple (24 MiB). A cycle of writes changes every page of
/// the table, so it is the more expensive the larger the table is.
const GROWTH: usize = 10;

/// Texts looked up without the filter: a recrawl with few new pages creates none.
const UNFILTERED: u32 = 64;

const INSERT: &str = "INSERT OR IGNORE INTO bands (hash, place) VALUES (?1, ?2)";

/// Name of the number [`BandBuffer::stored_to`].
const STORED_TO: &str = "banded";

/// Bands that the table may lack.
///
/// A band in both counts once. Texts up to `stored_to` have all bands in the table. Texts up to `due_to` will
/// have them when the last part is written. Parts of later texts may wait for the next cycle.
pub(super) struct BandBuffer {
    buckets: BandBuckets,
    most: usize,
    stored_to: i64,
    due_to: i64,
    /// The last position added.
    last: i64,
    /// The part that is written next.
    next: usize,
    /// Filter of the table; created when many look-ups happen.
    stored: Option<Filter>,
    /// Look-ups without it.
    unfiltered: u32,
}

impl BandBuffer {
    pub(super) fn load(conn: &Connection) -> Result<Self, StoreError> {
        let stored_to = number(conn, STORED_TO)?;
        let mut buffered = Self {
            buckets: BandBuckets::new(),
            most: BUFFERED_BANDS,
            stored_to,
            due_to: stored_to,
            last: stored_to,
            next: 0,
            stored: None,
            unfiltered: 0,
        };
        buffered.gather(conn).map_err(sql)?;
        Ok(buffered)
    }

    fn gather(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        let mut select =
            conn.prepare_cached("SELECT place, bands, page, content FROM texts WHERE place > ?1")?;
        let mut rows = select.query([self.stored_to])?;
        while let Some(row) = rows.next()? {
            let place = row.get(0)?;
            for hash in row.get_ref(1)?.as_blob()?.as_chunks().0 {
                self.add(i64::from_le_bytes(*hash), place);
            }
            let page = row.get_ref(2)?.as_blob()?;
            let content = row.get_ref(3)?.as_blob_or_null()?;
            [Some(page), content].into_iter().flatten().for_each(|key| self.add(hash_of(key), place));
        }
        Ok(())
    }

    /// Adds a band: to the table if its part of this cycle may have been written.
    pub(super) fn put(&mut self, conn: &Connection, hash: i64, place: i64) -> rusqlite::Result<()> {
        if place > self.due_to {
            self.add(hash, place);
            return Ok(());
        }
        self.note_stored(hash);
        insert(conn, hash, place)
    }

    fn note_stored(&mut self, hash: i64) {
        if self.stored.as_mut().is_some_and(|filter| !filter.add(hash)) {
            // full: the next look-up creates a larger one
            self.stored = None;
        }
    }

    /// Creates the filter, if there is none. It reads the whole table, which is too slow for a few look-ups.
    pub(super) fn make_filter(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        if self.stored.is_none() {
            self.unfiltered += 1;
            if self.unfiltered > UNFILTERED {
                self.stored = Some(Filter::of_table(conn)?);
                self.unfiltered = 0;
            }
        }
        Ok(())
    }

    /// Returns true if the table may have a band. False is certain.
    pub(super) fn may_be_stored(&self, hash: i64) -> bool {
        self.stored.as_ref().is_none_or(|filter| filter.may_have(hash))
    }

    fn add(&mut self, hash: i64, place: i64) {
        self.buckets.insert(hash, place);
        self.last = self.last.max(place);
    }

    pub(super) fn remove(&mut self, hash: i64, place: i64) {
        self.buckets.remove(hash, place);
    }

    /// Places that have a band, ascending.
    pub(super) fn places(&self, hash: i64) -> impl Iterator<Item = i64> {
        self.buckets.places(hash)
    }

    /// Removes all bands, since there are no texts any more.
    pub(super) fn clear(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        self.buckets.clear();
        (self.stored_to, self.due_to, self.last, self.next) = (0, 0, 0, 0);
        self.stored = None;
        set_number(conn, STORED_TO, 0)
    }

    /// Maximum number of buffered bands: one for each text of the table, whose bands are about sixteen.
    fn limit(&self) -> usize {
        usize::try_from(self.stored_to).unwrap_or(0).clamp(self.most, self.most * GROWTH)
    }

    /// Writes parts until the buffer is within its limit.
    pub(super) fn write_some(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        while self.buckets.len() > self.limit() {
            if self.next == 0 {
                self.due_to = self.last;
            }
            let mut insert = conn.prepare_cached(INSERT)?;
            for (hash, place) in self.buckets.take_part(self.next, PARTS) {
                self.note_stored(hash);
                insert.execute((hash, place))?;
            }
            self.next = (self.next + 1) % PARTS;
            if self.next == 0 {
                self.stored_to = self.due_to;
                set_number(conn, STORED_TO, self.stored_to)?;
            }
        }
        Ok(())
    }
}

/// Puts a band into the table.
pub(super) fn insert(conn: &Connection, hash: i64, place: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(INSERT)?.execute((hash, place)).map(|_| ())
}

/// Adds the entries of all pages and contents to the table.
pub(super) fn index_texts(conn: &Connection) -> rusqlite::Result<()> {
    let mut select = conn.prepare("SELECT place, page, content FROM texts")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let place = row.get(0)?;
        let (page, content) = (row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob_or_null()?);
        [Some(page), content].into_iter().flatten().try_for_each(|key| insert(conn, hash_of(key), place))?;
    }
    Ok(())
}

/// Entry of a text's page or content: the first eight bytes of the hash, which are as random as a band's.
pub(super) fn hash_of(key: &[u8]) -> i64 {
    key.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests {
    use crate::{MemoryStore, SqliteStore};
    use crawl_model::{Frontier, NewText, Sketch, TextIndex, UrlKey};
    use proptest::prelude::*;

    /// A small number as a hash of any part.
    fn band(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn sketch(bands: &[u64]) -> Sketch {
        let bands: Vec<u64> = bands.iter().map(|n| band(*n)).collect();
        Sketch { shingles: bands.iter().flat_map(|n| n.to_le_bytes()).collect(), bands, ..Sketch::default() }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A page, true if it keeps its position, and its bands.
        Put(u8, bool, Vec<u64>),
        Round,
        MadeAs(bool),
        /// The process ends and another one continues.
        Reopen,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let put = (0..40_u8, any::<bool>(), prop::collection::vec(0..30_u64, 1..6));
        let step = prop_oneof![
            40 => put.prop_map(|(page, keeps, bands)| Step::Put(page, keeps, bands)),
            2 => Just(Step::Round),
            1 => any::<bool>().prop_map(Step::MadeAs),
            3 => Just(Step::Reopen),
        ];
        prop::collection::vec(step, 1..80)
    }

    fn open(dir: &std::path::Path, most: usize) -> SqliteStore {
        let store = SqliteStore::open(dir).unwrap();
        store.inner.lock().unwrap().memory.bands.most = most;
        store
    }

    /// Pages and positions of the texts that share a band with a text.
    fn like(store: &dyn TextIndex, bands: &[u64]) -> Vec<(UrlKey, i64)> {
        store.similar_texts(&sketch(bands), 100).unwrap().iter().map(|text| (text.page, text.place)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Look-ups find the same as a plain list, for any distribution of bands and any process ends.
        #[test]
        fn band_lookups_equal_a_plain_list(steps in steps(), most in 0..60_usize) {
            let dir = tempfile::tempdir().unwrap();
            let (mut store, plain) = (open(dir.path(), most), MemoryStore::new());
            plain.begin_round().unwrap();
            store.begin_round().unwrap();
            for step in steps {
                match step {
                    Step::Put(page, keeps, bands) => {
                        let (page, sketch) = (UrlKey::of(&page.to_string()), sketch(&bands));
                        for store in [&store as &dyn TextIndex, &plain] {
                            let places = like(store, &Vec::from_iter(0..30));
                            let own = places.iter().find(|(known, _)| *known == page).map(|(_, place)| *place);
                            let text = NewText { page, sketch: sketch.clone(), place: own.filter(|_| keeps) };
                            store.settle_with_texts(&[], &[], &[text]).unwrap();
                        }
                    }
                    Step::Round => {
                        plain.begin_round().unwrap();
                        store.begin_round().unwrap();
                        store.inner.lock().unwrap().memory.bands.most = most;
                    }
                    Step::MadeAs(how) => {
                        let forgotten = plain.keep_texts_of_method(&how.to_string()).unwrap();
                        prop_assert_eq!(store.keep_texts_of_method(&how.to_string()).unwrap(), forgotten);
                    }
                    Step::Reopen => {
                        drop(store);
                        store = open(dir.path(), most);
                    }
                }
                for n in 0..30 {
                    let pages = |store| like(store, &[n]).into_iter().map(|(page, _)| page).collect::<Vec<_>>();
                    prop_assert_eq!(pages(&store), pages(&plain), "band {}", n);
                }
            }
        }
    }

    #[test]
    fn many_bands_are_flushed_to_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path(), 640);
        store.begin_round().unwrap();
        store.inner.lock().unwrap().memory.bands.most = 640;
        for n in 0..1_000_u64 {
            let sketch = sketch(&Vec::from_iter(n * 16..n * 16 + 16));
            let text = NewText { page: UrlKey::of(&n.to_string()), sketch, place: None };
            store.settle_with_texts(&[], &[], &[text]).unwrap();
        }
        let inner = store.inner.lock().unwrap();
        let bands = &inner.memory.bands;
        let stored: usize = inner.conn.query_row("SELECT count(*) FROM bands", [], |row| row.get(0)).unwrap();
        let buffered = bands.buckets.len();
        assert!(buffered <= 1_000 && buffered + stored == 17_000, "{buffered} and {stored}");
        let waiting = 1_000 - bands.stored_to;
        assert!(waiting < 200, "the texts of {waiting} pages are read when the store is opened");
    }
}
