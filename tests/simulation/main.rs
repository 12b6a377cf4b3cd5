//! Whole crawls under simulated time and a simulated network: random sites, faults and restarts, each from a
//! seed.
//!
//! The stages, the store on SQLite and the outputs are the real ones; network, clock, threads and random
//! numbers are replaced. A seed gives the same run each time. `SIM_SEEDS` is the number of seeds, `SIM_FIRST`
//! the first one: `SIM_FIRST=17 SIM_SEEDS=1` repeats seed 17. `regressions.txt` lists seeds that once failed.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test that uses them"
)]

mod check;
mod faults;
mod network;
mod plan;
mod play;
mod rng;
mod site;
mod world;

use plan::Plan;
use play::{Played, Stage, Stop};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Mutex,
    time::Instant,
};

/// Seeds of the short run.
const SEEDS: u64 = 100;
/// Stack size of a thread, equal to that of the extractor.
const STACK: usize = 16 << 20;

/// Ends of the processes with one kind of fault.
#[derive(Clone, Copy, Default)]
struct Row {
    tried: u64,
    struck: u64,
    lost: u64,
    doubled: u64,
    failed: u64,
}

#[derive(Default)]
struct Tally {
    rows: BTreeMap<&'static str, Row>,
    failures: Vec<u64>,
    records: u64,
    processes: u64,
}

/// A directory in memory.
fn base() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("crawl-simulation-").tempdir_in(folder).unwrap().keep()
}

fn play(plan: &Plan, dir: &Path, disturbed: Option<&Played>) -> Result<Played, Stop> {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).unwrap();
    match disturbed {
        None => Stage::new(plan, &plan.site, dir).play(|_| Vec::new()),
        Some(reference) => Stage::new(plan, &plan.disturbed, dir).play(|round| {
            let lives = &reference.rounds[round as usize - 1].lives;
            plan.faults(round, lives[0].calls, lives[0].time_ms)
        }),
    }
}

/// Plays a seed, undisturbed and disturbed, and compares. Returns the differences.
fn seed(number: u64, dir: &Path, tally: &Mutex<Tally>) -> Result<(), String> {
    let plan = Plan::of(number);
    let reference = play(&plan, dir, None).map_err(|Stop(why)| format!("undisturbed: {why}"))?;
    let undisturbed =
        check::counts(&plan, &reference).and_then(|()| check::politeness(&plan, &reference.log));
    undisturbed.map_err(|why| format!("undisturbed: {why}\n{plan}"))?;
    let found = play(&plan, dir, Some(&reference)).map_err(|Stop(why)| why)?;
    let difference = check::compare(&plan, &reference, &found);
    if std::env::var_os("SIM_LOG").is_some() {
        found.log.iter().for_each(|request| println!("{request:?}"));
    }
    let polite = check::politeness(&plan, &found.log).map_err(|why| format!("{why}\n{plan}"));
    let mut tally = tally.lock().unwrap();
    for round in &found.rounds {
        tally.records += round.records.len() as u64;
        tally.processes += round.lives.len() as u64;
        for life in &round.lives {
            let row = tally.rows.entry(life.fault.name()).or_default();
            row.tried += 1;
            row.struck += u64::from(life.struck);
            row.lost += difference.lost.len() as u64;
            row.doubled += difference.doubled.len() as u64;
            row.failed += u64::from(!difference.is_empty() || polite.is_err());
        }
    }
    drop(tally);
    if !difference.is_empty() {
        let lives: Vec<_> = found.rounds.iter().map(|round| &round.lives).collect();
        return Err(format!("{difference:#?}\n{lives:?}\n{plan}"));
    }
    polite
}

/// Plays seeds on two threads.
fn simulate(seeds: impl Iterator<Item = u64> + Send) -> Tally {
    let (tally, seeds) = (Mutex::new(Tally::default()), Mutex::new(seeds));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let work = || {
                let base = base();
                loop {
                    let Some(number) = seeds.lock().unwrap().next() else { break };
                    let dir = base.join("crawl");
                    let outcome = catch_unwind(AssertUnwindSafe(|| seed(number, &dir, &tally)));
                    let why = match outcome {
                        Ok(Ok(())) => continue,
                        Ok(Err(why)) => why,
                        Err(panic) => format!("panicked: {}", crawl_engine::cpu::words_of(&*panic)),
                    };
                    println!("seed {number}: {why}\n");
                    tally.lock().unwrap().failures.push(number);
                }
                let _ = std::fs::remove_dir_all(base);
            };
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).unwrap();
        }
    });
    tally.into_inner().unwrap()
}

fn assert_none_failed(tally: &Tally) {
    let how = "repeat one with SIM_FIRST=<seed> SIM_SEEDS=1 cargo test -p crawl --test simulation random";
    assert!(tally.failures.is_empty(), "seeds {:?} failed; {how}", tally.failures);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn random_crawls_neither_lose_nor_duplicate_records() {
    let (first, count) = (number("SIM_FIRST").unwrap_or(1), number("SIM_SEEDS").unwrap_or(SEEDS));
    let begun = Instant::now();
    let tally = simulate(first..first + count);
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{:<24}{:>8}{:>8}{:>9}{:>6}{:>8}{:>8}",
        "fault", "tried", "struck", "survived", "lost", "doubled", "failed"
    );
    for (fault, row) in &tally.rows {
        let survived = row.tried - row.failed;
        println!(
            "{fault:<24}{:>8}{:>8}{survived:>9}{:>6}{:>8}{:>8}",
            row.tried, row.struck, row.lost, row.doubled, row.failed
        );
    }
    println!(
        "{count} seeds, {} processes, {} records in {seconds:.1} s: {:.0} seeds a minute",
        tally.processes,
        tally.records,
        count as f64 * 60.0 / seconds
    );
    assert_none_failed(&tally);
}

#[test]
fn earlier_failing_seeds_pass() {
    let seeds = include_str!("regressions.txt").lines().filter_map(|line| {
        let number = line.split('#').next().unwrap_or_default().trim();
        (!number.is_empty()).then(|| number.parse::<u64>().unwrap())
    });
    assert_none_failed(&simulate(seeds));
}

/// The same seed gives the same requests at the same times.
#[test]
fn simulation_seed_reproduces_the_same_crawl() {
    for number in [4, 5, 7] {
        let plan = Plan::of(number);
        let base = base();
        let mut logs = Vec::new();
        for _ in 0..2 {
            let reference = play(&plan, &base.join("crawl"), None).ok().unwrap();
            let disturbed = play(&plan, &base.join("crawl"), Some(&reference)).ok().map(|played| played.log);
            logs.push(format!("{:?}\n{disturbed:?}", reference.log));
        }
        let _ = std::fs::remove_dir_all(base);
        assert_eq!(logs[0], logs[1], "seed {number}");
    }
}
