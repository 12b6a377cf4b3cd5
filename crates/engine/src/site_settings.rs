//! Settings by site, looked up by host.

use crate::{
    config::{Config, Limit, SiteSection, StrategyChoice},
    exit::Failure,
};
use crawl_fetch::{FilterError, UrlFilter};
use crawl_model::HostKey;
use regex::Regex;
use rustc_hash::FxHashMap;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Settings of all sites. The first entry whose pattern matches a host applies to it.
#[derive(Default)]
pub struct SiteSettings {
    entries: Vec<Site>,
    /// Entry of a host by its name with and without a port.
    exact: FxHashMap<String, usize>,
    /// Entry of the hosts below a name.
    below: FxHashMap<String, usize>,
    /// Entry of all hosts.
    all: Option<usize>,
}

/// Settings of one entry, with the pages that it has had.
struct Site {
    section: SiteSection,
    /// Filter that replaces that of the run.
    filter: Option<UrlFilter>,
    tags: Option<String>,
    /// Pages that were fetched or are being fetched.
    pages: AtomicU64,
    /// Pages that were fetched.
    kept: AtomicU64,
}

/// Right to fetch one page of a site with a limit. It is returned on drop unless it is used.
#[must_use]
pub struct PageClaim<'s>(Option<&'s Site>);

impl PageClaim<'_> {
    /// Keeps the claim: the page counts.
    pub fn keep(mut self) {
        if let Some(site) = self.0.take() {
            site.kept.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for PageClaim<'_> {
    fn drop(&mut self) {
        if let Some(site) = self.0 {
            site.pages.fetch_sub(1, Relaxed);
        }
    }
}

/// Reason why a page of a site with a limit cannot be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// The site has had all its pages.
    Full,
    /// The site has as many pages in flight as are left. Some of them may turn out to be no pages.
    InFlight,
}

impl SiteSettings {
    /// Takes the settings of a run.
    ///
    /// # Errors
    /// When a filter cannot be built (exit 2).
    pub fn of_config(config: &Config) -> Result<Self, Failure> {
        let crawl = &config.crawl;
        Self::new(&config.site, crawl.url_filters, (&crawl.include, &crawl.exclude))
            .map_err(|e| Failure::usage(e.to_string()))
    }

    /// Takes the sections in the order of their precedence. `include` and `exclude` are the lists of the run, for sites
    /// that set only one of them.
    ///
    /// # Errors
    /// When a filter cannot be built.
    pub fn new(
        sections: &[SiteSection],
        url_filters: bool,
        (include, exclude): (&[Regex], &[Regex]),
    ) -> Result<Self, FilterError> {
        let mut settings = Self::default();
        for (number, section) in sections.iter().enumerate() {
            for pattern in &section.patterns {
                if pattern == "*" {
                    settings.all.get_or_insert(number);
                } else if let Some(name) = pattern.strip_prefix("*.") {
                    settings.below.entry(name.to_owned()).or_insert(number);
                } else {
                    settings.exact.entry(pattern.clone()).or_insert(number);
                }
            }
            let filter = if section.include.is_some() || section.exclude.is_some() {
                let include = section.include.as_deref().unwrap_or(include);
                Some(UrlFilter::new(url_filters, include, section.exclude.as_deref().unwrap_or(exclude))?)
            } else {
                None
            };
            let tags = (!section.tags.is_empty()).then(|| serde_json::json!(section.tags).to_string());
            let (pages, kept) = (AtomicU64::new(0), AtomicU64::new(0));
            settings.entries.push(Site { section: section.clone(), filter, tags, pages, kept });
        }
        Ok(settings)
    }

    fn of(&self, host: &HostKey) -> Option<&Site> {
        self.entries.get(self.number(host)?)
    }

