//! Rules as data: `config/rules/browser.toml`.

use serde::Deserialize;
use std::{collections::HashSet, sync::LazyLock};

const FILE: &str = "browser.toml";
const TEXT: &str = include_str!("../../../config/rules/browser.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    tracker: Vec<Hosts>,
    own: Hosts,
    pub(crate) images: Patterns,
    pub(crate) media: Patterns,
    pub(crate) fonts: Patterns,
    files: Files,
    pub(crate) consent: Consent,
    #[serde(skip)]
    trackers: HashSet<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hosts {
    hosts: Vec<String>,
}

/// URL patterns.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Patterns {
    pub(crate) patterns: Vec<String>,
}

/// Files that are no pages.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    endings: Vec<String>,
}

/// Buttons that are pressed on banners.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Consent {
    pub(crate) buttons: Vec<String>,
}

impl Rules {
    /// Returns true if the host (lower case) or a parent domain is a tracker's.
    pub(crate) fn is_tracker(&self, host: &str) -> bool {
        let mut rest = Some(host);
        while let Some(name) = rest {
            if self.trackers.contains(name) {
                return true;
            }
            rest = name.split_once('.').map(|(_, above)| above);
        }
        false
    }

    /// Returns true if the path of a URL ends as that of a file which is no page.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
        ending.is_some_and(|ending| self.files.endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
    }

    /// Returns true if the browser contacts the host (lower case) on its own.
    pub(crate) fn is_own(&self, host: &str) -> bool {
        self.own.hosts.iter().any(|own| own == host)
    }
}

fn parse(text: &str) -> Result<Rules, String> {
    let mut rules: Rules = toml::from_str(text).map_err(|error| format!("config/rules/{FILE}: {error}"))?;
    rules.trackers = rules.tracker.drain(..).flat_map(|tracker| tracker.hosts).collect();
    Ok(rules)
}

/// Built-in rules. The file is part of the program and a test parses it, so a fault in it cannot reach a
/// user. If it did, the rules would block nothing instead of ending the crawl.
pub(crate) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    parse(TEXT).unwrap_or_else(|error| {
        debug_assert!(false, "{error}");
        tracing::error!("{error}");
        Rules::default()
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_parse_and_tracker_hosts_include_subdomains() {
        let rules = parse(TEXT).unwrap();
        assert!(rules.is_tracker("www.google-analytics.com") && rules.is_tracker("doubleclick.net"));
        assert!(
            !rules.is_tracker("notdoubleclick.net")
                && !rules.is_tracker("net")
                && !rules.is_tracker("facebook.com")
        );
        assert!(rules.is_file("/a/setup.EXE") && rules.is_file("/a.tar.gz"));
        assert!(
            !["/zip", "/a.zip/", "/.zip", "/a.html", "/a.zip.html"].iter().any(|path| rules.is_file(path))
        );
        assert!(rules.consent.buttons.iter().all(|label| *label == label.to_lowercase()));
        assert!(parse("[media]\npatterns = []\nnew = 1").unwrap_err().contains("browser.toml"));
    }
}
