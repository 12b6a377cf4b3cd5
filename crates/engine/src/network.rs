//! Requests of a run and their pace.

use crate::{outage::Outage, slow_lane::SlowLane};
use crawl_fetch::{ByteBudget, Gate, HttpClient, RetryPolicy};

/// The client, and everything that bounds its requests.
pub struct Network {
    /// One request at a time.
    pub client: HttpClient,
    /// Politeness.
    pub gate: Gate,
    /// Memory of bodies between the network and extraction.
    pub budget: ByteBudget,
    /// Permits for hosts that answer slowly.
    pub slow: SlowLane,
    /// Retries of failed requests.
    pub retry: RetryPolicy,
    /// Present lack of a local resource that requests need.
    pub outage: Outage,
    /// Product token that is looked up in robots.txt and meta robots.
    pub product_token: String,
}
