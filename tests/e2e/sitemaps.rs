//! Sitemaps and feeds: every file is read once, whatever it names; then its entries.

use crate::{
    run::{Sandbox, run},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use crawl_model::{Frontier, UrlKey};
use crawl_store::SqliteStore;
use flate2::{Compression, write::GzEncoder};
use std::{io::Write, time::Duration};

fn xml(body: String) -> Response {
    Response::new(200, "application/xml", body)
}

fn index(paths: &[&str]) -> Response {
    let entries: String = paths.iter().map(|path| format!("<sitemap><loc>{path}</loc></sitemap>")).collect();
    xml(format!("<sitemapindex>{entries}</sitemapindex>"))
}

fn urls(paths: &[&str]) -> String {
    let entries: String = paths.iter().map(|path| format!("<url><loc>{path}</loc></url>")).collect();
    format!("<urlset>{entries}</urlset>")
}

fn rss(paths: &[&str]) -> Response {
    let items: String = paths.iter().map(|path| format!("<item><link>{path}</link></item>")).collect();
    Response::new(
        200,
        "application/rss+xml",
        format!("<rss version=\"2.0\"><channel>{items}</channel></rss>"),
    )
}

/// Crawls from `/` and returns the paths of the records, in order.
fn crawled(server: &Server, sandbox: &Sandbox, flags: &[&str]) -> Vec<String> {
    let flags = [&["-O", "out.jsonl"], flags].concat();
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let mut paths: Vec<String> = sandbox
        .records("out.jsonl")
        .iter()
        .map(|record| record["url"].as_str().unwrap().replace(&server.url("/"), "/"))
        .collect();
    paths.sort();
    paths
}

fn asked(server: &Server, target: &str) -> usize {
    server.targets().iter().filter(|t| *t == target).count()
}

/// An index with itself, duplicate, moved, missing, invalid and compressed files, and nested indexes.
#[test]
fn sitemaps_are_read_once_up_to_the_depth_limit() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "Sitemap: /index.xml\nSitemap: /text.txt\n"),
        "/index.xml" => index(&[
            "/index.xml",
            "/one.xml",
            "/one.xml",
            "/moved.xml",
            "/lost.xml",
            "/none.xml",
            "/deep/1.xml",
        ]),
        "/one.xml" => xml(urls(&["/one"])),
        "/moved.xml" => Response::redirect(301, "/two.xml.gz"),
        "/two.xml.gz" => {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(urls(&["/two"]).as_bytes()).unwrap();
            Response::new(200, "application/gzip", gzip.finish().unwrap())
        }
        "/none.xml" => Response::html(page("no sitemap at all", &[])),
        "/text.txt" => {
            Response::new(200, "text/plain", format!("http://{}/three\n", request.header("host").unwrap()))
        }
        path => match path.strip_prefix("/deep/").and_then(|n| n.strip_suffix(".xml")?.parse::<u8>().ok()) {
            Some(n) => index(&[&format!("/deep/{}.xml", n + 1)]),
            None if path.ends_with(".xml") => Response::status(404),
            None => Response::html(page(path, &[])),
        },
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    assert_eq!(crawled(&server, &sandbox, &[]), ["/", "/one", "/three", "/two"]);
    for path in ["/index.xml", "/one.xml", "/two.xml.gz", "/lost.xml", "/deep/3.xml"] {
        assert_eq!(asked(&server, path), 1, "{path}");
    }
    assert_eq!(asked(&server, "/deep/4.xml"), 0, "{:?}", server.targets());
    let mut kinds: Vec<String> = sandbox.errors().iter().map(|line| line["kind"].to_string()).collect();
    kinds.sort();
    assert_eq!(kinds, ["\"http_status\"", "\"sitemap\""], "{:?}", sandbox.errors());
}

