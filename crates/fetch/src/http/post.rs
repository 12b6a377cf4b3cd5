//! Messages to a receiver that the operator names, such as a webhook: one POST, no redirect.

use super::{
    addresses::AddressPolicy,
    pool::{Pool, literal},
    settings::HttpSettings,
};
use crate::error::FetchError;
use reqwest::header::HeaderMap;
use std::net::IpAddr;
use url::{Host, Url};

/// Sender of messages to one receiver.
pub struct Poster {
    pool: Pool,
    addresses: AddressPolicy,
    url: Url,
}

impl Poster {
    /// A sender with the proxy, the certificates and the time limits of `settings`. Its address policy holds for the
    /// receiver. A receiver that is named as a loopback address may be one.
    ///
    /// # Errors
    /// When the URL is not secure, or TLS cannot be set up.
    pub fn new(url: Url, settings: &HttpSettings, mut addresses: AddressPolicy) -> Result<Self, FetchError> {
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => {
                let why = "a receiver has to be https; http is for loopback addresses only";
                return Err(FetchError::Url(why.into()));
            }
        }
        if is_loopback(&url) {
            let loopback = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
            addresses.allow.extend(loopback.map(ipnet::IpNet::from));
            addresses.allow.extend(literal(&url).map(ipnet::IpNet::from));
        }
        let settings = HttpSettings { addresses: addresses.clone(), ..settings.clone() };
        Ok(Self { pool: Pool::new(&settings)?, addresses, url })
    }

    /// Sends a message. Returns the status of the answer.
    ///
    /// # Errors
    /// When there is no answer, or the address of the receiver is not allowed.
    pub async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<u16, FetchError> {
        if let Some(address) = literal(&self.url).filter(|&address| !self.addresses.allows(address)) {
            let host = self.url.host_str().unwrap_or_default().to_owned();
            return Err(FetchError::AddressBlocked { host, address });
        }
        self.pool.post(&self.url, headers, body).await
    }

    /// Host of the receiver, for messages: its path may hold a secret.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(v4)) => v4.is_loopback(),
        Some(Host::Ipv6(v6)) => v6.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_receiver_must_be_https_or_loopback() {
        let made = |url: &str| {
            let (url, settings) = (Url::parse(url).unwrap(), HttpSettings::default());
            Poster::new(url, &settings, AddressPolicy::default()).map(drop)
        };
        for url in ["https://hooks.example/x", "http://127.0.0.1:9/x", "http://[::1]:9/", "http://localhost/"]
        {
            made(url).unwrap();
        }
        for url in ["http://hooks.example/x", "http://10.0.0.1/", "ftp://127.0.0.1/"] {
            let error = made(url).unwrap_err().to_string();
            assert!(error.contains("has to be https"), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn private_webhook_receiver_is_refused_by_default() {
        let url = Url::parse("https://10.0.0.1:9/x").unwrap();
        let settings =
            HttpSettings { connect_timeout: std::time::Duration::from_millis(50), ..HttpSettings::default() };
        let poster = Poster::new(url, &settings, AddressPolicy::default()).unwrap();
        let error = poster.post(HeaderMap::new(), Vec::new()).await.unwrap_err();
        assert!(matches!(error, FetchError::AddressBlocked { .. }), "{error}");
    }
}
