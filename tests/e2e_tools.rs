//! The jobs beside the main one, by the binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "support/run.rs"]
mod run;
mod support;

use run::{Sandbox, lines, run};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use support::{
    made::page,
    server::{Request, Response, Server},
};

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour").join(path)
}

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
    assert_eq!(defaults, include_str!("../config/crawl.toml"));
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

#[test]
fn extract_reads_a_file_and_standard_input_alike() {
    let sandbox = Sandbox::new();
    let page = fixture("news/seal-on-slipway.html");
    let url = "https://www.aldermere-harbour.example/news/seal-on-slipway.html";
    let from_file = run(sandbox.bare().arg("extract").arg(&page).args(["--url", url])).expect(0);
    let mut reading = sandbox.bare();
    reading.args(["extract", "-", "--url", url]).stdin(fs::File::open(&page).unwrap());
    let from_input = run(&mut reading).expect(0);
    assert_eq!(from_file.stdout, from_input.stdout);
    let record: Value = serde_json::from_str(&from_file.stdout).unwrap();
    let text = record["text"].as_str().unwrap();
    assert_eq!(record["url"], url);
    assert!(text.contains("sixty-one telephone calls"), "{text}");
    assert!(!text.contains("biscuits"), "the consent banner is no content:\n{text}");
    assert_eq!(record["metadata"]["author"], "Maren Oldcastle");
}

/// A URL in place of a file is fetched as a crawl would.
#[test]
fn extract_fetches_a_url() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /secret\n"),
        "/page" | "/secret" => Response::html(page("the sheet", &["/next".into()])),
        "/agent" => Response::html(page(request.header("user-agent").unwrap_or_default(), &[])),
        "/image" => Response::new(200, "image/png", "no page"),
        _ => Response::status(404),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let extract = |arguments: &[&str]| {
        let mut command = sandbox.bare();
        command.arg("extract").args(arguments).args(["--allow-address", "127.0.0.0/8"]);
        run(command.env("CRAWL_POLITENESS_DELAY", "0s"))
    };
    let url = server.url("/page");
    let text = extract(&[&url]).expect(0).stdout;
    assert!(text.contains("the sheet") && !text.starts_with('{'), "{text}");
    let record: Value = serde_json::from_str(&extract(&[&url, "--format", "json"]).expect(0).stdout).unwrap();
    assert_eq!(record["url"], url);
    let refused = extract(&[&server.url("/secret")]).expect(4);
    assert!(refused.stderr.contains("robots_disallowed"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("only a crawl"),
        "a flag that extract lacks is no advice: {}",
        refused.stderr
    );
    assert!(!server.targets().iter().any(|target| target == "/secret" || target == "/next"));
    let image = extract(&[&server.url("/image")]).expect(4);
    assert!(image.stderr.contains("content_type: its Content-Type is neither HTML"), "{}", image.stderr);
    let config = sandbox.write("crawl.toml", "[fetch]\nuser_agent = \"settled/1\"\n");
    let config = config.to_str().unwrap();
    let lean = extract(&[&server.url("/agent"), "--config", config, "--lean"]).expect(0).stdout;
    let lean: Value = serde_json::from_str(&lean).unwrap();
    assert!(lean["text"].as_str().unwrap().contains("settled/1"), "{lean}");
    let file = extract(&["page.html", "--config", config]).expect(2);
    assert!(file.stderr.contains("--config needs a URL"), "{}", file.stderr);
    let flag = extract(&[&url, "--select", "p"]).expect(2);
    assert!(flag.stderr.contains("--select needs a file"), "{}", flag.stderr);
}

