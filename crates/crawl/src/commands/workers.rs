//! `crawl workers`: the workers of a crawl in a database.

use super::{
    outputs::{open, print},
    write_text,
};
use crate::cli::StoreArgs;
use crawl_engine::exit::{Exit, Failure};
use crawl_model::rfc3339;
use crawl_store::WorkerState;
use std::fmt::Write as _;

pub fn run(args: &StoreArgs) -> Result<Exit, Failure> {
    let workers = open(args)?.workers()?;
    if args.json { print(&workers) } else { write_text(&in_words(&workers)).map(|()| Exit::Done) }
}

fn in_words(workers: &[WorkerState]) -> String {
    let widest = workers.iter().map(|worker| worker.name.len()).max().unwrap_or(0).max(6);
    let mut out = format!(
        "{:widest$}  {:20}  {:>7}  {:>6}  {:>8}  {:>8}\n",
        "worker", "since", "lease", "hosts", "records", "failed"
    );
    for worker in workers {
        let lease = match worker.lease_ms {
            left if left > 0 => format!("{} s", left / 1_000),
            _ => "ended".to_owned(),
        };
        let _ = writeln!(
            out,
            "{:widest$}  {:20}  {lease:>7}  {:>6}  {:>8}  {:>8}",
            worker.name,
            rfc3339(worker.since_ms),
            worker.hosts,
            worker.records,
            worker.failed
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_a_line() {
        let worker = |name: &str, lease_ms: i64| WorkerState {
            name: name.into(),
            starts: 1,
            since_ms: 0,
            lease_ms,
            hosts: 3,
            records: 12,
            failed: 1,
        };
        let text = in_words(&[worker("longer-name", 59_900), worker("b", -5)]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["longer-name", "1970-01-01T00:00:00.000Z", "59", "s", "3", "12", "1"]);
        assert_eq!(lines[2][2..], ["ended", "3", "12", "1"]);
    }
}
