//! Runs whose output or text settings are new to the state: none ends with a file that lacks pages in
//! silence.

use crate::{
    changing::Changing,
    kills::kill_after,
    run::{Run, Sandbox, lines, run, url_counts},
    support::server::{Request, Response, Server},
};
use crawl_archive::{Body, Item, ReadOptions, read_file};
use std::{
    collections::BTreeMap,
    fs,
    io::BufRead,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

fn site() -> Server {
    Changing::of(6).serve()
}

#[test]
fn output_new_to_the_state_exits_with_2() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl"]).expect(0);
    let state = fs::read(sandbox.path("state/crawl.sqlite")).unwrap();
    for flags in
        [&["-o", "b.jsonl"][..], &["-O", "b.jsonl"], &["-o", "b.jsonl", "--emit", "all"], &["-o", "-"]]
    {
        let asked = server.requests().len();
        let refused = crawl(flags).expect(2);
        assert_eq!(refused.stderr.lines().count(), 6, "{}", refused.stderr);
        for way in ["a.jsonl", "--fresh", "--recrawl all --emit all", "--state-dir", "--emit changes"] {
            assert!(refused.stderr.contains(way), "{way}: {}", refused.stderr);
        }
        assert_eq!(server.requests().len(), asked, "it asks for nothing");
        assert!(!sandbox.path("b.jsonl").exists());
    }
    assert_eq!(fs::read(sandbox.path("state/crawl.sqlite")).unwrap(), state);
    crawl(&["-o", "a.jsonl"]).expect(0);
    assert_eq!(sandbox.records("a.jsonl").len(), 8);
}

