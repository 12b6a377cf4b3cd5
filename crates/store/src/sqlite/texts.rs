//! [`TextIndex`] on SQLite, for a crawl and for a project: the tables `texts` and `bands`.

use super::{
    Inner, SqliteStore,
    bands::{self, BandBuffer, hash_of},
    error::sql,
    memory::Memory,
    text_cache::TextCache,
};
use crawl_model::{
    ContentHash, KnownText, NewText, OutputMark, Settlement, Sketch, StoreError, TextIndex, UrlKey,
};
use rusqlite::{Connection, OptionalExtension, Row, Statement};
use rustc_hash::FxHashMap;
use std::{cmp::Reverse, sync::Arc};

/// Maximum texts compared per band or content: the oldest.
const A_BAND: usize = 64;

/// Maximum bytes of returned shingles: those of some large pages.
const BYTES: usize = 16 << 20;

/// Name of the setting that stores the method of the texts.
const MADE_AS: &str = "texts";

impl TextIndex for SqliteStore {
    fn similar_texts(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError> {
        let mut inner = self.ready()?;
        let Inner { conn, memory, .. } = &mut *inner;
        // otherwise each statement would lock the log itself
        let reading = conn.is_autocommit().then(|| conn.unchecked_transaction()).transpose().map_err(sql)?;
        let known = Texts::of_crawl(conn, memory).like(sketch, limit).map_err(sql);
        drop(reading);
        known
    }

    fn settle_with_texts(
        &self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError> {
        self.ready()?.settle(batch, outputs, texts)
    }

    fn keep_texts_of_method(&self, method: &str) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let forgotten = inner.write(|conn, memory| made_as(conn, memory, method).map_err(sql))?;
        inner.commit()?;
        Ok(forgotten)
    }
}

fn made_as(conn: &Connection, memory: &mut Memory, method: &str) -> rusqlite::Result<bool> {
    let select = "SELECT value FROM settings WHERE name = ?1";
    let was: Option<String> = conn.query_row(select, [MADE_AS], |row| row.get(0)).optional()?;
    if was.as_deref() == Some(method) {
        return Ok(false);
    }
    conn.execute("DELETE FROM bands", [])?;
    memory.bands.clear(conn)?;
    memory.texts.clear();
    let texts = conn.execute("DELETE FROM texts", [])?;
    conn.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)", [MADE_AS, method])?;
    Ok(texts > 0)
}

/// Texts that are compared with each other.
pub(super) struct Texts<'c> {
    conn: &'c Connection,
    /// Bands that the table may lack; none for a project, which other processes may write.
    buffered: Option<&'c mut BandBuffer>,
    /// Texts and bands read before; none for a project.
    cache: Option<&'c mut TextCache>,
    space: i64,
    round: u32,
    /// True for a recrawl: unvisited texts count too.
    recrawl: bool,
}

const SAME_CONTENT: &str =
    "SELECT place FROM texts WHERE content = ?1 AND space = ?2 ORDER BY place LIMIT ?3";
const HAS_CONTENT: &str = "SELECT 1 FROM texts WHERE place = ?1 AND content = ?2";
const SAME_BAND: &str = "SELECT place FROM bands WHERE hash = ?1 ORDER BY place LIMIT ?2";
const KNOWN: &str = "SELECT page, round, content, signature, shingles FROM texts WHERE place = ?1";
const OF_PAGE: &str = "SELECT place, bands FROM texts WHERE page = ?1 AND space = ?2";
/// The hashes of a text: its bands, its page and its content.
const AT_PLACE: &str = "SELECT bands, page, content FROM texts WHERE place = ?1 AND page = ?2";
/// Confirms an unchanged text: only the round of its row changes.
const CONFIRM: &str =
    "UPDATE texts SET round = ?2 WHERE place = ?1 AND content IS ?3 AND bands = ?4 AND shingles = ?5";
const PUT: &str = "INSERT OR REPLACE INTO texts (place, space, page, round, content, signature, bands, shingles) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

impl<'c> Texts<'c> {
    pub(super) fn of_crawl(conn: &'c Connection, memory: &'c mut Memory) -> Self {
        let Memory { round, recrawl, bands, texts, .. } = memory;
        Self { conn, buffered: Some(bands), cache: Some(texts), space: 0, round: *round, recrawl: *recrawl }
    }

    pub(super) fn of_project(conn: &'c Connection, number: i64) -> Self {
        Self { conn, buffered: None, cache: None, space: number, round: 0, recrawl: false }
    }

