//! Third-party robots.txt suites.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod support;

use cpu_time::ThreadTime;
use crawl_fetch::{RobotsTxt, RobotsVerdict, RuleSet};
use serde_json::Value;
use std::time::Duration;
use support::{base64, suite};
use url::Url;

fn texts(case: &Value, key: &str) -> Vec<String> {
    case[key].as_array().into_iter().flatten().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// A URL of the suite may be invalid: it is then used as a path.
fn verdict(rules: &RuleSet, url: &str) -> RobotsVerdict {
    Url::parse(url).map_or_else(|_| rules.verdict_of_path(url), |url| rules.verdict(&url))
}

/// The deviation from the case's expectation, if any.
fn fault(case: &Value) -> Option<String> {
    let robots = RobotsTxt::parse(&base64(case["robots_b64"].as_str().unwrap()));
    let mut agents = texts(case, "user_agents");
    agents.extend(case["user_agent"].as_str().map(str::to_owned));
    let rules = robots.rules_for(&agents.iter().map(String::as_str).collect::<Vec<_>>());
    if let Some(expected) = case["allowed"].as_bool() {
        let found = verdict(&rules, case["url"].as_str().unwrap());
        if found.allowed != expected {
            return Some(format!("{} for {agents:?}: {found:?}", case["url"]));
        }
    }
    if let Some(expected) = case.get("crawl_delay_ms") {
        let found = rules.crawl_delay().map(|d| u64::try_from(d.as_millis()).unwrap());
        if found != expected.as_u64() {
            return Some(format!("delay for {agents:?}: {found:?}, not {expected}"));
        }
    }
    if case.get("sitemaps").is_some() {
        let base = case["base"].as_str().and_then(|b| Url::parse(b).ok());
        let base = base.unwrap_or_else(|| Url::parse("http://h/").unwrap());
        let mut found: Vec<String> =
            robots.sitemaps().iter().filter_map(|s| base.join(s).ok()).map(String::from).collect();
        let mut expected = texts(case, "sitemaps");
        found.sort();
        expected.sort();
        if found != expected {
            return Some(format!("sitemaps {found:?}, not {expected:?}"));
        }
    }
    None
}

#[test]
fn third_party_robots_cases_pass() {
    let suite = suite("robots.json");
    let cases = suite.as_array().unwrap();
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| fault(case).map(|fault| format!("{} {}: {fault}", case["src"], case["test"])))
        .collect();
    println!("{} of {} right", cases.len() - faults.len(), cases.len());
    faults.iter().for_each(|fault| println!("{fault}"));
    assert!(faults.len() * 100 <= cases.len(), "{} of {} wrong", faults.len(), cases.len());
}

#[test]
fn forty_stars_match_a_long_path_in_time() {
    let rule = format!("user-agent: *\ndisallow: /{}b$\n", "a*".repeat(40));
    let rules = RobotsTxt::parse(rule.as_bytes()).rules("crawl");
    let path = format!("/{}", "a".repeat(2_000));
    let asked = || {
        let started = ThreadTime::now();
        assert!(rules.verdict_of_path(&path).allowed);
        started.elapsed()
    };
    // the best of many runs, since other processes empty the caches
    let best = (0..50).map(|_| asked()).min().unwrap();
    assert!(best < Duration::from_millis(10), "{best:?}");
}
