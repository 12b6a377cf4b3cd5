//! The rules by which pages are extracted: built in, with the user's laid over them and filter lists beside.

use crate::{config::ExtractSection, exit::Failure};
use crawl_extract::{Options, PageExtractor, Rules};
use std::path::{Path, PathBuf};

/// The `Content-Type` of markup that is text already, regardless of its declared charset.
pub const HTML: &str = "text/html; charset=utf-8";

/// Faulty lines of filter lists that are reported one by one.
const MAX_REPORTED_LINES: usize = 5;

/// Loads the rules. Faulty lines of filter lists are reported by `warn` and left out, since lists are other
/// people's and change by themselves. Faults of the user's own rules are errors.
///
/// # Errors
/// Names every fault of the rules with file, line and key, and every list that cannot be read.
pub fn load(dir: Option<&Path>, lists: &[PathBuf], warn: impl Fn(&str)) -> Result<Rules, Failure> {
    let rules = Rules::load(dir)
        .and_then(|rules| rules.with_consent_lists(lists))
        .map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(report) = rules.list_report() {
        report
            .problems
            .iter()
            .take(MAX_REPORTED_LINES)
            .for_each(|problem| warn(&format!("{problem}; left out")));
        if report.problems.len() > MAX_REPORTED_LINES {
            warn(&format!(
                "{} more invalid lines in the consent lists",
                report.problems.len() - MAX_REPORTED_LINES
            ));
        }
        tracing::info!("consent lists: {report}");
    }
    Ok(rules)
}

/// The extractor for the last pass, with the rules that the settings name.
///
/// # Errors
/// Names every fault of the rules.
pub fn last_pass_extractor(settings: &ExtractSection) -> Result<PageExtractor, Failure> {
    let overlay = Some(settings.rules.as_str()).filter(|dir| !dir.is_empty()).map(Path::new);
    let rules = load(overlay, &[], |line| tracing::warn!("{line}"))?;
    Ok(PageExtractor::from_rules(rules, Options::default()))
}
