//! Archive of a crawl: intact after any kill, and sufficient to extract every page again.

use crate::{
    kills::kill_after,
    run::{PATIENCE, Run, Sandbox, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
        site::Site,
    },
};
use crawl_archive::{WarcReader, WarcRecord, digest};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

fn harbour() -> Server {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour");
    Server::start(0, Site::open(&site).unwrap()).unwrap()
}

fn files(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.path("warc")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort();
    files
}

/// All records of an archive; checks that files are closed, records whole, and digests right.
fn archived(sandbox: &Sandbox) -> Vec<WarcRecord> {
    let mut all = Vec::new();
    for file in files(sandbox) {
        assert!(file.to_string_lossy().ends_with(".warc.gz"), "left open: {}", file.display());
        let records: Vec<WarcRecord> =
            WarcReader::new(File::open(&file).unwrap(), 1 << 26).unwrap().map(Result::unwrap).collect();
        assert_eq!(records[0].record_type(), "warcinfo", "{}", file.display());
        for record in &records {
            assert_eq!(record.header("WARC-Block-Digest"), digest(&[&record.block]));
            if record.record_type() == "response" {
                assert_eq!(record.header("WARC-Payload-Digest"), digest(&[record.http_body()]));
            }
        }
        all.extend(records);
    }
    all
}

fn status(record: &WarcRecord) -> u16 {
    let line = record.block.split(|byte| *byte == b'\r').next().unwrap();
    std::str::from_utf8(line).unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

/// Answers by URL, revisits among them.
fn answers(records: &[WarcRecord]) -> BTreeMap<String, Vec<u16>> {
    let mut answers: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    for record in records.iter().filter(|r| matches!(r.record_type(), "response" | "revisit")) {
        answers.entry(record.target_uri()).or_default().push(status(record));
    }
    answers
}

fn by_url(records: &[Value]) -> BTreeMap<String, &Value> {
    records.iter().map(|record| (record["url"].as_str().unwrap().to_owned(), record)).collect()
}

fn replay(sandbox: &Sandbox, flags: &[&str]) -> Vec<Value> {
    let mut replay = sandbox.bare();
    replay.args(["replay", "warc", "-O", "again.jsonl"]).args(flags).env("CRAWL_DEDUP_RELEASE", "settled");
    run(&mut replay).expect(0);
    sandbox.records("again.jsonl")
}

#[test]
fn a_crawl_is_archived_and_replayed_to_the_same_records() {
    let (server, sandbox) = (harbour(), Sandbox::new());
    let mut command =
        sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc", "--depth", "6"]);
    command.env("CRAWL_CRAWL_SOFT404", "true").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "true");
    run(command.env("CRAWL_DEDUP_RELEASE", "settled")).expect(0);
    let records = archived(&sandbox);
    let answers = answers(&records);
    let asked: BTreeSet<String> =
        server.requests().iter().map(|request| server.url(&request.target)).collect();
    assert_eq!(answers.keys().cloned().collect::<BTreeSet<_>>(), asked, "every answer is kept");
    assert!(asked.contains(&server.url("/robots.txt")));
    let statuses: BTreeSet<u16> = answers.values().flatten().copied().collect();
    assert!(statuses.is_superset(&[200, 301, 404, 410].into()), "redirects and errors too: {statuses:?}");
    let decisions: Vec<&WarcRecord> = records.iter().filter(|r| r.record_type() == "metadata").collect();
    assert!(decisions.iter().any(|record| !record.header("WARC-Refers-To").is_empty()));
    // pywb takes a record with an address for a capture of the page, and shows it
    assert!(decisions.iter().all(|record| record.header("WARC-Target-URI").is_empty()));
    let requests = records.iter().filter(|r| r.record_type() == "request").count();
    assert_eq!(requests, answers.values().map(Vec::len).sum::<usize>());

    let (crawled, again) = (sandbox.records("out.jsonl"), replay(&sandbox, &[]));
    assert!(crawled.len() > 60 && crawled.len() == again.len());
    assert_eq!(by_url(&again), by_url(&crawled), "to the last field: also the times are those of the crawl");
    // another night: of several captures the last counts
    let mut command =
        sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc", "--depth", "6", "--fresh"]);
    command.env("CRAWL_CRAWL_SOFT404", "true").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "true");
    run(command.env("CRAWL_DEDUP_RELEASE", "settled")).expect(0);
    let crawled = sandbox.records("out.jsonl");
    assert_eq!(by_url(&replay(&sandbox, &[])), by_url(&crawled));
    // the current configuration applies
    let other = replay(&sandbox, &["--no-links", "--no-dedup"]);
    assert!(
        other.iter().all(|record| record["links"] == Value::Array(vec![]) && record["content"].is_null())
    );
}