/// Settings of extraction are those of the file, unless a flag is given. Without both all links are kept.
#[test]
fn extract_of_a_url_reads_settings_of_extraction() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/links" => {
            let link = "<p>Ships that call at the harbour read <a href=/next>the next sheet</a> of the pilots first.</p>";
            Response::html(format!("<title>Links</title><main><h1>Links</h1>{}</main>", link.repeat(5)))
        }
        _ => Response::status(404),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let extract =
        |args: &[&str]| run(sandbox.bare().args(["extract", "--allow-address", "127.0.0.0/8"]).args(args));
    let links = server.url("/links");
    let strip = sandbox.write("strip.toml", "[extract]\nlinks = \"strip\"\n");
    let strip = strip.to_str().unwrap();
    assert_eq!(extract(&[&links]).expect(0).stdout.matches("](http").count(), 5, "the default is keep");
    assert!(!extract(&[&links, "--config", strip]).expect(0).stdout.contains("](http"));
    let kept = extract(&[&links, "--config", strip, "--links", "keep"]).expect(0).stdout;
    assert!(kept.contains("](http"), "a flag goes before the file: {kept}");
    let text = extract(&[&links, "--lean", "--format", "markdown"]).expect(2);
    assert!(text.stderr.contains("--lean write JSON"), "{}", text.stderr);
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
fn extract_prints_markdown_or_text() {
    let sandbox = Sandbox::new();
    let page = fixture("news/storm-barbara.html");
    let markdown =
        run(sandbox.bare().arg("extract").arg(&page).args(["--format", "markdown"])).expect(0).stdout;
    assert!(
        markdown.lines().any(|l| l.trim_start_matches('#').trim() == "What broke" && l.starts_with('#')),
        "{markdown}"
    );
    let text = run(sandbox.bare().arg("extract").arg(&page).args(["--format", "text"])).expect(0).stdout;
    assert!(text.lines().any(|l| l == "What broke"), "{text}");
}

#[test]
fn extract_selects_by_css() {
    let sandbox = Sandbox::new();
    let page = "<title>Quay</title><nav class=price>Menu</nav><div class=sidebar><p class=price>Four <b>crowns</b></p></div>\
        <p>Text</p><p class=price hidden>Secret</p><li class=price>Five";
    let page = sandbox.write("page.html", page);
    let select =
        |css: &str| run(sandbox.bare().args(["extract", "--format", "markdown", "--select", css]).arg(&page));
    assert_eq!(select("div .price, li").expect(0).stdout, "Four **crowns**\n\n- Five\n");
    assert_eq!(select("nav, p:not(.price)").expect(0).stdout, "Menu\n\nText\n");
    let none = select("table").expect(0);
    assert_eq!(none.stdout, "\n");
    assert!(none.stderr.contains("page.html: no text matches --select"), "{}", none.stderr);
    let lines = sandbox.write("lines.jsonl", "{\"id\":\"a\",\"html\":\"<p>One<h2>Two</h2>\"}\n");
    let done = run(sandbox.bare().args(["extract", "--jsonl", "--select", "h2"]).arg(&lines)).expect(0);
    assert!(done.stdout.contains("\"text\":\"## Two\""), "{}", done.stdout);
    let broken = select("p:nope").expect(2);
    assert!(
        broken.stderr.contains("--select \"p:nope\": it is no list of CSS selectors, "),
        "{}",
        broken.stderr
    );
}

#[test]
fn extract_finds_the_charset_of_raw_bytes() {
    let sandbox = Sandbox::new();
    let done =
        run(sandbox.bare().arg("extract").arg(fixture("ja/tides.html")).args(["--format", "text"])).expect(0);
    assert!(done.stdout.contains("十二分の一の法則"), "{}", done.stdout);
    let header = ["--content-type", "text/html; charset=windows-1252", "--format", "text"];
    sandbox.write("bare.html", b"<html><body><main><p>500 \x80 f\xfcr den ganzen Winter, und zwar f\xfcr jedes Boot im Becken.</p></main></body></html>");
    let done = run(sandbox.bare().args(["extract", "bare.html"]).args(header)).expect(0);
    assert!(done.stdout.contains("500 € für"), "{}", done.stdout);
}

