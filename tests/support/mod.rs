//! What the end-to-end tests and the demo share: a small HTTP server, a folder served by it, and sites made on the
//! fly. (`run.rs`, beside it, runs the binary, and so is for tests alone.)
#![allow(dead_code, reason = "every test file and example uses a part of the module")]

pub mod made;
pub mod server;
pub mod shells;
pub mod site;
