//! [`TextIndex`] on PostgreSQL: the tables `texts` and `bands`, shared by all workers. Two workers that settle
//! similar texts at the same moment both keep theirs.

use super::{
    Commit, PgStore,
    db::{Db, Question, get, int, uint},
};
use crawl_model::{
    ContentHash, KnownText, NewText, OutputMark, Settlement, Sketch, StoreError, TextIndex, UrlKey,
};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// Maximum texts compared per band or content: the oldest.
const A_BAND: i64 = 64;

/// Maximum bytes of returned shingles: those of some large pages.
const BYTES: usize = 16 << 20;

/// Name of the setting that stores the method of the texts.
const MADE_AS: &str = "texts";

/// Places of texts, those with the most common bands first. An equal content counts more than all bands.
const LIKE: &str = "WITH shared AS (\
    SELECT place, cardinality($2::bigint[]) + 1 AS bands FROM \
    (SELECT place FROM texts WHERE content = $1 ORDER BY place LIMIT $4) c \
    UNION ALL SELECT b.place, 1 FROM unnest($2::bigint[]) AS wanted (hash) CROSS JOIN LATERAL \
    (SELECT place FROM bands WHERE bands.hash = wanted.hash ORDER BY place LIMIT $4) b), \
    best AS (SELECT place, sum(bands) AS bands FROM shared GROUP BY place ORDER BY sum(bands) DESC, place LIMIT $3) \
    SELECT t.place, page, round, content, signature, shingles FROM best JOIN texts t ON t.place = best.place \
    ORDER BY best.bands DESC, t.place";

/// Confirms an unchanged text: only the round of its row changes.
const CONFIRM: &str = "UPDATE texts SET round = $2 WHERE place = $1 AND content IS NOT DISTINCT FROM $3 \
                       AND bands = $4 AND shingles = $5";

/// Adds a text at a given place.
const PUT: &str = "WITH new AS (INSERT INTO texts (place, round, page, content, signature, bands, shingles) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING place) \
                   INSERT INTO bands (hash, place) SELECT hash, place FROM new CROSS JOIN unnest($6::bigint[]) AS hash \
                   ON CONFLICT DO NOTHING";

/// Adds texts at the next places, in their order. The column `place` takes its default, since only its owner
/// may name the sequence. `$7` has the bands of all texts, `$5` and `$6` the first and last band of each.
const PUT_ALL: &str = "WITH new AS (INSERT INTO texts (round, page, content, signature, bands, shingles) \
                       SELECT $1, page, content, signature, ($7::bigint[])[first:last], shingles \
                       FROM unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::int[], $6::int[], $8::bytea[]) \
                       WITH ORDINALITY AS n (page, content, signature, first, last, shingles, number) ORDER BY number \
                       RETURNING place, bands) \
                       INSERT INTO bands (hash, place) SELECT hash, place FROM new CROSS JOIN unnest(bands) AS hash \
                       ON CONFLICT DO NOTHING";