#[test]
fn extract_names_pages_of_boilerplate_only() {
    let sandbox = Sandbox::new();
    let html = "<html><body><nav><a href=/>Home</a></nav><footer>All rights reserved</footer></body></html>";
    sandbox.write("bare.html", html);
    let url = "https://harbour.example/empty";
    for (arguments, name) in [(vec!["bare.html", "--url", url], url), (vec!["bare.html"], "bare.html")] {
        let done = run(sandbox.bare().arg("extract").args(&arguments)).expect(0);
        assert_eq!(done.stderr, format!("{name}: the whole page is boilerplate: its text is empty\n"));
        assert!(done.stdout.contains("all_boilerplate"), "{}", done.stdout);
    }
    let row =
        |id: &str, html: &str, url: Option<&str>| json!({"id": id, "url": url, "html": html}).to_string();
    let rows = [
        row("1", "<main><p>The ferry leaves at seven and at nine from the new pier.</p></main>", Some(url)),
        row("2", html, Some(url)),
        row("3", html, None),
    ];
    sandbox.write("rows.jsonl", rows.join("\n"));
    let done = run(sandbox.bare().args(["extract", "--jsonl", "rows.jsonl"])).expect(0);
    let mut told: Vec<&str> = done.stderr.lines().collect();
    told.sort_unstable();
    let says = |name: &str| format!("{name}: the whole page is boilerplate: its text is empty");
    assert_eq!(told, [says("3"), says(url)]);
}

#[test]
fn extract_keeps_ids_and_order_of_lines() {
    let sandbox = Sandbox::new();
    let mut input = String::new();
    let pages =
        ["news/crane-retired.html", "docs/errors.html", "forum/thread-121.html", "guides/approach.html"];
    for (i, name) in pages.iter().enumerate() {
        let html = fs::read_to_string(fixture(name)).unwrap();
        input +=
            &json!({"id": format!("page-{i}"), "url": format!("https://h.example/{name}"), "html": html})
                .to_string();
        input.push('\n');
    }
    // <html><head><meta charset="iso-8859-1">…<p>Müll, Altöl und Grüße nimmt die Wache entgegen.</p>, in that
    // charset
    let raw = "PGh0bWw+PGhlYWQ+PG1ldGEgY2hhcnNldD0iaXNvLTg4NTktMSI+PC9oZWFkPjxib2R5PjxwPk38bGwsIEFsdPZsIHVuZCBHcvzfZSBuaW1tdCBkaWUgV2FjaGUgZW50Z2VnZW4uPC9wPjwvYm9keT48L2h0bWw+";
    input += &json!({"id": "raw", "url": "https://h.example/raw", "html_base64": raw}).to_string();
    input.push('\n');
    sandbox.write("in.jsonl", input);
    let done = run(sandbox.bare().args(["extract", "--jsonl", "in.jsonl", "--format", "text"])).expect(0);
    let records = lines(&done.stdout);
    let ids: Vec<&str> = records.iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["page-0", "page-1", "page-2", "page-3", "raw"]);
    assert!(records[0]["text"].as_str().unwrap().contains("cream and a very bright green"));
    assert!(records[4]["text"].as_str().unwrap().contains("Grüße"), "{}", records[4]);
}

