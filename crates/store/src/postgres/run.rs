//! [`RunStore`] on PostgreSQL.

use super::{
    Commit, Inner, PgStore,
    db::{Db, get, text, uint},
    own,
};
use crawl_model::{CachedRobots, Origin, RunStore, StoreError};

impl RunStore for PgStore {
    fn set_project(&self, project: &str, source_group: Option<&str>) -> Result<(), StoreError> {
        let mut inner = self.ready()?;
        let group = source_group.map(text);
        inner.write(Commit::Now, &[], |db, memory, _| {
            db.execute("UPDATE crawls SET project = $1, source_group = $2", &[&text(project), &group])?;
            memory.forget_ahead();
            memory.project = project.into();
            memory.source_group = source_group.map(Into::into);
            Ok(())
        })
    }

    fn get(&self, name: &str) -> Result<Option<String>, StoreError> {
        let mut inner = self.ready()?;
        let stored = own::note(inner.memory.worker, name);
        let row = inner.db.row("SELECT value FROM settings WHERE name = $1", &[&&*stored])?;
        row.map(|row| string(name, get(&row, 0)?)).transpose()
    }

    fn put(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.ready()?.put(name, value)
    }

    fn note(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.ready()?.write(Commit::Later, &[], |db, memory, _| put_note(db, memory.worker, name, value))
    }

    /// The lock of the crawl's row waits for commands that put URLs back, and later ones wait for it.
    fn put_at_end(&self, name: &str, value: &str) -> Result<bool, StoreError> {
        self.ready()?.write(Commit::Now, &[], |db, memory, _| {
            let round = uint(get(&db.one("SELECT round FROM crawls FOR UPDATE", &[])?, 0)?);
            let open = "SELECT EXISTS (SELECT 1 FROM inbox) OR EXISTS (SELECT 1 FROM queue) OR EXISTS (SELECT 1 FROM held)";
            let is_at_end = round == memory.round && !get::<bool>(&db.one(open, &[])?, 0)?;
            if is_at_end {
                put_note(db, memory.worker, name, value)?;
            }
            Ok(is_at_end)
        })
    }

    fn entries(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let select =
            "SELECT name, value FROM settings WHERE starts_with(name, $1) ORDER BY name COLLATE \"C\"";
        let mut inner = self.ready()?;
        let worker = inner.memory.worker;
        let rows = inner.db.rows(select, &[&&*own::note(worker, prefix)])?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let stored: &str = get(row, 0)?;
            let name = own::plain(worker, stored).unwrap_or(stored);
            entries.push((name.to_owned(), string(name, get(row, 1)?)?));
        }
        Ok(entries)
    }

    /// Makes earlier changes durable: the log of the server is written in order.
    fn sync(&self) -> Result<(), StoreError> {
        self.ready()?.write(Commit::Now, &[], |db, memory, _| {
            // a transaction without a change is not written to the log
            db.execute("UPDATE workers SET name = name WHERE id = $1", &[&memory.worker]).map(|_| ())
        })
    }

    fn load_robots(&self, origin: &Origin) -> Result<Option<CachedRobots>, StoreError> {
        let select = "SELECT status, body, fetched_at FROM robots WHERE origin = $1";
        let Some(row) = self.ready()?.db.row(select, &[&origin.as_str()])? else { return Ok(None) };
        Ok(Some(CachedRobots {
            status: u16::try_from(uint(get(&row, 0)?)).unwrap_or(0),
            body: get::<&[u8]>(&row, 1)?.into(),
            fetched_at_ms: get(&row, 2)?,
        }))
    }

    fn save_robots(&self, origin: &Origin, robots: &CachedRobots) -> Result<(), StoreError> {
        self.ready()?.write(Commit::Later, &[], |db, _, _| {
            db.execute(
                "INSERT INTO robots (origin, status, body, fetched_at) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body, \
                 fetched_at = excluded.fetched_at",
                &[&origin.as_str(), &i32::from(robots.status), &&robots.body[..], &robots.fetched_at_ms],
            )
            .map(|_| ())
        })
    }
}

impl Inner {
    pub(super) fn put(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        self.write(Commit::Now, &[], |db, memory, _| put_note(db, memory.worker, name, value))
    }
}

/// Stores a note.
pub(super) fn put_note(db: &mut Db, worker: i32, name: &str, value: &str) -> Result<(), StoreError> {
    let name = own::note(worker, name);
    db.execute(
        "INSERT INTO settings (name, value) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        &[&&*name, &value.as_bytes()],
    )
    .map(|_| ())
}

fn string(name: &str, value: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(value).map_err(|e| StoreError::Corrupt(format!("the value of {name}: {e}")))
}
