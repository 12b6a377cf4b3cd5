//! What a site repeats, and which pages are the same: synchronous state machines without clock or network.
//!
//! - [`fingerprint`]: phase A of the boilerplate spec, exact, as pure functions.
//! - [`HostFingerprint`]: the same for one host in a stream of pages, in bounded memory.
//! - [`site`]: the mode that looks at where a block stands; [`Fingerprint`] is either of the two.
//! - [`HostStream`]: which pages of a host wait until more is known of it.
//! - [`batch`]: the same over all pages of a domain at once, the yardstick of the stream.
//! - [`exact_hash`]: what decides that two pages have the same content.
//!
//! [`fingerprint::strip_boilerplate`] may leave nothing of a page. Everything above it does not: a page of which
//! nothing but whitespace would be left keeps its text, and says that nothing was removed.

pub mod batch;
mod blocks;
mod clean;
mod counts;
mod exact;
mod fence;
pub mod fingerprint;
mod host;
mod mode;
mod outlook;
mod saved;
mod settings;
pub mod site;
mod state;
mod stream;

pub use blocks::{BlockSpan, PageBlocks};
pub use clean::Cleaned;
pub use exact::{MIN_CHARS, exact_hash, hashes};
pub use host::{HostFingerprint, MAX_BLOCKS};
pub use mode::{Fingerprint, Mode, Novelty, ReadPage};
pub use saved::StateError;
pub use settings::{FingerprintSettings, SettingRange, SettingsError};
pub use site::{PageText, SiteFingerprint};
pub use state::HostState;
pub use stream::{HoldPolicy, HostStream, Release};
