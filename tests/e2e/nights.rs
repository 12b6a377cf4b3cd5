//! Changes of the web between two nights: servers with wrong validators, pages with new content in every
//! answer, moved pages, hosts that are down. Each is reported correctly or not at all.

use crate::{
    changing::{Changing, Nights},
    kills::kill_after,
    run::{self, record, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

fn of(change: &str, targets: &[&str]) -> Vec<(String, String)> {
    targets.iter().map(|target| (change.to_owned(), (*target).to_owned())).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

/// Wrong validators of all kinds: they cost the page's bytes, and no change is reported.
#[test]
fn wrong_validators_report_no_change() {
    let site = Changing::of(7);
    let (inner, count) = (site.clone(), AtomicUsize::new(0));
    let server = Server::start(0, move |request: &Request| {
        let n = count.fetch_add(1, Ordering::Relaxed);
        let answer = inner.answer(request);
        let conditional =
            request.header("if-none-match").or_else(|| request.header("if-modified-since")).is_some();
        match request.path() {
            "/1.html" => answer.header("ETag", &format!("\"{n}\"")),
            "/2.html" => answer.header("Last-Modified", &format!("Sun, 01 Mar 2026 00:{:02}:00 GMT", n % 60)),
            // like a server that tags its compressed pages, and does not recognise the tag
            "/3.html" => {
                let body = gzip(&answer.body);
                let answer = Response { body, ..answer }.header("Content-Encoding", "gzip");
                answer.header("ETag", "W/\"3-gzip\"").header("Vary", "Accept-Encoding")
            }
            // compressed at random, by another machine each time
            "/4.html" if n % 2 == 0 => {
                let body = gzip(&answer.body);
                Response { body, ..answer }.header("Content-Encoding", "gzip").header("ETag", "\"4-gzip\"")
            }
            "/4.html" => answer.header("ETag", "\"4\""),
            "/5.html" if request.header("if-none-match") == Some("W/\"five\"") => Response::status(304),
            "/5.html" => answer.header("ETag", "W/\"five\""),
            // not modified, although no tag was ever sent
            "/6.html" if n > 20 && !conditional => Response::status(304),
            // another tag with the answer 304
            "/7.html" if conditional => Response::status(304).header("ETag", &format!("\"{n}\"")),
            "/7.html" => answer.header("ETag", "\"seven\""),
            _ => answer,
        }
    })
    .unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    assert_eq!(nights.next(&[]).records.len(), 9);
    while server.requests().len() <= 20 {
        assert_eq!(nights.next(&[]).changes(&server), []);
    }
    for _ in 0..2 {
        let again = nights.next(&[]);
        assert_eq!(again.changes(&server), []);
        let conditional: Vec<_> =
            again.asked.iter().filter(|(_, c)| *c).map(|(target, _)| target.as_str()).collect();
        assert!(
            ["/1.html", "/2.html", "/3.html", "/4.html", "/5.html", "/7.html"]
                .iter()
                .all(|t| conditional.contains(t))
        );
    }
    site.put("/1.html", page("page number 1 at last", &[]));
    site.put("/3.html", page("page number 3 at last", &[]));
    assert_eq!(nights.next(&[]).changes(&server), of("changed", &["/1.html", "/3.html"]));
}

/// Always 200, and always other bytes: tokens in the head, in forms and scripts, times and numbers in the
/// footer.
#[test]
fn per_response_tokens_and_times_are_no_change() {
    let site = Changing::of(9);
    let (inner, count) = (site.clone(), AtomicUsize::new(0));
    let server = Server::start(0, move |request: &Request| {
        let n = count.fetch_add(1, Ordering::Relaxed);
        let answer = inner.answer(request);
        if answer.status != 200 || request.path() == "/robots.txt" {
            return answer;
        }
        let token = format!("{:032x}", (n as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834));
        let head = format!(
            "<meta name=csrf-token content={token}><script nonce=\"{token}\">var t = \"{token}\";</script></head>"
        );
        let form = format!(
            "<form action=/search><input type=hidden name=_token value={token}><input name=q></form>\
             <footer><p>Page rendered in 0.{n:03} seconds at {:02}:{:02}, request {token}</p></footer><!-- {token} --></body>",
            n / 60 % 24, n % 60
        );
        let html = String::from_utf8(answer.body.clone()).unwrap();
        let body = html.replace("</head>", &head).replace("</body>", &form).into_bytes();
        Response { body, ..answer }
    })
    .unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    assert_eq!(first.records.len(), 11);
    for _ in 0..3 {
        assert_eq!(nights.next(&[]).changes(&server), []);
    }
    site.put("/4.html", page("page number 4 with news", &[]));
    assert_eq!(nights.next(&[]).changes(&server), of("changed", &["/4.html"]));
}

#[test]
fn page_replaced_by_the_error_page_has_a_warning() {
    let site = Changing::of(12);
    let missing = "<!DOCTYPE html><html lang=en><head><title>Not found</title></head><body><main><h1>Page not found</h1>\
                   <p>There is nothing at this address any more, or there never was anything.</p></main></body></html>";
    let inner = site.clone();
    let server = Server::start(0, move |request: &Request| match inner.answer(request) {
        answer if answer.status == 404 && request.path() != "/robots.txt" => Response::html(missing),
        answer => answer,
    })
    .unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let soft = [("CRAWL_CRAWL_SOFT404", "true")];
    nights.next_with(&[], &soft);
    site.put("/5.html", missing.to_owned());
    let second = nights.next_with(&[], &soft);
    assert_eq!(second.changes(&server), of("changed", &["/5.html"]));
    let told = record(&second.records, &server.url("/5.html"));
    let warnings = told["warnings"].as_array().unwrap();
    assert!(warnings.contains(&"soft_not_found".into()), "{told}");
    assert_eq!(nights.next_with(&[], &soft).changes(&server), []);
}

/// A moved page is new at its new URL. The old URL is not reported, and is unchanged when it is back.
#[test]
fn newly_redirecting_page_is_neither_changed_nor_gone() {
    let site = Changing::of(7);
    site.tag_all();
    let (inner, moved) = (site.clone(), Arc::new(AtomicUsize::new(0)));
    let on = Arc::clone(&moved);
    let server = Server::start(0, move |request: &Request| match request.path() {
        _ if on.load(Ordering::Relaxed) == 0 => inner.answer(request),
        "/2.html" => Response::redirect(301, "/moved"),
        "/3.html" => Response::redirect(302, "/4.html"),
        "/5.html" => Response::redirect(308, "http://elsewhere.test/5.html"),
        "/6.html" => Response::redirect(302, "/6.html"),
        _ => inner.answer(request),
    })
    .unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    assert_eq!(nights.next(&[]).records.len(), 9);
    site.put("/moved", page("where number 2 is now, with a text of its own", &[]));
    moved.store(1, Ordering::Relaxed);
    assert_eq!(nights.next(&[]).changes(&server), of("new", &["/moved"]));
    assert_eq!(nights.next(&[]).changes(&server), []);
    moved.store(0, Ordering::Relaxed);
    let back = nights.next(&[]);
    assert_eq!(back.changes(&server), []);
    let old: Vec<_> =
        back.asked.iter().filter(|(target, _)| ["/2.html", "/5.html"].contains(&target.as_str())).collect();
    assert!(old.len() == 2 && old.iter().all(|(_, conditional)| *conditional), "{old:?}");
}

/// A host that does not answer has lost no pages, and still has them when it is back.
#[test]
fn pages_of_an_unreachable_host_are_not_gone() {
    let site = Changing::of(6);
    site.tag_all();
    let server = site.serve();
    let port = server.address().port();
    let (up, down) = (format!("up.test:{port}:127.0.0.1"), format!("moody.test:{port}:127.0.0.1"));
    // no server listens there
    let away = format!("moody.test:{port}:127.0.0.9");
    let mut nights = Nights::new(&server, &["--recrawl", "all", "--resolve", &up]);
    nights.seeds = vec![format!("http://up.test:{port}/"), format!("http://moody.test:{port}/")];
    assert_eq!(nights.next(&["--resolve", &down]).records.len(), 16);
    let second = nights.next_with(&["--resolve", &away], &[("CRAWL_POLITENESS_BREAK_FOR", "20ms")]);
    assert_eq!(second.records, Vec::<Value>::new());
    assert_eq!(nights.sandbox.errors().len(), 8, "one line a page of the host");
    let third = nights.next(&["--resolve", &down]);
    assert_eq!(third.records, Vec::<Value>::new());
    assert!(third.asked.iter().all(|(_, conditional)| *conditional), "what is known of it was kept");
    assert_eq!(third.asked.len(), 16);
}

/// A page that robots.txt now forbids is neither requested nor gone; once allowed again, it is unchanged.
#[test]
fn newly_disallowed_page_is_not_gone() {
    let site = Changing::of(6);
    site.tag_all();
    site.put("/robots.txt", "User-agent: *\nDisallow: /nothing\n".into());
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let now = [("CRAWL_FETCH_ROBOTS_MAX_AGE", "1ms")];
    let all = nights.next_with(&[], &now).asked.len();
    site.put("/robots.txt", "User-agent: *\nDisallow: /2.html\nDisallow: /3.html\n".into());
    site.set("/3.html", |p| {
        p.html = page("page number 3 behind closed doors", &[]);
        p.etag = Some("\"other\"".into());
    });
    let second = nights.next_with(&[], &now);
    assert_eq!(second.changes(&server), []);
    assert_eq!(second.asked.len(), all - 2);
    site.put("/robots.txt", "User-agent: *\nDisallow:\n".into());
    assert_eq!(nights.next_with(&[], &now).changes(&server), of("changed", &["/3.html"]));
}

#[test]
fn each_change_names_the_previous_content_hash() {
    let site = Changing::of(5);
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    let url = server.url("/2.html");
    let mut before = record(&first.records, &url)["metadata"]["contentHash"].clone();
    let original = before.clone();
    for (title, change) in [("again", "changed"), ("once more", "changed"), ("", "changed")] {
        site.put("/2.html", page(format!("page number 2 {title}").trim(), &[]));
        let night = nights.next(&[]);
        assert_eq!(night.changes(&server), of(change, &["/2.html"]));
        let told = &record(&night.records, &url)["metadata"];
        assert_eq!(told["previousContentHash"], before);
        before = told["contentHash"].clone();
    }
    assert_eq!(before, original, "as it was at first");
    // gone, back as another page, and gone again
    for (status, change) in [(Some(410), "gone"), (None, "new"), (Some(404), "gone"), (None, "new")] {
        site.set("/2.html", |page| page.status = status);
        assert_eq!(nights.next(&[]).changes(&server), of(change, &["/2.html"]));
        assert_eq!(nights.next(&[]).changes(&server), []);
    }
}

/// With `--emit all` each page of the site has one record per round.
#[test]
fn emit_all_writes_each_page_once_per_round() {
    let site = Changing::of(8);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all", "--emit", "all"]);
    nights.next(&[]);
    site.set("/2.html", |p| {
        p.html = page("page number 2 with news", &["/added".into()]);
        p.etag = None;
    });
    site.put("/added", page("what was added", &[]));
    site.set("/3.html", |page| page.status = Some(404));
    // other bytes with the same text
    site.set("/4.html", |page| {
        page.html = page.html.replace("<main>", "<main id=m>");
        page.etag = None;
    });
    let second = nights.next(&[]);
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (change, target) in second.changes(&server) {
        told.entry(change).or_default().push(target);
    }
    assert_eq!(told["new"], ["/added"]);
    assert_eq!(told["changed"], ["/2.html"]);
    assert_eq!(told["gone"], ["/3.html"]);
    assert_eq!(
        told["unchanged"],
        ["/", "/1.html", "/4.html", "/5.html", "/6.html", "/7.html", "/8.html", "/hidden"]
    );
}

/// Killed several times in the second night: each change is reported exactly once.
#[test]
fn killed_recrawl_reports_each_change_once() {
    let site = Changing::of(40);
    let (inner, slow) = (site.clone(), Arc::new(AtomicUsize::new(0)));
    let pause = Arc::clone(&slow);
    let server = Server::start(0, move |request: &Request| {
        let pause = std::time::Duration::from_millis(pause.load(Ordering::Relaxed) as u64);
        inner.answer(request).after(pause)
    })
    .unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    assert_eq!(nights.next(&[]).records.len(), 42);
    let mut expected = Vec::new();
    for n in (1..40).step_by(5) {
        let (changed, gone) = (format!("/{n}.html"), format!("/{}.html", n + 2));
        site.put(&changed, page(&format!("page number {n} with news"), &["/added".into(), "/hidden".into()]));
        site.set(&gone, |page| page.status = Some(404));
        expected.extend([("changed".to_owned(), changed), ("gone".to_owned(), gone)]);
    }
    site.put("/added", page("what was added", &[]));
    expected.push(("new".to_owned(), "/added".to_owned()));
    expected.sort();
    slow.store(10, Ordering::Relaxed);
    let crawl = || {
        let flags =
            ["-o", "second.jsonl", "--recrawl", "all", "--emit", "changes", "--host-concurrency", "3"];
        let mut command = nights.sandbox.crawl(&nights.seeds, &flags);
        command.env("CRAWL_RECRAWL_CONFIRM_GONE", "20ms").env("CRAWL_OUTPUT_BATCH", "3");
        command
    };
    for more in [3, 9, 15, 6] {
        kill_after(&server, &mut crawl(), more);
    }
    slow.store(0, Ordering::Relaxed);
    run(&mut crawl()).expect(0);
    let records = nights.sandbox.records("second.jsonl");
    let mut told: Vec<(String, String)> = records
        .iter()
        .map(|r| {
            let target = r["url"].as_str().unwrap().replace(&server.url(""), "");
            (r["metadata"]["change"].as_str().unwrap().to_owned(), target)
        })
        .collect();
    told.sort();
    assert_eq!(told, expected);
    assert_eq!(nights.next(&[]).changes(&server), []);
}

/// A host whose fingerprint has changed since its first pages were cleaned: that is no change of the pages.
#[test]
fn learned_boilerplate_does_not_change_pages() {
    let site = Changing::of(40);
    let notice = "<p>This notice stands on the later pages of the site, and on none of those that came first to be read</p><h1>";
    let with_notice = |n: usize, title: &str| {
        let html = page(title, &[]);
        site.put(&format!("/{n}.html"), if n > 12 { html.replace("<h1>", notice) } else { html });
    };
    (1..=40).for_each(|n| with_notice(n, &format!("page number {n}")));
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let settled = [("CRAWL_DEDUP_SETTLE_PAGES", "8")];
    let first = nights.next_with(&[], &settled);
    // pages may overtake each other, so none of them is checked by name
    let noticed: Vec<&Value> =
        first.records.iter().filter(|r| run::content(r).contains("This notice")).collect();
    let kept = noticed.iter().filter(|r| r["text"].as_str().unwrap().contains("This notice")).count();
    assert_eq!(noticed.len(), 28);
    assert!(0 < kept && kept < 28, "it learns as it goes on: {kept}");
    // other bytes everywhere, and one changed page
    for n in 1..=40 {
        site.set(&format!("/{n}.html"), |page| page.html = page.html.replace("<main>", "<main id=m>"));
    }
    with_notice(20, "page number 20 with news");
    assert_eq!(nights.next_with(&[], &settled).changes(&server), of("changed", &["/20.html"]));
    assert_eq!(nights.next_with(&[], &settled).changes(&server), []);
}

/// Left-out duplicates are not in the output: they are judged anew each night and reported once they differ.
#[test]
fn dropped_duplicate_is_reported_once_it_differs() {
    let site = Changing::default();
    // so different that no two are near duplicates
    let text = |family: usize| -> String {
        let words: String = (0..120).map(|i| format!("word{} ", (i * 31 + family * 1009) % 9973)).collect();
        page(&format!("page number {family}"), &[]).replace("<ul>", &format!("<p>{words}</p><ul>"))
    };
    site.put(
        "/",
        text(1).replace("<ul>", "<ul><li><a href=/a>a</a><li><a href=/b>b</a><li><a href=/c>c</a>"),
    );
    site.put("/a", text(2));
    site.put("/b", text(2));
    site.put("/c", text(3));
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all", "--drop-duplicates"]);
    let first = nights.next(&[]);
    assert_eq!(first.records.len(), 3);
    let a_is_kept = first.records.iter().any(|record| record["url"] == server.url("/a"));
    let (kept, dropped) = if a_is_kept { ("/a", "/b") } else { ("/b", "/a") };
    assert_eq!(nights.next(&[]).changes(&server), []);
    site.put(dropped, text(4));
    assert_eq!(nights.next(&[]).changes(&server), of("new", &[dropped]));
    assert_eq!(nights.next(&[]).changes(&server), []);
    site.put(dropped, text(2));
    let back = nights.next(&[]);
    assert_eq!(back.changes(&server), [], "it repeats another one again, and so is not told");
    site.set(kept, |page| page.status = Some(404));
    let mut told = nights.next(&[]).changes(&server);
    told.extend(nights.next(&[]).changes(&server));
    told.sort();
    assert_eq!(told, [of("changed", &[dropped]), of("gone", &[kept])].concat());
}

/// The scope is a setting of each run: if it is wider than before, links of unchanged pages are followed
/// further too.
#[test]
fn wider_scope_follows_links_of_unchanged_pages() {
    let site = Changing::of(5);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &[]);
    let narrow = ["--recrawl", "all", "--depth", "1", "--exclude", "/[45]"];
    assert_eq!(nights.next(&narrow).records.len(), 4);
    assert_eq!(nights.next(&narrow).changes(&server), []);
    let second = nights.next(&["--recrawl", "auto"]);
    assert_eq!(second.changes(&server), of("new", &["/4.html", "/5.html", "/hidden"]));
    let third = nights.next(&["--recrawl", "all"]);
    assert_eq!(third.changes(&server), []);
    assert!(third.asked.iter().all(|(_, conditional)| *conditional), "{:?}", third.asked);
}
