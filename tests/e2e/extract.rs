//! `crawl extract` by the binary: files, URLs, JSON lines, selectors.

use crate::{
    run::{Sandbox, lines, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour").join(path)
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
        assert_eq!(done.stderr, format!("{name}: the page has no main content: its text is empty\n"));
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
    let says = |name: &str| format!("{name}: the page has no main content: its text is empty");
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
    let html = "<main><p>The ferry leaves at seven and at nine from the new pier.</p></main>";
    input += &format!("{}\n{}\n", json!({"url": "https://h.example/p", "html": html}), json!({"html": html}));
    sandbox.write("in.jsonl", input);
    let done = run(sandbox.bare().args(["extract", "--jsonl", "in.jsonl", "--format", "text"])).expect(0);
    let records = lines(&done.stdout);
    let ids: Vec<Option<&str>> = records.iter().map(|r| r["id"].as_str()).collect();
    let own = ["page-0", "page-1", "page-2", "page-3", "raw"].map(Some);
    assert_eq!(ids[..5], own);
    // the first half of the SHA-256 of the URL; none without a URL
    assert_eq!(ids[5..], [Some("56e60b68e8d752d0dfa512debbcbdcee"), None]);
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
