//! Third-party URL suites, where they lie beside the repository. The crate's own tests stand without them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod support;

use crawl_fetch::{Canonicalizer, IdnForm, ParamRules};
use support::suite;

#[test]
fn canonical_forms_of_the_profile_cc_basic() {
    let Some(suite) = suite("url_canonical.json") else { return };
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
