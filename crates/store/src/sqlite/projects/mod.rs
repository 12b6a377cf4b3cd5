//! [`ProjectStore`] on SQLite: one file that several processes may write, such as a crawl and a server.

mod analysis;
mod check;
mod rows;

use super::{
    error::{or_no_locks, sql},
    io_error,
    migrate::{Migrations, migrate},
    texts::Texts,
};
use crate::private;
use crawl_model::{
    Analysis, DomainBoilerplate, DomainPages, KnownText, NewSource, NewText, Project, ProjectId,
    ProjectStore, Sketch, Source, SourceQuery, StoreError, UrlKey, assert_may_block,
};
use rows::{groups_json, project_of, source_of};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, config::DbConfig, params};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use uuid::Uuid;

const MIGRATIONS: Migrations = &[
    include_str!("../migrations/projects/0001_projects.sql"),
    include_str!("../migrations/projects/0002_texts.sql"),
    include_str!("../migrations/projects/0003_checksums.sql"),
];

/// Mark of our files (`PRAGMA application_id`), so that no other program's database is written to: "crwl".
const APPLICATION_ID: i32 = 0x6372_776c;

/// Time to wait for another writer. The longest write is the commit of an analysis, which writes all pages of
/// a project.
const BUSY: Duration = Duration::from_secs(600);

/// Projects in a separate database.
///
/// Each change is on disk when its call returns, even after a loss of power: a crawl settles its pages after
/// they are stored here. Readers never wait for a writer; a writer waits up to ten minutes for another one.
pub struct SqliteProjects {
    path: PathBuf,
    reader: Mutex<Connection>,
    /// Writing connection, separate so that readers do not wait for it.
    writer: Mutex<Connection>,
}

impl SqliteProjects {
    /// Opens a database of projects. Creates it and its folder if missing, and migrates an older version.
    ///
    /// # Errors
    /// [`StoreError::Version`] when a newer program wrote it, [`StoreError::Corrupt`] when it is another
    /// database, [`StoreError::Full`] when it cannot be written. [`StoreError::Busy`] when another process
    /// writes for too long.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private::create_dir_all(folder).map_err(|e| io_error(folder, &e))?;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        private::create(path).map_err(|e| io_error(path, &e))?;
        Self::connect(path).map_err(|error| or_no_locks(folder, error))
    }

    fn connect(path: &Path) -> Result<Self, StoreError> {
        let mut writer = connect(path).map_err(sql)?;
        claim(&writer, path)?;
        for suffix in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            private::tighten(Path::new(&name));
        }
        writer.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).map_err(sql)?;
        migrate(&mut writer, MIGRATIONS)?;
        let reader = connect(path).map_err(sql)?;
        Ok(Self { path: path.to_owned(), reader: Mutex::new(reader), writer: Mutex::new(writer) })
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        assert_may_block("a call of SQLite");
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the writing connection. A panic within a call has rolled its transaction back.
    fn writer(&self) -> MutexGuard<'_, Connection> {
        assert_may_block("a call of SQLite");
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, column: &str, value: &str) -> Result<Option<Project>, StoreError> {
        let text = format!("{} WHERE projects.{column} = ?1", rows::PROJECT);
        let conn = self.reader();
        let mut select = conn.prepare_cached(&text).map_err(sql)?;
        select.query_row([value], project_of).optional().map_err(sql)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "synchronous", "full")?;
    Ok(conn)
}

/// Marks a new file, and refuses one that another program has written.
fn claim(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let found: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(sql)?;
    let tables: i64 =
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sql)?;
    match (found, tables) {
        (APPLICATION_ID, _) => Ok(()),
        (0, 0) => conn.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql),
        _ => Err(StoreError::Corrupt(format!("{} is no database of projects", path.display()))),
    }
}

impl ProjectStore for SqliteProjects {
    fn create_project(&self, name: &str, now_ms: i64) -> Result<Option<Project>, StoreError> {
        let id = ProjectId(Uuid::new_v4());
        let conn = self.writer();
        let mut insert = conn
            .prepare_cached(
                "INSERT INTO projects (id, name, created_at) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING",
            )
            .map_err(sql)?;
        // with RETURNING the row would come before the commit, and an error of the commit would be lost
        let made = insert.execute((id.to_string(), name, now_ms)).map_err(sql)? > 0;
        let number = conn.last_insert_rowid();
        Ok(made.then(|| Project { number, id, name: name.to_owned(), sources: 0, created_at_ms: now_ms }))
    }

