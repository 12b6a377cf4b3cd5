//! Plain HTTP: one request, one hop, one typed answer.

pub mod addresses;
mod body;
mod certificate;
mod client;
mod connections;
mod content;
mod cookies;
mod credentials;
mod decode;
mod exchange;
mod failure;
mod fetched;
mod frames;
mod headers;
mod losses;
mod metered_tls;
mod pool;
mod post;
mod resolve;
mod settings;
mod transport;
mod turns;
mod watch;

pub use addresses::{AddressPolicy, is_public};
pub use client::{HttpClient, Resource};
pub use content::{SkipKind, foreign_format, known_format};
pub use credentials::{Credential, FileCookie, HostAuth, cookies_of_file};
pub use decode::decode_body;
pub use exchange::{Exchange, Recorded, Recorder, Truncated};
pub use fetched::Fetched;
pub use headers::{LONGEST_RETRY_AFTER, answered_at, parse_retry_after};
pub use post::Poster;
pub use resolve::ResolveRule;
pub use settings::{
    HttpSettings, MAX_IDLE_PER_HOST, MAX_IDLE_TIME, MIN_RATE_BYTES, ProxyChoice, ProxyUrl, RequestHeader,
};
pub use transport::{Answer, Attributed, Transport, Waiting};
pub use turns::{AddressTurns, Turn};
pub use watch::SlowWatch;
