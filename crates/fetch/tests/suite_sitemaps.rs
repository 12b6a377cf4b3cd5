//! A third-party sitemap suite.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod support;

use crawl_fetch::{SitemapLimits, parse_sitemap};
use serde_json::Value;
use support::{base64, suite};
use url::Url;

fn fault(case: &Value) -> Option<String> {
    let base = Url::parse(case["url"].as_str().unwrap()).unwrap();
    let strict_location = case["strict_location"].as_bool().unwrap();
    let limits = SitemapLimits { strict_location, ..SitemapLimits::default() };
    let found = parse_sitemap(&base64(case["bytes_b64"].as_str().unwrap()), &base, &limits);
    if case.get("error").is_some() {
        return found.ok().map(|sitemap| format!("{sitemap:?}, not an error"));
    }
    let found = match found {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    let expected: Vec<&Value> = case["entries"].as_array().unwrap().iter().collect();
    let urls = |found: &[String]| found.join(" ");
    let got: Vec<String> = found.entries.iter().map(|e| e.url.to_string()).collect();
    let want: Vec<String> = expected.iter().map(|e| e["loc"].as_str().unwrap().to_owned()).collect();
    if got != want {
        return Some(format!("{}, not {}", urls(&got), urls(&want)));
    }
    // dates are kept as given; the suite drops those that it cannot parse
    let undated = |(entry, want): (&crawl_fetch::SitemapEntry, &&Value)| {
        entry.lastmod.is_none() && !want["lastmod"].as_str().unwrap().is_empty()
    };
    let kind = case["type"].as_str().unwrap().to_ascii_lowercase().replace("xml", "urlset");
    if kind != found.kind.name() {
        return Some(format!("{}, not {kind}", found.kind.name()));
    }
    found.entries.iter().zip(&expected).any(undated).then(|| "a date is missing".to_owned())
}

#[test]
fn third_party_sitemap_cases_pass() {
    let suite = suite("sitemaps.json");
    let cases = suite.as_array().unwrap();
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| fault(case).map(|fault| format!("{}: {fault}", case["test"])))
        .collect();
    println!("{} of {} right", cases.len() - faults.len(), cases.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