    fn project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        self.find("id", &id.to_string())
    }

    fn project_named(&self, name: &str) -> Result<Option<Project>, StoreError> {
        self.find("name", name)
    }

    fn projects(&self, after: i64, limit: usize) -> Result<Vec<Project>, StoreError> {
        let conn = self.reader();
        let text = format!("{} WHERE projects.number > ?1 ORDER BY projects.number LIMIT ?2", rows::PROJECT);
        let mut select = conn.prepare_cached(&text).map_err(sql)?;
        let found = select.query_map((after, at_most(limit)), project_of).map_err(sql)?;
        found.collect::<Result<_, _>>().map_err(sql)
    }

    fn delete_project(&self, id: ProjectId) -> Result<bool, StoreError> {
        let mut conn = self.writer();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let Some(number) = number(&tx, id).map_err(sql)? else { return Ok(false) };
        Texts::of_project(&tx, number).forget_all().map_err(sql)?;
        tx.execute("DELETE FROM projects WHERE number = ?1", [number]).map_err(sql)?;
        tx.commit().map_err(sql)?;
        Ok(true)
    }

    fn save_sources_with_texts(
        &self,
        project: ProjectId,
        sources: &[NewSource],
        texts: &[NewText],
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut conn = self.writer();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let Some(number) = number(&tx, project).map_err(sql)? else { return Ok(false) };
        let mut index = Texts::of_project(&tx, number);
        texts.iter().try_for_each(|text| index.put(text)).map_err(sql)?;
        {
            let (project, mut upsert) = (project.to_string(), tx.prepare_cached(UPSERT).map_err(sql)?);
            for page in sources {
                forget_damaged(&tx, &project, page)?;
                upsert
                    .execute(params![
                        project,
                        UrlKey::of(&page.url).to_string(),
                        page.url,
                        page.domain,
                        page.source_group,
                        now_ms,
                        page.metadata,
                        page.content,
                        page.cleaned_content,
                        rows::page_checksum(page),
                        rows::text_checksum(page.cleaned_content.as_deref()),
                    ])
                    .map_err(sql)?;
            }
        }
        tx.commit().map_err(sql)?;
        Ok(true)
    }

    fn similar_texts(
        &self,
        project: ProjectId,
        sketch: &Sketch,
        limit: usize,
    ) -> Result<Vec<KnownText>, StoreError> {
        let conn = self.reader();
        let Some(number) = number(&conn, project).map_err(sql)? else { return Ok(Vec::new()) };
        Texts::of_project(&conn, number).like(sketch, limit).map_err(sql)
    }

    fn keep_texts_of_method(&self, project: ProjectId, method: &str) -> Result<bool, StoreError> {
        let mut conn = self.writer();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let same = "SELECT texts_made_as = ?2 FROM projects WHERE number = ?1";
        let Some(number) = number(&tx, project).map_err(sql)? else { return Ok(false) };
        if tx.query_row(same, (number, method), |row| row.get(0)).map_err(sql)? {
            return Ok(false);
        }
        let texts = Texts::of_project(&tx, number).forget_all().map_err(sql)?;
        tx.execute("UPDATE projects SET texts_made_as = ?2 WHERE number = ?1", (number, method))
            .map_err(sql)?;
        tx.commit().map_err(sql)?;
        Ok(texts > 0)
    }

    fn sources(&self, project: ProjectId, query: &SourceQuery) -> Result<Vec<Source>, StoreError> {
        let conn = self.reader();
        let mut select = conn.prepare_cached(rows::SOURCES).map_err(sql)?;
        let mut found = select
            .query(params![
                project.to_string(),
                query.after,
                query.domain,
                groups_json(&query.groups)?,
                at_most(query.limit),
            ])
            .map_err(sql)?;
        let (mut sources, mut bytes) = (Vec::new(), 0_usize);
        while let Some(row) = found.next().map_err(sql)? {
            let source = source_of(row).map_err(sql)?;
            bytes += source.page.content.len() + source.page.cleaned_content.as_ref().map_or(0, String::len);
            sources.push(source);
            if bytes >= query.max_bytes {
                break;
            }
        }
        Ok(sources)
    }

    fn source(&self, project: ProjectId, id: UrlKey) -> Result<Option<Source>, StoreError> {
        let conn = self.reader();
        let mut select = conn.prepare_cached(rows::SOURCE).map_err(sql)?;
        select.query_row((project.to_string(), id.to_string()), source_of).optional().map_err(sql)
    }

    fn domains(&self, project: ProjectId, groups: &[String]) -> Result<Vec<DomainPages>, StoreError> {
        rows::domains(&self.reader(), project, groups)
    }

    fn boilerplate(
        &self,
        project: ProjectId,
        domain: Option<&str>,
    ) -> Result<Vec<DomainBoilerplate>, StoreError> {
        let conn = self.reader();
        let mut select = conn.prepare_cached(rows::BOILERPLATE).map_err(sql)?;
        let found = select.query_map((project.to_string(), domain), rows::boilerplate_of).map_err(sql)?;
        found.collect::<Result<_, _>>().map_err(sql)
    }

    fn begin_analysis(
        &self,
        project: ProjectId,
        groups: &[String],
    ) -> Result<Box<dyn Analysis + '_>, StoreError> {
        // a separate connection, whose snapshot stays while others write
        let conn = connect(&self.path).map_err(sql)?;
        Ok(Box::new(analysis::SqliteAnalysis::begin(conn, project, groups.to_vec())?))
    }
}

