//! Recrawls: a run after a finished round fetches due pages, conditionally if possible, and writes changed
//! ones.

use crate::{
    changing::{Changing, Nights},
    run::{self, Run, record, run},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use serde_json::Value;
use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
};

fn of(change: &str, targets: &[&str]) -> Vec<(String, String)> {
    let mut all: Vec<_> = targets.iter().map(|t| (change.to_owned(), (*t).to_owned())).collect();
    all.sort();
    all
}

#[test]
fn unchanged_site_gets_conditional_requests_and_no_changes() {
    let site = Changing::of(8);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    assert_eq!(first.records.len(), 10);
    assert!(first.records.iter().all(|r| r["metadata"]["change"] == "new"));
    for _ in 0..2 {
        let again = nights.next(&[]);
        assert_eq!(again.changes(&server), []);
        assert_eq!(again.targets(), first.targets(), "what is found through an unchanged page alone, too");
        assert!(again.asked.iter().all(|(_, conditional)| *conditional), "{:?}", again.asked);
        assert!(
            again.done.stderr.contains("0 new, 0 changed, 10 unchanged, 0 gone"),
            "{}",
            again.done.stderr
        );
    }
    let all = nights.next(&["--emit", "all"]);
    assert_eq!(all.changes(&server), of("unchanged", &first.targets()));
    let (was, now) =
        (record(&first.records, &server.url("/1.html")), record(&all.records, &server.url("/1.html")));
    // the file is new to the state, so each page has its text there
    assert_eq!((&now["text"], &now["id"]), (&was["text"], &was["id"]));
    assert_eq!(now["metadata"]["contentHash"], was["metadata"]["contentHash"]);
    assert_eq!(now["metadata"]["statusCode"], 200);
}

/// The validators of a truncated page do not apply under a higher limit: it is then fetched anew, in full.
#[test]
fn truncated_page_is_refetched_under_a_higher_limit() {
    let (site, long) = (Changing::of(4), "/1.html");
    let rest: String =
        (0..400).map(|n| format!("<p>Paragraph {n} of the long page says {n} things.</p>")).collect();
    site.set(long, |page| page.html = page.html.replace("</main>", &format!("{rest}</main>")));
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &[]);
    let limit = |limit| [("CRAWL_FETCH_MAX_BODY", limit)];
    let first = nights.next_with(&[], &limit("8 KiB"));
    assert!(!record(&first.records, &server.url(long))["text"].to_string().contains("Paragraph 399"));
    // the rest is unknown, so the page is fetched whole, and has not changed
    let again = nights.next_with(&["--recrawl", "all"], &limit("8 KiB"));
    assert_eq!(again.changes(&server), []);
    let conditional = |(target, conditional): &(String, bool)| *conditional == (target != long);
    assert!(again.asked.len() > 4 && again.asked.iter().all(conditional), "{:?}", again.asked);
    // no page is due for its age; this one is due for the limit
    let more = nights.next_with(&[], &limit("1 MiB"));
    assert_eq!(more.changes(&server), of("changed", &[long]));
    assert!(more.records[0]["text"].to_string().contains("Paragraph 399"));
    let known = nights.next_with(&["--recrawl", "all"], &limit("1 MiB"));
    assert_eq!(known.changes(&server), []);
    assert!(known.asked.iter().all(|(_, conditional)| *conditional), "{:?}", known.asked);
}

#[test]
fn changed_page_has_its_previous_content_hash() {
    let site = Changing::of(7);
    for target in ["/", "/1.html", "/3.html"] {
        site.set(target, |page| page.last_modified = Some("Sun, 01 Mar 2026 00:00:00 GMT".into()));
    }
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    site.set("/3.html", |p| {
        p.html = page("page number 3, now with news", &["/added".into()]);
        p.last_modified = Some("Mon, 02 Mar 2026 00:00:00 GMT".into());
    });
    site.put("/added", page("added since", &[]));
    let second = nights.next(&[]);
    let changes = [of("changed", &["/3.html"]), of("new", &["/added"])].concat();
    assert_eq!(second.changes(&server), changes);
    let conditional: Vec<_> = second.asked.iter().filter(|(_, c)| *c).map(|(t, _)| t.as_str()).collect();
    assert_eq!(conditional.len(), 3, "those with validators: {conditional:?}");
    let url = server.url("/3.html");
    let (was, now) = (&record(&first.records, &url)["metadata"], &record(&second.records, &url)["metadata"]);
    assert_eq!(now["previousContentHash"], was["contentHash"]);
    assert_ne!(now["contentHash"], was["contentHash"]);
    assert!(was["previousContentHash"].is_null());
    assert_eq!(nights.next(&[]).changes(&server), []);
}

