//! Operation of a run: bounds, metrics, status, and retries of failures.

use crate::{
    kills::kill_after,
    run::{PATIENCE, Run, Sandbox, eventually, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
    process::Command,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Blocks answers until it is opened or the test times out.
#[derive(Clone, Default)]
struct Door(Arc<(Mutex<bool>, Condvar)>);

impl Door {
    fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let closed = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_timeout_while(closed, PATIENCE, |open| !*open));
    }
}

/// A tree of 64 pages whose last one is blocked: it alone is that deep, so all others come before it.
fn blocked_tree(door: &Door) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    let (tree, door) = (Tree::of(64), door.clone());
    move |request| {
        if request.path() == Tree::target(64) {
            door.pass();
        }
        tree.answer(request)
    }
}

#[test]
fn run_ends_at_max_time_and_the_next_resumes() {
    let tree = Tree { delay: Duration::from_millis(50), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = |more: &[&str]| sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], more].concat());
    let first = run(&mut crawl(&["--max-time", "1s"])).expect(5);
    assert!(first.stderr.contains("stopped by --max-time"), "{}", first.stderr);
    let written = sandbox.records("out.jsonl").len();
    assert!(written < 60, "one host, one request of 50 ms after the other");
    run(&mut crawl(&[])).expect(0);
    let expected: BTreeMap<String, usize> = tree.targets().iter().map(|t| (server.url(t), 1)).collect();
    assert_eq!(url_counts(&sandbox.records("out.jsonl")), expected);
}

#[test]
fn run_ends_at_max_bytes_and_the_next_resumes() {
    let tree = Tree { filler: 500, ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = |more: &[&str]| sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], more].concat());
    let first = run(&mut crawl(&["--max-bytes", "20KiB"])).expect(5);
    assert!(first.stderr.contains("stopped by --max-bytes"), "{}", first.stderr);
    assert!((1..60).contains(&sandbox.records("out.jsonl").len()), "held pages are written at a bound");
    run(&mut crawl(&[])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 60);
    for bad in ["0s", "soon"] {
        let refused = run(&mut crawl(&["--max-time", bad])).expect(2);
        assert!(refused.stderr.contains("--max-time"), "{}", refused.stderr);
    }
    for bad in ["much", "-1"] {
        run(&mut crawl(&[&format!("--max-bytes={bad}")])).expect(2);
    }
}

fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(path != "/metrics" || head.contains("200 OK"), "{answer}");
    (head.to_owned(), body.to_owned())
}

/// Samples of a text in the format of Prometheus.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let samples =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap());
    samples.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

/// Metrics during the run and in the file at its end: the counts are those of the summary.
#[test]
fn prometheus_metrics_have_the_summary_counts() {
    let door = Door::default();
    let (server, sandbox) = (Server::start(0, blocked_tree(&door)).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--metrics-listen", "127.0.0.1:0", "--metrics-textfile", "crawl.prom"];
    let crawl = Run::start(sandbox.crawl(&[server.url("/")], &flags).env("CRAWL_DEDUP_RELEASE", "settled"));
    let said = || crawl.stderr_so_far();
    eventually("the address is told", || said().contains("/metrics"));
    let text = said();
    let address = text.lines().find_map(|l| l.strip_prefix("metrics at http://")).unwrap();
    let address = address.trim_end_matches("/metrics");
    eventually("63 pages are held, and the last one is asked for", || {
        let now = samples(&get(address, "/metrics").1);
        let of = |state: &str| now.get(&format!("crawl_frontier_urls{{state=\"{state}\"}}")).copied();
        (of("held"), of("in_flight")) == (Some(63.0), Some(1.0))
    });
    let (head, body) = get(address, "/metrics");
    assert!(head.contains("200 OK") && head.contains("text/plain; version=0.0.4"), "{head}");
    let during = samples(&body);
    assert_eq!(during["crawl_pages_total"], 63.0);
    assert_eq!(during["crawl_frontier_urls{state=\"in_flight\"}"], 1.0);
    assert_eq!(during["crawl_responses_total{status=\"200\"}"], 63.0);
    assert_eq!(during["crawl_response_seconds_count"], during["crawl_response_seconds_bucket{le=\"+Inf\"}"]);
    assert!(during["process_resident_memory_bytes"] > 1e6);
    assert!(get(address, "/").0.contains("404"));
    door.open();
    crawl.wait().expect(0);
    let last = samples(&sandbox.read("crawl.prom"));
    assert_eq!(last["crawl_records_total"], 64.0);
    assert_eq!(last["crawl_written_bytes_total"], sandbox.read("out.jsonl").len() as f64);
    assert_eq!(last["crawl_frontier_urls{state=\"held\"}"], 0.0);
    let names: Vec<String> = std::fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!names.iter().any(|name| name.starts_with(".crawl.prom")), "{names:?}");
}

