use super::*;

fn host(n: usize) -> HostKey {
    HostKey::from_stored(format!("h{n}.test"))
}

#[test]
fn slow_hosts_leave_a_quarter_of_the_permits() {
    let lane = SlowLane::new(16, None);
    assert!(lane.admit(&host(0), Answers::Pages).unwrap().is_none(), "nothing is known of it");
    let taken: Vec<_> = (0..12).map(|n| lane.admit_slow(&host(n), Answers::Pages).unwrap()).collect();
    assert_eq!(lane.admit_slow(&host(12), Answers::Pages).err(), Some(Full::Lane));
    assert_eq!(lane.free(), 0);
    assert!(lane.admit(&host(12), Answers::Pages).is_err(), "and the host is slow all the same");
    assert!(lane.admit(&host(99), Answers::Pages).unwrap().is_none(), "others need no permit");
    drop(taken);
    assert!(lane.admit(&host(12), Answers::Pages).unwrap().is_some());
    let alone = SlowLane::new(1, None);
    assert!(alone.admit_slow(&host(0), Answers::Pages).is_ok(), "one permit is enough to go on with");
}

#[test]
fn unproven_hosts_leave_a_permit_while_half_of_the_lane_is_taken() {
    let lane = SlowLane::new(16, None);
    let admit = |n: usize| lane.admit(&host(n), Answers::None).ok().flatten();
    let unproven: Vec<_> = (0..16).map_while(admit).collect();
    assert_eq!(unproven.len(), 16, "nothing is slow: they may take all");
    assert!(!unproven[0].is_of_lane());
    assert!(lane.admit(&host(16), Answers::Pages).unwrap().is_none(), "a proven host needs no permit");
    drop(unproven);
    let mut slow: Vec<_> = (20..26).map(|n| lane.admit_slow(&host(n), Answers::None).unwrap()).collect();
    let unproven: Vec<_> = (0..16).map_while(admit).collect();
    assert_eq!(unproven.len(), 9, "sixteen without six slow ones and the kept one");
    assert_eq!(lane.admit(&host(16), Answers::None).err(), Some(Full::Unproven));
    assert_eq!(lane.free_for(Answers::Files), 1, "the slow ones have not answered for robots.txt");
    let known = lane.admit(&host(20), Answers::None).unwrap().unwrap();
    assert!(known.is_of_lane(), "a slow host takes a permit of the lane");
    drop(known);
    slow.pop();
    assert_eq!(lane.free_for(Answers::None), 2, "the one of the slow host and the kept one");
    drop((slow, unproven));
    assert_eq!(lane.free_for(Answers::None), 16);
}

#[test]
fn unproven_slow_hosts_take_a_quarter_of_the_lane_while_others_wait() {
    let lane = SlowLane::new(16, None);
    lane.set_demand(Demand { preferred: true, ..Demand::default() });
    let admit = |n: usize, answers| lane.admit_slow(&host(n), answers).ok();
    let unproven: Vec<_> = (0..9).filter_map(|n| admit(n, [Answers::None, Answers::Files][n % 2])).collect();
    assert_eq!((unproven.len(), lane.free_for_unproven(), lane.free()), (3, 0, 9));
    let proven: Vec<_> = (20..40).filter_map(|n| admit(n, Answers::Pages)).collect();
    assert_eq!(proven.len(), 9, "the others take the rest");
    drop(proven);
    lane.set_demand(Demand::default());
    let more: Vec<_> = (0..20).filter_map(|n| admit(n, Answers::None)).collect();
    assert_eq!(more.len(), 9, "no other host waits: they take it all");
}