    pub(super) fn like(mut self, sketch: &Sketch, limit: usize) -> rusqlite::Result<Vec<KnownText>> {
        let mut select = self.conn.prepare_cached(KNOWN)?;
        let mut found = Vec::new();
        let mut bytes = 0;
        for place in self.places_like(sketch)?.into_iter().take(limit) {
            let cached = self.cache.as_ref().and_then(|cache| cache.text(place)).cloned();
            let text = match cached {
                Some(text) => text,
                None => select.query_row([place], |row| read_known(row, place))?,
            };
            bytes += text.1.sketch.shingles.len();
            if bytes > BYTES {
                break;
            }
            found.push(text);
        }
        if let Some(cache) = &mut self.cache {
            cache.keep_texts(&found);
        }
        let with_round = |(round, text): (u32, KnownText)| {
            let this_round = self.recrawl || round == self.round;
            KnownText { this_round, ..text }
        };
        Ok(found.into_iter().map(with_round).collect())
    }

    /// Positions of texts, those with the most common bands first.
    fn places_like(&mut self, sketch: &Sketch) -> rusqlite::Result<Vec<i64>> {
        let mut shared: FxHashMap<i64, usize> = FxHashMap::default();
        if let Some(buffered) = &mut self.buffered {
            buffered.make_filter(self.conn)?;
        }
        if let Some(content) = sketch.content {
            for place in self.with_content(content)? {
                // more than all bands
                shared.insert(place, sketch.bands.len() + 1);
            }
        }
        let mut select = self.conn.prepare_cached(SAME_BAND)?;
        let mut places = Vec::new();
        for band in &sketch.bands {
            self.with_band(self.hash(*band), &mut select, &mut places)?;
            places.iter().for_each(|place| *shared.entry(*place).or_default() += 1);
        }
        let mut places: Vec<(Reverse<usize>, i64)> =
            shared.into_iter().map(|(place, bands)| (Reverse(bands), place)).collect();
        places.sort_unstable();
        Ok(places.into_iter().map(|(_, place)| place).collect())
    }

    /// The oldest texts that have a content.
    fn with_content(&mut self, content: ContentHash) -> rusqlite::Result<Vec<i64>> {
        if self.buffered.is_none() {
            let mut select = self.conn.prepare_cached(SAME_CONTENT)?;
            return select.query_map((content.0, self.space, A_BAND), |row| row.get(0))?.collect();
        }
        let mut places = Vec::new();
        let mut select = self.conn.prepare_cached(SAME_BAND)?;
        self.with_band(hash_of(&content.0), &mut select, &mut places)?;
        let mut has = self.conn.prepare_cached(HAS_CONTENT)?;
        let mut found = Vec::with_capacity(places.len());
        for place in places {
            let cached = self.cache.as_ref().and_then(|cache| cache.text(place));
            let same = match cached {
                Some((_, text)) => text.sketch.content == Some(content),
                None => has.exists((place, content.0))?,
            };
            found.extend(same.then_some(place));
        }
        Ok(found)
    }

    /// The oldest texts that have a band.
    fn with_band(
        &mut self,
        hash: i64,
        select: &mut Statement<'_>,
        places: &mut Vec<i64>,
    ) -> rusqlite::Result<()> {
        places.clear();
        if let Some(cached) = self.cache.as_ref().and_then(|cache| cache.band(hash)) {
            places.extend_from_slice(cached);
            return Ok(());
        }
        if self.buffered.as_ref().is_none_or(|buffered| buffered.may_be_stored(hash)) {
            for place in select.query_map((hash, A_BAND), |row| row.get(0))? {
                places.push(place?);
            }
        }
        if let Some(buffered) = &self.buffered {
            let stored = places.len();
            places.extend(buffered.places(hash).take(A_BAND));
            if stored > 0 {
                places.sort_unstable();
                places.dedup();
                places.truncate(A_BAND);
            }
        }
        if let Some(cache) = self.cache.as_mut().filter(|_| places.len() == A_BAND) {
            cache.keep_band(hash, places);
        }
        Ok(())
    }

