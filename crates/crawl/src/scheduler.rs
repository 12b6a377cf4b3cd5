//! The scheduler: leases URLs of hosts whose time has come and hands them to the fetch stage. It alone decides when a
//! run has ended.

use crate::{
    bounds::Bound,
    config::Limit,
    context::{Context, Ending, StageError, now_ms},
    extract_stage::{ShardMessage, shard_of},
    fetch_stage::Job,
    soft404,
};
use crawl_fetch::{HostSlot, NotYet};
use crawl_model::{CrawlRequest, HostKey, HostLoad, Lane};
use rustc_hash::FxHashSet;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc::Sender},
    time::Instant,
};

/// Hosts looked at in one pass.
const HOSTS_A_PASS: usize = 4_096;
/// The longest pause between two looks at the frontier; events end it early.
const IDLE: Duration = Duration::from_millis(250);
/// How long a host has to be idle before politeness forgets it, and how often that is looked at.
const FORGET_HOSTS: Duration = Duration::from_secs(600);
/// How long a lease lasts beyond the time that a request may take: for extraction, cleaning and writing.
const LEASE_MARGIN: Duration = Duration::from_secs(600);

/// See the module.
pub struct Scheduler {
    context: Arc<Context>,
    /// By lane.
    jobs: [Sender<Job>; 2],
    shards: Vec<Sender<ShardMessage>>,
    /// By lane.
    places: [Arc<Semaphore>; 2],
    /// The lane whose hosts are looked at first: they take turns, since both need the turns of a host.
    leads: Lane,
    /// Hosts that gave pages and whose fingerprint may still have to settle.
    active: FxHashSet<HostKey>,
    /// Where the next pass over the hosts of a lane begins, so that all get their turn.
    next_host: [usize; 2],
    /// How long a lease lasts, by lane.
    lease_ms: [i64; 2],
    hosts_forgotten: Instant,
    looked_for_drained: Instant,
}

/// What one pass came to.
struct Pass {
    leased: usize,
    /// When a host's time comes that was not ready, if that is known.
    next: Option<Instant>,
    /// Hosts with something pending.
    pending: Vec<HostKey>,
}

impl Scheduler {
    /// A scheduler that gives out at most `fetch.concurrency` places for requests and `chrome.tabs` for a browser at a time;
    /// `jobs` are the two lanes in that order.
    #[must_use]
    pub fn new(context: Arc<Context>, jobs: [Sender<Job>; 2], shards: Vec<Sender<ShardMessage>>) -> Self {
        let (fetch, chrome) = (&context.config.fetch, &context.config.chrome);
        let rendered = chrome.navigate + chrome.settle + chrome.consent + chrome.scroll;
        let lease = |work: Duration| i64::try_from((work + LEASE_MARGIN).as_millis()).unwrap_or(i64::MAX);
        Self {
            jobs,
            shards,
            places: [fetch.concurrency, chrome.tabs].map(|places| Arc::new(Semaphore::new(places))),
            leads: Lane::Plain,
            active: FxHashSet::default(),
            next_host: [0; 2],
            hosts_forgotten: Instant::now(),
            looked_for_drained: Instant::now(),
            lease_ms: [lease(fetch.total_timeout), lease(fetch.total_timeout + rendered)],
            context,
        }
    }

