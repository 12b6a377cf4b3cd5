//! Pages that one plain request does not bring: AMP, a mobile client, and a real Chromium. Where there is no Chromium the tests that
//! need one are skipped, with a line that says so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail the test that uses them, and say when it is skipped"
)]

#[path = "support/run.rs"]
mod run;
mod support;

use run::{Run, Sandbox, eventually, lines, record, run, url_counts};
use serde_json::Value;
use std::{collections::BTreeSet, fs, process::Command};
use support::server::{Request, Response, Server};

/// A page that a script fills with the text of `/api/…`.
const SHELL: &str = "<!doctype html><html><head><title>Harbour log</title></head><body><div id=root></div>\
                     <script src=/app.js></script></body></html>";
const APP: &str = "fetch('/api' + location.pathname).then(r => r.text()).then(text => {\
                   document.getElementById('root').innerHTML = '<main><article><h1>Log</h1>' + text + '</article></main>' })";

/// Sentences about something, each different.
fn prose(about: &str, sentences: usize) -> String {
    let one = |n| {
        format!("<p>Entry {n} of {about}: the keeper wrote down wind and water at hour {n} as always.</p>")
    };
    (0..sentences).map(one).collect()
}

fn article(title: &str, text: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><title>{title}</title></head><body><article><h1>{title}</h1>{text}</article></body></html>"
    )
}

fn index(targets: &[&str]) -> Response {
    let links: String = targets.iter().map(|t| format!("<li><a href='{t}'>{t}</a></li>")).collect();
    Response::html(article("Index", &format!("{}<ul>{links}</ul>", prose("the index", 20))))
}

fn is_mobile(request: &Request) -> bool {
    request.header("sec-ch-ua-mobile") == Some("?1")
}

fn is_browser(request: &Request) -> bool {
    request.header("user-agent").is_some_and(|agent| agent.contains("Chrome/")) && !is_mobile(request)
}

/// What every site here has: the script, and what it asks for.
fn common(request: &Request) -> Response {
    match request.path() {
        "/app.js" => Response::new(200, "text/javascript", APP),
        path if path.starts_with("/api/") => Response::html(prose(&path[5..], 20)),
        _ => Response::status(404),
    }
}

fn there_is_a_browser() -> bool {
    let found = crawl_chrome::find_browser(None);
    if let Err(error) = &found {
        println!("skipped: {error}");
    }
    found.is_ok()
}

fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> Command {
    let flags = [&["-O", "out.jsonl", "--chrome-no-sandbox"], flags].concat();
    let mut command = sandbox.crawl(&[server.url("/")], &flags);
    // a busy machine is no reason to take what is there
    command.env("CRAWL_CHROME_SETTLE", "30s").env("CRAWL_CHROME_NAVIGATE", "30s");
    command
}

