//! Rules, filter lists and explanations, by the binary.

use crate::{
    run::{self, Sandbox, run},
    support::server::{Request, Response, Server},
};
use serde_json::Value;

const PAGE: &str = "<html lang=en><head><title>Eels in the lock</title></head><body>\
    <div class='biscuit-tin'><p>Our biscuits are good for you.</p></div>\
    <article><h1>Eels in the lock</h1><p>The eels have come back to the lock, more of them than in any year since they \
    were first counted, and the keeper opens the small sluice for them every night at ten.</p>\
    <p>Who wants to see them is welcome, with a lamp and without a rod, on any night of this week.</p></article></body></html>";

#[test]
fn filter_list_removes_elements_and_explanation_names_the_line() {
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
fn faulty_filter_list_line_is_reported_and_skipped() {
    let sandbox = Sandbox::new();
    let page = sandbox.write("page.html", PAGE);
    let list = sandbox.write("list.txt", "##.a[\n##.biscuit-tin\n");
    let mut extract = sandbox.bare();
    extract.args(["extract", "--format", "text"]).arg(&page).arg("--consent-list").arg(&list);
    let done = run(&mut extract).expect(0);
    assert!(done.stderr.contains("list.txt:1: a \"]\" is missing"), "{}", done.stderr);
    assert!(!done.stdout.contains("biscuits") && done.stdout.contains("eels"), "{}", done.stdout);
    let check = run(sandbox.bare().args(["check", "list"]).arg(&list)).expect(2);
    assert!(check.stderr.contains("faulty lines: 1"), "{}", check.stderr);
    let absent =
        sandbox.bare().args(["extract", "--consent-list", "no-such.txt"]).arg(&page).output().unwrap();
    assert_eq!(absent.status.code(), Some(2));
}

#[test]
fn rule_errors_prevent_every_command() {
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

/// A crawl logs each page whose text is empty since all of it is boilerplate.
#[test]
fn page_of_boilerplate_only_is_logged() {
    let answer = |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        _ => Response::html(
            "<html><body><nav><a href=/>Home</a></nav><footer>All rights reserved</footer></body></html>"
                .to_owned(),
        ),
    };
    let server = Server::start(0, answer).unwrap();
    let sandbox = Sandbox::new();
    let done = run(&mut sandbox.crawl(&[server.url("/empty")], &["--depth", "0", "--no-sitemaps"])).expect(0);
    let line = done.stderr.lines().find(|line| line.contains("page has no main content")).unwrap_or_default();
    assert!(line.contains(&server.url("/empty")), "{}", done.stderr);
}

/// Extraction flags, a filter list and user rules apply to a crawl as to one page, and its records explain
/// the choice of the extractor.
#[test]
fn crawl_applies_extraction_flags() {
    let page = PAGE.replace(
        "</article>",
        "<p class='tide'>High water is at four.</p><p><img src='/eel.jpg' alt='An eel'> <a href='/sluice'>The small sluice</a> is on the left bank, behind the \
         shed.</p><table><tr><th>Night</th><th>Eels</th></tr><tr><td>Monday</td><td>412</td></tr></table></article>\
         <div class='comments'><p>I have seen them too, from the bridge, at half past ten.</p></div>",
    );
    let answer = move |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        _ => Response::html(page.clone()),
    };
    let server = Server::start(0, answer).unwrap();
    let sandbox = Sandbox::new();
    let list = sandbox.write("list.txt", "##.tide\n");
    std::fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write("own/score.toml", "threshold = -100\n");
    let run_with = |flags: &[&str]| {
        let all = [flags, &["--depth", "0", "--fresh", "--no-sitemaps"]].concat();
        let done = run(&mut sandbox.crawl(&[server.url("/eels")], &all)).expect(0);
        run::lines(&done.stdout).remove(0)
    };
    let text = |record: &Value| run::content(record).to_owned();

    let record = run_with(&[]);
    let plain = text(&record);
    assert!(plain.contains("](http") && plain.contains("412") && plain.contains("High water"), "{plain}");
    assert!(!plain.contains("eel.jpg") && !plain.contains("from the bridge"), "{plain}");
    assert_eq!(record["metadata"]["isArticle"], false);
    let why = record["metadata"]["attempts"][0]["reason"].as_str().unwrap();
    assert!(why.contains("words"), "{why}");

    let list = list.to_string_lossy().into_owned();
    let rules = sandbox.path("own").to_string_lossy().into_owned();
    let switched = run_with(&[
        "--links",
        "strip",
        "--images",
        "--no-tables",
        "--comments",
        "--consent-list",
        &list,
        "--rules",
        &rules,
    ]);
    let text = text(&switched);
    assert!(!text.contains("](http://127.0.0.1/sluice") && text.contains("The small sluice is on"), "{text}");
    assert!(text.contains("![An eel](") && text.contains("from the bridge"), "{text}");
    // a port may hold the number of eels
    assert!(!text.contains("Monday") && !text.contains("High water"), "{text}");
    assert_eq!(switched["metadata"]["isArticle"], true);
}

#[test]
fn html_explanation_shows_the_page_and_runs_no_script() {
    let sandbox = Sandbox::new();
    let hostile = "<nav onclick='steal()'>Harbour &lt;script&gt;alert(1)&lt;/script&gt; news</nav>\
        <img src='http://far.example/x.png' onerror='steal()'><script src='http://far.example/s.js'>steal()</script>\
        <style>@import 'http://far.example/s.css'</style><iframe src='http://far.example/'></iframe><article>";
    let page = sandbox.write("page.html", PAGE.replace("<article>", hostile));
    let explain = |more: &[&str]| {
        let mut command = sandbox.bare();
        command
            .args(["extract", "--explain=html", "--url", "https://near.example/a/b"])
            .args(more)
            .arg(&page);
        run(&mut command)
    };
    let html = explain(&[]).expect(0).stdout;
    assert!(html.starts_with("<!doctype html>") && html.contains("default-src 'none'"), "{html}");
    for never in
        ["<script", "onclick", "onerror", "far.example", "<img", "<iframe", "steal()", "src=", "href="]
    {
        assert!(!html.contains(never), "{never} in {html}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)"), "{html}");
    assert!(html.contains("<div class=\"b k p\""), "kept: {html}");
    assert!(html.contains("the element nav</span>"), "dropped with its reason: {html}");
    assert!(html.contains("<span class=\"badge\">taken</span>") && html.contains("Decided by:"), "{html}");
    assert!(html.contains("an author") || html.contains("exactly one h1"), "{html}");
    assert!(explain(&["--format", "json"]).expect(2).stderr.contains("--explain=html"));
    let mut text = sandbox.bare();
    let text = run(text.args(["extract", "--explain"]).arg(&page)).expect(0).stdout;
    assert!(text.contains("article score") && !text.contains("<div"), "{text}");
}