    /// Number of the entry that holds for a host.
    #[must_use]
    pub fn number(&self, host: &HostKey) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let key = host.as_str();
        let name = match key.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => key,
        };
        let mut found: Option<usize> = self.all;
        let mut note = |number: Option<&usize>| {
            found = number.copied().into_iter().chain(found).min();
        };
        note(self.exact.get(key));
        note(self.exact.get(name));
        let mut rest = name;
        while let Some((_, parent)) = rest.split_once('.') {
            note(self.below.get(parent));
            rest = parent;
        }
        found
    }

    /// Links from the nearest seed that are followed on a host, if its site sets them.
    #[must_use]
    pub fn depth(&self, host: &HostKey) -> Option<u64> {
        self.of(host)?.section.depth.map(Limit::or_max)
    }

    /// Returns true if a site has a depth of its own.
    #[must_use]
    pub fn has_depths(&self) -> bool {
        self.entries.iter().any(|site| site.section.depth.is_some())
    }

    /// Filter of a host, if its site sets one.
    #[must_use]
    pub fn filter(&self, host: &HostKey) -> Option<&UrlFilter> {
        self.of(host)?.filter.as_ref()
    }

    /// Pause between two requests to a host, if its site sets it.
    #[must_use]
    pub fn delay(&self, host: &HostKey) -> Option<Duration> {
        self.of(host)?.section.delay
    }

    /// Strategy of a host, if its site sets it.
    #[must_use]
    pub fn strategy(&self, host: &HostKey) -> Option<StrategyChoice> {
        self.of(host)?.section.strategy
    }

    /// Minimum and maximum revisit interval of a host, as far as its site sets them.
    #[must_use]
    pub fn ages(&self, host: &HostKey) -> (Option<Duration>, Option<Duration>) {
        self.of(host).map_or((None, None), |site| (site.section.min_age, site.section.max_age))
    }

    /// Tags of a host as a JSON object.
    #[must_use]
    pub fn tags(&self, host: &HostKey) -> Option<String> {
        self.of(host)?.tags.clone()
    }

    /// Claims a page of a host.
    ///
    /// # Errors
    /// When the pages of the limit of its site were fetched or are being fetched.
    pub fn claim_page(&self, host: &HostKey) -> Result<PageClaim<'_>, ClaimRefusal> {
        let Some((site, limit)) = self.of(host).and_then(|site| Some((site, site.section.limit?))) else {
            return Ok(PageClaim(None));
        };
        if site.pages.fetch_add(1, Relaxed) < limit {
            return Ok(PageClaim(Some(site)));
        }
        site.pages.fetch_sub(1, Relaxed);
        let is_full = site.kept.load(Relaxed) >= limit;
        Err(if is_full { ClaimRefusal::Full } else { ClaimRefusal::InFlight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> SiteSettings {
        let table: toml::Table = text.parse().unwrap();
        let sections: Vec<SiteSection> =
            table["site"].as_array().unwrap().iter().map(|site| site.clone().try_into().unwrap()).collect();
        SiteSettings::new(&sections, true, (&[], &[])).unwrap()
    }

    fn host(text: &str) -> HostKey {
        HostKey::from_stored(text)
    }

    #[test]
    fn the_first_matching_entry_holds() {
        let sites = settings(
            "[[site]]\nmatch = [\"a.example.org\", \"*.b.example.org\"]\ndepth = 1\n\
             [[site]]\nmatch = \"*.example.org\"\ndepth = 2\n\
             [[site]]\nmatch = \"localhost:8080\"\ndepth = 3\n",
        );
        let depth = |name: &str| sites.depth(&host(name));
        assert_eq!((depth("a.example.org"), depth("a.example.org:81")), (Some(1), Some(1)));
        assert_eq!((depth("x.b.example.org"), depth("b.example.org")), (Some(1), Some(2)));
        assert_eq!((depth("example.org"), depth("notexample.org")), (None, None));
        assert_eq!((depth("localhost:8080"), depth("localhost")), (Some(3), None));
        assert_eq!(SiteSettings::default().depth(&host("a.test")), None);
    }

    #[test]
    fn site_limit_counts_kept_pages_of_all_its_hosts() {
        let sites = settings("[[site]]\nmatch = \"*.example.org\"\nlimit = 2\n");
        let claim = |name: &str| sites.claim_page(&host(name));
        claim("a.example.org").unwrap().keep();
        drop(claim("a.example.org").unwrap());
        let last = claim("b.example.org").unwrap();
        assert_eq!(claim("c.example.org").err(), Some(ClaimRefusal::InFlight), "the last may be no page");
        last.keep();
        assert_eq!(claim("c.example.org").err(), Some(ClaimRefusal::Full));
        assert!(claim("other.test").is_ok());
    }
}
