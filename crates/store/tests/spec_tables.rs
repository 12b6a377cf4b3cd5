//! Domain boilerplate, phase B: the tables of projects in SQLite.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_store::SqliteProjects;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;

/// Type of each column of a table, and true if it may be null.
fn columns(conn: &Connection, table: &str) -> BTreeMap<String, (String, bool)> {
    let mut rows = conn.prepare("SELECT name, type, \"notnull\" FROM pragma_table_info(?1)").unwrap();
    rows.query_map([table], |row| Ok((row.get(0)?, (row.get(1)?, row.get::<_, i64>(2)? == 0))))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn opened(check: impl FnOnce(&Connection)) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.sqlite");
    drop(SqliteProjects::open(&path).unwrap());
    check(&Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap());
}

#[test]
fn domain_boilerplate_table_has_the_specified_columns() {
    opened(|conn| {
        let found = columns(conn, "domain_boilerplate");
        for name in [
            "id",
            "project_id",
            "domain",
            "boilerplate_hashes",
            "pages_analyzed",
            "blocks_total",
            "blocks_boilerplate",
            "bytes_removed_avg",
            "threshold_pct",
            "min_pages",
            "min_block_chars",
            "created_at",
            "updated_at",
        ] {
            let (_, nullable) = found.get(name).unwrap_or_else(|| panic!("{name}: {found:?}"));
            assert!(!nullable, "{name}");
        }
        let default = |name: &str| -> String {
            let sql = "SELECT dflt_value FROM pragma_table_info('domain_boilerplate') WHERE name = ?1";
            conn.query_row(sql, [name], |row| row.get(0)).unwrap()
        };
        for name in ["pages_analyzed", "blocks_total", "blocks_boilerplate", "bytes_removed_avg"] {
            assert_eq!((found[name].0.as_str(), default(name).as_str()), ("INTEGER", "0"), "{name}");
        }
        let parameters = ["threshold_pct", "min_pages", "min_block_chars"].map(default);
        assert_eq!(parameters, ["0.7", "5", "50"]);
        assert_eq!(default("boilerplate_hashes"), "'[]'");
    });
}

#[test]
fn boilerplate_row_is_unique_and_deleted_with_its_project() {
    opened(|conn| {
        let sql: String = conn
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'domain_boilerplate'", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert!(sql.contains("uq_domain_boilerplate_project_domain UNIQUE (project_id, domain)"), "{sql}");
        assert!(sql.contains("ON DELETE CASCADE"), "{sql}");
        let indexed: i64 = conn
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'domain_boilerplate' AND sql LIKE '%(domain)'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(indexed, 1);
    });
}

#[test]
fn source_has_content_and_optional_cleaned_content() {
    opened(|conn| {
        let found = columns(conn, "sources");
        assert!(!found["content"].1, "a page has a content");
        assert!(found["cleaned_content"].1, "which may not have been judged");
    });
}
