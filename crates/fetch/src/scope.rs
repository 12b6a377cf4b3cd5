//! Scope: the links that belong to the crawl, relative to its seeds.

use crawl_model::HostKey;
use rustc_hash::FxHashSet;
use std::{fmt, str::FromStr};
use url::{Host, Url};

/// Reach of a crawl around its seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The hosts of the seeds, with their ports.
    #[default]
    Host,
    /// The seeds' hosts (without a leading `www.`) and their subdomains, on any port.
    SubDomains,
    /// All hosts of the same registrable domain by the public suffix list, on any port.
    Domain,
    /// Everything.
    Any,
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "host" => Ok(Self::Host),
            "subdomains" => Ok(Self::SubDomains),
            "domain" => Ok(Self::Domain),
            "any" => Ok(Self::Any),
            _ => Err(format!("\"{text}\" is not a scope; known are host, subdomains, domain, any")),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::SubDomains => "subdomains",
            Self::Domain => "domain",
            Self::Any => "any",
        })
    }
}

/// The hosts of a crawl.
#[derive(Clone, Debug)]
pub struct ScopeSet {
    scope: Scope,
    /// Host keys, names or registrable domains, depending on the scope.
    keys: FxHashSet<String>,
}

impl ScopeSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self { scope, keys: FxHashSet::default() }
    }

    /// The scope of these seeds.
    pub fn of_seeds<'a>(scope: Scope, seeds: impl IntoIterator<Item = &'a Url>) -> Self {
        let mut set = Self::new(scope);
        seeds.into_iter().for_each(|url| set.add(url));
        set
    }

    /// Adds a further seed, or the target of a seed's redirect.
    pub fn add(&mut self, url: &Url) {
        let key = match self.scope {
            Scope::Any => None,
            Scope::Host => HostKey::of(url).map(|key| key.as_str().to_owned()),
            Scope::SubDomains => {
                url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host).to_owned())
            }
            Scope::Domain => domain(url).map(str::to_owned),
        };
        self.keys.extend(key);
    }

    /// Returns true if a URL belongs to the crawl.
    #[must_use]
    pub fn contains(&self, url: &Url) -> bool {
        match self.scope {
            Scope::Any => HostKey::of(url).is_some(),
            Scope::Host => HostKey::of(url).is_some_and(|key| self.keys.contains(key.as_str())),
            Scope::SubDomains => match url.host() {
                Some(Host::Domain(name)) => parents(name).any(|parent| self.keys.contains(parent)),
                _ => url.host_str().is_some_and(|host| self.keys.contains(host)),
            },
            Scope::Domain => domain(url).is_some_and(|domain| self.keys.contains(domain)),
        }
    }

    /// The reach of the crawl.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }
}

/// The registrable domain; an address, a public suffix or a name without one is returned unchanged.
#[must_use]
pub fn domain(url: &Url) -> Option<&str> {
    match url.host()? {
        Host::Domain(name) => Some(crawl_model::registrable_domain(name).unwrap_or(name)),
        _ => url.host_str(),
    }
}

/// A name and its parent names: `a.b.c`, `b.c`, `c`.
fn parents(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |rest| rest.split_once('.').map(|(_, parent)| parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(scope: Scope, seed: &str, url: &str) -> bool {
        ScopeSet::of_seeds(scope, [&Url::parse(seed).unwrap()]).contains(&Url::parse(url).unwrap())
    }

    #[test]
    fn each_scope_contains_its_urls() {
        // columns: host, subdomains, domain, any
        for (seed, url, expected) in [
            ("https://www.a.co.uk/", "http://www.a.co.uk/x", [true, true, true, true]),
            ("https://www.a.co.uk/", "https://a.co.uk/", [false, true, true, true]),
            ("https://docs.a.co.uk/", "https://a.co.uk/", [false, false, true, true]),
            ("https://docs.a.co.uk/", "https://v1.docs.a.co.uk/", [false, true, true, true]),
            ("https://a.co.uk/", "https://b.co.uk/", [false, false, false, true]),
            ("https://a.co.uk/", "https://xa.co.uk/", [false, false, false, true]),
            ("https://a.github.io/", "https://b.github.io/", [false, false, false, true]),
            ("https://a.test/", "https://a.test:8443/", [false, true, true, true]),
            ("http://127.0.0.1/", "http://127.0.0.1/x", [true, true, true, true]),
            ("http://127.0.0.1/", "http://1.0.0.1/", [false, false, false, true]),
            ("http://[::1]/", "http://[::1]/x", [true, true, true, true]),
            ("http://localhost/", "http://localhost/x", [true, true, true, true]),
            ("http://a.test/", "ftp://a.test/", [false, true, true, false]),
        ] {
            let found =
                [Scope::Host, Scope::SubDomains, Scope::Domain, Scope::Any].map(|s| contains(s, seed, url));
            assert_eq!(found, expected, "{url} from {seed}");
        }
    }

    #[test]
    fn redirect_target_host_can_be_added_to_the_scope() {
        let mut set = ScopeSet::of_seeds(Scope::Host, [&Url::parse("https://a.test/").unwrap()]);
        let www = Url::parse("https://www.a.test/").unwrap();
        assert!(!set.contains(&www));
        set.add(&www);
        assert!(set.contains(&www));
    }

    #[test]
    fn scope_names_round_trip() {
        for scope in [Scope::Host, Scope::SubDomains, Scope::Domain, Scope::Any] {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        assert!("Host".parse::<Scope>().unwrap_err().contains("subdomains"));
    }
}
