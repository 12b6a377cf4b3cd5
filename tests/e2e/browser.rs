//! Requests of a crawl's browser, and the handling of a host's answers to it. The tests are ignored without
//! Chromium (tests/unavailable).

use crate::{
    run::{Sandbox, record, run},
    scripted::{is_browser, tried},
    support::server::{Request, Response, Server},
};
use crawl_engine::visit::Visitor;
use serde_json::Value;
use std::{
    fs,
    io::Read,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// A page that its script fills with the text of `/api` and of other resources that it requests.
fn shell(others: &[&str]) -> String {
    let ask = "const ask = at => fetch(at).then(r => r.text()).catch(() => '')";
    let fill = "Promise.all(all.map(ask)).then(texts => { root.innerHTML = '<main><article><h1>Log</h1>' + texts.join('') + '</article></main>' })";
    let all = serde_json::to_string(&[&["/api"], others].concat()).unwrap();
    format!(
        "<!doctype html><html><head><title>Harbour log</title></head><body><div id=root><p>Loading the tide tables, please wait.</p>\
         </div><script>{ask}; const all = {all}; {fill}</script></body></html>"
    )
}

fn prose() -> Response {
    let one = |n| {
        format!("<p>Entry {n} of the log: the keeper wrote down wind and water at hour {n} as always.</p>")
    };
    Response::html((0..20).map(one).collect::<String>())
}

/// A shell; requests of a browser get the answer of `otherwise`, if it has one.
fn shell_site(
    otherwise: impl Fn() -> Option<Response> + Send + Sync + 'static,
) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    move |request: &Request| match request.path() {
        "/" if is_browser(request) => otherwise().unwrap_or_else(|| Response::html(shell(&[]))),
        "/" => Response::html(shell(&[])),
        "/api" => prose(),
        _ => Response::status(404),
    }
}

fn crawled(server: &Server, config: &str, flags: &[&str]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let config = sandbox.write("crawl.toml", config);
    let always = ["-O", "out.jsonl", "--chrome-no-sandbox", "--config", config.to_str().unwrap()];
    let mut command = sandbox.crawl(&[server.url("/")], &[&always, flags].concat());
    // a budget for a busy machine
    command
        .env("CRAWL_CHROME_SETTLE", "30s")
        .env("CRAWL_CHROME_NAVIGATE", "30s")
        .env("GULL_SECRET", "s3cret");
    run(&mut command).expect(0);
    sandbox.records("out.jsonl")
}

#[test]
#[ignore = "needs Chromium"]
fn browser_sends_secrets_only_to_their_origin() {
    let other = Server::start(0, |_: &Request| {
        prose().header("Access-Control-Allow-Origin", "*").header("Access-Control-Allow-Headers", "*")
    })
    .unwrap();
    let (there, away) = (other.url("/there"), other.url("/away"));
    let site = move |request: &Request| {
        if request.header("authorization") != Some("Basic Z3VsbDpzM2NyZXQ=") {
            return Response::status(401).header("WWW-Authenticate", "Basic");
        }
        match request.path() {
            "/" => Response::html(shell(&[&there, "/leads"])).header("Set-Cookie", "berth=7"),
            "/api" => prose(),
            "/leads" => Response::redirect(302, &away).header("Access-Control-Allow-Origin", "*"),
            _ => Response::status(404),
        }
    };
    let server = Server::start(0, site).unwrap();
    let config = format!(
        "[fetch]\ncookies = true\nauth = [{{ site = \"{}\", user = \"gull\", password_env = \"GULL_SECRET\" }}]\n",
        server.url("")
    );
    let records = crawled(&server, &config, &["--header", "X-Watch: night"]);
    assert_eq!(tried(record(&records, &server.url("/"))), [("static", None), ("chrome", None)]);
    assert!(records[0]["text"].as_str().unwrap().contains("Entry 7 of the log"), "{records:?}");
    let asked = |server: &Server| server.requests().into_iter().filter(is_browser).collect::<Vec<_>>();
    let here = asked(&server);
    for path in ["/", "/api", "/leads"] {
        let request =
            here.iter().find(|r| r.path() == path).unwrap_or_else(|| panic!("{path} was not asked for"));
        let sent = ["x-watch", "cookie", "authorization"].map(|name| request.header(name));
        assert_eq!(sent, [Some("night"), Some("berth=7"), Some("Basic Z3VsbDpzM2NyZXQ=")], "{path}");
    }
    let elsewhere = asked(&other);
    for path in ["/there", "/away"] {
        assert!(elsewhere.iter().any(|r| r.path() == path), "{path}");
    }
    for request in elsewhere {
        let sent = ["x-watch", "cookie", "authorization"].map(|name| request.header(name));
        assert_eq!(sent, [None; 3], "{}", request.target);
    }
}