/// Without validators the page is fetched whole: an identical body is not read again, and another body with
/// the same text is no change.
#[test]
fn a_new_timestamp_in_the_footer_is_no_change() {
    let site = Changing::of(9);
    let stamp = |day: u32| {
        for n in 1..=9 {
            let html = page(&format!("page number {n}"), &[]);
            let footer = format!("<footer>Generated on 2026-03-{day:02} at 04:0{n}</footer></body>");
            // like a footer without markup, which only other pages reveal
            let plain = format!(
                "<p>Last built on 2026-03-{day:02} at 04:0{n} by the machine in the cellar</p></main>"
            );
            site.put(&format!("/{n}.html"), html.replace("</body>", &footer).replace("</main>", &plain));
        }
    };
    stamp(1);
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    let text = record(&first.records, &server.url("/4.html"))["text"].as_str().unwrap();
    assert!(!text.contains("04:04"), "cleaning has removed it: {text}");
    stamp(2);
    let second = nights.next(&[]);
    assert_eq!(second.changes(&server), []);
    assert!(second.asked.iter().all(|(_, conditional)| !conditional));
    site.set("/4.html", |p| p.html = p.html.replace("What page", "What all these years page"));
    assert_eq!(nights.next(&[]).changes(&server), of("changed", &["/4.html"]));
}

#[test]
fn page_is_gone_after_two_such_answers() {
    let site = Changing::of(6);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    site.set("/2.html", |page| page.status = Some(404));
    site.set("/3.html", |page| page.status = Some(410));
    site.set("/4.html", |page| page.status = Some(500));
    let second = nights.next(&[]);
    assert_eq!(second.changes(&server), of("gone", &["/2.html", "/3.html"]));
    let asked = |target: &str| second.targets().iter().filter(|t| **t == target).count();
    assert_eq!([asked("/2.html"), asked("/3.html")], [2, 2], "asked for once more");
    let gone = record(&second.records, &server.url("/3.html"));
    let was = record(&first.records, &server.url("/3.html"));
    assert_eq!((gone["metadata"]["statusCode"].as_u64(), gone["text"].as_str()), (Some(410), Some("")));
    assert_eq!(gone["metadata"]["lastSeen"], was["metadata"]["fetchedAt"]);
    assert_eq!(gone["metadata"]["contentHash"], was["metadata"]["contentHash"]);
    assert!(second.done.stderr.contains("0 changed, 5 unchanged, 2 gone"), "{}", second.done.stderr);
    let report: Value = serde_json::from_str(&nights.sandbox.read("state/report.json")).unwrap();
    let mut named = report["changedPages"]["gone"].as_array().unwrap().clone();
    named.sort_by_key(ToString::to_string);
    assert_eq!(named, [server.url("/2.html"), server.url("/3.html")], "the report names them");
    let kinds: Vec<_> = nights.sandbox.errors().iter().map(|e| e["kind"].clone()).collect();
    assert_eq!(kinds, ["http_status"], "an error of the server is not the end of a page");

    site.set("/2.html", |page| page.status = None);
    site.set("/4.html", |page| page.status = None);
    let third = nights.next(&[]);
    assert_eq!(third.changes(&server), of("new", &["/2.html"]), "gone is told once; what is back is new");
}

