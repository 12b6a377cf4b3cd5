//! Settings that must be equal for all workers of a crawl, since they affect URLs, visits or records.

use super::{SITES, settings_of};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Sections whose settings are shared.
const SECTIONS: &[&str] =
    &["crawl", "recrawl", "politeness", "traps", "extract", "dedup", "near_duplicates", "quality"];

/// Settings of other sections that are shared.
const KEYS: &[&str] = &[
    "fetch.strategy",
    "fetch.user_agent",
    "fetch.product",
    "output.emit",
    "output.fields",
    "output.lean",
    "output.links",
];

/// Settings of these sections that are not compared. Limits are those of the worker that begins a run.
const WORKER_KEYS: &[&str] =
    &["crawl.limit", "crawl.max_time", "crawl.max_bytes", "extract.threads", "dedup.shards"];

/// The shared settings, by key.
pub(super) fn of(settings: &Table) -> BTreeMap<String, String> {
    let mut all: Vec<(String, &str, &Value)> = Vec::new();
    settings_of(settings, "", &mut all);
    let is_shared = |section: &str, key: &str| {
        let outer = section.split('.').next().unwrap_or(section);
        (SECTIONS.contains(&outer) && !WORKER_KEYS.contains(&key)) || KEYS.contains(&key)
    };
    let sites = settings.get(SITES).map(|sites| (SITES.to_owned(), sites.to_string()));
    all.into_iter()
        .map(|(section, key, value)| (format!("{section}.{key}"), section, value))
        .filter(|(key, section, _)| is_shared(section, key))
        .map(|(key, _, value)| (key, value.to_string()))
        .chain(sites)
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, DEFAULTS};
    use toml::Table;

    #[test]
    fn shared_settings_cover_records_and_hold_no_secret() {
        let shared = Config::defaults().unwrap().shared;
        for key in
            ["crawl.scope", "politeness.delay", "dedup.settle_pages", "output.emit", "fetch.user_agent"]
        {
            assert!(shared.contains_key(key), "{key}");
        }
        let secret =
            ["fetch.headers", "fetch.auth", "fetch.proxy", "serve.token", "state.store", "crawl.limit"];
        assert!(secret.iter().all(|key| !shared.contains_key(*key)), "{shared:?}");
        assert_eq!(shared["crawl.scope"], "\"host\"");
    }

    #[test]
    fn each_listed_key_is_a_setting() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        let is_setting = |key: &&str| {
            let (section, name) = key.split_once('.').unwrap();
            defaults[section].as_table().unwrap().contains_key(name)
        };
        assert!(super::KEYS.iter().chain(super::WORKER_KEYS).all(is_setting));
        assert!(super::SECTIONS.iter().all(|section| defaults.contains_key(*section)));
    }
}
