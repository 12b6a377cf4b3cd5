//! Checks of the files that settings name, before the state of a crawl is opened or deleted.

use crate::{
    config::{AuthEntry, Config, is_pipe},
    exit::Failure,
    judge::QualityJudge,
};
use crawl_extract::Rules;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Checks rules, filter lists, credentials and certificates. A run reads them again once its state is open, and reports faulty lines
/// of filter lists then.
///
/// # Errors
/// When one of them cannot be used (exit 2).
pub fn check(config: &Config) -> Result<(), Failure> {
    let of_sites = config.site.iter().filter_map(|site| site.rules.as_deref());
    let common = Some(config.extract.rules.as_str()).filter(|dir| !dir.is_empty());
    let directories: BTreeSet<Option<&str>> = of_sites.map(Some).chain([common]).collect();
    // a pipe would be empty when the run reads it
    let lists: Vec<PathBuf> =
        config.extract.consent_lists.iter().filter(|list| !is_pipe(list)).cloned().collect();
    // A test holds that the built-in rules alone are valid.
    for directory in directories.into_iter().filter(|directory| directory.is_some() || !lists.is_empty()) {
        Rules::load(directory.map(Path::new))
            .and_then(|rules| rules.with_consent_lists(&lists))
            .map_err(|error| Failure::usage(error.to_string()))?;
    }
    if config.quality.enabled && !is_pipe(&config.quality.rules) {
        QualityJudge::new(config)?;
    }
    if is_pipe(&config.fetch.ca_file) || config.fetch.auth.iter().any(AuthEntry::is_of_pipe) {
        return Ok(());
    }
    config.http_settings()?.check_roots().map_err(|error| Failure::usage(error.to_string()))
}
