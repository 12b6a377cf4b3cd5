//! [`DomainStore`] on PostgreSQL.

use super::{
    Commit, Inner, PgStore, acquire,
    db::{Db, Values, get, int, small, uint},
    memory::Memory,
    page_fences::PageFence,
};
use crate::codes;
use crawl_model::{ContentHash, DomainStore, HostKey, LeaseRef, Outcome, StoreError, UrlKey};
use uuid::Uuid;

/// Claims a content; returns its first claimant. A claim is none after its round, or once another worker has the host of the page.
/// The visit that replaces it may find another content. The lock is that of the fence, so a rival takes the host before the claim
/// or after it. A content that is claimed already needs no lock.
const CLAIM: &str = "WITH mine AS (SELECT FROM hosts WHERE id = $4 AND owner = $5 AND epoch = $6 \
                     AND NOT EXISTS (SELECT 1 FROM contents WHERE hash = $1) FOR SHARE OF hosts), \
                     new AS (INSERT INTO contents (hash, claimant) SELECT $1, $2 FROM mine, crawls WHERE round = $3 \
                     ON CONFLICT DO NOTHING RETURNING claimant) \
                     SELECT claimant FROM new UNION ALL SELECT claimant FROM contents WHERE hash = $1";

/// Withdraws a claim, behind the same fence.
const RELEASE: &str = "WITH mine AS (SELECT FROM hosts WHERE id = $4 AND owner = $5 AND epoch = $6 FOR SHARE) \
                       DELETE FROM contents USING mine, crawls WHERE hash = $1 AND claimant = $2 AND round = $3";

const CLAIMANT: &str = "SELECT claimant FROM contents WHERE hash = $1";

impl DomainStore for PgStore {
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let now = inner.memory.round;
        Ok(inner.state_of(host)?.filter(|(round, _)| *round == now).map(|(_, state)| state))
    }

    fn load_earlier_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut inner = self.ready()?;
        let now = inner.memory.round;
        Ok(inner.state_of(host)?.filter(|(round, _)| *round != now).map(|(_, state)| state))
    }

    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError> {
        self.ready()?.about(host, |db, memory, host| {
            db.execute(
                "WITH forgotten AS (DELETE FROM unsettled WHERE host = $1) \
                 INSERT INTO host_states (host, state, round) VALUES ($1, $2, $3) \
                 ON CONFLICT (host) DO UPDATE SET state = excluded.state, round = excluded.round",
                &[&host, &state, &int(memory.round)],
            )
        })
    }

    fn load_unsettled(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let select = "SELECT state FROM unsettled JOIN hosts ON hosts.id = unsettled.host WHERE name = $1";
        let row = self.ready()?.db.row(select, &[&host.as_str()])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn save_unsettled(&self, host: &HostKey, state: Option<&[u8]>) -> Result<(), StoreError> {
        self.ready()?.about(host, |db, _, host| match state {
            Some(state) => db.execute(
                "INSERT INTO unsettled (host, state) VALUES ($1, $2) \
                 ON CONFLICT (host) DO UPDATE SET state = excluded.state",
                &[&host, &state],
            ),
            None => db.execute("DELETE FROM unsettled WHERE host = $1", &[&host]),
        })
    }

    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError> {
        let select = "SELECT lessons FROM lessons JOIN hosts ON hosts.id = lessons.host WHERE name = $1";
        let row = self.ready()?.db.row(select, &[&host.as_str()])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError> {
        self.ready()?.about(host, |db, _, host| {
            db.execute(
                "INSERT INTO lessons (host, lessons) VALUES ($1, $2) \
                 ON CONFLICT (host) DO UPDATE SET lessons = excluded.lessons",
                &[&host, &lessons],
            )
        })
    }

    fn claim_content(
        &self,
        hash: &ContentHash,
        claimant: UrlKey,
        page: LeaseRef,
    ) -> Result<UrlKey, StoreError> {
        let (hash, claimant) = (&hash.0[..], Uuid::from_bytes(claimant.0));
        let first = self.on_second_connection(|db| {
            if let Some(PageFence { host, epoch, .. }) = self.side.fences.of(page) {
                let (round, worker) = (int(self.side.round().0), self.side.worker);
                let values: Values<'_> = &[&hash, &claimant, &round, &host, &worker, &epoch];
                if let Some(row) = db.row(CLAIM, values)? {
                    return get(&row, 0);
                }
            }
            // another worker claimed it at the same moment, or has the host of the page
            let row = db.row(CLAIMANT, &[&hash])?;
            // a claim that was released in between is as good as one's own
            row.map_or(Ok(claimant), |row| get(&row, 0))
        })?;
        Ok(UrlKey(first.into_bytes()))
    }

    fn release_content(
        &self,
        hash: &ContentHash,
        claimant: UrlKey,
        page: LeaseRef,
    ) -> Result<(), StoreError> {
        let Some(PageFence { host, epoch, .. }) = self.side.fences.of(page) else { return Ok(()) };
        let (hash, claimant) = (&hash.0[..], Uuid::from_bytes(claimant.0));
        let (round, worker) = (int(self.side.round().0), self.side.worker);
        self.on_second_connection(|db| {
            db.execute(RELEASE, &[&hash, &claimant, &round, &host, &worker, &epoch])
        })
        .map(|_| ())
    }

    /// A URL that this round enqueued has no earlier outcome; one with an earlier outcome rests.
    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError> {
        let mut inner = self.ready()?;
        let (round, recrawl) = (int(inner.memory.round), inner.memory.recrawl);
        let pages = [Outcome::Record, Outcome::Unchanged].map(|outcome| small(codes::outcome(outcome)));
        let row = inner.db.one(
            "SELECT EXISTS (SELECT 1 FROM urls u WHERE key = $1 AND (round = $2 OR $3) \
             AND (outcome = ANY($4) OR EXISTS (SELECT 1 FROM held WHERE held.id = u.id)))",
            &[&Uuid::from_bytes(url.0), &round, &recrawl, &pages.as_slice()],
        )?;
        get(&row, 0)
    }
}

impl Inner {
    /// Round and state of a host's fingerprint.
    fn state_of(&mut self, host: &HostKey) -> Result<Option<(u32, Vec<u8>)>, StoreError> {
        let select =
            "SELECT h.round, state FROM host_states h JOIN hosts ON hosts.id = h.host WHERE name = $1";
        let Some(row) = self.db.row(select, &[&host.as_str()])? else { return Ok(None) };
        Ok(Some((uint(get(&row, 0)?), get(&row, 1)?)))
    }

    /// Changes the state of a host of this worker. The state of a host of another worker stays as its owner
    /// saved it.
    fn about(
        &mut self,
        host: &HostKey,
        work: impl FnOnce(&mut Db, &Memory, i32) -> Result<u64, StoreError>,
    ) -> Result<(), StoreError> {
        let alone = self.alone;
        let fenced: Vec<i64> = self.memory.hosts.get(host).map(|host| host.id).into_iter().collect();
        self.write(Commit::Later, &fenced, |db, memory, _| {
            if !memory.hosts.contains_key(host) {
                acquire::claim(db, memory, &[host.as_str()], alone)?;
            }
            let Some(known) = memory.hosts.get(host).filter(|known| known.epoch.is_some()) else {
                return Ok(());
            };
            work(db, memory, i32::try_from(known.id).unwrap_or(i32::MAX)).map(|_| ())
        })
    }
}