#[test]
fn whole_round_fills_a_new_output() {
    let site = Changing::of(6);
    site.tag_all();
    let (server, sandbox) = (site.serve(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl"]).expect(0);
    crawl(&["-o", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(0);
    let text = |name: &str| {
        let mut texts: Vec<_> =
            sandbox.records(name).iter().map(|r| (r["url"].to_string(), r["text"].to_string())).collect();
        texts.sort();
        texts
    };
    assert_eq!(text("b.jsonl"), text("a.jsonl"));
    assert!(sandbox.records("b.jsonl").iter().all(|r| r["metadata"]["change"] == "unchanged"));
    // known from here on: a page that is unchanged has no text again
    crawl(&["-o", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(0);
    let second = sandbox.records("b.jsonl").split_off(8);
    assert!(second.len() == 8 && second.iter().all(|r| r["text"] == ""), "{second:?}");
}

#[test]
fn emit_changes_writes_only_changes_to_a_new_output() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "monday.jsonl"]).expect(0);
    crawl(&["-o", "tuesday.jsonl", "--recrawl", "all", "--emit", "changes"]).expect(0);
    assert_eq!(sandbox.read("tuesday.jsonl"), "");
}

#[test]
fn changed_text_settings_exit_with_2_and_are_named() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl"]).expect(0);
    let settings = [
        ("output.fields", &["--fields", "url,text"][..]),
        ("without --lean", &["--lean"]),
        ("dedup.enabled", &["--no-dedup"]),
    ];
    for (name, flags) in settings {
        let flags = [&["-o", "a.jsonl"], flags].concat();
        let refused = crawl(&flags).expect(2);
        for word in [name, "--fresh", "--recrawl all --emit all"] {
            assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
        }
        assert_eq!(sandbox.records("a.jsonl").len(), 8);
    }
    crawl(&["-O", "a.jsonl", "--fields", "url,text", "--recrawl", "all", "--emit", "all"]).expect(0);
    let records = lines(&sandbox.read("a.jsonl"));
    assert!(records.len() == 8 && records.iter().all(|r| r["text"] != "" && r.get("metadata").is_none()));
    crawl(&["-o", "a.jsonl", "--fields", "url,text"]).expect(0);
}

#[test]
fn stopped_round_refuses_another_output() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-o", "a.jsonl", "--limit", "3"]).expect(5);
    let refused = crawl(&["-o", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(2);
    assert!(
        refused.stderr.contains("a.jsonl") && !refused.stderr.contains("--recrawl"),
        "{}",
        refused.stderr
    );
    crawl(&["-o", "a.jsonl"]).expect(0);
    let counts = url_counts(&sandbox.records("a.jsonl"));
    assert!(counts.len() == 8 && counts.values().all(|n| *n == 1), "{counts:?}");
}

/// `crawl URL | head` looks at a site. It must not take a page from the crawl that comes after.
#[test]
fn a_run_to_standard_output_leaves_no_state() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |flags: &[&str]| {
        let mut command = sandbox.bare();
        command.arg(server.url("/")).args(["--delay", "0s", "--allow-address", "127.0.0.0/8"]).args(flags);
        command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        command
    };
    let look = run(&mut crawl(&["--depth", "0"])).expect(0);
    assert_eq!(lines(&look.stdout).len(), 1);
    assert!(look.stderr.contains("--state-dir"), "{}", look.stderr);
    let (head, mut reader) = Run::start_reading(&mut crawl(&[]));
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    head.wait().expect(0);
    let states = fs::read_dir(sandbox.path(".local/state/crawl")).unwrap().count();
    assert_eq!(states, 0, "a state was left");
    run(&mut crawl(&["-o", "all.jsonl"])).expect(0);
    assert_eq!(sandbox.records("all.jsonl").len(), 8);
}

/// A night with few changes leaves the whole site in the file of -O, and a night without any does not empty it.
#[test]
fn replaced_output_always_holds_the_current_state() {
    for name in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"] {
        let site = Changing::of(6);
        let (server, sandbox) = (site.serve(), Sandbox::new());
        let crawl = |flags: &[&str]| {
            let mut command = sandbox.crawl(&[server.url("/")], &[&["-O", name], flags].concat());
            command.env("CRAWL_RECRAWL_MODE", "all").env("CRAWL_RECRAWL_CONFIRM_GONE", "20ms");
            run(&mut command).expect(0)
        };
        crawl(&[]);
        let first = texts_of_output(&sandbox, name);
        assert_eq!(first.len(), 8, "{name}");
        crawl(&[]);
        assert_eq!(texts_of_output(&sandbox, name), first, "{name}: a night without changes");
        crawl(&["--emit", "all"]);
        assert_eq!(texts_of_output(&sandbox, name), first, "{name}: all pages fetched whole");
        crawl(&["--emit", "all", "--recrawl", "auto"]);
        assert_eq!(texts_of_output(&sandbox, name), first, "{name}: no page is due");
        site.set("/3.html", |page| page.html = page.html.replace("What page", "What all these years page"));
        site.set("/4.html", |page| page.status = Some(410));
        site.set("/5.html", |page| page.status = Some(500));
        crawl(&[]);
        let mut expected = first.clone();
        expected.remove(&server.url("/4.html"));
        let changed = expected.get_mut(&server.url("/3.html")).unwrap();
        *changed = changed.replace("What page", "What all these years page");
        assert_eq!(texts_of_output(&sandbox, name), expected, "{name}: 3 has changed, 4 is gone, 5 failed");
        if name == "pages/" {
            continue;
        }
        site.set("/6.html", |page| page.html = page.html.replace("What page", "What some"));
        crawl(&["--emit", "changes"]);
        assert_eq!(texts_of_output(&sandbox, name).len(), 1, "{name}: the changes alone");
    }
}

/// A whole round over a known file: a page that fails keeps its record, and a page that is gone leaves. Kills change nothing
/// of it.
#[test]
fn a_whole_round_keeps_the_records_of_pages_that_fail() {
    for name in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"] {
        let site = Changing::of(12);
        let (inner, slow) = (site.clone(), Arc::new(AtomicU64::new(0)));
        let pause = Arc::clone(&slow);
        let server = Server::start(0, move |request: &Request| {
            inner.answer(request).after(Duration::from_millis(pause.load(Ordering::Relaxed)))
        })
        .unwrap();
        let sandbox = Sandbox::new();
        let crawl = |flags: &[&str]| {
            let mut command = sandbox.crawl(&[server.url("/")], &[&["-O", name], flags].concat());
            command.env("CRAWL_RECRAWL_CONFIRM_GONE", "20ms").env("CRAWL_OUTPUT_BATCH", "2");
            command
        };
        run(&mut crawl(&[])).expect(0);
        let mut expected = texts_of_output(&sandbox, name);
        assert_eq!(expected.len(), 14, "{name}");
        site.set("/3.html", |page| page.html = page.html.replace("What page", "What all these years page"));
        site.set("/4.html", |page| page.status = Some(410));
        site.set("/5.html", |page| page.status = Some(500));
        site.set("/6.html", |page| page.status = Some(403));
        expected.remove(&server.url("/4.html"));
        let changed = expected.get_mut(&server.url("/3.html")).unwrap();
        *changed = changed.replace("What page", "What all these years page");
        let whole = ["--recrawl", "all", "--emit", "all"];
        slow.store(10, Ordering::Relaxed);
        for more in [3, 6, 2] {
            kill_after(&server, &mut crawl(&whole), more);
        }
        slow.store(0, Ordering::Relaxed);
        run(&mut crawl(&whole)).expect(0);
        assert_eq!(texts_of_output(&sandbox, name), expected, "{name}");
        site.set("/5.html", |page| page.status = None);
        run(&mut crawl(&[])).expect(0);
        assert_eq!(texts_of_output(&sandbox, name), expected, "{name}: 5 is back");
    }
}

