//! Quota of the sitemap files of a robots.txt, named by it or by its sitemap indexes (`crawl.sitemap_files`). A site
//! can generate endless indexes, and each file may be on another host, so a limit is needed.

use crate::config::Limit;
use crawl_model::{CrawlRequest, HostKey, UrlKey};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum remembered files. Beyond that the counts start again from zero.
const MAX_FILES: usize = 200_000;

/// Maximum files outside of the scope for the hosts of one site.
const MAX_FILES_OUTSIDE: u64 = 100;

/// Result of [`SitemapQuota::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapAdmission {
    /// The file may be fetched.
    Yes,
    /// The limit of files is reached.
    Full {
        /// True for the first refused file of the same robots.txt.
        first: bool,
    },
    /// The file is on a host outside of the scope, and the limit of those is reached.
    OutsideLimit {
        /// True for the first refused file of the site.
        first: bool,
    },
}

/// A sitemap that robots.txt, or one of its sitemaps, names.
pub struct SitemapReference<'a> {
    /// The file.
    pub file: UrlKey,
    /// The host of that robots.txt.
    pub robots_host: &'a HostKey,
    /// The registrable domain of that host.
    pub site: &'a str,
    /// True if robots.txt names it, or a named file has moved there.
    pub named: bool,
    /// The host of the file, if that is outside of the scope.
    pub elsewhere: Option<&'a HostKey>,
}

/// Sitemaps of a run, each with the host of its robots.txt. Kept in memory only: a resumed run counts from zero.
pub struct SitemapQuota {
    limit: Limit,
    /// Maximum hosts outside of the scope for the hosts of one site.
    hosts: Limit,
    planted: Mutex<FilesOfRobots>,
}

#[derive(Default)]
struct FilesOfRobots {
    files: FxHashMap<UrlKey, File>,
    robots_hosts: FxHashMap<HostKey, Share>,
    /// Counts by registrable domain, so that endless hosts do not multiply a site's quota.
    sites: FxHashMap<String, OutsideFiles>,
}

#[derive(Default)]
struct OutsideFiles {
    hosts: FxHashSet<HostKey>,
    files: u64,
    full: bool,
}

impl OutsideFiles {
    /// Adds a file on a host. Returns false if a limit is reached.
    fn take(&mut self, host: &HostKey, most: Limit) -> bool {
        let is_known = self.hosts.contains(host);
        if self.files >= MAX_FILES_OUTSIDE || !(is_known || most.allows(self.hosts.len() as u64)) {
            return false;
        }
        self.hosts.insert(host.clone());
        self.files += 1;
        true
    }
}

struct File {
    robots_host: HostKey,
    /// True if robots.txt names it, or a named file has moved there.
    named: bool,
}

#[derive(Default)]
struct Share {
    files: u64,
    full: bool,
}

impl SitemapQuota {
    /// A quota of files for each robots.txt, and of hosts outside of the scope for each site.
    #[must_use]
    pub fn new(limit: Limit, hosts: Limit) -> Self {
        Self { limit, hosts, planted: Mutex::default() }
    }

    /// Counts a file for its robots.txt, unless a limit is reached. A known file is not counted again.
    #[must_use]
    pub fn take(&self, reference: &SitemapReference<'_>) -> SitemapAdmission {
        let mut planted = self.lock();
        if let Some(known) = planted.files.get_mut(&reference.file) {
            known.named |= reference.named;
            return SitemapAdmission::Yes;
        }
        if planted.files.len() >= MAX_FILES {
            *planted = FilesOfRobots::default();
        }
        let planted = &mut *planted;
        let share = planted.robots_hosts.entry(reference.robots_host.clone()).or_default();
        if share.files >= self.limit.or_max() {
            let first = !std::mem::replace(&mut share.full, true);
            return SitemapAdmission::Full { first };
        }
        if let Some(host) = reference.elsewhere {
            let elsewhere = planted.sites.entry(reference.site.to_owned()).or_default();
            if !elsewhere.take(host, self.hosts) {
                let first = !std::mem::replace(&mut elsewhere.full, true);
                return SitemapAdmission::OutsideLimit { first };
            }
        }
        share.files += 1;
        planted.files.insert(
            reference.file,
            File { robots_host: reference.robots_host.clone(), named: reference.named },
        );
        SitemapAdmission::Yes
    }

