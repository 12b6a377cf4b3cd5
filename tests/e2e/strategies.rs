//! Pages that one plain request does not bring: AMP, a mobile client, and a real Chromium. Tests with
//! Chromium are ignored without it (tests/unavailable).

use crate::{
    run::{Run, Sandbox, eventually, lines, record, run, url_counts},
    scripted::*,
    support::server::{Request, Response, Server},
};
use std::{fs, process::Command};

/// A site with a page for each strategy, and pages where a strategy fails.
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
        // enough words for a page, but no content
        "/short" => Response::html(format!("<title>Short</title><body><form>{}</form></body>", "<label>Pick one of these options here</label> ".repeat(10))),
        "/tiny" => Response::html("<title>Tiny</title><body><p>Closed for the winter.</p></body>"),
        "/moves" => Response::html(SHELL.replace("<script src=/app.js>", "<script>location.replace('/moved')</script><script src=/app.js>")),
        "/moved" => Response::html(article("Moved", &prose("where the script led", 20))),
        "/routed" => Response::html(SHELL.replace("<script src=/app.js>", "<script>addEventListener('load', () => history.pushState(0, 0, '/somewhere/else'))</script><script src=/app.js>")),
        "/barred" if is_browser(request) => Response::status(403),
        "/barred" => Response::html(SHELL.replace("<div id=root></div>", "<div id=root><p>Loading the tide tables of the harbour, please wait.</p></div>")),
        "/refused" => Response::html(amp("http://127.0.0.2:9/elsewhere")),
        // its script removes the page's robots directives, and links to a page
        "/strict" => Response::html(SHELL.replace("<head>", "<head><meta name=robots content=nofollow>").replace("</body>", "<script>document.querySelector('meta').remove(); const a = document.createElement('a'); a.href = '/kept'; a.textContent = 'more'; document.body.append(a)</script></body>")),
        "/kept" => Response::html(article("Kept", &prose("what no robot is led to", 20))),
        "/hidden" => Response::html(SHELL.replace("</body>", "<script>const m = document.createElement('meta'); m.name = 'robots'; m.content = 'noindex'; document.head.append(m)</script></body>")),
        _ => common(request),
    }
}

#[test]
#[ignore = "needs Chromium"]
fn each_page_is_fetched_by_its_strategy() {
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
    // a page that a browser could not load, or was led away from, keeps its static words with a warning
    assert_eq!(strategy(of("/barred")), "static_best_effort");
    assert_eq!(tried(of("/barred")), [("static", None), ("chrome", Some("http_status"))]);
    assert!(text("/barred").contains("Loading the tide tables"));
    assert!(warns(of("/barred"), "needs_browser") && warns(of("/barred"), "partial_content"));
    assert_eq!(tried(of("/moves")), [("static", None), ("chrome", Some("navigation"))]);
    // robots.txt applies to links from scripts, too
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
fn missing_browser_keeps_static_text_and_advises_installation() {
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
#[ignore = "needs Chromium"]
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
    assert_eq!(by("chrome"), all("chrome"));
    let requests = server.requests();
    let last = requests.iter().rev().find(|r| r.path() == "/story").unwrap();
    assert!(is_browser(last));
}

/// Browser processes of a crawl, by their own process group.
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

/// Returns true if a process of a group runs that is not a zombie.
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

/// Waits until a crawl has a page in its browser, and returns the browser's process.
fn rendering(server: &Server, crawl: &Run) -> u32 {
    eventually("pages are rendered", || {
        server.requests().iter().filter(|r| r.path().starts_with("/api/")).count() >= 3
    });
    *browsers_of(crawl.id()).first().unwrap()
}

#[test]
#[ignore = "needs Chromium"]
fn a_browser_that_is_killed_costs_no_page() {
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
#[ignore = "needs Chromium"]
fn killed_crawl_leaves_no_browser_and_loses_no_page() {
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

/// A site that serves browsers another page than the shell. Its seed leads by script to another host.
fn serve_browsers_otherwise(request: &Request) -> Response {
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
#[ignore = "needs Chromium"]
fn browser_obeys_robots_scope_and_content_types() {
    let (server, sandbox) = (Server::start(0, serve_browsers_otherwise).unwrap(), Sandbox::new());
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
fn serve_amp_on_other_origin(request: &Request) -> Response {
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
fn amp_page_on_another_origin_obeys_its_rules() {
    let (server, sandbox) = (Server::start(0, serve_amp_on_other_origin).unwrap(), Sandbox::new());
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