/// A page that now asks to be left out is gone, and new if it is allowed again.
#[test]
fn withdrawn_page_is_gone() {
    let site = Changing::of(6);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    nights.next(&[]);
    let marked = |target: &str, word: &str| {
        let meta = format!("<head><meta name=\"robots\" content=\"{word}\">");
        site.set(target, |page| {
            page.html = page.html.replace("<head>", &meta);
            page.etag = Some(format!("\"{word}\""));
        });
    };
    marked("/2.html", "noindex");
    marked("/3.html", "noai");
    let second = nights.next(&[]);
    assert_eq!(second.changes(&server), of("gone", &["/2.html", "/3.html"]));
    let gone = record(&second.records, &server.url("/2.html"));
    assert_eq!((gone["metadata"]["statusCode"].as_u64(), gone["text"].as_str()), (Some(200), Some("")));
    assert!(nights.sandbox.errors().is_empty());

    let changed_start = |title: &str| {
        site.set("/", |page| {
            page.html = page.html.replacen("<p>", &format!("<p>{title} "), 1);
            page.etag = Some(format!("\"{title}\""));
        });
    };
    changed_start("This is the second start page.");
    let third = nights.next(&[]);
    assert_eq!(third.changes(&server), of("changed", &["/"]), "gone is told once");
    site.set("/2.html", |page| page.html = page.html.replace("noindex", "all"));
    site.set("/2.html", |page| page.etag = None);
    changed_start("This is the third start page.");
    let fourth = nights.next(&[]);
    let mut told = [of("changed", &["/"]), of("new", &["/2.html"])].concat();
    told.sort();
    assert_eq!(fourth.changes(&server), told);
}

#[test]
fn briefly_missing_page_is_not_gone() {
    let site = Changing::of(6);
    let asked = Arc::new(Mutex::new(0));
    let (inner, counted) = (site.clone(), Arc::clone(&asked));
    let server = Server::start(0, move |request: &Request| {
        let mut asked = counted.lock().unwrap_or_else(PoisonError::into_inner);
        *asked += u32::from(request.path() == "/2.html");
        // only its second request
        if request.path() == "/2.html" && *asked == 2 { Response::status(404) } else { inner.answer(request) }
    })
    .unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    nights.next(&[]);
    assert_eq!(nights.next(&[]).changes(&server), []);
    assert_eq!(*asked.lock().unwrap(), 3);
}

/// Stopped between the two answers: the next run makes the second request.
#[test]
fn possibly_gone_mark_survives_the_process() {
    let site = Changing::of(6);
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    nights.next(&[]);
    site.set("/2.html", |page| page.status = Some(404));
    let before = server.requests().len();
    let crawl = |output: &str| {
        let mut command =
            nights.sandbox.crawl(&nights.seeds, &["-o", output, "--recrawl", "all", "--emit", "changes"]);
        command.env("CRAWL_RECRAWL_CONFIRM_GONE", "2s");
        command
    };
    let stopped = Run::start(&mut crawl("stopped.jsonl"));
    let missing = |requests: &[Request]| requests[before..].iter().any(|r| r.target == "/2.html");
    assert!(server.wait(run::PATIENCE, missing), "{}", stopped.stderr_so_far());
    stopped.signal("TERM");
    stopped.wait();
    run(&mut crawl("later.jsonl")).expect(0);
    let read = |name| fs::read_to_string(nights.sandbox.path(name)).unwrap_or_default();
    // on a slow machine the first run may have made both requests
    let told: Vec<Value> =
        ["stopped.jsonl", "later.jsonl"].into_iter().flat_map(|n| run::lines(&read(n))).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["metadata"]["change"], "gone");
    let asked = server.requests()[before..].iter().filter(|r| r.target == "/2.html").count();
    assert!(asked >= 2, "{asked}");
}

fn sitemap(server: &Server, entries: &[(&str, &str)]) -> String {
    let urls: String = entries
        .iter()
        .map(|(target, lastmod)| {
            format!("<url><loc>{}</loc><lastmod>{lastmod}</lastmod></url>", server.url(target))
        })
        .collect();
    format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>")
}

