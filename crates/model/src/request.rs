//! Requests: leased URLs of the frontier.

use crate::{Before, LeaseToken, RequestId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};
use url::Url;

/// Way to fetch a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// One plain request.
    Static,
    /// One plain request with the headers of a real mobile client.
    Mobile,
    /// The page that `<link rel="amphtml">` names.
    Amp,
    /// A headless Chromium.
    Chrome,
    /// The static page, kept although it is incomplete.
    StaticBestEffort,
}

/// Workers for which a URL waits. A browser takes seconds and a gigabyte, a plain request takes neither. So
/// each kind of work has slots of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Those that make requests.
    Plain,
    /// Those that drive a browser.
    Browser,
}

impl Lane {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Browser];

    /// Lane of a strategy; a URL without a strategy is in the plain lane.
    #[must_use]
    pub const fn of(strategy: Option<Strategy>) -> Self {
        match strategy {
            Some(Strategy::Chrome) => Self::Browser,
            _ => Self::Plain,
        }
    }
}

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

/// Error of a name that is not in an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not a {what}")]
#[non_exhaustive]
pub struct ParseNameError {
    /// Expected item, as a noun.
    pub what: &'static str,
    /// Given text.
    pub given: String,
}

macro_rules! names {
    ($type:ty, $what:literal, $($variant:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// Every variant, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// The name used in records, storage and settings.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl FromStr for $type {
            type Err = ParseNameError;
            fn from_str(text: &str) -> Result<Self, ParseNameError> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(ParseNameError { what: $what, given: text.to_owned() }),
                }
            }
        }
    };
}

names!(
    Strategy,
    "fetch strategy",
    Static = "static",
    Mobile = "mobile",
    Amp = "amp",
    Chrome = "chrome",
    StaticBestEffort = "static_best_effort"
);
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
    /// Returns true if the URL stood in the seed file.
    #[must_use]
    pub const fn is_seed(self) -> bool {
        matches!(self, Self::Seed | Self::BareSeed)
    }

    /// Returns true if a pending URL of this origin takes the origin `later`. A page URL that is named as a
    /// sitemap or feed before its fetch is read as one.
    #[must_use]
    pub const fn is_replaced_by(self, later: Self) -> bool {
        matches!((self, later), (Self::Link | Self::Redirect | Self::Sitemap, Self::SitemapFile))
    }
}

/// A leased URL: its holder settles it, requeues it, or lets the lease expire.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrawlRequest {
    /// The frontier's number of the URL.
    pub id: RequestId,
    /// The fencing token of this lease.
    pub token: LeaseToken,
    /// The canonical URL.
    pub url: Url,
    /// Links from the nearest seed; seeds have 0, a redirect keeps the depth of its source.
    pub depth: u32,
    /// Origin of the URL.
    pub discovery: Discovery,
    /// Attempts before this one.
    pub attempt: u32,
    /// The strategy to use; `None` leaves the choice to the scheduler.
    pub strategy: Option<Strategy>,
    /// The URLs that redirected here, oldest first.
    pub redirects: Vec<String>,
    /// `ETag` of an earlier round, as sent.
    pub etag: Option<String>,
    /// `Last-Modified` of an earlier round, as sent.
    pub last_modified: Option<String>,
    /// `lastmod` of a sitemap or feed in this round, as given.
    #[serde(default)]
    pub sitemap_lastmod: Option<String>,
    /// State of the page after an earlier round, if this round is a recrawl.
    #[serde(default)]
    pub before: Option<Box<Before>>,
    /// The project of the page.
    pub project: Arc<str>,
    /// The source group within the project, if one was named.
    pub source_group: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_written() {
        for &s in Strategy::ALL {
            assert_eq!(s.name().parse::<Strategy>(), Ok(s));
            assert_eq!(serde_json_name(s), s.name());
        }
        for &d in Discovery::ALL {
            assert_eq!(d.name().parse::<Discovery>(), Ok(d));
        }
        assert_eq!(
            "Chrome".parse::<Strategy>().unwrap_err().to_string(),
            "\"Chrome\" is not a fetch strategy"
        );
    }

    fn serde_json_name(s: Strategy) -> String {
        // serde's name and ours must be equal, since both stand in files that outlive a release
        format!("{s:?}").chars().enumerate().fold(String::new(), |mut out, (i, c)| {
            if c.is_uppercase() && i > 0 {
                out.push('_');
            }
            out.extend(c.to_lowercase());
            out
        })
    }
}
