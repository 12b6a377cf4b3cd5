//! From robots.txt's `Sitemap` lines down to every URL: index files followed, every file read once, every request
//! through the gate, all of it bounded.

use super::{SitemapEntry, SitemapKind, SitemapLimits, parse_sitemap};
use crate::{
    http::HttpClient,
    politeness::{Gate, SlotOutcome},
};
use crawl_model::HostKey;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use url::Url;

/// Limits on all sitemaps of one site.
#[derive(Clone, Copy, Debug)]
pub struct WalkLimits {
    /// Limits on one file.
    pub file: SitemapLimits,
    /// Index files on top of each other. The protocol allows one.
    pub depth: usize,
    /// Files that are read.
    pub files: usize,
    /// URLs in all.
    pub entries: usize,
    /// Redirects of one file.
    pub redirects: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self { file: SitemapLimits::default(), depth: 3, files: 1_000, entries: 5_000_000, redirects: 5 }
    }
}

/// What came of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkReport {
    /// Files that were read.
    pub files: usize,
    /// URLs that were found.
    pub entries: usize,
    /// Files that could not be read or were no sitemaps: the URL, and why in words.
    pub failed: Vec<(String, String)>,
    /// A limit ended the walk or cut a file.
    pub truncated: bool,
}

/// A walk over the sitemaps of a site.
pub struct SitemapWalk<'a> {
    /// The client.
    pub client: &'a HttpClient,
    /// Every request passes it.
    pub gate: &'a Gate,
    /// Limits.
    pub limits: WalkLimits,
}

impl SitemapWalk<'_> {
    /// Reads `roots` and every sitemap that they lead to and that `allowed` (scope, robots.txt) lets pass. Each file's
    /// URLs are handed to `found` at once, and are then forgotten: memory holds one file.
    pub async fn run(
        &self,
        roots: Vec<Url>,
        allowed: impl Fn(&Url) -> bool,
        mut found: impl FnMut(Vec<SitemapEntry>),
    ) -> WalkReport {
        let mut report = WalkReport::default();
        let mut seen: FxHashSet<Url> = FxHashSet::default();
        let mut queue: VecDeque<(Url, usize)> = roots.into_iter().map(|url| (url, 0)).collect();
        while let Some((url, depth)) = queue.pop_front() {
            if !seen.insert(url.clone()) || !allowed(&url) {
                continue;
            }
            if report.files >= self.limits.files || report.entries >= self.limits.entries {
                report.truncated = true;
                break;
            }
            report.files += 1;
            match self.file(&url, &allowed).await {
                Err(why) => report.failed.push((url.into(), why)),
                Ok(sitemap) => {
                    report.truncated |= sitemap.truncated;
                    if sitemap.kind != SitemapKind::Index {
                        let mut entries = sitemap.entries;
                        entries.truncate(self.limits.entries - report.entries);
                        report.entries += entries.len();
                        found(entries);
                    } else if depth < self.limits.depth {
                        queue.extend(sitemap.entries.into_iter().map(|entry| (entry.url, depth + 1)));
                    } else {
                        report.truncated = true;
                    }
                }
            }
        }
        report
    }

    async fn file(&self, url: &Url, allowed: &impl Fn(&Url) -> bool) -> Result<super::Sitemap, String> {
        let mut url = url.clone();
        for _ in 0..=self.limits.redirects {
            let host = HostKey::of(&url).ok_or("neither http nor https")?;
            let slot = self.gate.acquire(&host).await;
            let answer = self.client.fetch_resource(&url, self.limits.file.bytes).await;
            slot.finish(SlotOutcome::of_resource(&answer));
            let answer = answer.map_err(|error| error.to_string())?;
            match answer.redirect {
                Some(to) if allowed(&to) => url = to,
                Some(to) => return Err(format!("it redirects to {to}, which may not be fetched")),
                None if (200..300).contains(&answer.status) => {
                    let mut sitemap = parse_sitemap(&answer.body, &url, &self.limits.file)
                        .map_err(|error| error.to_string())?;
                    sitemap.truncated |= answer.truncated;
                    return Ok(sitemap);
                }
                None => return Err(format!("status {}", answer.status)),
            }
        }
        Err("too many redirects".into())
    }
}
