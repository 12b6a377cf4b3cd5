//! Conditions of the web: endless sites, many hosts on one address, error pages with status 200.

use crate::{
    run::{Sandbox, run},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    process::Command,
    time::{Duration, Instant},
};

fn crawl(sandbox: &Sandbox, server: &Server, flags: &[&str]) -> String {
    let flags = [&["-O", "out.jsonl"], flags].concat();
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0).stderr
}

fn of_kind<'a>(errors: &'a [Value], kind: &str) -> Vec<&'a Value> {
    errors.iter().filter(|line| line["kind"] == kind).collect()
}

/// The main job with a delay, and without requests that are not for pages or robots.txt.
fn delayed(sandbox: &Sandbox, seeds: &[String], delay: &str) -> Command {
    sandbox.write("seeds.txt", seeds.join("\n") + "\n");
    let mut command = sandbox.bare();
    command.args(["--seed", "seeds.txt", "--state-dir", "state", "-O", "out.jsonl", "--delay", delay]);
    command.args(["--allow-address", "127.0.0.0/8"]);
    command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
    command
}

/// Twelve hosts of one page on one address, with one request per quarter of the delay from the first request
/// on. Otherwise all of them would begin at once.
#[test]
fn hosts_on_one_address_share_its_limit() {
    let servers: Vec<Server> = (0..12).map(|_| Server::start(0, Tree::of(1).handler()).unwrap()).collect();
    let spread = |share: &str| {
        let sandbox = Sandbox::new();
        let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
        let before: Vec<usize> = servers.iter().map(|server| server.requests().len()).collect();
        let mut command = delayed(&sandbox, &seeds, "1s");
        let started = Instant::now();
        run(command.env("CRAWL_POLITENESS_ADDRESS_SHARE", share)).expect(0);
        let mut at: Vec<Duration> = servers
            .iter()
            .zip(before)
            .flat_map(|(server, before)| server.requests().split_off(before))
            .map(|request| request.at - started)
            .collect();
        at.sort_unstable();
        assert_eq!(at.len(), 24, "robots.txt and the page of each");
        at
    };
    let (shared, alone) = (spread("0.25"), spread("0"));
    // a request may arrive late, which shortens the next gap; on any machine none arrives before its turn
    for (turn, at) in (0u32..).zip(&shared) {
        assert!(*at >= turn * Duration::from_millis(250), "request {turn} too early: {shared:?}");
    }
    let mut gaps: Vec<Duration> = shared.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    assert!(gaps[gaps.len() / 2] >= Duration::from_millis(200), "{gaps:?}");
    let whole = |at: &[Duration]| at[23] - at[0];
    assert!(
        whole(&alone) < whole(&shared),
        "{alone:?} for hosts that share nothing, {shared:?} for those that do"
    );
}

/// URL shapes of a trap: each link is logged once and never requested. A page logs a bounded number of lines,
/// the last of which counts the rest.
#[test]
fn trap_links_are_skipped_and_logged() {
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
    assert!(message.contains("more than 24") && message.contains("80 more"), "{message}");
    assert!(summary.contains("trap_path_depth: 100"), "{summary}");
    assert!(summary.contains("  next       the same command visits due pages"), "{summary}");
}

