//! URLs of databases: `postgres://USER@HOST/DATABASE`.

use super::{password, reach};
use crate::store_url::refused;
use crawl_model::StoreError;
use std::{
    env,
    fmt::{self, Write},
    net::IpAddr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};
use tokio_postgres::{Config, config::Host};
use url::form_urlencoded;

/// Encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// None.
    Disable,
    /// Encryption without a check of the certificate.
    Require,
    /// Encryption with a check of the certificate and of its host name.
    VerifyFull,
}

/// A database of PostgreSQL. The URL never holds a password.
#[derive(Clone)]
pub struct PgUrl {
    config: Config,
    tls: TlsMode,
    root_cert: Option<PathBuf>,
    lease: Duration,
}

/// Time for which hosts are leased, unless the URL gives another one.
const LEASE: Duration = Duration::from_secs(60);

/// Directory of the socket of a URL without a host.
const SOCKETS: &str = "/var/run/postgresql";

/// Seconds for which hosts may be leased.
const LEASES: RangeInclusive<u64> = 2..=3_600;

impl FromStr for PgUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let rest = base.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(password_in_url());
        }
        let (mut tls, mut root_cert, mut lease) = (None, None, LEASE);
        let mut kept = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "password" | "sslpassword" | "passfile" => return Err(password_in_url()),
                "sslmode" => tls = Some(tls_mode(&value)?),
                "lease" => lease = lease_of(&value)?,
                "sslrootcert" => root_cert = Some(PathBuf::from(&*value)),
                _ => _ = kept.append_pair(&name, &value),
            }
        }
        // spaces as %20, which is all that the parser of the URL knows
        let kept = kept.finish().replace('+', "%20");
        let url = if kept.is_empty() { base.to_owned() } else { format!("{base}?{kept}") };
        let mut config = Config::from_str(&url).map_err(|e| refused(chain(&e)))?;
        // one with a slash in it, which ends the authority above
        if config.get_password().is_some() {
            return Err(password_in_url());
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host_path(SOCKETS);
        }
        reach::set_loss_timeouts(&mut config, |name| {
            form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == name)
        });
        // behind a loopback address may be a tunnel to the host that is named
        let local =
            config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let tls = tls.unwrap_or(if local { TlsMode::Disable } else { TlsMode::VerifyFull });
        if tls == TlsMode::VerifyFull && !has_names(&config) {
            return Err(refused(
                "hostaddr without a host has no name for the certificate: write postgres://NAME/DATABASE?hostaddr=…, or add \
                 sslmode=require",
            ));
        }
        Ok(Self { config, tls, root_cert, lease })
    }
}

impl PgUrl {
    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// Encryption of the connection: by default none to a local host, and
    /// [`VerifyFull`](TlsMode::VerifyFull) to others.
    #[must_use]
    pub const fn tls(&self) -> TlsMode {
        self.tls
    }

    /// Time for which the hosts of a worker are leased.
    pub(crate) const fn lease(&self) -> Duration {
        self.lease
    }

    /// Maximum wait for a host; the default applies if the URL has no `connect_timeout`.
    pub(crate) fn connect_timeout(&self, default: Duration) -> Duration {
        self.config.get_connect_timeout().copied().filter(|limit| !limit.is_zero()).unwrap_or(default)
    }

    pub(crate) fn root_cert(&self) -> Option<&Path> {
        self.root_cert.as_deref()
    }

