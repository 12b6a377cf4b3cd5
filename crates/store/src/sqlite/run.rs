//! [`RunStore`] on SQLite, and the history of a single URL.

use super::{
    Inner, SqliteStore,
    checksum::{checksum, read_checked},
    error::sql,
    recrawl::{HISTORY, history, read_history},
    url_keys::id_of,
};
use crawl_model::{CachedRobots, HostKey, Origin, PageHistory, RunStore, StoreError, UrlKey};
use rusqlite::{Connection, OptionalExtension};
use std::{sync::Arc, time::Duration};

/// Project and source group of leases.
pub(super) struct Run {
    pub(super) project: Arc<str>,
    pub(super) source_group: Option<Arc<str>>,
}

impl Run {
    pub(super) fn load(conn: &Connection) -> rusqlite::Result<Self> {
        let row = conn.query_row("SELECT project, source_group FROM run", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let (project, source_group) = row.optional()?.unwrap_or_default();
        Ok(Self { project: project.into(), source_group: source_group.map(Into::into) })
    }

    pub(super) fn save(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute("DELETE FROM run", [])?;
        conn.execute(
            "INSERT INTO run (project, source_group) VALUES (?1, ?2)",
            (&*self.project, self.source_group.as_deref()),
        )
        .map(|_| ())
    }
}

impl Inner {
    fn put(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        self.note(name, value)?;
        self.commit()
    }

    fn note(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        self.write(|conn, _| {
            conn.prepare_cached("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)")
                .and_then(|mut insert| insert.execute((name, value)))
                .map(drop)
                .map_err(sql)
        })
    }
}

/// Beginning of the names of stored pauses of hosts, in milliseconds.
const PAUSE: &str = "pause:";

impl Inner {
    /// Notes a pause of a host. It is committed with the lease that it is for.
    pub(super) fn note_pause(&mut self, host: &HostKey, pause: Duration) -> Result<(), StoreError> {
        if self.memory.pauses.get(host) == Some(&pause) {
            return Ok(());
        }
        self.note(&format!("{PAUSE}{host}"), &pause.as_millis().to_string())?;
        self.memory.note_pause(host, pause);
        Ok(())
    }
}

/// Forgets the pauses of hosts, when a round begins.
pub(super) fn forget_pauses(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("DELETE FROM settings WHERE substr(name, 1, length(?1)) = ?1", [PAUSE]).map(|_| ())
}

/// Pauses of hosts that were noted in this round.
pub(super) fn noted_pauses(store: &SqliteStore) -> Result<Vec<(HostKey, Duration)>, StoreError> {
    let rows = store.entries(PAUSE)?.into_iter();
    let pause = |(name, millis): (String, String)| {
        let host = HostKey::from_stored(name.strip_prefix(PAUSE)?);
        Some((host, Duration::from_millis(millis.parse().ok()?)))
    };
    Ok(rows.filter_map(pause).collect())
}

impl RunStore for SqliteStore {
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        let run = Run { project: project.into(), source_group: source_group.map(Into::into) };
        inner.write(|conn, _| run.save(conn).map_err(sql))?;
        inner.run = run;
        inner.commit()
    }

    fn get(&self, name: &str) -> Result<Option<String>, StoreError> {
        let inner = self.ready()?;
        let mut select =
            inner.conn.prepare_cached("SELECT value FROM settings WHERE name = ?1").map_err(sql)?;
        select.query_row([name], |row| row.get(0)).optional().map_err(sql)
    }

    fn put(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.ready()?.put(name, value)
    }

    fn note(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.ready()?.note(name, value)
    }

    fn put_at_end(&self, name: &str, value: &str) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let is_at_end = inner.memory.ledger.total().total() == 0;
        if is_at_end {
            inner.put(name, value)?;
        }
        Ok(is_at_end)
    }

    fn entries(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let inner = self.ready()?;
        let mut select = inner
            .conn
            .prepare_cached(
                "SELECT name, value FROM settings WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name",
            )
            .map_err(sql)?;
        let rows = select.query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sql)?;
        rows.collect::<Result<_, _>>().map_err(sql)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.ready()?.sync()
    }

    fn load_robots(&self, origin: &Origin) -> Result<Option<CachedRobots>, StoreError> {
        let inner = self.ready()?;
        let mut select = inner
            .conn
            .prepare_cached("SELECT status, fetched_at, body, checksum FROM robots WHERE origin = ?1")
            .map_err(sql)?;
        let found = select.query_row([origin.as_str()], |row| {
            let (status, fetched_at_ms) = (row.get(0)?, row.get(1)?);
            let body = read_checked(row, 2)?;
            Ok(body.map(|body| CachedRobots { status, body: body.into(), fetched_at_ms }))
        });
        let found = found.optional().map_err(sql)?;
        if let Some(None) = found {
            tracing::warn!(origin = origin.as_str(), "the saved robots.txt is damaged: it is fetched again");
        }
        Ok(found.flatten())
    }

    fn save_robots(&self, origin: &Origin, robots: &CachedRobots) -> Result<(), StoreError> {
        self.ready()?.write(|conn, _| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO robots (origin, status, body, fetched_at, checksum) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut insert| {
                let (status, body) = (robots.status, &robots.body[..]);
                insert.execute((origin.as_str(), status, body, robots.fetched_at_ms, checksum(body)))
            })
            .map_err(sql)?;
            Ok(())
        })
    }
}

impl SqliteStore {
    /// Result of the last visit to a URL in any round; `None` for an unknown URL.
    ///
    /// # Errors
    /// When storage fails.
    pub fn history(&self, url: UrlKey) -> Result<Option<PageHistory>, StoreError> {
        let inner = self.ready()?;
        let Some(id) = id_of(&inner.conn, &url).map_err(sql)? else { return Ok(None) };
        let mut select = inner
            .conn
            .prepare_cached(&format!("SELECT {HISTORY} FROM visited WHERE id = ?1"))
            .map_err(sql)?;
        let found = select.query_row([id], |row| read_history(row, 0)).optional().map_err(sql)?;
        found.map(history).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_is_committed_with_the_next_settled_page() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        let of_others = || SqliteStore::open_read_only(dir.path()).unwrap().get("a").unwrap();
        store.note("a", "1").unwrap();
        // a late commit by time would hide the difference
        store.inner.lock().unwrap().open_since =
            std::time::Instant::now().checked_add(Duration::from_secs(60));
        assert_eq!((store.get("a").unwrap().as_deref(), of_others()), (Some("1"), None));
        let mark = crawl_model::OutputMark { name: "out".into(), offset: 1 };
        crawl_model::Frontier::settle(&store, &[], &[mark]).unwrap();
        assert_eq!(of_others().as_deref(), Some("1"));
    }
}
