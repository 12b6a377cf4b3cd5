//! State that all stages share.

use crate::{
    archive::Archive,
    async_store::AsyncStore,
    browser::Browser,
    config::{Config, StrategyChoice},
    cpu::CpuPool,
    ending::Ending,
    exit::Exit,
    extractors::Extractors,
    feed_quota::FeedQuota,
    judge::QualityJudge,
    lease_fence::LeaseFence,
    lessons::Lessons,
    links::LinkPolicy,
    network::Network,
    opt_outs::OptOutCache,
    platform::ChannelSizes,
    recrawl::Recrawl,
    robots_cache::RobotsCache,
    site_counts::SiteCounts,
    site_settings::SiteSettings,
    sitemap_quota::SitemapQuota,
    stats::Stats,
    stored_time,
    threads::Threading,
    traps::FullHosts,
};
use crawl_corpus::Sketcher;
use crawl_fetch::{Gate, Traps};
use crawl_model::{HostKey, Store, StoreError, now_ms};
use crawl_projects::ProjectWriter;
use rustc_hash::FxHashSet;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The parts of a run that more than one stage needs. Parts that change synchronize themselves.
pub struct Context {
    /// Settings.
    pub config: Config,
    /// Frontier, fingerprints, caches.
    pub store: Arc<dyn Store>,
    /// Requests and their pace.
    pub network: Network,
    /// Files of origins: robots.txt and opt-outs.
    pub origins: OriginFiles,
    /// Bounds of the frontier.
    pub admission: Admission,
    /// Ways to a page other than a plain request.
    pub strategies: StrategyParts,
    /// Policy for the next visits of known pages.
    pub recrawl: Recrawl,
    /// Threads.
    pub compute: Compute,
    /// Extraction and comparison of texts.
    pub reading: Reading,
    /// Places of records besides the output.
    pub records: RecordTargets,
    /// Counts.
    pub stats: Stats,
    /// Signals to and from the stages.
    pub control: Control,
}

/// Files that origins keep for crawlers, fetched once for each origin.
pub struct OriginFiles {
    /// robots.txt.
    pub robots: RobotsCache,
    /// Opt-outs from mining that origins have put into files.
    pub opt_outs: OptOutCache,
}

/// Bounds of the URLs that enter the frontier.
pub struct Admission {
    /// Policy of links: scope, filters, depth.
    pub links: LinkPolicy,
    /// Settings by site.
    pub sites: Arc<SiteSettings>,
    /// Traps: the credit of each URL pattern.
    pub traps: Arc<Traps>,
    /// Hosts that have reached their bound of pending URLs.
    pub full_hosts: FullHosts,
    /// Feeds that pages have named, host by host.
    pub feeds: FeedQuota,
    /// Sitemaps that robots.txt led to, host by host.
    pub sitemaps: SitemapQuota,
    /// Hosts outside of the scope for which the scope of other workers was read.
    pub scope_asked: Mutex<FxHashSet<HostKey>>,
    /// Random part of the probes' URLs, so that no cache has an answer to them.
    pub nonce: u64,
}

/// Ways to a page other than a plain request.
pub struct StrategyParts {
    /// Browser that renders pages.
    pub browser: Browser,
    /// Strategies learned by site.
    pub lessons: Lessons,
}

/// Threads of a run, and the channels between them.
pub struct Compute {
    /// Threads for work that uses a CPU.
    pub cpu: CpuPool,
    /// Threads or tasks of the stages that compute or call into the store.
    pub threading: Threading,
    /// Access of asynchronous tasks to the store.
    pub storage: Arc<AsyncStore>,
    /// Sizes of the channels between the stages.
    pub channels: ChannelSizes,
}

/// Extraction and comparison of texts.
pub struct Reading {
    /// Extractors by site.
    pub extractors: Extractors,
    /// Evidence of sites, for pages whose content the rules miss.
    pub sites: SiteCounts,
    /// Judges texts, with `quality.enabled`.
    pub quality: Option<QualityJudge>,
    /// Makes the sketches for the comparison of texts, if it is enabled.
    pub sketcher: Option<Sketcher>,
}

/// Places of records besides the output.
pub struct RecordTargets {
    /// The project of the run, if it names one.
    pub project: Option<ProjectWriter>,
    /// The archive of all exchanges with the network, if the run has one.
    pub archive: Option<Archive>,
    /// Fence that keeps an expired lease from writing a record twice.
    pub leases: LeaseFence,
}