    /// The password of `PGPASSWORD`, or of the file that `PGPASSFILE` names.
    pub(crate) fn password(&self) -> Result<Option<String>, StoreError> {
        if let Some(password) = env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
            return Ok(Some(password));
        }
        let named = env::var_os("PGPASSFILE").map(PathBuf::from);
        let usual = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
        let Some(path) = named.clone().or_else(usual) else { return Ok(None) };
        password::in_file(&path, named.is_some(), &self.account())
    }

    /// Host, port, database and user.
    pub(crate) fn account(&self) -> [String; 4] {
        let user = self.config.get_user().map(str::to_owned).or_else(|| env::var("USER").ok());
        let user = user.unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(&user).to_owned();
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            _ => "localhost".to_owned(),
        };
        [host, self.config.get_ports().first().unwrap_or(&5432).to_string(), database, user]
    }

    /// The form that earlier programs noted: the path of a socket is in place of a host.
    pub(crate) fn earlier_form(&self) -> String {
        let mut out = String::from("postgres://");
        if let Some(user) = self.config.get_user() {
            let _ = write!(out, "{user}@");
        }
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        out.push_str(&hosts.collect::<Vec<_>>().join(","));
        if let [port] = self.config.get_ports() {
            let _ = write!(out, ":{port}");
        }
        let _ = write!(out, "/{}", self.config.get_dbname().unwrap_or_default());
        out
    }
}

/// The URL for use in a later command. Only parameters of a Unix socket are kept.
impl fmt::Display for PgUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{}@", encoded(user))?;
        }
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        let names = hosts.iter().filter_map(|host| match host {
            Host::Tcp(name) => Some(name.as_str()),
            Host::Unix(_) => None,
        });
        let has_names = names.clone().next().is_some();
        for (n, name) in names.enumerate() {
            f.write_str(if n > 0 { "," } else { "" })?;
            // an address of IPv6
            if name.contains(':') { write!(f, "[{name}]") } else { f.write_str(name) }?;
            // one port may stand for all hosts
            if let Some(port) = ports.get(n).or(ports.last()) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", encoded(self.config.get_dbname().unwrap_or_default()))?;
        let sockets = hosts.iter().filter_map(|host| match host {
            Host::Unix(path) if path != Path::new(SOCKETS) => Some(path),
            _ => None,
        });
        let mut separator = '?';
        for path in sockets {
            write!(f, "{separator}host={}", encoded(&path.to_string_lossy()))?;
            separator = '&';
        }
        match ports {
            [port] if !has_names => write!(f, "{separator}port={port}"),
            _ => Ok(()),
        }
    }
}

/// A part of a URL, whose unusual characters are escaped.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

impl fmt::Debug for PgUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn lease_of(text: &str) -> Result<Duration, StoreError> {
    let seconds = text.parse().ok().filter(|seconds| LEASES.contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let (least, most) = (LEASES.start(), LEASES.end());
        refused(format!("lease={text}: expected whole seconds from {least} to {most}"))
    })
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = next.source();
    }
    text
}

fn password_in_url() -> StoreError {
    refused("it contains a password, or names a password file: set PGPASSWORD or PGPASSFILE instead")
}

fn tls_mode(name: &str) -> Result<TlsMode, StoreError> {
    match name {
        "disable" => Ok(TlsMode::Disable),
        "require" => Ok(TlsMode::Require),
        "verify-full" => Ok(TlsMode::VerifyFull),
        _ => Err(refused("sslmode is disable, require or verify-full")),
    }
}

