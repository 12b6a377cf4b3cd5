//! Ways in which URLs are discovered.

use crate::names::names;
use serde::{Deserialize, Serialize};

/// Origin of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// A line of the seed file with its scheme.
    Seed,
    /// A bare host of the seed file, fetched by https, then by http.
    BareSeed,
    /// A link of a page.
    Link,
    /// The target of a redirect.
    Redirect,
    /// An entry of a sitemap or feed.
    Sitemap,
    /// A sitemap: a line of robots.txt, or an entry of a sitemap index. Read for its URLs, never a record.
    SitemapFile,
    /// An invented URL that shows how the host answers for missing pages. Never a record, never an error.
    Probe,
}

names!(
    Discovery,
    "way of discovery",
    Seed = "seed",
    BareSeed = "bare_seed",
    Link = "link",
    Redirect = "redirect",
    Sitemap = "sitemap",
    SitemapFile = "sitemap_file",
    Probe = "probe",
);

impl Discovery {
    /// Returns true if the URL is a seed.
    #[must_use]
    pub const fn is_seed(self) -> bool {
        matches!(self, Self::Seed | Self::BareSeed)
    }

    /// Returns true if `later` replaces this origin of a pending URL. A URL that is linked as a page and later named
    /// as a sitemap or feed is read as the latter.
    #[must_use]
    pub const fn is_replaced_by(self, later: Self) -> bool {
        matches!((self, later), (Self::Link | Self::Redirect | Self::Sitemap, Self::SitemapFile))
    }
}
