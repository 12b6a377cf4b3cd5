//! Rounds over known URLs: the choice of due URLs, and the meaning of their answers. docs/design/recrawl.md defines a
//! change.

mod policy;

pub use policy::{Due, Policy};

use crate::{
    config::{Config, Emit, RecrawlMode},
    rules_version::Readings,
    site_settings::SiteSettings,
};
use crawl_model::{
    Before, BodyHash, Change, ContentHash, CrawlRequest, FetchedPage, HostKey, RulesVersion, Strategy,
    TextHash, UrlKey,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Rules of a round over known URLs.
pub struct Recrawl {
    /// True in a round over known URLs; other rounds use nothing of this struct.
    pub on: bool,
    /// True if pages of earlier rounds are known, so that changes mean something.
    pub knows_pages: bool,
    /// True if this process began the round, so that its counts of unchanged pages are complete.
    pub whole: bool,
    /// True if unchanged pages are written with their text too.
    pub writes_all: bool,
    /// True if unchanged pages are written whose record the output lacks.
    writes_missing: bool,
    /// URLs whose content the previous round missed. They are extracted again.
    pub missed_before: FxHashSet<UrlKey>,
    /// Versions of the present rules, for pages whose links are followed.
    rules: Readings,
    /// Maximum depth, at which links are not followed.
    depth: u64,
    /// Decides which known URLs are due.
    pub policy: Policy,
    mode: RecrawlMode,
    /// Settings by site.
    sites: Arc<SiteSettings>,
    /// Number of unchanged and not due pages by host, as far as this process knows.
    unchanged: Mutex<FxHashMap<HostKey, u64>>,
}

impl Recrawl {
    /// Starts a round, over known URLs if `on`. It counts as begun by an earlier process until
    /// [`Recrawl::whole`] is set.
    #[must_use]
    pub fn new(config: &Config, rules: RulesVersion, on: bool) -> Self {
        let (depth, mode) = (config.crawl.depth.or_max(), config.recrawl.mode);
        let rules = Readings::of(rules, config);
        let policy = Policy::new(&config.recrawl, rules, depth);
        Self {
            on,
            knows_pages: on,
            whole: false,
            writes_all: false,
            writes_missing: config.output.emit != Emit::Changes,
            missed_before: FxHashSet::default(),
            rules,
            depth,
            policy,
            mode,
            sites: Arc::default(),
            unchanged: Mutex::default(),
        }
    }

    /// Sets the depths and revisit intervals of sites.
    #[must_use]
    pub fn with_sites(self, sites: Arc<SiteSettings>) -> Self {
        Self { sites, ..self }
    }

    /// Returns the schedule of a host's URLs.
    #[must_use]
    pub fn policy_of(&self, host: &HostKey) -> Policy {
        let (min_age, max_age) = self.sites.ages(host);
        self.policy.with_ages(min_age, max_age).with_depth(self.depth_of(host))
    }

    fn depth_of(&self, host: &HostKey) -> u64 {
        self.sites.depth(host).unwrap_or(self.depth)
    }

    /// Returns true if seeds, and the URLs that they lead to, are fetched again.
    #[must_use]
    pub fn revisits_seeds(&self) -> bool {
        !(self.on && self.mode == RecrawlMode::None)
    }

    /// Number of unchanged and not due pages of a host, as far as this process knows.
    #[must_use]
    pub fn unchanged_pages(&self, host: &HostKey) -> u64 {
        self.unchanged.lock().unwrap_or_else(PoisonError::into_inner).get(host).copied().unwrap_or(0)
    }

    /// Counts an unchanged page of a host.
    pub fn count_unchanged(&self, host: &HostKey) {
        let mut unchanged = self.unchanged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pages) = unchanged.get_mut(host) {
            *pages += 1;
        } else {
            unchanged.insert(host.clone(), 1);
        }
    }

    /// Returns the versions of the present rules for a page.
    #[must_use]
    pub fn rules_of(&self, page: &CrawlRequest) -> Readings {
        let depth = HostKey::of(&page.url).map_or(self.depth, |host| self.depth_of(&host));
        self.rules.of_page(u64::from(page.depth) < depth)
    }

    /// Returns true if the same body would bring the same text as before.
    #[must_use]
    pub fn reads_as(&self, before: &Before) -> bool {
        before.rules.is_some_and(|rules| self.rules.read_as(rules))
    }

    /// Returns true if a page is written with its text even if it is unchanged.
    #[must_use]
    pub fn writes_unchanged(&self, page: &CrawlRequest) -> bool {
        self.writes_all || (self.writes_missing && page.before.as_deref().is_some_and(is_unwritten))
    }

    /// Returns true if a page of an earlier round need not be read again if it is unchanged. Its text would be the
    /// same, and no further link would be followed.
    #[must_use]
    pub fn can_skip_if_unchanged(&self, page: &CrawlRequest) -> bool {
        let before = page.before.as_deref().and_then(|before| before.rules);
        let was_missed = self.missed_before.contains(&UrlKey::of(page.url.as_str()));
        !self.writes_unchanged(page)
            && !was_missed
            && before.is_some_and(|rules| self.rules_of(page).are_covered_by(rules))
    }
}

/// Returns true if the output lacks the record of a known page.
#[must_use]
pub fn is_unwritten(before: &Before) -> bool {
    before.rules == Some(RulesVersion::UNWRITTEN)
}

/// Hash that identifies the body of a plain request in later rounds. None for a rendered page, which is more than its
/// body, and for a truncated body.
#[must_use]
pub fn body_hash(page: &FetchedPage) -> Option<BodyHash> {
    let content_type = page.headers.get("content-type");
    (page.strategy == Strategy::Static && !page.body.truncated)
        .then(|| BodyHash::of(&page.body.bytes, content_type))
}

/// Compares a cleaned page with its last visit, by the hash of its text. States of old versions only have the hash of
/// the content.
#[must_use]
pub fn change(before: Option<&Before>, content: ContentHash, text: TextHash) -> Change {
    let Some(before) = before else { return Change::New };
    let same = before.text_hash.map_or(before.content_hash == content, |before| before == text);
    if same { Change::Unchanged } else { Change::Changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_is_judged_by_text_then_by_content() {
        let hash = ContentHash::of;
        let before = |text: Option<&str>| Before {
            content_hash: hash("content"),
            text_hash: text.map(TextHash::of),
            body_hash: None,
            rules: None,
            strategy: None,
            status: None,
            read_at_ms: None,
            seen_at_ms: None,
        };
        let judged = |text, [new_content, new_text]: [&str; 2]| {
            change(Some(&before(text)), hash(new_content), TextHash::of(new_text))
        };
        assert_eq!(judged(Some("text"), ["another footer", "text"]), Change::Unchanged);
        assert_eq!(judged(Some("text"), ["content", "cleaned by other rules"]), Change::Changed);
        assert_eq!(judged(None, ["content", "text"]), Change::Unchanged);
        assert_eq!(judged(None, ["other", "text"]), Change::Changed);
        assert_eq!(change(None, hash("content"), TextHash::of("text")), Change::New);
    }
}
