//! The web as it is: endless sites, many hosts on one address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

#[path = "support/run.rs"]
mod run;
mod support;

use run::{Sandbox, run};
use serde_json::Value;
use std::time::{Duration, Instant};
use support::{
    made::{Tree, page},
    server::{Request, Response, Server},
};

fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> String {
    let flags = [&["-O", "out.jsonl"], flags].concat();
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0).stderr
}

fn of_kind<'a>(errors: &'a [Value], kind: &str) -> Vec<&'a Value> {
    errors.iter().filter(|line| line["kind"] == kind).collect()
}

/// Twelve hosts of one page on one address: their second requests would all come a second after the first, which was for
/// robots.txt, but for the address, which is asked once in a quarter of it.
#[test]
fn hosts_on_one_address_share_its_limit() {
    let servers: Vec<Server> = (0..12).map(|_| Server::start(0, Tree::of(1).handler()).unwrap()).collect();
    let spread = |share: &str| {
        let sandbox = Sandbox::new();
        let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
        let before: Vec<usize> = servers.iter().map(|server| server.requests().len()).collect();
        sandbox.write("seeds.txt", seeds.join("\n") + "\n");
        let mut command = sandbox.bare();
        command.args(["--seed", "seeds.txt", "--state-dir", "state", "-O", "out.jsonl", "--delay", "1s"]);
        command.args(["--allow-address", "127.0.0.0/8"]).env("CRAWL_FETCH_ADDRESS_SHARE", share);
        run(&mut command).expect(0);
        let mut pages: Vec<Instant> = servers
            .iter()
            .zip(before)
            .flat_map(|(server, before)| server.requests().split_off(before))
            .filter(|request| request.path() == "/")
            .map(|request| request.at)
            .collect();
        pages.sort_unstable();
        assert_eq!(pages.len(), 12);
        pages[11] - pages[0]
    };
    let (shared, alone) = (spread("0.25"), spread("0"));
    assert!(shared >= Duration::from_millis(2_500), "eleven gaps of 250 ms in {shared:?}");
    assert!(alone < shared, "{alone:?} for hosts that share nothing, {shared:?} for those that do");
}

/// Shapes that tell a trap: each link once in the error log, none of them asked for; a page of them writes so many lines
/// and no more, and the last one counts the rest.
#[test]
fn links_of_trap_shapes_are_left_out_and_logged() {
    let handler = |request: &Request| match request.path() {
        "/" => {
            let mut links = vec!["/fine".to_owned(), "/loop/a/loop/a/loop/a/loop/a/".to_owned()];
            links.push("/loop/a/loop/a/loop/a/loop/a/#again".to_owned());
            links.push("/calendar/1601/1".to_owned());
            Response::html(page("the start", &links))
        }
        "/fine" => {
            let deep = |n| format!("/{}{n}", (0..30).map(|i| format!("d{i}/")).collect::<String>());
            let links: Vec<String> = (0..100).map(deep).chain(["/calendar/1601/1".to_owned()]).collect();
            Response::html(page("a fine page", &links))
        }
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let summary = crawl(&sandbox, &server, &[]);
    assert_eq!(sandbox.records("out.jsonl").len(), 2);
    let targets = server.targets();
    let trapped = |t: &String| t.contains("/loop/") || t.contains("/calendar/") || t.contains("/d0/");
    assert!(!targets.iter().any(trapped), "{targets:?}");

    let errors = sandbox.errors();
    assert_eq!(of_kind(&errors, "trap_repeated_segment").len(), 1, "{errors:#?}");
    assert_eq!(of_kind(&errors, "trap_calendar").len(), 1, "{errors:#?}");
    let deep = of_kind(&errors, "trap_path_depth");
    assert_eq!(deep.len(), 20, "{errors:#?}");
    assert!(deep.iter().all(|line| line["stage"] == "fetch"));
    let message = deep[19]["message"].as_str().unwrap();
    assert!(message.contains("traps.path_segments") && message.contains("80 more"), "{message}");
    assert!(summary.contains("trap_path_depth: 100"), "{summary}");
}

/// Pages without end and with nothing new to say: left after a few, while those that have something are all fetched.
#[test]
fn a_template_without_anything_new_runs_out_of_credit() {
    let handler = |request: &Request| {
        let (kind, n) = request.path().trim_start_matches('/').split_once('/').unwrap_or_default();
        let n: usize = n.parse().unwrap_or_default();
        match kind {
            "" => Response::html(page("the start", &["/same/1".into(), "/new/1".into(), "/gone/1".into()])),
            "same" => Response::html(page("the same again", &[format!("/same/{}", n + 1)]).replace(
                // links are not what makes it another page
                &format!("on to /same/{}", n + 1),
                "on",
            )),
            "new" if n <= 60 => Response::html(page(&format!("chapter {n}"), &[format!("/new/{}", n + 1)])),
            _ => Response::status(404),
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write(
        "crawl.toml",
        "[traps]\ntemplate_credit = 40\nduplicate_cost = 9\nnew_page_credit = 2\n[extract]\nlinks = \"strip\"\n",
    );
    let summary = crawl(&sandbox, &server, &["--config", config.to_str().unwrap()]);
    let count = |prefix: &str| server.targets().iter().filter(|t| t.starts_with(prefix)).count();
    let same = count("/same/");
    // the first is new; each further one costs ten; what is in flight while the last one is judged comes on top
    assert!((4..=8).contains(&same), "{same} pages of the trap");
    assert_eq!(count("/new/"), 61, "all the chapters, and the end");
    let errors = sandbox.errors();
    let line = of_kind(&errors, "trap_template");
    assert_eq!(line.len(), 1, "{errors:#?}");
    assert!(line[0]["message"].as_str().unwrap().contains("traps.template_credit"), "{line:?}");
    assert_eq!(line[0]["url"], server.url(&format!("/same/{}", same + 1)));
    assert!(summary.contains("trap_template: 1"), "{summary}");
}

/// What the user names is fetched, whatever it looks like; and what it redirects to.
#[test]
fn seeds_are_never_traps() {
    let repeated = "/a/b/a/b/a/b/a/b/";
    let handler = move |request: &Request| match request.path() {
        "/moved" => Response::redirect(301, repeated),
        path if path.starts_with("/item/") || path == repeated => {
            Response::html("<p>Nothing to see.</p>".to_owned())
        }
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[traps]\ntemplate_credit = 3\n");
    let mut seeds: Vec<String> = (0..20).map(|n| server.url(&format!("/item/{n}"))).collect();
    seeds.push(server.url("/moved"));
    let flags = ["-O", "out.jsonl", "--config", config.to_str().unwrap()];
    run(&mut sandbox.crawl(&seeds, &flags)).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 21);
    assert!(sandbox.errors().is_empty(), "{:?}", sandbox.errors());
}