fn finished(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> (Vec<Value>, String) {
    let done = run(&mut crawl(sandbox, server, flags)).expect(0);
    (sandbox.records("out.jsonl"), done.stderr)
}

fn tried(record: &Value) -> Vec<(&str, Option<&str>)> {
    let attempts = record["metadata"]["attempts"].as_array().unwrap();
    attempts.iter().map(|a| (a["strategy"].as_str().unwrap(), a["error"].as_str())).collect()
}

fn strategy(record: &Value) -> &str {
    record["metadata"]["strategy"].as_str().unwrap()
}

fn warns(record: &Value, warning: &str) -> bool {
    record["warnings"].as_array().unwrap().iter().any(|w| w == warning)
}

fn navigations(server: &Server, path: &str) -> usize {
    server.requests().iter().filter(|r| r.path() == path && is_browser(r)).count()
}

/// One site with a page for each way, and those where a way leads nowhere.
fn harbour(request: &Request) -> Response {
    let amp = |target: &str| SHELL.replace("<head>", &format!("<head><link rel=amphtml href={target}>"));
    match request.path() {
        "/" => index(&["/shell", "/story", "/thin", "/short", "/tiny", "/moves", "/routed", "/barred", "/refused", "/hidden", "/strict"]),
        "/shell" => Response::html(SHELL.replace("</body>", "<script>setTimeout(() => { const a = document.createElement('a'); a.href = '/found'; a.textContent = 'more'; document.body.append(a) }, 50)</script></body>")),
        "/found" => Response::html(article("Found", &prose("what only a script links to", 20))),
        "/story" => Response::html(amp("/story.amp")),
        "/story.amp" => Response::html(article("Story", &prose("the story", 20))),
        "/thin" => Response::html(amp("/thin.amp")),
        "/thin.amp" => Response::html(article("Thin", "<p>Read it in the app.</p>")),
        "/short" if is_mobile(request) => Response::html(article("Short", &prose("the short page", 20))),
        // enough words for a page, of which none is content
        "/short" => Response::html(format!("<title>Short</title><body><form>{}</form></body>", "<label>Pick one of these options here</label> ".repeat(10))),
        "/tiny" => Response::html("<title>Tiny</title><body><p>Closed for the winter.</p></body>"),
        "/moves" => Response::html(SHELL.replace("<script src=/app.js>", "<script>location.replace('/moved')</script><script src=/app.js>")),
        "/moved" => Response::html(article("Moved", &prose("where the script led", 20))),
        "/routed" => Response::html(SHELL.replace("<script src=/app.js>", "<script>addEventListener('load', () => history.pushState(0, 0, '/somewhere/else'))</script><script src=/app.js>")),
        "/barred" if is_browser(request) => Response::status(403),
        "/barred" => Response::html(SHELL.replace("<div id=root></div>", "<div id=root><p>Loading the tide tables of the harbour, please wait.</p></div>")),
        "/refused" => Response::html(amp("http://127.0.0.2:9/elsewhere")),
        // its script takes back what the page says to robots, and links to a page
        "/strict" => Response::html(SHELL.replace("<head>", "<head><meta name=robots content=nofollow>").replace("</body>", "<script>document.querySelector('meta').remove(); const a = document.createElement('a'); a.href = '/kept'; a.textContent = 'more'; document.body.append(a)</script></body>")),
        "/kept" => Response::html(article("Kept", &prose("what no robot is led to", 20))),
        "/hidden" => Response::html(SHELL.replace("</body>", "<script>const m = document.createElement('meta'); m.name = 'robots'; m.content = 'noindex'; document.head.append(m)</script></body>")),
        _ => common(request),
    }
}

#[test]
fn each_page_is_had_in_the_way_it_needs() {
    if !there_is_a_browser() {
        return;
    }
    let (server, sandbox) = (Server::start(0, harbour).unwrap(), Sandbox::new());
    let (records, summary) = finished(&sandbox, &server, &[]);
    let of = |path: &str| record(&records, &server.url(path));
    let text = |path: &str| of(path)["text"].as_str().unwrap();
    for (path, by, words) in [
        ("/", "static", "Entry 7 of the index"),
        ("/shell", "chrome", "Entry 7 of shell"),
        ("/found", "static", "Entry 7 of what only a script links to"),
        ("/story", "amp", "Entry 7 of the story"),
        ("/thin", "chrome", "Entry 7 of thin"),
        ("/short", "mobile", "Entry 7 of the short page"),
        ("/moved", "static", "Entry 7 of where the script led"),
        ("/routed", "chrome", "Entry 7 of routed"),
        ("/refused", "chrome", "Entry 7 of refused"),
        ("/tiny", "static_best_effort", "Closed for the winter."),
    ] {
        assert_eq!(strategy(of(path)), by, "{path}: {:#}", of(path)["metadata"]["attempts"]);
        assert!(text(path).contains(words), "{path}: {}", text(path));
    }
    assert_eq!(tried(of("/shell")), [("static", None), ("chrome", None)]);
    assert_eq!(tried(of("/thin")), [("static", None), ("amp", None), ("chrome", None)]);
    assert_eq!(of("/shell")["metadata"]["pageType"], "js_spa");
    assert!(of("/shell")["warnings"].as_array().unwrap().is_empty(), "{}", of("/shell")["warnings"]);
    assert!(warns(of("/tiny"), "partial_content") && !warns(of("/tiny"), "needs_browser"));
    assert_eq!(of("/story")["metadata"]["sourceURL"], server.url("/story"));
    assert_eq!(navigations(&server, "/story"), 0, "AMP was enough");
    // what a browser was refused, or led away from, keeps its static words and says so
    assert_eq!(strategy(of("/barred")), "static_best_effort");
    assert_eq!(tried(of("/barred")), [("static", None), ("chrome", Some("http_status"))]);
    assert!(text("/barred").contains("Loading the tide tables"));
    assert!(warns(of("/barred"), "needs_browser") && warns(of("/barred"), "partial_content"));
    assert_eq!(tried(of("/moves")), [("static", None), ("chrome", Some("navigation"))]);
    // robots hold for what a script says, too
    assert!(!url_counts(&records).contains_key(&server.url("/hidden")));
    assert_eq!(strategy(of("/strict")), "chrome");
    assert_eq!(server.requests().iter().filter(|r| r.path() == "/kept").count(), 0);
    assert!(url_counts(&records).values().all(|n| *n == 1));
    assert_eq!(records.len(), 13, "{:?}", url_counts(&records).keys());
    assert!(sandbox.errors().is_empty(), "{:?}", sandbox.errors());
    assert!(
        summary.contains("without its sandbox") && summary.contains("unrendered http_status: 1"),
        "{summary}"
    );
}

#[test]
fn without_a_browser_the_static_words_are_kept_and_the_summary_says_what_to_install() {
    let (server, sandbox) = (Server::start(0, harbour).unwrap(), Sandbox::new());
    let (records, summary) = finished(&sandbox, &server, &["--chrome", "/nonexistent/chrome"]);
    let barred = record(&records, &server.url("/barred"));
    assert_eq!(strategy(barred), "static_best_effort");
    assert_eq!(tried(barred).last(), Some(&("chrome", Some("browser_missing"))));
    assert!(barred["text"].as_str().unwrap().contains("Loading the tide tables"));
    assert!(warns(barred, "needs_browser") && warns(barred, "partial_content"));
    assert_eq!(strategy(record(&records, &server.url("/story"))), "amp");
    assert!(
        summary.contains("browser_missing: ") && summary.contains("apt-get install chromium"),
        "{summary}"
    );
    assert!(url_counts(&records).contains_key(&server.url("/shell")), "recorded all the same");
    assert!(url_counts(&records).values().all(|n| *n == 1));
}

#[test]
fn a_strategy_can_be_forced() {
    let (server, sandbox) = (Server::start(0, harbour).unwrap(), Sandbox::new());
    let by = |name: &str| {
        let (records, _) = finished(
            &sandbox,
            &server,
            &["--fresh", "--strategy", name, "--include", "/(shell|story|short)$"],
        );
        let of = |path: &str| strategy(record(&records, &server.url(path))).to_owned();
        (of("/"), of("/story"), of("/short"))
    };
    let all = |name: &str| (name.to_owned(), name.to_owned(), name.to_owned());
    assert_eq!(by("static"), all("static"));
    assert_eq!(by("mobile"), all("mobile"));
    assert_eq!(by("amp"), ("static".into(), "amp".into(), "static".into()));
    if there_is_a_browser() {
        assert_eq!(by("chrome"), all("chrome"));
        let requests = server.requests();
        let last = requests.iter().rev().find(|r| r.path() == "/story").unwrap();
        assert!(is_browser(last));
    }
}

/// A site of shells, or of shells and pages.
fn many(shells: usize, pages: usize) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    move |request: &Request| match request.path() {
        "/" => {
            let apps = (1..=shells).map(|n| format!("/app/{n}"));
            let docs = (1..=pages).map(|n| format!("/doc/{n}"));
            let mixed = (1..=pages).map(|n| format!("/mix/{n}"));
            let all: Vec<String> = apps.chain(docs).chain(mixed).collect();
            index(&all.iter().map(String::as_str).collect::<Vec<_>>())
        }
        path if path.starts_with("/app/") => Response::html(SHELL),
        // every third page of this form is a shell
        path if path.starts_with("/mix/")
            && path
                .trim_start_matches(|c: char| !c.is_ascii_digit())
                .parse::<usize>()
                .is_ok_and(|n| n % 3 == 0) =>
        {
            Response::html(SHELL)
        }
        path if path.starts_with("/doc/") || path.starts_with("/mix/") => {
            Response::html(article(path, &prose(path, 20)))
        }
        _ => common(request),
    }
}

