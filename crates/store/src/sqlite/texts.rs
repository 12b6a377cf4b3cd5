//! [`TextIndex`] on SQLite: what the tables `texts` and `bands` hold.

use super::{SqliteStore, error::sql};
use crawl_model::{
    ContentHash, KnownText, NewText, OutputMark, Settlement, Sketch, StoreError, TextIndex, UrlKey,
};
use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashMap;

/// Texts that are looked at of one band, or of one content: the oldest.
const A_BAND: i64 = 64;

/// Name of the setting that says how the texts were made.
const MADE_AS: &str = "texts";

impl TextIndex for SqliteStore {
    fn texts_like(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError> {
        let inner = self.ready()?;
        like(&inner.conn, inner.memory.round, sketch, limit).map_err(sql)
    }

    fn settle_with_texts(
        &self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError> {
        self.ready()?.settle(batch, outputs, texts)
    }

    fn keep_texts_made_as(&self, how: &str) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let forgotten = inner.write(|conn, _| made_as(conn, how).map_err(sql))?;
        inner.commit()?;
        Ok(forgotten)
    }
}

fn made_as(conn: &Connection, how: &str) -> rusqlite::Result<bool> {
    let select = "SELECT value FROM settings WHERE name = ?1";
    let was: Option<String> = conn.query_row(select, [MADE_AS], |row| row.get(0)).optional()?;
    if was.as_deref() == Some(how) {
        return Ok(false);
    }
    conn.execute("DELETE FROM bands", [])?;
    let texts = conn.execute("DELETE FROM texts", [])?;
    conn.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)", [MADE_AS, how])?;
    Ok(texts > 0)
}

const SAME_CONTENT: &str = "SELECT place FROM texts WHERE content = ?1 ORDER BY place LIMIT ?2";
const SAME_BAND: &str = "SELECT place FROM bands WHERE hash = ?1 ORDER BY place LIMIT ?2";

fn like(conn: &Connection, round: u32, sketch: &Sketch, limit: usize) -> rusqlite::Result<Vec<KnownText>> {
    let mut shared: FxHashMap<i64, usize> = FxHashMap::default();
    if let Some(content) = sketch.content {
        let mut select = conn.prepare_cached(SAME_CONTENT)?;
        for place in select.query_map((content.0, A_BAND), |row| row.get(0))? {
            // more than all bands
            shared.insert(place?, sketch.bands.len() + 1);
        }
    }
    let mut select = conn.prepare_cached(SAME_BAND)?;
    for band in &sketch.bands {
        for place in select.query_map((band.cast_signed(), A_BAND), |row| row.get(0))? {
            *shared.entry(place?).or_default() += 1;
        }
    }
    let mut places: Vec<(usize, i64)> = shared.into_iter().map(|(place, bands)| (bands, place)).collect();
    places.sort_unstable_by_key(|(bands, place)| (std::cmp::Reverse(*bands), *place));
    let mut select =
        conn.prepare_cached("SELECT page, round, content, signature, shingles FROM texts WHERE place = ?1")?;
    places
        .iter()
        .take(limit)
        .map(|(_, place)| select.query_row([place], |row| known(row, *place, round)))
        .collect()
}

fn known(row: &Row<'_>, place: i64, round: u32) -> rusqlite::Result<KnownText> {
    let signature = row.get_ref(3)?.as_blob()?.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
    Ok(KnownText {
        page: UrlKey(row.get(0)?),
        place,
        this_round: row.get::<_, u32>(1)? == round,
        sketch: Sketch {
            content: row.get::<_, Option<[u8; 32]>>(2)?.map(ContentHash),
            shingles: row.get(4)?,
            signature,
            bands: Vec::new(),
        },
    })
}

/// Puts a text in. What is known of its page is replaced, in its place if that is asked for.
pub(super) fn put(conn: &Connection, round: u32, text: &NewText) -> rusqlite::Result<()> {
    let sketch = &text.sketch;
    let signature: Vec<u8> = sketch.signature.iter().flat_map(|n| n.to_le_bytes()).collect();
    let bands: Vec<u8> = sketch.bands.iter().flat_map(|n| n.to_le_bytes()).collect();
    let known = of_page(conn, text.page)?;
    if let Some((place, old)) = &known {
        let kept: &[u8] = if text.place == Some(*place) { &bands } else { &[] };
        remove_bands(conn, *place, old, kept)?;
        if text.place != Some(*place) {
            conn.prepare_cached("DELETE FROM texts WHERE place = ?1")?.execute([place])?;
        }
    }
    let place = text.place.filter(|place| known.as_ref().is_some_and(|(known, _)| known == place));
    conn.prepare_cached(
        "INSERT OR REPLACE INTO texts (place, page, round, content, signature, bands, shingles) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        place,
        text.page.0,
        round,
        sketch.content.map(|hash| hash.0),
        signature,
        bands,
        &sketch.shingles,
    ))?;
    let place = place.unwrap_or_else(|| conn.last_insert_rowid());
    let mut insert = conn.prepare_cached("INSERT OR IGNORE INTO bands (hash, place) VALUES (?1, ?2)")?;
    for band in &sketch.bands {
        insert.execute((band.cast_signed(), place))?;
    }
    Ok(())
}

/// A page is none any more.
pub(super) fn forget(conn: &Connection, page: UrlKey) -> rusqlite::Result<()> {
    if let Some((place, bands)) = of_page(conn, page)? {
        remove_bands(conn, place, &bands, &[])?;
        conn.prepare_cached("DELETE FROM texts WHERE place = ?1")?.execute([place])?;
    }
    Ok(())
}

/// Place and bands of a page's text.
fn of_page(conn: &Connection, page: UrlKey) -> rusqlite::Result<Option<(i64, Vec<u8>)>> {
    let mut select = conn.prepare_cached("SELECT place, bands FROM texts WHERE page = ?1")?;
    select.query_row([page.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Removes a text's bands but for those that are kept.
fn remove_bands(conn: &Connection, place: i64, bands: &[u8], kept: &[u8]) -> rusqlite::Result<()> {
    let mut delete = conn.prepare_cached("DELETE FROM bands WHERE hash = ?1 AND place = ?2")?;
    let kept = kept.as_chunks::<8>().0;
    for band in bands.as_chunks().0.iter().filter(|band| !kept.contains(band)) {
        delete.execute((i64::from_le_bytes(*band), place))?;
    }
    Ok(())
}