#[test]
fn unusable_metrics_address_prevents_the_run() {
    let (server, sandbox) = (Server::start(0, Tree::of(1).handler()).unwrap(), Sandbox::new());
    let taken = server.address().to_string();
    let crawl = |flag: &str, value: &str| run(&mut sandbox.crawl(&[server.url("/")], &[flag, value]));
    assert!(crawl("--metrics-listen", &taken).expect(2).stderr.contains(&taken));
    assert!(
        crawl("--metrics-textfile", "nowhere/crawl.prom").expect(3).stderr.contains("nowhere/crawl.prom")
    );
    assert!(server.requests().is_empty());
}

fn status(sandbox: &Sandbox, more: &[&str]) -> String {
    run(sandbox.bare().args(["status", "--state-dir", "state"]).args(more)).expect(0).stdout
}

#[test]
fn status_is_shown_during_and_after_a_run() {
    let door = Door::default();
    let (server, sandbox) = (Server::start(0, blocked_tree(&door)).unwrap(), Sandbox::new());
    let mut settled = sandbox.crawl(&[server.url("/"), server.url("/gone")], &["-O", "out.jsonl"]);
    let crawl = Run::start(settled.env("CRAWL_DEDUP_RELEASE", "settled"));
    let seen = || serde_json::from_str::<Value>(&status(&sandbox, &["--json"])).unwrap();
    let asked = || run(sandbox.bare().args(["status", "--state-dir", "state"]));
    eventually("there is a state", || asked().code() == 0);
    // the crawl commits in groups: the last page's lease comes with a later one
    eventually("63 pages are held", || seen()["frontier"]["held"] == 63);
    let now = seen();
    assert_eq!(now["running"]["pid"], crawl.id());
    assert_eq!(now["running"]["command"], "crawl", "{now}");
    assert_eq!((&now["round"], &now["finished"]), (&1.into(), &false.into()));
    assert_eq!(now["hosts"][0]["held"], 63);
    assert_eq!(now["hosts"][0]["host"], server.address().to_string());
    let words = status(&sandbox, &[]);
    assert!(words.contains("running: process") && words.contains("63 held"), "{words}");
    assert!(words.contains("(held: its next pages may change their text)"), "{words}");
    door.open();
    crawl.wait().expect(0);
    let after = seen();
    assert_eq!((&after["running"], &after["finished"]), (&Value::Null, &true.into()));
    assert_eq!(after["frontier"]["records"], 64);
    assert_eq!(after["lastErrors"][0]["kind"], "http_status");
    let visits = &after["nextVisits"];
    assert_eq!(
        (&visits["mode"], &visits["now"], &visits["day"]),
        (&"auto".into(), &0.into(), &65.into()),
        "{visits}"
    );
    let all = run(sandbox
        .bare()
        .args(["status", "--state-dir", "state", "--json"])
        .env("CRAWL_RECRAWL_MODE", "all"));
    let all: Value = serde_json::from_str(&all.expect(0).stdout).unwrap();
    assert_eq!((&all["nextVisits"]["now"], &all["nextVisits"]["next"]), (&65.into(), &Value::Null), "{all}");
    let words = status(&sandbox, &[]);
    assert!(words.contains("65 within a day"), "{words}");
    assert!(words.contains("round 1 is complete") && words.contains("/gone"), "{words}");
    let none = run(sandbox.bare().args(["status", "--state-dir", "nowhere"])).expect(2);
    assert!(none.stderr.contains("holds no state"), "{}", none.stderr);
    assert!(run(sandbox.bare().arg("status")).expect(2).stderr.contains("--seed"));
}

/// `crawl retry-errors` with the flags and variables of a crawl.
fn retry(sandbox: &Sandbox, main: &Command) -> Command {
    let mut command = sandbox.bare();
    command.arg("retry-errors").args(main.get_args());
    for (name, value) in main.get_envs().filter(|(name, _)| name.to_string_lossy().starts_with("CRAWL_")) {
        command.env(name, value.unwrap());
    }
    command
}

