//! Settings and credentials by site, seed lines in JSON, and places where failed URLs were found.

use crate::{
    run::{self, Sandbox, run},
    support::server::{Request, Response, Server},
};
use serde_json::Value;
use std::{collections::BTreeSet, fs, io::Read, net::TcpListener};

/// A page with a text of its own and links.
fn page(path: &str, links: &[&str]) -> Response {
    let links: String = links.iter().map(|link| format!("<a href=\"{link}\">to {link}</a> ")).collect();
    let words =
        format!("Report {path} on the tide tables of the northern islands and their small harbours. ")
            .repeat(6);
    Response::html(format!("<title>{path}</title><article><h1>{path}</h1><p>{words}</p>{links}</article>"))
}

/// Pages `/`, `/1`, `/2`, … each of which links to the next.
fn chain(request: &Request) -> Response {
    match request.path() {
        "/" => page("/", &["/1", "/skip"]),
        "/robots.txt" => Response::status(404),
        path => match path[1..].parse::<u32>() {
            Ok(n) if n < 9 => page(path, &[&format!("/{}", n + 1)]),
            _ => page(path, &[]),
        },
    }
}

/// A page with a link in its text and a notice beside it.
fn linked(request: &Request) -> Response {
    if request.path() == "/robots.txt" {
        return Response::status(404);
    }
    let words = "Report on the tide tables of the northern islands and their small harbours. ".repeat(6);
    Response::html(format!(
        "<title>Plan</title><article><h1>Plan</h1><p>{words} See <a href=\"/plan\">the harbour plan</a> for it.</p>\
         <p class=\"aside\">Second notice of the harbour office: {words}</p><p>{words}</p></article>"
    ))
}

fn paths(records: &[Value], server: &Server) -> BTreeSet<String> {
    let base = server.url("");
    let url = |record: &Value| record["url"].as_str().unwrap().to_owned();
    records.iter().filter_map(|record| url(record).strip_prefix(&base).map(str::to_owned)).collect()
}

