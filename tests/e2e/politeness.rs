//! Politeness of a crawl, measured at the server.

use crate::{
    kills::kill_after,
    run::{PATIENCE, Run, Sandbox, eventually, run},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    process::Command,
    time::{Duration, Instant},
};

/// The main job with a delay.
fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> Command {
    sandbox.write("seeds.txt", server.url("/") + "\n");
    let mut command = sandbox.bare();
    command.args(["--seed", "seeds.txt", "--state-dir", "state", "-O", "out.jsonl"]);
    command.args(["--allow-address", "127.0.0.0/8"]).args(flags);
    command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
    command
}

/// Fails unless requests are `delay` apart. A delayed arrival at the server shortens the next gap. So a
/// single gap may be short on a busy machine, but never their sum.
#[track_caller]
fn assert_apart(requests: &[Request], delay: Duration) {
    let at: Vec<Instant> = requests.iter().map(|r| r.at).collect();
    let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1].saturating_duration_since(pair[0])).collect();
    let whole = *at.last().unwrap() - at[0];
    let count = u32::try_from(gaps.len()).unwrap();
    assert!(whole + delay / 4 >= delay * count, "{whole:?} for {count} gaps of {delay:?}: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap >= delay / 2), "{gaps:?}");
}

#[test]
fn all_requests_including_redirects_keep_the_delay() {
    let delay = Duration::from_millis(200);
    let tree = Tree::of(8);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /never/\n"),
        "/p/3.html" => Response::redirect(301, "/moved.html"),
        "/moved.html" => Response::redirect(302, "/p/7.html"),
        _ => tree.answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &["--delay", "200ms", "--host-concurrency", "4"])).expect(0);
    let requests = server.requests();
    // eight pages of the tree less 6, which only 3 links to; robots.txt; the second hop
    assert_eq!(requests.len(), 9, "{:?}", requests.iter().map(|r| &r.target).collect::<Vec<_>>());
    assert_apart(&requests, delay);
}

#[test]
fn default_delay_is_one_second() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &[])).expect(0);
    assert_eq!(server.requests().len(), 4);
    assert_apart(&server.requests(), Duration::from_secs(1));
}

#[test]
fn crawl_delay_of_robots_txt_is_kept() {
    let tree = Tree::of(3);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nCrawl-delay: 0.5\n"),
        _ => tree.answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &["--delay", "0s"])).expect(0);
    // known once robots.txt has been read
    assert_apart(&server.requests()[1..], Duration::from_millis(500));
}

/// Each host has its own clock: two hosts of three pages take as long as one, not twice as long.
#[test]
fn hosts_do_not_wait_for_each_other() {
    let (one, other) =
        (Server::start(0, Tree::of(3).handler()).unwrap(), Server::start(0, Tree::of(3).handler()).unwrap());
    let sandbox = Sandbox::new();
    let mut command = crawl(&sandbox, &one, &["--delay", "500ms"]);
    sandbox.write("seeds.txt", format!("{}\n{}\n", one.url("/"), other.url("/")));
    run(&mut command).expect(0);
    for server in [&one, &other] {
        assert_apart(&server.requests(), Duration::from_millis(500));
    }
    let (first, second) = (one.requests(), other.requests());
    let overlap = first[0].at < second.last().unwrap().at && second[0].at < first.last().unwrap().at;
    assert!(overlap, "one host was crawled after the other");
}

/// Pause of a host that refuses one of its seven pages once, with this Retry-After. All are fetched in the
/// end.
fn wait_after_refusal(settings: &[(&str, &str)], retry_after: &'static str) -> Duration {
    let tree = Tree::of(7);
    let refused = std::sync::atomic::AtomicBool::new(false);
    let handler = move |request: &Request| match request.path() {
        "/p/2.html" if !refused.swap(true, std::sync::atomic::Ordering::AcqRel) => {
            Response::status(429).header("Retry-After", retry_after)
        }
        _ => tree.answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut command = crawl(&sandbox, &server, &["--delay", "0s"]);
    command.env("CRAWL_FETCH_BACKOFF", "20ms").envs(settings.iter().copied());
    run(&mut command).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 7);
    let requests = server.requests();
    let refusal = requests.iter().position(|r| r.path() == "/p/2.html").unwrap();
    requests[refusal + 1].at - requests[refusal].at
}

/// 429 with Retry-After: the host, not only the page, gets the requested pause.
#[test]
fn retry_after_is_obeyed_by_the_whole_host() {
    let waited = wait_after_refusal(&[], "2");
    assert!(waited >= Duration::from_secs(2), "the host was asked again after {waited:?}");
}

/// A host with a longer Retry-After than a run waits is skipped until then, by the next run too.
#[test]
fn host_with_a_long_retry_after_is_skipped() {
    let tree = Tree::of(7);
    let handler = move |request: &Request| match request.path() {
        "/p/2.html" => Response::status(429).header("Retry-After", "3600"),
        _ => tree.answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut command = crawl(&sandbox, &server, &["--delay", "0s"]);
    let command = command.env("CRAWL_FETCH_BACKOFF", "20ms").env("CRAWL_POLITENESS_MAX_RETRY_AFTER", "30m");
    run(command).expect(0);
    let targets = server.targets();
    assert_eq!(targets.last().map(String::as_str), Some("/p/2.html"), "nothing after it: {targets:?}");
    let errors = sandbox.errors();
    assert!(errors.iter().any(|line| line["url"] == server.url("/p/2.html")), "{errors:?}");
    assert!(errors.iter().all(|line| line["kind"] == "retry_after"), "{errors:?}");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.contains("politeness.max_retry_after"), "{message}");

    // the next round knows it still
    run(command).expect(4);
    assert_eq!(server.targets(), targets, "the host is not asked");
}