/// The number of a project, if it exists.
fn number(conn: &Connection, project: ProjectId) -> rusqlite::Result<Option<i64>> {
    let mut select = conn.prepare_cached("SELECT number FROM projects WHERE id = ?1")?;
    select.query_row([project.to_string()], |row| row.get(0)).optional()
}

/// Drops a stored cleaned text that does not match its checksum, so that the new page replaces it.
fn forget_damaged(conn: &Connection, project: &str, page: &NewSource) -> Result<(), StoreError> {
    let id = UrlKey::of(&page.url).to_string();
    let mut select = conn.prepare_cached(rows::CLEANED).map_err(sql)?;
    let checked = select.query_row((project, &id), |row| rows::check_cleaned(row, 0, 1, 2)).optional();
    if !matches!(checked, Err(rusqlite::Error::FromSqlConversionFailure(..))) {
        return checked.map(drop).map_err(sql);
    }
    let mut forget = conn.prepare_cached(rows::FORGET_CLEANED).map_err(sql)?;
    forget.execute((project, &id)).map(drop).map_err(sql)
}

fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// In the assignments, `sources.` refers to the old row.
const UPSERT: &str = "\
INSERT INTO sources (project_id, id, url, domain, source_group, created_at, updated_at, metadata, content, cleaned_content,
    checksum, cleaned_checksum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (project_id, id) DO UPDATE SET
    url = excluded.url,
    domain = excluded.domain,
    source_group = excluded.source_group,
    updated_at = excluded.updated_at,
    metadata = excluded.metadata,
    revision = sources.revision + (sources.content <> excluded.content),
    cleaned_content = CASE WHEN sources.content = excluded.content
        THEN coalesce(sources.cleaned_content, excluded.cleaned_content) ELSE excluded.cleaned_content END,
    cleaned_checksum = CASE WHEN sources.content = excluded.content AND sources.cleaned_content IS NOT NULL
        THEN sources.cleaned_checksum ELSE excluded.cleaned_checksum END,
    checksum = excluded.checksum,
    content = excluded.content";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn foreign_database_file_stays_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("other.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let before = fs::read(&path).unwrap();
        assert!(matches!(SqliteProjects::open(&path), Err(StoreError::Corrupt(_))));
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::write(&path, "no database at all, but long enough to be taken for the head of one".repeat(20))
            .unwrap();
        assert!(matches!(SqliteProjects::open(&path), Err(StoreError::Corrupt(_))));
    }

    #[test]
    fn schema_version_is_stored_and_newer_versions_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deeper/projects.sqlite");
        let store = SqliteProjects::open(&path).unwrap();
        store.create_project("kept", 1).unwrap().unwrap();
        let version = |conn: &Connection| -> u32 {
            conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
        };
        assert_eq!(version(&store.writer()), 3);
        store.writer().pragma_update(None, "user_version", 4).unwrap();
        drop(store);
        assert!(matches!(SqliteProjects::open(&path), Err(StoreError::Version { found: 4, known: 3 })));
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
        assert!(SqliteProjects::open(&path).unwrap().project_named("kept").unwrap().is_some());
    }

    #[test]
    fn project_queries_scan_no_pages() {
        let store = SqliteProjects::open(&tempfile::tempdir().unwrap().path().join("p.sqlite")).unwrap();
        let conn = store.writer();
        let by_domain = rows::SOURCES.replace("?3 IS NULL OR domain = ?3", "domain = ?3");
        for text in [rows::SOURCES, &by_domain, rows::SOURCE, rows::DOMAINS, rows::PROJECT, analysis::PAGES] {
            let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
            for n in 1..=plan.parameter_count() {
                plan.raw_bind_parameter(n, 1).unwrap();
            }
            let mut rows = plan.raw_query();
            while let Some(row) = rows.next().unwrap() {
                let step: String = row.get(3).unwrap();
                assert!(!step.contains("SCAN sources"), "{step}: {text}");
            }
        }
    }

    /// A full disk fails the commit, as this deferred constraint does.
    #[test]
    fn project_whose_commit_fails_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteProjects::open(&dir.path().join("projects.sqlite")).unwrap();
        let fails = "CREATE TABLE none (id INTEGER PRIMARY KEY); \
                     CREATE TABLE late (id INTEGER REFERENCES none DEFERRABLE INITIALLY DEFERRED); \
                     CREATE TRIGGER fails AFTER INSERT ON projects WHEN new.name = 'b' BEGIN INSERT INTO late VALUES (1); END";
        store.writer().execute_batch(fails).unwrap();
        let first = store.create_project("a", 1).unwrap().unwrap();
        assert!(store.create_project("b", 1).is_err());
        assert!(store.create_project("a", 1).unwrap().is_none());
        assert_eq!(store.projects(0, 10).unwrap(), [first]);
    }
}