#[test]
fn site_settings_apply_and_tags_are_copied() {
    let [one, two, three] = [(); 3].map(|()| Server::start(0, chain).unwrap());
    let sandbox = Sandbox::new();
    let host = |server: &Server| server.address().to_string();
    let config = format!(
        "[[site]]\nmatch = \"{}\"\ndepth = 2\nexclude = [\"/skip\"]\ntags = {{ set = \"a\" }}\n\
         [[site]]\nmatch = [\"{}\", \"*.example.org\"]\nlimit = 3\ndelay = \"20ms\"\n",
        host(&one),
        host(&two)
    );
    sandbox.write("crawl.toml", config);
    let line = format!("{{\"url\": \"{}\", \"depth\": 1, \"tags\": {{\"set\": \"c\"}}}}", three.url("/"));
    let seeds = [one.url("/"), two.url("/"), line];
    let done = run(&mut sandbox.crawl(&seeds, &["-o", "out.jsonl", "--config", "crawl.toml"])).expect(0);
    let records = sandbox.records("out.jsonl");
    assert_eq!(paths(&records, &one), ["/", "/1", "/2"].map(str::to_owned).into(), "depth 2, without /skip");
    assert_eq!(paths(&records, &two).len(), 3, "a limit of 3");
    assert_eq!(paths(&records, &three), ["/", "/1", "/skip"].map(str::to_owned).into(), "depth 1");
    assert!(done.stderr.contains("site_limit"), "{}", done.stderr);
    for record in &records {
        let url = record["url"].as_str().unwrap();
        let tags = record["metadata"]["tags"].as_str();
        let expected = match () {
            () if url.starts_with(&one.url("")) => Some(r#"{"set":"a"}"#),
            () if url.starts_with(&three.url("")) => Some(r#"{"set":"c"}"#),
            () => None,
        };
        assert_eq!(tags, expected, "{url}");
    }
}

/// Schedules of a table and of a seed line are those of the next round and of the status.
#[test]
fn the_status_has_the_schedules_of_sites() {
    let [one, two, three] = [(); 3].map(|()| Server::start(0, chain).unwrap());
    let sandbox = Sandbox::new();
    let hosts = [&one, &two].map(|server| server.address().to_string());
    sandbox.write(
        "crawl.toml",
        format!(
            "[[site]]\nmatch = \"{}\"\nmin_age = \"1ms\"\nmax_age = \"1ms\"\n\
             [[site]]\nmatch = \"{}\"\ntags = {{ set = \"b\" }}\n",
            hosts[0], hosts[1]
        ),
    );
    let line = format!("{{\"url\": \"{}\", \"min_age\": \"72h\", \"depth\": 1}}", three.url("/"));
    let seeds = [one.url("/"), two.url("/"), line];
    let crawl = || run(&mut sandbox.crawl(&seeds, &["-o", "out.jsonl", "--config", "crawl.toml"])).expect(0);
    crawl();
    let status = |more: &[&str]| {
        let named = ["status", "--state-dir", "state", "--seed", "seeds.txt", "--config", "crawl.toml"];
        run(sandbox.bare().args(named).args(more)).expect(0).stdout
    };
    let visits = &serde_json::from_str::<Value>(&status(&["--json"])).unwrap()["nextVisits"];
    let [line, table] = &visits["sites"].as_array().unwrap()[..] else { panic!("{visits}") };
    assert_eq!(
        (&line["match"][0], &line["minAgeSeconds"]),
        (&three.address().to_string().into(), &259_200.into())
    );
    assert_eq!((&line["now"], &line["week"]), (&0.into(), &3.into()), "{visits}");
    assert_eq!(
        (&table["match"][0], &table["now"], &table["next"]),
        (&hosts[0].clone().into(), &11.into(), &Value::Null)
    );
    assert_eq!(
        (&visits["now"], &visits["day"], &visits["week"]),
        (&11.into(), &11.into(), &3.into()),
        "{visits}"
    );
    let words = status(&[]);
    for part in [" (min_age 72h): 0 URLs are due now", ": 11 URLs are due now, 0 within a day"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(status(&["--hosts", "1"]).contains("and 1 more with a schedule"));
    // the next round visits the pages that are due, and the seeds
    let asked = |server: &Server| server.requests().iter().filter(|r| r.path() != "/robots.txt").count();
    let before = [&one, &two, &three].map(asked);
    crawl();
    let after = [&one, &two, &three].map(asked);
    assert_eq!([0, 1, 2].map(|n| after[n] - before[n]), [11, 1, 1]);
}

/// Links and rules of one site; the other site keeps those of the run.
#[test]
fn site_specific_link_and_text_rules_apply() {
    let [one, two] = [(); 2].map(|()| Server::start(0, linked).unwrap());
    let sandbox = Sandbox::new();
    let rules = format!(
        "[[site]]\nmatch = \"{}\"\n[[site.template]]\ncontent = [\"article\"]\ndrop = [\".aside\"]\n",
        one.address().ip()
    );
    fs::create_dir(sandbox.path("rules")).unwrap();
    sandbox.write("rules/sites.toml", rules);
    let config = format!("[[site]]\nmatch = \"{}\"\nlinks = \"strip\"\nrules = \"rules\"\n", one.address());
    sandbox.write("crawl.toml", config);
    let seeds = [one.url("/"), two.url("/")];
    run(&mut sandbox.crawl(&seeds, &["-o", "out.jsonl", "--config", "crawl.toml", "--depth", "0"])).expect(0);
    let records = sandbox.records("out.jsonl");
    let text = |server: &Server| {
        let found = records.iter().find(|record| record["url"] == server.url("/"));
        found.unwrap_or_else(|| panic!("{records:?}"))["text"].as_str().unwrap().to_owned()
    };
    let [own, common] = [text(&one), text(&two)];
    assert!(
        own.contains("the harbour plan") && !own.contains("](") && !own.contains("Second notice"),
        "{own}"
    );
    assert!(common.contains("[the harbour plan](") && common.contains("Second notice"), "{common}");
    for (table, why) in [("links = \"bold\"", "links: "), ("rules = \"nowhere\"", "nowhere")] {
        sandbox.write("crawl.toml", format!("[[site]]\nmatch = \"*\"\n{table}\n"));
        let mut crawl = sandbox.crawl(&seeds, &["-o", "out.jsonl", "--config", "crawl.toml"]);
        let told = run(&mut crawl).expect(2).stderr;
        assert!(told.contains(why), "{table}: {told}");
    }
}

#[test]
fn site_table_and_seed_errors_name_their_line() {
    let sandbox = Sandbox::new();
    for (table, why) in [
        ("[[site]]\ndepth = 1\n", "crawl.toml:1: site: match is missing"),
        ("[[site]]\nmatch = \"a.test\"\ndept = 1\n", "did you mean \"depth\"?"),
        ("[[site]]\nmatch = \"a.test/x\"\n", "\"a.test/x\" is no host"),
        ("[[site]]\nmatch = \"a.test\"\ndelay = \"soon\"\n", "delay: \"soon\" is not a duration"),
        ("[[site]]\nmatch = \"a.test\"\nheaders = { a = \"b\" }\n", "are entries of fetch.auth"),
        ("[site]\nmatch = \"a.test\"\n", "write [[site]] above"),
    ] {
        sandbox.write("crawl.toml", table);
        let told = run(sandbox.bare().args(["check", "config", "crawl.toml"])).expect(2).stderr;
        assert!(told.contains(why), "{table}: {told}");
    }
    let seeds = [r#"{"url": "http://127.0.0.1:9/", "dept": 1}"#.to_owned()];
    let told = run(&mut sandbox.crawl(&seeds, &[])).expect(2).stderr;
    assert!(
        told.contains("line 1: ") && told.contains("unknown key \"dept\"; did you mean \"depth\"?"),
        "{told}"
    );
}

/// A bearer token, a header and cookies go to their origin alone: neither across a redirect, nor into archive, log, state or report.
#[test]
fn site_credentials_are_sent_only_to_their_origin() {
    let other = Server::start(0, chain).unwrap();
    let elsewhere = other.url("/1");
    let handler = move |request: &Request| match request.path() {
        "/" => page("/", &["/2", "/away"]),
        "/away" => Response::redirect(302, &elsewhere),
        "/robots.txt" => Response::status(404),
        path => page(path, &[]),
    };
    let server = Server::start(0, handler).unwrap();
    let (site, sandbox) = (server.url(""), Sandbox::new());
    sandbox.write("token", "s3cret-token\n");
    sandbox.write(
        "cookies.txt",
        "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\ts3cret-cookie\n",
    );
    let entries = [
        "token_file = \"token\"",
        "header = \"X-Api-Key\", value_env = \"API_KEY\"",
        "cookies_file = \"cookies.txt\"",
    ];
    let entries = entries.map(|entry| format!("{{ site = \"{site}\", {entry} }}"));
    sandbox.write("crawl.toml", format!("[fetch]\nauth = [{}]\n", entries.join(", ")));
    let flags = [
        "-o",
        "out.jsonl",
        "--config",
        "crawl.toml",
        "--warc",
        "archive",
        "--scope",
        "any",
        "--log-level",
        "debug",
    ];
    let mut crawl = sandbox.crawl(&[server.url("/")], &flags);
    let done = run(crawl.env("API_KEY", "s3cret-header")).expect(0);
    let sent = |request: &Request| {
        ["authorization", "x-api-key", "cookie"].map(|name| request.header(name).map(str::to_owned))
    };
    let expected =
        ["Bearer s3cret-token", "s3cret-header", "sid=s3cret-cookie"].map(|text| Some(text.to_owned()));
    assert!(server.requests().iter().all(|request| sent(request) == expected), "{:?}", server.requests());
    assert!(!other.requests().is_empty(), "the redirect was followed");
    assert!(other.requests().iter().all(|request| sent(request) == [None, None, None]));
    assert!(!done.stderr.contains("s3cret") && !done.stdout.contains("s3cret"), "{}", done.stderr);
    let told = run(sandbox.bare().args(["config", "--config", "crawl.toml"])).expect(0).stdout;
    assert!(told.contains("# auth is set and not shown"), "{told}");
    for folder in ["archive", "state"] {
        for file in fs::read_dir(sandbox.path(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            let bytes = fs::read(&file).unwrap_or_default();
            let mut plain = Vec::new();
            // files of the archive are gzip members
            let _ = flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain);
            for text in [bytes, plain] {
                assert!(!text.windows(6).any(|part| part == b"s3cret"), "{}", file.display());
            }
        }
    }
}

/// Failed URLs name the page that links to them; the target of a redirect names that of its source.
#[test]
fn failed_urls_name_the_page_that_links_there() {
    let handler = |request: &Request| match request.path() {
        "/" => page("/", &["/list"]),
        "/list" => page("/list", &["/missing", "/moved"]),
        "/moved" => Response::redirect(301, "/nowhere"),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/"), server.url("/seed")], &["-o", "out.jsonl"])).expect(0);
    let found_on = |path: &str| {
        let errors = sandbox.errors();
        let line = errors
            .iter()
            .find(|line| line["url"] == server.url(path))
            .unwrap_or_else(|| panic!("{errors:?}"));
        line["foundOn"].clone()
    };
    assert_eq!(found_on("/missing"), server.url("/list"));
    assert_eq!(found_on("/nowhere"), server.url("/list"));
    assert_eq!(found_on("/seed"), Value::Null);
}

/// Exit code and last success are in the file of metrics once the run has ended.
#[test]
fn metrics_have_exit_code_last_success_and_busiest_hosts() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    let crawl = |seed: String, code: i32| {
        run(&mut sandbox.crawl(&[seed], &["-o", "out.jsonl", "--metrics-textfile", "crawl.prom"]))
            .expect(code);
        sandbox.read("crawl.prom")
    };
    let value = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned))
    };
    let first = crawl(server.url("/"), 0);
    assert_eq!(value(&first, "crawl_exit_code").as_deref(), Some("0"));
    let success = value(&first, "crawl_last_success_timestamp_seconds").unwrap();
    let host = format!("crawl_host_records{{host=\"{}\"}}", server.address());
    assert_eq!(value(&first, &host).unwrap(), sandbox.records("out.jsonl").len().to_string());
    // a failed run keeps the time of the last success
    fs::remove_file(sandbox.path("out.jsonl")).unwrap();
    drop(server);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failed = crawl(format!("http://{closed}/"), 4);
    assert_eq!(value(&failed, "crawl_exit_code").as_deref(), Some("4"));
    assert_eq!(value(&failed, "crawl_last_success_timestamp_seconds"), Some(success));
}

#[test]
fn user_agent_names_product_info_url_and_contact() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    let named = "[fetch]\nproduct = \"GullBot\"\ninfo_url = \"https://gull.example/bot\"\n";
    sandbox.write("crawl.toml", named);
    let flags = ["--depth", "0", "--config", "crawl.toml", "--contact", "me@gull.example"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let agent = format!("GullBot/{} (+https://gull.example/bot; me@gull.example)", env!("CARGO_PKG_VERSION"));
    assert!(server.requests().iter().all(|request| request.header("user-agent") == Some(&agent)));
    sandbox.write("crawl.toml", "[fetch]\nproduct = \"Gull Bot/1\"\ninfo_url = \"gull\"\n");
    let told = run(sandbox.bare().args(["check", "config", "crawl.toml"])).expect(2).stderr;
    assert!(told.contains("is no product token") && told.contains("is no URL of a page"), "{told}");
}

#[test]
fn public_crawl_without_a_contact_warns() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    let port = server.address().port();
    let resolve = format!("public.net:{port}:127.0.0.1");
    let told = |flags: &[&str]| {
        let flags = [&["--depth", "0", "--fresh", "--resolve", &resolve], flags].concat();
        run(&mut sandbox.crawl(&[format!("http://public.net:{port}/")], &flags)).expect(0).stderr
    };
    assert!(told(&[]).contains("site owners cannot reach you"));
    assert!(!told(&["--contact", "me@gull.example"]).contains("cannot reach you"));
    let local = run(&mut sandbox.crawl(&[server.url("/")], &["--depth", "0", "--fresh"])).expect(0).stderr;
    assert!(!local.contains("cannot reach you"), "{local}");
}

