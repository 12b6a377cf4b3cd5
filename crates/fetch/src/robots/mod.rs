//! robots.txt by RFC 9309: parsed once an origin, asked for every URL.
//!
//! The crate `robotstxt` is a port of Google's parser that parses anew at every question and matches in quadratic
//! time; this one keeps the parsed rules and matches in linear time. Where the RFC leaves room it does what Google's
//! parser does.

mod fetch;
mod matcher;
mod parse;
mod policy;

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

/// Rules that hold for some user agents.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Lower-case product tokens; `*` for everybody.
    agents: Vec<String>,
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
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

/// What robots.txt says about a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsVerdict {
    /// The URL may be fetched.
    pub allowed: bool,
    /// The line that decided, from 1; `None` if no rule matched.
    pub line: Option<usize>,
    /// That line's rule, for example `Disallow: /private`.
    pub rule: Option<String>,
}

impl RobotsVerdict {
    const fn undecided(allowed: bool) -> Self {
        Self { allowed, line: None, rule: None }
    }
}

/// The rules of a robots.txt for one crawler: its own groups merged, or else those for everybody (RFC 9309 §2.2.1).
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// The most specific rule first; of two that are equally long the one that allows (§2.2.2).
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

impl RobotsTxt {
    /// Parses. Every input is a robots.txt: what is no valid line is ignored.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        parse::parse(bytes)
    }

    /// The rules for a crawler of that product token. Keep the set: selecting it costs more than asking it.
    #[must_use]
    pub fn rules(&self, product_token: &str) -> RuleSet {
        let token = parse::product_token(product_token).to_ascii_lowercase();
        let ours = |group: &&Group| group.agents.contains(&token);
        let mut chosen: Vec<&Group> = self.groups.iter().filter(ours).collect();
        if chosen.is_empty() {
            chosen = self.groups.iter().filter(|group| group.agents.iter().any(|a| a == "*")).collect();
        }
        let mut rules: Vec<Rule> = chosen.iter().flat_map(|group| group.rules.iter().cloned()).collect();
        // stable: of several equal rules the first one is named as the one that decided
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.pattern.len(), rule.allow)));
        RuleSet { rules, crawl_delay: chosen.iter().find_map(|group| group.crawl_delay) }
    }

    /// Whether a crawler of that product token may fetch the URL, and which line says so.
    #[must_use]
    pub fn verdict(&self, product_token: &str, url: &Url) -> RobotsVerdict {
        self.rules(product_token).verdict(url)
    }

    /// `Crawl-delay` of the groups that hold for a product token; not part of the RFC.
    #[must_use]
    pub fn crawl_delay(&self, product_token: &str) -> Option<Duration> {
        self.rules(product_token).crawl_delay
    }

    /// The values of all `Sitemap` lines, in order, as written.
    #[must_use]
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

impl RuleSet {
    /// Whether the URL may be fetched, and which line says so.
    #[must_use]
    pub fn verdict(&self, url: &Url) -> RobotsVerdict {
        self.verdict_of_path(&url[url::Position::BeforePath..url::Position::AfterQuery])
    }

    /// The same for a path with its query; percent-encoding is normalised here.
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

    /// The delay that the site asks for between two requests.
    #[must_use]
    pub const fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

#[cfg(test)]
mod tests;
