//! Addresses of hosts, and turns at them.

use super::HttpClient;
use crate::{
    address_book::AddressBook,
    error::{FetchError, Phase},
    http::{turns::AddressTurns, watch::waiting},
};
use crawl_model::HostKey;
use std::sync::Arc;
use tokio::time::timeout;
use url::Url;

/// Connect timeouts that the resolution of a name may take. A silent resolver uses up the first one, and the
/// probe that tells it from a broken zone the second one.
const LOCATE_LIMITS: u32 = 2;

impl HttpClient {
    /// Waits for a turn at the address of a host before each request from now on. Nothing waits for an address that is not in
    /// the address book.
    pub fn take_turns(&mut self, turns: Arc<dyn AddressTurns>) {
        self.turns = Some(turns);
    }

    /// Waits for the turn of a request at the address of its host. A request of another client calls it.
    ///
    /// # Errors
    /// When no turn can be had.
    pub async fn turn(&self, url: &Url) -> Result<(), FetchError> {
        let Some(turns) = &self.turns else { return Ok(()) };
        let address = HostKey::of(url).and_then(|host| self.addresses.address_of(&host));
        match address {
            Some(address) => turns.take(address).await,
            None => Ok(()),
        }
    }

    /// Addresses of the hosts reached so far: for a [`Gate`](crate::Gate) that limits hosts on one address
    /// together.
    #[must_use]
    pub fn address_book(&self) -> AddressBook {
        self.addresses.clone()
    }

    /// Resolves a host and writes its address to the address book, without a request. Writes nothing behind a
    /// proxy, where the address is unknown.
    ///
    /// # Errors
    /// When the host has no address, or none that may be contacted.
    pub async fn locate(&self, url: &Url) -> Result<(), FetchError> {
        let Some(host) = HostKey::of(url) else { return Ok(()) };
        let _permit = self.permits.acquire().await;
        let limit = self.limits.connect.saturating_mul(LOCATE_LIMITS);
        let late = FetchError::Timeout { phase: Phase::Connect, limit };
        let located = waiting(timeout(limit, self.transport.locate(url))).await;
        if let Some(address) = located.unwrap_or(Err(late))? {
            self.addresses.note(&host, address);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::ByteBudget,
        error::LocalResource,
        http::{
            settings::HttpSettings,
            transport::{Answer, Attributed, Transport, Waiting},
            watch::SlowWatch,
        },
    };
    use reqwest::header::HeaderMap;
    use std::time::Duration;
    use tokio::time::{Instant, sleep};

    const CONNECT: Duration = Duration::from_secs(10);

    /// A network whose resolver is silent: the lookup and the probe after it take most of their limits.
    struct SilentResolver;

    impl Transport for SilentResolver {
        fn get<'a>(&'a self, _: &'a Url, _: HeaderMap) -> Waiting<'a, Answer> {
            Box::pin(async {
                sleep(CONNECT.mul_f64(0.9)).await;
                Err(FetchError::Local { resource: LocalResource::Resolver, reason: "no answer".into() })
            })
        }

        fn attribute<'a>(&'a self, error: FetchError, _: &'a Url, _: Instant) -> Attributed<'a> {
            Box::pin(async {
                sleep(CONNECT).await;
                error
            })
        }

        fn locate<'a>(&'a self, _: &'a Url) -> Waiting<'a, Option<std::net::IpAddr>> {
            Box::pin(async {
                sleep(CONNECT.mul_f64(0.9)).await;
                sleep(CONNECT).await;
                Err(FetchError::Local { resource: LocalResource::Resolver, reason: "no answer".into() })
            })
        }

        fn check<'a>(&'a self, _: &'a Url) -> Waiting<'a, ()> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn is_direct(&self, _: &Url) -> bool {
            true
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_resolver_is_not_a_timeout_of_the_host() {
        let settings = HttpSettings { connect_timeout: CONNECT, ..HttpSettings::default() };
        let client = HttpClient::over(Arc::new(SilentResolver), settings, ByteBudget::new(1)).unwrap();
        let url = Url::parse("http://a.test/").unwrap();
        let error = client.locate(&url).await.unwrap_err();
        assert!(error.is_local(), "{error}");
        let settings =
            HttpSettings { connect_timeout: CONNECT, read_timeout: CONNECT / 2, ..HttpSettings::default() };
        let client = HttpClient::over(Arc::new(SilentResolver), settings, ByteBudget::new(1)).unwrap();
        let error = client.fetch_resource(&url, 9).await.unwrap_err();
        assert!(error.is_local(), "{error}");
    }

    /// The task holds a permit that other hosts could use.
    #[tokio::test(start_paused = true)]
    async fn slow_resolution_of_a_name_counts_as_slow() {
        let client =
            HttpClient::over(Arc::new(SilentResolver), HttpSettings::default(), ByteBudget::new(1)).unwrap();
        let (url, watch) =
            (Url::parse("http://a.test/").unwrap(), SlowWatch::new(CONNECT / 10, 3 * CONNECT / 10));
        let began = Instant::now();
        let signalled = async {
            watch.slow().await;
            began.elapsed()
        };
        tokio::select! {
            biased;
            after = signalled => assert_eq!(after, 3 * CONNECT / 10),
            located = watch.over(client.locate(&url)) => panic!("{located:?} without a signal"),
        }
    }
}
