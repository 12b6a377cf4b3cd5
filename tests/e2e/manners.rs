//! User-specific parts of requests: headers, cookies, credentials, the proxy. None of it is ever logged.

use crate::{
    run::{Sandbox, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use std::{fs, path::Path, process::Command};

fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> Command {
    sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], flags].concat())
}

/// Values of a header over all requests to pages of a server.
fn sent(server: &Server, header: &str) -> Vec<Option<String>> {
    let requests = server.requests();
    requests.iter().map(|r| r.header(header).map(str::to_owned)).collect()
}

fn two_pages(request: &Request) -> Response {
    match request.path() {
        "/" => Response::html(page("the start", &["/other".into()])),
        "/other" => Response::html(page("the other", &[])),
        _ => Response::status(404),
    }
}

#[test]
fn extra_headers_are_sent_with_every_request() {
    let (server, sandbox) = (Server::start(0, two_pages).unwrap(), Sandbox::new());
    let flags = ["--header", "X-Api-Key: gull, herring", "--header", "Accept-Language: de"];
    run(&mut crawl(&sandbox, &server, &flags)).expect(0);
    assert_eq!(sent(&server, "x-api-key"), vec![Some("gull, herring".to_owned()); 3], "robots.txt too");
    assert_eq!(sent(&server, "accept-language"), vec![Some("de".to_owned()); 3]);
}

#[test]
fn forbidden_headers_are_refused_without_repeating_them() {
    let (server, sandbox) = (Server::start(0, two_pages).unwrap(), Sandbox::new());
    for (header, why) in [
        ("Host: s3cret", "the client writes it itself"),
        ("Authorization: Bearer s3cret", "would go to every host"),
        ("Cookie: id=s3cret", "would go to every host"),
        ("s3cret", "Name: value"),
    ] {
        let done = run(&mut crawl(&sandbox, &server, &["--header", header])).expect(2);
        assert!(done.stderr.contains(why) && done.stderr.contains("fetch.headers"), "{}", done.stderr);
        assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    }
    let done = run(&mut crawl(&sandbox, &server, &["--proxy", "ftp://u:s3cret@proxy.test"])).expect(2);
    assert!(done.stderr.contains("fetch.proxy") && !done.stderr.contains("s3cret"), "{}", done.stderr);
    assert!(server.requests().is_empty());
}

/// A consent page that redirects everybody without a cookie, and back.
fn with_consent(request: &Request) -> Response {
    match (request.path(), request.header("cookie")) {
        ("/", _) => Response::html(page("the start", &["/guarded".into()])),
        ("/guarded", Some("consent=1")) => Response::html(page("the guarded", &[])),
        ("/guarded", _) => Response::redirect(302, "/consent"),
        ("/consent", _) => Response::redirect(302, "/guarded").header("Set-Cookie", "consent=1; Path=/"),
        _ => Response::status(404),
    }
}

#[test]
fn enabled_cookies_pass_a_consent_page() {
    let (server, sandbox) = (Server::start(0, with_consent).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &[])).expect(0);
    assert!(sent(&server, "cookie").iter().all(Option::is_none));
    assert_eq!(sandbox.records("out.jsonl").len(), 1);
    let line = &sandbox.errors()[0];
    assert!(line["hint"].as_str().unwrap().contains("--cookies"), "{line}");

    let (server, sandbox) = (Server::start(0, with_consent).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &["--cookies"])).expect(0);
    let records = sandbox.records("out.jsonl");
    // in the order in which extraction ends, which is undefined
    let mut urls: Vec<&str> = records.iter().map(|r| r["url"].as_str().unwrap()).collect();
    urls.sort_unstable();
    assert_eq!(urls, [server.url("/"), server.url("/guarded")]);
    assert!(sandbox.errors().is_empty(), "{:?}", sandbox.errors());
}

