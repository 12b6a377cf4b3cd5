//! Followed links: scope, depth, filters, and disabled robots.txt.

use crate::{
    run::{self, Sandbox, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// Paths in the records, of any host.
fn paths(sandbox: &Sandbox) -> BTreeSet<String> {
    let counts = url_counts(&sandbox.records("out.jsonl"));
    counts.into_keys().map(|url| url.split('/').skip(3).collect::<Vec<_>>().join("/")).collect()
}

fn set(items: &[&str]) -> BTreeSet<String> {
    items.iter().map(|&i| i.to_owned()).collect()
}

/// Each page links to all 120 pages, while the frontier has room for 20 at a time.
#[test]
fn links_refused_for_room_are_followed_later() {
    let links: Vec<String> = (0..120).map(|n| format!("/n{n}/page.html")).collect();
    let server = Server::start(0, move |request: &Request| Response::html(page(request.path(), &links)));
    let (server, sandbox) = (server.unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[traps]\nhost_urls = 20\n");
    let flags = ["--config", config.to_str().unwrap(), "-O", "out.jsonl"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 121);
    let lines = sandbox.errors();
    assert_eq!(lines.iter().filter(|line| line["kind"] == "trap_host_urls").count(), 1, "{lines:?}");
}

#[test]
fn depth_counts_links_from_the_seed() {
    let server = Server::start(0, Tree::of(31).handler()).unwrap();
    for (depth, pages) in [("0", 1), ("1", 3), ("3", 15), ("unlimited", 31)] {
        let sandbox = Sandbox::new();
        run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--depth", depth])).expect(0);
        let records = sandbox.records("out.jsonl");
        assert_eq!(records.len(), pages, "depth {depth}");
        for record in records {
            let n: u32 = record["url"]
                .as_str()
                .unwrap()
                .trim_end_matches(".html")
                .rsplit('/')
                .next()
                .unwrap()
                .parse()
                .unwrap_or(1);
            assert_eq!(record["metadata"]["depth"], n.ilog2(), "{}", record["url"]);
        }
    }
}

/// Pages a to d, each linking to all of the others.
fn letters(request: &Request) -> Response {
    let all: Vec<String> = ["a", "b", "c", "d"].iter().map(|l| format!("/{l}/page.html")).collect();
    match request.path() {
        "/" => Response::html(page("start", &all)),
        path if all.iter().any(|p| p == path) => Response::html(page(path, &all)),
        _ => Response::status(404),
    }
}

#[test]
fn include_and_exclude_choose_among_links_but_not_seeds() {
    let server = Server::start(0, letters).unwrap();
    for (flags, want) in [
        (vec!["--include", "/[ab]/"], set(&["", "a/page.html", "b/page.html"])),
        (vec!["--exclude", "/[ab]/"], set(&["", "c/page.html", "d/page.html"])),
        (vec!["--include", "/a/", "--include", "/b/", "--exclude", "/b/"], set(&["", "a/page.html"])),
    ] {
        let sandbox = Sandbox::new();
        let flags = [&["-O", "out.jsonl"], flags.as_slice()].concat();
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
        assert_eq!(paths(&sandbox), want, "{flags:?}");
        let asked: BTreeSet<String> =
            server.targets().into_iter().map(|t| t.trim_start_matches('/').to_owned()).collect();
        assert!(want.is_subset(&asked));
    }
}

#[test]
fn excluded_urls_are_not_requested() {
    let (server, sandbox) = (Server::start(0, letters).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--exclude", "/d/"])).expect(0);
    assert!(server.targets().iter().any(|t| t == "/c/page.html"));
    assert!(!server.targets().iter().any(|t| t.starts_with("/d/")));
}

/// An owner who complains gets no further request: the queue and the seed itself are left out too.
#[test]
fn exclusion_applies_to_queued_urls_and_seeds() {
    let (server, sandbox) = (Server::start(0, letters).unwrap(), Sandbox::new());
    let asked_by = |flags: &[&str]| {
        let before = server.targets().len();
        let flags = [&["-o", "out.jsonl"], flags].concat();
        let done = run(&mut sandbox.crawl(&[server.url("/")], &flags));
        (server.targets()[before..].to_vec(), done.stderr)
    };
    let (first, _) = asked_by(&["--limit", "1"]);
    assert!(first.iter().any(|target| target == "/"), "{first:?}");
    let host = format!("^{}", regex::escape(&server.url("/")));
    let (asked, summary) = asked_by(&["--exclude", &host]);
    assert_eq!(asked, Vec::<String>::new());
    assert!(summary.contains("excluded: "), "{summary}");
    let all = ["--recrawl", "all", "--emit", "all"];
    let (asked, _) = asked_by(&[&all, ["--exclude", host.as_str()].as_slice()].concat());
    assert_eq!(asked, Vec::<String>::new());
    assert_eq!(sandbox.errors(), Vec::<serde_json::Value>::new());
    // the pages that were left out are fetched once they are allowed
    asked_by(&[]);
    assert_eq!(paths(&sandbox), set(&["", "a/page.html", "b/page.html", "c/page.html", "d/page.html"]));
}

/// A pattern for pages may match the name of a sitemap. Its pages are fetched all the same.
#[test]
fn exclusion_of_pages_does_not_exclude_sitemaps() {
    let server = Server::start(0, |request: &Request| {
        let host = request.header("host").unwrap_or_default();
        match request.path() {
            "/robots.txt" => {
                Response::new(200, "text/plain", format!("Sitemap: http://{host}/sitemap.xml\n"))
            }
            "/sitemap.xml" => {
                let map = format!("<urlset><url><loc>http://{host}/a/page.html</loc></url></urlset>");
                Response::new(200, "application/xml", map)
            }
            path => Response::html(page(path, &["/feed.xml".to_owned()])),
        }
    });
    let (server, sandbox) = (server.unwrap(), Sandbox::new());
    let flags = ["-o", "out.jsonl", "--exclude", r"\.xml$"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    assert_eq!(paths(&sandbox), set(&["", "a/page.html"]));
    assert!(!server.targets().contains(&"/feed.xml".to_owned()));
}

/// Four names of one server: the seed's host, a subdomain, a sibling, and another domain.
#[test]
fn scope_is_host_subdomains_domain_or_any() {
    let handler = |request: &Request| {
        let host = request.header("host").unwrap_or_default().to_owned();
        let port = host.rsplit(':').next().unwrap_or_default();
        let links: Vec<String> =
            ["quay.harbour.example", "maps.quay.harbour.example", "shop.harbour.example", "gulls.example"]
                .iter()
                .map(|name| {
                    format!(
                        "http://{name}:{port}/from-{}",
                        if request.path() == "/" { "seed" } else { "there" }
                    )
                })
                .collect();
        match request.path() {
            "/" | "/from-seed" => Response::html(page(&format!("{host} {}", request.path()), &links)),
            _ => Response::status(404),
        }
    };
    let server = Server::start(0, handler).unwrap();
    let port = server.address().port();
    let names =
        ["quay.harbour.example", "maps.quay.harbour.example", "shop.harbour.example", "gulls.example"];
    let resolve: Vec<String> = names.iter().map(|name| format!("{name}:{port}:127.0.0.1")).collect();
    for (scope, hosts) in [("host", 1), ("subdomains", 2), ("domain", 3), ("any", 4)] {
        let sandbox = Sandbox::new();
        let mut crawl =
            sandbox.crawl(&[format!("http://{}:{port}/", names[0])], &["-O", "out.jsonl", "--scope", scope]);
        for value in &resolve {
            crawl.args(["--resolve", value]);
        }
        run(&mut crawl).expect(0);
        let found: BTreeSet<String> = sandbox
            .records("out.jsonl")
            .iter()
            .map(|r| r["metadata"]["domain"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(found, names[..hosts].iter().map(|n| format!("{n}:{port}")).collect(), "--scope {scope}");
    }
}

#[test]
fn ignore_robots_disables_all_robots_rules() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /kept/\n"),
        "/" => Response::html(
            page("start", &["/kept/a.html".into()])
                .replace("</ul>", "<li><a rel=\"nofollow\" href=\"/whispered.html\">w</a></li></ul>")
                .replace("</head>", "<meta name=\"robots\" content=\"noindex\"></head>"),
        ),
        path => Response::html(page(path, &[])).header("X-Robots-Tag", "noindex"),
    };
    let server = Server::start(0, handler).unwrap();
    let obeying = Sandbox::new();
    run(&mut obeying.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(0);
    assert_eq!(paths(&obeying), set(&[]));
    assert_eq!(server.targets(), ["/"], "one page was allowed to be read, and led nowhere");
    let ignoring = Sandbox::new();
    run(&mut ignoring.crawl(&[server.url("/")], &["-O", "out.jsonl", "--ignore-robots"])).expect(0);
    assert_eq!(paths(&ignoring), set(&["", "kept/a.html", "whispered.html"]));
}

/// RFC 9309 §2.3.1.4: a server error for robots.txt forbids everything.
#[test]
fn failing_robots_txt_forbids_the_host() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::status(503),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    run(crawl.env("CRAWL_FETCH_RETRIES", "1")).expect(4);
    assert_eq!(server.targets(), Vec::<String>::new());
    assert_eq!(sandbox.errors()[0]["stage"], "robots");
}

/// The URL that waits for a failing robots.txt requests it in each of its attempts, so a restart of the server costs no page.
#[test]
fn each_attempt_requests_a_failing_robots_txt() {
    let asked = AtomicU32::new(0);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" if asked.fetch_add(1, Relaxed) < 3 => Response::status(503),
        "/robots.txt" => Response::status(404),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    run(crawl.env("CRAWL_FETCH_RETRIES", "3").env("CRAWL_FETCH_BACKOFF", "50ms")).expect(0);
    assert_eq!(paths(&sandbox), set(&[""]));
}

/// A name that resolves to this machine, in the seed and in a link, is refused unless its network is allowed.
#[test]
fn private_addresses_are_refused_unless_allowed() {
    let (server, sandbox) = (Server::start(0, letters).unwrap(), Sandbox::new());
    sandbox.write("seeds.txt", server.url("/") + "\n");
    let mut crawl = sandbox.bare();
    crawl.args(["--seed", "seeds.txt", "--state-dir", "state", "-O", "out.jsonl", "--delay", "0s"]);
    run(&mut crawl).expect(4);
    assert!(server.requests().is_empty(), "nothing was sent");
    let errors = sandbox.errors();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0]["hint"].as_str().unwrap().contains("--allow-address 127.0.0.1/32"),
        "says what to do: {}",
        errors[0]
    );
    assert_eq!(errors[0]["attempts"], 1, "an address does not become public by waiting: {}", errors[0]);
}

#[test]
fn flags_override_environment_and_file() {
    let server = Server::start(0, Tree::of(15).handler()).unwrap();
    let sandbox = Sandbox::new();
    sandbox.write("settings.toml", "[crawl]\ndepth = 0\n");
    let crawl = |environment: Option<&str>, flags: &[&str]| {
        let flags = [&["-O", "out.jsonl", "--fresh"], flags].concat();
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        command.envs(environment.map(|depth| ("CRAWL_CRAWL_DEPTH", depth)));
        run(&mut command).expect(0);
        sandbox.records("out.jsonl").len()
    };
    let file = ["--config", "settings.toml"];
    assert_eq!(crawl(None, &[]), 15, "the default");
    assert_eq!(crawl(None, &file), 1, "the file");
    assert_eq!(crawl(Some("1"), &file), 3, "the environment");
    assert_eq!(crawl(Some("1"), &[file.as_slice(), &["--depth", "2"]].concat()), 7, "the flag");
}

/// The depth of a page is that of the shortest path, even if a longer one is faster. `/x.html` is found three
/// links away before the slow page that links to it directly has answered. Its links are still in reach.
#[test]
fn depth_is_that_of_the_shortest_path() {
    let handler = |request: &Request| {
        let to = |links: &[&str]| {
            let links: Vec<String> = links.iter().map(|l| format!("/{l}.html")).collect();
            Response::html(page(request.path(), &links))
        };
        match request.path() {
            "/" => to(&["slow", "quick"]),
            "/slow.html" => to(&["x"]).after(std::time::Duration::from_secs(2)),
            "/quick.html" => to(&["between"]),
            "/between.html" => to(&["x"]),
            "/x.html" => to(&["leaf"]),
            "/leaf.html" => to(&["too-far"]),
            _ => Response::status(404),
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--depth", "3", "--host-concurrency", "4"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let pages = ["", "slow.html", "quick.html", "between.html", "x.html", "leaf.html"];
    assert_eq!(paths(&sandbox), set(&pages));
    let records = sandbox.records("out.jsonl");
    let depth = |path: &str| run::record(&records, &server.url(path))["metadata"]["depth"].as_u64();
    assert_eq!((depth("/x.html"), depth("/leaf.html")), (Some(2), Some(3)));
}

/// robots.txt is evaluated for the token of the configured user agent.
#[test]
fn robots_txt_is_matched_with_the_configured_user_agent() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: other\nDisallow: /x.html\n"),
        "/" => Response::html(page("start", &["/x.html".into()])),
        _ => Response::html(page(request.path(), &[])),
    };
    for (agent, expected) in [("other/1.0 (+mailto:a@b.c)", 1), ("another/1.0", 2)] {
        let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
        run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--user-agent", agent])).expect(0);
        assert_eq!(sandbox.records("out.jsonl").len(), expected, "{agent}");
        assert!(server.requests().iter().all(|r| r.header("user-agent") == Some(agent)));
    }
}

/// The target of a seed's redirect is fetched despite the filters, since the user named the seed. A site's
/// sitemap is read even if its start page is filtered.
#[test]
fn filters_do_not_apply_to_seed_redirects_or_sitemaps() {
    let handler = |request: &Request| match request.path() {
        "/" => Response::redirect(302, "/home.html"),
        "/robots.txt" => {
            let host = request.header("host").unwrap_or_default();
            Response::new(200, "text/plain", format!("Sitemap: http://{host}/map.txt\n"))
        }
        "/map.txt" => Response::redirect(301, "/map2.txt"),
        "/map2.txt" => Response::redirect(301, "/map3.txt"),
        "/map3.txt" => {
            let host = request.header("host").unwrap_or_default();
            Response::new(200, "text/plain", format!("http://{host}/docs/a.html\nhttp://{host}/other.html\n"))
        }
        _ => Response::html(page(request.path(), &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--include", "/docs/"])).expect(0);
    assert_eq!(paths(&sandbox), set(&["home.html", "docs/a.html"]));
}

/// Pages that are reached by no link of a text: by a header, by the script of a page without text, by `rel=next`.
#[test]
fn pages_behind_headers_scripts_and_series_are_followed() {
    let handler = |request: &Request| match request.path() {
        "/" => Response::html(
            page("/", &["/header", "/script", "/notes.md"].map(String::from))
                .replace("</head>", "<link rel=next href=/2></head>"),
        ),
        "/header" => Response::html("<title>h</title>").header("Refresh", "0; url=/by-header"),
        "/script" => Response::html("<script>location.href = '/by-script'</script>"),
        "/notes.md" => {
            Response::new(200, "text/markdown", "# Notes\n\nA *text* with [a link](by-markdown).\n")
        }
        _ => Response::html(page(request.path(), &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(0);
    let found = ["", "header", "by-header", "script", "by-script", "notes.md", "by-markdown", "2"];
    assert_eq!(paths(&sandbox), set(&found));
    let records = sandbox.records("out.jsonl");
    let notes = records.iter().find(|record| record["url"].as_str().unwrap().ends_with(".md")).unwrap();
    assert_eq!(notes["text"], "# Notes\n\nA *text* with [a link](by-markdown).");
    assert_eq!(notes["metadata"]["title"], "Notes");
}
