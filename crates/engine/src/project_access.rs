//! Projects by the settings of a crawl.

use crate::{config::Config, exit::Failure, page_rules};
use crawl_model::ProjectStore;
use crawl_projects::{AnalysisSettings, Projects};
use std::sync::Arc;

/// The projects of a store, with the rules and the parameters of analyses that the settings name.
///
/// # Errors
/// When the rules of extraction cannot be used.
pub fn projects(store: Arc<dyn ProjectStore>, settings: &Config) -> Result<Projects, Failure> {
    let dedup = &settings.dedup;
    let defaults = AnalysisSettings {
        mode: dedup.mode,
        threshold_pct: dedup.threshold_pct,
        min_pages: dedup.min_pages,
        min_block_chars: dedup.min_block_chars,
    };
    Ok(Projects::new(store, defaults, page_rules::last_pass_extractor(&settings.extract)?))
}
