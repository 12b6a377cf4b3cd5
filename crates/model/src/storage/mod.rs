//! Traits of storage.
//!
//! They are synchronous, take the time from the caller, and assume neither a single process nor one backend.
//! A lease names its worker, has a deadline and a fencing token; each atomic change is one call.
//!
//! States of a URL: `pending` → `leased` → (`held`, kept until its host's fingerprint settles →) `settled`.
//! All times are milliseconds since the Unix epoch.

mod counts;
mod domain;
mod error;
mod frontier;
mod hosts;
mod leases;
mod permit;
mod run;

pub use counts::{FrontierCounts, Quota};
pub use domain::DomainStore;
pub use error::StoreError;
pub use frontier::Frontier;
pub use hosts::{Enqueued, HostBound, HostBounds, HostLoad, ReadyHost, Refused};
pub use leases::{HeldPage, LeaseRef, OutputMark, Settlement};
pub use permit::{LeaseClock, LeasePermit};
pub use run::{CachedRobots, RunStore};