/// robots.txt may name sitemaps on any host, an index may not; their total number is bounded.
#[test]
fn sitemaps_are_limited_and_foreign_only_by_robots_txt() {
    let other = Server::start(0, |request: &Request| match request.path() {
        "/named.xml" => index(&["/child.xml"]),
        _ => xml(urls(&[])),
    })
    .unwrap();
    let named = other.url("/named.xml");
    let foreign = other.url("/foreign.xml");
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(
            200,
            "text/plain",
            format!("Sitemap: {named}\nSitemap: /index.xml\nSitemap: /one.xml\n"),
        ),
        "/index.xml" => {
            let many: Vec<String> = (0..40).map(|n| format!("/many/{n}.xml")).collect();
            let all: Vec<&str> =
                [foreign.as_str()].into_iter().chain(many.iter().map(String::as_str)).collect();
            index(&all)
        }
        "/one.xml" => xml(urls(&["/one"])),
        path if path.ends_with(".xml") => xml(urls(&[])),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[crawl]\nsitemap_files = 10\n");
    assert_eq!(crawled(&server, &sandbox, &["--config", config.to_str().unwrap()]), ["/", "/one"]);
    let files = |server: &Server| server.targets().iter().filter(|t| t.ends_with(".xml")).count();
    assert_eq!(files(&server) + files(&other), 10, "{:?} {:?}", server.targets(), other.targets());
    assert_eq!(asked(&other, "/named.xml"), 1);
    assert_eq!(asked(&other, "/foreign.xml"), 0);
    let lines = sandbox.errors();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["kind"], "trap_sitemaps");
}

/// A robots.txt may name sitemaps of foreign hosts, each of which would need its own robots.txt.
#[test]
fn sitemap_hosts_outside_the_scope_are_limited() {
    let strangers: Vec<Server> = (0..10)
        .map(|n| {
            Server::start(0, move |request: &Request| match (n, request.path()) {
                (1, "/robots.txt") => Response::new(200, "text/plain", "User-agent: *\nDisallow: /\n"),
                (2, "/map.xml") => Response::status(503),
                (3, "/map.xml") => Response::status(503).header("Retry-After", "1"),
                (_, "/map.xml") => index(&["http://127.0.0.9:9/child.xml", "/child.xml"]),
                _ => xml(urls(&[])),
            })
            .unwrap()
        })
        .collect();
    let lines: Vec<String> =
        strangers.iter().map(|server| format!("Sitemap: {}\n", server.url("/map.xml"))).collect();
    let robots = lines.concat() + "Sitemap: /own.xml\n";
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", robots.clone()),
        "/own.xml" => xml(urls(&["/own"])),
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    assert_eq!(
        crawled(&server, &sandbox, &[]),
        ["/", "/own"],
        "files of the host itself are read all the same"
    );
    let all = |server: &Server| server.requests().into_iter().map(|request| request.target).collect();
    let asked: Vec<Vec<String>> = strangers.iter().map(all).collect();
    assert_eq!(asked[0], ["/robots.txt", "/map.xml", "/child.xml"], "none but its own host may be led to");
    assert_eq!(asked[1], ["/robots.txt"], "it says no");
    assert_eq!(asked[2], ["/robots.txt", "/map.xml"], "a host in trouble is not asked again");
    assert_eq!(asked[3], ["/robots.txt", "/map.xml", "/map.xml"], "it says when to come again");
    assert!(asked[4..].iter().all(Vec::is_empty), "{asked:?}");
    let line = |kind: &str| sandbox.errors().iter().filter(|line| line["kind"] == kind).count();
    assert_eq!(line("trap_sitemap_hosts"), 1, "{:?}", sandbox.errors());

    let (config, sandbox) = ("[crawl]\nsitemap_hosts = 0\n", Sandbox::new());
    let config = sandbox.write("crawl.toml", config);
    crawled(&server, &sandbox, &["--config", config.to_str().unwrap()]);
    assert_eq!(strangers[0].requests().len(), 3, "none if the operator wants none");
}

