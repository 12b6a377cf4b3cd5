//! URL filters: `config/rules/url_filters.toml` (heuristics reference §6), then the user's regular
//! expressions.

use regex::{Regex, RegexSet};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::collections::BTreeMap;
use url::Url;

const FILE: &str = "url_filters.toml";
const TEXT: &str = include_str!("../../../config/rules/url_filters.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterFile {
    exclude: Vec<RuleEntry>,
    links_only: Vec<RuleEntry>,
    extensions: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    name: String,
    pattern: String,
}

/// Invalid filter.
#[derive(Debug, thiserror::Error)]
#[error("the URL rules in {source_name} are not valid: {reason}")]
pub struct FilterError {
    source_name: String,
    reason: String,
}

/// Filter rules as data; the input of [`UrlFilter`].
#[derive(Debug, Default)]
pub struct FilterRules {
    exclude: Vec<RuleEntry>,
    links_only: Vec<RuleEntry>,
    extensions: FxHashSet<String>,
}

impl FilterRules {
    /// The rules of `config/rules/url_filters.toml`.
    #[must_use]
    pub fn embedded() -> Self {
        Self::of(crate::rules::embedded(FILE, TEXT))
    }

    /// No built-in rules: only the user's expressions apply.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses rules in the format of `url_filters.toml`; `name` appears in the error.
    ///
    /// # Errors
    /// When the text does not have that format.
    pub fn parse(name: &str, text: &str) -> Result<Self, FilterError> {
        crate::rules::parse(name, text)
            .map(Self::of)
            .map_err(|reason| FilterError { source_name: name.to_owned(), reason })
    }

    fn of(file: FilterFile) -> Self {
        Self {
            exclude: file.exclude,
            links_only: file.links_only,
            extensions: file.extensions.into_values().flatten().collect(),
        }
    }
}

/// Decision of a filter on a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterDecision {
    /// Fetch it.
    Fetch,
    /// Fetch the URL only for its links.
    LinksOnly {
        /// Name of the rule.
        rule: String,
    },
    /// Do not fetch it.
    Exclude {
        /// Name of the rule, or the user's expression.
        rule: String,
    },
}

/// Compiled filter rules.
#[derive(Debug)]
pub struct UrlFilter {
    exclude: RegexSet,
    links_only: RegexSet,
    exclude_names: Vec<String>,
    links_only_names: Vec<String>,
    extensions: FxHashSet<String>,
    user_include: Vec<Regex>,
    user_exclude: Vec<Regex>,
}

impl UrlFilter {
    /// Creates a filter with or without the built-in rules; otherwise like [`UrlFilter::of_rules`].
    ///
    /// # Errors
    /// As [`UrlFilter::of_rules`].
    pub fn new(built_in: bool, include: &[Regex], exclude: &[Regex]) -> Result<Self, FilterError> {
        Self::of_rules(if built_in { FilterRules::embedded() } else { FilterRules::none() }, include, exclude)
    }

    /// Creates a filter. A URL must match one of `include`, if there are any, and none of `exclude`; both
    /// match against the whole URL.
    ///
    /// # Errors
    /// When a pattern of the rules is no regular expression.
    pub fn of_rules(rules: FilterRules, include: &[Regex], exclude: &[Regex]) -> Result<Self, FilterError> {
        let set = |entries: &[RuleEntry]| {
            RegexSet::new(entries.iter().map(|e| &e.pattern))
                .map_err(|e| FilterError { source_name: FILE.to_owned(), reason: e.to_string() })
        };
        let names = |entries: Vec<RuleEntry>| entries.into_iter().map(|e| e.name).collect();
        Ok(Self {
            exclude: set(&rules.exclude)?,
            links_only: set(&rules.links_only)?,
            exclude_names: names(rules.exclude),
            links_only_names: names(rules.links_only),
            extensions: rules.extensions,
            user_include: include.to_vec(),
            user_exclude: exclude.to_vec(),
        })
    }

