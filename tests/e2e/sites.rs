//! Sites whose content the rules miss on every page: a crawl detects it, and extracts the pages by the
//! differences between them.

use crate::{
    kills::kill_after,
    run::{Sandbox, lines, run, url_counts},
    support::{
        made::Tree,
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::fs;

/// Pages of each site.
const PAGES: usize = 60;

/// Text of the main element on every page of a site.
const NOTICE: &str = "<p>The harbour office is open on weekdays from nine to four, and on Saturdays until noon. Berths are given out in the \
    order in which boats arrive, dues are paid on the day, and whoever leaves before seven puts them into the box at the gate.</p>\
    <p>Dogs are kept on a lead, fires are lit on the beach alone, and the crane is moved by the harbour master, nobody else.</p>";

/// A word of five letters on one page alone, so that the text stays short.
fn word(site: &str, n: usize, k: usize) -> String {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
    let n = n * 26 + k;
    [letter(n / 676), letter(n / 26), letter(n), letter(k * 7)]
        .iter()
        .fold(site.to_owned(), |word, c| format!("{word}{c}"))
}

/// Own text of a page: 26 words.
fn own(site: &str, n: usize) -> String {
    let sentence = |from: usize| (from..from + 13).map(|k| word(site, n, k)).collect::<Vec<_>>().join(" ");
    format!("<p>{}.</p><p>{}.</p>", sentence(0), sentence(13))
}

/// A binary tree of pages with a frame around `content`, in which `{own}` stands for the page's own text.
fn site(
    name: &'static str,
    content: &'static str,
    pages: usize,
) -> impl Fn(&Request) -> Response + Send + Sync {
    move |request: &Request| {
        let target = |n: &usize| Tree::target(*n) == request.path();
        let Some(n) = (1..=pages).find(target) else { return Response::status(404) };
        let links: String = [2 * n, 2 * n + 1]
            .iter()
            .filter(|m| **m <= pages)
            .map(|m| format!("<a href=\"{0}\">{0}</a> ", Tree::target(*m)))
            .collect();
        Response::html(format!(
            "<html lang=en><head><title>Harbour log</title></head><body><nav><a href=/>Home</a> {links}</nav>{}\
             <footer class=colophon>Harbour of Aldermere, office at the gate</footer></body></html>",
            content.replace("{notice}", NOTICE).replace("{own}", &own(name, n))
        ))
    }
}

/// The records of a site.
fn records_of(records: &[Value], server: &Server) -> Vec<Value> {
    let is_of_site = |record: &&Value| record["url"].as_str().unwrap().starts_with(&server.url(""));
    records.iter().filter(is_of_site).cloned().collect()
}

/// Three failing sites, and their seeds; the rules in `own` make the third one fail.
fn failing_sites(sandbox: &Sandbox) -> ([Server; 3], Vec<String>) {
    let servers = FAILURES.map(|(name, content, _)| Server::start(0, site(name, content, PAGES)).unwrap());
    fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write("own/boilerplate.toml", "sidebar = [\"...\", \"logbook\"]\n");
    let seeds = servers.iter().map(|server| server.url("/")).collect();
    (servers, seeds)
}

/// Counts the records that contain the page's own words.
fn with_own_words(name: &str, records: &[Value]) -> usize {
    let has = |record: &&Value| {
        let path = record["url"].as_str().unwrap().rsplit('/').next().unwrap();
        let n = path.trim_end_matches(".html").parse().unwrap_or(1);
        let text = record["text"].as_str().unwrap();
        text.contains(&word(name, n, 0))
            && text.contains(&word(name, n, 25))
            && !text.contains("harbour office")
    };
    records.iter().filter(has).count()
}

/// Content in elements whose names mark them as boilerplate, by a built-in or an added rule.
const FAILURES: [(&str, &str, &str); 3] = [
    ("n", "<main></main><aside class=sidebar>{own}</aside>", "body > aside.sidebar"),
    ("e", "<main>{notice}</main><div class=related-posts>{own}</div>", "body > div.related-posts"),
    (
        "s",
        "<main>{notice}</main><div class=wrap><div class=logbook>{own}</div></div>",
        "body > div.wrap > div.logbook",
    ),
];

/// All pages of a failing host are corrected in the round that detects it. The report and `crawl status` name
/// the template.
#[test]
fn empty_page_template_is_detected_and_corrected() {
    let sandbox = Sandbox::new();
    let (servers, seeds) = failing_sites(&sandbox);
    let flags = ["-o", "out.jsonl", "--rules", "own", "--strategy", "static"];
    let done = run(&mut sandbox.crawl(&seeds, &flags)).expect(0);
    let records = sandbox.records("out.jsonl");
    assert!(url_counts(&records).values().all(|n| *n == 1));
    assert_eq!(records.len(), 3 * PAGES, "{}\n{:?}", done.stderr, sandbox.errors());
    let report: Value = serde_json::from_str(&sandbox.read("state/report.json")).unwrap();
    let status = || {
        let mut command = sandbox.bare();
        command.args(["status", "--json", "--state-dir"]).arg(sandbox.path("state"));
        serde_json::from_str::<Value>(&run(&mut command).expect(0).stdout).unwrap()
    };
    for (server, (name, _, template)) in servers.iter().zip(FAILURES) {
        let of_site = records_of(&records, server);
        assert_eq!(with_own_words(name, &of_site), PAGES, "{template}");
        for record in &of_site {
            assert_eq!(record["metadata"]["extractor"], "site_template", "{record}");
        }
        assert_eq!(of_site[0]["metadata"]["bySite"]["template"], template);
        let host = server.url("").replace("http://", "");
        for told in [&report["missedSites"], &status()["missedSites"]] {
            let site = told.as_array().unwrap().iter().find(|site| site["host"] == host.as_str()).unwrap();
            let noticed = &site["templates"][0];
            assert_eq!(
                (&noticed["template"], &noticed["pages"]),
                (&template.into(), &PAGES.into()),
                "{site}"
            );
            assert!(noticed["noticedAtPage"].as_u64().unwrap() <= 50, "{site}");
            assert_eq!(site["dueAgain"], 0, "{site}");
        }
        assert!(done.stderr.contains(&format!("template=\"{template}\"")), "{}", done.stderr);
    }
    assert!(done.stderr.contains("180 pages extracted by what differs on their site"), "{}", done.stderr);
}

/// A host of six pages is drained before its shard has judged them. Each is written in the run, by the
/// evidence, and fetched once.
#[test]
fn host_of_few_pages_is_corrected_in_the_same_run() {
    for (name, content, template) in FAILURES.into_iter().take(2) {
        let server = Server::start(0, site(name, content, 6)).unwrap();
        let sandbox = Sandbox::new();
        let flags = ["-o", "out.jsonl", "--strategy", "static", "--no-sitemaps"];
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
        let records = sandbox.records("out.jsonl");
        assert_eq!(records.len(), 6, "{template}");
        assert_eq!(with_own_words(name, &records), 6, "{template}");
        let asked = server.targets();
        assert!(
            url_counts(&records).keys().all(|url| {
                let path = url.strip_prefix(&server.url("")).unwrap();
                asked.iter().filter(|target| *target == path).count() == 1
            }),
            "{asked:?}"
        );
    }
}

/// Pages with records from before the detection are due once in the next round, and unchanged bodies are
/// still read.
#[test]
fn earlier_records_are_corrected_in_the_next_round() {
    let (name, content, _) = FAILURES[1];
    let server = Server::start(0, site(name, content, PAGES)).unwrap();
    let sandbox = Sandbox::new();
    // without cleaning no page is held
    let flags = ["-o", "out.jsonl", "--no-dedup", "--strategy", "static"];
    let crawl = || run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let status = || {
        let mut command = sandbox.bare();
        command.args(["status", "--json", "--state-dir"]).arg(sandbox.path("state"));
        let status: Value = serde_json::from_str(&run(&mut command).expect(0).stdout).unwrap();
        status["missedSites"][0]["dueAgain"].as_u64().unwrap()
    };
    let done = crawl();
    let first = sandbox.records("out.jsonl");
    let missed: Vec<&Value> =
        first.iter().filter(|record| record["metadata"]["extractor"] != "site_template").collect();
    assert!((4..20).contains(&missed.len()), "{}", missed.len());
    assert_eq!(status(), missed.len() as u64);
    assert!(
        done.stderr.contains(&format!("{} more are due in the next round", missed.len())),
        "{}",
        done.stderr
    );
    let asked = server.requests().len();
    crawl();
    let second = &sandbox.records("out.jsonl")[first.len()..];
    let (urls, due) =
        (url_counts(second), missed.iter().map(|record| record["url"].as_str().unwrap().to_owned()));
    assert_eq!(
        urls.into_keys().collect::<Vec<_>>(),
        due.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
    assert!(second.iter().all(|record| record["metadata"]["change"] == "changed"));
    let own = second.iter().filter(|record| record["metadata"]["extractor"] == "site_template").count();
    assert_eq!(own, second.len());
    assert!(server.requests().len() - asked <= missed.len() + 3, "the seed, robots.txt and the sitemap");
    assert_eq!(status(), 0);
}

/// A replay of the archive corrects the same pages, though it can fetch none of them again.
#[test]
fn replay_corrects_failing_templates() {
    let sandbox = Sandbox::new();
    let (servers, seeds) = failing_sites(&sandbox);
    let flags = ["-o", "out.jsonl", "--rules", "own", "--strategy", "static", "--warc", "archive"];
    run(&mut sandbox.crawl(&seeds, &flags)).expect(0);
    let mut replay = sandbox.bare();
    replay.args(["replay", "archive", "-O", "again.jsonl", "--rules", "own"]);
    run(&mut replay).expect(0);
    let records = sandbox.records("again.jsonl");
    assert_eq!(records.len(), 3 * PAGES);
    for (server, (name, _, template)) in servers.iter().zip(FAILURES) {
        let of_site = records_of(&records, server);
        assert_eq!(with_own_words(name, &of_site), PAGES, "{template}");
    }
}

/// Kills a crawl of a site whose content the rules miss four times. All its pages are written once, and have
/// their own words after the next round.
fn killed(more: &[&str]) {
    let (name, content, _) = FAILURES[0];
    let pages = site(name, content, PAGES);
    let slow = move |request: &Request| pages(request).after(std::time::Duration::from_millis(15));
    let (server, sandbox) = (Server::start(0, slow).unwrap(), Sandbox::new());
    let crawl = || {
        let flags = ["-o", "out.jsonl", "--strategy", "static", "--host-concurrency", "2"];
        let mut command = sandbox.crawl(&[server.url("/")], &[&flags, more].concat());
        command.env("CRAWL_OUTPUT_BATCH", "4");
        command
    };
    for more in [3, 4, 6, 12] {
        kill_after(&server, &mut crawl(), more);
    }
    run(&mut crawl()).expect(0);
    let first = sandbox.records("out.jsonl");
    assert!(url_counts(&first).values().all(|n| *n == 1) && first.len() == PAGES, "{}", first.len());
    run(&mut crawl()).expect(0);
    let mut last: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    for record in sandbox.records("out.jsonl") {
        last.insert(record["url"].as_str().unwrap().to_owned(), record);
    }
    let last: Vec<Value> = last.into_values().collect();
    assert_eq!(with_own_words(name, &last), PAGES);
}

/// A crawl that is killed while pages wait with their bodies loses none: each is corrected, or due again in
/// the next round.
#[test]
fn kill_while_pages_await_their_site_loses_none() {
    killed(&[]);
}

/// Records that a killed crawl wrote before it could judge their pages are due again too.
#[test]
fn kill_after_unjudged_records_makes_them_due() {
    killed(&["--no-dedup"]);
}

/// Pages as input lines of `crawl site` and `crawl extract --jsonl`.
fn rows(name: &'static str, content: &'static str, host: &str) -> String {
    let rows = (1..=20).map(|n| {
        let html = format!(
            "<body><nav><a href=/>Home</a></nav>{}</body>",
            content.replace("{own}", &own(name, n)).replace("{notice}", NOTICE)
        );
        serde_json::json!({"id": n, "url": format!("http://{host}/log/{n}"), "html": html}).to_string() + "\n"
    });
    rows.collect()
}

/// `crawl site` names the missed template, and its printed rule selects the content.
#[test]
fn crawl_site_prints_a_working_template_rule() {
    let sandbox = Sandbox::new();
    let (name, content, template) = FAILURES[1];
    let well = rows("w", "<main><p>{own}</p></main>", "well.example");
    sandbox.write("pages.jsonl", rows(name, content, "harbour.example:8080") + &well);
    let site =
        |flags: &[&str]| run(sandbox.bare().args(["site", "pages.jsonl"]).args(flags)).expect(0).stdout;
    let views: Value = serde_json::from_str(&site(&["--json"])).unwrap();
    let [missed, well] = views.as_array().unwrap().as_slice() else { panic!("{views}") };
    assert_eq!((&missed["host"], &missed["pages"]), (&"harbour.example:8080".into(), &20.into()));
    let found = &missed["templates"][0];
    assert_eq!(
        (&found["template"], &found["missed"], &found["takenWords"]),
        (&template.into(), &20.into(), &0.into())
    );
    assert_eq!(found["ownWords"], 20 * 26);
    assert_eq!(
        (&well["templates"][0]["missed"], &well["templates"][0]["template"]),
        (&0.into(), &"body > main".into())
    );
    let words = site(&[]);
    assert!(
        words.contains("harbour.example:8080: 20 pages, 1 template") && !words.contains("well.example\""),
        "{words}"
    );
    let rule: Vec<&str> =
        words.lines().skip_while(|line| !line.contains("[[site]]")).take(4).map(str::trim).collect();
    assert_eq!(rule[1], "match = \"harbour.example\"");
    fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write("own/sites.toml", rule.join("\n"));
    let mut extract = sandbox.bare();
    extract.args(["extract", "--jsonl", "--format", "text", "--rules", "own", "pages.jsonl"]);
    let records = lines(&run(&mut extract).expect(0).stdout);
    assert_eq!(with_own_words(name, &records[..20]), 20);
    assert!(records[..20].iter().all(|record| record["metadata"]["extractor"] == "site_rule"));
    assert!(records[20..].iter().all(|record| record["metadata"]["extractor"] != "site_rule"));
    let page = site(&["--html"]);
    assert!(page.contains("class=\"b content\"") && page.contains("class=\"b frame taken\""), "{page}");
    assert!(!page.contains("<script") && page.contains("default-src 'none'"));
    run(sandbox.bare().args(["site", "pages.jsonl", "--html", "--json"])).expect(2);
    sandbox.write("empty.jsonl", "{\"id\": 1}\n");
    let none = run(sandbox.bare().args(["site", "empty.jsonl"])).expect(2);
    assert!(none.stderr.contains("no page with HTML and a URL"), "{}", none.stderr);
    assert!(none.stderr.contains("crawl with --warc DIR"), "{}", none.stderr);
}

/// Errors in `sites.toml` are reported with line and key.
#[test]
fn site_rule_errors_are_reported() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write(
        "own/sites.toml",
        "[[site]]\nmatch = \"*\"\n[[site.template]]\ncontent = []\n[[site.template]]\npath = \"log\"\ncontent = [\"p:hover\"]\n[[site.template]]\nheading = 1\n",
    );
    let page = sandbox.write("page.html", "<p>text</p>");
    let fault = |text: &str| sandbox.write("own/sites.toml", text);
    let told = || run(sandbox.bare().args(["extract", "--rules", "own"]).arg(&page)).expect(2).stderr;
    assert!(told().contains("own/sites.toml:9: site[0].template[2].heading: unknown field"), "{}", told());
    fault(
        "[[site]]\nmatch = \"*\"\n[[site.template]]\ncontent = []\n[[site.template]]\npath = \"log\"\ncontent = [\"p:hover\"]\n",
    );
    for part in [
        "own/sites.toml:2: site[0].match: \"*\" is neither a host nor *. and a host",
        "own/sites.toml:4: site[0].template[0].content: a template needs a selector of its content",
        "own/sites.toml:6: site[0].template[1].path: a path begins with / or *",
        "own/sites.toml:7: site[0].template[1].content[0]: ",
    ] {
        assert!(told().contains(part), "{part} is not in\n{}", told());
    }
}

/// A correctly extracted site has no such template, and no page of it is fetched twice.
#[test]
fn well_extracted_site_is_not_refetched() {
    let server = Server::start(0, site("w", "<article>{own}</article>", PAGES)).unwrap();
    let sandbox = Sandbox::new();
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"])).expect(0);
    let records = sandbox.records("out.jsonl");
    assert!(records.iter().all(|record| record["metadata"]["bySite"].is_null()));
    let report: Value = serde_json::from_str(&sandbox.read("state/report.json")).unwrap();
    assert_eq!(report["missedSites"], Value::Array(Vec::new()));
    let mut asked = server.targets();
    asked.sort();
    let all = asked.len();
    asked.dedup();
    assert_eq!(asked.len(), all);
}
