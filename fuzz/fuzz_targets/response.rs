//! Responses: the first line is the status, the lines up to an empty one are header fields, the rest is the
//! body.
#![no_main]

use crawl_fetch::{Fetched, HttpClient, LONGEST_RETRY_AFTER, parse_retry_after};
use crawl_fuzz::{MAX_BODY, Scripted, client, head_and_body, in_linear_time, request};
use libfuzzer_sys::fuzz_target;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};
use url::Url;

static ADDRESS: LazyLock<Url> = LazyLock::new(|| Url::parse("https://h.test/a/b?c=d").expect("a URL"));
static NETWORK: LazyLock<Arc<Scripted>> = LazyLock::new(Arc::default);
static CLIENT: LazyLock<HttpClient> = LazyLock::new(|| client(&NETWORK));
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

/// Header fields; an invalid line is skipped.
fn fields(lines: &[&[u8]]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or_default().trim_ascii();
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            fields.append(name, value);
        }
    }
    fields
}

fn check_wait(wait: Option<Duration>) {
    assert!(wait.is_none_or(|wait| !wait.is_zero() && wait <= LONGEST_RETRY_AFTER), "{wait:?}");
}

fn check_target(url: &Url) {
    assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{url}");
    assert!(url.fragment().is_none() && url.username().is_empty() && url.password().is_none(), "{url}");
}

fuzz_target!(|data: &[u8]| {
    let (lines, body) = head_and_body(data);
    let Some((status, lines)) = lines.split_first() else { return };
    let status = str::from_utf8(status).ok().and_then(|status| status.trim().parse().ok()).unwrap_or(200);
    let headers = fields(lines);
    for value in headers.get_all("retry-after").iter().filter_map(|value| value.to_str().ok()) {
        check_wait(parse_retry_after(value, None));
    }
    // a coded body may unpack to the maximum of a body
    let weight = data.len() + usize::try_from(MAX_BODY).expect("it is small");
    NETWORK.answer(status, headers, body);
    match in_linear_time(weight, || RUNTIME.block_on(CLIENT.fetch(request(&ADDRESS)))) {
        Fetched::Page(page) => {
            assert!((200..300).contains(&page.status), "{}", page.status);
            assert!(!page.body.bytes.is_empty() && page.body.bytes.len() as u64 <= MAX_BODY);
        }
        Fetched::Redirect { to, .. } => check_target(&to),
        Fetched::Skipped { status, .. } => assert!((200..400).contains(&status), "{status}"),
        Fetched::Failed { error, retry_after, .. } => {
            check_wait(retry_after);
            assert!(error.to_string().len() <= 1_024, "{error}");
        }
    }
    assert_eq!(CLIENT.budget().used(), 0, "the page is gone, and so is its share");
    let resource = in_linear_time(weight, || RUNTIME.block_on(CLIENT.fetch_resource(&ADDRESS, MAX_BODY)));
    let Ok(resource) = resource else { return };
    assert!(resource.body.len() as u64 <= MAX_BODY);
    check_wait(resource.retry_after);
    if let Some(target) = &resource.redirect {
        check_target(target);
    }
});
