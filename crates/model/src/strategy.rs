//! Strategies to fetch a page, and the lanes of workers that use them.

use crate::names::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

names!(
    Strategy,
    "fetch strategy",
    Static = "static",
    Mobile = "mobile",
    Amp = "amp",
    Chrome = "chrome",
    StaticBestEffort = "static_best_effort"
);

/// Workers for which a URL waits. A rendered page takes seconds and up to a gigabyte of memory, a plain request takes
/// neither. So each lane has its own slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Workers that make plain requests.
    Plain,
    /// Workers that drive a browser.
    Browser,
}

impl Lane {
    /// Both lanes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategy_and_discovery_names_round_trip() {
        for &s in Strategy::ALL {
            assert_eq!(s.name().parse::<Strategy>(), Ok(s));
            assert_eq!(serde_json_name(s), s.name());
        }
        for &d in crate::Discovery::ALL {
            assert_eq!(d.name().parse::<crate::Discovery>(), Ok(d));
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
