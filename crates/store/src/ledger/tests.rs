use super::*;

fn key(name: &str) -> HostKey {
    HostKey::from_stored(name)
}

fn names(ledger: &Ledger) -> Vec<String> {
    ledger.ready(Lane::Plain, usize::MAX).into_iter().map(|load| load.host.to_string()).collect()
}

fn lease(ledger: &mut Ledger, host: HostId) {
    ledger.shift(host, UrlState::Ready, UrlState::Leased, 1);
    ledger.count_leases(host, Lane::Plain, 1);
}

#[test]
fn hosts_take_turns() {
    let mut ledger = Ledger::default();
    ledger.add(1, &key("a"), UrlState::Ready, 2);
    ledger.add(2, &key("b"), UrlState::Ready, 1);
    ledger.add(1, &key("a"), UrlState::Ready, 1);
    assert_eq!(names(&ledger), ["a", "b"]);
    for host in [1, 2] {
        ledger.count_leases(host, Lane::Plain, FIRST_LEASES);
    }
    assert_eq!(names(&ledger), ["a", "b"]);
    lease(&mut ledger, 1);
    assert_eq!(names(&ledger), ["b", "a"]);
    lease(&mut ledger, 2);
    assert_eq!(names(&ledger), ["a"]);
    ledger.shift(2, UrlState::Leased, UrlState::Ready, 1);
    assert_eq!(names(&ledger), ["a", "b"]);
}

#[test]
fn host_gets_its_first_leases_before_another_starts() {
    let mut ledger = Ledger::default();
    for (host, name) in [(1, "a"), (2, "b"), (3, "c")] {
        ledger.add(host, &key(name), UrlState::Ready, 100);
    }
    for _ in 0..FIRST_LEASES {
        assert_eq!(names(&ledger)[0], "a");
        lease(&mut ledger, 1);
    }
    assert_eq!(names(&ledger), ["b", "c", "a"], "then it waits for those that have not begun");
    lease(&mut ledger, 2);
    lease(&mut ledger, 3);
    assert_eq!(names(&ledger), ["b", "c", "a"], "those that have begun take turns");
}

#[test]
fn suspended_host_is_skipped_and_keeps_its_turn() {
    let mut ledger = Ledger::default();
    for (host, name) in [(1, "a"), (2, "b"), (3, "c")] {
        ledger.add(host, &key(name), UrlState::Ready, 1);
    }
    ledger.suspend(1);
    ledger.suspend(2);
    ledger.add(1, &key("a"), UrlState::Ready, 1);
    assert_eq!(names(&ledger), ["c"]);
    assert!(!ledger.total().drained() && !ledger.of(1).drained());
    ledger.resume(2);
    assert_eq!(names(&ledger), ["b", "c"]);
    ledger.resume_all();
    assert_eq!(names(&ledger), ["a", "b", "c"]);
}

#[test]
fn host_waiting_for_a_level_is_skipped_until_progress() {
    let mut ledger = Ledger::default();
    ledger.add(1, &key("a"), UrlState::Ready, 3);
    lease(&mut ledger, 1);
    ledger.wait_for_level(1, Lane::Plain);
    assert!(names(&ledger).is_empty());
    ledger.take(1, UrlState::Leased, 1);
    assert_eq!(names(&ledger), ["a"]);
}

#[test]
fn assumed_bytes_are_verified_near_the_limit() {
    let mut ledger = Ledger::default();
    let bounds = HostBounds { urls: Some(50), bytes: Some(3 * ASSUMED_BYTES) };
    assert_eq!(ledger.room(1, bounds, 100), Room::Enough, "nothing is known of the host");
    ledger.add(1, &key("a"), UrlState::Ready, 2);
    ledger.assume(1, 2);
    assert_eq!(ledger.room(1, bounds, ASSUMED_BYTES), Room::Enough);
    assert_eq!(ledger.room(1, bounds, ASSUMED_BYTES + 1), Room::Uncounted);
    ledger.counted(1, 500);
    assert_eq!(ledger.room(1, bounds, ASSUMED_BYTES + 1), Room::Enough);
    ledger.grow(1, 3 * ASSUMED_BYTES - 500);
    assert_eq!(ledger.room(1, bounds, 1), Room::Full(HostBound::Bytes));
    ledger.shrink(1, 300);
    assert_eq!(ledger.room(1, bounds, 300), Room::Enough);
    assert_eq!(ledger.room(1, bounds, 301), Room::Full(HostBound::Bytes), "a count is exact");
    ledger.add(1, &key("a"), UrlState::Ready, 48);
    assert_eq!(ledger.room(1, bounds, 1), Room::Full(HostBound::Urls));
    assert_eq!(ledger.room(1, HostBounds::default(), u64::MAX), Room::Enough, "without bounds");
}

#[test]
fn drained_hosts_are_reported_once() {
    let mut ledger = Ledger::default();
    ledger.add(1, &key("a"), UrlState::Ready, 2);
    ledger.add(2, &key("b"), UrlState::Ready, 1);
    lease(&mut ledger, 1);
    ledger.take(1, UrlState::Leased, 1);
    assert!(ledger.take_drained().is_empty(), "one is ready");
    lease(&mut ledger, 1);
    ledger.take(1, UrlState::Leased, 1);
    ledger.add(1, &key("a"), UrlState::Held, 1);
    assert_eq!(ledger.take_drained(), [key("a")]);
    ledger.take(1, UrlState::Held, 1);
    assert!(ledger.take_drained().is_empty());
}

#[test]
fn finished_host_is_removed() {
    let mut ledger = Ledger::default();
    ledger.add(1, &key("a"), UrlState::Ready, 1);
    ledger.shift(1, UrlState::Ready, UrlState::Leased, 1);
    assert!(!ledger.of(1).drained());
    ledger.take(1, UrlState::Leased, 1);
    ledger.add(1, &key("a"), UrlState::Held, 1);
    assert!(ledger.of(1).drained() && ledger.total().drained());
    assert_eq!(ledger.held(), [HostLoad { host: key("a"), pending: 1 }]);
    ledger.suspend(1);
    ledger.take(1, UrlState::Held, 1);
    assert!(ledger.hosts.is_empty() && ledger.turns.iter().all(BTreeMap::is_empty));
    assert!(ledger.suspended.is_empty());
}
