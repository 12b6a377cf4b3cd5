//! The scheduler: leases URLs of hosts that are due and sends them to the fetch stage. Only the scheduler decides
//! when a run has ended.
//!
//! A host that the gate refuses is suspended in the store until its time comes. So waiting hosts do not hide
//! hosts that are ready, and a pass does not ask them again.

mod waiting;

use crate::{
    bounds::Bound,
    config::Limit,
    context::Context,
    ending::Ending,
    messages::{Job, ShardMessage, shard_of},
    network::Network,
    quota::Limits,
    slow_lane::{Demand, Full, SLOW_PAUSE, SlowPermit},
    soft404,
    stage_error::StageError,
};
use crawl_chrome::{CONSENT_TIME, SCROLL_TIME};
use crawl_fetch::{Answers, GateRefusal, HostSlot};
use crawl_model::{CrawlRequest, Discovery, HostKey, Lane, ReadyHost, now_ms};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, futures::Notified, mpsc::Sender},
    time::Instant,
};
use waiting::WaitingHosts;

/// Maximum number of hosts per query of the store.
const HOSTS_AT_A_TIME: usize = 64;
/// Maximum pause between two queries of the frontier; events end it early.
const IDLE_PAUSE: Duration = Duration::from_millis(250);
/// Maximum pause while all permits for requests are taken. Only cancellation and a free permit end it early.
const FULL_PAUSE: Duration = Duration::from_millis(20);
/// Idle time after which the politeness gate forgets a host, and the interval of that check.
const HOST_IDLE_TIME: Duration = Duration::from_secs(600);
/// Part of a lease's time after the request: for extraction, cleaning and writing.
const LEASE_MARGIN: Duration = Duration::from_secs(600);
/// Time after `crawl.max_time` until requests in flight are cancelled.
const GRACE_AFTER_LIMIT: Duration = Duration::from_secs(2);
/// Interval of the check for expired leases.
const EXPIRE_INTERVAL: Duration = Duration::from_secs(60);

/// Permission for one request to a host.
struct Turn {
    /// `None` for a host that has been given up.
    slot: Option<HostSlot>,
    slow: Option<SlowPermit>,
}

/// Reason why a host has no turn now.
enum Refusal {
    /// Its time has not come.
    Gate(GateRefusal),
    /// The host is slow, and the slow lane is full.
    SlowLane(Answers),
    /// The host is unproven, and the permits for such hosts are taken.
    Unproven(Answers),
}

/// Scheduler of a run.
pub struct Scheduler {
    context: Arc<Context>,
    /// Channels by lane.
    jobs: [Sender<Job>; 2],
    shards: Vec<Sender<ShardMessage>>,
    /// Permits by lane.
    permits: [Arc<Semaphore>; 2],
    /// The lane that is served first. The lanes alternate, since both use the slots of a host.
    first_lane: Lane,
    /// Hosts that are suspended in the store.
    waiting: WaitingHosts,
    /// Time of a lease, by lane.
    lease_ms: [i64; 2],
    hosts_forgotten: Instant,
    leases_expired: Instant,
    /// Start of the clock by which leases expire. It is monotonic, independent of the system clock.
    started: (i64, Instant),
    limits: Limits,
}

impl Scheduler {
    /// A scheduler with `fetch.concurrency` permits for requests and `chrome.tabs` for the browser. `jobs` are the
    /// two lanes in that order.
    #[must_use]
    pub fn new(context: Arc<Context>, jobs: [Sender<Job>; 2], shards: Vec<Sender<ShardMessage>>) -> Self {
        let (fetch, chrome) = (&context.config.fetch, &context.config.chrome);
        let rendered = chrome.navigate + chrome.settle + CONSENT_TIME + SCROLL_TIME;
        let lease = |work: Duration| i64::try_from((work + LEASE_MARGIN).as_millis()).unwrap_or(i64::MAX);
        Self {
            jobs,
            shards,
            permits: [fetch.concurrency, chrome.tabs].map(|permits| Arc::new(Semaphore::new(permits))),
            first_lane: Lane::Plain,
            waiting: WaitingHosts::default(),
            hosts_forgotten: Instant::now(),
            leases_expired: Instant::now(),
            started: (now_ms(), Instant::now()),
            limits: Limits::new(&context),
            lease_ms: [lease(fetch.total_timeout), lease(fetch.total_timeout + rendered)],
            context,
        }
    }

