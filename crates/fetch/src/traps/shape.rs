//! Traps that the shape of a URL reveals.

use super::{Trap, TrapSettings};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use std::sync::LazyLock;
use url::Url;

const FILE: &str = "traps.toml";
const TEXT: &str = include_str!("../../../../config/rules/traps.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrapFile {
    calendar: Vec<String>,
}

static CALENDAR: LazyLock<FxHashSet<String>> =
    LazyLock::new(|| crate::rules::embedded::<TrapFile>(FILE, TEXT).calendar.into_iter().collect());

pub(super) fn classify(url: &Url, settings: &TrapSettings, this_year: i32) -> Option<Trap> {
    let path = url.path();
    let segments = path.bytes().filter(|b| *b == b'/').count();
    if settings.path_segments.is_some_and(|most| segments > most) {
        return Some(Trap::PathDepth(segments));
    }
    if let Some(most) = settings.segment_repeats.filter(|most| segments > *most)
        && let Some(segment) = repeated(path, most)
    {
        return Some(Trap::RepeatedSegment(segment.to_owned()));
    }
    let query = url.query().unwrap_or_default();
    let parameters = if query.is_empty() { 0 } else { query.split('&').count() };
    if settings.parameters.is_some_and(|most| parameters > most) {
        return Some(Trap::Parameters(parameters));
    }
    let (before, after) = settings.calendar_years?;
    let year = calendar_year(path, query)?;
    let near = this_year - i32::from(before)..=this_year + i32::from(after);
    (!near.contains(&year)).then_some(Trap::Calendar(year))
}

/// A segment that occurs in the path more than `most` times.
fn repeated(path: &str, most: usize) -> Option<&str> {
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    path.split('/').filter(|segment| !segment.is_empty()).find(|segment| {
        let count = counts.entry(segment).or_default();
        *count += 1;
        *count > most
    })
}

/// Year of a calendar page.
fn calendar_year(path: &str, query: &str) -> Option<i32> {
    let pairs = || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut names = path.split('/').chain(pairs().map(|(name, _)| name));
    let mut from_year = path.split('/').skip_while(|segment| leading_year(segment).is_none()).peekable();
    // the words cost a look-up each, and a year is rarer, so it is searched first
    let year = match from_year.peek() {
        Some(segment) => leading_year(segment),
        None => pairs().find_map(|(_, value)| leading_year(value)),
    }?;
    if from_year.any(names_one_page) {
        return None;
    }
    names.any(|name| CALENDAR.contains(name.to_ascii_lowercase().as_str())).then_some(year)
}

/// Returns true for a segment of two words or more, or with a long number: the page of an event or a press release. A
/// calendar can only generate dates and views.
fn names_one_page(segment: &str) -> bool {
    /// File extensions have fewer letters.
    const LONGEST_EXTENSION: usize = 5;
    let stem = match segment.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= LONGEST_EXTENSION => stem,
        _ => segment,
    };
    let words = stem.split(['-', '_', '.']).filter(|word| word.contains(|c: char| c.is_alphabetic()));
    // months and days have two digits, dates begin with a year
    let is_number = stem.len() > 4 && stem.bytes().all(|b| b.is_ascii_digit());
    words.count() > 1 || (is_number && !stem.starts_with("19") && !stem.starts_with("20"))
}

/// Four digits that stand alone or begin a date: `2024`, `2024-05`, `20240501`.
fn leading_year(text: &str) -> Option<i32> {
    let digits = text.get(..4).filter(|head| head.bytes().all(|b| b.is_ascii_digit()))?;
    let rest = &text[4..];
    let is_date = rest.is_empty()
        || rest.starts_with('-')
        || (matches!(rest.len(), 2 | 4) && rest.bytes().all(|b| b.is_ascii_digit()));
    if is_date { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trap_rules_file_parses() {
        assert!(
            crate::rules::parse::<TrapFile>(FILE, TEXT).unwrap().calendar.contains(&"calendar".to_owned())
        );
    }
}