/// Names of outputs with a date, six keys, and names of other formats.
#[test]
fn outputs_are_named_by_date_and_may_be_lean() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "pages-%Y-%m-%d.jsonl", "--lean", "--limit", "3"]))
        .expect(5);
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "pages-%Y-%m-%d.jsonl", "--lean"])).expect(0);
    let names: Vec<String> = fs::read_dir(sandbox.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("pages-"))
        .collect();
    assert_eq!(names.len(), 1, "a resumed round keeps its file: {names:?}");
    assert!(names[0].starts_with("pages-20") && names[0].ends_with(".jsonl"), "{names:?}");
    let lines = run::lines(&sandbox.read(&names[0]));
    assert_eq!(lines.len(), 11);
    for line in &lines {
        let keys: BTreeSet<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["id", "language", "published", "text", "title", "url"].into());
    }
    for (name, why) in [("a.csv", "no format has the ending \".csv\""), ("a%.jsonl", "a percent sign %%")] {
        let other = Sandbox::new();
        let told = run(&mut other.crawl(&[server.url("/")], &["-o", name])).expect(2).stderr;
        assert!(told.contains(why) && !other.path("state").exists(), "{told}");
    }
}

/// Files of a maximum size hold each record once, over a limit and a round.
#[test]
fn outputs_rotate_by_size() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    let crawl = |limit: Option<&str>| {
        let flags: Vec<&str> = ["-o", "out.jsonl", "--no-dedup"]
            .into_iter()
            .chain(limit.into_iter().flat_map(|n| ["--limit", n]))
            .collect();
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        command.env("CRAWL_OUTPUT_MAX_FILE", "2 KiB").env("CRAWL_OUTPUT_BATCH", "1");
        command
    };
    run(&mut crawl(Some("4"))).expect(5);
    run(&mut crawl(None)).expect(0);
    let files: Vec<String> = fs::read_dir(sandbox.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("out"))
        .collect();
    assert!(files.len() > 3 && files.contains(&"out-2.jsonl".to_owned()), "{files:?}");
    let records: Vec<Value> = files.iter().flat_map(|name| sandbox.records(name)).collect();
    assert!(run::url_counts(&records).values().all(|n| *n == 1) && records.len() == 11, "{}", records.len());
    let mut replacing = sandbox.crawl(&[server.url("/")], &["-O", "other.jsonl"]);
    let told = run(replacing.env("CRAWL_OUTPUT_MAX_FILE", "2 KiB")).expect(2).stderr;
    assert!(told.contains("output.max_file: only a file of -o"), "{told}");
}

