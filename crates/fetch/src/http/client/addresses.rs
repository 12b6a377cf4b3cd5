//! Addresses of hosts, and turns at them.

use super::HttpClient;
use crate::{
    address_book::AddressBook,
    error::{FetchError, Phase},
    http::turns::AddressTurns,
};
use crawl_model::HostKey;
use std::sync::Arc;
use tokio::time::timeout;
use url::Url;

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
        let _place = self.places.acquire().await;
        let limit = self.limits.connect;
        let late = FetchError::Timeout { phase: Phase::Connect, limit };
        if let Some(address) = timeout(limit, self.transport.locate(url)).await.unwrap_or(Err(late))? {
            self.addresses.note(&host, address);
        }
        Ok(())
    }
}
