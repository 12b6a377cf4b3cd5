//! Tests of the repository itself: dependencies of crates and modules, documents, comments and names.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod architecture;
mod docs;
mod docs_rules;
mod docs_sentences;
mod modules;
mod prose;
