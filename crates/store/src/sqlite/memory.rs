//! State of the database that is kept in memory.

use super::{bands::BandBuffer, error::sql, text_cache::TextCache};
use crate::{
    codes::OUTCOMES,
    known::KnownUrls,
    ledger::{HostId, Ledger, UrlState},
};
use crawl_model::{HostBounds, HostKey, LeaseToken, StoreError};
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use std::{collections::HashMap, time::Duration};

/// Maximum number of cached host numbers; at about 100 bytes per host 6 MiB.
const HOSTS: usize = 1 << 16;

/// Lease tokens reserved at a time, so that a lease need not write its token.
const TOKENS: i64 = 1 << 20;

/// Marker of a host that no round has enqueued yet.
const NO_ROUND: i64 = -1;

pub(super) struct Memory {
    pub(super) round: u32,
    /// True if URLs of earlier rounds rest in this one.
    pub(super) recrawl: bool,
    pub(super) ledger: Ledger,
    pub(super) bounds: HostBounds,
    pub(super) known: KnownUrls,
    pub(super) bands: BandBuffer,
    pub(super) texts: TextCache,
    /// Settled URLs of this round by outcome, in the order of [`OUTCOMES`].
    pub(super) settled: [u64; OUTCOMES.len()],
    /// Hosts with a URL in this round.
    pub(super) host_count: u64,
    /// Due time of the next waiting URL.
    pub(super) next_due: Option<i64>,
    /// Order of the next held page.
    pub(super) next_order: i64,
    /// Number of URLs with a stored result while another strategy is tried.
    pub(super) partial_results: u64,
    /// Stored pauses of hosts.
    pub(super) pauses: HashMap<HostKey, Duration>,
    hosts: FxHashMap<HostKey, Host>,
    token: i64,
    token_end: i64,
}

#[derive(Clone, Copy)]
struct Host {
    id: HostId,
    round: i64,
}

impl Memory {
    /// Reads the active URLs; settled ones are not read, so the time is proportional to the remaining work.
    pub(super) fn load(conn: &Connection) -> Result<Self, StoreError> {
        let round = number(conn, "round")?;
        let token = number(conn, "token")?;
        let mut settled = [0; OUTCOMES.len()];
        for (count, (_, name)) in settled.iter_mut().zip(OUTCOMES) {
            *count = u64::try_from(number(conn, name)?).map_err(|e| StoreError::Corrupt(e.to_string()))?;
        }
        let one = |text: &str| conn.query_row(text, [], |row| row.get::<_, Option<i64>>(0)).map_err(sql);
        let host_count = conn
            .query_row("SELECT count(*) FROM hosts WHERE round = ?1", [round], |row| row.get::<_, u64>(0))
            .map_err(sql)?;
        Ok(Self {
            round: u32::try_from(round).map_err(|e| StoreError::Corrupt(e.to_string()))?,
            recrawl: number(conn, "recrawl")? != 0,
            ledger: ledger(conn).map_err(sql)?,
            bounds: HostBounds::default(),
            known: KnownUrls::new(),
            bands: BandBuffer::load(conn)?,
            texts: TextCache::default(),
            settled,
            host_count,
            next_due: one("SELECT min(due) FROM waiting")?,
            next_order: one("SELECT max(ord) FROM held")?.unwrap_or(0) + 1,
            partial_results: one("SELECT count(*) FROM so_far")?
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(0),
            pauses: HashMap::new(),
            hosts: FxHashMap::default(),
            token,
            token_end: token,
        })
    }

    /// A token that no earlier lease had.
    pub(super) fn next_token(&mut self, conn: &Connection) -> rusqlite::Result<LeaseToken> {
        if self.token == self.token_end {
            self.token_end += TOKENS;
            set_number(conn, "token", self.token_end)?;
        }
        self.token += 1;
        Ok(LeaseToken(self.token))
    }

