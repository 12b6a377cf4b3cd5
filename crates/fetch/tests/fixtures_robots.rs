//! `fixtures/robots/<name>/`: a robots.txt and its expected verdicts, one per line. The test lists all
//! failures.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use crawl_fetch::RobotsTxt;
use serde_json::Value;
use std::{fs, path::Path};

fn faults(folder: &Path) -> Vec<String> {
    let robots = RobotsTxt::parse(&fs::read(folder.join("robots.txt")).unwrap());
    let expected = fs::read_to_string(folder.join("expected.jsonl")).unwrap();
    expected
        .lines()
        .filter_map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            let rules = robots.rules(case["agent"].as_str().unwrap_or_default());
            let found = if let Some(path) = case["path"].as_str() {
                let verdict = rules.verdict_of_path(path);
                let mut found = serde_json::json!({"allowed": verdict.allowed});
                if let Some(line) = verdict.line {
                    found["line"] = line.into();
                }
                found
            } else if case.get("sitemaps").is_some() {
                serde_json::json!({"sitemaps": robots.sitemaps()})
            } else {
                let delay = rules.crawl_delay().map(|d| u64::try_from(d.as_millis()).unwrap());
                serde_json::json!({"crawl_delay_ms": delay})
            };
            let mut wanted = case.clone();
            wanted.as_object_mut().unwrap().retain(|key, _| key != "agent" && key != "path");
            (found != wanted).then(|| format!("{}: {case}: found {found}", folder.display()))
        })
        .collect()
}

#[test]
fn every_robots_fixture_gives_its_verdicts() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/robots");
    let folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(folders.len() >= 3);
    let faults: Vec<String> = folders.iter().flat_map(|folder| faults(folder)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