/// The end of a round leaves tables alone, none of them with its `.part`.
#[test]
fn tables_rotate_by_size() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    let crawl = |limit: &[&str]| {
        let flags = [&["-o", "out.parquet", "--no-dedup"], limit].concat();
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        command.env("CRAWL_OUTPUT_MAX_FILE", "1500 B").env("CRAWL_OUTPUT_BATCH", "1");
        run(&mut command)
    };
    crawl(&["--limit", "8"]).expect(5);
    // what a kill between two files leaves: the journal of a table that has all of its records
    let last = (2..9).find(|n| sandbox.path(&format!("out-{n}.parquet.part")).exists()).unwrap();
    assert!(last > 2, "the end of a round looks at the first table");
    let complete = format!("out-{}.parquet", last - 1);
    let table = crawl_archive::ParquetFile::open(fs::File::open(sandbox.path(&complete)).unwrap()).unwrap();
    let head = format!("{{\"journal\":\"{}\",\"replaces\":false}}\n", table.note("crawl.journal").unwrap());
    sandbox.write(&format!("{complete}.part"), zstd::encode_all(head.as_bytes(), 1).unwrap());
    crawl(&[]).expect(0);
    let names = fs::read_dir(sandbox.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("out")).collect();
    files.sort();
    assert!(files.len() > 2 && files.iter().all(|name| name.ends_with(".parquet")), "{files:?}");
    let rows = |name: &String| {
        crawl_archive::ParquetFile::open(fs::File::open(sandbox.path(name)).unwrap()).unwrap().rows()
    };
    assert_eq!(files.iter().map(rows).sum::<u64>(), 11, "{files:?}");
}