#[test]
fn first_trial_ends_once_and_the_second_waits_for_the_others() {
    let lane = SlowLane::new(16, None);
    assert!(!lane.end_trial(&host(0), (Answers::None, 1)), "no host waits");
    let demand = Demand { preferred: true, unproven: 6, with_files: 2 };
    lane.set_demand(demand);
    assert!(!lane.end_trial(&host(0), (Answers::Files, 1)), "two slow hosts of this kind are not many");
    assert!(!lane.end_trial(&host(0), (Answers::Pages, 1)));
    assert_eq!(lane.rank(&host(0), 1), 1);
    assert!(lane.end_trial(&host(0), (Answers::None, 1)));
    assert_eq!((lane.rank(&host(0), 1), lane.rank(&host(0), 2)), (0, 1), "answers since then count");
    assert_eq!(lane.admit(&host(0), Answers::None).err(), Some(Full::Unproven), "others go first");
    assert!(lane.admit(&host(0), Answers::None).unwrap().is_some());
    assert!(!lane.end_trial(&host(0), (Answers::None, 1)), "the second trial is longer");
    lane.set_demand(Demand { with_files: 3, ..demand });
    assert!(lane.end_trial(&host(1), (Answers::Files, 1)));
    lane.set_demand(Demand::default());
    assert!(lane.admit(&host(1), Answers::Files).unwrap().is_some(), "no other host waits");
    lane.was_slow(&host(1));
    assert!(lane.admit(&host(0), Answers::Pages).unwrap().is_none());
    let state = lane.shared.lock();
    assert!(state.tried.is_empty() && state.ended.is_empty(), "slow and proven hosts are forgotten");
}

#[test]
fn hosts_that_answer_for_robots_alone_are_a_kind_of_their_own() {
    let lane = SlowLane::new(16, None);
    let slow: Vec<_> = (0..3).map(|n| lane.admit_slow(&host(n), Answers::Files).unwrap()).collect();
    assert_eq!((lane.free_for(Answers::Files), lane.free_for(Answers::None)), (12, 13));
    drop(slow);
    let slow: Vec<_> = (0..12).map(|n| lane.admit_slow(&host(n), Answers::Pages).unwrap()).collect();
    assert_eq!((lane.free_for(Answers::Files), lane.free_for(Answers::None)), (4, 3));
    drop(slow);
    assert_eq!(lane.free_for(Answers::Files), 16);
}

#[test]
fn unproven_hosts_always_have_a_permit_besides_the_slow_lane() {
    for concurrency in 1..100 {
        let lane = SlowLane::new(concurrency, None);
        let slow: Vec<_> =
            (0..concurrency).map_while(|n| lane.admit_slow(&host(n), Answers::Files).ok()).collect();
        let free = concurrency - slow.len();
        for answers in [Answers::None, Answers::Files] {
            let left = lane.free_for(answers);
            assert!(free.min(1) <= left && left <= free, "{concurrency}: {left} of {free}");
            assert!(concurrency < 8 || left < free, "{concurrency}: one is kept");
        }
    }
}

#[test]
fn quick_answers_offset_slow_ones() {
    let lane = SlowLane::new(16, None);
    let is_slow = || lane.admit(&host(0), Answers::Pages).unwrap().is_some();
    drop(lane.admit_slow(&host(0), Answers::Pages));
    lane.was_slow(&host(0));
    for _ in 0..3 {
        lane.was_quick(&host(0));
        assert!(is_slow(), "two slow answers ask for four quick ones");
    }
    lane.was_quick(&host(0));
    assert!(!is_slow());
}

#[test]
fn one_address_takes_a_quarter_of_the_slow_lane() {
    let book = AddressBook::default();
    for n in 0..9 {
        book.note(&host(n), IpAddr::from([192, 0, 2, u8::from(n > 4)]));
    }
    let lane = SlowLane::new(16, Some(book));
    let first: Vec<_> = (0..3).map(|n| lane.admit_slow(&host(n), Answers::Pages).unwrap()).collect();
    assert_eq!(
        lane.admit_slow(&host(3), Answers::Pages).err(),
        Some(Full::Address),
        "the address has its quarter"
    );
    let other: Vec<_> = (0..5).map(|_| lane.admit_slow(&host(5), Answers::Pages).unwrap()).collect();
    assert_eq!(other.len(), 5, "a host alone at its address is bounded by politeness.host_concurrency");
    assert!(lane.admit_slow(&host(6), Answers::Pages).is_err());
    drop(first);
    assert!(lane.admit(&host(3), Answers::Pages).unwrap().is_some());
}

#[test]
fn known_hosts_are_bounded() {
    let lane = SlowLane::new(16, None);
    let kept = lane.admit_slow(&host(0), Answers::Pages).unwrap();
    for n in 1..=MAX_HOSTS {
        lane.was_slow(&host(n));
    }
    assert_eq!(lane.shared.lock().hosts.len(), 2);
    drop(kept);
}