#[test]
fn a_site_teaches_which_of_its_pages_need_a_browser() {
    if !there_is_a_browser() {
        return;
    }
    let (server, sandbox) = (Server::start(0, many(30, 12)).unwrap(), Sandbox::new());
    let (records, _) = finished(&sandbox, &server, &["--host-concurrency", "4"]);
    assert_eq!(records.len(), 1 + 30 + 24);
    let rendered: Vec<&Value> = records.iter().filter(|r| strategy(r) == "chrome").collect();
    assert_eq!(rendered.len(), 30 + 4);
    assert!(rendered.iter().all(|r| r["text"].as_str().unwrap().contains("Entry 7 of")));
    let requests = server.requests();
    let first = requests.iter().filter(|r| r.path().starts_with("/app/") && !is_browser(r)).count();
    assert!(first <= 5, "{first} shells were fetched statically first");
    // no page with a text of its own goes to the browser because of its neighbours
    let shells = |r: &&Request| {
        r.path().trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().is_ok_and(|n| n % 3 == 0)
    };
    let needless: BTreeSet<&str> = requests
        .iter()
        .filter(|r| {
            is_browser(r) && (r.path().starts_with("/doc/") || (r.path().starts_with("/mix/") && !shells(r)))
        })
        .map(Request::path)
        .collect();
    assert!(needless.is_empty(), "{needless:?}");
    // the next round knows: no shell is fetched statically first
    let before = requests.len();
    finished(&sandbox, &server, &["--host-concurrency", "4"]);
    let again = server.requests().split_off(before);
    assert_eq!(again.iter().filter(|r| r.path().starts_with("/app/") && !is_browser(r)).count(), 0);
}

