//! Conversion of rows to values, and their queries.

use crate::sqlite::{checksum::checksum_of, error::sql};
use crawl_model::{
    DomainBoilerplate, DomainFindings, DomainPages, NewSource, Project, ProjectId, Source, StoreError, UrlKey,
};
use rusqlite::{Connection, Row, types::Type};
use std::{error::Error, io};
use uuid::Uuid;

/// Prefix of a condition; the count reads only an index.
pub(super) const PROJECT: &str = "\
SELECT number, id, name, created_at, (SELECT count(*) FROM sources WHERE project_id = projects.id) FROM projects";

/// Parameters: project, number to continue after, domain or NULL, groups or NULL, limit.
pub(super) const SOURCES: &str = "\
SELECT number, id, url, domain, source_group, created_at, updated_at, metadata, content, cleaned_content,
    checksum, cleaned_checksum
FROM sources
WHERE project_id = ?1 AND number > ?2 AND (?3 IS NULL OR domain = ?3)
    AND (?4 IS NULL OR source_group IN (SELECT value FROM json_each(?4)))
ORDER BY number LIMIT ?5";

/// Project and identity.
pub(super) const SOURCE: &str = "\
SELECT number, id, url, domain, source_group, created_at, updated_at, metadata, content, cleaned_content,
    checksum, cleaned_checksum
FROM sources WHERE project_id = ?1 AND id = ?2";

/// Parameters: project and identity; result: the cleaned text with its checksum.
pub(super) const CLEANED: &str = "\
SELECT url, cleaned_content, cleaned_checksum FROM sources WHERE project_id = ?1 AND id = ?2 AND cleaned_checksum IS NOT NULL";

/// Project and identity.
pub(super) const FORGET_CLEANED: &str =
    "UPDATE sources SET cleaned_content = NULL, cleaned_checksum = NULL WHERE project_id = ?1 AND id = ?2";

/// All pages of all projects.
pub(super) const ALL_SOURCES: &str = "\
SELECT number, id, url, domain, source_group, created_at, updated_at, metadata, content, cleaned_content,
    checksum, cleaned_checksum
FROM sources ORDER BY number";

/// All analyses of all projects.
pub(super) const ALL_BOILERPLATE: &str = "\
SELECT id, domain, boilerplate_hashes, pages_analyzed, blocks_total, blocks_boilerplate, bytes_removed_avg,
    threshold_pct, min_pages, min_block_chars, mode, source_groups, created_at, updated_at
FROM domain_boilerplate";

/// Project, and groups or NULL.
pub(super) const DOMAINS: &str = "\
SELECT domain, count(*) FROM sources
WHERE project_id = ?1 AND (?2 IS NULL OR source_group IN (SELECT value FROM json_each(?2)))
GROUP BY domain ORDER BY domain";

/// Project, and domain or NULL.
pub(super) const BOILERPLATE: &str = "\
SELECT id, domain, boilerplate_hashes, pages_analyzed, blocks_total, blocks_boilerplate, bytes_removed_avg,
    threshold_pct, min_pages, min_block_chars, mode, source_groups, created_at, updated_at
FROM domain_boilerplate WHERE project_id = ?1 AND (?2 IS NULL OR domain = ?2) ORDER BY domain";

/// Bound value of groups: NULL for none, which selects all.
pub(super) fn groups_json(groups: &[String]) -> Result<Option<String>, StoreError> {
    (!groups.is_empty()).then(|| json(groups)).transpose()
}

pub(super) fn json(value: &[String]) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Other(e.to_string()))
}

pub(super) fn domains(
    conn: &Connection,
    project: ProjectId,
    groups: &[String],
) -> Result<Vec<DomainPages>, StoreError> {
    let mut select = conn.prepare_cached(DOMAINS).map_err(sql)?;
    let found = select
        .query_map((project.to_string(), groups_json(groups)?), |row| {
            Ok(DomainPages { domain: row.get(0)?, pages: row.get(1)? })
        })
        .map_err(sql)?;
    found.collect::<Result<_, _>>().map_err(sql)
}

pub(super) fn project_of(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        number: row.get(0)?,
        id: ProjectId(uuid(row, 1)?),
        name: row.get(2)?,
        created_at_ms: row.get(3)?,
        sources: row.get(4)?,
    })
}