#[test]
fn endless_redirect_with_cookies_is_a_loop() {
    let handler = |request: &Request| match request.path() {
        "/" => Response::html(page("the start", &["/a".into(), "/self".into()])),
        "/a" => Response::redirect(302, "/b").header("Set-Cookie", "n=1"),
        "/b" => Response::redirect(302, "/a").header("Set-Cookie", "n=2"),
        "/self" => Response::redirect(302, "/self").header("Set-Cookie", "n=3"),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &["--cookies"])).expect(0);
    let kinds: Vec<String> = sandbox.errors().iter().map(|line| line["kind"].to_string()).collect();
    assert_eq!(kinds, ["\"redirect_loop\""; 2]);
    assert!(server.targets().len() < 10, "{:?}", server.targets());
}

/// Credentials only go to their site: not to another port, not across a redirect, not to its sitemaps
/// elsewhere.
#[test]
fn credentials_are_sent_only_to_their_site() {
    let other = Server::start(0, |_: &Request| Response::html(page("elsewhere", &[]))).unwrap();
    let elsewhere = other.url("/landing");
    let handler = move |request: &Request| {
        if request.header("authorization") != Some("Basic Z3VsbDpzM2NyZXQ=") {
            return Response::status(401).header("WWW-Authenticate", "Basic");
        }
        match request.path() {
            "/away" => Response::redirect(302, &elsewhere),
            "/" => Response::html(page("the start", &["/away".into()])),
            _ => Response::status(404),
        }
    };
    let server = Server::start(0, handler).unwrap();
    for by_file in [true, false] {
        let sandbox = Sandbox::new();
        let secret = sandbox.write("secret", "s3cret\n");
        let (key, value) = match by_file {
            true => ("password_file", secret.to_str().unwrap().to_owned()),
            false => ("password_env", "GULL_SECRET".to_owned()),
        };
        let site = server.url("");
        let auth =
            format!("[fetch]\nauth = [{{ site = \"{site}\", user = \"gull\", {key} = \"{value}\" }}]\n");
        let config = sandbox.write("crawl.toml", auth);
        let flags = ["--config", config.to_str().unwrap(), "--scope", "any"];
        run(crawl(&sandbox, &server, &flags).env("GULL_SECRET", "s3cret")).expect(0);
        let mut titles: Vec<String> =
            sandbox.records("out.jsonl").iter().map(|r| r["metadata"]["title"].to_string()).collect();
        titles.sort();
        assert_eq!(titles, ["\"elsewhere\"", "\"the start\""]);
    }
    assert!(sent(&server, "authorization").iter().all(Option::is_some));
    assert!(!other.requests().is_empty() && sent(&other, "authorization").iter().all(Option::is_none));
}

#[test]
fn unavailable_secret_is_a_usage_error() {
    let (server, sandbox) = (Server::start(0, two_pages).unwrap(), Sandbox::new());
    for (entry, why) in [
        ("user = \"u\", password_env = \"NOT_SET\"", "the variable of password_env is not set"),
        ("user = \"u\", password_file = \"s3cret\"", "the file of password_file cannot be read"),
        ("user = \"u\"", "password_file or password_env"),
        ("user = \"u\", password = \"s3cret\"", "unknown field"),
        ("user = \"u\", password_env = \"s3cret\"", "the variable of password_env is not set"),
        ("user = \"u\", password_env = 53", "expected a table of texts"),
        ("user = \"u:v\", password_env = \"HOME\"", "colon"),
        ("token_file = \"/dev/null\"", "the first line of the file of token_file is empty"),
    ] {
        let auth = format!("[fetch]\nauth = [{{ site = \"https://a.test\", {entry} }}]\n");
        let config = sandbox.write("crawl.toml", auth);
        let done = run(&mut crawl(&sandbox, &server, &["--config", config.to_str().unwrap()])).expect(2);
        assert!(done.stderr.contains(why) && done.stderr.contains("fetch.auth"), "{}", done.stderr);
        assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    }
}

