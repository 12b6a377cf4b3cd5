//! Distribution of the values of a rule, over all documents and by domain. Memory does not grow with the
//! documents: values are counted in bins, and domains beyond the first [`DOMAINS`] are counted as one.

use super::Judged;
use crawl_model::HostKey;
use crawl_quality::{Checker, Limit, RuleSet};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write};
use url::Url;

/// Maximum number of domains with counts of their own.
const DOMAINS: usize = 1000;

/// Bins of a rule's values, over all documents and for one domain.
const FINE: usize = 400;
const COARSE: usize = 40;

/// Domains in the printed table.
const PRINTED: usize = 20;

/// Name for documents without a domain.
const NONE: &str = "(none)";
/// Name for documents of domains beyond the limit.
const OTHERS: &str = "(others)";

/// Counts of documents.
#[derive(Clone)]
struct Counts {
    documents: u64,
    short: u64,
    /// Documents that fail one of the selected sets.
    failing: u64,
    by_set: [u64; RuleSet::ALL.len()],
    rules: Vec<RuleCounts>,
}

/// Counts of the values of a rule.
#[derive(Clone)]
struct RuleCounts {
    failed: u64,
    asked: u64,
    most: f64,
    bins: Vec<u64>,
}

/// Distribution of all rules, over all documents and by domain.
pub(super) struct Distribution {
    all: Counts,
    domains: FxHashMap<String, Counts>,
}

impl Counts {
    fn new(rules: usize, bins: usize) -> Self {
        let empty = RuleCounts { failed: 0, asked: 0, most: 0.0, bins: vec![0; bins] };
        Self { documents: 0, short: 0, failing: 0, by_set: Default::default(), rules: vec![empty; rules] }
    }

    fn add(&mut self, checker: &Checker, judged: &Judged, fails: bool) {
        let assessment = &judged.assessment;
        self.documents += 1;
        self.short += u64::from(assessment.short);
        self.failing += u64::from(fails);
        for (count, set) in self.by_set.iter_mut().zip(RuleSet::ALL) {
            *count += u64::from(checker.fails(assessment, &[set]));
        }
        let rules = checker.rules().iter().zip(&assessment.values);
        for (counts, (rule, value)) in self.rules.iter_mut().zip(rules) {
            let Some(value) = *value else { continue };
            counts.asked += 1;
            counts.most = counts.most.max(value);
            let bin = bin(value, rule.is_share(), counts.bins.len());
            if let Some(count) = counts.bins.get_mut(bin) {
                *count += 1;
            }
        }
        for at in &assessment.failed {
            if let Some(counts) = self.rules.get_mut(*at) {
                counts.failed += 1;
            }
        }
    }
}

