//! The short part of the campaign: cases that take a second or two each, and the tools themselves.

use crawl_faults::{
    campaign::Campaign,
    faults::Kind,
    scenario::{Format, Job, Scenario},
    shim::{self, Op},
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
fn kills() {
    all_good(Kind::Kills, &[40001, 40012, 40020, 40027, 40032]);
}

#[test]
fn syscalls() {
    all_good(Kind::Syscalls, &[30005, 30006, 30008, 30020, 30026, 30038]);
}

#[test]
fn losses_of_power() {
    all_good(Kind::Power, &[30001, 30004, 30005, 30007]);
}

#[test]
fn damaged_files() {
    all_good(Kind::Damage, &[30001, 30003, 30009, 30014]);
}

#[test]
fn full_disks() {
    all_good(Kind::Disk, &[30006, 30009]);
}

#[test]
fn clocks_and_networks() {
    all_good(Kind::Clock, &[30004, 30010]);
    all_good(Kind::Network, &[30001, 30002, 30009]);
}

/// The shim sees what SQLite does, what std does, and the call that rustix makes without libc.
#[test]
fn the_shim_sees_every_writer() {
    let scenario = Scenario { job: Job::First, format: Format::Folder, replace: false, dedup: false };
    let campaign = campaign();
    let world = campaign.world(scenario).unwrap();
    assert_eq!(world.run(&With { record: true, ..With::default() }).unwrap().code, Some(0));
    let log = shim::log(&world.own("log")).unwrap();
    let written: BTreeSet<u64> =
        log.iter().filter_map(|op| if let Op::Write { inode, .. } = op { Some(*inode) } else { None }).collect();
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
fn a_loss_is_seen() {
    assert!(Campaign::new(Path::new("/bin/true")).case(Kind::Kills, 1).verdict.failures[0].contains("records only"));
}