/// A file with the maximum number of URLs of maximum length takes some hundred megabytes of state.
#[test]
fn sitemap_urls_per_host_in_the_frontier_are_limited() {
    let limits =
        [("host_urls = 50", "trap_host_urls", 60), ("host_bytes = \"100 KiB\"", "trap_host_bytes", 100)];
    for (limit, kind, most) in limits {
        let handler = |request: &Request| match request.path() {
            "/robots.txt" => {
                let files: String = (0..4).map(|n| format!("Sitemap: /map{n}.xml\n")).collect();
                Response::new(200, "text/plain", files)
            }
            path if path.ends_with(".xml") => {
                let long = "x".repeat(1_000);
                let entries: String = (0..500)
                    .map(|n| format!("<url><loc>/p{path}/{n}/{long}</loc><lastmod>{long}</lastmod></url>"))
                    .collect();
                xml(format!("<urlset>{entries}</urlset>"))
            }
            path => Response::html(page(path, &[])).after(Duration::from_millis(200)),
        };
        let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
        let config = sandbox.write("crawl.toml", format!("[traps]\n{limit}\n"));
        let flags = ["--config", config.to_str().unwrap(), "--limit", "9", "-O", "out.jsonl"];
        let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(5);
        let lines = sandbox.errors();
        let told: Vec<_> = lines.iter().filter(|line| line["kind"] == kind).collect();
        assert_eq!(told.len(), 1, "one line a host: {lines:?}");
        assert!(told[0].to_string().len() < 1_500, "{}", told[0]);
        assert!(told[0]["urlKey"].is_string());
        let store = SqliteStore::open_read_only(&sandbox.path("state")).unwrap();
        let pending = store.counts().unwrap().pending;
        assert!(pending <= most, "{limit}: {pending} URLs are stored");
        let setting = limit.split(' ').next().unwrap();
        let mut status = sandbox.bare();
        status.args(["status", "--state-dir", "state"]);
        status.env(format!("CRAWL_TRAPS_{}", setting.to_uppercase()), "20");
        let status = run(&mut status).expect(0).stdout;
        assert!(status.contains(&format!("no room for more: traps.{setting}")), "{status}");
        let counted = done.stderr.split(&format!("{kind}: ")).nth(1).unwrap();
        let counted: u64 = counted.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
        assert!(counted + pending >= 2_000 - 20, "{counted} are counted and {pending} pending of 2,000");
    }
}

/// A sitemap may be read after its pattern has lost its credit. Then its first URLs are stored for samples. A sample with a new
/// text gives the pattern credit again.
#[test]
fn sitemap_urls_of_an_exhausted_pattern_are_sampled() {
    let dead = pages_of_a_late_sitemap(1_300, false);
    assert!(dead <= 12, "{dead} of 1,300");
    let live = pages_of_a_late_sitemap(120, true);
    assert!(live >= 100, "{live} of 120");
}

/// Words that no other path has.
fn words(path: &str) -> String {
    (0..40).map(|n| format!("{} ", path.replace('/', "w").replace('t', &format!("t{n}x")))).collect()
}

/// Number of fetched pages of a sitemap whose pattern has lost its credit to the pages that the start page links to.
fn pages_of_a_late_sitemap(entries: usize, is_live: bool) -> usize {
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "Sitemap: /a.xml\n"),
        // two levels deeper than the links of the start page
        "/a.xml" => index(&["/b.xml"]),
        "/b.xml" => index(&["/c.xml"]),
        "/c.xml" => {
            let all: Vec<String> = (1_000..1_000 + entries).map(|n| format!("/t/{n}")).collect();
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            xml(urls(&all))
        }
        "/" => {
            let links: Vec<String> = (0..12).map(|n| format!("/t/{n}")).collect();
            Response::html(page("start", &links))
        }
        path if is_live && path.len() == "/t/1000".len() => Response::html(page(&words(path), &[])),
        _ => Response::html("<html><body><p>Nothing here.</p></body></html>"),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let config = sandbox.write("crawl.toml", "[traps]\ntemplate_credit = 6\n");
    crawled(&server, &sandbox, &["--config", config.to_str().unwrap(), "--depth", "9"]);
    assert_eq!(asked(&server, "/c.xml"), 1);
    let known = SqliteStore::open_read_only(&sandbox.path("state")).unwrap();
    let is_stored = |n: usize| known.history(UrlKey::of(&server.url(&format!("/t/{n}")))).unwrap().is_some();
    assert!(is_stored(1_110) && !is_stored(2_299), "the first 1,000 are in the state");
    let lines = sandbox.errors();
    let of_file = |n: usize| lines.iter().any(|line| line["url"] == server.url(&format!("/t/{n}")));
    assert!(!of_file(2_299), "the file has lines for some");
    server
        .targets()
        .iter()
        .filter(|target| target.starts_with("/t/") && target.len() == "/t/1000".len())
        .count()
}

