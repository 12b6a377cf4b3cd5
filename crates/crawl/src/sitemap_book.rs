//! How many files of sitemaps a host's robots.txt has led to. A line of robots.txt is cheap, an index of indexes cheaper,
//! and each file may be on a host that never asked for the visit: without a count they would be fetched without end.

use crate::config::Limit;
use crawl_model::{CrawlRequest, HostKey, UrlKey};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that are remembered; beyond that all are counted anew.
const MAX_FILES: usize = 200_000;

/// What [`SitemapBook::take`] says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It may be fetched.
    Yes,
    /// There is no room for it.
    Full {
        /// It is the first of its planter for which there is none.
        first: bool,
    },
}

/// The sitemaps of a run with the hosts whose robots.txt led to them, the planters. Kept in memory alone: a run that goes
/// on counts anew.
pub struct SitemapBook {
    limit: Limit,
    planted: Mutex<Planted>,
}

#[derive(Default)]
struct Planted {
    files: FxHashMap<UrlKey, File>,
    planters: FxHashMap<HostKey, Share>,
}

struct File {
    planter: HostKey,
    /// robots.txt names it, or what it names has moved there.
    named: bool,
}

#[derive(Default)]
struct Share {
    files: u64,
    full: bool,
}

impl SitemapBook {
    /// A book in which each planter may have so many files.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, planted: Mutex::default() }
    }

    /// Takes a file into the planter's share, if there is room; one that is in the book already takes none.
    #[must_use]
    pub fn take(&self, planter: &HostKey, file: UrlKey, named: bool) -> Taken {
        let mut planted = self.lock();
        if let Some(known) = planted.files.get_mut(&file) {
            known.named |= named;
            return Taken::Yes;
        }
        if planted.files.len() >= MAX_FILES {
            *planted = Planted::default();
        }
        let share = planted.planters.entry(planter.clone()).or_default();
        if share.files >= self.limit.or_max() {
            let first = !std::mem::replace(&mut share.full, true);
            return Taken::Full { first };
        }
        share.files += 1;
        planted.files.insert(file, File { planter: planter.clone(), named });
        Taken::Yes
    }

    /// Who planted a file, and whether robots.txt names it. A feed has been planted by nobody, and what an earlier process
    /// planted is not known: such a file's own host answers for what it leads to.
    #[must_use]
    pub fn origin(&self, file: &CrawlRequest) -> (HostKey, bool) {
        let planted = self.lock();
        let known = planted.files.get(&UrlKey::of(file.url.as_str()));
        known.map(|file| (file.planter.clone(), file.named)).unwrap_or_else(|| {
            let host = HostKey::of(&file.url).unwrap_or_else(|| HostKey::from_stored(""));
            (host, false)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Planted> {
        self.planted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_planter_has_so_many_files_and_is_told_once() {
        let book = SitemapBook::new(Limit(Some(2)));
        let take = |host: &str, file: &str| book.take(&HostKey::from_stored(host), UrlKey::of(file), false);
        assert_eq!(["1", "2", "1"].map(|file| take("a", file)), [Taken::Yes; 3]);
        assert_eq!(take("a", "3"), Taken::Full { first: true });
        assert_eq!(take("a", "4"), Taken::Full { first: false });
        assert_eq!(take("b", "3"), Taken::Yes);
        assert_eq!(take("b", "1"), Taken::Yes, "it is the share of another one");
        let book = SitemapBook::new(Limit(None));
        let planter = HostKey::from_stored("a");
        assert!((0..99).all(|n| book.take(&planter, UrlKey::of(&n.to_string()), true) == Taken::Yes));
    }

    #[test]
    fn the_book_is_bounded() {
        let book = SitemapBook::new(Limit(None));
        let planter = HostKey::from_stored("a");
        for n in 0..=MAX_FILES {
            assert_eq!(book.take(&planter, UrlKey::of(&n.to_string()), false), Taken::Yes);
        }
        assert_eq!(book.lock().files.len(), 1);
    }
}
