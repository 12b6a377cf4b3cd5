//! Crawls that are killed during their run.

use crate::{
    run::{PATIENCE, Run},
    support::server::Server,
};
use std::process::Command;

/// Starts a crawl and kills it after `more` further requests at the server.
#[track_caller]
pub fn kill_after(server: &Server, crawl: &mut Command, more: usize) {
    let before = server.requests().len();
    let running = Run::start(crawl);
    assert!(server.wait(PATIENCE, |r| r.len() >= before + more), "{}", running.stderr_so_far());
    running.kill();
}
