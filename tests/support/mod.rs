//! What the end-to-end tests and the demo share: a small HTTP server, a folder served by it, and a way to run the
//! binary. Each test file includes the module by path and uses a part of it.
#![allow(dead_code, reason = "every test file and example uses a part of the module")]

pub mod server;
pub mod site;
