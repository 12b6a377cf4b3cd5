//! Connection attempts to a server: to each address of each host in turn, each with its own timeout.

use super::db::Driver;
use std::{net::IpAddr, time::Duration};
use tokio::{net::lookup_host, time::timeout};
use tokio_postgres::{
    Client, Config, Error, Socket,
    config::{Host, LoadBalanceHosts},
    tls::MakeTlsConnect,
};
use uuid::Uuid;

/// Time without an acknowledgement after which the network counts as cut.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);

/// Silence after which the other side is probed, and the pause between two probes. A machine that loses its power while a
/// statement runs sends nothing, and no byte of this side is left without an acknowledgement.
const PROBES: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(5));

/// Sets the times after which a lost machine is noticed, unless the URL has its own.
pub(super) fn set_loss_timeouts(config: &mut Config, is_given: impl Fn(&str) -> bool) {
    if !is_given("tcp_user_timeout") {
        config.tcp_user_timeout(NETWORK_TIMEOUT);
    }
    if !is_given("keepalives_idle") {
        config.keepalives_idle(PROBES.0);
    }
    if !is_given("keepalives_interval") {
        config.keepalives_interval(PROBES.1);
    }
}

/// Connects to the first address that lets a session begin within `limit`. The error is that of the last address;
/// none if nothing came from it. The library bounds the connection of TCP only, and a stopped server accepts
/// connections and says nothing.
pub(super) async fn connect<T>(
    config: &Config,
    tls: T,
    limit: Duration,
) -> Result<(Client, Driver), Option<Error>>
where
    T: MakeTlsConnect<Socket> + Clone,
    T::Stream: Send + 'static,
{
    let mut last = None;
    for host in hosts(config) {
        for address in addresses(host, limit).await {
            match timeout(limit, address.connect(tls.clone())).await {
                Ok(Ok((client, connection))) => return Ok((client, Box::pin(connection) as Driver)),
                Ok(Err(error)) => last = Some(error),
                Err(_) => last = None,
            }
        }
    }
    Err(last)
}

/// The settings for each host. Lists of different lengths stay together, for the library to report.
fn hosts(config: &Config) -> Vec<Config> {
    let (names, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = names.len().max(addresses.len());
    let fits = |length: usize| length == 0 || length == count;
    if !fits(names.len()) || !fits(addresses.len()) || !fits(ports.len()) && ports.len() != 1 {
        return vec![config.clone()];
    }
    let one = |n: usize| {
        let mut one = without_hosts(config);
        match names.get(n) {
            Some(Host::Tcp(name)) => _ = one.host(name),
            Some(Host::Unix(path)) => _ = one.host_path(path),
            None => {}
        }
        if let Some(address) = addresses.get(n) {
            one.hostaddr(*address);
        }
        if let Some(port) = ports.get(n).or(ports.first()) {
            one.port(*port);
        }
        one
    };
    let mut all: Vec<Config> = (0..count).map(one).collect();
    shuffle_if_asked(config, &mut all);
    all
}

/// All settings but hosts, their addresses and ports, which cannot be taken out of a copy.
fn without_hosts(config: &Config) -> Config {
    let mut out = Config::new();
    if let Some(user) = config.get_user() {
        out.user(user);
    }
    if let Some(password) = config.get_password() {
        out.password(password);
    }
    if let Some(database) = config.get_dbname() {
        out.dbname(database);
    }
    if let Some(options) = config.get_options() {
        out.options(options);
    }
    if let Some(name) = config.get_application_name() {
        out.application_name(name);
    }
    if let Some(limit) = config.get_connect_timeout() {
        out.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        out.tcp_user_timeout(*limit);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        out.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        out.keepalives_retries(retries);
    }
    out.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
    out.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
    out.channel_binding(config.get_channel_binding()).target_session_attrs(config.get_target_session_attrs());
    out.load_balance_hosts(config.get_load_balance_hosts());
    out
}

/// The settings for each address of a host. A name that is not found stays, for the library to report.
async fn addresses(host: Config, limit: Duration) -> Vec<Config> {
    let ([Host::Tcp(name)], []) = (host.get_hosts(), host.get_hostaddrs()) else { return vec![host] };
    let port = host.get_ports().first().copied().unwrap_or(5432);
    let Ok(Ok(found)) = timeout(limit, lookup_host((name.as_str(), port))).await else { return vec![host] };
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    if found.is_empty() {
        return vec![host];
    }
    let at = |address: IpAddr| {
        let mut host = host.clone();
        host.hostaddr(address);
        host
    };
    let mut all: Vec<Config> = found.into_iter().map(at).collect();
    shuffle_if_asked(&host, &mut all);
    all
}

/// Brings hosts or addresses into a random order if the URL says `load_balance_hosts=random`.
fn shuffle_if_asked(config: &Config, all: &mut [Config]) {
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        all.sort_by_cached_key(|_| Uuid::new_v4());
    }
}

#[cfg(test)]
mod tests {
    use super::{super::url::PgUrl, *};

    #[test]
    fn settings_of_a_host_are_those_of_the_url() {
        let text = "postgres://u@a:1,b:2/d?hostaddr=127.0.0.1,127.0.0.2&options=-c%20a%3Db&application_name=n&connect_timeout=3\
                    &tcp_user_timeout=4&keepalives=0&keepalives_idle=5&keepalives_interval=6&keepalives_retries=7\
                    &sslmode=require&sslnegotiation=direct&channel_binding=require&target_session_attrs=read-write";
        let expected = "postgres://u@b:2/d?hostaddr=127.0.0.2&options=-c%20a%3Db&application_name=n&connect_timeout=3\
                    &tcp_user_timeout=4&keepalives=0&keepalives_idle=5&keepalives_interval=6&keepalives_retries=7\
                    &sslmode=require&sslnegotiation=direct&channel_binding=require&target_session_attrs=read-write";
        let found = hosts(&text.parse().unwrap());
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], expected.parse().unwrap());
        let mixed: Config = "postgres://u@a,b/d?hostaddr=127.0.0.1".parse().unwrap();
        assert_eq!(hosts(&mixed), [mixed]);
    }

    #[test]
    fn probes_of_the_url_are_kept() {
        let probes = |text: &str| {
            let url: PgUrl = text.parse().unwrap();
            let config = url.config();
            let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
            (
                config.get_keepalives_idle().as_secs(),
                seconds(config.get_keepalives_interval()),
                seconds(config.get_tcp_user_timeout().copied()),
            )
        };
        assert_eq!(probes("postgres://h/d"), (15, Some(5), Some(30)));
        let own = "postgres://h/d?keepalives_idle=7200&keepalives_interval=60&tcp_user_timeout=90";
        assert_eq!(probes(own), (7_200, Some(60), Some(90)));
        assert_eq!(probes("postgres://h/d?keepalives_interval=60"), (15, Some(60), Some(30)));
    }
}
