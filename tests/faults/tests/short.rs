//! Short part of the campaign: cases of a second or two each, and tests of the tools.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

use crawl_faults::{
    campaign::Campaign,
    faults::Kind,
    outcome::Outcome,
    scenario::{Format, Job, Scenario},
    shim::{self, Op, Plan},
    table,
    world::With,
};
use std::{collections::BTreeSet, path::Path};

fn campaign() -> Campaign {
    Campaign::new(&Campaign::binary().unwrap())
}

/// Runs the cases of a kind; each must be survived or refused as documented.
#[track_caller]
fn all_good(kind: Kind, seeds: &[u64]) {
    assert!(!seeds.is_empty());
    let cases: Vec<(Kind, u64)> = seeds.iter().map(|seed| (kind, *seed)).collect();
    let done = campaign().run(&cases, 2, |_| {});
    assert_eq!(done.len(), seeds.len());
    let failures: String = done.iter().filter(|case| !case.verdict.is_good()).map(table::failure).collect();
    assert!(failures.is_empty(), "run them again with `just faults`:\n{failures}");
}

#[test]
fn short_kill_cases_pass() {
    all_good(Kind::Kills, &[50009, 50015, 50026, 50032, 50041]);
}

#[test]
fn short_syscall_cases_pass() {
    all_good(Kind::Syscalls, &[50008, 50023, 50027, 50043, 50061, 50081]);
}

#[test]
fn short_power_loss_cases_pass() {
    all_good(Kind::Power, &[50002, 50008, 50009, 50016]);
}

#[test]
fn short_damaged_file_cases_pass() {
    all_good(Kind::Damage, &[50015, 50016, 50025, 50034]);
}

#[test]
fn short_full_disk_cases_pass() {
    all_good(Kind::Disk, &[50005, 50006]);
}

#[test]
fn short_clock_and_network_cases_pass() {
    all_good(Kind::Clock, &[30004, 30010]);
    all_good(Kind::Network, &[30001, 30002, 30009]);
}

/// Cases that an earlier version failed, by defect.
const FOUND: [(&str, &[(Kind, u64)]); 9] = [
    ("-O loses a round that dies before its output is closed", &[(Kind::Kills, 50007), (Kind::Power, 50004)]),
    ("a loss of power doubles", &[(Kind::Power, 50000), (Kind::Power, 50003), (Kind::Power, 50019)]),
    ("a torn journal of a table has no way out", &[(Kind::Damage, 10021), (Kind::Damage, 30005)]),
    ("a damaged archive is replayed without a word", &[(Kind::Damage, 10043)]),
    (
        "retry-errors does not go on after a kill",
        &[(Kind::Kills, 50021), (Kind::Kills, 50033), (Kind::Syscalls, 50013), (Kind::Syscalls, 50066)],
    ),
    ("a damaged or removed state", &[(Kind::Damage, 50017), (Kind::Damage, 50028), (Kind::Damage, 50031)]),
    (
        "left behind, or torn in place",
        &[(Kind::Syscalls, 50003), (Kind::Syscalls, 50021), (Kind::Syscalls, 50070)],
    ),
    ("a clock that is put back", &[(Kind::Clock, 30008)]),
    ("URLs that a clock an hour ahead has put off hold the next run up", &[(Kind::Clock, 130_008)]),
];

#[test]
fn defects_found_by_the_campaign_stay_fixed() {
    let cases: Vec<(Kind, u64)> = FOUND.iter().flat_map(|(_, cases)| cases.iter().copied()).collect();
    let done = campaign().run(&cases, 2, |_| {});
    let failures: String = done.iter().filter(|case| !case.verdict.is_good()).map(table::failure).collect();
    assert!(failures.is_empty(), "{failures}");
}

/// A kill -9 at each rename of a night with -O leaves the old file or the new one. The same command then gives each record once.
#[test]
fn kill_at_a_rename_leaves_the_old_or_new_output() {
    let campaign = campaign();
    for format in [Format::Jsonl, Format::Gz, Format::Parquet] {
        let scenario = Scenario { job: Job::Night, format, replace: true, dedup: false };
        let expected = campaign.expected(scenario).unwrap();
        let mut is_hit = false;
        for (n, action) in (1..).flat_map(|n| [(n, "kill-before"), (n, "kill-after")]) {
            let world = campaign.world(scenario).unwrap();
            world.prepare().unwrap();
            let plan = Plan { kinds: vec!["rename"], n, action, ..Plan::default() };
            let ended = world.run(&With { plan: Some(&plan), ..With::default() }).unwrap();
            if ended.code.is_some() {
                assert_eq!(ended.code, Some(0), "{scenario}: {}", ended.stderr);
                break;
            }
            let hit = std::fs::read_to_string(world.own("hit")).unwrap_or_default();
            is_hit |= hit.contains(format.file());
            let found = Outcome::read(&world, false);
            let found = found.unwrap_or_else(|error| panic!("{scenario}, {action} at {hit}: {error}"));
            assert!(!found.is_empty(), "{scenario}, {action} at {hit}: the output is empty");
            if !world.is_finished() {
                let again = world.run(&With::default()).unwrap();
                assert_eq!(again.code, Some(0), "{scenario}, {action} at {hit}: {}", again.stderr);
            }
            let difference = Outcome::read(&world, false).unwrap().difference(&expected.outcome);
            assert!(
                difference.lost.is_empty() && difference.doubled.is_empty(),
                "{scenario}, {action} at {hit}: {difference:?}"
            );
        }
        assert!(is_hit, "{scenario}: no rename of the output was hit");
    }
}

/// The shim sees the calls of SQLite and std, and the call that rustix makes without libc.
#[test]
fn shim_records_the_calls_of_every_writer() {
    let scenario = Scenario { job: Job::First, format: Format::Folder, replace: false, dedup: false };
    let campaign = campaign();
    let world = campaign.world(scenario).unwrap();
    assert_eq!(world.run(&With { record: true, ..With::default() }).unwrap().code, Some(0));
    let log = shim::log(&world.own("log")).unwrap();
    let written: BTreeSet<u64> = log
        .iter()
        .filter_map(|op| if let Op::Write { inode, .. } = op { Some(*inode) } else { None })
        .collect();
    let synced: BTreeSet<u64> =
        log.iter().filter_map(|op| if let Op::Sync { inode } = op { Some(*inode) } else { None }).collect();
    let inode = |name: &str| {
        let made = |op: &Op| match op {
            Op::Create { path, inode } if path.ends_with(name) => Some(*inode),
            _ => None,
        };
        log.iter().find_map(made).unwrap_or_else(|| panic!("{name} was not made"))
    };
    for name in ["crawl.sqlite", "crawl.sqlite-wal", "index.jsonl", "errors.jsonl"] {
        assert!(written.contains(&inode(name)), "no write to {name}");
    }
    assert!(synced.contains(&inode("index.jsonl")) && synced.contains(&inode("crawl.sqlite")));
    assert!(log.contains(&Op::SyncAll), "no syncfs of the folder");
    let renamed = |op: &Op| matches!(op, Op::Rename { to, .. } if to.starts_with(world.output()));
    assert!(log.iter().filter(|op| renamed(op)).count() > 20, "no rename of a page");
}

/// A binary that loses records fails the campaign.
#[test]
fn campaign_detects_a_lost_record() {
    assert!(
        Campaign::new(Path::new("/bin/true")).case(Kind::Kills, 1).verdict.failures[0]
            .contains("records only")
    );
}
