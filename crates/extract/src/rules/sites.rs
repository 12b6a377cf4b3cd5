//! Rules for single sites: `sites.toml`.

use serde::Deserialize;
use std::borrow::Cow;
use url::Url;

/// `sites.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sites {
    pub(crate) site: Vec<Site>,
}

/// The templates of a site.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Site {
    #[serde(rename = "match")]
    host: HostPattern,
    #[serde(default)]
    pub(crate) template: Vec<Template>,
}

/// A host, or a domain with its subdomains (`*.example.org`).
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
struct HostPattern {
    /// Text in the file.
    written: String,
    /// Host as in URLs: lower case, Punycode; `None` if invalid.
    host: Option<String>,
    is_domain: bool,
}

impl From<String> for HostPattern {
    fn from(written: String) -> Self {
        let (host, is_domain) = match written.strip_prefix("*.") {
            Some(domain) => (domain, true),
            None => (written.as_str(), false),
        };
        let host = Some(host).filter(|host| !host.contains('*')).and_then(|host| url::Host::parse(host).ok());
        Self { host: host.map(|host| host.to_string()), is_domain, written }
    }
}

/// Pages of a site with the same structure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Template {
    path: Option<String>,
    pub(crate) content: Vec<String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
    #[serde(default)]
    pub(crate) title: Vec<String>,
}

impl Sites {
    /// Templates of all sites, in order; their positions are the indices of [`Part`](super::Part).
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&Site, &Template)> {
        self.site.iter().flat_map(|site| site.template.iter().map(move |template| (site, template)))
    }

    /// Faults that no type excludes: indices of site and template, key and problem.
    pub(super) fn faults(&self) -> Vec<(usize, Option<usize>, &'static str, String)> {
        let mut faults = Vec::new();
        for (index, site) in self.site.iter().enumerate() {
            let HostPattern { written, host, .. } = &site.host;
            if host.is_none() {
                let problem = format!(
                    "\"{written}\" is neither a host nor *. and a host; write it without scheme, port and path"
                );
                faults.push((index, None, "match", problem));
            }
            for (number, template) in site.template.iter().enumerate() {
                if template.content.is_empty() {
                    faults.push((
                        index,
                        Some(number),
                        "content",
                        "a template needs a selector of its content".into(),
                    ));
                }
                if template.path.as_ref().is_some_and(|path| !path.starts_with(['/', '*'])) {
                    faults.push((index, Some(number), "path", "a path begins with / or *".into()));
                }
            }
        }
        faults
    }
}

impl Site {
    /// The host, as it is written.
    pub(crate) fn host(&self) -> &str {
        &self.host.written
    }

    /// Returns true for a URL of the site.
    pub(crate) fn matches(&self, url: &Url) -> bool {
        let (Some(host), Some(named)) = (url.host_str(), self.host.host.as_deref()) else { return false };
        let above = host.strip_suffix(named);
        above.is_some_and(|above| above.is_empty() || self.host.is_domain && above.ends_with('.'))
    }
}

impl Template {
    /// Returns true for a URL of such a page.
    pub(crate) fn matches(&self, url: &Url) -> bool {
        self.path.as_deref().is_none_or(|pattern| matches_stars(pattern, &decoded(url.path())))
    }
}

/// A path without percent-encoding, as people write it.
fn decoded(path: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(path).decode_utf8_lossy()
}

/// Returns true if a decoded path matches a pattern, in which `*` matches any characters. The pattern may
/// be percent-encoded.
fn matches_stars(pattern: &str, path: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return decoded(pattern) == path };
    let Some(mut path) = path.strip_prefix(&*decoded(first)) else { return false };
    let mut parts: Vec<Cow<'_, str>> = rest.split('*').map(decoded).collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = path.find(&*part) else { return false };
        path = &path[at + part.len()..];
    }
    path.ends_with(&*last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(text: &str) -> Sites {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn site_pattern_matches_a_host_or_its_subdomains() {
        let sites = sites("[[site]]\nmatch = \"*.example.org\"\n[[site]]\nmatch = \"a.test\"\n");
        let matches = |index: usize, url: &str| sites.site[index].matches(&Url::parse(url).unwrap());
        assert!(matches(0, "https://example.org/x") && matches(0, "https://www.EXAMPLE.org:8443/"));
        assert!(!matches(0, "https://badexample.org/") && !matches(0, "https://org/"));
        assert!(matches(1, "http://A.test/") && !matches(1, "http://b.a.test/"));
        let sites = self::sites("[[site]]\nmatch = \"*.hafen-süd.example\"\n[[site]]\nmatch = \"[::1]\"\n");
        let matches = |index: usize, url: &str| sites.site[index].matches(&Url::parse(url).unwrap());
        assert!(matches(0, "https://www.Hafen-Süd.example/") && matches(1, "http://[0::1]:8080/"));
        assert!(sites.faults().is_empty());
    }

    #[test]
    fn stars_match_any_characters() {
        for (pattern, path, expected) in [
            ("/a/*", "/a/b/c", true),
            ("/a/*", "/b/a/", false),
            ("*.html", "/x/y.html", true),
            ("*.html", "/x/y.html5", false),
            ("/a/*/c*d", "/a/b/cad", true),
            ("/a/*/c*d", "/a/c/d", false),
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("*", "/", true),
            ("/straße/*", "/stra%C3%9Fe/1", true),
            ("/stra%c3%9fe/*", "/stra%C3%9Fe/1", true),
            ("/a%2Ab", "/axb", false),
        ] {
            assert_eq!(matches_stars(pattern, &decoded(path)), expected, "{pattern} {path}");
        }
    }
}
