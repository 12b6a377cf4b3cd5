use super::*;

#[test]
fn next_session_keeps_results_and_resets_leases() {
    let first = Stats::default();
    first.leased.add(5);
    first.records.add(3);
    first.wire_bytes.add(70);
    first.answered(&HostKey::from_stored("a"), 200, 5);
    let next = first.for_next_session().for_next_session();
    assert_eq!((next.records.get(), next.wire_bytes.get(), next.started), (3, 70, first.started));
    assert_eq!((next.claimed(), next.in_flight(), next.session_bytes()), (0, 0, 0));
    next.leased.add(2);
    next.records.add(1);
    next.wire_bytes.add(9);
    assert_eq!((next.claimed(), next.in_flight(), next.session_bytes()), (2, 1, 9));
    assert_eq!(next.claimed_by_process(), 5);
    next.answered(&HostKey::from_stored("a"), 404, 5);
    assert_eq!(next.statuses().into_iter().collect::<Vec<_>>(), [(200, 1), (404, 1)]);
    assert_eq!(next.latency().count(), 2);
}