/// A whole round that fills a new file is killed. The command without its flags goes on with it, into no other output and
/// with no other text.
#[test]
fn a_whole_round_that_was_killed_resumes_without_its_flags() {
    for (flag, name, fields) in
        [("-O", "b.jsonl", &[][..]), ("-O", "a.jsonl", &["--fields", "url,text"]), ("-o", "b.jsonl", &[])]
    {
        let site = Changing::of(12);
        site.tag_all();
        let (inner, slow) = (site.clone(), Arc::new(AtomicU64::new(0)));
        let pause = Arc::clone(&slow);
        let server = Server::start(0, move |request: &Request| {
            inner.answer(request).after(Duration::from_millis(pause.load(Ordering::Relaxed)))
        })
        .unwrap();
        let sandbox = Sandbox::new();
        let crawl = |flags: &[&str]| {
            let mut command = sandbox.crawl(&[server.url("/")], flags);
            command.env("CRAWL_OUTPUT_BATCH", "2");
            command
        };
        run(&mut crawl(&["-O", "a.jsonl"])).expect(0);
        let plain = [&[flag, name], fields].concat();
        let whole = [&plain[..], &["--recrawl", "all", "--emit", "all"]].concat();
        slow.store(10, Ordering::Relaxed);
        kill_after(&server, &mut crawl(&whole), 6);
        kill_after(&server, &mut crawl(&plain), 4);
        slow.store(0, Ordering::Relaxed);
        let changes = [&plain[..], &["--emit", "changes"]].concat();
        let other = [&[flag, "c.jsonl"], fields].concat();
        let text = [&whole[..], &["--no-dedup"]].concat();
        for (flags, said) in [(&changes, "--emit all"), (&other, name), (&text, "dedup.enabled")] {
            let refused = run(&mut crawl(flags)).expect(2);
            assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
            assert!(
                !refused.stderr.contains("writes only new"),
                "advice that is refused: {}",
                refused.stderr
            );
        }
        run(&mut crawl(&plain)).expect(0);
        let counts = url_counts(&lines(&sandbox.read(name)));
        assert!(counts.len() == 14 && counts.values().all(|n| *n == 1), "{flag} {name}: {counts:?}");
        run(&mut crawl(&plain)).expect(0);
    }
}

