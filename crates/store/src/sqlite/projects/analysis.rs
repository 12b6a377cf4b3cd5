//! An analysis on SQLite: reads a snapshot, writes its results to temporary tables, and copies them in one
//! transaction.
//!
//! So it holds the write lock only for the copy, and a crawl may write until then. A process that dies before
//! the commit leaves no trace: temporary tables are unnamed files.

use super::{
    number,
    rows::{self, groups_json, json},
};
use crate::sqlite::error::sql;
use crawl_model::{Analysis, AnalysisPage, DomainFindings, DomainPages, ProjectId, StoreError};
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;
use uuid::Uuid;

/// Maximum number of pages in a batch.
const READ_PAGES: usize = 64;
const READ_BYTES: usize = 4 << 20;

/// Parameters: project, domain, number to continue after, groups or NULL, limit.
pub(super) const PAGES: &str = "\
SELECT number, revision, url, content, domain, source_group, metadata, checksum
FROM sources
WHERE project_id = ?1 AND domain = ?2 AND number > ?3
    AND (?4 IS NULL OR source_group IN (SELECT value FROM json_each(?4)))
ORDER BY number LIMIT ?5";

const STAGE: &str = "\
CREATE TEMP TABLE done_pages (number INTEGER PRIMARY KEY, revision INTEGER NOT NULL, cleaned TEXT,
    checksum INTEGER NOT NULL) STRICT;
CREATE TEMP TABLE done_domains (
    id TEXT NOT NULL, domain TEXT NOT NULL PRIMARY KEY, hashes TEXT NOT NULL, pages INTEGER NOT NULL,
    total INTEGER NOT NULL, boilerplate INTEGER NOT NULL, bytes INTEGER NOT NULL, threshold_pct REAL NOT NULL,
    min_pages INTEGER NOT NULL, min_block_chars INTEGER NOT NULL, mode TEXT NOT NULL, groups TEXT NOT NULL
) STRICT;";

/// The revision excludes a page whose text has changed; the project excludes a number that was reused.
const COPY_PAGES: &str = "\
UPDATE sources SET cleaned_content = done.cleaned, cleaned_checksum = done.checksum FROM temp.done_pages AS done
WHERE sources.number = done.number AND sources.revision = done.revision AND sources.project_id = ?1";

/// `WHERE true` is necessary: otherwise the parser takes ON as that of a join.
const COPY_DOMAINS: &str = "\
INSERT INTO domain_boilerplate (id, project_id, domain, boilerplate_hashes, pages_analyzed, blocks_total,
    blocks_boilerplate, bytes_removed_avg, threshold_pct, min_pages, min_block_chars, mode, source_groups,
    created_at, updated_at)
SELECT id, ?1, domain, hashes, pages, total, boilerplate, bytes, threshold_pct, min_pages, min_block_chars, mode,
    groups, ?2, ?2
FROM temp.done_domains WHERE true
ON CONFLICT (project_id, domain) DO UPDATE SET
    boilerplate_hashes = excluded.boilerplate_hashes, pages_analyzed = excluded.pages_analyzed,
    blocks_total = excluded.blocks_total, blocks_boilerplate = excluded.blocks_boilerplate,
    bytes_removed_avg = excluded.bytes_removed_avg, threshold_pct = excluded.threshold_pct,
    min_pages = excluded.min_pages, min_block_chars = excluded.min_block_chars, mode = excluded.mode,
    source_groups = excluded.source_groups, updated_at = excluded.updated_at";

pub(super) struct SqliteAnalysis {
    conn: Connection,
    project: ProjectId,
    groups: Vec<String>,
}

impl SqliteAnalysis {
    pub(super) fn begin(
        conn: Connection,
        project: ProjectId,
        groups: Vec<String>,
    ) -> Result<Self, StoreError> {
        conn.execute_batch(STAGE).map_err(sql)?;
        // the first query fixes the snapshot of the others
        conn.execute_batch("BEGIN").map_err(sql)?;
        number(&conn, project).map_err(sql)?;
        Ok(Self { conn, project, groups })
    }
}

impl Analysis for SqliteAnalysis {
    fn domains(&self) -> Result<Vec<DomainPages>, StoreError> {
        rows::domains(&self.conn, self.project, &self.groups)
    }

    fn pages(&self, domain: &str, after: i64) -> Result<Vec<AnalysisPage>, StoreError> {
        let mut select = self.conn.prepare_cached(PAGES).map_err(sql)?;
        let mut found = select
            .query(params![
                self.project.to_string(),
                domain,
                after,
                groups_json(&self.groups)?,
                super::at_most(READ_PAGES)
            ])
            .map_err(sql)?;
        let (mut pages, mut bytes) = (Vec::new(), 0);
        while let Some(row) = found.next().map_err(sql)? {
            let page = page_of(row).map_err(sql)?;
            bytes += page.content.len();
            pages.push(page);
            if bytes >= READ_BYTES {
                break;
            }
        }
        Ok(pages)
    }

    fn put_page(&mut self, page: &AnalysisPage, cleaned: Option<&str>) -> Result<(), StoreError> {
        let mut insert =
            self.conn.prepare_cached("INSERT INTO temp.done_pages VALUES (?1, ?2, ?3, ?4)").map_err(sql)?;
        insert
            .execute((page.number, page.revision, cleaned, rows::text_checksum(cleaned)))
            .map(drop)
            .map_err(sql)
    }

    fn put_domain(&mut self, findings: DomainFindings) -> Result<(), StoreError> {
        let digits: Vec<String> =
            findings.boilerplate_hashes.iter().map(|hash| format!("{hash:016x}")).collect();
        let mut insert = self
            .conn
            .prepare_cached(
                "INSERT INTO temp.done_domains VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )
            .map_err(sql)?;
        let row = params![
            Uuid::new_v4().to_string(),
            findings.domain,
            json(&digits)?,
            findings.pages_analyzed,
            findings.blocks_total,
            findings.blocks_boilerplate,
            findings.bytes_removed_avg,
            findings.threshold_pct,
            findings.min_pages,
            findings.min_block_chars,
            findings.mode,
            json(&findings.source_groups)?,
        ];
        insert.execute(row).map(drop).map_err(sql)
    }

    fn commit(mut self: Box<Self>, now_ms: i64) -> Result<bool, StoreError> {
        // ends the snapshot; temporary tables stay
        self.conn.execute_batch("COMMIT").map_err(sql)?;
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        if number(&tx, self.project).map_err(sql)?.is_none() {
            return Ok(false);
        }
        let project = self.project.to_string();
        tx.execute(COPY_PAGES, [&project]).map_err(sql)?;
        tx.execute(COPY_DOMAINS, (&project, now_ms)).map_err(sql)?;
        tx.commit().map_err(sql)?;
        Ok(true)
    }
}

fn page_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<AnalysisPage> {
    rows::check_page(row, [2, 4, 5, 6, 3], 7)?;
    // a row without a checksum may hold anything
    let metadata: Value = serde_json::from_slice(row.get_ref(6)?.as_bytes()?).unwrap_or_default();
    let named = |name: &str| metadata[name].as_str().map(str::to_owned);
    Ok(AnalysisPage {
        number: row.get(0)?,
        revision: row.get(1)?,
        url: row.get(2)?,
        title: named("title"),
        extractor: named("extractor"),
        content: row.get(3)?,
    })
}
