//! Name resolution that never yields an address which must not be contacted.

use super::addresses::AddressPolicy;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

/// `HOST:PORT:ADDR` as curl's `--resolve`: connections to that host and port go to that address. The address policy
/// holds for it like for any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveRule {
    /// Lower-case host name.
    pub host: String,
    /// Port of the URL.
    pub port: u16,
    /// Where to connect; curl's comma-separated list.
    pub addresses: Vec<IpAddr>,
}

impl FromStr for ResolveRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("\"{text}\" is not HOST:PORT:ADDR ({what})");
        let mut parts = text.splitn(3, ':');
        let (Some(host), Some(port), Some(addresses)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong("three parts are needed"));
        };
        if host.is_empty() {
            return Err(wrong("the host is empty"));
        }
        let port = port.parse().map_err(|_| wrong("the port is not a number up to 65535"))?;
        let addresses = addresses
            .split(',')
            .map(|a| a.trim_start_matches('[').trim_end_matches(']').parse())
            .collect::<Result<_, _>>()
            .map_err(|_| wrong("the address is neither IPv4 nor IPv6"))?;
        Ok(Self { host: host.to_ascii_lowercase(), port, addresses })
    }
}

/// All addresses of a name were refused by the policy. Found again in the error chain of a failed connection.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) IpAddr);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address {} must not be contacted", self.0)
    }
}

impl std::error::Error for Refused {}

/// The resolver of a client: fixed answers first, then the system's, both under the address policy.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    fixed: Arc<FxHashMap<String, Vec<IpAddr>>>,
    /// Names of configured proxies: they commonly stand on private addresses, by the user's own choice. URLs of pages with
    /// such a name are checked before.
    exempt: Arc<FxHashSet<String>>,
    policy: Arc<AddressPolicy>,
}

impl GuardedResolver {
    pub(crate) fn new(
        fixed: FxHashMap<String, Vec<IpAddr>>,
        exempt: FxHashSet<String>,
        policy: Arc<AddressPolicy>,
    ) -> Self {
        Self { fixed: Arc::new(fixed), exempt: Arc::new(exempt), policy }
    }

    /// Whether a rule names the addresses of this lower-case name.
    pub(super) fn is_fixed(&self, name: &str) -> bool {
        self.fixed.contains_key(name)
    }

    /// The addresses of a lower-case name that may be contacted; at least one, or [`Refused`].
    pub(super) async fn addresses(
        self,
        name: String,
    ) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
        // port 0 is replaced by the URL's own
        let found: Vec<SocketAddr> = match self.fixed.get(&name) {
            Some(addresses) => addresses.iter().map(|&ip| SocketAddr::new(ip, 0)).collect(),
            None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
        };
        if self.exempt.contains(&name) {
            return Ok(Box::new(found.into_iter()));
        }
        let first = found.first().copied();
        let allowed: Vec<SocketAddr> =
            found.into_iter().filter(|address| self.policy.allows(address.ip())).collect();
        match first {
            Some(refused) if allowed.is_empty() => Err(Box::new(Refused(refused.ip()))),
            _ => Ok(Box::new(allowed.into_iter())),
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(self.clone().addresses(name.as_str().to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_as_curls() {
        assert_eq!(
            "Example.org:8080:127.0.0.1".parse(),
            Ok(ResolveRule {
                host: "example.org".into(),
                port: 8080,
                addresses: vec!["127.0.0.1".parse().unwrap()]
            })
        );
        let rule: ResolveRule = "h:443:[::1],10.0.0.1".parse().unwrap();
        assert_eq!(rule.addresses, ["::1".parse::<IpAddr>().unwrap(), "10.0.0.1".parse().unwrap()]);
        for bad in ["", "h", "h:80", ":80:1.2.3.4", "h:99999:1.2.3.4", "h:80:nowhere"] {
            assert!(bad.parse::<ResolveRule>().unwrap_err().contains("HOST:PORT:ADDR"), "{bad}");
        }
    }

    #[tokio::test]
    async fn fixed_answers_obey_the_policy_too() {
        let resolver = |allow: &[&str]| {
            let fixed =
                [("a.test".to_owned(), vec!["127.0.0.1".parse().unwrap(), "1.1.1.1".parse().unwrap()])];
            let policy = AddressPolicy {
                allow_private: false,
                allow: allow.iter().map(|net| net.parse().unwrap()).collect(),
            };
            GuardedResolver::new(fixed.into_iter().collect(), FxHashSet::default(), Arc::new(policy))
        };
        let addresses = resolver(&[]).addresses("a.test".into()).await.unwrap();
        assert_eq!(addresses.map(|a| a.ip().to_string()).collect::<Vec<_>>(), ["1.1.1.1"]);
        let refused = resolver(&[]).addresses("localhost".into()).await.err().unwrap();
        assert!(refused.downcast_ref::<Refused>().unwrap().0.is_loopback());
        assert!(resolver(&["127.0.0.0/8", "::1/128"]).addresses("localhost".into()).await.is_ok());
    }
}