/// A killed retry has put the failures back, so the round has none; the remaining ones are still fetched.
#[test]
fn killed_retry_resumes() {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let tree = Tree { delay: Duration::from_millis(20), ..Tree::of(40) };
    let links: Vec<String> = (1..=40).map(|n| format!("/p/{n}.html")).collect();
    let handler = move |request: &Request| match request.path() {
        "/" => Response::html(page("the start", &links)),
        _ if is_mended.load(Ordering::Acquire) => tree.answer(request),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let main =
        sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--host-concurrency", "2", "--no-dedup"]);
    let again = || retry(&sandbox, &main);
    run(again().args(["--kind", "nothing"])).expect(2);
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-dedup"])).expect(0);
    mended.store(true, Ordering::Release);
    for _ in 0..2 {
        kill_after(&server, &mut again(), 8);
    }
    // no failure is of this kind, but the round is not finished
    let done = run(again().args(["--kind", "timeout"])).expect(0);
    assert!(!done.stderr.contains("no page failed"), "{}", done.stderr);
    let crawled = url_counts(&sandbox.records("out.jsonl"));
    assert!(crawled.len() == 41 && crawled.values().all(|n| *n == 1), "{crawled:?}");
    assert!(run(&mut again()).expect(0).stderr.contains("no page failed"));
}

#[test]
fn failed_pages_are_fetched_again() {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let handler = move |request: &Request| match request.path() {
        "/" => Response::html(page("the start", &["/a".into(), "/b".into(), "/c".into()])),
        "/a" => Response::html(page("a", &[])),
        "/d" => Response::html(page("d", &[])),
        "/b" if is_mended.load(Ordering::Acquire) => Response::html(page("b, mended", &["/d".into()])),
        "/b" => Response::status(500),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl"];
    let crawl = || sandbox.crawl(&[server.url("/")], &flags);
    let again = |more: &[&str]| run(retry(&sandbox, &crawl()).args(more));
    run(crawl().env("CRAWL_FETCH_RETRIES", "0")).expect(0);
    assert_eq!((sandbox.records("out.jsonl").len(), sandbox.errors().len()), (2, 2));
    mended.store(true, Ordering::Release);
    let mut elsewhere = sandbox.bare();
    elsewhere.args(["retry-errors", &server.url("/"), "--state-dir", "new", "--kind", "http_status"]);
    let elsewhere = run(&mut elsewhere).expect(2);
    assert!(
        elsewhere.stderr.contains("new has no errors.jsonl, the list of failed pages"),
        "{}",
        elsewhere.stderr
    );
    assert!(!sandbox.path("new").exists());
    assert!(again(&["--fresh"]).expect(2).stderr.contains("--fresh"));
    let unknown = again(&["--kind", "dns", "--kind", "foo"]).expect(2);
    assert!(
        unknown.stderr.contains("\"foo\" is not a kind") && unknown.stderr.contains("http_status"),
        "{}",
        unknown.stderr
    );
    // a kill left half a line, which ends in half a character
    let log = sandbox.read("state/errors.jsonl");
    sandbox.write("state/errors.jsonl", [log.as_bytes(), b"{\"message\":\"\xe2\x80"].concat());
    assert!(again(&["--kind", "timeout"]).expect(0).stderr.contains("no page failed as timeout"));
    sandbox.write("state/errors.jsonl", log);
    let before = server.targets().len();
    let done = again(&[]).expect(0);
    assert!(done.stderr.contains("fetching 2 failed URLs again"), "{}", done.stderr);
    let mut asked = server.targets().split_off(before);
    asked.sort();
    assert_eq!(asked, ["/b", "/c", "/d"], "what failed, and what it leads to; nothing else");
    let expected = ["/", "/a", "/b", "/d"].map(|target| (server.url(target), 1));
    assert_eq!(url_counts(&sandbox.records("out.jsonl")), expected.into());
    // the next plain run begins a new round
    run(crawl().args(["--recrawl", "all", "--emit", "all"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 4);
    let words = status(&sandbox, &[]);
    assert!(words.contains("round 2: 4 records"), "{words}");
    // a round of changes has no records of unchanged pages
    run(crawl().args(["--recrawl", "all"])).expect(0);
    let words = status(&sandbox, &[]);
    assert!(words.contains("round 3: 0 records") && words.contains("4 unchanged, 0 gone"), "{words}");
    let counts: Value = serde_json::from_str(&status(&sandbox, &["--json"])).unwrap();
    assert_eq!((&counts["recordsWritten"], &counts["frontier"]["unchanged"]), (&0.into(), &4.into()));
}

/// Data in a report page.
fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("const data = ").unwrap();
    serde_json::Deserializer::from_str(rest).into_iter().next().unwrap().unwrap()
}

#[test]
fn each_run_leaves_a_report() {
    let handler = |request: &Request| match request.path() {
        "/gone</script>" | "/gone%3C/script%3E" => Response::status(404),
        _ => Tree::of(15).answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let seeds = [server.url("/"), server.url("/gone%3C/script%3E")];
    let done = run(&mut sandbox.crawl(&seeds, &["-O", "out.jsonl"])).expect(0);
    assert!(done.stderr.contains("state/report.html"), "{}", done.stderr);
    let page = sandbox.read("state/report.html");
    assert!(!page.contains("http-equiv=\"refresh\"") && page.contains("default-src 'none'"));
    let first = data_of(&page);
    assert_eq!(first["totals"]["records"], 15);
    assert_eq!((&first["exitCode"], &first["statuses"]["200"]), (&0.into(), &15.into()));
    assert_eq!(first["failures"][0]["examples"][0]["url"], seeds[1]);
    assert_eq!(first["hosts"][0]["records"], 15);
    assert_eq!(first["samples"].as_array().unwrap().last().unwrap()["pages"], 15);
    assert_eq!(first["before"], serde_json::json!([]));
    run(&mut sandbox.crawl(&seeds, &["-O", "out.jsonl"])).expect(0);
    let second = data_of(&sandbox.read("state/report.html"));
    assert_eq!(second["before"][0]["records"], 15);
    assert_eq!(second["totals"]["round"], 2);
    let report = |more: &[&str]| run(sandbox.bare().args(["report", "--state-dir", "state"]).args(more));
    report(&["-o", "again.html"]).expect(0);
    assert_eq!(sandbox.read("again.html"), sandbox.read("state/report.html"));
    std::fs::remove_file(sandbox.path("state/report.json")).unwrap();
    assert!(report(&[]).expect(2).stderr.contains("no report"));
    let off = run(sandbox.crawl(&seeds, &["-O", "out.jsonl"]).env("CRAWL_STATE_REPORT", "false")).expect(0);
    assert!(!off.stderr.contains("report.html") && !sandbox.path("state/report.json").exists());
}

#[test]
fn manual_pages_are_written() {
    let sandbox = Sandbox::new();
    run(sandbox.bare().args(["manual", "man"])).expect(0);
    let page = sandbox.read("man/crawl.1");
    assert!(page.starts_with(".ie") && page.contains("max\\-time") && page.contains("Exit codes"), "{page}");
    assert!(sandbox.read("man/crawl-status.1").contains("state\\-dir"));
    let version = run(sandbox.bare().arg("--version")).expect(0).stdout;
    assert!(version.starts_with(&format!("crawl {}", env!("CARGO_PKG_VERSION"))), "{version}");
}

/// A replaced file holds the current state: it keeps unchanged pages, and no run says that it lacks them.
#[test]
fn replaced_file_keeps_all_pages_after_empty_rounds() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let tree = Tree::of(3);
    let handler = move |request: &Request| match up.load(Ordering::Acquire) {
        true => tree.answer(request),
        false => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let crawl = |code| run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(code).stderr;
    crawl(4);
    is_up.store(true, Ordering::Release);
    for _ in 0..2 {
        let notes = crawl(0);
        assert!(!notes.contains("will hold") && !notes.contains("since their last visit"), "{notes}");
        assert_eq!(sandbox.records("out.jsonl").len(), 3);
    }
}

/// A crawl is named as it was begun: by its URL, with or without the flag.
#[test]
fn crawl_state_is_found_by_its_seed() {
    let server = Server::start(0, |_: &Request| Response::html(page("the start", &[]))).unwrap();
    let sandbox = Sandbox::new();
    let (seed, private) = (server.url("/"), ["--allow-address", "127.0.0.0/8"]);
    run(sandbox.bare().arg(&seed).args(["-O", "out.jsonl", "--delay", "0s"]).args(private)).expect(0);
    let flagged = run(sandbox.bare().args(["status", "--seed", &seed, "--json"])).expect(0);
    let status: Value = serde_json::from_str(&flagged.stdout).unwrap();
    assert_eq!(status["frontier"]["records"], 1);
    for job in [&["status"][..], &["report"], &["state", "check"]] {
        run(sandbox.bare().args(job).arg(&seed)).expect(0);
    }
}