/// Returns the bin of a value: shares by equal steps from 0 to 1, numbers by equal steps of their logarithm
/// from 0 to 2^20. Larger values are in the last bin.
fn bin(value: f64, share: bool, bins: usize) -> usize {
    let place = if share { value } else { (1.0 + value).log2() / 20.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place among some hundred")]
    let bin = (place.clamp(0.0, 1.0) * to_f64(bins as u64)) as usize;
    bin.min(bins.saturating_sub(1))
}

/// The least value of a bin.
fn edge(bin: usize, share: bool, bins: usize) -> f64 {
    let place = to_f64(bin as u64) / to_f64(bins as u64);
    if share { place } else { (place * 20.0).exp2() - 1.0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
fn to_f64(n: u64) -> f64 {
    n as f64
}

impl RuleCounts {
    /// The value that a share of the values keeps below, to the width of a bin.
    fn quantile(&self, share: f64, is_share: bool) -> f64 {
        let wanted = to_f64(self.asked) * share;
        let mut below = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            below += count;
            if to_f64(below) >= wanted && *count > 0 {
                let middle =
                    (edge(bin, is_share, self.bins.len()) + edge(bin + 1, is_share, self.bins.len())) / 2.0;
                // the first bin holds the zeros, of which most texts have many
                return if bin == 0 { 0.0 } else { middle.min(self.most) };
            }
        }
        self.most
    }
}

/// The distribution as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    /// Sets by which documents fail.
    sets: &'a [RuleSet],
    /// Maximum word ratio if the word is a term, and minimum words of a text whose ratio is judged.
    term_at_most: f64,
    min_words: usize,
    rules: Vec<ShownRule<'a>>,
    all: ShownCounts<'a>,
    /// Domains by the number of documents.
    domains: Vec<ShownCounts<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownRule<'a> {
    name: &'a str,
    set: RuleSet,
    at_most: Option<f64>,
    at_least: Option<f64>,
    /// Bins of `values` are equal steps from 0 to 1; else of the logarithm of value + 1, to base 2, from 0 to 20.
    is_share: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownCounts<'a> {
    domain: &'a str,
    documents: u64,
    short: u64,
    failing: u64,
    failed_by_set: BTreeMap<&'static str, u64>,
    /// Values in the order of `rules`.
    values: Vec<ShownValues>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownValues {
    failed: u64,
    asked: u64,
    median: f64,
    p95: f64,
    most: f64,
    /// Documents by value, in 40 bins; those at the end that are empty are left out.
    bins: Vec<u64>,
}

impl Distribution {
    pub fn new(checker: &Checker) -> Self {
        Self { all: Counts::new(checker.rules().len(), FINE), domains: FxHashMap::default() }
    }

    pub fn add(&mut self, checker: &Checker, judged: &Judged, fails: bool) {
        self.all.add(checker, judged, fails);
        let domain = domain(&judged.document.url);
        let known = self.domains.len() < DOMAINS || self.domains.contains_key(&domain);
        let counts = self.domains.entry(if known { domain } else { OTHERS.to_owned() });
        counts.or_insert_with(|| Counts::new(checker.rules().len(), COARSE)).add(checker, judged, fails);
    }

    /// Number of documents, and number of failing ones.
    pub fn counts(&self) -> (u64, u64) {
        (self.all.documents, self.all.failing)
    }

    /// Domains by their documents.
    fn by_size(&self) -> Vec<(&str, &Counts)> {
        let mut domains: Vec<_> = self.domains.iter().map(|(name, counts)| (name.as_str(), counts)).collect();
        domains.sort_unstable_by(|a, b| (b.1.documents, a.0).cmp(&(a.1.documents, b.0)));
        domains
    }

    pub fn shown<'a>(&'a self, checker: &'a Checker, sets: &'a [RuleSet]) -> Shown<'a> {
        let rules = checker.rules().iter().map(|rule| ShownRule {
            name: &rule.name,
            set: rule.set,
            at_most: if let Limit::AtMost(most) = rule.limit { Some(most) } else { None },
            at_least: if let Limit::AtLeast(least) = rule.limit { Some(least) } else { None },
            is_share: rule.is_share(),
        });
        let shown = |(name, counts)| shown_counts(checker, name, counts);
        let text = &checker.settings().text;
        Shown {
            sets,
            term_at_most: text.max_term_repetition_ratio,
            min_words: text.min_words,
            rules: rules.collect(),
            all: shown_counts(checker, "", &self.all),
            domains: self.by_size().into_iter().map(shown).collect(),
        }
    }

    /// The distribution as text: rules, then the largest domains.
    pub fn table(&self, checker: &Checker, sets: &[RuleSet]) -> String {
        let mut out = String::new();
        // writing to a string cannot fail
        let _ = self.write_table(checker, sets, &mut out);
        out
    }

    fn write_table(&self, checker: &Checker, sets: &[RuleSet], out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "{:<40} {:>10} {:>9} {:>7} {:>8} {:>8} {:>8}",
            "rule", "limit", "fail", "", "median", "95 %", "maximum"
        )?;
        for (rule, counts) in checker.rules().iter().zip(&self.all.rules) {
            let limit = match rule.limit {
                Limit::AtMost(most) => format!("≤ {most}"),
                Limit::AtLeast(least) => format!("≥ {least}"),
                Limit::None => String::new(),
            };
            let failed = if rule.limit == Limit::None { String::new() } else { counts.failed.to_string() };
            let share =
                if rule.limit == Limit::None { String::new() } else { percent(counts.failed, counts.asked) };
            let value =
                |value: f64| if rule.is_share() { format!("{value:.3}") } else { format!("{value:.0}") };
            let quantile = |share: f64| value(counts.quantile(share, rule.is_share()));
            let (median, p95, most) = (quantile(0.5), quantile(0.95), value(counts.most));
            writeln!(
                out,
                "{:<40} {limit:>10} {failed:>9} {share:>7} {median:>8} {p95:>8} {most:>8}",
                rule.name
            )?;
        }
        let asked: Vec<RuleSet> =
            RuleSet::ALL.into_iter().filter(|set| checker.settings().sets.contains(set)).collect();
        write!(out, "\n{:<40} {:>10} {:>7}", "domain", "documents", "short")?;
        for set in &asked {
            write!(out, " {:>17}", set.name())?;
        }
        writeln!(out)?;
        let domains = self.by_size();
        let mut rows: Vec<(&str, &Counts)> = domains.iter().take(PRINTED).copied().collect();
        if domains.len() > 1 {
            rows.push(("all", &self.all));
        }
        for (name, counts) in rows {
            write!(out, "{name:<40} {:>10} {:>7}", counts.documents, counts.short)?;
            for (count, _) in counts.by_set.iter().zip(RuleSet::ALL).filter(|(_, set)| asked.contains(set)) {
                write!(out, " {:>17}", format!("{count} {:>7}", percent(*count, counts.documents)))?;
            }
            writeln!(out)?;
        }
        if domains.len() > PRINTED {
            writeln!(out, "{} more domains: see --stats and --html", domains.len() - PRINTED)?;
        }
        let names: Vec<&str> = sets.iter().map(|set| set.name()).collect();
        writeln!(
            out,
            "The column of a set counts the documents that fail it. --drop leaves out those that fail {}.",
            names.join(", ")
        )
    }
}