    /// Classifies a canonical URL.
    #[must_use]
    pub fn classify(&self, url: &Url) -> FilterDecision {
        if let Some(extension) = self.excluded_extension(url.path()) {
            return FilterDecision::Exclude { rule: format!(".{extension}") };
        }
        let target = &url[url::Position::BeforePath..];
        let lower = target.to_ascii_lowercase();
        if let Some(rule) = first(&self.exclude, &self.exclude_names, &lower) {
            return FilterDecision::Exclude { rule };
        }
        if let Some(regex) = self.user_exclude.iter().find(|regex| regex.is_match(url.as_str())) {
            return FilterDecision::Exclude { rule: regex.as_str().to_owned() };
        }
        if !self.user_include.is_empty()
            && !self.user_include.iter().any(|regex| regex.is_match(url.as_str()))
        {
            return FilterDecision::Exclude { rule: "matches no --include".to_owned() };
        }
        match first(&self.links_only, &self.links_only_names, &lower) {
            Some(rule) => FilterDecision::LinksOnly { rule },
            None => FilterDecision::Fetch,
        }
    }

    /// Returns true if one of the user's own expressions excludes a URL.
    #[must_use]
    pub fn is_excluded_by_user(&self, url: &Url) -> bool {
        self.user_exclude.iter().any(|regex| regex.is_match(url.as_str()))
    }

    /// Extension of the last path segment, if it is excluded.
    fn excluded_extension(&self, path: &str) -> Option<&str> {
        /// Longer than any extension in the rules.
        const LONGEST: usize = 8;
        let segment = path.rsplit('/').next()?;
        let (name, extension) = segment.rsplit_once('.')?;
        if name.is_empty() || extension.is_empty() || extension.len() > LONGEST {
            return None;
        }
        self.extensions.get(extension.to_ascii_lowercase().as_str()).map(String::as_str)
    }
}

fn first(set: &RegexSet, names: &[String], text: &str) -> Option<String> {
    // most URLs match nothing, and `is_match` is faster
    if !set.is_match(text) {
        return None;
    }
    set.matches(text).iter().next().and_then(|index| names.get(index)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: &[&str], exclude: &[&str]) -> UrlFilter {
        let compile = |patterns: &[&str]| patterns.iter().map(|p| Regex::new(p).unwrap()).collect::<Vec<_>>();
        UrlFilter::new(true, &compile(include), &compile(exclude)).unwrap()
    }

    fn decide(url: &str) -> FilterDecision {
        filter(&[], &[]).classify(&Url::parse(&format!("https://h{url}")).unwrap())
    }

    #[test]
    fn filter_file_parses_and_rule_names_are_unique() {
        let file: FilterFile = crate::rules::parse(FILE, TEXT).unwrap();
        let names: Vec<_> = file.exclude.iter().chain(&file.links_only).map(|e| &e.name).collect();
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
        assert!(
            FilterRules::parse("mine.toml", "[[exclude]]\nnmae = 1")
                .unwrap_err()
                .to_string()
                .contains("mine.toml")
        );
    }

    #[test]
    fn urls_are_excluded_links_only_or_fetched() {
        for (url, rule) in [
            ("/_next/static/x", "next-static"),
            ("/CDN-CGI/l/email-protection", "cdn-cgi"),
            ("/a/wp-content/uploads/b", "wp-uploads"),
            ("/xmlrpc.php?rsd", "xmlrpc"),
            ("/story.amp", "amp"),
            ("/story.amp?x", "amp"),
            ("/a.PDF", ".pdf"),
            ("/a.tar.gz?download", ".gz"),
        ] {
            assert_eq!(decide(url), FilterDecision::Exclude { rule: rule.into() }, "{url}");
        }
        for (url, rule) in
            [("/tag/x", "tag"), ("/a/categories/b", "category"), ("/about-us", "about"), ("/sitemap", "feed")]
        {
            assert_eq!(decide(url), FilterDecision::LinksOnly { rule: rule.into() }, "{url}");
        }
        for url in ["/", "/story.amplified", "/v1.2/notes", "/.css", "/a.b/c", "/blog/2024/cats?page=2"] {
            assert_eq!(decide(url), FilterDecision::Fetch, "{url}");
        }
    }

    #[test]
    fn user_expressions_match_the_whole_url() {
        let filter = filter(&["^https://h/docs/"], &["secret"]);
        let decide = |u: &str| filter.classify(&Url::parse(u).unwrap());
        assert_eq!(decide("https://h/docs/a"), FilterDecision::Fetch);
        assert!(
            matches!(decide("https://h/blog/a"), FilterDecision::Exclude { rule } if rule.contains("--include"))
        );
        assert_eq!(decide("https://h/docs/a?secret"), FilterDecision::Exclude { rule: "secret".into() });
    }
}