#[test]
fn sitemap_urls_are_checked_for_traps() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "Sitemap: /map.xml\n"),
        "/map.xml" => {
            let deep: Vec<String> = (0..30).map(|n| format!("/{}{n}", "x/y/z/".repeat(9))).collect();
            let all: Vec<&str> = deep.iter().map(String::as_str).chain(["/fine"]).collect();
            xml(urls(&all))
        }
        path => Response::html(page(path, &[])),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    assert_eq!(crawled(&server, &sandbox, &[]), ["/", "/fine"]);
    let lines = sandbox.errors();
    assert_eq!(lines.len(), 20, "{lines:?}");
    assert!(lines.iter().all(|line| line["kind"] == "trap_path_depth"));
    assert!(lines.iter().any(|line| line["message"].as_str().unwrap().contains("10 more")), "{lines:?}");
}

/// State for a later round: validators of the response, and the sitemap's `lastmod`.
#[test]
fn validators_and_lastmod_are_kept_with_the_page() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "Sitemap: /map.xml\n"),
        "/map.xml" => xml("<urlset><url><loc>/</loc><lastmod>2026-10-01</lastmod></url>\
             <url><loc>/listed</loc><lastmod>2026-11-02T03:04:05Z</lastmod></url></urlset>"
            .to_owned()),
        path => Response::html(page(path, &[]))
            .header("ETag", "\"v7\"")
            .header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT"),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    assert_eq!(crawled(&server, &sandbox, &[]), ["/", "/listed"]);
    let store = SqliteStore::open_read_only(&sandbox.path("state")).unwrap();
    let history = store.history(UrlKey::of(&server.url("/listed"))).unwrap().unwrap();
    assert_eq!(history.etag.as_deref(), Some("\"v7\""));
    assert_eq!(history.last_modified.as_deref(), Some("Sun, 01 Nov 2026 00:00:00 GMT"));
    assert_eq!(history.sitemap_lastmod.as_deref(), Some("2026-11-02T03:04:05Z"));
}

/// A blog that names the same feeds on every page, and one for the comments of each page.
fn blog(request: &Request) -> Response {
    let feed = |path: &str, media: &str| format!("<link rel=\"alternate\" type=\"{media}\" href=\"{path}\">");
    let html = |links: &[String]| {
        let path = request.path();
        let feeds = [
            feed("/feed/", "application/rss+xml"),
            feed("http://other.invalid/feed", "application/rss+xml"),
            feed("/fr/", "text/html"),
            feed(&format!("{path}comments.atom"), "application/atom+xml; charset=utf-8"),
        ];
        Response::html(page(path, links).replace("</head>", &(feeds.concat() + "</head>")))
    };
    match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "Sitemap: /news.rss\n"),
        "/news.rss" => rss(&["/news/1"]),
        "/" => html(&["/post/1/".into(), "/post/2/".into(), "/post/3/".into(), "/post/4/".into()]),
        "/feed/" => rss(&["/post/1/", "/old/1", "/old/2"]),
        path if path.ends_with("comments.atom") => {
            let entry =
                format!("<entry><link href=\"{}said\"/></entry>", path.trim_end_matches("comments.atom"));
            Response::new(
                200,
                "application/atom+xml",
                format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{entry}</feed>"),
            )
        }
        _ => html(&[]),
    }
}

#[test]
fn feeds_named_by_pages_are_limited_per_host() {
    let (server, sandbox) = (Server::start(0, blog).unwrap(), Sandbox::new());
    let paths = crawled(&server, &sandbox, &[]);
    for path in ["/", "/post/1/", "/post/4/", "/news/1", "/old/1", "/old/2", "/said"] {
        assert!(paths.iter().any(|p| p == path), "{path} is not in {paths:?}");
    }
    let comments = server.targets().iter().filter(|t| t.ends_with("comments.atom")).count();
    assert_eq!((asked(&server, "/feed/"), comments), (1, 3), "four feeds: {:?}", server.targets());
    assert_eq!(asked(&server, "/fr/"), 0);
    assert!(sandbox.errors().is_empty(), "what is out of scope is not asked for: {:?}", sandbox.errors());
}

#[test]
fn feed_that_is_also_linked_is_read_as_a_feed() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        "/feed/" => rss(&["/old/1"]),
        path => {
            let feed = "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed/\"></head>";
            Response::html(page(path, &["/feed/".into()]).replace("</head>", feed))
        }
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    assert_eq!(crawled(&server, &sandbox, &[]), ["/", "/old/1"]);
    assert_eq!(asked(&server, "/feed/"), 1);
}

