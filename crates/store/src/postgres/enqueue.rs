//! Adding URLs: a page has hundreds of links, so all of a call go into a few statements.

use super::{
    Commit, Inner,
    acquire::claim,
    db::{Db, Question, get, int, small, uint, unsigned},
    hosts::ints,
    inbox,
    memory::Memory,
    url_rows::{Link, Rows, redirects},
};
use crate::{
    codes,
    known::Revisit,
    ledger::{HostId, ROW_BYTES, Room, UrlState, bytes_of, is_bounded, refuse, row_bytes},
};
use crawl_model::{
    Discovery, Enqueued, HostBound, HostBounds, HostKey, NewUrl, Outcome, RequestId, StoreError, UrlKey,
};
use rustc_hash::FxHashMap;
use tokio_postgres::Row;
use uuid::Uuid;

impl Inner {
    /// Adds URLs that `page` names, if there is one.
    pub(super) fn enqueue(
        &mut self,
        urls: &[NewUrl],
        page: Option<RequestId>,
        revisit: Revisit,
    ) -> Result<Enqueued, StoreError> {
        let candidates = self.memory.known.not_covered(urls, revisit);
        if candidates.is_empty() {
            return Ok(Enqueued { known: urls.len(), ..Enqueued::default() });
        }
        if candidates.iter().any(|url| !self.memory.hosts.contains_key(&url.host)) {
            // workers that begin together share the first hosts
            self.rebalance_on_change()?;
        }
        let candidates = self.named_by(candidates, page)?;
        let (alone, memory) = (self.alone, &self.memory);
        let hosts: Vec<HostId> = candidates
            .iter()
            .filter_map(|link| memory.hosts.get(&link.url.host))
            .map(|host| host.id)
            .collect();
        // before the fence, which shows that this worker had the hosts at that time too
        let found = if hosts.len() == candidates.len() {
            Some(ask(&mut self.db, &own(memory, &candidates))?)
        } else {
            None
        };
        let done = self.write(Commit::Later, &hosts, |db, memory, _| {
            enqueue(db, memory, &candidates, found, revisit, alone)
        })?;
        let left: usize = done.refused.iter().map(|refused| refused.keys.len()).sum();
        Ok(Enqueued { known: urls.len() - done.new - left, ..done })
    }

    /// URLs with the row of the page that names them. A redirect target has that of its source.
    fn named_by<'u>(
        &mut self,
        urls: Vec<&'u NewUrl>,
        page: Option<RequestId>,
    ) -> Result<Vec<Link<'u>>, StoreError> {
        let is_redirect = |url: &NewUrl| url.discovery == Discovery::Redirect;
        let of_source = match page {
            Some(page) if urls.iter().any(|url| is_redirect(url)) => {
                let row = self.db.row("SELECT found_on FROM urls WHERE id = $1", &[&page.0])?;
                row.map_or(Ok(None), |row| get(&row, 0))?
            }
            _ => None,
        };
        let named = |url: &'u NewUrl| {
            let found_on = if is_redirect(url) { of_source } else { page.map(|page| page.0) };
            Link { url, found_on }
        };
        Ok(urls.into_iter().map(named).collect())
    }

    /// The URL of the page that names a URL.
    pub(super) fn found_on(&mut self, url: UrlKey) -> Result<Option<String>, StoreError> {
        let select = "SELECT page.url FROM urls u JOIN urls page ON page.id = u.found_on WHERE u.key = $1";
        let row = self.db.row(select, &[&Uuid::from_bytes(url.0)])?;
        row.map(|row| get(&row, 0)).transpose()
    }
}