#[test]
fn a_proxy_is_used_when_named() {
    let proxy = Server::start(0, |request: &Request| {
        // an absolute target identifies a proxy
        match request.target.strip_prefix("http://harbour.test/") {
            Some("") => Response::html(page("by proxy", &[])),
            _ => Response::status(404),
        }
    })
    .unwrap();
    for by_flag in [true, false] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.crawl(&["http://harbour.test/".to_owned()], &["-O", "out.jsonl"]);
        match by_flag {
            true => command.args(["--proxy", &proxy.url("")]),
            false => command.env("http_proxy", proxy.url("")),
        };
        run(&mut command).expect(0);
        assert_eq!(sandbox.records("out.jsonl")[0]["metadata"]["title"], "by proxy");
    }
}

/// Modes of a file or folder and of all below it, by name.
fn modes(path: &Path) -> Vec<(String, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let mut out =
        vec![(path.display().to_string(), fs::metadata(path).unwrap().permissions().mode() & 0o777)];
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            out.extend(modes(&entry.unwrap().path()));
        }
    }
    out
}

#[test]
fn other_users_read_only_the_output() {
    let server = Server::start(0, two_pages).unwrap();
    let sandbox = Sandbox::new();
    let flags = ["--warc", "warc", "--project", "p", "--database", "p.sqlite"];
    for round in ["first", "later"] {
        let command = crawl(&sandbox, &server, &flags);
        run(&mut sandbox.shell("umask 000; exec \"$@\"", &command)).expect(0);
        let mut found: Vec<_> =
            ["state", "warc", "p.sqlite"].iter().flat_map(|name| modes(&sandbox.path(name))).collect();
        assert!(found.len() >= 9, "{found:?}");
        found.retain(|(_, mode)| mode & 0o077 != 0);
        assert_eq!(found, [], "{round}");
        assert_eq!(modes(&sandbox.path("out.jsonl"))[0].1, 0o666, "the user has named it");
        // as an earlier version left them
        for (path, _) in modes(&sandbox.path("state")).into_iter().chain(modes(&sandbox.path("p.sqlite"))) {
            use std::os::unix::fs::PermissionsExt;
            let mode = if Path::new(&path).is_dir() { 0o755 } else { 0o644 };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

#[test]
fn seed_with_a_password_is_refused_without_repeating_it() {
    let (server, sandbox) = (Server::start(0, two_pages).unwrap(), Sandbox::new());
    let seed = server.url("/").replace("http://", "http://gull:s3cret@");
    let seeds = [server.url("/other"), seed.clone(), seed.replace("http://", "")];
    let done = run(&mut sandbox.crawl(&seeds, &["-O", "out.jsonl", "--log-level", "trace"])).expect(0);
    for line in ["seeds.txt: line 2: \"http://…@", "seeds.txt: line 3: \"…@"] {
        assert!(done.stderr.contains(line) && done.stderr.contains("fetch.auth"), "{}", done.stderr);
    }
    assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    for job in [&[][..], &["status"], &["report"], &["retry-errors"]] {
        for seed in [seed.as_str(), &seed.replace("://", ":/")] {
            for named in [&["--seed", seed][..], &[seed]] {
                let done = run(sandbox.bare().args(job).args(named)).expect(2);
                assert!(
                    !done.stderr.contains("s3cret") && done.stdout.is_empty(),
                    "{job:?}: {}",
                    done.stderr
                );
            }
        }
    }
    assert!(sent(&server, "authorization").iter().all(Option::is_none));
}

#[test]
fn setting_errors_repeat_no_secret() {
    let sandbox = Sandbox::new();
    for (text, place) in [
        ("[serve]\ntoken = \"s3cret", "crawl.toml:2"),
        ("[serve]\ntoken = s3cret", "crawl.toml:2"),
        ("[serve]\ntoken = [\"s3cret\"]", "crawl.toml:2: serve.token"),
        ("[serve]\ntoken = { a = \"s3cret\" }", "crawl.toml:2: serve.token"),
        ("[serve]\ntokens = \"s3cret\"", "crawl.toml:2: serve.tokens"),
        ("[fetch]\nauth = \"u:s3cret\"", "crawl.toml:2: fetch.auth"),
        ("[fetch]\nauth = [\"u:s3cret\"]", "crawl.toml:2: fetch.auth: entry 1"),
        (
            "[fetch]\nauth = [{ site = \"s3cret\", user = \"u\", password_env = \"HOME\" }]",
            "entry 1: site is no URL",
        ),
        (
            "[fetch]\nauth = [{ site = \"https://u:s3cret@h\", user = \"u\", password_env = \"HOME\" }]",
            "entry 1: the site",
        ),
        ("[fetch]\nproxy = \"u:s3cret@h:1\"", "crawl.toml:2: fetch.proxy"),
        ("[fetch]\nheaders = \"X-Key: s3cret\"", "crawl.toml:2: fetch.headers"),
    ] {
        let config = sandbox.write("crawl.toml", text);
        let config = config.to_str().unwrap();
        let done = run(sandbox.bare().args(["--seed", "http://127.0.0.1:1/", "--config", config])).expect(2);
        assert!(done.stderr.contains(place), "{text}: {}", done.stderr);
        assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    }
}

/// All files of a run, without those that the test wrote itself.
fn left_behind(folder: &Path, own: &[&Path]) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            out.extend(left_behind(&path, own));
        } else if !own.contains(&path.as_path()) {
            out.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    out
}

/// Headers, cookies, passwords and the proxy's credentials are in no debug log, record, error log or state.
#[test]
fn secrets_are_never_written_down() {
    let handler = |request: &Request| match request.path() {
        "/" => {
            let links = ["/loop".to_owned(), "/lost".to_owned()];
            Response::html(page("the start", &links)).header("Set-Cookie", "id=s3cret-cookie; Path=/")
        }
        "/loop" => Response::redirect(302, "/loop"),
        "http://harbour.test/" => Response::html(page("by proxy", &[])),
        "/lost" => Response { cut_after: Some(3), ..Response::html("a long enough text") },
        _ => Response::status(404),
    };
    let server = Server::start(0, handler).unwrap();
    let proxy = server.url("").replace("http://", "http://gull:s3cret-proxy@");
    for format in ["text", "json"] {
        let sandbox = Sandbox::new();
        let secret = sandbox.write("secret", "s3cret-password");
        let site = server.url("");
        let config = sandbox.write(
            "crawl.toml",
            format!(
                "[fetch]\nheaders = [\"X-Api-Key: s3cret-header\"]\ncookies = true\nproxy = \"{proxy}\"\n\
                 auth = [{{ site = \"{site}\", user = \"gull\", password_file = \"{}\" }}]\n",
                secret.display()
            ),
        );
        let flags = ["--config", config.to_str().unwrap(), "--log-level", "trace", "--log-format", format];
        // the server is its own proxy for the name; literal addresses use no proxy
        let seeds = [server.url("/"), "http://harbour.test/".to_owned()];
        let mut command = sandbox.crawl(&seeds, &[&["-O", "out.jsonl"], &flags[..]].concat());
        let done = run(command.env("CRAWL_FETCH_RETRIES", "1")).expect(0);
        assert_eq!(sandbox.records("out.jsonl").len(), 2);
        assert!(done.stderr.len() > 1_000, "the log is meant to be talkative: {}", done.stderr);
        let mut places = left_behind(&sandbox.path(""), &[&secret, &config]);
        places.push(("standard error".to_owned(), done.stderr.into_bytes()));
        places.push(("standard output".to_owned(), done.stdout.into_bytes()));
        // the encoded form of the password's and the proxy's Basic credentials counts as well
        for word in ["s3cret", "Z3VsbDpzM2NyZXQ"] {
            for (place, bytes) in &places {
                let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
                assert!(!found, "{word} stands in {place}");
            }
        }
        let requests = server.requests();
        let sent = |name| requests.iter().any(|r| r.header(name).is_some_and(|v| v.len() > 10));
        let names = ["x-api-key", "cookie", "authorization", "proxy-authorization"];
        assert!(names.into_iter().all(sent), "they were all sent");
    }
}
