//! Effective settings with the source of each value, for `crawl config`.

use super::{Config, DEFAULTS};
use std::{
    collections::BTreeMap,
    fmt::{self, Display},
};
use toml::{Table, Value};

/// Settings that may hold a secret. Their values are never shown.
const SECRET: [&str; 6] =
    ["fetch.headers", "fetch.auth", "fetch.proxy", "serve.token", "notify.url", "state.store"];

/// Merged settings with the source of each value.
#[non_exhaustive]
pub struct Effective {
    /// The settings.
    pub config: Config,
    /// Values in the order of `config/crawl.toml`.
    pub values: Vec<SettingValue>,
    /// The tables of sites as TOML, and their source.
    pub sites: Option<(String, String)>,
}

/// One setting with its value and source.
#[non_exhaustive]
pub struct SettingValue {
    /// Name of the section.
    pub section: String,
    /// Name within the section.
    pub key: String,
    /// The value as TOML; none if the value may be a secret.
    pub shown: Option<String>,
    /// File with line, variable or flag; none for the default.
    pub place: Option<String>,
}

/// The tables of sites, if there are any.
pub(super) fn sites(merged: &Table, places: &BTreeMap<String, String>) -> Option<(String, String)> {
    let tables = merged.get(super::SITES)?;
    let text = toml::to_string(&Table::from_iter([(super::SITES.to_owned(), tables.clone())])).ok()?;
    Some((text, places.get(super::SITES).cloned().unwrap_or_default()))
}

/// Values of all settings in the order of the defaults.
pub(super) fn values(merged: &Table, places: &BTreeMap<String, String>) -> Vec<SettingValue> {
    let mut out = Vec::new();
    let mut section = "";
    for line in DEFAULTS.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            continue;
        }
        let Some((key, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
        let key = key.trim();
        let Some(value) = super::section_of(merged, section).and_then(|table| table.get(key)) else {
            continue;
        };
        let name = format!("{section}.{key}");
        let is_shown = !SECRET.contains(&name.as_str()) || is_empty(value);
        out.push(SettingValue {
            section: section.to_owned(),
            key: key.to_owned(),
            shown: is_shown.then(|| value.to_string()),
            place: places.get(&name).cloned(),
        });
    }
    out
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Column of the sources.
const SOURCE_COLUMN: usize = 44;

impl Display for Effective {
    /// A settings file with the source of each value as a comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut section = "";
        for value in &self.values {
            if value.section != section {
                let gap = if section.is_empty() { "" } else { "\n" };
                writeln!(f, "{gap}[{}]", value.section)?;
                section = &value.section;
            }
            let setting = match &value.shown {
                Some(shown) => format!("{} = {shown}", value.key),
                None => format!("# {} is set and not shown", value.key),
            };
            let place = value.place.as_deref().unwrap_or("default");
            writeln!(f, "{setting:SOURCE_COLUMN$} # {place}")?;
        }
        match &self.sites {
            Some((tables, place)) => write!(f, "\n# {place}\n{tables}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Override, load, load_with_sources};

    #[test]
    fn effective_settings_name_their_sources_and_parse_as_toml() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("crawl.toml");
        std::fs::write(&file, "[fetch]\nretries = 7\n[quality]\nsets = [\"c4\"]\n").unwrap();
        let environment = [("CRAWL_POLITENESS_DELAY", "3s"), ("CRAWL_SERVE_TOKEN", "s3cret-s3cret-s3cret")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let flag = Override { flag: "--depth", key: "crawl.depth", value: 2.into() };
        let effective = load_with_sources(Some(&file), environment.into_iter(), vec![flag]).unwrap();
        let text = effective.to_string();
        let line = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap().to_owned();
        assert!(line("retries = 7 ").ends_with("crawl.toml:2"), "{text}");
        assert!(line("delay = \"3s\" ").ends_with("# CRAWL_POLITENESS_DELAY"), "{text}");
        assert!(line("depth = 2 ").ends_with("# --depth"), "{text}");
        assert!(line("scope = \"host\" ").ends_with("# default"), "{text}");
        assert!(line("# token is set and not shown").ends_with("# CRAWL_SERVE_TOKEN"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
        std::fs::write(&file, &text).unwrap();
        let again = load(Some(&file), std::iter::empty(), Vec::new()).unwrap();
        assert_eq!(again.crawl.depth, crate::config::Limit(Some(2)));
        assert_eq!(again.politeness.delay.as_secs(), 3);
    }

    #[test]
    fn every_setting_is_shown_once() {
        let effective = load_with_sources(None, std::iter::empty(), Vec::new()).unwrap();
        let defaults: Table = DEFAULTS.parse().unwrap();
        let count = |table: &Table| table.values().filter_map(Value::as_table).map(Table::len).sum::<usize>();
        assert_eq!(effective.values.len(), count(&defaults));
        let shown: Table = effective.to_string().parse().unwrap();
        assert_eq!(shown, defaults);
    }
}