/// Pages of one form and one program: eight shells, of which the last leads to those that come with their text in the same frame.
fn changing(request: &Request) -> Response {
    let links = |from: usize, to: usize| -> String {
        (from..=to).map(|n| format!("<li><a href=/late/{n}>Log {n}</a></li>")).collect()
    };
    let number = request.path().strip_prefix("/late/").and_then(|n| n.parse::<usize>().ok());
    match (request.path(), number) {
        ("/", _) => Response::html(article("Index", &(prose("the index", 20) + &links(1, 8)))),
        ("/api/late/8", _) => Response::html(prose("late/8", 20) + &format!("<nav>{}</nav>", links(9, 40))),
        (_, Some(1..=8)) => Response::html(SHELL),
        (path, Some(_)) => {
            let text = format!("<main><article><h1>Log</h1>{}</article></main>", prose(&path[1..], 20));
            let root = format!("<div id=root>{text}</div>");
            // its script finds the text there and leaves it as it is
            Response::html(SHELL.replace("<div id=root></div>", &root).replace("/app.js", "/hydrate.js"))
        }
        ("/hydrate.js", _) => {
            Response::new(200, "text/javascript", "document.getElementById('root').dataset.on = 1")
        }
        _ => common(request),
    }
}

#[test]
fn a_page_with_a_text_of_its_own_is_static_whatever_its_neighbours_need() {
    if !there_is_a_browser() {
        return;
    }
    let (server, sandbox) = (Server::start(0, changing).unwrap(), Sandbox::new());
    let (records, _) = finished(&sandbox, &server, &["--host-concurrency", "4"]);
    assert_eq!(records.len(), 41);
    let number = |url: &str| url.rsplit('/').next().unwrap().parse::<usize>().unwrap_or(0);
    let of = |r: &Value| number(r["metadata"]["sourceURL"].as_str().unwrap());
    for record in &records {
        let expected = if (1..=8).contains(&of(record)) { "chrome" } else { "static" };
        assert_eq!(strategy(record), expected, "{}: {:#}", of(record), record["metadata"]["attempts"]);
        assert_eq!(tried(record).last(), Some(&(expected, None)));
        let about = if of(record) == 0 { "the index".into() } else { format!("late/{}", of(record)) };
        let text = record["text"].as_str().unwrap();
        assert!(text.contains(&format!("Entry 7 of {about}:")), "{}: {text}", of(record));
    }
    // the first of them, and those on their way beside it, at most
    let requests = server.requests();
    let shown: BTreeSet<usize> =
        requests.iter().filter(|r| is_browser(r)).map(|r| number(r.path())).filter(|n| *n > 8).collect();
    assert!(shown.len() <= 4, "{shown:?} were asked for by the browser");
}

/// Processes of browsers that a crawl has started, by the process group that is their own.
fn browsers_of(crawl: u32) -> Vec<u32> {
    let children = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let (state, parent) = (*fields.first()?, fields.get(1)?.parse::<u32>().ok()?);
        (parent == crawl && state != "Z").then_some(pid)
    });
    children.collect()
}

