//! The first things that a user meets: the summary with its reasons, and messages about words of the command line.

use crate::{
    run::{self, Done, Sandbox, run, url_counts},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The row of a summary, without its name.
#[track_caller]
fn row(done: &Done, name: &str) -> String {
    let line = done.stderr.lines().find_map(|line| line.strip_prefix(&format!("  {name:10} ")));
    line.unwrap_or_else(|| panic!("no row {name}:\n{}", done.stderr)).to_owned()
}

fn feed(server: &str) -> String {
    format!(
        r#"{{"version":"https://jsonfeed.org/version/1.1","title":"f","items":[{{"id":"1","url":"http://{server}/one"}}]}}"#
    )
}

fn site() -> Server {
    Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /forbidden\n"),
        "/feed.json" => Response::new(200, "application/json", feed(request.header("host").unwrap())),
        "/data.json" => Response::new(200, "application/json", "{\"a\": 1}"),
        "/broken.xml" => Response::new(200, "application/xml", "<urlset><url><loc>"),
        "/empty.xml" => Response::new(200, "application/rss+xml", "<rss><channel></channel></rss>"),
        "/elsewhere.xml" => {
            let entry = "<rss><channel><item><link>https://b.test/</link></item></channel></rss>";
            Response::new(200, "application/rss+xml", entry)
        }
        "/noindex" => {
            let html = page("a page that asks not to be indexed", &[]);
            Response::html(html.replace("<head>", "<head><meta name=robots content=noindex>"))
        }
        "/members" => {
            let mut answer = Response::status(302);
            answer.headers.push(("Location".to_owned(), "/login?next=/members".to_owned()));
            answer
        }
        "/moved" => {
            let mut answer = Response::status(301);
            answer.headers.push(("Location".to_owned(), "/missing?moved".to_owned()));
            answer
        }
        "/missing" | "/gone" => Response::status(404),
        path => Response::html(page(&format!("the page {path}"), &[])),
    })
    .unwrap()
}

fn crawl(sandbox: &Sandbox, seeds: &[String], flags: &[&str]) -> std::process::Command {
    sandbox.crawl(seeds, &[&["-o", "out.jsonl"], flags].concat())
}

#[test]
fn seeds_without_a_record_are_named_with_their_reason() {
    let (server, sandbox) = (site(), Sandbox::new());
    let seeds = ["/", "/moved", "/forbidden", "/noindex", "/data.json"].map(|path| server.url(path));
    let done = run(&mut crawl(&sandbox, &seeds, &["--depth", "0"])).expect(0);
    let row = row(&done, "seeds");
    assert!(row.starts_with("4 of 5 without a record: "), "{row}");
    for (path, reason) in [
        ("/moved", "http_status"),
        ("/forbidden", "robots_disallowed"),
        ("/noindex", "noindex: it asks not to be indexed"),
        ("/data.json", "content_type: its Content-Type"),
    ] {
        assert!(row.contains(&format!("{} ({reason}", server.url(path))), "{row}");
    }
    assert!(
        done.stderr.contains("1 record from 2 pages") && done.stderr.contains("2 URLs failed"),
        "{}",
        done.stderr
    );
    let json =
        run(&mut sandbox.crawl(&seeds, &["--fresh", "--log-format", "json", "--depth", "0"])).expect(0);
    let summary = json.stderr.lines().find(|line| line.contains("\"seedsWithoutRecord\"")).unwrap();
    assert!(summary.contains("\"visited\":2") && summary.contains("\"failedUrls\":2"), "{summary}");
    assert!(
        summary.contains(&format!("{{\"kind\":\"noindex\",\"url\":\"{}\"}}", server.url("/noindex"))),
        "{summary}"
    );
}

#[test]
fn a_seed_behind_a_log_in_page_is_named() {
    let (server, sandbox) = (site(), Sandbox::new());
    let seeds = ["/members", "/login"].map(|path| server.url(path));
    let done = run(&mut crawl(&sandbox, &seeds, &["--depth", "0"])).expect(0);
    let page = server.url("/login");
    assert!(row(&done, "log-in").starts_with(&format!("{} leads to the log-in page {page}: ", seeds[0])));
    assert_eq!(done.stderr.matches("leads to the log-in page").count(), 1, "{}", done.stderr);
}

#[test]
fn a_crawl_without_a_record_suggests_no_next_round() {
    let (server, sandbox) = (site(), Sandbox::new());
    let done = run(&mut crawl(&sandbox, &[server.url("/noindex")], &[])).expect(0);
    assert!(row(&done, "seeds").contains("it asks not to be indexed"));
    assert!(!done.stderr.contains("writes their changes"), "{}", done.stderr);
}

