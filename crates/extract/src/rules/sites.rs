//! Rules for single sites: `sites.toml`.

use serde::Deserialize;
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
    host: String,
    #[serde(default)]
    pub(crate) template: Vec<Template>,
}

/// Pages of a site that are made alike.
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
    /// Returns the templates of all sites, in order; their places in this order are the indices of [`Part`](super::Part).
    pub(crate) fn templates(&self) -> impl Iterator<Item = (&Site, &Template)> {
        self.site.iter().flat_map(|site| site.template.iter().map(move |template| (site, template)))
    }

    /// Returns the faults that no type excludes: indices of site and template, key and problem.
    pub(super) fn faults(&self) -> Vec<(usize, Option<usize>, &'static str, String)> {
        let mut faults = Vec::new();
        for (index, site) in self.site.iter().enumerate() {
            let host = site.host.strip_prefix("*.").unwrap_or(&site.host);
            if host.contains('*') || url::Host::parse(host).is_err() {
                faults.push((
                    index,
                    None,
                    "match",
                    format!("\"{}\" is neither a host nor *. and a host", site.host),
                ));
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
        &self.host
    }

    /// Returns true for a URL of the site.
    pub(crate) fn matches(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        match self.host.strip_prefix("*.") {
            Some(domain) => {
                let above =
                    host.len().checked_sub(domain.len()).and_then(|at| host.get(..at).zip(host.get(at..)));
                above.is_some_and(|(above, end)| {
                    end.eq_ignore_ascii_case(domain) && (above.is_empty() || above.ends_with('.'))
                })
            }
            None => host.eq_ignore_ascii_case(&self.host),
        }
    }
}

impl Template {
    /// Returns true for a URL of such a page.
    pub(crate) fn matches(&self, url: &Url) -> bool {
        self.path.as_deref().is_none_or(|pattern| matches_stars(pattern, url.path()))
    }
}

/// Returns true if a text is as a pattern says, in which `*` stands for any characters.
fn matches_stars(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(text: &str) -> Sites {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_site_is_its_host_or_all_below_it() {
        let sites = sites("[[site]]\nmatch = \"*.example.org\"\n[[site]]\nmatch = \"a.test\"\n");
        let matches = |index: usize, url: &str| sites.site[index].matches(&Url::parse(url).unwrap());
        assert!(matches(0, "https://example.org/x") && matches(0, "https://www.EXAMPLE.org:8443/"));
        assert!(!matches(0, "https://badexample.org/") && !matches(0, "https://org/"));
        assert!(matches(1, "http://A.test/") && !matches(1, "http://b.a.test/"));
    }

    #[test]
    fn stars_stand_for_any_characters() {
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
        ] {
            assert_eq!(matches_stars(pattern, path), expected, "{pattern} {path}");
        }
    }
}