#[test]
#[ignore = "needs Chromium"]
fn retry_after_of_a_rendered_page_is_obeyed() {
    let navigations = AtomicUsize::new(0);
    let waits = move || {
        (navigations.fetch_add(1, SeqCst) == 0).then(|| Response::status(503).header("Retry-After", "2"))
    };
    let server = Server::start(0, shell_site(waits)).unwrap();
    let records = crawled(&server, "", &[]);
    assert_eq!(tried(&records[0]), [("static", None), ("chrome", None)], "{}", records[0]);
    let times: Vec<_> =
        server.requests().iter().filter(|r| r.path() == "/" && is_browser(r)).map(|r| r.at).collect();
    assert_eq!(times.len(), 2, "asked again once");
    assert!(times[1] - times[0] >= Duration::from_millis(1990), "{:?}", times[1] - times[0]);
}

#[test]
#[ignore = "needs Chromium"]
fn lost_browser_connection_is_retried() {
    let navigations = AtomicUsize::new(0);
    // ends the connection without an answer; Chromium itself may retry once
    let cuts = move || -> Option<Response> {
        (navigations.fetch_add(1, SeqCst) < 2).then(|| resume_unwind(Box::new("cut")))
    };
    let server = Server::start(0, shell_site(cuts)).unwrap();
    let records = crawled(&server, "", &[]);
    assert_eq!(tried(&records[0]), [("static", None), ("chrome", None)], "{}", records[0]);
    assert!(records[0]["text"].as_str().unwrap().contains("Entry 7 of the log"));
}

#[test]
#[ignore = "needs Chromium"]
fn slow_render_falls_back_to_the_static_page() {
    let site = move |request: &Request| match request.path() {
        // longer than the visit
        "/slow" if is_browser(request) => Response::html(shell(&[])).after(Duration::from_secs(20)),
        "/slow" => Response::html(shell(&[])),
        _ => Response::status(404),
    };
    let server = Server::start(0, site).unwrap();
    let settings =
        [("FETCH_ALLOW_ADDRESSES", "127.0.0.0/8"), ("POLITENESS_DELAY", "0s"), ("CHROME_SANDBOX", "false")];
    let settings = settings.map(|(name, value)| (format!("CRAWL_{name}"), value.to_owned()));
    let config = crawl_engine::config::load(None, settings.into_iter(), Vec::new()).unwrap();
    let visitor = Visitor::new(config, Duration::from_secs(8));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let url = server.url("/slow").parse().unwrap();
    let record = serde_json::to_value(
        runtime.block_on(visitor.visit(url, None, None, &CancellationToken::new())).unwrap(),
    )
    .unwrap();
    assert!(record["text"].as_str().unwrap().contains("Loading the tide tables"), "{record}");
    assert_eq!(tried(&record), [("static", None), ("chrome", Some("renderer_closed"))]);
    assert!(record["warnings"].as_array().unwrap().iter().any(|w| w == "partial_content"), "{record}");
    assert_eq!(server.requests().iter().filter(|r| is_browser(r)).count(), 1);
}

/// A page that leads in all ways to another origin: images, scripts, styles, frames, fetches, redirects, links.
fn leading_to(other: &str) -> String {
    let ask = format!(
        "const ask = (at, how) => fetch(at, how).then(r => r.text()).catch(() => '');\
         Promise.all([ask('/api'), ask('{other}/data'), ask('/fetch-leads'), ask('{other}/simple', {{mode: 'no-cors', credentials: 'include'}})])\
         .then(texts => {{ root.innerHTML = '<main><article><h1>Log</h1>' + texts[0] + '</article></main>' }})"
    );
    format!(
        "<!doctype html><html><head><title>Harbour log</title><link rel=stylesheet href='{other}/style.css'>\
         <script src='{other}/script.js'></script><script src='/script-leads'></script></head><body><div id=root></div>\
         <img src='{other}/image.png'><img src='/image-leads'><iframe src='{other}/frame'></iframe><iframe src='/frame-leads'></iframe>\
         <a href='/page-leads'>moved</a><a href='{other}/page'>other</a><script>{ask}</script></body></html>"
    )
}