/// The pages of a file are one link away, and their links are followed. A file without pages of the host says so.
#[test]
fn seed_that_is_a_sitemap_or_feed_leads_to_its_pages() {
    let json = r#"{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/page/1"}]}"#;
    let handler = move |request: &Request| match request.path() {
        "/sitemap.xml" => xml(urls(&["/page/1"])),
        "/feed" => rss(&["/page/1"]),
        "/feed.json" => Response::new(200, "application/feed+json", json),
        "/other.xml" => xml(urls(&["http://other.invalid/"])),
        "/data.xml" => xml("<data/>".to_owned()),
        "/source.tar.gz" => Response::new(200, "application/gzip", "\u{1f}"),
        path if path.starts_with("/page/") => Response::html(page(path, &["/page/2".into()])),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let crawl = |path: &str, flags: &[&str], code| {
        let flags = [&["-O", "out.jsonl", "--fresh"], flags].concat();
        run(&mut sandbox.crawl(&[server.url(path)], &flags)).expect(code)
    };
    for path in ["/sitemap.xml", "/feed", "/feed.json"] {
        crawl(path, &[], 0);
        let found = sandbox.records("out.jsonl");
        let depth = |record: &serde_json::Value| record["metadata"]["depth"].as_u64();
        let mut found: Vec<_> =
            found.iter().map(|r| (r["url"].as_str().unwrap().to_owned(), depth(r))).collect();
        found.sort();
        let want = |path: &str, depth| (server.url(path), Some(depth));
        assert_eq!(found, [want("/page/1", 1), want("/page/2", 2)], "{path}");
    }
    for (path, flags, words) in [
        ("/other.xml", &[][..], "--scope domain"),
        ("/data.xml", &[], "(sniffed_type)"),
        ("/source.tar.gz", &[], "(content_type)"),
        ("/feed", &["--depth", "0"], "not with --depth 0"),
    ] {
        let done = crawl(path, flags, 4);
        assert!(done.stderr.contains(words), "{path}: {}", done.stderr);
        assert!(sandbox.errors().is_empty(), "{path}: {:?}", sandbox.errors());
    }
    assert_eq!(asked(&server, "/source.tar.gz"), 1);
}

#[test]
fn no_feeds_skips_feeds_not_named_by_robots_txt() {
    let (server, sandbox) = (Server::start(0, blog).unwrap(), Sandbox::new());
    let paths = crawled(&server, &sandbox, &["--no-feeds"]);
    assert_eq!(paths, ["/", "/news/1", "/post/1/", "/post/2/", "/post/3/", "/post/4/"]);
    assert_eq!(asked(&server, "/feed/"), 0);
}

#[test]
fn feed_entries_have_the_depth_of_links() {
    let depths = |limit: &str| {
        let (server, sandbox) = (Server::start(0, blog).unwrap(), Sandbox::new());
        // the first four feeds depend on the order of the pages
        let config = sandbox.write("crawl.toml", "[crawl]\nfeeds = \"unlimited\"\n");
        crawled(&server, &sandbox, &["--depth", limit, "--config", config.to_str().unwrap()]);
        let records = sandbox.records("out.jsonl");
        let depth = |path: &str| {
            let record = records.iter().find(|record| record["url"] == server.url(path));
            record.map(|record| record["metadata"]["depth"].as_u64().unwrap())
        };
        ["/", "/old/1", "/post/1/", "/post/1/said"].map(depth)
    };
    assert_eq!(depths("0"), [Some(0), None, None, None]);
    assert_eq!(depths("1"), [Some(0), Some(1), Some(1), None]);
    assert_eq!(depths("2"), [Some(0), Some(1), Some(1), Some(2)]);
}

/// A sitemap on a host that does not exist, and from which no page is wanted, is requested once and does not
/// delay the run.
#[test]
fn sitemap_on_an_unknown_host_is_requested_once() {
    let tree = Tree::of(3);
    let handler = move |request: &Request| match request.path() {
        "/robots.txt" => Response::new(
            200,
            "text/plain",
            "Sitemap: http://no-such-name.invalid/sitemap.xml\nUser-agent: *\nAllow: /\n",
        ),
        _ => tree.answer(request),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 3);
    let errors = sandbox.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0]["kind"].as_str(), errors[0]["attempts"].as_u64()), (Some("dns"), Some(1)));
}
