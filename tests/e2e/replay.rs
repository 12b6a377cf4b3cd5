//! Damaged and shared archives: of many nights, of several crawls, truncated, on a full disk. A replay
//! restores the records of the crawls.

use crate::{
    changing::{Changing, Nights},
    run::{Sandbox, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use crawl_archive::{WarcReader, digest};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

fn by_url(records: &[Value]) -> BTreeMap<String, &Value> {
    records.iter().map(|record| (record["url"].as_str().unwrap().to_owned(), record)).collect()
}

/// Contents of records by URL, without the time, round and order of reading.
fn contents_by_url(records: &[Value]) -> BTreeMap<String, Value> {
    let of = |record: &Value| {
        let fields = ["id", "text", "content", "links", "schema_version"].map(|field| record[field].clone());
        let metadata = ["title", "contentHash", "statusCode", "depth", "wordCount", "strategy"]
            .map(|field| record["metadata"][field].clone());
        Value::from([fields.as_slice(), &metadata].concat())
    };
    records.iter().map(|record| (record["url"].as_str().unwrap().to_owned(), of(record))).collect()
}

/// Cleaned by all pages of the host, in any order.
const SETTLED: (&str, &str) = ("CRAWL_DEDUP_RELEASE", "settled");

fn replay(sandbox: &Sandbox, folder: &str, flags: &[&str]) -> Vec<Value> {
    let mut replay = sandbox.bare();
    replay.args(["replay", folder, "-O", "again.jsonl"]).args(flags).env(SETTLED.0, SETTLED.1);
    run(&mut replay).expect(0);
    sandbox.records("again.jsonl")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Counts of a folder's records by type; checks that each is whole and its digest right.
fn kinds(folder: &Path) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for file in files(folder) {
        assert!(file.to_string_lossy().ends_with(".warc.gz"), "left open: {}", file.display());
        for record in WarcReader::new(File::open(&file).unwrap(), 1 << 26).unwrap() {
            let record = record.unwrap();
            assert_eq!(record.header("WARC-Block-Digest"), digest(&[&record.block]));
            *kinds.entry(record.record_type().to_owned()).or_default() += 1;
        }
    }
    kinds
}

/// New, changed and returning pages: after each night the archive gives the state of all nights together.
#[test]
fn replay_of_many_rounds_gives_the_last_state() {
    let site = Changing::of(9);
    site.tag_all();
    // these two are fetched whole each night
    site.set("/8.html", |page| page.etag = None);
    site.set("/9.html", |page| page.etag = None);
    let server = site.serve();
    let mut nights = Nights::new(&server, &["--recrawl", "all", "--warc", "warc"]);
    let mut state: BTreeMap<String, Value> = BTreeMap::new();
    let mut told = Vec::new();
    for night in 0..5 {
        match night {
            1 => {
                site.set("/2.html", |p| {
                    p.html = page("page number 2 of the second night", &["/added".into()]);
                    p.etag = Some("\"2b\"".into());
                });
                site.put("/added", page("what was added", &[]));
                site.set("/3.html", |page| page.status = Some(404));
                site.set("/7.html", |page| {
                    page.html = page.html.replace("<head>", "<head><meta name=robots content=noindex>");
                    page.etag = None;
                });
                // other bytes, the same text
                site.set("/8.html", |page| page.html = page.html.replace("<main>", "<main id=m>"));
            }
            2 => {
                site.put("/added", page("what was added and improved", &[]));
                site.set("/4.html", |page| page.status = Some(500));
                site.set("/5.html", |page| page.status = Some(410));
            }
            3 => {
                site.set("/3.html", |page| page.status = None);
                site.set("/4.html", |page| page.status = None);
            }
            _ => {}
        }
        let brought = nights.next(&[]);
        told.push(brought.records.len());
        let gone = brought.records.iter().filter(|record| record["metadata"]["change"] == "gone");
        let gone: Vec<&str> = gone.map(|record| record["url"].as_str().unwrap()).collect();
        state.extend(contents_by_url(&brought.records));
        state.retain(|url, _| !gone.contains(&url.as_str()));
        let again = replay(&nights.sandbox, "warc", &[]);
        assert_eq!(contents_by_url(&again), state, "night {night}");
        assert!(again.iter().all(|record| record["metadata"]["change"] == "new"));
    }
    assert_eq!(told, [11, 4, 2, 1, 0]);
    assert!(kinds(&nights.sandbox.path("warc"))["revisit"] > 20, "what was not modified");
}

/// Two crawls with separate states may share a folder, and later rules read it anew.
#[test]
fn archives_of_several_crawls_replay_together() {
    let servers = [Tree::of(12), Tree { filler: 150, ..Tree::of(9) }]
        .map(|tree| Server::start(0, tree.handler()).unwrap());
    let sandboxes = [Sandbox::new(), Sandbox::new()];
    let folder = sandboxes[0].path("warc");
    let mut crawled = Vec::new();
    for (server, sandbox) in servers.iter().zip(&sandboxes) {
        let flags = ["-O", "out.jsonl", "--warc", folder.to_str().unwrap()];
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        run(command.env("CRAWL_ARCHIVE_MAX_FILE", "10 KiB").env(SETTLED.0, SETTLED.1)).expect(0);
        crawled.extend(sandbox.records("out.jsonl"));
    }
    let sandbox = &sandboxes[0];
    assert_eq!(crawled.len(), 21);
    assert!(files(&folder).len() > 3, "rotated");
    let again = replay(sandbox, "warc", &[]);
    assert_eq!(by_url(&again), by_url(&crawled), "to the last field");
    let stripped = replay(sandbox, "warc", &["--links", "strip"]);
    assert_eq!(url_counts(&stripped), url_counts(&crawled));
    assert!(stripped.iter().all(|record| !record["text"].as_str().unwrap().contains("](")));
    assert!(crawled.iter().any(|record| record["text"].as_str().unwrap().contains("](")));
}

/// A file that ends within a record, as after a loss of power: all before it is read.
#[test]
fn torn_archive_end_loses_only_the_torn_record() {
    let server = Server::start(0, Tree::of(12).handler()).unwrap();
    let sandbox = Sandbox::new();
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc"]);
    run(crawl.env(SETTLED.0, SETTLED.1)).expect(0);
    let whole = contents_by_url(&sandbox.records("out.jsonl"));
    let [file] = files(&sandbox.path("warc")).try_into().unwrap();
    let bytes = fs::read(&file).unwrap();
    // pages may be fetched long before the first is archived; without any there is nothing to replay
    let mut reader = WarcReader::new(File::open(&file).unwrap(), 1 << 26).unwrap();
    let is_page = |block: &[u8]| String::from_utf8_lossy(block).contains(r#""event":"page""#);
    while !is_page(&reader.next().unwrap().unwrap().block) {}
    reader.next().unwrap().unwrap();
    let first = usize::try_from(reader.offset()).unwrap();
    let (mut last, mut damaged) = (0, 0);
    for part in 0..=6 {
        // as it was being written, and as a copy
        let name = if part % 2 == 0 { "torn.warc.gz.open" } else { "torn.warc.gz" };
        let folder = sandbox.path(&format!("torn{part}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), &bytes[..first + (bytes.len() - first) * part / 6]).unwrap();
        let done =
            run(sandbox.bare().args(["replay", folder.to_str().unwrap(), "-O", "again.jsonl", "--no-dedup"]));
        let again = contents_by_url(&sandbox.records("again.jsonl"));
        // a closed file has lost data, unless the cut is between two records; the end of an open one is no
        // loss
        damaged += usize::from(name.ends_with(".gz") && done.code() == 7);
        assert!(done.code() == 0 || name.ends_with(".gz"), "{part}: {}", done.stderr);
        let urls: BTreeSet<&String> = again.keys().collect();
        assert!(urls.is_subset(&whole.keys().collect()) && urls.len() >= last.max(1), "{part}");
        last = urls.len();
    }
    assert!(last == 12 && damaged >= 2, "{last} {damaged}");
}

/// A page that lacks a browser has the same warnings in a replay, also if it has no text.
#[test]
fn page_without_a_browser_replays_alike() {
    let server = Server::start(0, |request: &Request| match request.path() {
        "/" => Response::html(page("the start", &["/wall".into()])),
        "/wall" => Response::html(
            "<title>Wall</title><div id=CybotCookiebotDialog class=cookie-wall><h2>We value your privacy</h2>\
             <p>We and our partners store and access information on a device, such as cookies.</p></div>",
        ),
        _ => Response::status(404),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let flags = ["-O", "out.jsonl", "--warc", "warc", "--chrome", "/nonexistent/chrome"];
    let mut crawl = sandbox.crawl(&[server.url("/")], &flags);
    run(crawl.env(SETTLED.0, SETTLED.1)).expect(0);
    let crawled = sandbox.records("out.jsonl");
    assert_eq!(by_url(&replay(&sandbox, "warc", &[])), by_url(&crawled));
    let wall = &by_url(&crawled)[&server.url("/wall")]["warnings"];
    assert_eq!(*wall, serde_json::json!(["needs_browser", "partial_content"]));
}

/// A damaged note loses its page. The replay names the page, whose response is intact, and the place of the damage.
#[test]
fn replay_names_a_page_whose_note_is_damaged() {
    let server = Server::start(0, Tree::of(6).handler()).unwrap();
    let sandbox = Sandbox::new();
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc"])).expect(0);
    let [file] = files(&sandbox.path("warc")).try_into().unwrap();
    let mut reader = WarcReader::new(File::open(&file).unwrap(), 1 << 26).unwrap();
    let note = loop {
        let record = reader.next().unwrap().unwrap();
        let note: Value = serde_json::from_slice(&record.block).unwrap_or_default();
        if note["event"] == "page" && note["finalUrl"] != server.url("/") {
            break note;
        }
    };
    let offset = reader.offset();
    reader.next().unwrap().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    // the checksum of the member
    bytes[usize::try_from(reader.offset()).unwrap() - 6] ^= 1;
    fs::write(&file, bytes).unwrap();
    let done = run(sandbox.bare().args(["replay", "warc", "-O", "again.jsonl"])).expect(7);
    assert_eq!(sandbox.records("again.jsonl").len(), 5);
    let url = note["finalUrl"].as_str().unwrap();
    let place = format!("in the compressed member at byte {offset}");
    for words in
        [url, "without a readable note", &place, "1 unreadable part, 1 page without a note of the crawl;"]
    {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    let extracted = run(sandbox.bare().args(["extract", file.to_str().unwrap()])).expect(7);
    assert!(extracted.stdout.contains(url), "the response is intact");
}

/// `gunzip` and `gzip` make one gzip member of a file that had one for each record.
#[test]
fn archive_in_one_gzip_member_replays_all_pages() {
    let server = Server::start(0, Tree::of(12).handler()).unwrap();
    let sandbox = Sandbox::new();
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc"]);
    run(crawl.env(SETTLED.0, SETTLED.1)).expect(0);
    let crawled = sandbox.records("out.jsonl");
    let [file] = files(&sandbox.path("warc")).try_into().unwrap();
    let mut plain = Vec::new();
    MultiGzDecoder::new(File::open(&file).unwrap()).read_to_end(&mut plain).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&plain).unwrap();
    let packed = packed.finish().unwrap();
    fs::write(&file, &packed).unwrap();
    assert_eq!(by_url(&replay(&sandbox, "warc", &[])), by_url(&crawled), "to the last field");
    // all before the damage is read
    fs::write(&file, &packed[..packed.len() * 9 / 10]).unwrap();
    let done = run(sandbox.bare().args(["replay", "warc", "-O", "again.jsonl"])).expect(7);
    let again = sandbox.records("again.jsonl").len();
    assert!((1..=12).contains(&again), "{again}: {}", done.stderr);
    assert!(done.stderr.contains("the end of the file cannot be unpacked"), "{}", done.stderr);
}

/// Returns true if this user may mount a file system in memory.
fn may_mount() -> bool {
    let tried = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    tried.is_ok_and(|done| done.status.success())
}

/// The disk of the archive is full: exit code 3, no record is torn, and with more space the same command
/// continues.
#[test]
#[ignore = "needs mounts (unshare -rm)"]
fn full_disk_under_the_archive_exits_with_3() {
    assert!(may_mount(), "no file system can be mounted here (unshare -rm)");
    let tree = Tree { filler: 400, ..Tree::of(40) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    fs::create_dir(sandbox.path("warc")).unwrap();
    let crawl = || {
        let mut command =
            sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc", "--no-dedup"]);
        command.env("CRAWL_OUTPUT_BATCH", "3");
        command
    };
    // the mount vanishes with its process, so its content is copied
    let script = "exec unshare -rm sh -c 'mount -t tmpfs -o size=40k none warc; \"$@\"; code=$?; cp -r warc kept; exit $code' sh \"$@\"";
    let full = run(&mut sandbox.shell(script, &crawl())).expect(3);
    assert!(full.stderr.contains("warc"), "names the folder: {}", full.stderr);
    let written = sandbox.records("out.jsonl");
    assert!(!written.is_empty() && written.len() < 40, "{}", written.len());
    fs::remove_dir(sandbox.path("warc")).unwrap();
    fs::rename(sandbox.path("kept"), sandbox.path("warc")).unwrap();
    let kept = url_counts(&replay(&sandbox, "warc", &["--no-dedup"]));
    for url in url_counts(&written).keys() {
        assert!(kept.contains_key(url), "{url} is in the output and not in the archive");
    }
    run(&mut crawl()).expect(0);
    let kinds = kinds(&sandbox.path("warc"));
    assert!(kinds["response"] >= 40, "{kinds:?}");
    let crawled = url_counts(&sandbox.records("out.jsonl"));
    assert!(crawled.len() == 40 && crawled.values().all(|n| *n == 1), "{crawled:?}");
    assert_eq!(url_counts(&replay(&sandbox, "warc", &["--no-dedup"])), crawled);
}

/// The disk of a replay's state is full (here: no file may exceed 32 KiB): exit code 3, with the database in
/// the message.
#[test]
fn full_disk_under_a_replay_state_exits_with_3() {
    let tree = Tree { filler: 400, ..Tree::of(40) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = ["-O", "out.jsonl", "--warc", "warc", "--no-dedup"];
    run(&mut sandbox.crawl(&[server.url("/")], &crawl)).expect(0);
    let mut replay = sandbox.bare();
    replay.args(["replay", "warc"]).env("TMPDIR", sandbox.path("."));
    let full = run(&mut sandbox.shell("trap '' XFSZ; ulimit -f 64; exec \"$@\"", &replay)).expect(3);
    for words in
        ["crawl-replay-", "crawl.sqlite: ", "free disk space", "TMPDIR", "run the same command again"]
    {
        assert!(full.stderr.contains(words), "{words}: {}", full.stderr);
    }
    assert!(!files(&sandbox.path(".")).iter().any(|path| path.to_string_lossy().contains("crawl-replay-")));
}

/// A page that redirects to itself with a session id has its canonical URL in any form of the request.
#[test]
fn session_id_redirects_replay_as_one_page() {
    let (sessions, is_gone) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let gone = Arc::clone(&is_gone);
    let server = Server::start(0, move |request: &Request| match request.target.as_str() {
        "/" => Response::html(page("the start", &["/p".into(), "/q".into()])),
        "/q" => Response::html(page("what stays", &[])),
        "/p" if gone.load(Ordering::Acquire) => Response::status(404),
        "/p" => {
            let number = sessions.fetch_add(1, Ordering::AcqRel);
            Response::redirect(302, &format!("/p?PHPSESSID={number:032}"))
        }
        target if target.starts_with("/p?PHPSESSID=") => Response::html(page("what a session sees", &[])),
        _ => Response::status(404),
    });
    let server = server.unwrap();
    let mut nights = Nights::new(&server, &["--recrawl", "all", "--warc", "warc"]);
    let paths = |records: &[Value]| -> BTreeSet<String> {
        records.iter().map(|r| r["url"].as_str().unwrap().replace(&server.url(""), "")).collect()
    };
    assert_eq!(paths(&nights.next(&[]).records).len(), 3);
    nights.next(&[]);
    let again = replay(&nights.sandbox, "warc", &[]);
    assert_eq!((again.len(), paths(&again).len()), (3, 3), "{:?}", paths(&again));
    is_gone.store(true, Ordering::Release);
    assert_eq!(nights.next(&[]).changes(&server), [("gone".to_owned(), "/p".to_owned())]);
    let left = BTreeSet::from(["/".to_owned(), "/q".to_owned()]);
    assert_eq!(paths(&replay(&nights.sandbox, "warc", &[])), left);
}

/// The crawl would continue with the records of the replay.
#[test]
fn output_of_a_crawl_is_refused() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let flags = ["-O", "own.jsonl", "--warc", "warc"];
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let before = sandbox.read("own.jsonl");
    for flag in ["-O", "-o"] {
        let mut replay = sandbox.bare();
        let refused = run(replay.args(["replay", "warc", flag, "own.jsonl"])).expect(2);
        assert!(refused.stderr.contains("own.jsonl is the output of a crawl"), "{}", refused.stderr);
        assert_eq!(sandbox.read("own.jsonl"), before);
    }
}