/// A crawl of a server with a token, a header and a cookie jar for it.
fn crawl_with_secrets(sandbox: &Sandbox, server: &Server) -> Command {
    sandbox.write("token", "s3cret-token\n");
    sandbox.write("jar.txt", "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\ts3cret-cookie\n");
    let kinds = [
        "token_file = \"token\"",
        "header = \"X-Api-Key\", value_env = \"API_KEY\"",
        "cookies_file = \"jar.txt\"",
    ];
    let entries = kinds.map(|kind| format!("{{ site = \"{}\", {kind} }}", server.url("")));
    let config = format!("[fetch]\nauth = [{}]\n[chrome]\nblock_images = false\n", entries.join(", "));
    sandbox.write("crawl.toml", config);
    let flags = ["-o", "out.jsonl", "--config", "crawl.toml", "--strategy", "chrome", "--chrome-no-sandbox"];
    let more = ["--warc", "archive", "--scope", "any", "--depth", "1", "--log-level", "debug"];
    let mut command = sandbox.crawl(&[server.url("/")], &[&flags[..], &more].concat());
    command.env("API_KEY", "s3cret-header").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "true");
    command.env("CRAWL_CHROME_SETTLE", "30s").env("CRAWL_CHROME_NAVIGATE", "30s");
    command
}

/// Panics if a file that the crawl left names a secret.
fn assert_without_secret(sandbox: &Sandbox) {
    for file in ["out.jsonl", "archive", "state"].iter().flat_map(|name| files(&sandbox.path(name))) {
        let bytes = fs::read(&file).unwrap();
        let mut plain = Vec::new();
        // files of the archive are gzip members
        let _ = flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain);
        for text in [bytes, plain] {
            assert!(!text.windows(6).any(|part| part == b"s3cret"), "{}", file.display());
        }
    }
}

/// Secrets of files under `--strategy chrome`: each request to the origin has them, no other request has one, and nothing
/// that the crawl leaves names one.
#[test]
#[ignore = "needs Chromium"]
fn browser_sends_secrets_of_files_only_to_their_origin() {
    let other = Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" | "/favicon.ico" => Response::status(404),
        "/script.js" | "/script" => Response::new(200, "text/javascript", "document.title = 'seen'"),
        "/style.css" => Response::new(200, "text/css", "p { color: black }"),
        _ => prose().header("Access-Control-Allow-Origin", "*"),
    })
    .unwrap();
    let (base, elsewhere) = (other.url(""), other.url(""));
    let secrets = ["Bearer s3cret-token", "s3cret-header", "sid=s3cret-cookie"];
    let sent = |request: &Request| {
        ["authorization", "x-api-key", "cookie"].map(|name| request.header(name).map(str::to_owned))
    };
    let site = move |request: &Request| {
        if sent(request) != secrets.map(|secret| Some(secret.to_owned())) {
            return Response::status(401);
        }
        match request.path() {
            "/" => Response::html(leading_to(&elsewhere)),
            "/api" => prose(),
            path => match path.strip_suffix("-leads") {
                Some(kind) => Response::redirect(302, &format!("{elsewhere}{kind}"))
                    .header("Access-Control-Allow-Origin", "*"),
                None => Response::status(404),
            },
        }
    };
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let done = run(&mut crawl_with_secrets(&sandbox, &server)).expect(0);
    let text = record(&sandbox.records("out.jsonl"), &server.url("/"))["text"].to_string();
    assert!(text.contains("Entry 7 of the log"), "{text}");
    let own = server.requests();
    for path in ["/", "/api", "/fetch-leads", "/script-leads", "/image-leads", "/frame-leads", "/page-leads"]
    {
        assert!(own.iter().any(|request| request.path() == path), "{path} was not asked for");
    }
    for request in own.iter().filter(|request| request.path() != "/favicon.ico") {
        assert_eq!(sent(request), secrets.map(|secret| Some(secret.to_owned())), "{}", request.target);
    }
    let others = other.requests();
    let direct =
        ["/style.css", "/script.js", "/image.png", "/frame", "/data", "/simple", "/page", "/robots.txt"];
    for path in direct.into_iter().chain(["/script", "/image", "/fetch"]) {
        assert!(others.iter().any(|request| request.path() == path), "{base}{path} was not asked for");
    }
    for request in others {
        assert_eq!(sent(&request), [None, None, None], "{}", request.target);
        assert!(!format!("{request:?}").contains("s3cret"), "{request:?}");
    }
    assert!(!done.stderr.contains("s3cret") && !done.stdout.contains("s3cret"), "{}", done.stderr);
    assert_without_secret(&sandbox);
}

/// A file, or the files of a folder.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.iter().filter(|path| path.is_file()).cloned().collect()
}
