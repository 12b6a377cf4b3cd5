//! Revisit intervals that contradict each other.

use super::{Config, ConfigErrors, RecrawlMode, fault};
use std::collections::BTreeMap;
use toml::{Table, Value};

const MIN: &str = "recrawl.min_age";
const MAX: &str = "recrawl.max_age";

/// Returns true if only one of the intervals is given.
pub(super) fn is_one_given(places: &BTreeMap<String, String>) -> bool {
    places.contains_key(MIN) != places.contains_key(MAX)
}

/// Adjusts the default of one interval if only the other is set and contradicts it.
pub(super) fn follow(config: &Config, places: &BTreeMap<String, String>, merged: &mut Table) {
    if config.recrawl.min_age <= config.recrawl.max_age {
        return;
    }
    let (from, to) = if places.contains_key(MAX) { ("max_age", "min_age") } else { ("min_age", "max_age") };
    if let Some(recrawl) = merged.get_mut("recrawl").and_then(Value::as_table_mut)
        && let Some(age) = recrawl.get(from).cloned()
    {
        recrawl.insert(to.to_owned(), age);
    }
}

/// Adds an error if the minimum time between two visits of a page is given as longer than the maximum. Only the mode `auto` obeys both.
pub(super) fn check(
    config: &Config,
    places: &BTreeMap<String, String>,
    merged: &Table,
    faults: &mut ConfigErrors,
) {
    let recrawl = &config.recrawl;
    if recrawl.mode != RecrawlMode::Auto || recrawl.min_age <= recrawl.max_age {
        return;
    }
    if let (Some(min), Some(max)) = (places.get(MIN), places.get(MAX)) {
        let value = |key| {
            merged
                .get("recrawl")
                .and_then(|recrawl| recrawl.get(key))
                .map(Value::to_string)
                .unwrap_or_default()
        };
        let (least, most) = (value("min_age"), value("max_age"));
        let problem = format!("{most} is less than {MIN}, {least} ({min}): raise one or lower the other");
        faults.add(|| fault(max, MAX, problem));
    }
}
