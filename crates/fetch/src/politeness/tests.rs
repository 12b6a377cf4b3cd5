mod addresses;
mod throttling;

use super::*;
use crate::error::{FetchError, Phase};
use tokio::time::advance;

fn key(host: &str) -> HostKey {
    HostKey::from_stored(host)
}

fn exact(delay_ms: u64) -> PolitenessSettings {
    PolitenessSettings {
        delay: Duration::from_millis(delay_ms),
        jitter: 0.0,
        ..PolitenessSettings::default()
    }
}

fn status(status: u16) -> SlotOutcome {
    SlotOutcome { status: Some(status), ..SlotOutcome::default() }
}

fn wait(gate: &Gate, host: &str) -> Duration {
    let at = gate.try_acquire(&key(host)).err().expect("it should have to wait").at.expect("a time");
    at - Instant::now()
}

#[tokio::test(start_paused = true)]
async fn delay_counts_from_the_end_of_the_request() {
    let gate = Gate::new(exact(1_000));
    let slot = gate.try_acquire(&key("a")).ok().unwrap();
    assert_eq!(
        gate.try_acquire(&key("a")).err(),
        Some(GateRefusal { at: None, dead: false, address: None, asked: false })
    );
    advance(Duration::from_secs(7)).await;
    slot.finish(status(200));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(1));
    assert!(gate.try_acquire(&key("b")).is_ok(), "another host does not wait");
    advance(Duration::from_millis(999)).await;
    assert_eq!(wait(&gate, "a"), Duration::from_millis(1));
    advance(Duration::from_millis(1)).await;
    assert!(gate.try_acquire(&key("a")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn gate_knows_the_answers_of_a_host() {
    let (gate, page) = (Gate::new(exact(0)), url::Url::parse("http://a/page").unwrap());
    let answers = || gate.answers(&key("a"));
    assert_eq!(answers(), (Answers::None, 0));
    let slot = gate.try_acquire(&key("a")).ok().unwrap();
    assert_eq!(answers(), (Answers::None, 1));
    slot.finish(SlotOutcome { unanswered: true, ..SlotOutcome::default() }.of_url(&page));
    assert_eq!(answers(), (Answers::None, 0));
    for (outcome, expected) in [
        (status(404), Answers::Files),
        (status(404).of_url(&page), Answers::Pages),
        (status(200), Answers::Pages),
    ] {
        gate.acquire(&key("a")).await.finish(outcome);
        assert_eq!(answers(), (expected, 0));
    }
    assert_eq!((gate.answered(&key("a")), gate.answered(&key("b"))), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn paused_host_does_not_delay_others() {
    let gate = Gate::new(exact(0));
    gate.pause_host(&key("a"), Duration::from_secs(30));
    gate.pause_host(&key("a"), Duration::from_secs(9));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(30));
    assert!(gate.try_acquire(&key("b")).is_ok());
    advance(Duration::from_secs(30)).await;
    assert!(gate.try_acquire(&key("a")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn gaps_are_never_shorter_than_the_delay() {
    let gate = Gate::new(PolitenessSettings { jitter: 0.5, ..exact(200) });
    let mut ends: Vec<Instant> = Vec::new();
    for n in 0..200u64 {
        let slot = gate.acquire(&key("a")).await;
        if let Some(&end) = ends.last() {
            let gap = Instant::now() - end;
            assert!(gap >= Duration::from_millis(200) && gap <= Duration::from_millis(302), "{gap:?}");
        }
        advance(Duration::from_millis(n % 7 * 50)).await;
        ends.push(Instant::now());
        slot.finish(status(if n % 9 == 0 { 301 } else { 200 }));
    }
}

#[tokio::test(start_paused = true)]
async fn returned_slot_causes_no_delay() {
    let gate = Gate::new(exact(1_000));
    gate.try_acquire(&key("a")).ok().unwrap().finish(status(200));
    advance(Duration::from_secs(1)).await;
    gate.try_acquire(&key("a")).ok().unwrap().give_back();
    assert!(gate.try_acquire(&key("a")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_start_one_delay_apart() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 2, ..exact(100) });
    let first = gate.try_acquire(&key("a")).ok().unwrap();
    assert_eq!(wait(&gate, "a"), Duration::from_millis(100));
    advance(Duration::from_millis(100)).await;
    let second = gate.try_acquire(&key("a")).ok().unwrap();
    advance(Duration::from_millis(500)).await;
    assert_eq!(gate.try_acquire(&key("a")).err().unwrap().at, None, "both slots are taken");
    drop(first);
    assert!(gate.try_acquire(&key("a")).is_ok());
    drop(second);
}

#[tokio::test(start_paused = true)]
async fn returned_slot_keeps_delays_of_other_requests() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 3, ..exact(1_000) });
    let first = gate.try_acquire(&key("a")).ok().unwrap();
    advance(Duration::from_secs(1)).await;
    let second = gate.try_acquire(&key("a")).ok().unwrap();
    first.give_back();
    assert_eq!(wait(&gate, "a"), Duration::from_secs(1), "the second request has just been made");
    second.give_back();
    let third = gate.try_acquire(&key("a")).ok().unwrap();
    advance(Duration::from_secs(1)).await;
    let fourth = gate.try_acquire(&key("a")).ok().unwrap();
    third.finish(status(429));
    fourth.give_back();
    assert_eq!(wait(&gate, "a"), Duration::from_secs(2), "what the host asked for stands");
}

#[tokio::test]
async fn zero_delay_never_waits() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 16, ..exact(0) });
    let slots: Vec<_> = (0..16).map(|_| gate.try_acquire(&key("a")).ok().unwrap()).collect();
    assert!(gate.try_acquire(&key("a")).is_err());
    drop(slots);
    for _ in 0..1_000 {
        gate.try_acquire(&key("a")).ok().unwrap().finish(status(200));
    }
}