/// A failed page of a whole round is visited again after its end: any other command is as free as after other rounds.
#[test]
fn finished_whole_round_does_not_bind_later_runs() {
    let site = Changing::of(6);
    let (server, sandbox) = (site.serve(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    crawl(&["-O", "a.jsonl"]).expect(0);
    site.set("/5.html", |page| page.status = Some(500));
    crawl(&["-O", "b.jsonl", "--recrawl", "all", "--emit", "all"]).expect(0);
    site.set("/5.html", |page| page.status = None);
    let main = sandbox.crawl(&[server.url("/")], &["-o", "changes.jsonl", "--emit", "changes"]);
    run(sandbox.bare().arg("retry-errors").args(main.get_args())).expect(0);
}

#[test]
fn a_refused_retry_of_failed_pages_changes_nothing() {
    let (site, sandbox) = (Changing::of(6), Sandbox::new());
    site.set("/5.html", |page| page.status = Some(410));
    let server = site.serve();
    let crawl = |flags: &[&str]| sandbox.crawl(&[server.url("/")], flags);
    run(&mut crawl(&["-o", "a.jsonl"])).expect(0);
    let (state, asked) = (fs::read(sandbox.path("state/crawl.sqlite")).unwrap(), server.requests().len());
    let retry = |flags: &[&str]| run(sandbox.bare().arg("retry-errors").args(crawl(flags).get_args()));
    for flags in [&["-o", "b.jsonl"][..], &["-o", "a.jsonl", "--lean"]] {
        let refused = retry(flags).expect(2);
        assert!(!refused.stderr.contains("failed URLs again"), "{}", refused.stderr);
    }
    assert_eq!(fs::read(sandbox.path("state/crawl.sqlite")).unwrap(), state);
    assert_eq!(server.requests().len(), asked, "it asks for nothing");
    site.set("/5.html", |page| page.status = None);
    retry(&["-o", "a.jsonl"]).expect(0);
    assert_eq!(sandbox.records("a.jsonl").len(), 8);
}

/// Pages that a limit left out of a new file come into it as soon as the limit is gone.
#[test]
fn pages_skipped_while_filling_a_file_become_due() {
    let (server, sandbox) = (site(), Sandbox::new());
    let limit = sandbox.write("limit.toml", "[[site]]\nmatch = \"127.0.0.1\"\nlimit = 3\n");
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags)).expect(0);
    crawl(&["-O", "a.jsonl"]);
    let config = limit.to_str().unwrap();
    crawl(&["-O", "b.jsonl", "--recrawl", "all", "--emit", "all", "--config", config]);
    assert_eq!(lines(&sandbox.read("b.jsonl")).len(), 3);
    crawl(&["-O", "b.jsonl"]);
    let counts = url_counts(&lines(&sandbox.read("b.jsonl")));
    assert!(counts.len() == 8 && counts.values().all(|n| *n == 1), "{counts:?}");
}

/// A page that redirects while a new file is filled is not asked each night. It comes into the file when it is back.
#[test]
fn page_redirected_while_filling_is_written_on_return() {
    let site = Changing::of(6);
    let (inner, moved) = (site, Arc::new(AtomicU64::new(0)));
    let redirects = Arc::clone(&moved);
    let server = Server::start(0, move |request: &Request| {
        if request.path() == "/5.html" && redirects.load(Ordering::Relaxed) > 0 {
            return Response::redirect(302, "/1.html");
        }
        inner.answer(request)
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags)).expect(0);
    crawl(&["-O", "a.jsonl"]);
    moved.store(1, Ordering::Relaxed);
    crawl(&["-O", "b.jsonl", "--recrawl", "all", "--emit", "all"]);
    let asked = |path: &str| server.requests().iter().filter(|request| request.path() == path).count();
    let before = (asked("/"), asked("/5.html"));
    crawl(&["-O", "b.jsonl"]);
    assert_eq!((asked("/"), asked("/5.html")), (before.0 + 1, before.1), "a seed is asked, the page is not");
    assert_eq!(url_counts(&lines(&sandbox.read("b.jsonl"))).get(&server.url("/5.html")), None);
    moved.store(0, Ordering::Relaxed);
    crawl(&["-O", "b.jsonl", "--recrawl", "all"]);
    let counts = url_counts(&lines(&sandbox.read("b.jsonl")));
    assert!(counts.len() == 8 && counts.values().all(|n| *n == 1), "{counts:?}");
}