#[test]
fn a_json_feed_of_any_json_type_is_read_as_a_seed() {
    let (server, sandbox) = (site(), Sandbox::new());
    let done = run(&mut crawl(&sandbox, &[server.url("/feed.json")], &["--depth", "1"])).expect(0);
    assert_eq!(url_counts(&sandbox.records("out.jsonl")), [(server.url("/one"), 1)].into());
    assert_eq!(row(&done, "read"), "1 sitemap or feed");
    assert!(!done.stderr.contains("no record") && !done.stderr.contains("slowest"), "{}", done.stderr);
    let data = run(&mut sandbox.crawl(&[server.url("/data.json")], &["--fresh"])).expect(4);
    assert!(data.stderr.contains("content_type"), "{}", data.stderr);
}

#[test]
fn a_seed_file_without_urls_has_the_true_reason() {
    let (server, sandbox) = (site(), Sandbox::new());
    for (path, reason) in [
        ("/broken.xml", "the sitemap or feed is damaged and names no URL"),
        ("/empty.xml", "the sitemap or feed names no URL"),
        ("/elsewhere.xml", "are on other hosts, or filters leave them out; --scope domain"),
    ] {
        let done = run(&mut sandbox.crawl(&[server.url(path)], &["--fresh"])).expect(4);
        assert!(done.stderr.contains(reason), "{path}: {}", done.stderr);
    }
}

#[test]
fn status_shows_no_errors_of_earlier_rounds_and_each_url_once() {
    let (server, sandbox) = (site(), Sandbox::new());
    let seeds = [server.url("/"), server.url("/missing")];
    run(&mut crawl(&sandbox, &seeds, &["--depth", "0"])).expect(0);
    run(sandbox
        .bare()
        .args(["retry-errors", "--seed", "seeds.txt", "--state-dir", "state", "-o", "out.jsonl"])
        .args(["--allow-address", "127.0.0.0/8", "--delay", "0s", "--depth", "0"]))
    .expect(0);
    let status = || run(sandbox.bare().args(["status", "--state-dir", "state"])).expect(0).stdout;
    let shown = status();
    assert_eq!(shown.matches("/missing").count(), 1, "{shown}");
    assert!(shown.contains("0 records, 1 URL failed") || shown.contains("1 record, 1 URL failed"), "{shown}");
    run(&mut crawl(&sandbox, &seeds[..1], &["--depth", "0"])).expect(0);
    let shown = status();
    assert!(shown.contains("round 2") && !shown.contains("last errors"), "{shown}");
}

#[test]
fn unchanged_and_gone_pages_count_as_visited() {
    let visits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&visits);
    let server = Server::start(0, move |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        _ if request.header("if-none-match").is_some() => Response::status(304),
        "/" => {
            count.fetch_add(1, Ordering::Relaxed);
            let mut answer = Response::html(page("a page with a validator", &[]));
            answer.headers.push(("ETag".to_owned(), "\"a\"".to_owned()));
            answer
        }
        _ => Response::status(404),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    run(&mut crawl(&sandbox, &[server.url("/")], &[])).expect(0);
    let done = run(&mut crawl(&sandbox, &[server.url("/")], &["--recrawl", "all"])).expect(0);
    assert!(done.stderr.contains("0 records from 1 page in"), "{}", done.stderr);
    assert_eq!(visits.load(Ordering::Relaxed), 1);
}

#[test]
fn a_folder_of_markdown_counts_its_pages_and_is_named() {
    let (server, sandbox) = (site(), Sandbox::new());
    let done = run(&mut sandbox.crawl(&[server.url("/")], &["-o", "md/", "--depth", "0"])).expect(0);
    assert!(row(&done, "output").ends_with("/md/"), "{}", done.stderr);
    let index = std::fs::metadata(sandbox.path("md/index.jsonl")).unwrap().len();
    let written = row(&done, "bytes");
    assert!(index > 0 && !written.ends_with(&format!("{index} B written")), "{written}");
}

#[test]
fn an_output_without_bytes_belongs_to_no_crawl() {
    let (server, sandbox) = (site(), Sandbox::new());
    run(&mut crawl(&sandbox, &[server.url("/missing")], &["--depth", "0"])).expect(4);
    let mut other = sandbox.bare();
    other.args([&server.url("/"), "-o", "out.jsonl", "--state-dir", "other", "--depth", "0"]);
    run(other.args(["--allow-address", "127.0.0.0/8"])).expect(0);
    let refused = run(&mut crawl(&sandbox, &[server.url("/missing")], &["--depth", "0"])).expect(2);
    assert!(
        refused.stderr.contains("or delete ") && refused.stderr.contains(".out.jsonl.crawl"),
        "{}",
        refused.stderr
    );
}