/// Pages whose title is above the container of their text: their site identifies it as a title. From a file
/// and from standard input.
#[test]
fn extract_by_site_uses_the_other_pages() {
    let sandbox = Sandbox::new();
    let words =
        |n: usize| "abcdefghijkl".chars().map(|c| format!("{c}{}", "mnopqrstuvwx".repeat(n + 1))).collect();
    let rows = (0..12).map(|n| {
        let words: Vec<String> = words(n);
        let text = words.join(" ");
        let html = format!(
            "<body><div><h1 class=name>Log {}</h1></div><article class=entry><p>{text}, {text}.</p><p>{text}; {text}.</p></article>",
            words[0]
        );
        json!({"id": n, "url": format!("https://h.example/{n}"), "html": html}).to_string() + "\n"
    });
    let input: String = rows.collect();
    sandbox.write("in.jsonl", &input);
    let extract = |flags: &[&str]| {
        run(sandbox.bare().args(["extract", "--jsonl", "--format", "text", "in.jsonl"]).args(flags))
            .expect(0)
            .stdout
    };
    let alone = lines(&extract(&[]));
    let by_site = extract(&["--by-site"]);
    for (alone, mended) in alone.iter().zip(lines(&by_site)) {
        assert!(!alone["text"].as_str().unwrap().contains("Log "), "{alone}");
        assert!(mended["text"].as_str().unwrap().starts_with("Log "), "{mended}");
        assert_eq!(
            mended["metadata"]["bySite"],
            json!({"pages": 12, "added": 1, "dropped": 0, "rebuilt": false, "template": null})
        );
    }
    let mut piped = sandbox.bare();
    piped
        .args(["extract", "--jsonl", "--format", "text", "--by-site"])
        .stdin(fs::File::open(sandbox.path("in.jsonl")).unwrap());
    assert_eq!(run(&mut piped).expect(0).stdout, by_site);
    // a pipe has a name and can be read once
    let mut named = sandbox.bare();
    named.args(["extract", "--jsonl", "--format", "text", "--by-site", "/dev/stdin"]);
    assert_eq!(run(&mut sandbox.shell("cat in.jsonl | \"$@\"", &named)).expect(0).stdout, by_site);
    run(sandbox.bare().args(["extract", "--by-site", "in.jsonl"])).expect(2);
    run(sandbox.bare().args(["extract", "--jsonl", "--by-site", "--explain", "in.jsonl"])).expect(2);
}

#[test]
fn extract_names_the_broken_line() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "in.jsonl",
        "{\"id\":\"a\",\"url\":\"https://h.example/\",\"html\":\"<p>one</p>\"}\nnot json\n",
    );
    let done = run(sandbox.bare().args(["extract", "--jsonl", "in.jsonl"]));
    assert_ne!(done.code(), 1, "a broken line of the input is not an internal error:\n{}", done.stderr);
    assert!(done.stderr.contains("line 2") || done.stderr.contains(":2"), "{}", done.stderr);
}

/// A file of another kind has an error in each line: the first are named, the others counted.
#[test]
fn unusable_lines_are_named_up_to_a_number() {
    let sandbox = Sandbox::new();
    sandbox.write("in.jsonl", "{\"id\n".repeat(30));
    for job in
        [&["extract", "--jsonl"][..], &["classify", "--jsonl"], &["check", "url", "--jsonl"], &["dedup"]]
    {
        let done = run(sandbox.bare().args(job).arg("in.jsonl")).expect(2);
        assert!(done.stderr.contains("in.jsonl: line 20: "), "{}", done.stderr);
        assert!(!done.stderr.contains("line 21") && !done.stderr.contains("at line 1"), "{}", done.stderr);
        assert!(done.stderr.contains("in.jsonl: 10 more lines could not be read"), "{}", done.stderr);
        assert!(done.stderr.ends_with("in.jsonl: no line could be read\n"), "{}", done.stderr);
    }
}

#[test]
fn extract_of_a_missing_file_exits_with_2() {
    let sandbox = Sandbox::new();
    let done = run(sandbox.bare().args(["extract", "nowhere.html"])).expect(2);
    assert!(done.stderr.contains("nowhere.html"), "{}", done.stderr);
}

