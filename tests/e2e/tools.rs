//! The jobs beside the main one, by the binary.

use crate::{
    run::{Sandbox, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn completions_contain_the_flags() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let done = run(sandbox.bare().args(["completions", shell])).expect(0);
        assert!(done.stdout.contains("seed") && done.stdout.contains("state-dir"), "{shell}");
        assert_eq!(done.stderr, "");
    }
    run(sandbox.bare().args(["completions", "cobol"])).expect(2);
}

/// The reader of standard output has gone before the first byte.
#[test]
fn completions_exit_cleanly_on_a_closed_pipe() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.bare();
    command.args(["completions", "zsh"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = command.stdout(writer).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

#[test]
#[ignore = "needs bash"]
fn bash_accepts_its_completions() {
    let sandbox = Sandbox::new();
    let done = run(sandbox.bare().args(["completions", "bash"])).expect(0);
    let script = sandbox.write("crawl.bash", done.stdout);
    let checked = std::process::Command::new("bash").arg("-n").arg(script).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn help_and_version_go_to_standard_output() {
    let sandbox = Sandbox::new();
    let help = run(sandbox.bare().arg("--help")).expect(0);
    for part in ["Examples:", "Exit codes:", "Fetching", "--seed"] {
        assert!(help.stdout.contains(part), "{part} is not in\n{}", help.stdout);
    }
    let short = run(sandbox.bare().arg("-h")).expect(0).stdout;
    assert!(short.contains("--seed") && short.contains("retry-errors") && !short.contains("--recrawl"));
    assert!(short.lines().count() <= 40, "{}: {short}", short.lines().count());
    let version = run(sandbox.bare().arg("--version")).expect(0);
    assert!(version.stdout.starts_with("crawl "), "{}", version.stdout);
}

/// Settings of file, variable and flag, each with its source, as a file that can be used again.
#[test]
fn config_prints_the_effective_settings_with_their_sources() {
    let sandbox = Sandbox::new();
    sandbox.write("crawl.toml", "# mine\n[crawl]\ndepth = 7\nscope = \"domain\"\n");
    let mut crawl = sandbox.bare();
    crawl.args(["config", "--config", "crawl.toml", "--depth", "2", "https://docs.example.org/"]);
    crawl.args(["--header", "X-Key: s3cret"]).env("CRAWL_POLITENESS_DELAY", "3s");
    let shown = run(&mut crawl).expect(0).stdout;
    for (setting, source) in [
        ("depth = 2", "--depth"),
        ("scope = \"domain\"", "crawl.toml:4"),
        ("delay = \"3s\"", "CRAWL_POLITENESS_DELAY"),
        ("retries = 3", "default"),
        ("# headers is set and not shown", "--header"),
    ] {
        let line = shown.lines().find(|line| line.starts_with(setting)).unwrap_or_else(|| panic!("{shown}"));
        assert!(line.ends_with(&format!("# {source}")), "{line}");
    }
    assert!(!shown.contains("s3cret"), "{shown}");
    let none =
        run(sandbox.bare().args(["config", "--delay", "0", "https://docs.example.org/"])).expect(0).stdout;
    assert!(
        none.contains("delay = \"0\"") || none.contains("delay = \"0s\""),
        "nothing needs no unit: {none}"
    );
    sandbox.write("again.toml", &shown);
    let checked = run(sandbox.bare().args(["check", "config", "again.toml"])).expect(0).stdout;
    assert!(checked.starts_with("again.toml: no errors; "), "{checked}");
    let defaults = run(sandbox.bare().args(["config", "--default"])).expect(0).stdout;
    assert_eq!(defaults, include_str!("../../config/crawl.toml"));
}

#[test]
fn check_config_names_every_fault_of_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("crawl.toml", "[crawl]\ndepht = 2\n[fetch]\nretries = \"many\"\n");
    let mut check = sandbox.bare();
    check.args(["check", "config", "crawl.toml"]).env("CRAWL_CRAWL_DEPTH", "none");
    let faults = run(&mut check).expect(2).stderr;
    assert!(faults.contains("crawl.toml:2: crawl.depht: unknown key; did you mean \"depth\"?"), "{faults}");
    assert!(faults.contains("crawl.toml:4: fetch.retries: invalid type"), "{faults}");
    assert!(!faults.contains("CRAWL_CRAWL_DEPTH"), "the file alone is checked: {faults}");
    let both = "[output]\nappend = \"a.jsonl\"\nreplace = \"b.jsonl\"\n";
    sandbox.write("crawl.toml", both);
    let faults = run(sandbox.bare().args(["check", "config", "crawl.toml"])).expect(2).stderr;
    assert!(faults.contains("output.append and output.replace are both set"), "{faults}");
}

/// Control characters in a page, a robots.txt or a record reach no terminal.
#[test]
fn terminal_output_has_no_control_characters() {
    let sandbox = Sandbox::new();
    let hostile = "x\u{1b}]0;y\u{7}\u{9b}2Jz\u{7f}\u{202e}w";
    let words =
        "The ferry leaves the north quay at six in the morning and takes fifty minutes to the islands. "
            .repeat(9);
    let page = format!(
        "<title>{hostile}</title><article><h1>{hostile}</h1><p>{words}{hostile}</p><div class=cookie-banner id='{hostile}'>We use \
         cookies {hostile}</div></article>"
    );
    sandbox.write("page.html", page);
    sandbox.write("robots.txt", format!("User-agent: *\nDisallow: /x{hostile}\nSitemap: /{hostile}\n"));
    sandbox.write("urls.txt", format!("http://127.0.0.1:x/{hostile}\n"));
    let rows = json!({"id": "1", "url": hostile, "title": hostile, "text": hostile, "metadata": {"domain": hostile}});
    sandbox.write("rows.jsonl", rows.to_string());
    let commands: [(&[&str], i32); 8] = [
        (&["extract", "page.html", "--explain"], 0),
        (&["extract", "page.html", "--explain", "--format", "json"], 0),
        (&["extract", "page.html"], 0),
        (&["extract", "page.html", "--format", "markdown"], 0),
        (&["check", "robots", "robots.txt", "--url", "https://a.test/x"], 0),
        (&["check", "url", "urls.txt"], 2),
        (&["quality", "rows.jsonl", "--explain", "1"], 0),
        (&["dedup", "rows.jsonl", "--explain"], 0),
    ];
    for (args, code) in commands {
        let mut command = sandbox.bare();
        let done = run(command.current_dir(sandbox.path("")).args(args)).expect(code);
        let said = done.stdout + &done.stderr;
        let is_raw = |c: &char| c.is_control() && !matches!(c, '\n' | '\t') || *c == '\u{202e}';
        assert_eq!(said.chars().find(is_raw), None, "{args:?}: {said:?}");
        assert!(!said.trim().is_empty(), "{args:?}");
    }
}

/// Another attempt changes nothing for pages that robots.txt forbids.
#[test]
fn the_summary_offers_retries_only_where_they_may_help() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /secret\n"),
        "/page" => Response::html(page("the sheet", &["/secret".into()])),
        "/more" => Response::html(page("the sheet", &["/secret".into(), "/missing".into()])),
        _ => Response::status(404),
    })
    .unwrap();
    let said = |path: &str| {
        let sandbox = Sandbox::new();
        run(&mut sandbox.crawl(&[server.url(path)], &["-o", "out.jsonl"])).expect(0).stderr
    };
    let forbidden = said("/page");
    assert!(forbidden.contains("robots_disallowed: 1"), "{forbidden}");
    assert!(!forbidden.contains("retry-errors"), "{forbidden}");
    let missing = said("/more");
    assert!(missing.contains("fetches the 2 failed URLs again"), "{missing}");
}

