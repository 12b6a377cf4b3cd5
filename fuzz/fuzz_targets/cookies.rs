//! Cookies: each line is the URL of a response and, after a tab, its Set-Cookie field.
#![no_main]

use crawl_fuzz::{Scripted, client, in_linear_time, request};
use libfuzzer_sys::fuzz_target;
use reqwest::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};
use tokio::runtime::{Builder, Runtime};
use url::{Origin, Url};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));
static BASE: LazyLock<Url> = LazyLock::new(|| Url::parse("https://h.test/").expect("a URL"));

/// Maximum cookies per host, and maximum length of a cookie.
const MAX_COOKIES: usize = 50;
const MAX_LENGTH: usize = 4_096;

fuzz_target!(|data: &[u8]| {
    let network = Arc::new(Scripted::default());
    let client = client(&network);
    let mut set: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
        let (address, field) = line.split_at(tab);
        let Ok(url) = BASE.join(&String::from_utf8_lossy(address)) else { continue };
        let Origin::Tuple(scheme, host, port) = url.origin() else { continue };
        if !matches!(scheme.as_str(), "http" | "https") {
            continue;
        }
        let field = field.strip_prefix(b"\t").and_then(|field| HeaderValue::from_bytes(field).ok());
        let headers: HeaderMap = field.iter().map(|field| (SET_COOKIE, field.clone())).collect();
        network.answer(200, headers, b"x");
        drop(in_linear_time(data.len(), || RUNTIME.block_on(client.fetch(request(&url)))));

        let sent = network.sent();
        let sent =
            sent.get(COOKIE).map(|value| value.to_str().expect("a cookie is text")).unwrap_or_default();
        // a port makes another host unless it is the scheme's default
        let known = port == 443 || port == 80;
        let host = if known { host.to_string() } else { format!("{host}:{port}") };
        let own = set.entry(host).or_default();
        let cookies: Vec<&str> = sent.split("; ").filter(|cookie| !cookie.is_empty()).collect();
        assert!(sent.len() <= MAX_COOKIES * (MAX_LENGTH + 3), "{} bytes", sent.len());
        for cookie in cookies {
            let name = cookie.split_once('=').map_or(cookie, |(name, _)| name);
            assert!(own.iter().any(|text| text.contains(name)), "{cookie:?} comes from another host");
        }
        if let Some(Ok(text)) = field.as_ref().map(HeaderValue::to_str) {
            own.push(text.to_owned());
        }
    }
});