/// The summary names the next step, and the report has the command without secrets.
#[test]
fn summary_and_report_name_the_next_step_and_the_command() {
    let (server, sandbox) = (Server::start(0, chain).unwrap(), Sandbox::new());
    let flags = ["-o", "out.jsonl", "--limit", "3", "--header", "X-Key: s3cret"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(5);
    assert!(done.stderr.contains("  next       the same command continues with "), "{}", done.stderr);
    let done = run(&mut sandbox.crawl(&[server.url("/"), server.url("/x")], &["-o", "out.jsonl"])).expect(0);
    assert!(done.stderr.contains("  next       the same command visits due pages"), "{}", done.stderr);
    let mut relative = sandbox.bare();
    relative.args([
        &server.url("/"),
        "-o",
        "other.jsonl",
        "--state-dir",
        "beside",
        "--allow-address",
        "127.0.0.0/8",
    ]);
    let done = run(relative.args(["--delay", "0s", "--limit", "1"])).expect(5);
    let page = fs::canonicalize(sandbox.path("beside")).unwrap().join("report.html");
    assert!(done.stderr.contains(&format!("  report     {}", page.display())), "{}", done.stderr);
    let report: Value = serde_json::from_str(&sandbox.read("state/report.json")).unwrap();
    assert!(report["command"].as_str().unwrap().starts_with("crawl --seed "), "{report}");
    assert_eq!(report["hosts"][0]["host"], server.address().to_string());
    assert!(
        report["output"].as_str().unwrap().ends_with("out.jsonl") && !report.to_string().contains("s3cret")
    );
}

#[test]
fn invalid_user_agent_exits_with_2() {
    let sandbox = Sandbox::new();
    for (flag, key) in [("--user-agent", "fetch.user_agent"), ("--contact", "fetch.contact")] {
        let crawl = || sandbox.crawl(&["http://127.0.0.1:9/".into()], &[flag, "bot\nX-Evil: 1"]);
        let done = run(&mut crawl()).expect(2);
        assert!(done.stderr.contains(&format!("{flag}: {key}: must be one line")), "{}", done.stderr);
        assert!(!sandbox.path("state").exists(), "nothing was begun");
        let crawl = || sandbox.crawl(&["http://127.0.0.1:9/".into()], &[flag, "Zuse-Über/1"]);
        let done = run(&mut crawl()).expect(2);
        assert!(done.stderr.contains("has the character \"Ü\""), "{}", done.stderr);
    }
}