    /// Runs until the frontier is drained, a limit is reached or the run is cancelled. Stores the reason in
    /// [`Control::ending`](crate::context::Control::ending) before it drops its senders.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn run(mut self) -> Result<(), StageError> {
        let context = Arc::clone(&self.context);
        let outcome = tokio::select! {
            biased;
            outcome = self.schedule() => outcome,
            () = end_requests(&context) => Ok(Ending::Interrupted),
        };
        // after an error the other stages drain as after an interruption: held pages stay held
        let ending = outcome.as_ref().copied().unwrap_or(Ending::Interrupted);
        let _ = self.context.control.ending.set(ending);
        outcome.map(drop)
    }

    async fn schedule(&mut self) -> Result<Ending, StageError> {
        let context = Arc::clone(&self.context);
        // an earlier scheduler of this process may have left hosts suspended
        context.store.resume_all()?;
        let held = context.store.hosts_with_held()?;
        self.settle_drained(held.into_iter().map(|load| load.host)).await?;
        loop {
            if context.control.cancel.is_cancelled() {
                return Ok(Ending::Interrupted);
            }
            self.upkeep()?;
            let Some(permits) = self.free_permits().await else { continue };
            // created before the pass, so that a slot freed meanwhile ends the following wait
            let freed = context.network.gate.next_free_slot();
            let stats = &context.stats;
            self.limits.refresh(&context)?;
            let limits = &self.limits.settings;
            let bound = || Bound::reached(limits, stats);
            if bound().is_some() {
                drop(permits);
                // no host gets another turn
                context.network.slow.set_demand(Demand::default());
                if stats.in_flight() == 0 {
                    // a fetch that was in flight at the first check may have requeued its URL
                    let Some(bound) = bound() else { continue };
                    context.store.resume_all()?;
                    return Ok(if soft404::end_if_only_probes_left(&context)? {
                        Ending::Drained
                    } else {
                        Ending::Limit(bound)
                    });
                }
                self.wait(None, &[], freed).await;
                continue;
            }
            let mut full: Vec<Lane> = Lane::ALL.to_vec();
            full.retain(|lane| permits.iter().all(|(free, _)| free != lane));
            let leased = self.passes(permits).await?;
            self.forget_handed_over().await?;
            let drained = context.store.newly_drained()?;
            self.settle_drained(drained.into_iter()).await?;
            if leased > 0 {
                continue;
            }
            if context.store.drained()? {
                return Ok(Ending::Drained);
            }
            let next = [self.waiting.next(), self.next_retry()?].into_iter().flatten().min();
            self.wait(next, &full, freed).await;
        }
    }

    /// Evicts idle hosts and expires leases, each at its interval.
    fn upkeep(&mut self) -> Result<(), StageError> {
        if self.hosts_forgotten.elapsed() > HOST_IDLE_TIME {
            self.context.network.gate.evict_idle(HOST_IDLE_TIME);
            self.context.save_retry_after()?;
            self.hosts_forgotten = Instant::now();
        }
        if self.leases_expired.elapsed() > EXPIRE_INTERVAL {
            let (context, now) = (&self.context, self.lease_clock());
            // the sink is writing a batch: the next pass tries again
            let Some(expired) = context.records.leases.try_expire(|| context.store.expire_leases(now))?
            else {
                return Ok(());
            };
            if expired > 0 {
                context.stats.requeued.add(expired as u64);
                tracing::warn!(
                    expired,
                    "leases expired before their pages arrived; their URLs are fetched again"
                );
            }
            self.leases_expired = Instant::now();
        }
        Ok(())
    }

    fn lease_clock(&self) -> i64 {
        let (started_ms, started) = self.started;
        started_ms.saturating_add(i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// A free permit of each lane that has one, in the order in which the lanes are served. Waits for the first;
    /// returns `None` if the run is cancelled before that.
    async fn free_permits(&self) -> Option<Vec<(Lane, OwnedSemaphorePermit)>> {
        let permits = |lane: Lane| Arc::clone(&self.permits[lane as usize]);
        let mut free: Vec<_> = Lane::ALL
            .into_iter()
            .filter_map(|lane| Some((lane, permits(lane).try_acquire_owned().ok()?)))
            .collect();
        if free.is_empty() {
            free.push(tokio::select! {
                biased;
                () = self.context.control.cancel.cancelled() => return None,
                permit = permits(Lane::Plain).acquire_owned() => (Lane::Plain, permit.ok()?),
                permit = permits(Lane::Browser).acquire_owned() => (Lane::Browser, permit.ok()?),
            });
        }
        free.sort_by_key(|(lane, _)| *lane != self.first_lane);
        Some(free)
    }

    /// Makes a pass over the hosts of each lane that has a permit. Returns the number of leases.
    async fn passes(&mut self, permits: Vec<(Lane, OwnedSemaphorePermit)>) -> Result<usize, StageError> {
        self.resume_hosts()?;
        let mut both = 0;
        for (lane, permit) in permits {
            let leased = self.pass(lane, permit).await?;
            if leased > 0 {
                self.first_lane = if lane == Lane::Plain { Lane::Browser } else { Lane::Plain };
            }
            both += leased;
        }
        Ok(both)
    }

    /// Returns hosts that are due to the store's order.
    fn resume_hosts(&mut self) -> Result<(), StageError> {
        let gate = &self.context.network.gate;
        let mut hosts = self.waiting.released(gate.take_released());
        hosts.extend(self.waiting.due(Instant::now(), gate.address_pause()));
        if self.waiting.has_permit_waiters() {
            let slow = &self.context.network.slow;
            let unproven = [Answers::Files, Answers::None].map(|answers| slow.free_for(answers));
            hosts.extend(self.waiting.take_for_permits([slow.free(), slow.free_for_unproven()], unproven));
        }
        if !hosts.is_empty() {
            self.context.store.resume(&hosts)?;
        }
        Ok(())
    }

    /// Makes one pass over the hosts with pending URLs in a lane, as long as there are permits. Each host gives a
    /// lease or is suspended, so the next query returns other hosts.
    async fn pass(&mut self, lane: Lane, first: OwnedSemaphorePermit) -> Result<usize, StageError> {
        let now = now_ms();
        let (mut leased, mut permits) = (0, vec![first]);
        loop {
            let hosts = self.context.store.hosts_with_pending(lane, now, HOSTS_AT_A_TIME)?;
            let mut moved = false;
            for host in &hosts {
                self.take_free_permits(lane, &mut permits, host.pending);
                if permits.is_empty() {
                    self.set_demand(lane, self.permits[lane as usize].available_permits() == 0);
                    return Ok(leased);
                }
                let (turns, suspended) = self.turns(host, lane, permits.len())?;
                // a host whose URLs are all behind its level leaves the query's result, although nothing is leased
                // from it
                moved |= suspended || !turns.is_empty();
                leased += self.lease((&host.host, lane), turns, &mut permits, now).await?;
            }
            if !moved || hosts.len() < HOSTS_AT_A_TIME {
                self.set_demand(lane, false);
                return Ok(leased);
            }
        }
    }

    /// Tells the slow lane which hosts wait for a permit after a pass.
    fn set_demand(&self, lane: Lane, others_wait: bool) {
        if lane == Lane::Plain {
            self.context.network.slow.set_demand(self.waiting.demand(others_wait));
        }
    }

    /// Takes a turn for each pending URL of a host, `most` at most. The flag is true if the host refused further
    /// turns; it is suspended then.
    fn turns(&mut self, host: &ReadyHost, lane: Lane, most: usize) -> Result<(Vec<Turn>, bool), StageError> {
        let mut turns: Vec<Turn> = Vec::new();
        while turns.len() < host.pending.min(most) {
            let refused = match self.turn(&host.host, lane) {
                Ok(turn) => {
                    if lane == Lane::Plain {
                        self.waiting.admitted(&host.host);
                    }
                    turns.push(turn);
                    continue;
                }
                Err(refused) => refused,
            };
            self.context.store.suspend(&host.host)?;
            match refused {
                Refusal::Gate(not_yet) => self.waiting.defer(host, not_yet),
                Refusal::SlowLane(answers) => self.waiting.defer_slow(&host.host, answers),
                Refusal::Unproven(answers) => {
                    let Network { gate, slow, .. } = &self.context.network;
                    let rank = slow.rank(&host.host, gate.answered(&host.host));
                    self.waiting.defer_unproven(&host.host, answers, rank);
                }
            }
            return Ok((turns, true));
        }
        Ok((turns, false))
    }

    fn turn(&self, host: &HostKey, lane: Lane) -> Result<Turn, Refusal> {
        let slow = match lane {
            Lane::Plain => self.slow_permit(host)?,
            Lane::Browser => None,
        };
        match self.context.network.gate.try_acquire_watched(host) {
            Ok(slot) => Ok(Turn { slot: Some(slot), slow }),
            // a given-up host needs no slot: its URLs fail without a request
            Err(GateRefusal { dead: true, .. }) => Ok(Turn { slot: None, slow: None }),
            Err(refused) => Err(Refusal::Gate(refused)),
        }
    }

    /// The permit that a slow or unproven host needs for a request.
    fn slow_permit(&self, host: &HostKey) -> Result<Option<SlowPermit>, Refusal> {
        let Network { gate, slow, .. } = &self.context.network;
        let (answers, in_flight) = gate.answers(host);
        match slow.admit(host, answers) {
            Ok(permit) => Ok(permit),
            Err(_) if gate.is_given_up(host) => Ok(None),
            Err(Full::Lane) => Err(Refusal::SlowLane(answers)),
            Err(Full::Unproven) if in_flight == 0 => Err(Refusal::Unproven(answers)),
            // an answer to the request in flight ends the wait
            Err(Full::Unproven | Full::Address) => {
                let at = Some(Instant::now() + SLOW_PAUSE);
                Err(Refusal::Gate(GateRefusal { at, dead: false, address: None, asked: true }))
            }
        }
    }

    /// Takes the permits that are free now, as many as the host and the page limit can use.
    fn take_free_permits(&self, lane: Lane, permits: &mut Vec<OwnedSemaphorePermit>, wanted: usize) {
        let claimed = self.context.stats.claimed();
        let left = self.limits.settings.limit.or_max().saturating_sub(claimed);
        let wanted = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
        permits.truncate(wanted.max(1));
        if left == 0 {
            permits.clear();
        }
        while permits.len() < wanted {
            match Arc::clone(&self.permits[lane as usize]).try_acquire_owned() {
                Ok(permit) => permits.push(permit),
                Err(_) => break,
            }
        }
    }

    async fn lease(
        &mut self,
        (host, lane): (&HostKey, Lane),
        turns: Vec<Turn>,
        permits: &mut Vec<OwnedSemaphorePermit>,
        now: i64,
    ) -> Result<usize, StageError> {
        if turns.is_empty() {
            return Ok(0);
        }
        let context = &self.context;
        let deadline = self.lease_clock().saturating_add(self.lease_ms[lane as usize]);
        // a limit on the depth needs every page at its least depth
        let (store, worker, max) = (&context.store, &context.control.worker, turns.len());
        let requests = match context.config.crawl.depth {
            Limit(None) => store.lease(host, lane, max, worker, now, deadline)?,
            Limit(Some(_)) => store.lease_by_level(host, lane, max, worker, now, deadline)?,
        };
        let pause = context.network.gate.requested_delay(host);
        if pause > context.config.politeness.delay {
            store.note_pause(host, pause)?;
        }
        let leased = requests.len();
        context.stats.leased.add(leased as u64);
        let pages = requests.iter().filter(|request| request.discovery != Discovery::SitemapFile).count();
        context.stats.page_leases.add(pages as u64);
        let mut turns = turns.into_iter();
        for request in requests {
            let (Some(permit), Some(Turn { slot, slow })) = (permits.pop(), turns.next()) else { break };
            context.update_scope(&request.url)?;
            let job = Job { request: unconditional(request), slot, permit, slow };
            self.jobs[lane as usize].send(job).await.map_err(|_| StageError::Downstream)?;
        }
        turns.filter_map(|turn| turn.slot).for_each(HostSlot::give_back);
        Ok(leased)
    }

    /// Drops the state of hosts that another process has taken over. Their held pages are pending there.
    async fn forget_handed_over(&mut self) -> Result<(), StageError> {
        for load in self.context.store.handed_over()? {
            self.waiting.admitted(&load.host);
            let (stats, pages) = (&self.context.stats, load.pending as u64);
            stats.released.add(pages);
            stats.requeued.add(pages);
            let shard = &self.shards[shard_of(&load.host, self.shards.len())];
            let message = ShardMessage::HandedOver(load.host);
            shard.send(message).await.map_err(|_| StageError::Downstream)?;
        }
        Ok(())
    }

    /// Tells the shards which of these hosts have nothing pending and nothing leased.
    async fn settle_drained(&self, hosts: impl Iterator<Item = HostKey>) -> Result<(), StageError> {
        if !self.context.config.dedup.enabled {
            return Ok(());
        }
        for host in hosts {
            if self.context.store.host_drained(&host)? {
                let shard = &self.shards[shard_of(&host, self.shards.len())];
                shard.send(ShardMessage::Drained(host)).await.map_err(|_| StageError::Downstream)?;
            }
        }
        Ok(())
    }

    /// Returns the time of the next retry.
    fn next_retry(&self) -> Result<Option<Instant>, StageError> {
        let due = self.context.store.next_due()?;
        let wait = |due: i64| Duration::from_millis(u64::try_from(due - now_ms()).unwrap_or(0));
        Ok(due.and_then(|due| Instant::now().checked_add(wait(due))))
    }

    /// Waits until something has changed, a host is due, a full lane has a permit, or the pause is over. While the
    /// lane of requests is full, only a permit ends the wait before [`FULL_PAUSE`].
    async fn wait(&self, next: Option<Instant>, full: &[Lane], freed: Notified<'_>) {
        let permit = |lane| async move {
            if full.contains(&lane) {
                drop(self.permits[lane as usize].acquire().await);
            } else {
                std::future::pending::<()>().await;
            }
        };
        let is_full = full.contains(&Lane::Plain);
        let until_next = |at: Instant| at.saturating_duration_since(Instant::now()).min(IDLE_PAUSE);
        let pause = if is_full { FULL_PAUSE } else { next.map_or(IDLE_PAUSE, until_next) };
        tokio::select! {
            // a fixed order makes simulations repeatable
            biased;
            () = self.context.control.cancel.cancelled() => {}
            // each page causes several such events
            () = self.context.stats.changed.notified(), if !is_full => {}
            () = freed, if !is_full => {}
            () = permit(Lane::Plain) => {
                // a page fetched sooner would only wait for a CPU thread
                if self.context.compute.cpu.is_busy() {
                    self.context.compute.threading.gather();
                }
            }
            () = permit(Lane::Browser) => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Cancels requests in flight two seconds after `crawl.max_time`. Never returns.
async fn end_requests(context: &Context) {
    let left = context.config.crawl.max_time.map(|time| time.saturating_sub(context.stats.run_age));
    if let Some(end) = left.and_then(|left| context.stats.session_started.checked_add(left)) {
        tokio::time::sleep_until(end + GRACE_AFTER_LIMIT).await;
        context.control.requests.cancel();
    }
    std::future::pending::<()>().await;
}

/// Removes the conditions of a request for a URL that is not known to be a page: it is fetched whole.
fn unconditional(mut request: CrawlRequest) -> CrawlRequest {
    if request.before.is_none() {
        (request.etag, request.last_modified) = (None, None);
    }
    request
}

#[cfg(test)]
mod tests;