/// Adds URLs to hosts of this worker, and leaves the others to their owners, who count them. The caller has set
/// the fence of known hosts.
pub(super) fn enqueue(
    db: &mut Db,
    memory: &mut Memory,
    links: &[Link<'_>],
    found: Option<Question>,
    revisit: Revisit,
    alone: bool,
) -> Result<Enqueued, StoreError> {
    let mut strangers: Vec<&str> = links
        .iter()
        .map(|link| &link.url.host)
        .filter(|host| !memory.hosts.contains_key(*host))
        .map(HostKey::as_str)
        .collect();
    strangers.sort_unstable();
    strangers.dedup();
    if !strangers.is_empty() {
        claim(db, memory, &strangers, alone)?;
    }
    let (mut mine, mut others) = (Vec::with_capacity(links.len()), Vec::new());
    for &link in links {
        match memory.hosts.get(&link.url.host) {
            Some(host) if host.epoch.is_some() => mine.push((host.id, link)),
            Some(host) => others.push((host.id, link)),
            None => {
                let host = &link.url.host;
                return Err(StoreError::Corrupt(format!("{host} is missing in the table of hosts")));
            }
        }
    }
    inbox::send(db, memory, &others, revisit)?;
    others.iter().for_each(|(_, link)| memory.known.note(&link.url.key, link.url.depth));
    let found = match found {
        Some(question) => question,
        None => ask(db, &mine)?,
    };
    let found = read_found(&db.answer(found)?)?;
    let mut adding = Adding { found, rows: Rows::default(), refused: Vec::new() };
    count_bytes(db, memory, &mine)?;
    let mut new = 0;
    for (host, link) in mine {
        new += usize::from(adding.add(db, memory, (host, link), revisit)?);
    }
    adding.rows.write(db, memory)?;
    Ok(Enqueued { new, known: 0, refused: adding.refused })
}

/// A URL that was there already.
struct Found {
    id: i64,
    round: u32,
    depth: u32,
    discovery: Discovery,
    outcome: Option<i16>,
}

impl Found {
    /// Returns true if an earlier round settled it, so that this one need not visit it.
    fn is_settled_earlier(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome != small(codes::outcome(Outcome::Gone)))
    }
}

/// URLs of hosts of this worker.
fn own<'u>(memory: &Memory, links: &[Link<'u>]) -> Vec<(HostId, Link<'u>)> {
    let host = |link: &Link<'u>| memory.hosts.get(&link.url.host).filter(|host| host.epoch.is_some());
    links.iter().filter_map(|link| Some((host(link)?.id, *link))).collect()
}