/// Signals to and from the stages.
pub struct Control {
    /// Stops the run; only the scheduler and requests in flight watch it.
    pub cancel: CancellationToken,
    /// Cancelled with `cancel`, and when `crawl.max_time` is over: requests in flight are given back.
    pub requests: CancellationToken,
    /// Ends the wait for the browser: pages are taken as they were fetched.
    pub skip_render: CancellationToken,
    /// Reason why the scheduler stopped handing out work; set once, before its channel closes.
    pub ending: OnceLock<Ending>,
    /// End of the process: its exit code, set once for metrics.
    pub exit: OnceLock<Exit>,
    /// Names this process in leases.
    pub worker: String,
}

/// Name in the store of the `Retry-After` deadlines by host.
pub const RETRY_AFTER_KEY: &str = "retry_after";

/// Name in the store of the end of the last successful run, in milliseconds since the epoch.
const LAST_SUCCESS_KEY: &str = "last_success";

/// Name in the store of the list of sites that seeds redirected to, as earlier versions kept it.
const SCOPE_KEY: &str = "scope_extensions";
/// Beginning of the names in the store of the sites that seeds redirected to.
const SCOPE_ROW: &str = "scope:";
/// Value of a site that belongs to the scope.
const EXTENDS: &str = "1";

impl Context {
    /// Runs work that calls the store, away from the threads of asynchronous tasks. The work runs to its end, even if
    /// the caller is dropped.
    ///
    /// # Errors
    /// Those of `work`, and [`StoreError::Other`] when it panicked.
    pub async fn in_storage<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let context = Arc::clone(self);
        self.compute.storage.call(move |_| work(&context)).await
    }

    /// The strategy that the settings choose for a URL.
    #[must_use]
    pub fn strategy_of(&self, url: &Url) -> StrategyChoice {
        let own = HostKey::of(url).and_then(|host| self.admission.sites.strategy(&host));
        own.unwrap_or(self.config.fetch.strategy)
    }

    /// Adds the host of a URL that a seed redirected to to the scope, for this run and for later runs of the same
    /// round.
    ///
    /// # Errors
    /// When storage fails.
    pub fn extend_scope(&self, url: &Url) -> Result<(), StoreError> {
        self.admission.links.extend_scope(url);
        // one row a site: several processes may extend the scope at a time
        let row = format!("{SCOPE_ROW}{}", url.origin().ascii_serialization());
        if self.store.get(&row)?.as_deref() != Some(EXTENDS) {
            self.store.put(&row, EXTENDS)?;
        }
        Ok(())
    }

    /// Reads the scope extensions of other workers, once for each host outside the scope. A redirect target enters
    /// the frontier only after its host is in the stored scope.
    ///
    /// # Errors
    /// When storage fails.
    pub fn update_scope(&self, url: &Url) -> Result<(), StoreError> {
        if !self.config.state.is_shared() || self.admission.links.in_scope(url) {
            return Ok(());
        }
        let Some(host) = HostKey::of(url) else { return Ok(()) };
        let is_first = self.admission.scope_asked.lock().unwrap_or_else(PoisonError::into_inner).insert(host);
        if is_first { self.restore_scope(false) } else { Ok(()) }
    }

    /// Restores the scope of an unfinished round; a new round begins with its seeds only.
    ///
    /// # Errors
    /// When storage fails.
    pub fn restore_scope(&self, new_round: bool) -> Result<(), StoreError> {
        let rows = self.store.entries(SCOPE_ROW)?.into_iter().filter(|(_, value)| value == EXTENDS);
        if new_round {
            for (row, _) in rows {
                self.store.put(&row, "")?;
            }
            return self.store.put(SCOPE_KEY, "[]");
        }
        let rows = rows.map(|(row, _)| row.trim_start_matches(SCOPE_ROW).to_owned());
        let sites = self.earlier_scope()?.into_iter().chain(rows);
        for url in sites.filter_map(|site| Url::parse(&site).ok()) {
            self.admission.links.extend_scope(&url);
        }
        Ok(())
    }

    /// Saves each `Retry-After` on arrival, at most once a second, so that it survives kill -9.
    pub fn save_retry_after_on_change(&self) {
        // the gate may outlive the run, and must not keep its storage thread
        let (storage, kept) = (Arc::downgrade(&self.compute.storage), Arc::new(RetryAfterWrites::default()));
        self.network.gate.on_retry_after(move |gate| kept.keep(gate, &storage));
    }

    /// Stores the `Retry-After` deadlines of hosts.
    ///
    /// # Errors
    /// When storage fails.
    pub fn save_retry_after(&self) -> Result<(), StoreError> {
        save_retry_after(&self.network.gate, &*self.store)
    }

    /// Restores the `Retry-After` deadlines of earlier runs.
    ///
    /// # Errors
    /// When storage fails.
    pub fn restore_retry_after(&self) -> Result<(), StoreError> {
        let Some(text) = self.store.get(RETRY_AFTER_KEY)? else { return Ok(()) };
        let deadlines: BTreeMap<String, i64> = serde_json::from_str(&text)
            .map_err(|e| StoreError::Corrupt(format!("{RETRY_AFTER_KEY}: {e}")))?;
        for (host, until) in deadlines {
            if let Some(left) = stored_time::left(until, now_ms(), crawl_fetch::LONGEST_RETRY_AFTER) {
                self.network.gate.set_retry_after(&HostKey::from_stored(&host), left);
            }
        }
        Ok(())
    }

    /// Notes the exit code of the process. A run that ended as planned is the last successful one.
    ///
    /// # Errors
    /// When storage fails.
    pub fn note_exit(&self, exit: Exit) -> Result<(), StoreError> {
        let _ = self.control.exit.set(exit);
        if exit.is_success() { self.store.put(LAST_SUCCESS_KEY, &now_ms().to_string()) } else { Ok(()) }
    }

    /// End of the last successful run with this state, in milliseconds since the epoch.
    ///
    /// # Errors
    /// When storage fails.
    pub fn last_success_ms(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.store.get(LAST_SUCCESS_KEY)?.and_then(|text| text.parse().ok()))
    }

    /// Scope extensions of a round that an earlier version began.
    fn earlier_scope(&self) -> Result<Vec<String>, StoreError> {
        let text = self.store.get(SCOPE_KEY)?;
        text.map_or(Ok(Vec::new()), |t| {
            serde_json::from_str(&t).map_err(|e| StoreError::Corrupt(format!("{SCOPE_KEY}: {e}")))
        })
    }
}