#[test]
fn classify_names_type_strategy_and_reason() {
    let sandbox = Sandbox::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour");
    let page = fixtures.join("news/storm-barbara.html");
    let done = run(sandbox
        .bare()
        .arg("classify")
        .arg(page)
        .args(["--url", "https://h.example/news/storm-barbara.html"]))
    .expect(0);
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["pageType"], "static_html", "{said}");
    assert_eq!(said["strategy"], "static", "{said}");
    assert!(said["reason"].as_str().is_some_and(|r| !r.is_empty()), "{said}");
}

/// A single check gives its result by the exit code; with JSON lines each line has a result.
#[test]
fn check_url_fails_for_an_invalid_url() {
    let sandbox = Sandbox::new();
    let good = run(sandbox.bare().args(["check", "url", "--url", "https://Example.org/a/../b"])).expect(0);
    assert_eq!(good.stdout, "https://example.org/b\n");
    let bad = run(sandbox.bare().args(["check", "url", "--url", "no url"])).expect(2);
    assert!(bad.stdout.is_empty() && bad.stderr.contains("no url: "), "{}", bad.stderr);
    // a refusal names the URL without its password
    let secret =
        run(sandbox.bare().args(["check", "url", "--url", "http://me:s3cret@a.test:99999/"])).expect(2);
    assert!(secret.stderr.contains("@a.test:99999/: ") && !secret.stderr.contains("s3cret"));
    let robots = sandbox.write("robots.txt", "User-agent: *\nDisallow: /x\n");
    let asked = ["check", "robots", "--url", "http://me:s3cret@a.test/x"];
    let verdict = run(sandbox.bare().args(asked).arg(robots)).expect(0);
    assert!(verdict.stdout.contains("disallowed: http://a.test/x"), "{}", verdict.stdout);
    let file =
        sandbox.write("urls.txt", "https://example.org/\nmailto:me@example.org\nhttp://example.org/\n");
    let mixed = run(sandbox.bare().args(["check", "url"]).arg(file)).expect(2);
    assert_eq!(mixed.stdout.lines().count(), 2, "the others are canonicalised all the same");
    let batch = sandbox.write("urls.jsonl", "{\"id\":1,\"in\":\"no url\"}\n");
    run(sandbox.bare().args(["check", "url", "--jsonl"]).arg(batch)).expect(0);
}

/// A misspelled command gets a suggestion. A negative number and a missing seed file are named.
#[test]
fn wrong_command_lines_are_refused_with_advice() {
    let sandbox = Sandbox::new();
    for (words, expected) in [
        (&["extarct", "page.html"][..], "did you mean the command extract?"),
        (&["harbour"], "crawl -h lists the commands"),
        (&["user:pw@127.0.0.1:9/"], "name the site and the user in fetch.auth"),
        (&["ftp://x.example/"], "the scheme ftp is not fetched"),
        (&["extract", "docs.example.org"], "for a page of the web write https://docs.example.org"),
        (&["--depth", "-1", "http://127.0.0.1:9/"], "crawl.depth: must not be negative"),
        (&["--concurrency", "-1", "http://127.0.0.1:9/"], "-1 is not in 0.."),
        (&["status", "--seed", "typo.txt"], "typo.txt: No such file or directory"),
        (&["site", "."], ".: no page of HTML with a known URL, and no WARC, in it"),
        (&["dedup", "."], ".: a folder; name a file"),
        (&["extract", "--url", "h.example/a", "page.html"], "no scheme; write https://h.example/a"),
        (&["--delay", "5", "http://127.0.0.1:9/"], "\"5\" has no unit; write \"5s\""),
    ] {
        let refused = run(sandbox.bare().args(words)).expect(2);
        assert!(refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
    }
}