impl TextIndex for PgStore {
    fn similar_texts(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError> {
        let content = sketch.content.map(|hash| hash.0.to_vec());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self
            .on_second_connection(|db| db.rows(LIKE, &[&content, &signed(&sketch.bands), &limit, &A_BAND]))?;
        let (round, is_recrawl) = self.side.round();
        let (mut known, mut bytes) = (Vec::with_capacity(rows.len()), 0);
        for row in &rows {
            let mut text = read(row, round)?;
            text.this_round |= is_recrawl;
            bytes += text.sketch.shingles.len();
            if bytes > BYTES {
                break;
            }
            known.push(text);
        }
        Ok(known)
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
        inner.write(Commit::Now, &[], |db, _, _| {
            let stored = db.row("SELECT value FROM settings WHERE name = $1 FOR UPDATE", &[&MADE_AS])?;
            if stored.map(|row| get::<Vec<u8>>(&row, 0)).transpose()?.as_deref() == Some(method.as_bytes()) {
                return Ok(false);
            }
            let texts = db.execute("DELETE FROM texts", &[])?;
            db.execute("DELETE FROM bands", &[])?;
            db.execute(
                "INSERT INTO settings (name, value) VALUES ($1, $2) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                &[&MADE_AS, &method.as_bytes()],
            )?;
            Ok(texts > 0)
        })
    }
}

fn signed(bands: &[u64]) -> Vec<i64> {
    bands.iter().map(|band| band.cast_signed()).collect()
}

fn read(row: &Row, round: u32) -> Result<KnownText, StoreError> {
    let content = get::<Option<&[u8]>>(row, 3)?.map(<[u8; 32]>::try_from).transpose();
    let content = content.map_err(|_| StoreError::Corrupt("a hash has another length".into()))?;
    let (signature, _) = get::<&[u8]>(row, 4)?.as_chunks();
    Ok(KnownText {
        page: UrlKey(get::<Uuid>(row, 1)?.into_bytes()),
        place: get(row, 0)?,
        this_round: uint(get(row, 2)?) == round,
        sketch: Arc::new(Sketch {
            content: content.map(ContentHash),
            shingles: get(row, 5)?,
            signature: signature.iter().map(|n| u32::from_le_bytes(*n)).collect(),
            bands: Vec::new(),
        }),
    })
}

/// Asks which of these pages have a text already.
pub(super) fn ask_known(db: &mut Db, texts: &[NewText]) -> Result<Question, StoreError> {
    let pages: Vec<Uuid> = texts.iter().map(|text| Uuid::from_bytes(text.page.0)).collect();
    db.ask("SELECT page FROM texts WHERE page = ANY($1)", vec![Box::new(pages)])
}

/// Adds texts, each in place of the text of its page.
pub(super) fn put_all(
    db: &mut Db,
    round: u32,
    texts: Vec<&NewText>,
    known: Question,
) -> Result<(), StoreError> {
    let rows = db.answer(known)?;
    let mut seen: FxHashSet<Uuid> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    // a page that comes twice replaces its own text
    let is_new = |text: &&NewText| seen.insert(Uuid::from_bytes(text.page.0));
    let (new, known): (Vec<&NewText>, Vec<&NewText>) = texts.into_iter().partition(is_new);
    put_new(db, round, &new)?;
    known.into_iter().try_for_each(|text| put(db, round, text))
}

/// Adds texts of pages that have none.
fn put_new(db: &mut Db, round: u32, texts: &[&NewText]) -> Result<(), StoreError> {
    if texts.is_empty() {
        return Ok(());
    }
    let sketches = || texts.iter().map(|text| &text.sketch);
    let pages: Vec<Uuid> = texts.iter().map(|text| Uuid::from_bytes(text.page.0)).collect();
    let contents: Vec<Option<Vec<u8>>> =
        sketches().map(|sketch| sketch.content.map(|hash| hash.0.to_vec())).collect();
    let signatures: Vec<Vec<u8>> = sketches().map(|sketch| bytes_of(&sketch.signature)).collect();
    let shingles: Vec<&[u8]> = sketches().map(|sketch| &*sketch.shingles).collect();
    let (mut bands, mut firsts, mut lasts) = (Vec::new(), Vec::new(), Vec::new());
    for sketch in sketches() {
        firsts.push(place_of(bands.len()) + 1);
        bands.extend(signed(&sketch.bands));
        lasts.push(place_of(bands.len()));
    }
    let round = int(round);
    db.execute(PUT_ALL, &[&round, &pages, &contents, &signatures, &firsts, &lasts, &bands, &shingles])
        .map(|_| ())
}

fn place_of(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn bytes_of(signature: &[u32]) -> Vec<u8> {
    signature.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// Adds a text. It replaces the text of its page, in the same position if requested.
fn put(db: &mut Db, round: u32, text: &NewText) -> Result<(), StoreError> {
    let Sketch { content, shingles, signature, bands } = &text.sketch;
    let (page, bands) = (Uuid::from_bytes(text.page.0), signed(bands));
    let content = content.map(|hash| hash.0.to_vec());
    let row = db.row("SELECT place FROM texts WHERE page = $1", &[&page])?;
    let known: Option<i64> = row.map(|row| get(&row, 0)).transpose()?;
    let place = text.place.filter(|place| known == Some(*place));
    if place.is_some() && db.execute(CONFIRM, &[&place, &int(round), &content, &bands, shingles])? == 1 {
        return Ok(());
    }
    if known.is_some() {
        forget(db, &[text.page])?;
    }
    if place.is_none() {
        return put_new(db, round, &[text]);
    }
    let (signature, round) = (bytes_of(signature), int(round));
    db.execute(PUT, &[&place, &round, &page, &content, &signature, &bands, shingles]).map(|_| ())
}

/// Confirms the texts of unchanged pages for a round.
pub(super) fn confirm(db: &mut Db, round: u32, pages: &[UrlKey]) -> Result<(), StoreError> {
    if pages.is_empty() {
        return Ok(());
    }
    let pages: Vec<Uuid> = pages.iter().map(|page| Uuid::from_bytes(page.0)).collect();
    db.execute("UPDATE texts SET round = $2 WHERE page = ANY($1)", &[&pages, &int(round)]).map(|_| ())
}

/// Removes the texts of pages that no longer exist.
pub(super) fn forget(db: &mut Db, pages: &[UrlKey]) -> Result<(), StoreError> {
    if pages.is_empty() {
        return Ok(());
    }
    let pages: Vec<Uuid> = pages.iter().map(|page| Uuid::from_bytes(page.0)).collect();
    db.execute(
        "WITH gone AS (DELETE FROM texts WHERE page = ANY($1) RETURNING place, bands) \
         DELETE FROM bands USING (SELECT place, unnest(bands) AS hash FROM gone) AS g \
         WHERE bands.hash = g.hash AND bands.place = g.place",
        &[&pages],
    )
    .map(|_| ())
}

/// Removes the texts of pages last found before a round.
pub(super) fn forget_before(db: &mut Db, round: u32) -> Result<(), StoreError> {
    db.execute(
        "WITH gone AS (DELETE FROM texts WHERE round < $1 RETURNING place, bands) \
         DELETE FROM bands USING (SELECT place, unnest(bands) AS hash FROM gone) AS g \
         WHERE bands.hash = g.hash AND bands.place = g.place",
        &[&int(round)],
    )
    .map(|_| ())
}