#[test]
fn archive_is_complete_after_kills() {
    let tree = Tree { delay: Duration::from_millis(10), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || {
        let flags = ["-O", "out.jsonl", "--warc", "warc", "--host-concurrency", "3", "--no-dedup"];
        let mut command = sandbox.crawl(&[server.url("/")], &flags);
        command.env("CRAWL_OUTPUT_BATCH", "3");
        command
    };
    for more in [4, 8, 12, 9] {
        kill_after(&server, &mut crawl(), more);
    }
    run(&mut crawl()).expect(0);
    let answers = answers(&archived(&sandbox));
    let crawled = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(crawled.len(), 60);
    for url in crawled.keys() {
        assert!(answers.contains_key(url), "{url} is in the output and not in the archive");
    }
    assert_eq!(url_counts(&replay(&sandbox, &["--no-dedup"])), crawled);
}

/// Pages that are fetched after the first failed write, as on a full disk, are not held for the next run. It would write
/// their records without an answer in the archive.
#[test]
fn pages_that_a_failed_archive_lacks_are_fetched_again() {
    let sandbox = Sandbox::new();
    let (tree, asked) = (Tree::of(40), AtomicUsize::new(0));
    let (folder, away) = (sandbox.path("warc"), sandbox.path("away"));
    let (there, gone) = (folder.clone(), away.clone());
    let handler = move |request: &Request| {
        if !request.path().starts_with("/p/") || asked.fetch_add(1, Ordering::SeqCst) != 20 {
            return tree.answer(request);
        }
        // meanwhile the page before passes its shard, which writes to the archive, too
        std::thread::park_timeout(Duration::from_millis(500));
        fs::rename(&there, &gone).unwrap();
        tree.answer(request)
    };
    let server = Server::start(0, handler).unwrap();
    let crawl = || {
        let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc"]);
        // each record needs another file
        command.env("CRAWL_ARCHIVE_MAX_FILE", "1 KiB").env("CRAWL_DEDUP_RELEASE", "settled");
        command
    };
    let failed = run(&mut crawl()).expect(3);
    assert!(failed.stderr.contains("warc: cannot be written"), "{}", failed.stderr);
    fs::rename(&away, &folder).unwrap();
    run(&mut crawl()).expect(0);
    let crawled = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(crawled.len(), 40);
    assert_eq!(url_counts(&replay(&sandbox, &[])), crawled);
}

/// Flips a bit of the record in the middle of an archive's file, after the header of its gzip member.
fn flip_a_bit(file: &Path) {
    let mut reader = WarcReader::new(File::open(file).unwrap(), 1 << 26).unwrap();
    let mut offsets = Vec::new();
    while let Some(Ok(_)) = reader.next() {
        offsets.push(reader.offset());
    }
    let mut bytes = fs::read(file).unwrap();
    bytes[usize::try_from(offsets[offsets.len() / 2]).unwrap() + 60] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// A damaged record in the file of a killed run: the next run keeps all others, reports it, and exits with 7.
/// A replay does too.
#[test]
fn flipped_bit_loses_one_record_and_is_reported() {
    let tree = Tree { delay: Duration::from_millis(10), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc", "--no-dedup"]);
    kill_after(&server, &mut crawl(), 30);
    let [open] = files(&sandbox).try_into().unwrap();
    flip_a_bit(&open);
    let resumed = run(&mut crawl()).expect(7);
    assert!(resumed.stderr.contains(".warc.gz.damaged"), "{}", resumed.stderr);
    let crawled = url_counts(&sandbox.records("out.jsonl"));
    assert!(crawled.len() == 60 && crawled.values().all(|n| *n == 1), "{crawled:?}");
    let replay = |code| {
        let mut command = sandbox.bare();
        let done = run(command.args(["replay", "warc", "-O", "again.jsonl", "--no-dedup"])).expect(code);
        (done.stderr, url_counts(&sandbox.records("again.jsonl")).len())
    };
    let (told, again) = replay(7);
    assert!(told.contains("1 file of damaged bytes") && (59..=60).contains(&again), "{again}: {told}");
    // the user removes it; every reader finds the rest whole
    let aside = files(&sandbox).into_iter().find(|file| file.to_string_lossy().ends_with(".damaged"));
    fs::remove_file(aside.unwrap()).unwrap();
    assert!(!archived(&sandbox).is_empty());

    // an archive without a writer is read around the damage
    let largest = files(&sandbox).into_iter().max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
    flip_a_bit(&largest);
    let (told, now) = replay(7);
    assert!(told.contains("unreadable part") && (again - 1..=again).contains(&now), "{now}: {told}");
}

/// A replay's folder never stays: after a signal the replay removes it, after a kill the next one.
#[test]
fn replay_removes_its_temporary_folder() {
    let tree = Tree { filler: 300, ..Tree::of(150) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc"])).expect(0);
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let left = || fs::read_dir(&temporary).unwrap().count();
    let locked =
        || fs::read_dir(&temporary).unwrap().any(|folder| folder.unwrap().path().join("owner.lock").exists());
    let start = || {
        let mut command = sandbox.bare();
        let replay =
            Run::start(command.args(["replay", "warc", "-O", "again.jsonl"]).env("TMPDIR", &temporary));
        let begun = Instant::now();
        // a folder without its lock may be that of a process that is about to take it, and stays for a minute
        while !locked() {
            assert!(begun.elapsed() < PATIENCE, "no folder: {}", replay.stderr_so_far());
            std::thread::yield_now();
        }
        replay
    };
    let stopped = start();
    stopped.signal("TERM");
    stopped.wait().expect(130);
    assert_eq!(left(), 0, "after SIGTERM");
    let killed = start();
    killed.kill();
    assert_eq!(left(), 1, "a killed process can remove nothing");
    start().wait().expect(0);
    assert_eq!((left(), sandbox.records("again.jsonl").len()), (0, 150), "after the next one");
}

#[test]
fn archive_files_rotate_at_their_size_limit() {
    let tree = Tree { filler: 200, ..Tree::of(30) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--warc", "warc"]);
    run(command.env("CRAWL_ARCHIVE_MAX_FILE", "20 KiB")).expect(0);
    let files = files(&sandbox);
    assert!(files.len() > 2, "{files:?}");
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() <= 20 << 10, "{}", file.display());
    }
    archived(&sandbox);
    assert_eq!(replay(&sandbox, &[]).len(), 30, "over all files");
}

/// Identical bytes and unmodified pages are revisits, and truncated bodies are marked. Credentials and
/// cookies are left out.
#[test]
fn known_pages_are_revisits_and_secrets_are_not_archived() {
    let long = "words that both of them have ".repeat(60);
    let handler = move |request: &Request| match request.path() {
        "/" => Response::html(page("start", &["/a".into(), "/b".into(), "/long".into()]))
            .header("Set-Cookie", "s=hidden; Path=/"),
        "/a" | "/b" => Response::html(page(&long, &[])),
        "/long" => Response::html(page(&"x ".repeat(200_000), &[])),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--warc", "warc", "--cookies", "--header", "X-Api-Key: opensesame"];
    let mut command = sandbox.crawl(&[server.url("/")], &flags);
    let auth = format!("[{{ site = \"{}\", user = \"me\", password_env = \"SECRET\" }}]", server.url(""));
    command.env("CRAWL_FETCH_AUTH", auth).env("SECRET", "opensesame").env("CRAWL_FETCH_MAX_BODY", "100 KiB");
    run(&mut command).expect(0);
    assert!(
        server.requests().iter().any(|r| r.header("cookie").is_some() && r.header("authorization").is_some())
    );
    let records = archived(&sandbox);
    let revisit = records.iter().find(|r| r.record_type() == "revisit").unwrap();
    let first =
        records.iter().find(|r| r.header("WARC-Record-ID") == revisit.header("WARC-Refers-To")).unwrap();
    assert_eq!(first.header("WARC-Payload-Digest"), revisit.header("WARC-Payload-Digest"));
    assert_eq!(revisit.http_body(), b"");
    let cut = records
        .iter()
        .find(|r| r.target_uri() == server.url("/long") && r.record_type() == "response")
        .unwrap();
    assert_eq!((cut.header("WARC-Truncated"), cut.http_body().len()), ("length", 100 << 10));
    for record in records.iter().filter(|r| r.record_type() == "request") {
        let sent = String::from_utf8_lossy(&record.block).to_lowercase();
        let has_secret =
            ["authorization", "cookie", "x-api-key", "opensesame"].iter().any(|word| sent.contains(word));
        assert!(!has_secret && sent.contains("user-agent"), "{sent}");
    }
    let crawled = sandbox.records("out.jsonl");
    assert_eq!(crawled.len(), 4);
    assert_eq!(by_url(&replay_with_cap(&sandbox)), by_url(&crawled));
}

fn replay_with_cap(sandbox: &Sandbox) -> Vec<Value> {
    let mut command = sandbox.bare();
    command.args(["replay", "warc", "-O", "again.jsonl"]).env("CRAWL_FETCH_MAX_BODY", "100 KiB");
    run(&mut command).expect(0);
    sandbox.records("again.jsonl")
}

/// A page that a script fills: the archive has its empty form and the browser's result, which the replay
/// uses.
#[test]
#[ignore = "needs Chromium"]
fn rendered_pages_are_replayed() {
    if let Err(error) = crawl_chrome::find_browser(None) {
        panic!("{error}");
    }
    let shell = "<!doctype html><html><head><title>Log</title></head><body><div id=root></div><script src=/app.js></script></body></html>";
    let words: String =
        (0..40).map(|n| format!("<p>Entry {n}: the keeper wrote down wind and water.</p>")).collect();
    let app = format!("document.getElementById('root').innerHTML = '<main><h1>Log</h1>{words}</main>'");
    let handler = move |request: &Request| match request.path() {
        "/" => Response::html(page("start", &["/shell".into()])),
        "/shell" => Response::html(shell),
        "/app.js" => Response::new(200, "text/javascript", app.clone()),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let flags = ["-O", "out.jsonl", "--warc", "warc", "--chrome-no-sandbox"];
    let mut command = sandbox.crawl(&[server.url("/")], &flags);
    command.env("CRAWL_CHROME_SETTLE", "30s").env("CRAWL_CHROME_NAVIGATE", "30s");
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).unwrap();
    run(command.env("TMPDIR", &temporary)).expect(0);
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [""; 0], "of the browser");
    let crawled = sandbox.records("out.jsonl");
    let rendered = by_url(&crawled)[&server.url("/shell")];
    assert_eq!(rendered["metadata"]["strategy"], "chrome", "{rendered}");
    let records = archived(&sandbox);
    let of_shell = |kind: &str| {
        records.iter().find(|r| r.record_type() == kind && r.target_uri() == server.url("/shell")).unwrap()
    };
    assert!(!String::from_utf8_lossy(&of_shell("response").block).contains("Entry 7"));
    assert!(String::from_utf8_lossy(&of_shell("resource").block).contains("Entry 7"));
    assert_eq!(by_url(&replay(&sandbox, &[])), by_url(&crawled));
}

#[test]
fn an_archive_without_a_page_is_refused() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("warc")).unwrap();
    let refused = run(sandbox.bare().args(["replay", "warc"])).expect(2);
    assert!(refused.stderr.contains("name a folder of --warc"), "{}", refused.stderr);
    run(sandbox.bare().args(["replay", "nowhere"])).expect(2);
}

#[test]
fn an_archive_without_a_readable_page_is_damaged() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("warc")).unwrap();
    fs::write(sandbox.path("warc/crawl-1.warc.gz"), [0u8; 400]).unwrap();
    let told = run(sandbox.bare().args(["replay", "warc"])).expect(7);
    assert!(
        told.stderr.contains("damaged") && told.stderr.contains("crawl the sites again"),
        "{}",
        told.stderr
    );
}
