//! Fault campaign: runs the binary `crawl` under kills, failing system calls, losses of power, damaged files,
//! full disks, clock jumps and network faults. `README.md` beside this crate describes its use. Kind and seed
//! determine every case, so that a case can be repeated alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a campaign that cannot set up its world ends at once"
)]

pub mod campaign;
pub mod faults;
pub mod outcome;
pub mod proxy;
pub mod random;
pub mod run;
pub mod scenario;
pub mod shim;
pub mod site;
pub mod table;
pub mod world;

/// The server of the end-to-end tests.
#[allow(dead_code, missing_docs, reason = "the campaign uses a part of it")]
#[path = "../../support/server.rs"]
pub mod server;
