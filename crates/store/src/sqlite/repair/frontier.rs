//! Frontier, hosts and counters of a repaired state, derived from the rows that were kept.

use crate::sqlite::{
    check::PLACES,
    codes::{self, OUTCOMES},
    error::sql,
};
use crate::upkeep::RepairReport;
use crawl_model::{HostKey, Lane, StoreError, Strategy};
use rusqlite::{Connection, OptionalExtension};
use url::Url;

/// Lease tokens that are skipped, since the record of the last ones may be lost.
const TOKEN_GAP: i64 = 1 << 21;

/// Restores lost counters. Later migrations add those of newer versions.
pub(super) fn numbers(new: &Connection, version: u32) -> rusqlite::Result<()> {
    let mut names = vec!["round", "token", "records", "failed", "skipped", "redirected"];
    if version >= 5 {
        names.extend(["recrawl", "unchanged", "gone"]);
    }
    if version >= 6 {
        names.push("banded");
    }
    for name in names {
        new.execute("INSERT OR IGNORE INTO numbers (name, value) VALUES (?1, 0)", [name])?;
    }
    let greatest: i64 = new.query_row("SELECT coalesce(max(round), 0) FROM urls", [], |row| row.get(0))?;
    new.execute("UPDATE numbers SET value = max(value, ?1) WHERE name = 'round'", [greatest])?;
    Ok(())
}

/// Rebuilds hosts, frontier and counts from the kept rows.
pub(super) fn make_consistent(new: &Connection, report: &mut RepairReport) -> Result<(), StoreError> {
    hosts(new)?;
    let browser = codes::strategy(Strategy::Chrome);
    let (plain_lane, browser_lane) = (codes::lane(Lane::Plain), codes::lane(Lane::Browser));
    let round = "(SELECT value FROM numbers WHERE name = 'round')";
    let pending = |new: &Connection| {
        new.query_row("SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM waiting)", [], |row| {
            row.get(0)
        })
    };
    let before: u64 = pending(new).map_err(sql)?;
    let this_round = format!("SELECT id FROM urls WHERE round = {round} AND outcome IS NULL");
    let mut statements = vec!["DELETE FROM leases".to_owned(), "DELETE FROM queue".to_owned()];
    for table in ["held", "waiting", "so_far"] {
        statements.push(format!("DELETE FROM {table} WHERE id NOT IN ({this_round})"));
    }
    statements.push("DELETE FROM waiting WHERE id IN (SELECT id FROM held)".into());
    statements.push(
        "DELETE FROM waiting WHERE (due, id) NOT IN (SELECT max(due), id FROM waiting GROUP BY id)".into(),
    );
    statements.push(format!(
        "INSERT INTO queue (host, lane, depth, id) SELECT host, iif(strategy IS {browser}, {browser_lane}, {plain_lane}), \
         depth, id FROM urls WHERE round = {round} AND outcome IS NULL AND id NOT IN {PLACES}"
    ));
    for table in ["held", "waiting"] {
        statements.push(format!(
            "UPDATE {table} SET host = (SELECT host FROM urls WHERE urls.id = {table}.id) \
             WHERE host NOT IN (SELECT id FROM hosts)"
        ));
    }
    for table in ["host_states", "unsettled", "lessons"] {
        statements.push(format!("DELETE FROM {table} WHERE host NOT IN (SELECT id FROM hosts)"));
    }
    for table in ["history", "revisits"] {
        statements.push(format!("DELETE FROM {table} WHERE id NOT IN (SELECT id FROM urls)"));
    }
    // their counted pages may have changed
    statements.push("DELETE FROM unsettled".into());
    statements.push(format!(
        "UPDATE numbers SET value = {TOKEN_GAP} + max(value, (SELECT coalesce(max(token), 0) FROM held)) \
         WHERE name = 'token'"
    ));
    for (outcome, name) in OUTCOMES {
        let code = codes::outcome(outcome);
        statements.push(format!(
            "UPDATE numbers SET value = (SELECT count(*) FROM urls WHERE round = {round} AND outcome = {code}) \
             WHERE name = '{name}'"
        ));
    }
    for statement in statements {
        new.execute(&statement, []).map_err(sql)?;
    }
    let after: u64 = pending(new).map_err(sql)?;
    report.fetched_again = after.saturating_sub(before);
    report.lost_urls = report.tables.iter().find(|t| t.name == "urls").and_then(|t| t.lost).unwrap_or(0);
    Ok(())
}

/// Gives each URL the row of its host, which is created if it was lost.
fn hosts(new: &Connection) -> Result<(), StoreError> {
    let mut select = new
        .prepare("SELECT id, host, round, url FROM urls WHERE host NOT IN (SELECT id FROM hosts)")
        .map_err(sql)?;
    let lost: Vec<(i64, i64, i64, String)> = select
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .and_then(Iterator::collect)
        .map_err(sql)?;
    for (id, host, round, url) in lost {
        let name = Url::parse(&url).ok().as_ref().and_then(HostKey::of);
        let name = name.map_or_else(String::new, |name| name.to_string());
        let known: Option<i64> = new
            .query_row("SELECT id FROM hosts WHERE name = ?1", [&name], |row| row.get(0))
            .optional()
            .map_err(sql)?;
        match known {
            Some(known) => new.execute("UPDATE urls SET host = ?2 WHERE id = ?1", (id, known)),
            None => {
                new.execute("INSERT INTO hosts (id, name, round) VALUES (?1, ?2, ?3)", (host, &name, round))
            }
        }
        .map_err(sql)?;
    }
    Ok(())
}
