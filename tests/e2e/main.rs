//! End-to-end tests: each runs the binary against servers of its own.
//!
//! They are one program, because each program of tests is compiled and linked by itself.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "../support/changing.rs"]
mod changing;
#[path = "../../crates/store/tests/support/postgres.rs"]
mod database;
#[path = "../support/kills.rs"]
mod kills;
#[path = "../support/mcp_client.rs"]
mod mcp_client;
#[path = "../support/quality_texts.rs"]
mod quality_texts;
#[path = "../support/run.rs"]
mod run;
#[path = "../support/scripted.rs"]
mod scripted;
#[path = "../support/served.rs"]
mod served;
#[path = "../support/shared_crawl.rs"]
mod shared_crawl;
#[path = "../support/mod.rs"]
mod support;

mod advice;
mod archive;
mod browser;
mod captures;
mod copy;
mod dedup;
mod docs;
mod duplicates;
mod exit_codes;
mod extract;
mod formats;
mod forms;
mod harbour;
mod inputs;
mod manners;
mod mcp;
mod near;
mod new_output;
mod newcomers;
mod nights;
mod operate;
mod optouts;
mod output;
mod politeness;
mod postgres;
mod projects;
mod quality;
mod ranges;
mod recrawl;
mod replay;
mod resume;
mod rules;
mod scope;
mod seeds;
mod serve;
mod serve_limits;
mod shared_rounds;
mod shared_settings;
mod shared_stops;
mod shells;
mod signals;
mod site_settings;
mod sitemaps;
mod sites;
mod slow;
mod strategies;
mod terminal;
mod tools;
mod users;
mod web;
mod webhooks;
mod workers;