#[test]
fn classify_names_type_strategy_and_reason() {
    let sandbox = Sandbox::new();
    let page = fixture("news/storm-barbara.html");
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

/// Fields are chosen as in a crawl: of a page, of lines with ids of their own, and of a folder.
#[test]
fn extract_writes_chosen_fields() {
    let sandbox = Sandbox::new();
    let html = "<html lang=en><title>T</title><main><h1>T</h1><p>Some words of a page.</p></main>";
    fs::create_dir(sandbox.path("folder")).unwrap();
    let page = sandbox.write("folder/page.html", html);
    sandbox.write("folder/picture.png", b"\x89PNG\r\n\x1a\n");
    let lean = run(sandbox.bare().arg("extract").arg(&page).arg("--lean")).expect(0).stdout;
    assert_eq!(lean.lines().count(), 1);
    assert!(lean.starts_with("{\"id\":") && lean.contains("\"language\":\"en\""), "{lean}");
    let line = |id: &str| format!("{}\n", serde_json::json!({"id": id, "html": html}));
    let input = sandbox.write("in.jsonl", line("a") + &line("b").replace("\"b\"", "7"));
    let fields = ["--fields", "id,metadata.title"];
    let chosen = run(sandbox.bare().args(["extract", "--jsonl"]).arg(&input).args(fields)).expect(0);
    let wanted = "{\"id\":\"a\",\"metadata\":{\"title\":\"T\"}}\n{\"id\":7,\"metadata\":{\"title\":\"T\"}}\n";
    assert_eq!(chosen.stdout, wanted);
    let fields = ["--fields", "url,text"];
    let ordered = run(sandbox.bare().args(["extract", "--jsonl"]).arg(&input).args(fields)).expect(0).stdout;
    let lines: Vec<&str> = ordered.lines().collect();
    assert_eq!(lines[0], lines[1], "the order of keys does not depend on the id");
    let form = run(sandbox.bare().args(["extract", "--lean", "--format", "text"]).arg(&page)).expect(2);
    assert!(form.stderr.contains("--lean write JSON"), "{}", form.stderr);
    let folder = run(sandbox.bare().args(["extract", "folder", "--fields", "text"])).expect(0);
    assert_eq!(folder.stdout, "{\"text\":\"# T\\n\\nSome words of a page.\"}\n");
    assert!(folder.stderr.contains("folder: 1 file without HTML skipped"), "{}", folder.stderr);
    let unknown = run(sandbox.bare().arg("extract").arg(&page).args(["--fields", "titel"])).expect(2);
    assert!(unknown.stderr.contains("--fields: a record has no field \"titel\""), "{}", unknown.stderr);
}

/// A file that is no page is refused by its format, not read as a page.
#[test]
fn extract_refuses_files_that_are_not_pages() {
    let sandbox = Sandbox::new();
    let pdf = sandbox.write("paper.html", b"%PDF-1.7\n\x01\x02\x03");
    let records = sandbox.write("records.jsonl", "{}\n");
    for job in ["extract", "classify"] {
        let refused = run(sandbox.bare().arg(job).arg(&pdf)).expect(2);
        assert!(refused.stderr.contains("paper.html: this is PDF"), "{}", refused.stderr);
        let lines = run(sandbox.bare().arg(job).arg(&records)).expect(2);
        assert!(lines.stderr.contains("add --jsonl"), "{}", lines.stderr);
        let empty = run(sandbox.bare().args([job, "-"]).stdin(std::process::Stdio::null())).expect(2);
        assert!(empty.stderr.contains("standard input: is empty"), "{}", empty.stderr);
    }
    let packed = {
        use std::io::Write;
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&fs::read(fixture("news/storm-barbara.html")).unwrap()).unwrap();
        sandbox.write("page.html.gz", gz.finish().unwrap())
    };
    let extract = |page: PathBuf| {
        run(sandbox.bare().arg("extract").arg(page).args(["--url", "https://a.test/"])).expect(0).stdout
    };
    assert_eq!(extract(packed), extract(fixture("news/storm-barbara.html")));
}

/// A misspelled command gets a suggestion. A negative number and a missing seed file are named.
#[test]
fn wrong_command_lines_are_refused_with_advice() {
    let sandbox = Sandbox::new();
    for (words, expected) in [
        (&["extarct", "page.html"][..], "did you mean the command extract?"),
        (&["harbour"], "crawl -h lists the commands"),
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