fn save_retry_after(gate: &Gate, store: &dyn Store) -> Result<(), StoreError> {
    let now = now_ms();
    let until = |deadline: Instant| {
        let wait = deadline.saturating_duration_since(Instant::now());
        now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
    };
    let deadlines = gate.retry_after_deadlines();
    let wait = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
    let pauses: Vec<(HostKey, Duration)> =
        deadlines.iter().map(|(host, deadline)| (host.clone(), wait(*deadline))).collect();
    let deadlines: BTreeMap<String, i64> =
        deadlines.into_iter().map(|(host, deadline)| (host.to_string(), until(deadline))).collect();
    let text = serde_json::to_string(&deadlines).map_err(|e| StoreError::Other(e.to_string()))?;
    store.put(RETRY_AFTER_KEY, &text)?;
    store.pause_hosts(&pauses)
}

/// Minimum time between two writes of the deadlines, since each writes all of them.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// Throttle for the writes of `Retry-After` deadlines.
#[derive(Default)]
struct RetryAfterWrites(Mutex<Written>);

#[derive(Default)]
struct Written {
    at: Option<Instant>,
    /// True if a write is scheduled.
    waits: bool,
}

impl RetryAfterWrites {
    /// Writes at once, or one second after the last write.
    fn keep(self: &Arc<Self>, gate: &Gate, storage: &Weak<AsyncStore>) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = written.at.and_then(|at| SAVE_INTERVAL.checked_sub(at.elapsed()));
        let (Some(pause), Ok(runtime)) = (pause, Handle::try_current()) else {
            written.at = Some(Instant::now());
            drop(written);
            return write(gate, storage);
        };
        if std::mem::replace(&mut written.waits, true) {
            return;
        }
        drop(written);
        let (kept, gate, storage) = (Arc::clone(self), gate.clone(), Weak::clone(storage));
        runtime.spawn(async move {
            sleep(pause).await;
            *kept.0.lock().unwrap_or_else(PoisonError::into_inner) =
                Written { at: Some(Instant::now()), waits: false };
            write(&gate, &storage);
        });
    }
}

/// Posts the write before any later call of a task, so the lease of the same request ends after it. If the store
/// fails, that later call ends the run.
fn write(gate: &Gate, storage: &Weak<AsyncStore>) {
    let (Some(storage), gate) = (storage.upgrade(), gate.clone()) else { return };
    storage.post(move |store| {
        if let Err(error) = save_retry_after(&gate, store) {
            tracing::debug!(%error, "the Retry-After times of hosts cannot be saved");
        }
    });
}