pub(super) fn source_of(row: &Row<'_>) -> rusqlite::Result<Source> {
    check_page(row, [2, 3, 4, 7, 8], 10)?;
    check_cleaned(row, 2, 9, 11)?;
    let digits: String = row.get(1)?;
    let id = Uuid::try_parse(&digits).map_err(|e| bad(1, e))?;
    let page = NewSource {
        url: row.get(2)?,
        domain: row.get(3)?,
        source_group: row.get(4)?,
        metadata: row.get(7)?,
        content: row.get(8)?,
        cleaned_content: row.get(9)?,
    };
    Ok(Source {
        number: row.get(0)?,
        id: UrlKey(id.into_bytes()),
        page,
        created_at_ms: row.get(5)?,
        updated_at_ms: row.get(6)?,
    })
}

/// Checksum of a page without its cleaned text.
pub(super) fn page_checksum(page: &NewSource) -> i64 {
    let group = page.source_group.as_deref().map(str::as_bytes);
    let [url, domain, metadata, content] =
        [&page.url, &page.domain, &page.metadata, &page.content].map(|text| Some(text.as_bytes()));
    checksum_of(&[url, domain, group, metadata, content])
}

/// Checksum of a cleaned text, or of its absence.
pub(super) fn text_checksum(text: Option<&str>) -> i64 {
    checksum_of(&[text.map(str::as_bytes)])
}

/// Fails if a page does not match its checksum. `columns` are its URL, domain, group, metadata and content.
pub(super) fn check_page(row: &Row<'_>, columns: [usize; 5], checksum: usize) -> rusqlite::Result<()> {
    let mut parts = [None; 5];
    for (part, column) in parts.iter_mut().zip(columns) {
        *part = row.get_ref(column)?.as_bytes_or_null()?;
    }
    compare(row, columns[0], checksum, &parts)
}

/// Fails if a cleaned text does not match its checksum.
pub(super) fn check_cleaned(row: &Row<'_>, url: usize, text: usize, checksum: usize) -> rusqlite::Result<()> {
    compare(row, url, checksum, &[row.get_ref(text)?.as_bytes_or_null()?])
}

/// Compares the bytes as stored, before any conversion. Rows of older versions have no checksum and pass.
fn compare(row: &Row<'_>, url: usize, checksum: usize, parts: &[Option<&[u8]>]) -> rusqlite::Result<()> {
    let stored: Option<i64> = row.get(checksum)?;
    if stored.is_none_or(|stored| stored == checksum_of(parts)) {
        return Ok(());
    }
    let url = String::from_utf8_lossy(row.get_ref(url)?.as_bytes()?).into_owned();
    let words = format!("the stored page {url} does not match its checksum");
    Err(bad(checksum, io::Error::new(io::ErrorKind::InvalidData, words)))
}

pub(super) fn boilerplate_of(row: &Row<'_>) -> rusqlite::Result<DomainBoilerplate> {
    let digits: Vec<String> = serde_json::from_str(&row.get::<_, String>(2)?).map_err(|e| bad(2, e))?;
    let hashes = digits.iter().map(|digits| u64::from_str_radix(digits, 16)).collect::<Result<_, _>>();
    Ok(DomainBoilerplate {
        id: uuid(row, 0)?,
        findings: DomainFindings {
            domain: row.get(1)?,
            boilerplate_hashes: hashes.map_err(|e| bad(2, e))?,
            pages_analyzed: row.get(3)?,
            blocks_total: row.get(4)?,
            blocks_boilerplate: row.get(5)?,
            bytes_removed_avg: row.get(6)?,
            threshold_pct: row.get(7)?,
            min_pages: row.get(8)?,
            min_block_chars: row.get(9)?,
            mode: row.get(10)?,
            source_groups: serde_json::from_str(&row.get::<_, String>(11)?).map_err(|e| bad(11, e))?,
        },
        created_at_ms: row.get(12)?,
        updated_at_ms: row.get(13)?,
    })
}

fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    Uuid::try_parse(&row.get::<_, String>(column)?).map_err(|e| bad(column, e))
}

fn bad(column: usize, error: impl Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
