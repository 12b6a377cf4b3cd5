//! Extractors of a crawl: a default one, and one for each site with its own settings of links or rules.

use crate::{config::Config, exit::Failure, page_rules, site_settings::SiteSettings};
use crawl_extract::{Options, PageExtractor, Rules};
use crawl_model::HostKey;
use rustc_hash::FxHashMap;
use std::{path::Path, sync::Arc};

/// Extractors, looked up by host.
pub struct Extractors {
    /// Extractor of hosts without settings of their own.
    common: PageExtractor,
    /// Extractors of entries of [`SiteSettings`], by number.
    own: FxHashMap<usize, PageExtractor>,
    sites: Arc<SiteSettings>,
}

impl Extractors {
    /// Builds the extractors. `rules` and `options` are those of the run.
    ///
    /// # Errors
    /// Names every fault of the rules of a site.
    pub fn new(
        config: &Config,
        rules: Arc<Rules>,
        options: &Options,
        sites: Arc<SiteSettings>,
    ) -> Result<Self, Failure> {
        let mut own = FxHashMap::default();
        for (number, site) in config.site.iter().enumerate() {
            if site.links.is_none() && site.rules.is_none() {
                continue;
            }
            let rules = match &site.rules {
                Some(dir) => {
                    Arc::new(page_rules::load(Some(Path::new(dir)), &config.extract.consent_lists, |line| {
                        tracing::warn!("{line}");
                    })?)
                }
                None => Arc::clone(&rules),
            };
            let options = options.clone().with_links(site.links.unwrap_or(config.extract.links));
            own.insert(number, PageExtractor::from_rules(rules, options));
        }
        Ok(Self { common: PageExtractor::from_rules(rules, options.clone()), own, sites })
    }

    /// Extractor of a host.
    #[must_use]
    pub fn of(&self, host: Option<&HostKey>) -> &PageExtractor {
        if self.own.is_empty() {
            return &self.common;
        }
        let number = host.and_then(|host| self.sites.number(host));
        number.and_then(|number| self.own.get(&number)).unwrap_or(&self.common)
    }
}
