//! Rules, filter lists and explanations, by the binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "support/run.rs"]
mod run;
mod support;

use run::{Sandbox, run};
use serde_json::Value;

const PAGE: &str = "<html lang=en><head><title>Eels in the lock</title></head><body>\
    <div class='biscuit-tin'><p>Our biscuits are good for you.</p></div>\
    <article><h1>Eels in the lock</h1><p>The eels have come back to the lock, more of them than in any year since they \
    were first counted, and the keeper opens the small sluice for them every night at ten.</p>\
    <p>Who wants to see them is welcome, with a lamp and without a rod, on any night of this week.</p></article></body></html>";

#[test]
fn lists_remove_what_they_hide_and_the_explanation_names_the_line() {
    let sandbox = Sandbox::new();
    let page = sandbox.write("page.html", PAGE);
    let list = sandbox.write("list.txt", "! of our own\n##.biscuit-tin\nfar.example##article\n");
    let mut explain = sandbox.bare();
    explain
        .args(["extract", "--explain", "--format", "json", "--url", "https://near.example/a/b"])
        .arg(&page);
    explain.arg("--consent-list").arg(&list);
    let done = run(&mut explain).expect(0);
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(told["removed"][0]["rule"], "list.txt:2: ##.biscuit-tin");
    assert_eq!(told["removed"][0]["element"], "div.biscuit-tin");
    assert_eq!(told["removed"].as_array().unwrap().len(), 1);
    assert!(told["candidates"].as_array().is_some_and(|c| !c.is_empty()), "{told}");
    assert_eq!(told["values"]["title"], "Eels in the lock");
}

#[test]
fn a_faulty_line_of_a_list_is_told_and_left_out() {
    let sandbox = Sandbox::new();
    let page = sandbox.write("page.html", PAGE);
    let list = sandbox.write("list.txt", "##.a[\n##.biscuit-tin\n");
    let mut extract = sandbox.bare();
    extract.args(["extract", "--format", "text"]).arg(&page).arg("--consent-list").arg(&list);
    let done = run(&mut extract).expect(0);
    assert!(done.stderr.contains("list.txt:1: a \"]\" is missing"), "{}", done.stderr);
    assert!(!done.stdout.contains("biscuits") && done.stdout.contains("eels"), "{}", done.stdout);
    let check = run(sandbox.bare().args(["check", "list"]).arg(&list)).expect(2);
    assert!(check.stderr.contains("1 faulty lines"), "{}", check.stderr);
    let absent =
        sandbox.bare().args(["extract", "--consent-list", "no-such.txt"]).arg(&page).output().unwrap();
    assert_eq!(absent.status.code(), Some(2));
}

#[test]
fn faults_of_rules_end_every_job_before_it_begins() {
    let sandbox = Sandbox::new();
    let page = sandbox.write("page.html", PAGE);
    std::fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write("own/score.toml", "threshold = \"many\"\nthresholds = 1\n");
    let dir = sandbox.path("own");
    let seeds = sandbox.write("urls.txt", "http://127.0.0.1:9/\n");
    for arguments in [
        vec!["extract".into(), page.clone().into_os_string()],
        vec!["classify".into(), page.into_os_string()],
        vec!["--seed".into(), seeds.into_os_string()],
    ] {
        let done = run(sandbox.bare().args(&arguments).arg("--rules").arg(&dir)).expect(2);
        for fault in ["score.toml:1: threshold: invalid type", "score.toml:2: thresholds: unknown field"] {
            assert!(done.stderr.contains(fault), "{fault} is not in {}", done.stderr);
        }
    }
}
