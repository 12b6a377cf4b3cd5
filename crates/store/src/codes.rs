//! Numbers that represent names in the database. They are stored: never reuse or change one.

use crawl_model::{Discovery, Lane, Outcome, StoreError, Strategy};

/// Outcomes with the name of their counter in the database.
pub(crate) const OUTCOMES: [(Outcome, &str); 6] = [
    (Outcome::Record, "records"),
    (Outcome::Failed, "failed"),
    (Outcome::Skipped, "skipped"),
    (Outcome::Redirected, "redirected"),
    (Outcome::Unchanged, "unchanged"),
    (Outcome::Gone, "gone"),
];

pub(crate) fn discovery(discovery: Discovery) -> i64 {
    match discovery {
        Discovery::Seed => 1,
        Discovery::BareSeed => 2,
        Discovery::Link => 3,
        Discovery::Redirect => 4,
        Discovery::Sitemap => 5,
        Discovery::SitemapFile => 6,
        Discovery::Probe => 7,
    }
}

pub(crate) fn strategy(strategy: Strategy) -> i64 {
    match strategy {
        Strategy::Static => 1,
        Strategy::Mobile => 2,
        Strategy::Amp => 3,
        Strategy::Chrome => 4,
        Strategy::StaticBestEffort => 5,
    }
}

pub(crate) fn lane(lane: Lane) -> i64 {
    match lane {
        Lane::Plain => 0,
        Lane::Browser => 1,
    }
}

pub(crate) fn outcome(outcome: Outcome) -> i64 {
    match outcome {
        Outcome::Record => 1,
        Outcome::Failed => 2,
        Outcome::Skipped => 3,
        Outcome::Redirected => 4,
        Outcome::Unchanged => 5,
        Outcome::Gone => 6,
    }
}

pub(crate) fn read_discovery(code: i64) -> Result<Discovery, StoreError> {
    read(Discovery::ALL, discovery, code, "way of discovery")
}

pub(crate) fn read_strategy(code: i64) -> Result<Strategy, StoreError> {
    read(Strategy::ALL, strategy, code, "strategy")
}

pub(crate) fn read_outcome(code: i64) -> Result<Outcome, StoreError> {
    let all: Vec<Outcome> = OUTCOMES.iter().map(|(outcome, _)| *outcome).collect();
    read(&all, outcome, code, "outcome")
}

fn read<T: Copy>(all: &[T], write: fn(T) -> i64, code: i64, what: &str) -> Result<T, StoreError> {
    all.iter()
        .copied()
        .find(|&value| write(value) == code)
        .ok_or_else(|| StoreError::Corrupt(format!("{code} is not the number of a {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for &d in Discovery::ALL {
            assert_eq!(read_discovery(discovery(d)).unwrap(), d);
        }
        for &s in Strategy::ALL {
            assert_eq!(read_strategy(strategy(s)).unwrap(), s);
        }
        for (o, _) in OUTCOMES {
            assert_eq!(read_outcome(outcome(o)).unwrap(), o);
        }
        assert!(matches!(read_strategy(0), Err(StoreError::Corrupt(_))));
    }
}