/// The pages of a directory have few words, but each names another person. The pages of a counter name nothing.
#[test]
fn directory_of_short_pages_is_fetched_whole() {
    const NAMES: [&str; 10] = ["Ada", "Bea", "Cleo", "Dora", "Edda", "Fay", "Gus", "Hal", "Ivo", "Jon"];
    let handler = |request: &Request| {
        let (kind, n) = request.path().trim_start_matches('/').split_once('/').unwrap_or_default();
        let n: usize = n.parse().unwrap_or_default();
        let links = |kind: &str| (0..100).map(|n| format!("/{kind}/{n}")).collect::<Vec<_>>();
        let short = |text: &str| format!("<title>{text}</title><main><h1>{text}</h1><p>Room {n}</p></main>");
        match kind {
            "" => Response::html(page("the start", &[links("staff"), links("count")].concat())),
            "staff" => Response::html(short(&format!("{} {}", NAMES[n / 10], NAMES[n % 10]))),
            "count" => Response::html(short("An entry")),
            _ => Response::status(404),
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[traps]\ntemplate_credit = 20\n");
    crawl(&sandbox, &server, &["--config", config.to_str().unwrap()]);
    let count = |prefix: &str| server.targets().iter().filter(|t| t.starts_with(prefix)).count();
    assert_eq!(count("/staff/"), 100);
    // the first names something new; of the refused ones some are samples
    assert!((20..40).contains(&count("/count/")), "{}", count("/count/"));
}

/// Endless pages without new content are left after a few, while all pages with content are fetched.
#[test]
fn pattern_without_new_content_exhausts_its_credit() {
    let handler = |request: &Request| {
        let (kind, n) = request.path().trim_start_matches('/').split_once('/').unwrap_or_default();
        let n: usize = n.parse().unwrap_or_default();
        match kind {
            "" => Response::html(page("the start", &["/same/1".into(), "/new/1".into(), "/gone/1".into()])),
            "same" => Response::html(page("the same again", &[format!("/same/{}", n + 1)]).replace(
                // links do not make it another page
                &format!("on to /same/{}", n + 1),
                "on",
            )),
            "new" if n <= 60 => Response::html(page(&format!("chapter {n}"), &[format!("/new/{}", n + 1)])),
            _ => Response::status(404),
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[traps]\ntemplate_credit = 20\n[extract]\nlinks = \"strip\"\n");
    let summary = crawl(&sandbox, &server, &["--config", config.to_str().unwrap()]);
    let count = |prefix: &str| server.targets().iter().filter(|t| t.starts_with(prefix)).count();
    let same = count("/same/");
    // the first is new and adds twenty; each later one costs eleven; requests in flight during the last judgement are added
    assert!((4..=8).contains(&same), "{same} pages of the trap");
    assert_eq!(count("/new/"), 61, "all the chapters, and the end");
    let errors = sandbox.errors();
    let line = of_kind(&errors, "trap_template");
    assert_eq!(line.len(), 1, "{errors:#?}");
    assert!(line[0]["message"].as_str().unwrap().contains("traps.template_credit"), "{line:?}");
    assert_eq!(line[0]["url"], server.url(&format!("/same/{}", same + 1)));
    assert!(summary.contains("trap_template: 1"), "{summary}");
    assert!(summary.contains("fetches the 2 failed URLs again"), "the ends of the chapters: {summary}");
}

/// Each page of a category has the same introduction, which is all of its text, and leads to an item of its own.
#[test]
fn listing_pages_with_one_introduction_lead_to_all_items() {
    let handler = |request: &Request| {
        let (kind, n) = request.path().trim_start_matches('/').split_once('/').unwrap_or_default();
        let n: usize = n.parse().unwrap_or_default();
        match kind {
            "" => Response::html(page("the start", &["/list/1".into()])),
            "list" if n <= 30 => {
                let links = format!("<a href='/item/{n}'>item</a> <a href='/list/{}'>more</a>", n + 1);
                Response::html(
                    page("the category", &[]).replace("</ul>", &format!("</ul><nav>{links}</nav>")),
                )
            }
            "item" => Response::html(page(&format!("item {n}"), &[])),
            _ => Response::status(404),
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[traps]\ntemplate_credit = 20\n");
    crawl(&sandbox, &server, &["--config", config.to_str().unwrap()]);
    let records = sandbox.records("out.jsonl");
    let of = |folder: &str| records.iter().filter(|r| r["url"].as_str().unwrap().contains(folder)).count();
    assert_eq!((of("/list/"), of("/item/")), (30, 30), "{:#?}", sandbox.errors());
    let texts: BTreeSet<&str> = (records.iter())
        .filter(|r| r["url"].as_str().unwrap().contains("/list/"))
        .filter_map(|r| r["metadata"]["contentHash"].as_str())
        .collect();
    assert_eq!(texts.len(), 1, "the text of the listings is the same");
}

/// More links of one pattern than its account has, all without the slash of their pages. A redirect that adds
/// it costs nothing.
#[test]
fn redirects_that_add_a_slash_cost_no_credit() {
    let handler = |request: &Request| match request.path().strip_prefix("/item/") {
        Some(name) if name.ends_with('/') => Response::html(page(&format!("item {name}"), &[])),
        Some(name) => Response::redirect(301, &format!("/item/{name}/")),
        None => {
            let links: Vec<String> = (0..250).map(|n| format!("/item/{n}")).collect();
            Response::html(page("the start", &links))
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    crawl(&sandbox, &server, &[]);
    assert!(sandbox.errors().is_empty(), "{:?}", sandbox.errors());
    assert_eq!(sandbox.records("out.jsonl").len(), 251);
}

/// Seeds of any shape are fetched, and so are their redirect targets.
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

/// Seven pages, four broken links, and an error page without common words.
fn shop(error_status: u16) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
    let tree = Tree::of(7);
    move |request: &Request| {
        let real = tree.answer(request);
        if real.status == 200 {
            let more = (1..=4).map(|n| format!("<a href=\"/gone/{n}\">{n}</a>")).collect::<String>();
            let html = String::from_utf8(real.body).unwrap();
            return Response::html(html.replace("</main>", &format!("</main><footer>{more}</footer>")));
        }
        if request.path() == "/robots.txt" {
            return Response::status(404);
        }
        let html = format!(
            "<title>The shop</title><h1>Ahoy</h1><p>The gulls have taken {}, which happens to the best of shops. Have a \
             look at the offers of the week instead, or ask for the harbour master, who knows where things are kept.</p>",
            request.path()
        );
        Response { status: error_status, ..Response::html(html) }
    }
}

fn crawl_with_soft404(sandbox: &Sandbox, server: &Server, flags: &[&str], code: i32) -> String {
    let mut command = sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], flags].concat());
    run(command.env("CRAWL_CRAWL_SOFT404", "true")).expect(code).stderr
}

fn is_probe(target: &str) -> bool {
    target.contains("-nowhere")
}

fn probes(server: &Server) -> usize {
    server.targets().iter().filter(|target| is_probe(target)).count()
}

/// Pages like the answer to the probe are marked, and no others; the probe is requested once, and is neither
/// a record nor an error.
#[test]
fn error_pages_with_status_200_are_marked() {
    for flags in [&[][..], &["--host-concurrency", "8"]] {
        let (server, sandbox) = (Server::start(0, shop(200)).unwrap(), Sandbox::new());
        let summary = crawl_with_soft404(&sandbox, &server, flags, 0);
        assert_eq!(probes(&server), 1, "{:?}", server.targets());
        let records = sandbox.records("out.jsonl");
        assert_eq!(records.len(), 11);
        for record in &records {
            let marked = record["warnings"].as_array().unwrap().iter().any(|w| w == "soft_not_found");
            let url = record["url"].as_str().unwrap();
            assert_eq!(marked, url.contains("/gone/"), "{url}: {}", record["warnings"]);
        }
        assert!(sandbox.errors().is_empty(), "{:?}", sandbox.errors());
        assert!(summary.contains("4 soft 404s") && summary.contains("1 probe for error pages"), "{summary}");
    }
}

/// A host's answer to the probe is part of its state, so a resuming run does not repeat the probe.
#[test]
fn resumed_run_does_not_repeat_the_soft_404_probe() {
    let (server, sandbox) = (Server::start(0, shop(200)).unwrap(), Sandbox::new());
    let mut code = 5;
    // a run may reach its limit before the probe is answered: then its pages are not compared
    let mut unanswered = 0;
    for runs in 1.. {
        let before = probes(&server);
        crawl_with_soft404(&sandbox, &server, &["--limit", "4"], code);
        let asked = probes(&server);
        assert!(asked == 1 || (asked == 0 && runs == 1), "in run {runs}: {:?}", server.targets());
        let records = sandbox.records("out.jsonl").len();
        if before == 0 {
            unanswered = records;
        }
        if records == 11 {
            break;
        }
        code = if records == 8 { 0 } else { 5 };
    }
    assert!(unanswered < 11);
    for record in &sandbox.records("out.jsonl")[unanswered..] {
        let (url, marked) =
            (record["url"].as_str().unwrap(), record["warnings"].to_string().contains("soft_not_found"));
        // the answer came in an earlier run, and is compared with pages of the last
        assert_eq!(marked, url.contains("/gone/"), "{url}");
    }
}

/// Two programs on one host: the pages answer 404 correctly, the shop does not. Each section is probed once
/// it has pages.
#[test]
fn sections_are_probed_separately_for_soft_404s() {
    let handler = |request: &Request| match request.path() {
        "/" => {
            let links = (1..=14).flat_map(|n| [format!("/news/{n}"), format!("/shop/{n}")]);
            Response::html(page("the start", &links.collect::<Vec<_>>()))
        }
        "/shop/12" | "/shop/13" | "/shop/14" => Response::status(200),
        path => match path.split('/').collect::<Vec<_>>()[..] {
            ["", "news" | "shop", n] if n.len() < 3 => Response::html(page(path, &[])),
            ["", "shop", _] => Response::status(200),
            _ => Response::status(404),
        },
    };
    // the shop's answer for missing pages
    let handler = move |request: &Request| match handler(request) {
        lost if lost.status == 200 && lost.body.starts_with(b"200") => Response::html(format!(
            "<title>The shop</title><h1>Ahoy</h1><p>The gulls have taken {}, which happens to the best of shops. Have \
             a look at the offers of the week instead, or ask the harbour master where things are kept.</p>",
            request.path()
        )),
        other => other,
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    command.env("CRAWL_CRAWL_SOFT404", "true");
    // without delay all pages come before the answer
    command.env("CRAWL_DEDUP_RELEASE", "settled");
    run(&mut command).expect(0);
    // the first page to arrive probes its section, and that need not be the start page
    let asked = |below: &str| server.targets().iter().filter(|t| is_probe(t) && t.starts_with(below)).count();
    let (news, shop, all) = (asked("/news/"), asked("/shop/"), probes(&server));
    assert!(news == 1 && shop == 1 && all <= 3, "{:?}", server.targets());
    let records = sandbox.records("out.jsonl");
    let marked = records.iter().filter(|r| r["warnings"].to_string().contains("soft_not_found"));
    let mut marked: Vec<String> =
        marked.map(|r| r["url"].as_str().unwrap().replace(&server.url("/"), "/")).collect();
    marked.sort();
    assert_eq!(marked, ["/shop/12", "/shop/13", "/shop/14"]);
}

/// Eleven sections with pages enough for a probe: a host gets eight probes.
#[test]
fn soft_404_probes_are_limited_to_eight_sections() {
    let handler = |request: &Request| match request.path() {
        "/" => {
            let links = (0..11).flat_map(|section| (0..12).map(move |n| format!("/part{section}/{n}")));
            Response::html(page("the start", &links.collect::<Vec<_>>()))
        }
        path if path.starts_with("/part") && path.rsplit('/').next().is_some_and(|n| n.len() < 3) => {
            Response::html(page(path, &[]))
        }
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    run(command.env("CRAWL_CRAWL_SOFT404", "true")).expect(0);
    assert_eq!(probes(&server), 8, "{:?}", server.targets());
}

/// A host with correct 404s is probed once, too, and none of its pages is marked.
#[test]
fn failed_soft_404_probe_is_not_an_error() {
    for status in [404, 500] {
        let (server, sandbox) = (Server::start(0, shop(status)).unwrap(), Sandbox::new());
        crawl_with_soft404(&sandbox, &server, &[], 0);
        assert_eq!(probes(&server), 1);
        let records = sandbox.records("out.jsonl");
        assert_eq!(records.len(), 7);
        assert!(records.iter().all(|record| !record["warnings"].to_string().contains("soft_not_found")));
        let urls: Vec<String> = sandbox.errors().iter().map(|line| line["url"].to_string()).collect();
        assert!(urls.len() == 4 && urls.iter().all(|url| url.contains("/gone/")), "{urls:?}");
    }
}

/// A limit counts pages; a site with no more pages than the limit is finished.
#[test]
fn soft_404_probe_does_not_count_for_the_limit() {
    for (limit, code) in [("3", 0), ("2", 5)] {
        let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
        crawl_with_soft404(&sandbox, &server, &["--limit", limit], code);
        assert_eq!(sandbox.records("out.jsonl").len(), limit.parse::<usize>().unwrap());
    }
}

/// A robots.txt with redirects on its own host needs a turn for each, while requests that wait for it hold
/// the host's slots.
#[test]
fn a_robots_txt_that_redirects_does_not_hang() {
    let handler = |request: &Request| match request.target.strip_prefix("/robots.txt") {
        Some("?4") => Response::new(200, "text/plain", "User-agent: *\nDisallow: /private\n"),
        Some(hop) => {
            let hop: u8 = hop.trim_start_matches('?').parse().unwrap_or_default();
            Response::redirect(302, &format!("/robots.txt?{}", hop + 1))
        }
        None => Response::html(page(&request.target, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let seeds: Vec<String> = (0..9).map(|n| server.url(&format!("/p/{n}"))).collect();
    run(delayed(&sandbox, &seeds, "60ms").args(["--host-concurrency", "2"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 9);
}

/// A robots.txt with an invalid status is an error of the stage `robots` and of the kind `protocol`.
#[test]
fn non_http_robots_txt_is_a_robots_error() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::status(9999),
        _ => Response::html(page("start", &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(4);
    let [error] = &sandbox.errors()[..] else { panic!("{:?}", sandbox.errors()) };
    assert_eq!((&error["kind"], &error["stage"]), (&"protocol".into(), &"robots".into()), "{error}");
    assert!(error["message"].as_str().unwrap().starts_with("robots.txt: "), "{error}");
}

/// A name that does not exist is an answer: asking again gets the same one.
#[test]
fn unknown_host_name_is_not_retried() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.crawl(&["http://no-such-name.invalid/".into()], &["-O", "out.jsonl"]);
    // a retry would outlast the test
    let done = run(command.env("CRAWL_FETCH_BACKOFF", "10m").env("CRAWL_FETCH_MAX_BACKOFF", "10m")).expect(4);
    assert!(done.stderr.contains("no-such-name.invalid does not resolve"), "{}", done.stderr);
    assert_eq!(sandbox.errors()[0]["kind"], "dns");
}

/// A redirect to a session of the same page stays on the page, and robots.txt applies to its URL.
#[test]
fn robots_rules_apply_to_redirects_within_a_page() {
    let handler = |request: &Request| match request.target.as_str() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /*?PHPSESSID=\n"),
        "/a" => Response::redirect(302, "/a?PHPSESSID=0123456789abcdef"),
        target => Response::html(page(target, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut delayed(&sandbox, &[server.url("/a"), server.url("/b")], "0s")).expect(0);
    assert!(server.targets().iter().all(|target| !target.contains("PHPSESSID")), "{:?}", server.targets());
    assert_eq!(of_kind(&sandbox.errors(), "robots_disallowed").len(), 1);
}

/// Pages of two templates that lead to each other with a new session each, and always have the same text.
#[test]
fn endless_maze_is_abandoned() {
    let handler = |request: &Request| {
        let mut segments = request.path().split('/').skip(1);
        let (id, kind) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        let number: u64 = id.trim_start_matches('s').parse().unwrap_or_default();
        let other = if kind == "home" { "about" } else { "home" };
        match request.target.as_str() {
            "/robots.txt" => Response::status(404),
            _ => Response::html(page("The same as ever", &[format!("/s{}/{other}", number + 1)])),
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut command = delayed(&sandbox, &[server.url("/s1/home")], "0s");
    command.args(["--limit", "3000"]);
    run(&mut command).expect(0);
    let fetched = sandbox.records("out.jsonl").len();
    assert!((50..1_000).contains(&fetched), "{fetched} pages");
}
