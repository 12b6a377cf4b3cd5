//! Plain HTTP: one request, one hop, one typed answer.

pub mod addresses;
mod body;
mod client;
mod connections;
mod content;
mod cookies;
mod decode;
mod exchange;
mod failure;
mod fetched;
mod frames;
mod headers;
mod metered_tls;
mod pool;
mod resolve;
mod settings;
mod transport;
mod watch;

pub use addresses::AddressPolicy;
pub use client::{HttpClient, Resource};
pub use content::{SkipKind, foreign_format};
pub use decode::decode_body;
pub use exchange::{Exchange, Recorded, Recorder, Truncated};
pub use fetched::Fetched;
pub use headers::{LONGEST_RETRY_AFTER, parse_retry_after};
pub use resolve::ResolveRule;
pub use settings::{
    HostAuth, HttpSettings, MAX_IDLE_PER_HOST, MAX_IDLE_TIME, MIN_RATE_BYTES, ProxyChoice, ProxyUrl,
    RequestHeader,
};
pub use transport::{Answer, Transport, Waiting};
pub use watch::SlowWatch;