#[test]
fn newer_lastmod_makes_pages_due() {
    let site = Changing::of(4);
    let server = site.serve();
    site.put("/robots.txt", format!("Sitemap: {}\n", server.url("/sitemap.xml")));
    let old = [("/1.html", "2025-01-01"), ("/2.html", "2025-01-01")];
    site.put("/sitemap.xml", sitemap(&server, &old));
    let mut nights = Nights::new(&server, &[]);
    assert_eq!(nights.next(&[]).records.len(), 6);
    site.put("/2.html", page("page number 2 of another year", &[]));
    site.put("/3.html", page("page number 3 of another year", &[]));
    site.put("/5.html", page("page number 5", &[]));
    let news = [("/1.html", "2025-01-01"), ("/2.html", "2099-01-01"), ("/5.html", "2099-01-01")];
    site.put("/sitemap.xml", sitemap(&server, &news));
    for mode in ["none", "auto", "changed"] {
        let brought = nights.next(&["--recrawl", mode]);
        let changes = match mode {
            "none" => of("new", &["/5.html"]),
            "auto" => of("changed", &["/2.html"]),
            _ => Vec::new(),
        };
        assert_eq!(brought.changes(&server), changes, "{mode}");
        let asked = match mode {
            "none" => vec!["/5.html", "/sitemap.xml"],
            // dated in the future, it is due in each round
            "auto" => vec!["/", "/2.html", "/5.html", "/sitemap.xml"],
            _ => vec!["/", "/2.html", "/5.html", "/sitemap.xml"],
        };
        assert_eq!(brought.targets(), asked, "{mode}");
    }
    let all = nights.next(&["--recrawl", "all"]);
    assert_eq!(all.changes(&server), of("changed", &["/3.html"]));
    // such a round is complete, though it has read a sitemap only
    let none = nights.next(&["--recrawl", "none"]);
    assert_eq!((none.targets(), none.records.len()), (vec!["/sitemap.xml"], 0));
}

#[test]
fn only_due_pages_are_requested() {
    let site = Changing::of(4);
    site.set("/2.html", |page| page.etag = Some("\"2\"".into()));
    let server = site.serve();
    let mut nights = Nights::new(&server, &[]);
    let all = nights.next(&[]).asked.len();
    assert_eq!(nights.next(&[]).targets(), ["/"], "min_age is not over; seeds are always asked");
    assert_eq!(nights.next(&["--recrawl", "changed"]).targets(), ["/", "/2.html"], "a 304 costs little");
    assert_eq!(nights.next(&["--recrawl", "none"]).targets(), Vec::<&str>::new());
    assert_eq!(nights.next(&["--recrawl", "changed", "--max-age", "0s"]).asked.len(), all);
    let due = nights.next(&["--min-age", "0s", "--max-age", "0s"]);
    assert_eq!(due.asked.len(), all);
}

#[test]
fn changed_rules_reread_every_page() {
    let site = Changing::of(6);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &[]);
    let first = nights.next(&[]);
    let second = nights.next(&["--links", "strip"]);
    assert!(second.done.stderr.contains("was made with other rules"), "{}", second.done.stderr);
    assert!(second.asked.iter().all(|(_, conditional)| !conditional));
    assert_eq!(second.asked.len(), first.asked.len());
    let with_links = first.records.iter().filter(|r| r["text"].as_str().unwrap().contains("](")).count();
    assert!(with_links > 0 && second.records.len() == with_links, "those whose texts had links");
    assert!(second.records.iter().all(|r| r["metadata"]["change"] == "changed"));
    let third = nights.next(&["--links", "strip", "--recrawl", "all"]);
    assert!(!third.done.stderr.contains("other rules"));
    assert!(third.asked.iter().all(|(_, conditional)| *conditional));
    assert_eq!(third.changes(&server), []);
}

/// The site's boilerplate was learned in the first round, and is removed from the few pages that change
/// later.
#[test]
fn boilerplate_is_remembered_across_rounds() {
    const SLOGAN: &str =
        "<p>The harbour office is open on all weekdays, and closed whenever the tide says so</p><h1>";
    let site = Changing::of(12);
    let with_slogan =
        |n: usize, title: &str| site.put(&format!("/{n}.html"), page(title, &[]).replace("<h1>", SLOGAN));
    (1..=12).for_each(|n| with_slogan(n, &format!("page number {n}")));
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    let text = |records: &[Value], target: &str| {
        record(records, &server.url(target))["text"].as_str().unwrap().to_owned()
    };
    assert!(!text(&first.records, "/3.html").contains("harbour office"));
    with_slogan(3, "page number 3 again");
    let second = nights.next(&[]);
    assert_eq!(second.changes(&server), of("changed", &["/3.html"]));
    let now = text(&second.records, "/3.html");
    assert!(now.contains("page number 3 again") && !now.contains("harbour office"), "{now}");
}

