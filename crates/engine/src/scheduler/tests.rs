//! The scheduler under simulated time, with a store in memory and requests that only take their time.

use super::*;
use crate::slow_lane::{FIRST_TRIAL, SLOW_AFTER};
use crate::{config, session};
use crawl_fetch::SlotOutcome;
use crawl_model::{Discovery, NewUrl, Outcome, PageHistory, Settlement, UrlKey};
use crawl_store::{MemoryStore, SqliteStore};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{iter, net::IpAddr, sync::Mutex};
use tokio::{
    sync::mpsc::{self, Receiver},
    task::JoinHandle,
    time::{sleep, timeout},
};

const LATENCY: Duration = Duration::from_millis(200);
/// Time after which a request to a silent host fails.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A crawl whose fetch stage notes the hosts that it is given.
struct Crawl {
    context: Arc<Context>,
    /// Hosts in the order of their leases.
    leases: Arc<Mutex<Vec<String>>>,
    drained: Receiver<ShardMessage>,
    scheduler: JoinHandle<Result<(), StageError>>,
}

fn context(settings: &[(&'static str, i64)]) -> Arc<Context> {
    let always = [("fetch.concurrency", 64), ("politeness.jitter", 0)];
    let flags = always.iter().chain(settings).map(|&(key, value)| {
        let value = if key == "politeness.jitter" { 0.0.into() } else { value.into() };
        config::Override { flag: "test", key, value }
    });
    let config = config::load(None, iter::empty(), flags.collect()).unwrap();
    let store = MemoryStore::new();
    crawl_model::Frontier::begin_round(&store).unwrap();
    Arc::new(session::context(config, Arc::new(store)).unwrap())
}

/// Answers a request with a page.
async fn answer(context: Arc<Context>, job: Job) {
    sleep(LATENCY).await;
    let page = SlotOutcome { status: Some(200), ..SlotOutcome::default() };
    job.slot.unwrap().finish(page.of_url(&job.request.url));
    settle(&context, &job.request);
    drop(job.permit);
}

fn settle(context: &Context, request: &CrawlRequest) {
    let (outcome, history) = (Outcome::Skipped, PageHistory::default());
    let ended = Settlement { lease: request.into(), outcome, history };
    assert_eq!(context.store.settle(&[ended], &[]).unwrap(), 0);
    context.stats.ended.add(1);
    context.stats.changed.notify_one();
}

fn requeue(context: &Context, request: &CrawlRequest) {
    assert!(context.store.requeue(request.into(), now_ms(), 0, None).unwrap());
    context.stats.requeued.add(1);
    context.stats.changed.notify_one();
}

/// Answers a request for robots.txt, which uses up the slot.
async fn answer_robots(context: Arc<Context>, job: Job) {
    sleep(LATENCY).await;
    job.slot.unwrap().finish(SlotOutcome { status: Some(404), ..SlotOutcome::default() });
    requeue(&context, &job.request);
}

/// Does not answer, as the fetch stage treats it.
async fn stay_silent(context: Arc<Context>, mut job: Job) {
    let host = HostKey::of(&job.request.url).unwrap();
    sleep(FIRST_TRIAL).await;
    let gate = &context.network.gate;
    let (answers, answered) = (gate.answers(&host).0, gate.answered(&host));
    if job.slow.as_ref().is_some_and(|slow| !slow.is_of_lane())
        && context.network.slow.end_trial(&host, (answers, answered))
    {
        drop(job.slot);
        return requeue(&context, &job.request);
    }
    sleep(SLOW_AFTER - FIRST_TRIAL).await;
    if job.slow.as_ref().is_some_and(SlowPermit::is_of_lane) {
        context.network.slow.was_slow(&host);
    } else {
        let Ok(permit) = context.network.slow.admit_slow(&host, answers) else {
            drop(job.slot);
            return requeue(&context, &job.request);
        };
        job.slow = Some(permit);
    }
    sleep(READ_TIMEOUT - SLOW_AFTER).await;
    job.slot.unwrap().finish(SlotOutcome { unanswered: true, ..SlotOutcome::default() });
    settle(&context, &job.request);
}

impl Crawl {
    /// Requests of which the first `lost` end without an answer or a trace. Hosts named `silent…` never answer, and
    /// hosts named `stuck…` only for robots.txt. Hosts named `whole…` answer for three files before a page.
    fn start(context: Arc<Context>, lost: usize) -> Self {
        let (plain, mut jobs) = mpsc::channel::<Job>(64);
        let (browser, browser_jobs) = mpsc::channel(1);
        let (shard, drained) = mpsc::channel(10_000);
        let scheduler = Scheduler::new(Arc::clone(&context), [plain, browser], vec![shard]);
        let leases: Arc<Mutex<Vec<String>>> = Arc::default();
        let (asked, noted) = (Arc::clone(&context), Arc::clone(&leases));
        tokio::spawn(async move {
            let (_browser_jobs, mut lost) = (browser_jobs, lost);
            while let Some(job) = jobs.recv().await {
                let key = HostKey::of(&job.request.url).unwrap();
                let host = key.to_string();
                noted.lock().unwrap().push(host.clone());
                if lost > 0 {
                    lost -= 1;
                    continue;
                }
                let context = Arc::clone(&asked);
                let answered = asked.network.gate.answered(&key);
                if host.starts_with("stuck") && answered == 0 || host.starts_with("whole") && answered < 3 {
                    tokio::spawn(answer_robots(context, job));
                } else if host.starts_with("stuck") || host.starts_with("silent") {
                    tokio::spawn(stay_silent(context, job));
                } else {
                    tokio::spawn(answer(context, job));
                }
            }
        });
        Self { context, leases, drained, scheduler: tokio::spawn(scheduler.run()) }
    }

    async fn end(self) -> (Vec<String>, Vec<String>) {
        timeout(Duration::from_secs(86_400), self.scheduler).await.expect("the run ends").unwrap().unwrap();
        let Self { leases, mut drained, .. } = self;
        let mut hosts = Vec::new();
        while let Some(ShardMessage::Drained(host)) = drained.recv().await {
            hosts.push(host.to_string());
        }
        hosts.sort();
        (leases.lock().unwrap().clone(), hosts)
    }

    fn counts(&self) -> FxHashMap<String, usize> {
        let mut counts = FxHashMap::default();
        self.leases.lock().unwrap().iter().for_each(|host| *counts.entry(host.clone()).or_default() += 1);
        counts
    }
}

/// Puts pages of a host into the frontier, and its address into the address book.
fn plant(context: &Context, name: &str, address: [u8; 4], pages: u32) {
    let host = HostKey::from_stored(name);
    context.network.client.address_book().note(&host, IpAddr::from(address));
    let url = |n: u32| {
        let url = format!("http://{name}/{n}");
        NewUrl {
            key: UrlKey::of(&url),
            url,
            host: host.clone(),
            depth: n,
            discovery: Discovery::Link,
            redirects: Vec::new(),
            sitemap_lastmod: None,
        }
    };
    context.store.enqueue(&(0..pages).map(url).collect::<Vec<_>>()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn hosts_behind_many_blocked_ones_get_their_full_rate() {
    let context = context(&[]);
    for n in 0..5_200 {
        plant(&context, &format!("blocked{n}.test"), [192, 0, 2, 1], 1);
    }
    for n in 0..60 {
        plant(&context, &format!("free{n}.test"), [198, 51, 100, n], 100);
    }
    let crawl = Crawl::start(context, 0);
    sleep(Duration::from_secs(20)).await;
    let counts = crawl.counts();
    crawl.context.control.cancel.cancel();
    let free: Vec<usize> =
        (0..60).map(|n| counts.get(&format!("free{n}.test")).copied().unwrap_or_default()).collect();
    // a page takes the pause of a second and the latency
    assert!(free.iter().all(|pages| (15..=17).contains(pages)), "{free:?}");
    // and the address its share of a quarter of the pause
    let blocked = counts.len() - 60;
    assert!((75..=81).contains(&blocked), "{blocked} hosts of one address in 20 s");
    crawl.end().await;
}

#[tokio::test(start_paused = true)]
async fn started_hosts_precede_new_hosts() {
    let context = context(&[]);
    let name = |n: usize| format!("h{n}.test");
    for n in 0..2_000 {
        plant(
            &context,
            &name(n),
            [198, 51, u8::try_from(n / 250).unwrap(), u8::try_from(n % 250).unwrap()],
            3,
        );
    }
    let (leases, drained) = Crawl::start(context, 0).end().await;
    assert_eq!(leases.len(), 6_000);
    let third_page = leases.iter().rposition(|host| *host == name(0)).unwrap();
    let begun: FxHashSet<&String> = leases[..third_page].iter().collect();
    // by then 64 places have made 768 requests
    assert!(begun.len() < 1_000, "{} hosts began before the third page of the first", begun.len());
    let mut hosts: Vec<String> = (0..2_000).map(name).collect();
    hosts.sort();
    assert_eq!(drained, hosts, "each is drained once");
}

#[tokio::test(start_paused = true)]
async fn new_hosts_start_before_the_hundredth_page_of_old_ones() {
    let context = context(&[]);
    for n in 0..200 {
        plant(&context, &format!("old{n}.test"), [198, 51, 100, n], 100);
    }
    let crawl = Crawl::start(context, 0);
    sleep(Duration::from_secs(30)).await;
    for n in 0..200 {
        plant(&crawl.context, &format!("new{n}.test"), [203, 0, 113, n], 10);
    }
    let before = crawl.leases.lock().unwrap().len();
    crawl.context.stats.changed.notify_one();
    sleep(Duration::from_secs(15)).await;
    let leases = crawl.leases.lock().unwrap()[before..].to_vec();
    crawl.context.control.cancel.cancel();
    let new: FxHashSet<&String> = leases.iter().filter(|host| host.starts_with("new")).collect();
    assert_eq!(new.len(), 200, "all have begun");
    crawl.end().await;
}

#[tokio::test(start_paused = true)]
async fn lost_lease_expires_during_the_run() {
    for settings in [&[][..], &[("crawl.limit", 3)]] {
        let context = context(settings);
        plant(&context, "a.test", [198, 51, 100, 1], 5);
        let crawl = Crawl::start(Arc::clone(&context), 2);
        let (leases, drained) = crawl.end().await;
        assert_eq!((leases.len(), drained.len()), (7, 1), "two are leased again");
        assert_eq!(context.stats.in_flight(), 0);
        assert!(context.records.leases.has_expired() && context.store.drained().unwrap());
        assert_eq!(context.control.ending.get(), Some(&Ending::Drained));
    }
}

#[tokio::test(start_paused = true)]
async fn depth_limit_delays_no_host() {
    let context = context(&[("crawl.depth", 9)]);
    for n in 0..200 {
        plant(&context, &format!("h{n}.test"), [198, 51, 100, n], 4);
    }
    let (leases, drained) = Crawl::start(context, 0).end().await;
    assert_eq!((leases.len(), drained.len()), (800, 200));
}

#[tokio::test(start_paused = true)]
async fn slow_host_waits_for_a_permit_of_the_slow_lane() {
    let context = context(&[("fetch.concurrency", 4)]);
    plant(&context, "slow.test", [192, 0, 2, 1], 2);
    plant(&context, "quick.test", [192, 0, 2, 2], 5);
    let taken: Vec<_> = (0..3)
        .map(|n| {
            let host = HostKey::from_stored(format!("other{n}.test"));
            context.network.client.address_book().note(&host, IpAddr::from([192, 0, 2, 10 + n]));
            context.network.slow.admit_slow(&host, Answers::Pages).unwrap()
        })
        .collect();
    context.network.slow.was_slow(&HostKey::from_stored("slow.test"));
    let crawl = Crawl::start(context, 0);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(crawl.counts().get("quick.test"), Some(&5));
    assert_eq!(crawl.counts().get("slow.test"), None, "the lane is full");
    drop(taken);
    let (leases, _) = crawl.end().await;
    assert_eq!(leases.iter().filter(|host| *host == "slow.test").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn silent_hosts_do_not_stop_a_large_site() {
    for (kind, host_concurrency) in [("silent", 1), ("silent", 4), ("stuck", 1)] {
        let settings = [("fetch.concurrency", 16), ("politeness.host_concurrency", host_concurrency)];
        let context = context(&settings);
        plant(&context, "large.test", [198, 51, 100, 1], 1_000);
        for n in 0..250 {
            plant(&context, &format!("{kind}{n}.test"), [203, 0, 113, n], 3);
        }
        plant(&context, "last.test", [198, 51, 100, 2], 3);
        let crawl = Crawl::start(context, 0);
        sleep(Duration::from_secs(100)).await;
        let counts = crawl.counts();
        crawl.context.control.cancel.cancel();
        // a page takes the pause of a second and the latency: 83 at most
        let large = counts["large.test"];
        assert!(large >= 75, "{large} pages beside {kind} hosts, {host_concurrency} requests each");
        let asked = counts.len();
        assert!(
            asked >= 60,
            "{asked} hosts were asked beside {kind} hosts, {host_concurrency} requests each"
        );
        crawl.end().await;
    }
}

/// Leases of a healthy site beside 250 hosts of a kind, each with the time of its lease in seconds.
async fn leases_beside(kind: &str, is_first: bool, seconds: u64) -> Vec<f64> {
    let context = context(&[("fetch.concurrency", 16)]);
    let healthy = || plant(&context, "whole.test", [198, 51, 100, 1], 1_000);
    if is_first {
        healthy();
    }
    for n in 0..250 {
        plant(&context, &format!("{kind}{n}.test"), [203, 0, 113, n], 3);
    }
    if !is_first {
        healthy();
    }
    let (began, crawl) = (Instant::now(), Crawl::start(Arc::clone(&context), 0));
    let mut times = Vec::new();
    while began.elapsed() < Duration::from_secs(seconds) {
        sleep(Duration::from_millis(50)).await;
        let leases = crawl.counts().get("whole.test").copied().unwrap_or_default();
        times.resize(leases, began.elapsed().as_secs_f64());
    }
    context.control.cancel.cancel();
    crawl.end().await;
    times
}

/// The fourth request of a healthy site is its first one for a page.
#[tokio::test(start_paused = true)]
async fn healthy_site_starts_soon_beside_hosts_that_hang() {
    for (kind, is_first, most) in
        [("stuck", true, 8.0), ("stuck", false, 45.0), ("silent", true, 8.0), ("silent", false, 45.0)]
    {
        let times = leases_beside(kind, is_first, 100).await;
        let page = times.get(3).copied().unwrap_or(f64::INFINITY);
        assert!(page <= most, "first page beside {kind} hosts, {is_first}: {page} s, {times:?}");
        // a page takes the pause of a second and the latency
        for second in (page.ceil() as u32 + 2..90).step_by(10).map(f64::from) {
            let pages = times.iter().filter(|time| (second..second + 10.0).contains(*time)).count();
            assert!(pages >= 7, "{pages} pages after {second} s beside {kind} hosts");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stored_pause_leaves_out_the_throttling_of_a_host() {
    let flag = |key, value: &str| config::Override { flag: "test", key, value: value.into() };
    let flags = vec![flag("politeness.delay", "1s")];
    let config = config::load(None, iter::empty(), flags).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    crawl_model::Frontier::begin_round(&store).unwrap();
    let context = Arc::new(session::context(config, Arc::new(store)).unwrap());
    let (busy, slow) = (HostKey::from_stored("busy.test"), HostKey::from_stored("slow.test"));
    let throttled = SlotOutcome { status: Some(429), ..SlotOutcome::default() };
    for host in [&busy, &slow] {
        context.network.gate.try_acquire(host).ok().unwrap().finish(throttled);
    }
    context.network.gate.set_crawl_delay(&slow, Duration::from_millis(1_500));
    plant(&context, "busy.test", [192, 0, 2, 1], 3);
    plant(&context, "slow.test", [192, 0, 2, 2], 3);
    Crawl::start(Arc::clone(&context), 0).end().await;
    assert_eq!(context.store.resumed_pauses().unwrap(), [(slow, Duration::from_millis(1_500))]);
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_are_requeued_at_the_time_limit() {
    let flag = config::Override { flag: "test", key: "crawl.max_time", value: "10s".into() };
    let config = config::load(None, iter::empty(), vec![flag]).unwrap();
    let store = MemoryStore::new();
    crawl_model::Frontier::begin_round(&store).unwrap();
    let context = Arc::new(session::context(config, Arc::new(store)).unwrap());
    plant(&context, "endless.test", [192, 0, 2, 1], 1);
    let (plain, mut jobs) = mpsc::channel::<Job>(64);
    let (browser, _browser_jobs) = mpsc::channel(1);
    let (shard, _drained) = mpsc::channel(10);
    let scheduler = Scheduler::new(Arc::clone(&context), [plain, browser], vec![shard]);
    let asked = Arc::clone(&context);
    tokio::spawn(async move {
        while let Some(job) = jobs.recv().await {
            asked.control.requests.cancelled().await;
            assert!(asked.store.requeue((&job.request).into(), now_ms(), 0, None).unwrap());
            asked.stats.requeued.add(1);
            asked.stats.changed.notify_one();
        }
    });
    let began = Instant::now();
    timeout(Duration::from_secs(3_600), scheduler.run()).await.expect("the run ends").unwrap();
    let took = began.elapsed();
    assert!((10..15).contains(&took.as_secs()), "{took:?}");
    assert_eq!(context.control.ending.get(), Some(&Ending::Limit(Bound::Time)));
}

#[tokio::test(start_paused = true)]
async fn full_scheduler_wakes_early_only_for_a_free_permit() {
    let context = context(&[]);
    let (plain, _jobs) = mpsc::channel(1);
    let (browser, _browser_jobs) = mpsc::channel(1);
    let scheduler = Scheduler::new(Arc::clone(&context), [plain, browser], Vec::new());
    let taken = Arc::clone(&scheduler.permits[Lane::Plain as usize]).acquire_many_owned(64).await.unwrap();
    let began = Instant::now();
    context.stats.changed.notify_one();
    scheduler.wait(Some(began), &[Lane::Plain], context.network.gate.next_free_slot()).await;
    assert!((FULL_PAUSE..2 * FULL_PAUSE).contains(&began.elapsed()), "{:?}", began.elapsed());
    let began = Instant::now();
    // the event is not lost
    scheduler.wait(None, &[], context.network.gate.next_free_slot()).await;
    drop(taken);
    scheduler.wait(None, &[Lane::Plain], context.network.gate.next_free_slot()).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn permits_are_batched_while_every_thread_is_busy() {
    let context = context(&[]);
    let (plain, _jobs) = mpsc::channel(1);
    let (browser, _browser_jobs) = mpsc::channel(1);
    let scheduler = Scheduler::new(Arc::clone(&context), [plain, browser], Vec::new());
    let cpu = &context.compute.cpu;
    let (end, held) = std::sync::mpsc::sync_channel::<()>(0);
    let held = Arc::new(Mutex::new(held));
    let mut pages: Vec<_> = (0..cpu.threads())
        .map(|_| {
            Box::pin(cpu.run({
                let held = Arc::clone(&held);
                move || held.lock().unwrap().recv()
            }))
        })
        .collect();
    for page in &mut pages {
        assert!(futures::poll!(page).is_pending());
    }
    let began = std::time::Instant::now();
    scheduler.wait(None, &[Lane::Plain], context.network.gate.next_free_slot()).await;
    assert!(began.elapsed() >= Duration::from_millis(4), "a permit was free at once: {:?}", began.elapsed());
    drop(end);
    for page in pages {
        assert!(page.await.unwrap().is_err(), "no message came");
    }
}