/// A Retry-After outlives kill -9.
#[test]
fn retry_after_survives_a_kill() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        _ => Response::status(429).header("Retry-After", "1800"),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let two_pages = |flags: &[&str]| {
        let command = crawl(&sandbox, &server, &[&["--delay", "0s"], flags].concat());
        sandbox.write("seeds.txt", format!("{}\n{}\n", server.url("/"), server.url("/other")));
        command
    };
    let on = Run::start(&mut two_pages(&[]));
    let host = server.address().to_string();
    eventually("status names the host that asked to be left alone", || {
        let mut status = sandbox.bare();
        status.args(["status", "--seed", "seeds.txt", "--state-dir", "state", "--json"]);
        let told = serde_json::from_str::<Value>(&run(&mut status).stdout).unwrap_or_default();
        told["leftAlone"].to_string().contains(&host)
    });
    on.kill();
    run(&mut two_pages(&["--max-time", "2s"])).expect(5);
    assert_eq!(server.targets().len(), 1, "asked after kill -9: {:?}", server.targets());
}

#[test]
fn the_user_agent_names_program_version_and_contact() {
    let handler = |request: &Request| Response::html(page(request.path(), &[]));
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut crawl(&sandbox, &server, &["--contact", "https://crawler.example/about"])).expect(0);
    for request in server.requests() {
        let agent = request.header("user-agent").unwrap();
        let token = format!("crawl/{}", env!("CARGO_PKG_VERSION"));
        assert!(agent.starts_with(&token) && agent.contains("https://crawler.example/about"), "{agent}");
    }
    let other = Sandbox::new();
    run(&mut crawl(&other, &server, &["--user-agent", "Gull/2 (feathers)"])).expect(0);
    assert_eq!(server.requests().last().unwrap().header("user-agent"), Some("Gull/2 (feathers)"));
}

/// RFC 9309 §2.4: a cached robots.txt may be used beyond its lifetime while the host does not serve a new
/// one.
#[test]
fn expired_robots_rules_apply_while_robots_txt_is_unreachable() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Response::new(200, "text/plain", "User-agent: *\nDisallow: /private\n"),
            _ => Response::status(500),
        },
        // the rules expire during this answer
        "/" => Response::html(page("the start", &["/private".into(), "/open".into()]))
            .after(Duration::from_millis(1_500)),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[fetch]\nrobots_max_age = \"1s\"\n");
    let flags = ["-O", "out.jsonl", "--config", config.to_str().unwrap()];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 2, "{:?}", sandbox.errors());
    let kinds: Vec<_> = sandbox.errors().iter().map(|line| line["kind"].clone()).collect();
    assert_eq!(kinds, ["robots_disallowed"]);
    assert!(!done.stderr.contains("retry-errors"), "{}", done.stderr);
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|r| r.path() == "/robots.txt").count(), 2);
}

/// A robots.txt whose age is shorter than the pause of its host is used for one request at least.
#[test]
fn pages_are_fetched_though_robots_txt_expires_at_once() {
    let tree = Tree::of(3);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /never/\n"),
        _ => tree.answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[fetch]\nrobots_max_age = \"10ms\"\n");
    let flags = ["--delay", "100ms", "--max-time", "20s", "--config", config.to_str().unwrap()];
    run(&mut crawl(&sandbox, &server, &flags)).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 3, "{:?}", server.targets());
    assert!(server.targets().len() <= 6, "one robots.txt for a page: {:?}", server.targets());
}

/// The pause of a host holds over kill -9, also that of its robots.txt.
#[test]
fn pauses_hold_over_a_kill() {
    for (delay, robots) in [("1s", "User-agent: *\n"), ("10ms", "User-agent: *\nCrawl-delay: 1\n")] {
        let tree = Tree::of(4);
        let handler = move |request: &Request| match request.path() {
            "/robots.txt" => Response::new(200, "text/plain", robots),
            _ => tree.answer(request),
        };
        let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
        for requests in [2, 1] {
            kill_after(&server, &mut crawl(&sandbox, &server, &["--delay", delay]), requests);
        }
        run(&mut crawl(&sandbox, &server, &["--delay", delay])).expect(0);
        assert_apart(&server.requests(), Duration::from_secs(1));
    }
}

/// Thousands of hosts that wait for their address do not hide a ready host.
#[test]
fn waiting_hosts_do_not_delay_ready_hosts() {
    let (server, sandbox) = (Server::start(0, Tree::of(4).handler()).unwrap(), Sandbox::new());
    // no server listens there, and each takes a turn of its address
    let waiting = (20_000..25_000).map(|port| format!("http://127.77.0.1:{port}/\n"));
    sandbox.write("seeds.txt", waiting.collect::<String>() + &server.url("/") + "\n");
    let mut command = sandbox.bare();
    command.args(["--seed", "seeds.txt", "--state-dir", "state", "-O", "out.jsonl"]);
    command.args(["--allow-address", "127.0.0.0/8"]).env("CRAWL_FETCH_RETRIES", "0");
    command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
    let crawl = Run::start(&mut command);
    // robots.txt and four pages; with four turns a second most of the others have had none by then
    let done = server.wait(PATIENCE, |requests| requests.len() >= 5);
    crawl.kill();
    assert!(done, "{:?}", server.targets());
}