/// A site most of whose pages have changed: its new boilerplate counts.
#[test]
fn rebuilt_site_gets_new_boilerplate() {
    let site = Changing::of(12);
    let build = |year: u32, slogan: &str| {
        for n in 1..=12 {
            let html = page(&format!("page number {n} of {year}"), &[]);
            site.put(&format!("/{n}.html"), html.replace("<h1>", &format!("<p>{slogan}</p><h1>")));
        }
    };
    build(2025, "The harbour office is open on all weekdays, and closed whenever the tide says so");
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    nights.next(&[]);
    build(2026, "Ferries leave from the northern quay at every full hour, but for those that do not");
    let second = nights.next(&[]);
    assert_eq!(second.records.len(), 12);
    let text = record(&second.records, &server.url("/7.html"))["text"].as_str().unwrap();
    assert!(!text.contains("northern quay"), "{text}");
}

/// A new page with the text of a resting one is a duplicate.
#[test]
fn duplicates_are_known_across_rounds() {
    let site = Changing::of(5);
    site.tag_all();
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all"]);
    let first = nights.next(&[]);
    let copied = page("page number 4", &[]);
    site.put("/copy.html", copied);
    site.set("/2.html", |p| {
        p.html = page("page number 2", &["/copy.html".into()]);
        p.etag = Some("\"other\"".into());
    });
    let second = nights.next(&[]);
    let copy = record(&second.records, &server.url("/copy.html"));
    let original = record(&first.records, &server.url("/4.html"));
    assert_eq!(
        (&copy["metadata"]["duplicateOf"], &copy["metadata"]["change"]),
        (&original["id"], &"new".into())
    );
}

/// A state directory of version 3 of the store, written by the last program of that version, of `Tree::of(7)`
/// at HOST.
const VERSION_3: &str = include_str!("../../fixtures/states/version3.sql");

/// Copies the old state to the sandbox, with its site at the server's URL.
fn old_state(nights: &Nights<'_>) {
    let host = nights.server.url("").replace("http://", "");
    fs::create_dir_all(nights.sandbox.path("state")).unwrap();
    let state = rusqlite::Connection::open(nights.sandbox.path("state/crawl.sqlite")).unwrap();
    state.execute_batch(&VERSION_3.replace("HOST", &host)).unwrap();
    let mut select = state.prepare("SELECT id, url FROM urls").unwrap();
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (id, url) in rows.map(Result::unwrap).collect::<Vec<_>>() {
        state
            .execute("UPDATE urls SET key = ?2 WHERE id = ?1", (id, crawl_model::UrlKey::of(&url).0))
            .unwrap();
    }
}

#[test]
fn state_of_the_previous_version_is_upgraded() {
    let tree = Tree::of(7);
    let site = Changing::default();
    for (n, target) in (1..).zip(tree.targets()) {
        let children = [2 * n, 2 * n + 1].into_iter().filter(|m| *m <= 7).map(Tree::target);
        site.put(&target, page(&format!("page number {n}"), &children.collect::<Vec<_>>()));
        site.set(&target, |page| page.etag = Some(format!("\"{n}\"")));
    }
    site.put("/p/5.html", page("page number 5, which is another one now", &[]));
    site.set("/p/6.html", |page| page.status = Some(404));
    let server = site.serve();
    let mut nights = Nights::new(&server, &[]);
    old_state(&nights);
    let first = nights.next(&[]);
    assert!(first.done.stderr.contains("was made with other rules"), "{}", first.done.stderr);
    assert!(first.asked.iter().all(|(_, conditional)| !conditional), "{:?}", first.asked);
    assert_eq!(first.targets().len(), 8, "every page, and the one that is missing twice");
    let told = first.changes(&server);
    assert!(told.contains(&("changed".into(), "/p/5.html".into())), "{told:?}");
    assert!(told.contains(&("gone".into(), "/p/6.html".into())), "{told:?}");
    assert!(told.iter().all(|(change, _)| change != "new"), "{told:?}");
    let gone = record(&first.records, &server.url("/p/6.html"));
    assert!(gone["metadata"]["lastSeen"].as_str().unwrap().starts_with("2026-"), "{gone}");
    let second = nights.next(&["--recrawl", "all"]);
    assert_eq!(second.changes(&server), []);
    assert!(second.asked.iter().filter(|(_, conditional)| *conditional).count() >= 6, "{:?}", second.asked);
}