/// Whether any process of a group is left that is not a zombie.
fn is_alive(group: u32) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { return false };
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        fields.get(2).is_some_and(|g| g.parse() == Ok(group)) && fields.first() != Some(&"Z")
    })
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// Waits until a crawl has a page in its browser, and gives the browser's process.
fn rendering(server: &Server, crawl: &Run) -> u32 {
    eventually("pages are rendered", || {
        server.requests().iter().filter(|r| r.path().starts_with("/api/")).count() >= 3
    });
    *browsers_of(crawl.id()).first().unwrap()
}

#[test]
fn a_browser_that_is_killed_costs_no_page() {
    if !there_is_a_browser() {
        return;
    }
    let (server, sandbox) = (Server::start(0, many(20, 0)).unwrap(), Sandbox::new());
    let crawl = Run::start(&mut crawl(&sandbox, &server, &["--host-concurrency", "4"]));
    kill(rendering(&server, &crawl));
    crawl.wait().expect(0);
    let (records, errors) = (sandbox.records("out.jsonl"), sandbox.errors());
    let mut ends = url_counts(&records);
    for error in &errors {
        *ends.entry(error["url"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(ends.len(), 21);
    assert!(ends.values().all(|n| *n == 1), "{ends:?}");
    let rendered = records.iter().filter(|r| strategy(r) == "chrome").count();
    assert!(rendered >= 18, "{rendered} pages rendered: {errors:?}");
}

#[test]
fn a_crawl_that_is_killed_leaves_no_browser_and_loses_no_page() {
    if !there_is_a_browser() {
        return;
    }
    let (server, sandbox) = (Server::start(0, many(16, 0)).unwrap(), Sandbox::new());
    let first = Run::start(&mut crawl(&sandbox, &server, &["--host-concurrency", "4"]));
    let browser = rendering(&server, &first);
    assert!(is_alive(browser));
    first.kill();
    eventually("no process of the browser is left", || !is_alive(browser));
    let (records, _) = finished(&sandbox, &server, &["--host-concurrency", "4"]);
    let counts = url_counts(&records);
    assert_eq!(counts.len(), 17, "{counts:?}");
    assert!(counts.values().all(|n| *n == 1), "{counts:?}");
    assert_eq!(records.iter().filter(|r| strategy(r) == "chrome").count(), 16);
    assert!(lines(&fs::read_to_string(sandbox.path("state/errors.jsonl")).unwrap()).is_empty());
}

/// Pages of one form that only a mobile client is given, and that say the same again and again.
fn repeated(request: &Request) -> Response {
    match request.path() {
        "/" => {
            let all: Vec<String> = (1..=60).map(|n| format!("/again/{n}")).collect();
            index(&all.iter().map(String::as_str).collect::<Vec<_>>())
        }
        path if path.starts_with("/again/") && is_mobile(request) => {
            Response::html(article("Again", &prose("the same", 20)))
        }
        path if path.starts_with("/again/") => Response::html(format!(
            "<title>Again</title><body><form>{}</form></body>",
            "<label>Pick one of these options here</label> ".repeat(10)
        )),
        _ => common(request),
    }
}

#[test]
fn what_a_form_has_taught_does_not_pay_for_a_trap() {
    let (server, sandbox) = (Server::start(0, repeated).unwrap(), Sandbox::new());
    let mut command = crawl(&sandbox, &server, &["--chrome", "/nonexistent/chrome"]);
    run(command.env("CRAWL_TRAPS_TEMPLATE_CREDIT", "150")).expect(0);
    let errors = sandbox.errors();
    let trapped: BTreeSet<&str> =
        errors.iter().filter(|e| e["kind"] == "trap_template").map(|e| e["url"].as_str().unwrap()).collect();
    assert!(!trapped.is_empty(), "{errors:?}");
    let requests = server.requests();
    let of = |mobile: bool| -> BTreeSet<&str> {
        requests.iter().filter(|r| is_mobile(r) == mobile).map(Request::path).collect()
    };
    assert!(
        of(true).difference(&of(false)).next().is_some(),
        "no page was asked for by a mobile client first"
    );
    let fetched = trapped.iter().filter(|url| requests.iter().any(|r| **url == server.url(r.path()))).count();
    assert_eq!(fetched, 0, "{trapped:?}");
}

/// A site that shows a browser something else than the shell that others get. Its seed leads by script to another host.
fn otherwise(request: &Request) -> Response {
    let here = request.header("host").unwrap_or_default();
    if here.starts_with("127.") && request.path() == "/" {
        let there = here.replace("127.0.0.1", "localhost");
        let leave = format!("<script>location.replace('http://{there}/')</script></body>");
        return Response::html(SHELL.replace("<script src=/app.js></script></body>", &leave));
    }
    match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /private/\n"),
        "/" => index(&["/data", "/file", "/empty", "/redirects", "/leads"]),
        "/data" if is_browser(request) => {
            Response::new(200, "application/json", "{\"words\": \"of a program\"}")
        }
        "/file" if is_browser(request) => {
            Response::html("words").header("Content-Disposition", "attachment; filename=words.html")
        }
        "/empty" if is_browser(request) => Response::status(204),
        "/redirects" if is_browser(request) => Response::redirect(302, "/private/page"),
        "/leads" => Response::html(SHELL.replace(
            "<script src=/app.js>",
            "<script>location.replace('/private/page')</script><script src=/app.js>",
        )),
        "/data" | "/file" | "/empty" | "/redirects" => Response::html(SHELL.replace(
            "<div id=root></div>",
            "<div id=root><p>Loading the tide tables of the harbour, please wait.</p></div>",
        )),
        _ => common(request),
    }
}

#[test]
fn a_browser_goes_no_way_that_was_not_allowed_and_shows_pages_only() {
    if !there_is_a_browser() {
        return;
    }
    let (server, sandbox) = (Server::start(0, otherwise).unwrap(), Sandbox::new());
    let (records, _) = finished(&sandbox, &server, &[]);
    let there = server.url("").replace("127.0.0.1", "localhost");
    let of = |path: &str| record(&records, &format!("{there}{path}"));
    // a seed leads whither it leads
    assert!(of("/")["text"].as_str().unwrap().contains("Entry 7 of the index"));
    for (path, why) in [
        ("/data", "content_type"),
        ("/file", "attachment"),
        ("/empty", "no_content"),
        ("/redirects", "navigation"),
        ("/leads", "navigation"),
    ] {
        assert_eq!(tried(of(path)), [("static", None), ("chrome", Some(why))], "{path}");
    }
    let asked = server.targets();
    assert!(!asked.iter().any(|target| target.starts_with("/private/")), "{asked:?}");
}

/// An AMP page on another origin of the crawl, whose files reserve it.
fn elsewhere(request: &Request) -> Response {
    let here = request.header("host").unwrap_or_default();
    let there = here.replace("127.0.0.1", "localhost");
    match request.path() {
        "/ai.txt" if here.starts_with("localhost") => {
            Response::new(200, "text/plain", "User-agent: *\nDisallow: /kept/\n")
        }
        "/robots.txt" if here.starts_with("localhost") => {
            Response::new(200, "text/plain", "User-agent: *\nDisallow: /closed/\n")
        }
        "/" if here.starts_with("localhost") => index(&[]),
        "/" => index(&["/free", "/kept", "/closed"]),
        "/free" | "/kept" | "/closed" => {
            let link = format!("<head><link rel=amphtml href=http://{there}{}/amp>", request.path());
            Response::html(SHELL.replace("<head>", &link))
        }
        path if path.ends_with("/amp") => Response::html(article("Tides", &prose(path, 20))),
        _ => common(request),
    }
}

#[test]
fn another_origin_is_asked_what_it_reserves_before_its_form_of_a_page() {
    let (server, sandbox) = (Server::start(0, elsewhere).unwrap(), Sandbox::new());
    let seeds = [server.url("/"), server.url("/").replace("127.0.0.1", "localhost")];
    let mut command = sandbox.crawl(&seeds, &["-O", "out.jsonl", "--chrome", "/nonexistent/chrome"]);
    run(command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", "true")).expect(0);
    let records = sandbox.records("out.jsonl");
    assert_eq!(strategy(record(&records, &server.url("/free"))), "amp");
    let closed = record(&records, &server.url("/closed"));
    assert!(tried(closed).contains(&("amp", Some("robots_disallowed"))), "{closed}");
    assert!(!server.targets().contains(&"/closed/amp".to_owned()));
    assert!(!url_counts(&records).contains_key(&server.url("/kept")), "its origin reserves it");
}