    /// Runs until the frontier is drained, a limit is reached or the run is cancelled; says which in the context before
    /// it drops its senders.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn run(mut self) -> Result<(), StageError> {
        let outcome = self.schedule().await;
        // after an error the rest must drain as after an interruption: held pages stay held
        let ending = outcome.as_ref().copied().unwrap_or(Ending::Interrupted);
        let _ = self.context.ending.set(ending);
        outcome.map(drop)
    }

    async fn schedule(&mut self) -> Result<Ending, StageError> {
        for load in self.context.store.hosts_with_held()? {
            self.active.insert(load.host);
        }
        loop {
            if self.context.cancel.is_cancelled() {
                return Ok(Ending::Interrupted);
            }
            if self.hosts_forgotten.elapsed() > FORGET_HOSTS {
                self.context.gate.evict_idle(FORGET_HOSTS);
                self.context.save_told()?;
                self.hosts_forgotten = Instant::now();
            }
            let Some(places) = self.free_places().await else { continue };
            let stats = &self.context.stats;
            let bound = || Bound::reached(&self.context.config.crawl, stats);
            if bound().is_some() {
                drop(places);
                if stats.in_flight() == 0 {
                    // what was under way at the first look may have gone back to the frontier since
                    let Some(bound) = bound() else { continue };
                    return Ok(if soft404::drained(&self.context)? {
                        Ending::Drained
                    } else {
                        Ending::Limit(bound)
                    });
                }
                self.wait(None, &[]).await;
                continue;
            }
            let mut full: Vec<Lane> = Lane::ALL.to_vec();
            full.retain(|lane| places.iter().all(|(free, _)| free != lane));
            let pass = self.passes(places).await?;
            // a busy crawl has no idle pass, and its finished hosts are waiting all the same
            if pass.leased == 0 || self.looked_for_drained.elapsed() > IDLE {
                self.settle_drained(&pass.pending).await?;
            }
            if pass.leased > 0 {
                continue;
            }
            if pass.pending.is_empty() && self.context.store.drained()? {
                return Ok(Ending::Drained);
            }
            let next = [pass.next, self.next_retry()?].into_iter().flatten().min();
            self.wait(next, &full).await;
        }
    }

    /// A free place in each lane that has one, in the order in which the lanes are looked at; `None` when the run is
    /// cancelled before there is any.
    async fn free_places(&self) -> Option<Vec<(Lane, OwnedSemaphorePermit)>> {
        let places = |lane: Lane| Arc::clone(&self.places[lane as usize]);
        let mut free: Vec<_> = Lane::ALL
            .into_iter()
            .filter_map(|lane| Some((lane, places(lane).try_acquire_owned().ok()?)))
            .collect();
        if free.is_empty() {
            free.push(tokio::select! {
                biased;
                () = self.context.cancel.cancelled() => return None,
                place = places(Lane::Plain).acquire_owned() => (Lane::Plain, place.ok()?),
                place = places(Lane::Browser).acquire_owned() => (Lane::Browser, place.ok()?),
            });
        }
        free.sort_by_key(|(lane, _)| *lane != self.leads);
        Some(free)
    }

    /// A pass over the hosts of each lane that has a place.
    async fn passes(&mut self, places: Vec<(Lane, OwnedSemaphorePermit)>) -> Result<Pass, StageError> {
        let mut both = Pass { leased: 0, next: None, pending: Vec::new() };
        for (lane, place) in places {
            let pass = self.pass(lane, place).await?;
            if pass.leased > 0 {
                self.leads = if lane == Lane::Plain { Lane::Browser } else { Lane::Plain };
            }
            both.leased += pass.leased;
            both.next = earlier(both.next, pass.next);
            both.pending.extend(pass.pending);
        }
        Ok(both)
    }

    /// One pass over the hosts with pending URLs in a lane, as long as there are places.
    async fn pass(&mut self, lane: Lane, first: OwnedSemaphorePermit) -> Result<Pass, StageError> {
        let now = now_ms();
        let loads = self.context.store.hosts_with_pending(lane, now, HOSTS_A_PASS)?;
        let mut pass = Pass { leased: 0, next: None, pending: Vec::new() };
        let mut places = vec![first];
        let count = loads.len();
        for step in 0..count {
            let load: &HostLoad = &loads[(self.next_host[lane as usize] + step) % count];
            self.more_places(lane, &mut places, load.pending);
            if places.is_empty() {
                // the next pass begins with the hosts that this one did not reach
                self.next_host[lane as usize] = (self.next_host[lane as usize] + step) % count;
                return Ok(pass);
            }
            let mut slots: Vec<Option<HostSlot>> = Vec::new();
            while slots.len() < load.pending.min(places.len()) {
                match self.context.gate.try_acquire(&load.host) {
                    Ok(slot) => slots.push(Some(slot)),
                    // a host that has been given up needs no leave: its URLs are failed
                    Err(NotYet { dead: true, .. }) => slots.push(None),
                    Err(NotYet { at, .. }) => {
                        pass.next = earlier(pass.next, at);
                        break;
                    }
                }
            }
            pass.leased += self.lease((&load.host, lane), slots, &mut places, now).await?;
        }
        let next = &mut self.next_host[lane as usize];
        *next = if count == 0 { 0 } else { (*next + 1) % count };
        pass.pending = loads.into_iter().map(|load| load.host).collect();
        Ok(pass)
    }

    /// Takes places that are free right now, as many as the host and the limit have use for.
    fn more_places(&self, lane: Lane, places: &mut Vec<OwnedSemaphorePermit>, wanted: usize) {
        let claimed = self.context.stats.claimed();
        let left = self.context.config.crawl.limit.or_max().saturating_sub(claimed);
        let wanted = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
        places.truncate(wanted.max(1));
        if left == 0 {
            places.clear();
        }
        while places.len() < wanted {
            match Arc::clone(&self.places[lane as usize]).try_acquire_owned() {
                Ok(place) => places.push(place),
                Err(_) => break,
            }
        }
    }

    async fn lease(
        &mut self,
        (host, lane): (&HostKey, Lane),
        slots: Vec<Option<HostSlot>>,
        places: &mut Vec<OwnedSemaphorePermit>,
        now: i64,
    ) -> Result<usize, StageError> {
        if slots.is_empty() {
            return Ok(0);
        }
        let context = &self.context;
        let deadline = now.saturating_add(self.lease_ms[lane as usize]);
        // a limit on the depth needs every page at its least depth
        let (store, worker, max) = (&context.store, &context.worker, slots.len());
        let requests = match context.config.crawl.depth {
            Limit(None) => store.lease(host, lane, max, worker, now, deadline)?,
            Limit(Some(_)) => store.lease_by_level(host, lane, max, worker, now, deadline)?,
        };
        let leased = requests.len();
        context.stats.leased.add(leased as u64);
        if leased > 0 && !self.active.contains(host) {
            self.active.insert(host.clone());
        }
        let mut slots = slots.into_iter();
        for request in requests {
            let (Some(place), Some(slot)) = (places.pop(), slots.next()) else { break };
            let job = Job { request: unconditional(request), slot, place };
            self.jobs[lane as usize].send(job).await.map_err(|_| StageError::Downstream)?;
        }
        slots.flatten().for_each(HostSlot::give_back);
        Ok(leased)
    }

    /// Tells the shards of hosts that have nothing pending and nothing leased.
    async fn settle_drained(&mut self, pending: &[HostKey]) -> Result<(), StageError> {
        self.looked_for_drained = Instant::now();
        if !self.context.config.dedup.enabled || self.active.is_empty() {
            return Ok(());
        }
        let pending: FxHashSet<&HostKey> = pending.iter().collect();
        let quiet: Vec<HostKey> =
            self.active.iter().filter(|host| !pending.contains(host)).cloned().collect();
        for host in quiet {
            if self.context.store.host_drained(&host)? {
                self.active.remove(&host);
                let shard = &self.shards[shard_of(&host, self.shards.len())];
                shard.send(ShardMessage::Drained(host)).await.map_err(|_| StageError::Downstream)?;
            }
        }
        Ok(())
    }

    /// When the first URL that waits to be tried again is due.
    fn next_retry(&self) -> Result<Option<Instant>, StageError> {
        let due = self.context.store.next_due()?;
        let wait = |due: i64| Duration::from_millis(u64::try_from(due - now_ms()).unwrap_or(0));
        Ok(due.and_then(|due| Instant::now().checked_add(wait(due))))
    }

    /// Waits until something has changed, a host's time has come, a lane that was full has a place, or the pause is over.
    async fn wait(&self, next: Option<Instant>, full: &[Lane]) {
        let place = |lane| async move {
            if full.contains(&lane) {
                drop(self.places[lane as usize].acquire().await);
            } else {
                std::future::pending::<()>().await;
            }
        };
        let pause = next.map_or(IDLE, |at| at.saturating_duration_since(Instant::now()).min(IDLE));
        tokio::select! {
            // the same order each time, for a simulation that is repeated
            biased;
            () = self.context.cancel.cancelled() => {}
            () = self.context.stats.changed.notified() => {}
            () = self.context.gate.freed() => {}
            () = place(Lane::Plain) => {}
            () = place(Lane::Browser) => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What is not known to have been a page is fetched whole: it cannot be what it was.
fn unconditional(mut request: CrawlRequest) -> CrawlRequest {
    if request.before.is_none() {
        (request.etag, request.last_modified) = (None, None);
    }
    request
}