    /// The number of a known host.
    pub(super) fn find_host(&mut self, conn: &Connection, key: &HostKey) -> rusqlite::Result<Option<HostId>> {
        if let Some(host) = self.hosts.get(key) {
            return Ok(Some(host.id));
        }
        let mut select = conn.prepare_cached("SELECT id, round FROM hosts WHERE name = ?1")?;
        let found = select
            .query_row([key.as_str()], |row| Ok(Host { id: row.get(0)?, round: row.get(1)? }))
            .optional()?;
        Ok(found.map(|host| self.remember(key, host)))
    }

    /// The number of a host, which is added if unknown.
    pub(super) fn host(&mut self, conn: &Connection, key: &HostKey) -> rusqlite::Result<HostId> {
        if let Some(id) = self.find_host(conn, key)? {
            return Ok(id);
        }
        conn.prepare_cached("INSERT INTO hosts (name, round) VALUES (?1, ?2)")?
            .execute((key.as_str(), NO_ROUND))?;
        Ok(self.remember(key, Host { id: conn.last_insert_rowid(), round: NO_ROUND }))
    }

    /// The number of a host for which a URL is enqueued in this round.
    pub(super) fn host_in_round(&mut self, conn: &Connection, key: &HostKey) -> rusqlite::Result<HostId> {
        let round = i64::from(self.round);
        if let Some(host) = self.hosts.get(key).filter(|host| host.round == round) {
            return Ok(host.id);
        }
        let id = self.host(conn, key)?;
        let mut mark = conn.prepare_cached("UPDATE hosts SET round = ?2 WHERE id = ?1 AND round <> ?2")?;
        self.host_count += mark.execute((id, round))? as u64;
        Ok(self.remember(key, Host { id, round }))
    }

    /// Remembers a pause that is stored. A forgotten one is merely stored again.
    pub(super) fn note_pause(&mut self, host: &HostKey, pause: Duration) {
        if self.pauses.len() >= HOSTS {
            self.pauses.clear();
        }
        self.pauses.insert(host.clone(), pause);
    }

    fn remember(&mut self, key: &HostKey, host: Host) -> HostId {
        if self.hosts.len() >= HOSTS {
            self.hosts.clear();
        }
        self.hosts.insert(key.clone(), host);
        host.id
    }
}

/// Counts active URLs, with hosts in the order of their oldest pending URL.
fn ledger(conn: &Connection) -> rusqlite::Result<Ledger> {
    let mut ledger = Ledger::default();
    let tables = [
        ("queue WHERE lane = 0", UrlState::Ready),
        ("queue WHERE lane = 1", UrlState::ReadyForBrowser),
        ("waiting", UrlState::Waiting),
        ("leases", UrlState::Leased),
        ("held", UrlState::Held),
    ];
    for (rows, state) in tables {
        let mut select = conn.prepare(&format!(
            "SELECT hosts.id, hosts.name, found.n FROM \
             (SELECT host, count(*) AS n, min(id) AS oldest FROM {rows} GROUP BY host) AS found \
             JOIN hosts ON hosts.id = found.host ORDER BY found.oldest"
        ))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let key = HostKey::from_stored(row.get::<_, String>(1)?);
            let (host, n) = (row.get(0)?, row.get(2)?);
            ledger.add(host, &key, state, n);
            if !matches!(state, UrlState::Held | UrlState::Leased) {
                ledger.assume(host, n);
            }
        }
    }
    Ok(ledger)
}

pub(super) fn number(conn: &Connection, name: &str) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT value FROM numbers WHERE name = ?1")
        .and_then(|mut select| select.query_row([name], |row| row.get(0)))
        .map_err(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => {
                StoreError::Corrupt(format!("the number {name} is missing"))
            }
            error => sql(error),
        })
}

pub(super) fn set_number(conn: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE numbers SET value = ?2 WHERE name = ?1")?.execute((name, value)).map(|_| ())
}
