//! The HTTP client against correct and faulty servers, by subject.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

mod answers;
mod bodies;
mod failures;
mod http2;
mod said;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod ways;

use crawl_fetch::{FetchError, Fetched};
use crawl_model::FetchedPage;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use support::{Server, client, request, settings};

fn page(fetched: Fetched) -> Box<FetchedPage> {
    match fetched {
        Fetched::Page(page) => page,
        other => panic!("no page: {other:?}"),
    }
}

fn error(fetched: Fetched) -> FetchError {
    match fetched {
        Fetched::Failed { error, .. } => error,
        other => panic!("no failure: {other:?}"),
    }
}

async fn fetch(server: &Server, path: &str) -> Fetched {
    client(settings()).fetch(request(server.url(path))).await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