    /// Adds a text. It replaces the text of its page, in the same position if requested.
    pub(super) fn put(&mut self, text: &NewText) -> rusqlite::Result<()> {
        let Sketch { content, shingles, signature, bands } = &text.sketch;
        let content = content.map(|hash| hash.0);
        let signature: Vec<u8> = signature.iter().flat_map(|n| n.to_le_bytes()).collect();
        let mut hashes: Vec<i64> = bands.iter().map(|band| self.hash(*band)).collect();
        let bands: Vec<u8> = hashes.iter().flat_map(|n| n.to_le_bytes()).collect();
        let known = self.of_page(text.page)?;
        let place = text.place.filter(|place| known.as_ref().is_some_and(|(known, _)| known == place));
        if place.is_some() {
            let mut confirm = self.conn.prepare_cached(CONFIRM)?;
            if confirm.execute((place, self.round, content, &bands, shingles))? == 1 {
                place.into_iter().for_each(|place| self.drop_cached(place));
                return Ok(());
            }
        }
        if let Some((old, old_bands)) = known {
            self.remove(old, &old_bands)?;
        }
        let row = (place, self.space, text.page.0, self.round, content, signature, bands, shingles);
        self.conn.prepare_cached(PUT)?.execute(row)?;
        let place = place.unwrap_or_else(|| self.conn.last_insert_rowid());
        if self.buffered.is_some() {
            hashes.push(hash_of(&text.page.0));
            hashes.extend(content.map(|content| hash_of(&content)));
        }
        for hash in hashes {
            if let Some(cache) = &mut self.cache {
                cache.add_to_band(hash, place);
            }
            match &mut self.buffered {
                Some(buffered) => buffered.put(self.conn, hash, place)?,
                None => bands::insert(self.conn, hash, place)?,
            }
        }
        Ok(())
    }

    /// Drops the cached row of a text that changes.
    fn drop_cached(&mut self, place: i64) {
        if let Some(cache) = &mut self.cache {
            cache.drop_text(place);
        }
    }

    /// Writes buffered bands if there are many. Call it in the transaction that adds texts.
    pub(super) fn write_bands(self) -> rusqlite::Result<()> {
        self.buffered.map_or(Ok(()), |buffered| buffered.write_some(self.conn))
    }

    /// Confirms the text of an unchanged page for this round.
    pub(super) fn confirm(&mut self, page: UrlKey) -> rusqlite::Result<()> {
        if let Some((place, _)) = self.of_page(page)? {
            self.drop_cached(place);
            self.conn
                .prepare_cached("UPDATE texts SET round = ?2 WHERE place = ?1")?
                .execute((place, self.round))?;
        }
        Ok(())
    }

    /// Removes the text of a page that no longer exists.
    pub(super) fn forget(&mut self, page: UrlKey) -> rusqlite::Result<()> {
        match self.of_page(page)? {
            Some((place, bands)) => self.remove(place, &bands),
            None => Ok(()),
        }
    }

    /// Removes all texts; returns their number.
    pub(super) fn forget_all(mut self) -> rusqlite::Result<usize> {
        self.forget_where("space = ?1", self.space)
    }

    /// Removes the texts of pages last found before a round.
    pub(super) fn forget_before(mut self, round: u32) -> rusqlite::Result<usize> {
        self.forget_where("round < ?1", i64::from(round))
    }

    fn forget_where(&mut self, condition: &str, value: i64) -> rusqlite::Result<usize> {
        let select = format!(
            "SELECT bands, page, content, place FROM texts WHERE {condition} AND place > ?2 ORDER BY place LIMIT 1000"
        );
        let mut select = self.conn.prepare(&select)?;
        let (mut texts, mut last) = (0, i64::MIN);
        loop {
            let found = select.query_map((value, last), |row| Ok((row.get(3)?, read_hashes(row)?)))?;
            let batch: Vec<(i64, Vec<i64>)> = found.collect::<Result<_, _>>()?;
            let Some((place, _)) = batch.last() else { return Ok(texts) };
            last = *place;
            texts += batch.len();
            batch.iter().try_for_each(|(place, bands)| self.remove(*place, bands))?;
        }
    }

    /// Position of a page's text, and the hashes by which the index finds it.
    fn of_page(&mut self, page: UrlKey) -> rusqlite::Result<Option<(i64, Vec<i64>)>> {
        if self.buffered.is_none() {
            let mut select = self.conn.prepare_cached(OF_PAGE)?;
            let found = select.query_row((page.0, self.space), |row| Ok((row.get(0)?, row.get(1)?)));
            let found: Option<(i64, Vec<u8>)> = found.optional()?;
            return Ok(found.map(|(place, bands)| (place, hashes(&bands).collect())));
        }
        let mut places = Vec::new();
        let mut select = self.conn.prepare_cached(SAME_BAND)?;
        self.with_band(hash_of(&page.0), &mut select, &mut places)?;
        let mut select = self.conn.prepare_cached(AT_PLACE)?;
        for place in places {
            if let Some(bands) = select.query_row((place, page.0), read_hashes).optional()? {
                return Ok(Some((place, bands)));
            }
        }
        Ok(None)
    }