#[test]
fn pages_without_a_url_have_ids_of_their_own() {
    let sandbox = Sandbox::new();
    for name in ["a.html", "b.html"] {
        sandbox.write(name, page(&format!("the page {name}"), &[]));
    }
    let id = |words: &[&str], input: Option<&str>| {
        let mut command = sandbox.bare();
        command.arg("extract").args(words).args(["--fields", "id"]);
        if let Some(name) = input {
            command.stdin(std::fs::File::open(sandbox.path(name)).unwrap());
        }
        run(&mut command).expect(0).stdout
    };
    assert_eq!(id(&["a.html"], None), "{\"id\":\"a.html\"}\n");
    let (first, second) = (id(&[], Some("a.html")), id(&[], Some("b.html")));
    assert!(first != second && first.len() == second.len(), "{first}{second}");
}

#[test]
fn words_for_other_commands_have_a_remedy() {
    let sandbox = Sandbox::new();
    for (words, remedy) in [
        (&["check"][..], "robots, url, charset, sitemap, rules, list, config"),
        (
            &["check", "robots", "https://a.test/robots.txt", "--url", "https://a.test/"],
            "curl -o FILE https://a.test/robots.txt",
        ),
        (&["classify", "https://a.test/"], "takes a file, not a URL"),
        (
            &["a.test", "--min-age", "20h", "--max-age", "1h"],
            "--max-age: recrawl.max_age: \"1h\" is less than recrawl.min_age, \"20h\" (--min-age)",
        ),
        (&["extract", "a.html", "--resolve", "a.test:80:127.0.0.1"], "--resolve needs a URL"),
    ] {
        let done = run(sandbox.bare().args(words)).expect(2);
        assert!(done.stderr.contains(remedy), "{words:?}: {}", done.stderr);
    }
    let help = run(sandbox.bare().args(["help", "extract"])).expect(0).stdout;
    assert_eq!(help, run(sandbox.bare().args(["extract", "--help"])).expect(0).stdout);
}

#[test]
fn extract_takes_an_address_for_a_name() {
    let (server, sandbox) = (site(), Sandbox::new());
    let port = server.address().port();
    let url = format!("http://docs.test:{port}/page");
    let resolve = format!("docs.test:{port}:127.0.0.1");
    let flags = ["extract", &url, "--resolve", &resolve, "--allow-address", "127.0.0.1"];
    let done = run(sandbox.bare().args(flags)).expect(0);
    assert!(done.stdout.contains("the page /page"), "{}", done.stdout);
    let unknown = run(sandbox.bare().args(["extract", "http://nosuch.invalid/"])).expect(4);
    assert!(unknown.stderr.contains("--resolve or fetch.resolve"), "{}", unknown.stderr);
}

#[test]
fn a_file_of_records_is_no_seed_file() {
    let (server, sandbox) = (site(), Sandbox::new());
    let record = format!("{{\"id\":\"a\",\"url\":\"{}\",\"text\":\"b\"}}\n", server.url("/"));
    sandbox.write("records.jsonl", record.repeat(20));
    let done = run(sandbox.bare().args(["records.jsonl", "-o", "out.jsonl"])).expect(2);
    let expected = "crawl: records.jsonl: an output of a crawl, not a seed file\n";
    assert_eq!(done.stderr, expected);
    sandbox.write("urls.csv", "no url\n".repeat(20));
    let done = run(sandbox.bare().args(["urls.csv", "-o", "out.jsonl"])).expect(2);
    assert!(
        done.stderr.contains("15 more lines are no seeds") && done.stderr.lines().count() < 9,
        "{}",
        done.stderr
    );
}

#[test]
fn a_running_crawl_is_named_with_its_directory() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        _ => {
            let mut answer = Response::html(page("slow", &[]));
            answer.delay = std::time::Duration::from_secs(20);
            answer
        }
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let mut first = crawl(&sandbox, &[server.url("/")], &[]).spawn().unwrap();
    let deadline = std::time::Instant::now() + run::PATIENCE;
    while server.requests().len() < 2 && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    let refused = run(&mut crawl(&sandbox, &[server.url("/")], &[])).expect(6);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(refused.stderr.contains("another run uses the state directory "), "{}", refused.stderr);
    assert!(!refused.stderr.contains("storage is in use"), "{}", refused.stderr);
}