    /// Returns the host whose robots.txt led to a file, and true if that robots.txt names it. For feeds and for files
    /// of an earlier process it is the host of the file.
    #[must_use]
    pub fn origin(&self, file: &CrawlRequest) -> (HostKey, bool) {
        let planted = self.lock();
        let known = planted.files.get(&UrlKey::of(file.url.as_str()));
        known.map(|file| (file.robots_host.clone(), file.named)).unwrap_or_else(|| {
            let host = HostKey::of(&file.url).unwrap_or_else(|| HostKey::from_stored(""));
            (host, false)
        })
    }

    fn lock(&self) -> MutexGuard<'_, FilesOfRobots> {
        self.planted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the site `site.test`, outside of the scope if a host is given.
    fn take(
        quota: &SitemapQuota,
        robots_host: &str,
        file: &str,
        elsewhere: Option<&str>,
    ) -> SitemapAdmission {
        let (robots_host, elsewhere) =
            (HostKey::from_stored(robots_host), elsewhere.map(HostKey::from_stored));
        quota.take(&SitemapReference {
            file: UrlKey::of(file),
            robots_host: &robots_host,
            site: "site.test",
            named: false,
            elsewhere: elsewhere.as_ref(),
        })
    }

    #[test]
    fn sitemaps_per_robots_txt_are_limited_and_reported_once() {
        let quota = SitemapQuota::new(Limit(Some(2)), Limit(None));
        let take = |host: &str, file: &str| take(&quota, host, file, None);
        assert_eq!(["1", "2", "1"].map(|file| take("a", file)), [SitemapAdmission::Yes; 3]);
        assert_eq!(take("a", "3"), SitemapAdmission::Full { first: true });
        assert_eq!(take("a", "4"), SitemapAdmission::Full { first: false });
        assert_eq!(take("b", "3"), SitemapAdmission::Yes);
        assert_eq!(take("b", "1"), SitemapAdmission::Yes, "it is the share of another one");
        let quota = SitemapQuota::new(Limit(None), Limit(None));
        assert!((0..99).all(|n| self::take(&quota, "a", &n.to_string(), None) == SitemapAdmission::Yes));
    }

    #[test]
    fn sitemap_hosts_outside_the_scope_are_limited_per_site() {
        let quota = SitemapQuota::new(Limit(None), Limit(Some(2)));
        let elsewhere = |robots_host: &str, n: usize, host: &str| {
            take(&quota, robots_host, &format!("{host}/{n}"), Some(host))
        };
        assert_eq!(elsewhere("a", 0, "x"), SitemapAdmission::Yes);
        assert_eq!(elsewhere("b", 0, "y"), SitemapAdmission::Yes);
        assert_eq!(
            elsewhere("c", 0, "z"),
            SitemapAdmission::OutsideLimit { first: true },
            "the site has its two"
        );
        assert_eq!(elsewhere("a", 1, "z"), SitemapAdmission::OutsideLimit { first: false });
        assert_eq!(take(&quota, "a", "a/1", None), SitemapAdmission::Yes, "hosts of the scope have room");
        let more = (1..2 * MAX_FILES_OUTSIDE)
            .filter(|n| elsewhere("a", usize::try_from(*n).unwrap(), "x") == SitemapAdmission::Yes);
        assert_eq!(more.count() as u64, MAX_FILES_OUTSIDE - 2);
        let none = SitemapQuota::new(Limit(None), Limit(Some(0)));
        assert_eq!(take(&none, "a", "x/0", Some("x")), SitemapAdmission::OutsideLimit { first: true });
    }

    #[test]
    fn sitemap_book_is_bounded() {
        let quota = SitemapQuota::new(Limit(None), Limit(None));
        for n in 0..=MAX_FILES {
            assert_eq!(take(&quota, "a", &n.to_string(), None), SitemapAdmission::Yes);
        }
        assert_eq!(quota.lock().files.len(), 1);
    }
}