fn shown_counts<'a>(checker: &Checker, domain: &'a str, counts: &Counts) -> ShownCounts<'a> {
    let values = checker.rules().iter().zip(&counts.rules).map(|(rule, values)| {
        let step = (values.bins.len() / COARSE).max(1);
        let mut bins: Vec<u64> = values.bins.chunks(step).map(|bins| bins.iter().sum()).collect();
        while bins.last() == Some(&0) {
            bins.pop();
        }
        ShownValues {
            failed: values.failed,
            asked: values.asked,
            median: round(values.quantile(0.5, rule.is_share())),
            p95: round(values.quantile(0.95, rule.is_share())),
            most: round(values.most),
            bins,
        }
    });
    let asked = |set: &RuleSet| checker.settings().sets.contains(set);
    ShownCounts {
        domain,
        documents: counts.documents,
        short: counts.short,
        failing: counts.failing,
        failed_by_set: RuleSet::ALL
            .into_iter()
            .zip(counts.by_set)
            .filter(|(set, _)| asked(set))
            .map(|(set, count)| (set.name(), count))
            .collect(),
        values: values.collect(),
    }
}

/// The host of an address, with its port where that is not the default.
pub(super) fn domain(url: &str) -> String {
    Url::parse(url)
        .ok()
        .as_ref()
        .and_then(HostKey::of)
        .map_or_else(|| NONE.to_owned(), |host| host.to_string())
}

fn percent(part: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * to_f64(part) / to_f64(of.max(1)))
}

fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_computed_from_bins() {
        for (value, share) in
            [(0.0, true), (0.2, true), (0.999, true), (1.0, true), (0.0, false), (50.0, false), (1e9, false)]
        {
            let found = bin(value, share, 40);
            assert!(found < 40 && edge(found, share, 40) <= value + 1e-9, "{value}");
            assert!(found == 39 || value < edge(found + 1, share, 40), "{value}");
        }
        let mut counts = RuleCounts { failed: 0, asked: 0, most: 0.9, bins: vec![0; 400] };
        for n in 0..100 {
            counts.bins[bin(f64::from(n) / 100.0, true, 400)] += 1;
            counts.asked += 1;
        }
        assert!((counts.quantile(0.5, true) - 0.49).abs() < 0.005, "{}", counts.quantile(0.5, true));
        assert!((counts.quantile(0.95, true) - 0.9).abs() < 1e-9);
    }
}
