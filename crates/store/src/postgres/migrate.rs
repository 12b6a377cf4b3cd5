//! Versions of a schema: the table `schema_version` counts the applied migrations.

use super::{
    affinity,
    connect::Target,
    db::{Db, get},
    rights,
};
use crawl_model::StoreError;

/// A part of a migration.
enum Step {
    Sql(&'static str),
    Rows(fn(&mut Db) -> Result<(), StoreError>),
}
use Step::{Rows, Sql};

/// Migrations, one per version. Entries are never edited, only added.
const MIGRATIONS: &[&[Step]] = &[
    &[Sql(include_str!("migrations/0001_frontier.sql"))],
    &[Sql(include_str!("migrations/0002_parts.sql"))],
    &[Sql(include_str!("migrations/0003_shares.sql"))],
    &[Sql(include_str!("migrations/0004_quotas.sql"))],
    &[Sql(include_str!("migrations/0005_found_on.sql"))],
    &[Sql(include_str!("migrations/0006_addresses.sql"))],
    &[Sql(include_str!("migrations/0007_hashes.sql"))],
    &[
        Sql(include_str!("migrations/0008_domains.sql")),
        Rows(affinity::fill),
        Sql(include_str!("migrations/0008_domain_indexes.sql")),
    ],
    &[Sql(include_str!("migrations/0009_resting.sql"))],
];

/// Takes all hosts from their owners, whose leases have ended. The hosts stay paused for their pause after these
/// leases, or for an hour if the pause is written in an unusual way.
const VOID_LEASES: &str = r#"UPDATE hosts SET owner = NULL, epoch = hosts.epoch + 1,
    not_before = greatest(hosts.not_before, w.lease_until + greatest(make_interval(secs => hosts.pause), usual.pause))
    FROM workers w, (SELECT CASE WHEN settings->>'politeness.delay' ~ '^"[0-9]+(\.[0-9]+)?(ms|s|m|h)"$'
    THEN trim('"' FROM settings->>'politeness.delay')::interval
    WHEN settings IS NOT NULL THEN interval '1 h' END AS pause FROM crawls) AS usual
    WHERE w.id = hosts.owner"#;

/// The newest version that this program knows.
pub(super) fn newest() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Creates the schema if it is missing. Call it in a transaction; other workers wait. A schema of an older version needs
/// [`upgrade`], since workers of an older program may use it.
pub(super) fn migrate(db: &mut Db, target: &Target) -> Result<(), StoreError> {
    if exists(db, target.schema())? && has_migrations(db)? {
        return verify(db, target);
    }
    apply(db, target)
}

/// Creates the schema if it is missing, and applies the missing migrations in one transaction. `check` runs in that
/// transaction, after the lock of a crawl that exists: no worker can begin from there on. A worker that was stopped loses its
/// hosts in it too.
pub(super) fn upgrade(
    db: &mut Db,
    target: &Target,
    check: impl FnOnce(&mut Db) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    db.transaction(|db| {
        let mut is_older = false;
        if exists(db, target.schema())? && has_migrations(db)? {
            // workers that begin wait here, those of earlier programs at the second lock
            db.one("SELECT name FROM crawls FOR UPDATE", &[])?;
            db.batch("LOCK TABLE workers IN SHARE ROW EXCLUSIVE MODE")?;
            check(db)?;
            is_older = applied(db)? < newest();
        }
        apply(db, target)?;
        if is_older {
            db.batch(VOID_LEASES)?;
        }
        Ok(())
    })
}

fn apply(db: &mut Db, target: &Target) -> Result<(), StoreError> {
    // serialises the first workers of a crawl; ends with the transaction
    db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[&target.schema()])?;
    let schema = quoted(target.schema());
    if !exists(db, target.schema())? {
        rights::check_create(db, target)?;
        db.batch(&format!("CREATE SCHEMA {schema}"))?;
    }
    db.batch("CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL)")?;
    let done = applied(db)?;
    for (n, migration) in (1_u32..).zip(MIGRATIONS).skip(done as usize) {
        for step in *migration {
            match step {
                Sql(statements) => db.batch(statements)?,
                Rows(fill) => fill(db)?,
            }
        }
        db.batch(&format!("DELETE FROM schema_version; INSERT INTO schema_version VALUES ({n})"))?;
    }
    db.execute("INSERT INTO crawls (name) VALUES ($1) ON CONFLICT DO NOTHING", &[&target.crawl()]).map(|_| ())
}

/// Checks the version of a schema that is only read.
pub(super) fn verify(db: &mut Db, target: &Target) -> Result<(), StoreError> {
    let found = version(db, target)?;
    if found < newest() {
        return Err(StoreError::Other(format!(
            "the crawl \"{}\" in {} has version {found} of the schema, and this program needs {}: end its workers and \
             run crawl state upgrade",
            target.crawl(),
            target.place(),
            newest()
        )));
    }
    Ok(())
}

/// The version of the schema of a crawl.
pub(super) fn version(db: &mut Db, target: &Target) -> Result<u32, StoreError> {
    if exists(db, target.schema())? && has_migrations(db)? {
        return applied(db);
    }
    Err(StoreError::Other(format!("{} holds no crawl named \"{}\"", target.place(), target.crawl())))
}

/// Refuses a schema that an upgrade has changed since this worker began.
pub(super) fn expect(version: i32) -> Result<(), StoreError> {
    match u32::try_from(version) {
        Ok(found) if found > newest() => Err(StoreError::Version { found, known: newest() }),
        _ => Ok(()),
    }
}

/// Returns true if the schema has had a migration: it may be an empty one that an operator made.
fn has_migrations(db: &mut Db) -> Result<bool, StoreError> {
    get(&db.one("SELECT to_regclass('crawls') IS NOT NULL", &[])?, 0)
}

fn exists(db: &mut Db, schema: &str) -> Result<bool, StoreError> {
    let row = db.one("SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", &[&schema])?;
    get(&row, 0)
}

fn applied(db: &mut Db) -> Result<u32, StoreError> {
    let row = db.one("SELECT coalesce(max(version), 0) FROM schema_version", &[])?;
    let found = u32::try_from(get::<i32>(&row, 0)?).unwrap_or(0);
    if found > newest() {
        return Err(StoreError::Version { found, known: newest() });
    }
    Ok(found)
}

/// A name as a quoted identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