/// A page that failed in the round that filled a new file is unchanged at its next visit. It is written all the same, once.
#[test]
fn page_failed_while_filling_is_written_later() {
    let whole = ["--recrawl", "all", "--emit", "all"];
    let fields = ["--fields", "url,text,metadata.change"];
    for (flag, more) in [("-o", &[][..]), ("-O", &[]), ("-O", &fields)] {
        let site = Changing::of(6);
        site.tag_all();
        let (server, sandbox) = (site.serve(), Sandbox::new());
        let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags)).expect(0);
        crawl(&["-O", "a.jsonl"]);
        site.set("/5.html", |page| page.status = Some(500));
        // other fields make the same file new
        let name = if more.is_empty() { "b.jsonl" } else { "a.jsonl" };
        let to_new = [&[flag, name], more].concat();
        crawl(&[&to_new, &whole[..]].concat());
        let urls = || url_counts(&lines(&sandbox.read(name)));
        assert_eq!((urls().len(), urls().get(&server.url("/5.html"))), (7, None));
        // still failing, then back in a run that writes changes to a file of its own
        crawl(&to_new);
        site.set("/5.html", |page| page.status = None);
        if more.is_empty() {
            crawl(&["-o", "changes.jsonl", "--emit", "changes"]);
            assert_eq!(sandbox.read("changes.jsonl"), "");
        }
        crawl(&to_new);
        let found = lines(&sandbox.read(name));
        let back = found.iter().find(|record| record["url"] == server.url("/5.html")).unwrap();
        assert!(back["text"].as_str().unwrap().contains("page number 5"), "{back}");
        crawl(&[&to_new[..], &["--recrawl", "all"]].concat());
        assert!(urls().len() == 8 && urls().values().all(|n| *n == 1), "{:?}", urls());
    }
}

#[test]
fn removed_output_file_exits_with_2() {
    for name in ["out.jsonl", "out.parquet", "pages/"] {
        let (server, sandbox) = (site(), Sandbox::new());
        let crawl =
            |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], &[&["-O", name], flags].concat()));
        crawl(&[]).expect(0);
        let first = texts_of_output(&sandbox, name);
        if name == "pages/" {
            fs::remove_dir_all(sandbox.path(name)).unwrap();
        } else {
            fs::remove_file(sandbox.path(name)).unwrap();
        }
        let refused = crawl(&[]).expect(2);
        for word in [name.trim_end_matches('/'), "is missing", "--recrawl all --emit all"] {
            assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
        }
        crawl(&["--recrawl", "all", "--emit", "all"]).expect(0);
        assert_eq!(texts_of_output(&sandbox, name), first);
    }
}

/// Text of each page of an output, by its URL.
fn texts_of_output(sandbox: &Sandbox, name: &str) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    let mut add = |url: String, text: String| {
        assert!(state.insert(url.clone(), text).is_none(), "{name} has {url} twice");
    };
    if name == "pages/" {
        for entry in lines(&sandbox.read("pages/index.jsonl")) {
            let text = sandbox.read(&format!("pages/{}", entry["path"].as_str().unwrap()));
            let (_, text) = text.split_once("\n---\n\n").unwrap();
            add(entry["url"].as_str().unwrap().to_owned(), text.trim_end().to_owned());
        }
        return state;
    }
    let options = ReadOptions { max_record: 1 << 24, keep_lines: false };
    read_file(&sandbox.path(name), &options, &mut |item| {
        let Item::Document(document) = item else { panic!("{name} cannot be read") };
        let Body::Text(text) = document.body else { panic!("{name} has no text") };
        add(document.url, text);
        ControlFlow::Continue(())
    })
    .unwrap();
    state
}

#[test]
fn an_output_belongs_to_one_crawl() {
    let (server, sandbox) = (site(), Sandbox::new());
    let crawl = |state: &str, flags: &[&str]| {
        let mut command = sandbox.bare();
        command.arg(server.url("/")).args(["--delay", "0s", "--allow-address", "127.0.0.0/8"]).args(flags);
        run(command.arg("--state-dir").arg(sandbox.path(state)))
    };
    for name in ["out.jsonl", "out.jsonl.gz", "out.parquet", "pages/"] {
        let (first, second) = (format!("{name}-1"), format!("{name}-2"));
        crawl(&first, &["-o", name]).expect(0);
        let file = sandbox.path(if name == "pages/" { "pages/index.jsonl" } else { name });
        let before = fs::read(&file).unwrap();
        for flag in ["-o", "-O"] {
            let refused = crawl(&second, &[flag, name, "--fresh"]).expect(2);
            assert!(refused.stderr.contains(&first), "{}", refused.stderr);
        }
        assert_eq!(fs::read(&file).unwrap(), before);
        crawl(&first, &["-o", name]).expect(0);
        crawl(&first, &["-O", name, "--fresh"]).expect(0);
        // the owner is gone
        fs::remove_dir_all(sandbox.path(&first)).unwrap();
        crawl(&second, &["-O", name]).expect(0);
    }
}