/// Asks which of these URLs are there already.
fn ask(db: &mut Db, urls: &[(HostId, Link<'_>)]) -> Result<Question, StoreError> {
    let hosts: Vec<HostId> = urls.iter().map(|(host, _)| *host).collect();
    let keys: Vec<Uuid> = urls.iter().map(|(_, link)| Uuid::from_bytes(link.url.key.0)).collect();
    db.ask(
        "SELECT u.key, id, round, depth, discovery, outcome FROM unnest($1::int[], $2::uuid[]) AS new (host, key) \
         JOIN urls u ON u.key = new.key AND u.host = new.host",
        vec![Box::new(ints(&hosts)), Box::new(keys)],
    )
}

fn read_found(rows: &[Row]) -> Result<FxHashMap<UrlKey, Found>, StoreError> {
    let mut found = FxHashMap::default();
    for row in rows {
        let url = Found {
            id: get(row, 1)?,
            round: uint(get(row, 2)?),
            depth: uint(get(row, 3)?),
            discovery: codes::read_discovery(i64::from(get::<i16>(row, 4)?))?,
            outcome: get(row, 5)?,
        };
        found.insert(UrlKey(get::<Uuid>(row, 0)?.into_bytes()), url);
    }
    Ok(found)
}

/// Replaces assumed bytes by a count where they might refuse one of these URLs.
fn count_bytes(db: &mut Db, memory: &mut Memory, urls: &[(HostId, Link<'_>)]) -> Result<(), StoreError> {
    let bounds = memory.bounds;
    if bounds.bytes.is_none() {
        return Ok(());
    }
    let mut sums: FxHashMap<HostId, u64> = FxHashMap::default();
    urls.iter().for_each(|(host, link)| *sums.entry(*host).or_default() += bytes_of(link.url));
    for (host, bytes) in sums {
        room(db, memory, host, bounds, bytes)?;
    }
    Ok(())
}

/// Capacity of a host for `bytes`; counts its pending URLs if their bytes are assumed.
pub(super) fn room(
    db: &mut Db,
    memory: &mut Memory,
    host: HostId,
    bounds: HostBounds,
    bytes: u64,
) -> Result<Room, StoreError> {
    let room = memory.ledger.room(host, bounds, bytes);
    if room != Room::Uncounted {
        return Ok(room);
    }
    let leased: Vec<i64> = memory.out.iter().filter(|(_, out)| out.host == host).map(|(id, _)| *id).collect();
    let row = db.one(
        "SELECT coalesce(sum($2::bigint + octet_length(url) + coalesce(octet_length(redirects), 0)), 0)::int8 \
         FROM queue q JOIN urls u ON u.host = q.host AND u.id = q.id WHERE q.host = $1 AND q.id <> ALL($3)",
        &[&i32::try_from(host).unwrap_or(i32::MAX), &ROW_BYTES.cast_signed(), &leased],
    )?;
    memory.ledger.counted(host, unsigned(&row, 0)?);
    Ok(memory.ledger.room(host, bounds, bytes))
}

/// The changes of one call.
struct Adding {
    found: FxHashMap<UrlKey, Found>,
    rows: Rows,
    refused: Vec<crawl_model::Refused>,
}

impl Adding {
    /// Adds a URL; returns true if it is new in this round.
    fn add(
        &mut self,
        db: &mut Db,
        memory: &mut Memory,
        (host, link): (HostId, Link<'_>),
        revisit: Revisit,
    ) -> Result<bool, StoreError> {
        let url = link.url;
        if let Some(bound) = self.refusal(memory, host, url) {
            refuse(&mut self.refused, url, bound);
            return Ok(false);
        }
        let redirects = redirects(url)?;
        let Some(found) = self.found.get_mut(&url.key) else {
            let id = memory.next_id(db)?;
            let (depth, discovery, outcome) = (url.depth, url.discovery, None);
            self.found.insert(url.key, Found { id, round: memory.round, depth, discovery, outcome });
            queue(memory, url, host, redirects.as_deref());
            self.rows.insert.push(host, id, link, redirects);
            return Ok(true);
        };
        if found.round != memory.round {
            if memory.recrawl && revisit == Revisit::No && found.is_settled_earlier() {
                self.rows.set_lastmod(host, found.id, url);
                memory.known.note(&url.key, 0);
                return Ok(false);
            }
            (found.round, found.depth, found.discovery, found.outcome) =
                (memory.round, url.depth, url.discovery, None);
            queue(memory, url, host, redirects.as_deref());
            self.rows.revive.push(host, found.id, link, redirects);
            return Ok(true);
        }
        let is_pending = found.outcome.is_none()
            && !memory.out.contains_key(&found.id)
            && !memory.held.contains_key(&found.id);
        if is_pending && found.discovery.is_replaced_by(url.discovery) {
            found.discovery = url.discovery;
            self.rows.discoveries.push((host, found.id, small(codes::discovery(url.discovery))));
        }
        self.rows.set_lastmod(host, found.id, url);
        let mut least = found.depth;
        if url.depth < found.depth {
            least = 0;
            if is_pending && !memory.is_busy(host, found.id) {
                self.rows.depths.push((host, found.id, int(url.depth), int(found.depth)));
                (found.depth, least) = (url.depth, url.depth);
            }
        }
        memory.known.note(&url.key, least);
        Ok(false)
    }

    /// The bound that refuses a new URL.
    fn refusal(&self, memory: &Memory, host: HostId, url: &NewUrl) -> Option<HostBound> {
        if memory.bounds == HostBounds::default()
            || !is_bounded(url.discovery)
            || self.found.contains_key(&url.key)
        {
            return None;
        }
        match memory.ledger.room(host, memory.bounds, bytes_of(url)) {
            Room::Full(bound) => Some(bound),
            Room::Enough | Room::Uncounted => None,
        }
    }
}

/// Counts a URL that becomes pending.
fn queue(memory: &mut Memory, url: &NewUrl, host: HostId, redirects: Option<&str>) {
    memory.ledger.add(host, &url.host, UrlState::Ready, 1);
    memory.ledger.grow(host, row_bytes(url.url.len(), redirects.map_or(0, str::len)));
    memory.known.note(&url.key, url.depth);
    memory.tally.add(1, 0);
}