#[tokio::test(start_paused = true)]
async fn freed_slot_wakes_earlier_waiters() {
    let gate = Gate::new(exact(0));
    let slot = gate.try_acquire(&key("a")).ok().unwrap();
    let freed = gate.next_free_slot();
    assert!(gate.try_acquire(&key("a")).is_err());
    drop(slot);
    freed.await;
    assert!(gate.try_acquire(&key("a")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed_up_to_its_limit() {
    let gate = Gate::new(exact(0));
    let busy = |seconds| SlotOutcome {
        status: Some(429),
        retry_after: Some(Duration::from_secs(seconds)),
        ..SlotOutcome::default()
    };
    gate.try_acquire(&key("a")).ok().unwrap().finish(busy(2));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(2));
    gate.try_acquire(&key("b")).ok().unwrap().finish(busy(3_600));
    assert_eq!(wait(&gate, "b"), Duration::from_secs(3_600));
    assert_eq!(gate.blocked_until(&key("b")), None);
    // 20 hours: a later answer does not shorten it
    let (first, second) = (gate.acquire(&key("c")).await, gate.try_acquire(&key("c")));
    assert!(second.is_err());
    first.finish(busy(72_000));
    let told = gate.try_acquire(&key("c")).err().unwrap();
    assert!(told.dead && told.at == Some(Instant::now() + Duration::from_secs(72_000)));
    assert!(
        gate.acquire_within(&key("c"), Duration::from_secs(80_000)).await.is_err(),
        "it is not waited for"
    );
    assert_eq!(gate.blocked_until(&key("c")), Some(Instant::now() + Duration::from_secs(72_000)));
    gate.evict_idle(Duration::ZERO);
    advance(Duration::from_secs(71_999)).await;
    assert!(gate.try_acquire(&key("c")).err().unwrap().dead);
    advance(Duration::from_secs(1)).await;
    assert!(gate.try_acquire(&key("c")).is_ok() && gate.blocked_until(&key("c")).is_none());
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_a_redirect_ends_no_host() {
    let gate = Gate::new(exact(0));
    for code in [301, 302, 399] {
        let day = SlotOutcome { retry_after: Some(Duration::from_secs(86_400)), ..status(code) };
        gate.try_acquire(&key("a")).ok().unwrap().finish(day);
        assert_eq!(gate.blocked_until(&key("a")), None, "{code}");
        assert_eq!(wait(&gate, "a"), Duration::from_secs(3_600), "{code}");
        advance(Duration::from_secs(3_600)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_deadlines_survive_the_gate() {
    let gate = Gate::new(exact(0));
    let busy = |seconds| SlotOutcome { retry_after: Some(Duration::from_secs(seconds)), ..status(503) };
    gate.try_acquire(&key("a")).ok().unwrap().finish(busy(100));
    gate.try_acquire(&key("b")).ok().unwrap().finish(busy(7_200));
    gate.try_acquire(&key("c")).ok().unwrap().finish(busy(5));
    gate.try_acquire(&key("d"))
        .ok()
        .unwrap()
        .finish(SlotOutcome { unanswered: true, ..SlotOutcome::default() });
    advance(Duration::from_secs(10)).await;
    let next = Gate::new(exact(0));
    let now = Instant::now();
    gate.retry_after_deadlines().iter().for_each(|(host, until)| next.set_retry_after(host, *until - now));
    assert_eq!(wait(&next, "a"), Duration::from_secs(90));
    assert_eq!(next.blocked_until(&key("b")), Some(Instant::now() + Duration::from_secs(7_190)));
    assert!(next.try_acquire(&key("c")).is_ok() && next.try_acquire(&key("d")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_reported_at_once() {
    let gate = Gate::new(exact(0));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&kept);
    gate.on_retry_after(move |gate| into.lock().unwrap().push(gate.retry_after_deadlines()));
    let asks = |status, seconds| SlotOutcome {
        status: Some(status),
        retry_after: Some(Duration::from_secs(seconds)),
        ..SlotOutcome::default()
    };
    gate.try_acquire(&key("a")).ok().unwrap().finish(status(200));
    gate.try_acquire(&key("a")).ok().unwrap().finish(asks(200, 50));
    assert!(kept.lock().unwrap().is_empty(), "neither asks for anything");
    gate.try_acquire(&key("a")).ok().unwrap().finish(asks(429, 100));
    assert_eq!(*kept.lock().unwrap(), [vec![(key("a"), Instant::now() + Duration::from_secs(100))]]);
}

#[tokio::test(start_paused = true)]
async fn gate_pause_applies_to_all_hosts() {
    let gate = Gate::new(exact(0));
    gate.pause(Duration::from_secs(5));
    gate.pause(Duration::from_secs(2));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(5));
    let not_yet = gate.try_acquire(&key("b")).err().unwrap();
    assert!(!not_yet.dead && not_yet.at.is_some());
    advance(Duration::from_secs(5)).await;
    assert!(gate.try_acquire(&key("a")).is_ok() && gate.try_acquire(&key("b")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn crawl_delay_is_honoured_up_to_its_cap() {
    let gate = Gate::new(exact(1_000));
    gate.try_acquire(&key("a")).ok().unwrap().finish(status(200));
    assert!(!gate.set_crawl_delay(&key("a"), Duration::from_secs(5)));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(5));
    assert!(gate.set_crawl_delay(&key("b"), Duration::from_secs(86_400)));
    assert_eq!(gate.delay(&key("b")), Duration::from_secs(30));
    assert!(!gate.set_crawl_delay(&key("c"), Duration::from_millis(1)));
    assert_eq!(gate.delay(&key("c")), Duration::from_secs(1), "our own delay is the least");
}

#[tokio::test(start_paused = true)]
async fn unanswering_host_pauses_and_is_then_given_up() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 4, ..exact(0) });
    let dead = SlotOutcome { unanswered: true, ..SlotOutcome::default() };
    for _ in 0..5 {
        gate.try_acquire(&key("a")).ok().unwrap().finish(dead);
    }
    for rest in [30, 60, 120] {
        assert!(!gate.try_acquire(&key("a")).err().unwrap().dead);
        assert_eq!(wait(&gate, "a"), Duration::from_secs(rest));
        advance(Duration::from_secs(rest)).await;
        let probe = gate.try_acquire(&key("a")).ok().unwrap();
        assert_eq!(gate.try_acquire(&key("a")).err().unwrap().at, None, "one request probes");
        probe.finish(dead);
    }
    assert!(gate.try_acquire(&key("a")).err().unwrap().dead);
    advance(Duration::from_secs(3_600)).await;
    gate.try_acquire(&key("a")).ok().unwrap().finish(status(500));
    let four: Vec<_> = (0..4).map(|_| gate.try_acquire(&key("a")).ok().unwrap()).collect();
    assert!(!gate.try_acquire(&key("a")).err().unwrap().dead, "it answered");
    drop(four);
}

#[tokio::test(start_paused = true)]
async fn break_of_a_host_does_not_shorten_its_retry_after() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 6, ..exact(0) });
    let mut slots: Vec<_> = (0..6).map(|_| gate.try_acquire(&key("a")).ok().unwrap()).collect();
    let later = SlotOutcome { retry_after: Some(Duration::from_secs(600)), ..status(503) };
    slots.pop().unwrap().finish(later);
    for slot in slots {
        slot.finish(SlotOutcome { unanswered: true, ..SlotOutcome::default() });
    }
    assert_eq!(wait(&gate, "a"), Duration::from_secs(600));
}

#[tokio::test(start_paused = true)]
async fn host_that_accepts_and_hangs_pauses_too() {
    let gate = Gate::new(exact(0));
    let timeout = |phase| FetchError::Timeout { phase, limit: Duration::from_secs(15) };
    let ended = |host: &str, error: FetchError| {
        let slot = gate.try_acquire(&key(host)).ok().unwrap();
        slot.finish(SlotOutcome::of_resource(&Err(error)));
    };
    for _ in 0..2 {
        ended("hangs", timeout(Phase::Headers));
        ended("hangs", timeout(Phase::Total));
    }
    ended("hangs", FetchError::ConnectionLost(String::new()));
    assert_eq!(wait(&gate, "hangs"), Duration::from_secs(30));
    // a slow URL among good answers and truncated pages are not silence
    for _ in 0..10 {
        ended("slow", timeout(Phase::Headers));
        gate.try_acquire(&key("slow")).ok().unwrap().finish(status(404));
        ended("breaks off", timeout(Phase::Body));
    }
    assert!(gate.try_acquire(&key("slow")).is_ok() && gate.try_acquire(&key("breaks off")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn acquire_within_ends_after_max_wait_or_one_delay() {
    let gate = Gate::new(exact(20_000));
    let patience = Duration::from_secs(10);
    let slot = gate.acquire(&key("a")).await;
    let begun = Instant::now();
    assert!(gate.acquire_within(&key("a"), patience).await.is_err(), "its slot is never freed");
    assert_eq!(begun.elapsed(), Duration::from_secs(20));
    slot.finish(status(200));
    assert!(gate.acquire_within(&key("a"), patience).await.is_ok(), "the host's own pause is waited for");
    assert_eq!(begun.elapsed(), Duration::from_secs(40));
}

#[tokio::test(start_paused = true)]
async fn idle_hosts_are_evicted_unless_penalised() {
    let gate = Gate::new(exact(100));
    gate.try_acquire(&key("quiet")).ok().unwrap().finish(status(200));
    let _busy = gate.try_acquire(&key("busy")).ok().unwrap();
    let later = SlotOutcome { retry_after: Some(Duration::from_secs(200)), ..status(503) };
    gate.try_acquire(&key("told")).ok().unwrap().finish(later);
    gate.evict_idle(Duration::from_secs(60));
    assert_eq!(gate.hosts(), 3);
    advance(Duration::from_secs(61)).await;
    gate.evict_idle(Duration::from_secs(60));
    assert_eq!(gate.hosts(), 2);
    assert!(gate.try_acquire(&key("quiet")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn setting_the_same_crawl_delay_restarts_no_delay() {
    let gate = Gate::new(exact(0));
    gate.try_acquire(&key("a")).ok().unwrap().finish(status(200));
    gate.set_crawl_delay(&key("a"), Duration::from_secs(2));
    advance(Duration::from_secs(1)).await;
    gate.set_crawl_delay(&key("a"), Duration::from_secs(2));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn slots_acquired_before_the_crawl_delay_are_outdated() {
    for delay_ms in [0, 100] {
        let gate = Gate::new(PolitenessSettings { host_concurrency: 2, ..exact(delay_ms) });
        let first = gate.try_acquire(&key("a")).ok().unwrap();
        advance(Duration::from_millis(delay_ms)).await;
        let second = gate.try_acquire(&key("a")).ok().unwrap();
        assert!(!first.is_outdated());
        // a resumed run reads it from its state
        gate.set_crawl_delay(&key("a"), Duration::from_secs(2));
        assert!(first.is_outdated() && second.is_outdated());
        first.give_back();
        second.give_back();
        let third = gate.try_acquire(&key("a")).ok().unwrap();
        assert!(!third.is_outdated());
        assert_eq!(wait(&gate, "a"), Duration::from_secs(2), "with a delay of {delay_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn returned_slot_keeps_a_started_crawl_delay() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 3, ..exact(50) });
    let robots = gate.try_acquire(&key("a")).ok().unwrap();
    advance(Duration::from_millis(50)).await;
    // waits for robots.txt
    let page = gate.try_acquire(&key("a")).ok().unwrap();
    robots.finish(status(200));
    gate.set_crawl_delay(&key("a"), Duration::from_secs(1));
    assert!(page.is_outdated());
    page.give_back();
    assert_eq!(wait(&gate, "a"), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn watched_host_is_reported_when_its_slot_is_freed() {
    let gate = Gate::new(exact(1_000));
    let slot = gate.try_acquire_watched(&key("a")).ok().unwrap();
    gate.try_acquire(&key("b")).ok().unwrap().finish(status(200));
    assert!(gate.take_released().is_empty(), "nobody was refused");
    assert!(gate.try_acquire_watched(&key("a")).is_err() && gate.try_acquire_watched(&key("a")).is_err());
    slot.give_back();
    assert_eq!(gate.take_released(), [key("a")]);
    assert!(gate.take_released().is_empty());
    let again = gate.try_acquire_watched(&key("a")).ok().unwrap();
    assert!(gate.try_acquire(&key("a")).is_err());
    again.finish(status(200));
    assert!(gate.take_released().is_empty(), "another caller was refused");
    assert!(gate.try_acquire_watched(&key("a")).is_err());
    assert!(gate.take_released().is_empty(), "a pause has a time of its own");
}
