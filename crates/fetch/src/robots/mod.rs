//! robots.txt by RFC 9309: parsed once per origin, evaluated for every URL.
//!
//! The crate `robotstxt` is a port of Google's parser that parses for each query and matches in quadratic
//! time. This module keeps the parsed rules and matches in linear time. Where the RFC leaves room, it behaves
//! like Google's parser.

mod fetch;
mod keys;
mod matcher;
mod parse;
mod policy;
mod write;

pub use policy::{ROBOTS_MAX_BYTES, RobotsPolicy};

use matcher::Pattern;
use std::time::Duration;
use url::Url;

/// A parsed robots.txt.
#[derive(Clone, Debug, Default)]
pub struct RobotsTxt {
    groups: Vec<Group>,
    sitemaps: Vec<String>,
}

/// Rules for a set of user agents.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Lower-case names; `*` for everybody.
    agents: Vec<String>,
    rules: Vec<Rule>,
    /// `Crawl-delay` lines, each with the number of agents named before it.
    delays: Vec<(usize, Duration)>,
}

impl Group {
    fn names(&self, name: &str) -> bool {
        self.agents.iter().any(|agent| agent == name)
    }

    fn delay_for(&self, name: &str) -> Option<Duration> {
        let position = self.agents.iter().position(|agent| agent == name)?;
        self.delays.iter().find(|(named, _)| position < *named).map(|(_, delay)| *delay)
    }
}

/// One `Allow` or `Disallow` line.
#[derive(Clone, Debug)]
struct Rule {
    allow: bool,
    pattern: Pattern,
    /// The value as written.
    text: String,
    /// Line number, from 1.
    line: usize,
}

/// Verdict of robots.txt on a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsVerdict {
    /// The URL may be fetched.
    pub allowed: bool,
    /// The deciding line, from 1; `None` if no rule matched.
    pub line: Option<usize>,
    /// Rule of that line, for example `Disallow: /private`.
    pub rule: Option<String>,
}

impl RobotsVerdict {
    const fn undecided(allowed: bool) -> Self {
        Self { allowed, line: None, rule: None }
    }
}

/// The rules of a robots.txt for one crawler: its own groups merged, or else the groups for `*` (RFC 9309
/// §2.2.1).
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// The most specific rule first; of two rules with equal length, the one that allows (§2.2.2).
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

impl RobotsTxt {
    /// Parses a robots.txt. Every input is valid: invalid lines are ignored.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        parse::parse(bytes)
    }

    /// The rules for a crawler of that product token. Keep the set: the selection costs more than a query.
    #[must_use]
    pub fn rules(&self, product_token: &str) -> RuleSet {
        self.rules_for(&[product_token])
    }

    /// The rules for a crawler with several product tokens.
    #[must_use]
    pub fn rules_for(&self, product_tokens: &[&str]) -> RuleSet {
        let names: Vec<String> = product_tokens.iter().map(|token| parse::crawler_name(token)).collect();
        let names = self.own_names(&names);
        let chosen = || self.groups.iter().filter(|group| names.iter().any(|name| group.names(name)));
        let mut rules: Vec<Rule> = chosen().flat_map(|group| group.rules.iter().cloned()).collect();
        // stable: the first of several equal rules is reported
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.pattern.len(), rule.allow)));
        let crawl_delay = chosen().find_map(|group| names.iter().find_map(|name| group.delay_for(name)));
        RuleSet { rules, crawl_delay }
    }

    /// The crawler's names that have a group. A group for `bot` also applies to `bot-images` without its own
    /// group (as with Google's crawlers); `*` applies to all others.
    fn own_names(&self, names: &[String]) -> Vec<String> {
        let mut names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        loop {
            let known = |name: &&&str| self.groups.iter().any(|group| group.names(name));
            let own: Vec<String> = names.iter().filter(known).map(|name| (*name).to_owned()).collect();
            if !own.is_empty() {
                return own;
            }
            names = names
                .into_iter()
                .filter_map(|name| name.rsplit_once('-'))
                .map(|(family, _)| family)
                .collect();
            if names.is_empty() {
                return vec!["*".to_owned()];
            }
        }
    }

    /// Verdict on a URL for a crawler of that product token, with the deciding line.
    #[must_use]
    pub fn verdict(&self, product_token: &str, url: &Url) -> RobotsVerdict {
        self.rules(product_token).verdict(url)
    }

    /// `Crawl-delay` of the groups for a product token; not part of the RFC.
    #[must_use]
    pub fn crawl_delay(&self, product_token: &str) -> Option<Duration> {
        self.rules(product_token).crawl_delay
    }

    /// Values of all `Sitemap` lines, in order, as written.
    #[must_use]
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

impl RuleSet {
    /// Verdict on a URL, with the deciding line.
    #[must_use]
    pub fn verdict(&self, url: &Url) -> RobotsVerdict {
        self.verdict_of_path(&url[url::Position::BeforePath..url::Position::AfterQuery])
    }

    /// Verdict on a path with its query; normalises the percent-encoding.
    #[must_use]
    pub fn verdict_of_path(&self, path: &str) -> RobotsVerdict {
        let path = if path.is_empty() { "/" } else { path };
        // §2.2.2: robots.txt itself is always allowed
        if self.rules.is_empty() || path == "/robots.txt" {
            return RobotsVerdict::undecided(true);
        }
        let path = matcher::normalize(path.as_bytes());
        match self.rules.iter().find(|rule| rule.pattern.matches(&path)) {
            None => RobotsVerdict::undecided(true),
            Some(rule) => RobotsVerdict {
                allowed: rule.allow,
                line: Some(rule.line),
                rule: Some(format!("{}: {}", if rule.allow { "Allow" } else { "Disallow" }, rule.text)),
            },
        }
    }

    /// The site's delay between two requests.
    #[must_use]
    pub const fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Approximate heap bytes of the rules.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let rule = |rule: &Rule| size_of::<Rule>() + rule.text.capacity() + rule.pattern.heap_bytes();
        self.rules.iter().map(rule).sum()
    }
}

#[cfg(test)]
mod tests;
