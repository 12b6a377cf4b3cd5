//! Detection of a site's boilerplate and of duplicate pages: synchronous state machines without clock or
//! network.
//!
//! - [`fingerprint`]: phase A of the boilerplate spec, exact, as pure functions.
//! - [`HostFingerprint`]: the same for one host in a stream of pages, in bounded memory.
//! - [`site`]: the mode that also uses the position of a block; [`Fingerprint`] is either mode.
//! - [`HostStream`]: pages of a host that are held until its fingerprint settles.
//! - [`batch`]: the same over all pages of a domain at once, the reference for the stream.
//! - [`exact_hash`]: hash of a page's content for exact duplicates.
//!
//! [`fingerprint::strip_boilerplate`] may leave an empty text. Everything above it does not: a page that
//! would be left with only whitespace keeps its text, without removals.

pub mod batch;
mod blocks;
mod clean;
mod counts;
mod exact;
mod fence;
pub mod fingerprint;
mod host;
mod mode;
mod novelty;
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
pub use mode::{Fingerprint, Mode, ReadPage};
pub use novelty::Novelty;
pub use saved::StateError;
pub use settings::{FingerprintSettings, SettingRange, SettingsError};
pub use site::{PageText, SiteFingerprint};
pub use state::HostState;
pub use stream::{HoldPolicy, HostStream, Release};