    fn remove(&mut self, place: i64, hashes: &[i64]) -> rusqlite::Result<()> {
        let mut delete = self.conn.prepare_cached("DELETE FROM bands WHERE hash = ?1 AND place = ?2")?;
        for hash in hashes.iter().copied() {
            delete.execute((hash, place))?;
            if let Some(cache) = &mut self.cache {
                cache.drop_band(hash);
            }
            if let Some(buffered) = &mut self.buffered {
                buffered.remove(hash, place);
            }
        }
        self.drop_cached(place);
        self.conn.prepare_cached("DELETE FROM texts WHERE place = ?1")?.execute([place])?;
        Ok(())
    }

    /// A band's hash in this space.
    fn hash(&self, band: u64) -> i64 {
        (band ^ self.space.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15)).cast_signed()
    }
}

/// The text of a row, with its round.
fn read_known(row: &Row<'_>, place: i64) -> rusqlite::Result<(u32, KnownText)> {
    let signature = row.get_ref(3)?.as_blob()?.as_chunks().0;
    let sketch = Sketch {
        content: row.get::<_, Option<[u8; 32]>>(2)?.map(ContentHash),
        shingles: row.get(4)?,
        signature: signature.iter().map(|n| u32::from_le_bytes(*n)).collect(),
        bands: Vec::new(),
    };
    Ok((
        row.get(1)?,
        KnownText { page: UrlKey(row.get(0)?), place, this_round: false, sketch: Arc::new(sketch) },
    ))
}

/// Hashes of a row's bands, page and content.
fn read_hashes(row: &Row<'_>) -> rusqlite::Result<Vec<i64>> {
    let bands = hashes(row.get_ref(0)?.as_blob()?);
    let (page, content) = (row.get_ref(1)?.as_blob()?, row.get_ref(2)?.as_blob_or_null()?);
    Ok(bands.chain([Some(page), content].into_iter().flatten().map(hash_of)).collect())
}

/// Hashes of stored bands.
fn hashes(bands: &[u8]) -> impl Iterator<Item = i64> {
    bands.as_chunks().0.iter().map(|hash| i64::from_le_bytes(*hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::Frontier;

    const VERSION_8: &str = include_str!("../../../../fixtures/states/version8.sql");

    fn of_content(content: ContentHash) -> Sketch {
        Sketch { content: Some(content), ..Sketch::default() }
    }

    #[test]
    fn texts_of_version_8_are_found_by_page_and_content() {
        let dir = tempfile::tempdir().unwrap();
        let old = Connection::open(dir.path().join("crawl.sqlite")).unwrap();
        old.execute_batch(VERSION_8).unwrap();
        let mut select = old.prepare("SELECT page, content FROM texts ORDER BY place").unwrap();
        let row = |row: &Row<'_>| Ok((UrlKey(row.get(0)?), ContentHash(row.get(1)?)));
        let texts: Vec<(UrlKey, ContentHash)> =
            select.query_map([], row).unwrap().map(Result::unwrap).collect();
        drop(select);
        drop(old);
        assert_eq!(texts.len(), 5);
        let store = SqliteStore::open(dir.path()).unwrap();
        let pages = |content| -> Vec<UrlKey> {
            store.similar_texts(&of_content(content), 32).unwrap().iter().map(|text| text.page).collect()
        };
        for (page, content) in &texts {
            assert_eq!(pages(*content), [*page]);
        }
        let (page, content) = texts[0];
        let text = NewText { page, sketch: of_content(ContentHash([7; 32])), place: None };
        store.settle_with_texts(&[], &[], &[text]).unwrap();
        assert_eq!(pages(content), [], "the page has another text now");
        assert_eq!(pages(ContentHash([7; 32])), [page]);
    }

    #[test]
    fn a_cached_family_follows_its_texts() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.begin_round().unwrap();
        let family = |n: u64, shingles: u8| Sketch {
            shingles: vec![shingles; 5],
            bands: vec![1 << 40, n],
            ..Sketch::default()
        };
        let page = |n: u64| UrlKey::of(&n.to_string());
        let put = |n: u64, shingles: u8, place| {
            let text = NewText { page: page(n), sketch: family(n, shingles), place };
            store.settle_with_texts(&[], &[], &[text]).unwrap();
        };
        (0..80).for_each(|n| put(n, 1, None));
        let like = || store.similar_texts(&family(1_000, 1), 32).unwrap();
        let first = like();
        assert_eq!(first.len(), 32);
        assert_eq!(like(), first, "the second look-up reads the cache");
        let known = first.iter().find(|text| text.page == page(3)).unwrap();
        put(3, 2, Some(known.place));
        let changed = like();
        let same = changed.iter().find(|text| text.page == page(3)).unwrap();
        assert_eq!((same.place, &same.sketch.shingles[..]), (known.place, &[2; 5][..]));
        put(5, 2, None);
        assert!(like().iter().all(|text| text.page != page(5)), "it is the newest text now");
        assert_eq!(like().len(), 32);
    }
}
