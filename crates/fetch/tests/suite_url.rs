//! Third-party URL suites.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod support;

use crawl_fetch::{Canonicalizer, IdnForm, ParamRules};
use support::suite;

#[test]
fn canonical_urls_follow_the_cc_basic_profile() {
    let suite = suite("url_canonical.json");
    let cases: Vec<_> = suite.as_array().unwrap().iter().filter(|c| c["profile"] == "cc-basic").collect();
    let mut faults = Vec::new();
    for case in &cases {
        let params: Vec<&str> =
            case["remove_params"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
        let idn = if case["idn"] == "UNICODE" { IdnForm::Unicode } else { IdnForm::Ascii };
        let canonicalizer = Canonicalizer::new(ParamRules::of_names(&params), 1 << 20);
        let found = canonicalizer.canonical_text(case["in"].as_str().unwrap(), idn);
        if found.as_deref() != case["out"].as_str() {
            faults.push(format!("{}: {found:?}, not {}", case["in"], case["out"]));
        }
    }
    println!("{} of {} right", cases.len() - faults.len(), cases.len());
    faults.iter().for_each(|fault| println!("{fault}"));
    assert!(faults.len() * 50 <= cases.len(), "{} of {} wrong", faults.len(), cases.len());
}

/// The crate `url` parses. This test counts its differences from the suite's copies of WPT for http and
/// https, so that a change of either is noticed. It prints the differences: A-labels that do not decode, and
/// `///host` as a reference.
#[test]
fn web_platform_tests_agree_with_the_crate_url() {
    use url::Url;
    let suite = suite("url_wpt_parse.json");
    let cases = suite.as_array().unwrap();
    let differences: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let input = case["input"].as_str().unwrap();
            let found = match case["base"].as_str() {
                Some(base) => Url::parse(base).and_then(|base| base.join(input)),
                None => Url::parse(input),
            };
            let found = found.ok().map(String::from);
            let expected = case["href"].as_str().filter(|_| case["failure"] != true);
            let web = [found.as_deref(), expected].into_iter().flatten().any(|href| href.starts_with("http"));
            (web && found.as_deref() != expected)
                .then(|| format!("{input:?} on {}: {found:?}, not {expected:?}", case["base"]))
        })
        .collect();
    println!("{} of {} agree", cases.len() - differences.len(), cases.len());
    differences.iter().for_each(|difference| println!("{difference}"));
    assert!(differences.len() <= 10, "{} of {}", differences.len(), cases.len());
}

#[test]
fn idn_hosts_become_ascii_like_web_platform_tests() {
    let suite = suite("url_wpt_toascii.json");
    let cases = suite.as_array().unwrap();
    let differences: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let input = case["input"].as_str().unwrap();
            let found = url::Url::parse(&format!("http://{input}/"))
                .ok()
                .and_then(|u| u.host_str().map(str::to_owned));
            (found.as_deref() != case["output"].as_str())
                .then(|| format!("{input:?}: {found:?}, not {}", case["output"]))
        })
        .collect();
    println!("{} of {} agree", cases.len() - differences.len(), cases.len());
    differences.iter().for_each(|difference| println!("{difference}"));
    assert!(differences.len() <= 3, "{} of {}", differences.len(), cases.len());
}
