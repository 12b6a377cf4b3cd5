//! Check of a whole database of projects.

use super::{SqliteProjects, rows};
use crate::sqlite::{error::sql, seal};
use crate::upkeep::CheckReport;
use crawl_model::StoreError;
use rusqlite::Connection;

impl SqliteProjects {
    /// Checks the structure of the database, each page against its checksum, and each analysis. Changes
    /// nothing; other processes may read and write meanwhile.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        let conn = self.reader();
        let mut report = CheckReport::default();
        let faults = seal::faults(&conn, true).unwrap_or_else(|error| vec![error.to_string()]);
        report.findings.extend(faults.into_iter().map(|fault| format!("structure: {fault}")));
        let projects = format!("{} ORDER BY number", rows::PROJECT);
        check_rows(&conn, &mut report, "projects", &projects, |row| rows::project_of(row).map(drop))?;
        check_rows(&conn, &mut report, "pages", rows::ALL_SOURCES, |row| rows::source_of(row).map(drop))?;
        check_rows(&conn, &mut report, "analyses of domains", rows::ALL_BOILERPLATE, |row| {
            rows::boilerplate_of(row).map(drop)
        })?;
        Ok(report)
    }
}

/// Reads all rows of a statement and reports the unreadable ones. A page that SQLite itself cannot read ends
/// a table.
fn check_rows(
    conn: &Connection,
    report: &mut CheckReport,
    what: &str,
    statement: &str,
    read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
) -> Result<(), StoreError> {
    let mut select = conn.prepare(statement).map_err(sql)?;
    let mut found = select.query([]).map_err(sql)?;
    let mut count = 0;
    loop {
        match found.next() {
            Ok(Some(row)) => {
                count += 1;
                if let Err(error) = read(row) {
                    report.findings.push(format!("{what}: {}", sql(error)));
                }
            }
            Ok(None) => break,
            Err(error) => {
                report.findings.push(format!("{what}: {error}"));
                break;
            }
        }
    }
    report.looked_at.push((what.to_owned(), count));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::{NewSource, ProjectStore, SourceQuery};

    const NAME: &str = "http://a.example/";

    fn with_a_page(dir: &std::path::Path) -> (SqliteProjects, crawl_model::ProjectId) {
        let store = SqliteProjects::open(&dir.join("projects.sqlite")).unwrap();
        let project = store.create_project("p", 1).unwrap().unwrap().id;
        let page = NewSource {
            url: NAME.into(),
            domain: "a.example".into(),
            source_group: None,
            metadata: r#"{"title":"A"}"#.into(),
            content: "the text of a page".into(),
            cleaned_content: Some("text".into()),
        };
        assert!(store.save_sources(project, &[page], 1).unwrap());
        (store, project)
    }

    fn all() -> SourceQuery {
        SourceQuery { domain: None, groups: Vec::new(), after: 0, limit: 10, max_bytes: 1 << 20 }
    }

    #[test]
    fn changed_byte_of_a_page_is_detected_by_all_readers() {
        for (column, bytes) in [
            ("content", "'the test of a page'"),
            ("content", "X'ff'"),
            ("cleaned_content", "'test'"),
            ("cleaned_content", "X'ff'"),
            ("metadata", r#"'{"title":"B"}'"#),
            ("metadata", r#"'{"title'"#),
            ("source_group", "'g'"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let (store, project) = with_a_page(dir.path());
            assert_eq!(store.check().unwrap().findings, Vec::<String>::new());
            let change = format!(
                "PRAGMA ignore_check_constraints = ON; UPDATE sources SET {column} = CAST({bytes} AS TEXT)"
            );
            store.writer().execute_batch(&change).unwrap();
            let report = store.check().unwrap();
            assert!(report.findings.iter().any(|finding| finding.contains(NAME)), "{report:?}");
            let read = store.sources(project, &all());
            assert!(matches!(&read, Err(StoreError::Corrupt(words)) if words.contains(NAME)), "{read:?}");
            if column == "content" || column == "metadata" {
                let analysis = store.begin_analysis(project, &[]).unwrap();
                assert!(matches!(analysis.pages("a.example", 0), Err(StoreError::Corrupt(_))));
            }
        }
    }

    #[test]
    fn refetched_page_is_intact_again() {
        let dir = tempfile::tempdir().unwrap();
        let (store, project) = with_a_page(dir.path());
        let page = store.sources(project, &all()).unwrap().remove(0).page;
        for column in ["content", "cleaned_content"] {
            store.writer().execute(&format!("UPDATE sources SET {column} = 'other'"), []).unwrap();
            assert_eq!(store.check().unwrap().findings.len(), 1);
            assert!(store.save_sources(project, std::slice::from_ref(&page), 2).unwrap());
            assert_eq!(store.check().unwrap().findings, Vec::<String>::new());
            assert_eq!(store.sources(project, &all()).unwrap()[0].page, page);
        }
    }

    #[test]
    fn version_2_database_is_migrated_without_page_checksums() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("projects.sqlite");
        let dump = include_str!("../../../../../fixtures/states/projects2.sql");
        Connection::open(&path).unwrap().execute_batch(dump).unwrap();
        let store = SqliteProjects::open(&path).unwrap();
        let project = store.project_named("harbour").unwrap().unwrap();
        let sources = store.sources(project.id, &all()).unwrap();
        assert!(project.sources > 5 && sources.len() == usize::try_from(project.sources).unwrap());
        assert_eq!(store.check().unwrap().findings, Vec::<String>::new());
        let pages: Vec<NewSource> = sources.into_iter().map(|source| source.page).collect();
        assert!(store.save_sources(project.id, &pages, 2).unwrap());
        let unchecked = "SELECT count(*) FROM sources WHERE checksum IS NULL";
        let unchecked: i64 = store.reader().query_row(unchecked, [], |row| row.get(0)).unwrap();
        assert_eq!(unchecked, 0, "a page that comes again has one");
        assert_eq!(store.check().unwrap().findings, Vec::<String>::new());
    }
}
