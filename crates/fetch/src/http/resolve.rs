//! Name resolution that only returns addresses which may be contacted.

use super::addresses::AddressPolicy;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    io,
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

/// `HOST:PORT:ADDR`, like curl's `--resolve`: connections to that host and port go to that address. The
/// address policy applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveRule {
    /// Lower-case host name.
    pub host: String,
    /// Port of the URL.
    pub port: u16,
    /// Addresses to connect to; curl's comma-separated list.
    pub addresses: Vec<IpAddr>,
}

impl FromStr for ResolveRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // the caller names the text
        let wrong = |what: &str| format!("not HOST:PORT:ADDRESS, as example.org:443:192.0.2.1 ({what})");
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

/// Error if the policy refused all addresses of a name. Searched for in the error chain of a failed
/// connection.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) IpAddr);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address {} must not be contacted", self.0)
    }
}

impl std::error::Error for Refused {}

/// Error if the resolver gave no answer, not even that the name does not exist. Searched for in the error
/// chain of a failed connection.
#[derive(Debug)]
pub(crate) struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

/// Returns true if `getaddrinfo` failed with `EAI_AGAIN`. The standard library keeps only the message: of
/// glibc and macOS, or of musl.
fn is_unanswered(error: &io::Error) -> bool {
    let words = error.to_string().to_ascii_lowercase();
    error.raw_os_error().is_none()
        && (words.contains("temporary failure in name resolution") || words.ends_with("try again"))
}

/// Resolver of a client: fixed answers first, then the system's, both under the address policy.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    fixed: Arc<FxHashMap<String, Vec<IpAddr>>>,
    /// Names of configured proxies, which often have private addresses by the user's choice. URLs of pages
    /// with such a name are checked earlier.
    exempt: Arc<FxHashSet<String>>,
    policy: Arc<AddressPolicy>,
    /// Time limit of the system's resolver.
    patience: Duration,
}

impl GuardedResolver {
    pub(crate) fn new(
        fixed: FxHashMap<String, Vec<IpAddr>>,
        exempt: FxHashSet<String>,
        policy: Arc<AddressPolicy>,
        connect_timeout: Duration,
    ) -> Self {
        // shorter than the outer limit, to distinguish a silent resolver from a silent host
        let patience = connect_timeout.mul_f64(0.9);
        Self { fixed: Arc::new(fixed), exempt: Arc::new(exempt), policy, patience }
    }

    /// Returns true if a rule fixes the addresses of this lower-case name.
    pub(super) fn is_fixed(&self, name: &str) -> bool {
        self.fixed.contains_key(name)
    }

    /// The allowed addresses of a lower-case name; at least one, or [`Refused`].
    pub(super) async fn addresses(
        self,
        name: String,
    ) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
        // the URL's own port replaces port 0
        let found: Vec<SocketAddr> = match self.fixed.get(&name) {
            Some(addresses) => addresses.iter().map(|&ip| SocketAddr::new(ip, 0)).collect(),
            None => lookup(&name, self.patience).await?,
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

/// Asks the system's resolver.
async fn lookup(
    name: &str,
    patience: Duration,
) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
    match timeout(patience, tokio::net::lookup_host((name, 0))).await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(error)) if is_unanswered(&error) => Err(Box::new(Unanswered(error.to_string()))),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Box::new(Unanswered(format!("no answer within {patience:?}")))),
    }
}

/// Probe that distinguishes a silent resolver from a single broken zone. It resolves an unregistered name,
/// for which "no such name" is an answer.
#[derive(Default)]
pub(super) struct ResolverProbe(Mutex<Option<Probed>>);

#[derive(Clone, Copy)]
struct Probed {
    began: Instant,
    ended: Instant,
    answers: bool,
}

/// Period for which the resolver counts as silent after an unanswered probe.
const SILENT_FOR: Duration = Duration::from_secs(5);

impl ResolverProbe {
    /// Returns true if the resolver answers a probe that began after `since`. Callers share probes.
    pub(super) async fn answers(&self, name: &str, since: Instant, patience: Duration) -> bool {
        self.answers_by(since, async || {
            let random = RandomState::new().hash_one(name);
            // another name of the same registry; the final dot disables the system's search list
            let zone = name.trim_end_matches('.').rsplit_once('.').map_or("com", |(_, zone)| zone);
            let probe = lookup(&format!("{random:016x}.{zone}."), patience).await;
            probe.err().is_none_or(|error| !error.is::<Unanswered>())
        })
        .await
    }

    async fn answers_by(&self, since: Instant, ask: impl AsyncFnOnce() -> bool) -> bool {
        let mut last = self.0.lock().await;
        let holds = |probed: &Probed| match probed.answers {
            true => probed.began >= since,
            false => probed.ended.elapsed() < SILENT_FOR,
        };
        if let Some(probed) = last.filter(holds) {
            return probed.answers;
        }
        let began = Instant::now();
        let answers = ask().await;
        *last = Some(Probed { began, ended: Instant::now(), answers });
        answers
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
    fn resolve_rules_parse_like_those_of_curl() {
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
    async fn resolve_rules_obey_the_address_policy() {
        let resolver = |allow: &[&str]| {
            let fixed =
                [("a.test".to_owned(), vec!["127.0.0.1".parse().unwrap(), "1.1.1.1".parse().unwrap()])];
            let policy = AddressPolicy {
                allow_private: false,
                allow: allow.iter().map(|net| net.parse().unwrap()).collect(),
            };
            let (fixed, exempt) = (fixed.into_iter().collect(), FxHashSet::default());
            GuardedResolver::new(fixed, exempt, Arc::new(policy), Duration::from_secs(10))
        };
        let addresses = resolver(&[]).addresses("a.test".into()).await.unwrap();
        assert_eq!(addresses.map(|a| a.ip().to_string()).collect::<Vec<_>>(), ["1.1.1.1"]);
        let refused = resolver(&[]).addresses("localhost".into()).await.err().unwrap();
        assert!(refused.downcast_ref::<Refused>().unwrap().0.is_loopback());
        assert!(resolver(&["127.0.0.0/8", "::1/128"]).addresses("localhost".into()).await.is_ok());
    }

    #[test]
    fn resolver_failure_differs_from_unknown_name() {
        let of = |words: &str| {
            is_unanswered(&io::Error::other(format!("failed to lookup address information: {words}")))
        };
        assert!(of("Temporary failure in name resolution") && of("Try again"));
        assert!(!of("Name or service not known") && !of("No address associated with hostname"));
        assert!(
            !is_unanswered(&io::Error::from_raw_os_error(11)),
            "an error of the system is none of the resolver"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn resolver_probe_is_shared_and_must_follow_the_failure() {
        let probe = ResolverProbe::default();
        let asked = std::cell::Cell::new(0);
        let ask = async |since, answer| {
            probe
                .answers_by(since, async || {
                    asked.set(asked.get() + 1);
                    answer
                })
                .await
        };
        let start = Instant::now();
        assert!(ask(start, true).await);
        assert!(ask(start, false).await, "the first probe began after the failed lookup");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!ask(Instant::now(), false).await, "the first probe says nothing of this one");
        assert!(!ask(Instant::now(), true).await);
        assert_eq!(asked.get(), 2);
        tokio::time::advance(SILENT_FOR).await;
        assert!(ask(Instant::now(), true).await);
    }
}