/// Returns true unless a connection over `hostaddr` has no name that a certificate can be compared with.
fn has_names(config: &Config) -> bool {
    let hosts = config.get_hosts();
    config.get_hostaddrs().is_empty()
        || !hosts.is_empty() && hosts.iter().all(|host| matches!(host, Host::Tcp(_)))
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postgres(text: &str) -> PgUrl {
        text.parse().unwrap()
    }

    #[test]
    fn database_url_prints_without_parameters() {
        let url = postgres("postgresql://me@db.example:5433/crawls?connect_timeout=3");
        assert_eq!(url.to_string(), "postgres://me@db.example:5433/crawls");
        for text in ["postgres://h:x/d", "postgres://h/d?a=b"] {
            assert!(text.parse::<PgUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn printed_database_url_parses_again() {
        for text in [
            "postgres:///crawls",
            "postgres:///crawls?port=5466",
            "postgres:///crawls?host=/tmp/n6/sock&port=5466",
            "postgres://me@/crawls?host=/tmp/a%20b%26c",
            "postgres://me@a.example:5433,b.example:5434/crawls",
            "postgres://m%40e@[::1]:5432/d%3F",
        ] {
            assert_eq!(postgres(text).to_string(), text);
        }
        let socket = postgres("postgres:///crawls?host=/tmp/n6/sock&port=5466");
        assert_eq!(socket.earlier_form(), "postgres:///tmp/n6/sock:5466/crawls");
    }

    #[test]
    fn password_in_a_database_url_is_refused() {
        for text in [
            "postgres://me:secret@h/db",
            "postgres://me:@h/db",
            "postgres://me:sec/ret@h/db",
            "postgres://me@h/db?password=secret",
            "postgres://me@h/db?pass%77ord=secret",
        ] {
            let error = text.parse::<PgUrl>().unwrap_err().to_string();
            assert!(error.contains("PGPASSWORD") && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn remote_hosts_use_verified_tls_by_default() {
        let tls = |text: &str| postgres(text).tls();
        for local in [
            "postgres://localhost/d",
            "postgres://127.0.0.2/d",
            "postgres:///d",
            "postgres://u@%2Frun%2Fpg/d",
        ] {
            assert_eq!(tls(local), TlsMode::Disable, "{local}");
        }
        for other in ["postgres://db.example/d", "postgres://10.0.0.1/d", "postgres://localhost,db.example/d"]
        {
            assert_eq!(tls(other), TlsMode::VerifyFull, "{other}");
        }
        assert_eq!(tls("postgres://localhost/d?hostaddr=10.0.0.1"), TlsMode::VerifyFull);
        assert_eq!(tls("postgres://db.example/d?hostaddr=127.0.0.1"), TlsMode::VerifyFull, "a tunnel");
        assert_eq!(tls("postgres://localhost/d?hostaddr=127.0.0.1"), TlsMode::Disable);
        assert_eq!(tls("postgres:///d?hostaddr=127.0.0.1"), TlsMode::Disable);
        assert_eq!(tls("postgres:///d?hostaddr=10.0.0.1&sslmode=require"), TlsMode::Require);
        for nameless in ["", "&sslmode=verify-full", "&host=/run/postgresql"] {
            let url = format!("postgres:///d?hostaddr=10.0.0.1{nameless}");
            let error = url.parse::<PgUrl>().unwrap_err().to_string();
            assert!(error.contains("no name for the certificate"), "{url}: {error}");
        }
        assert_eq!(tls("postgres://h/d?sslmode=disable"), TlsMode::Disable);
        assert_eq!(tls("postgres://h/d?sslmode=require"), TlsMode::Require);
        assert_eq!(tls("postgres://localhost/d?sslmode=verify-full"), TlsMode::VerifyFull);
        assert!("postgres://h/d?sslmode=prefer".parse::<PgUrl>().is_err());
    }

    #[test]
    fn lease_defaults_to_one_minute() {
        assert_eq!(postgres("postgres://h/d").lease(), Duration::from_secs(60));
        assert_eq!(postgres("postgres://h/d?lease=4").lease(), Duration::from_secs(4));
        for text in ["1", "3601", "4s", ""] {
            let error = format!("postgres://h/d?lease={text}").parse::<PgUrl>().unwrap_err().to_string();
            assert!(error.contains("whole seconds from 2 to 3600"), "{error}");
        }
    }

    #[test]
    fn socket_path_with_a_space_is_parsed() {
        let url = postgres("postgres://me@/d?host=/tmp/a%20b&sslrootcert=/ca.pem");
        assert_eq!(url.config().get_hosts(), [Host::Unix("/tmp/a b".into())]);
        assert_eq!(url.root_cert(), Some(Path::new("/ca.pem")));
        assert_eq!(url.account(), ["localhost", "5432", "d", "me"]);
    }
}
