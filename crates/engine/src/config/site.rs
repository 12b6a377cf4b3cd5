//! Settings of one site: a table `[[site]]` of the settings file, or the keys of a seed line.

use super::{
    Limit, StrategyChoice, nearest,
    values::{duration_text, parse_duration, parse_pause, url_pattern},
};
use crawl_extract::LinkStyle;
use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{collections::BTreeMap, time::Duration};
use toml::Value;

/// Settings of the hosts that a pattern matches. Absent settings are those of the run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SiteSection {
    /// Patterns of hosts: `example.org`, `*.example.org`, `localhost:8080`, `*`.
    pub patterns: Vec<String>,
    /// Links from the nearest seed.
    pub depth: Option<Limit>,
    /// Pages of a run, over all hosts of the entry.
    pub limit: Option<u64>,
    /// Minimum time between two requests to one host.
    pub delay: Option<Duration>,
    /// In place of `crawl.include`.
    pub include: Option<Vec<Regex>>,
    /// In place of `crawl.exclude`.
    pub exclude: Option<Vec<Regex>>,
    /// In place of `fetch.strategy`.
    pub strategy: Option<StrategyChoice>,
    /// In place of `extract.links`.
    pub links: Option<LinkStyle>,
    /// In place of `extract.rules`.
    pub rules: Option<String>,
    /// In place of `recrawl.min_age`.
    pub min_age: Option<Duration>,
    /// In place of `recrawl.max_age`.
    pub max_age: Option<Duration>,
    /// Texts that are copied into the records.
    pub tags: BTreeMap<String, String>,
}

/// A [`SiteSection`] as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    #[serde(rename = "match")]
    patterns: Option<OneOrMany>,
    depth: Option<Limit>,
    limit: Option<u64>,
    #[serde(deserialize_with = "some_duration")]
    delay: Option<String>,
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    strategy: Option<StrategyChoice>,
    links: Option<String>,
    rules: Option<String>,
    #[serde(deserialize_with = "some_duration")]
    min_age: Option<String>,
    #[serde(deserialize_with = "some_duration")]
    max_age: Option<String>,
    tags: BTreeMap<String, String>,
    /// Refused with a reference to `fetch.auth`.
    headers: Option<Value>,
    auth: Option<Value>,
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    duration_text(deserializer).map(Some)
}

/// Keys of a table, as far as they can be used.
pub(super) const KEYS: [&str; 12] = [
    "match", "depth", "limit", "delay", "include", "exclude", "strategy", "links", "rules", "min_age",
    "max_age", "tags",
];

/// Returns true for a key that a table has, or that is refused with a reason.
pub(super) fn is_key(name: &str) -> bool {
    KEYS.contains(&name) || ["headers", "auth"].contains(&name)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Table {
    fn into_section(self, patterns: Vec<String>) -> Result<SiteSection, String> {
        if let Some(bad) = patterns.iter().find(|pattern| !is_pattern(pattern)) {
            return Err(format!("match: \"{bad}\" is no host, such as example.org or *.example.org"));
        }
        if self.headers.is_some() || self.auth.is_some() {
            let entry = "{ site = \"https://host\", header = \"X-Key\", value_env = \"KEY\" }";
            return Err(format!("headers and credentials of a site are entries of fetch.auth, as {entry}"));
        }
        if self.limit == Some(0) {
            return Err("limit: must be at least 1".into());
        }
        let unread = |text: &Option<String>| text.as_deref().and_then(|text| parse_duration(text).ok());
        if let (Some(min), Some(max)) = (unread(&self.min_age), unread(&self.max_age))
            && min > max
        {
            return Err("max_age is less than min_age: lower min_age, or raise max_age".into());
        }
        let named = |key: &'static str| move |problem: String| format!("{key}: {problem}");
        let age = |key: &'static str, text: Option<String>| {
            text.map(|text| parse_duration(&text)).transpose().map_err(named(key))
        };
        Ok(SiteSection {
            patterns,
            depth: self.depth,
            limit: self.limit,
            delay: self.delay.map(|text| parse_pause(&text)).transpose().map_err(named("delay"))?,
            include: regexes(self.include).map_err(named("include"))?,
            exclude: regexes(self.exclude).map_err(named("exclude"))?,
            strategy: self.strategy,
            links: links(self.links).map_err(named("links"))?,
            rules: self.rules,
            min_age: age("min_age", self.min_age)?,
            max_age: age("max_age", self.max_age)?,
            tags: self.tags,
        })
    }
}

fn links(text: Option<String>) -> Result<Option<LinkStyle>, String> {
    text.map(|text| text.parse::<LinkStyle>().map_err(|e| e.to_string())).transpose()
}

fn regexes(texts: Option<Vec<String>>) -> Result<Option<Vec<Regex>>, String> {
    texts.map(|texts| texts.iter().map(|text| url_pattern(text)).collect()).transpose()
}

