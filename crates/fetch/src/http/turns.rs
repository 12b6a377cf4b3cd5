//! Turns at addresses that several processes share.

use crate::error::FetchError;
use std::{future::Future, net::IpAddr, pin::Pin};

/// Future of [`AddressTurns::take`].
pub type Turn<'a> = Pin<Box<dyn Future<Output = Result<(), FetchError>> + Send + 'a>>;

/// Order of requests to one address by several processes. The client waits for its turn before each request.
pub trait AddressTurns: Send + Sync {
    /// Completes when the next request to the address may begin.
    ///
    /// # Errors
    /// When the turn fails. The request is not made then.
    fn take(&self, address: IpAddr) -> Turn<'_>;
}
