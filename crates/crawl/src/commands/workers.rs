//! `crawl workers`: the workers of a crawl in a database.

use super::{
    outputs::{open, print},
    write_text,
};
use crate::{cli::WorkersArgs, logging::say, words::counted};
use crawl_engine::exit::{Exit, Failure};
use crawl_model::rfc3339;
use crawl_store::WorkerState;
use std::fmt::Write as _;

pub fn run(args: &WorkersArgs) -> Result<Exit, Failure> {
    let mut workers = open(&args.store)?.workers()?;
    let known = workers.len();
    workers.retain(|worker| args.all || worker.is_of_round());
    let exit = if args.store.json {
        print(&workers)?
    } else {
        write_text(&in_words(&workers))?;
        Exit::Done
    };
    let left_out = known - workers.len();
    if left_out > 0 {
        let (workers, have) =
            (counted(left_out as u64, "more worker"), if left_out == 1 { "has" } else { "have" });
        say(&format!("{workers} {have} done nothing in this round: --all lists them"));
    }
    Ok(exit)
}

fn in_words(workers: &[WorkerState]) -> String {
    let widest = workers.iter().map(|worker| worker.name.len()).max().unwrap_or(0).max(6);
    let mut out = format!(
        "{:widest$}  {:24}  {:>16}  {:>6}  {:>8}  {:>8}\n",
        "worker", "since", "lease", "hosts", "records", "failed"
    );
    for worker in workers {
        let _ = writeln!(
            out,
            "{:widest$}  {:24}  {:>16}  {:>6}  {:>8}  {:>8}",
            worker.name,
            rfc3339(worker.since_ms),
            lease(worker.lease_ms),
            worker.hosts,
            worker.records,
            worker.failed
        );
    }
    out
}

/// Time until the end of a lease, or since then.
fn lease(left_ms: i64) -> String {
    if left_ms > 0 {
        return format!("{} s", left_ms / 1_000);
    }
    let seconds = left_ms.unsigned_abs() / 1_000;
    let (time, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("ended {time} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_is_listed_on_one_line() {
        let worker = |name: &str, lease_ms: i64| WorkerState {
            name: name.into(),
            starts: 1,
            since_ms: 0,
            lease_ms,
            hosts: 3,
            records: 12,
            failed: 1,
            settled: 14,
            has_counts: true,
        };
        let ended = [-5, -60_000, -86_399_000, -200_000_000].map(|ms| worker("b", ms));
        let text = in_words(&[&[worker("longer-name", 59_900)][..], &ended].concat());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["longer-name", "1970-01-01T00:00:00.000Z", "59", "s", "3", "12", "1"]);
        assert_eq!(lines[2][2..], ["ended", "0", "s", "ago", "3", "12", "1"]);
        assert_eq!(lines[3][2..5], ["ended", "1", "min"]);
        assert_eq!(lines[4][2..5], ["ended", "23", "h"]);
        assert_eq!(lines[5][2..5], ["ended", "2", "d"]);
        let ends: Vec<usize> = text.lines().map(str::len).collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "columns stand below each other: {text}");
    }
}