/// Returns true for a host with or without a port, with `*.` in front for the hosts below it, and for `*`.
fn is_pattern(text: &str) -> bool {
    let host = text.strip_prefix("*.").unwrap_or(text);
    text == "*" || (!host.is_empty() && !host.contains(['*', '/', '@', ' ']))
}

/// The pattern in the form of hosts: in lower case, and a name in Unicode as `xn--` (RFC 5891).
fn as_host(pattern: &str) -> String {
    let (below, host) = pattern.strip_prefix("*.").map_or(("", pattern), |host| ("*.", host));
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    match url::Host::parse(name) {
        Ok(name) if !host.is_ascii() => format!("{below}{name}{port}"),
        _ => pattern.to_ascii_lowercase(),
    }
}

impl<'de> Deserialize<'de> for SiteSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        let patterns = match table.patterns.take() {
            Some(OneOrMany::One(pattern)) => vec![pattern],
            Some(OneOrMany::Many(patterns)) if !patterns.is_empty() => patterns,
            _ => return Err(D::Error::custom("match is missing: the host of the site, as *.example.org")),
        };
        let patterns = patterns.iter().map(|pattern| as_host(pattern)).collect();
        table.into_section(patterns).map_err(D::Error::custom)
    }
}

/// The reason against a line that is a record.
pub const IS_RECORD: &str = "is a record of an output, and no seed";

/// Seed line in JSON: the URL, and the settings of its host if it has any.
///
/// # Errors
/// When the line is no object with `url`, or a setting cannot be used.
pub fn parse_seed_object(line: &str) -> Result<(String, Option<SiteSection>), String> {
    let mut object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(line).map_err(|e| format!("is no JSON object: {e}"))?;
    let Some(serde_json::Value::String(url)) = object.remove("url") else {
        return Err("has no \"url\"".into());
    };
    if object.contains_key("match") {
        return Err("\"match\" is that of the URL's host: leave it out".into());
    }
    if object.is_empty() {
        return Ok((url, None));
    }
    if object.contains_key("text") {
        return Err(IS_RECORD.into());
    }
    if let Some(unknown) = object.keys().find(|key| !is_key(key)) {
        let meant = nearest(unknown, KEYS.iter().copied().filter(|key| *key != "match"));
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"));
        return Err(format!("unknown key \"{unknown}\"{meant}"));
    }
    let table: Table = serde_path_to_error::deserialize(serde_json::Value::Object(object))
        .map_err(|error| format!("{}: {}", error.path(), error.inner()))?;
    Ok((url, Some(table.into_section(Vec::new())?)))
}

/// The tables `[[site]]`; an empty list without one.
pub(super) fn sites<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SiteSection>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                SiteSection::deserialize(item)
                    .map_err(|error| D::Error::custom(format!("table {}: {}", index + 1, error.message())))
            })
            .collect(),
        _ => Err(D::Error::custom("expected tables: write [[site]] above the settings of a site")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_the_form_of_hosts() {
        for (pattern, host) in [
            ("*.Bücher.example", "*.xn--bcher-kva.example"),
            ("bücher.example:8080", "xn--bcher-kva.example:8080"),
            ("Docs.Example.org", "docs.example.org"),
            ("[::1]:8080", "[::1]:8080"),
            ("*", "*"),
        ] {
            assert_eq!(as_host(pattern), host);
        }
    }

    #[test]
    fn a_seed_line_has_a_url_settings_and_tags() {
        let line = r#"{"url":"https://a.test/x","depth":2,"delay":"3s","tags":{"set":"news"}}"#;
        let (url, site) = parse_seed_object(line).unwrap();
        let site = site.unwrap();
        assert_eq!((url.as_str(), site.depth), ("https://a.test/x", Some(Limit(Some(2)))));
        assert_eq!((site.delay, site.tags["set"].as_str()), (Some(Duration::from_secs(3)), "news"));
        assert!(parse_seed_object(r#"{"url":"a.test"}"#).unwrap().1.is_none());
        for (bad, why) in [
            (r#"{"link":"a.test"}"#, "has no \"url\""),
            (r#"{"url":"a.test","dept":2}"#, "unknown key \"dept\"; did you mean \"depth\"?"),
            (r#"{"url":"a.test","boilerplate":{}}"#, "unknown key \"boilerplate\""),
            (r#"{"url":"a.test","text":"b"}"#, "is a record"),
            (r#"{"url":"a.test","min_age":"2h","max_age":"1h"}"#, "max_age is less than min_age"),
            (r#"{"url":"a.test","delay":"soon"}"#, "delay: \"soon\" is not a duration"),
            (r#"{"url":"a.test","delay":5}"#, "delay: \"5\" has no unit; write \"5s\""),
            (r#"{"url":"a.test","tags":{"year":2026}}"#, "tags.year: invalid type"),
            (r#"{"url":"a.test","match":"*"}"#, "leave it out"),
            ("{", "is no JSON object"),
        ] {
            let error = parse_seed_object(bad).err().unwrap();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
