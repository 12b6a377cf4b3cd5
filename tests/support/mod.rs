//! Shared code of the end-to-end tests and the demo: a small HTTP server, a folder served by it, and
//! generated sites. (`run.rs`, which runs the binary, is only for tests.)
#![allow(dead_code, reason = "every test file and example uses a part of the module")]

pub mod made;
pub mod server;
pub mod shells;
pub mod site;
