//! `crawl extract` and `crawl replay` on archives of wget and warcio, and on folders of HTML.

use crate::{
    run::{Sandbox, lines, run},
    support::server::{Request, Response, Server},
};
use serde_json::Value;
use std::{
    fs::{self, File},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn archive(name: &str) -> PathBuf {
    fixtures().join("archives").join(name)
}

/// URL, title and charset-dependent words of records, in order.
fn urls_and_titles(records: &[Value]) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    records.iter().map(|record| (word(&record["url"]), word(&record["metadata"]["title"]))).collect()
}

const WGET: [&str; 3] = [
    "http://127.0.0.1:47391/about/index.html",
    "http://127.0.0.1:47391/news/ferry-timetable-summer.html",
    "http://127.0.0.1:47391/ja/tides.html",
];
/// The last one is a revisit of the second.
const WARCIO: [&str; 4] = [
    "https://www.harbour.example/about/",
    "https://www.harbour.example/news/ferry",
    "https://www.harbour.example/tides",
    "https://www.harbour.example/news/ferry?print=1",
];

const ARCHIVES: [(&str, &[&str]); 7] = [
    ("wget.warc.gz", &WGET),
    ("wget-plain.warc", &WGET),
    ("warcio.warc.gz", &WARCIO),
    ("warcio-whole.warc.gz", &WARCIO),
    ("warcio.warc.zst", &WARCIO),
    ("collection.wacz", &WARCIO),
    // two files, the second with a revisit of a page of the first
    ("browsertrix.wacz", &WARCIO),
];

#[test]
fn extract_reads_archives_of_other_tools() {
    for (name, urls) in ARCHIVES {
        let sandbox = Sandbox::new();
        let done = run(sandbox.bare().arg("extract").arg(archive(name))).expect(0);
        let records = lines(&done.stdout);
        let told = urls_and_titles(&records);
        assert_eq!(told.iter().map(|(url, _)| url.as_str()).collect::<Vec<_>>(), urls, "{name}");
        assert!(told[1].1.contains("Summer ferry"), "{name}: {told:?}");
        // the record declares no charset: it is found
        assert!(records[2]["text"].as_str().unwrap().chars().any(|c| ('ぁ'..='ん').contains(&c)), "{name}");
        assert!(records.iter().all(|record| !record["text"].as_str().unwrap().contains("WARC-")), "{name}");
        assert!(records[0]["metadata"]["fetchedAt"].as_str().unwrap().starts_with("2026-11-27T"), "{name}");

        // the content shows the format: neither a name nor a path is needed
        let mut reading = sandbox.bare();
        reading.args(["extract", "-"]).stdin(File::open(archive(name)).unwrap());
        assert_eq!(run(&mut reading).expect(0).stdout, done.stdout, "{name}");
        let other = sandbox.path("page.html");
        fs::copy(archive(name), &other).unwrap();
        assert_eq!(run(sandbox.bare().arg("extract").arg(&other)).expect(0).stdout, done.stdout, "{name}");
    }
}

#[test]
fn replay_reads_archives_of_other_tools() {
    for (name, urls) in ARCHIVES {
        let sandbox = Sandbox::new();
        run(sandbox.bare().arg("replay").arg(archive(name)).args(["-O", "out.jsonl"])).expect(0);
        let mut told = urls_and_titles(&sandbox.records("out.jsonl"));
        told.sort();
        let mut urls: Vec<&str> = urls.to_vec();
        urls.sort_unstable();
        assert_eq!(told.iter().map(|(url, _)| url.as_str()).collect::<Vec<_>>(), urls, "{name}");
    }
}

#[test]
fn a_truncated_archive_gives_its_whole_records() {
    for (name, place) in [
        ("wget.warc.gz", "in the compressed member at byte "),
        ("wget-plain.warc", "at byte "),
        ("warcio.warc.gz", "in the compressed member at byte "),
        ("warcio-whole.warc.gz", "in the compressed data that begins at byte 0"),
        ("warcio.warc.zst", "in the compressed data that begins at byte 0"),
    ] {
        let sandbox = Sandbox::new();
        let bytes = fs::read(archive(name)).unwrap();
        let cut = sandbox.write("cut.warc", &bytes[..bytes.len() * 6 / 10]);
        let done = run(sandbox.bare().arg("extract").arg(&cut)).expect(7);
        let records = lines(&done.stdout);
        assert!(!records.is_empty() && records.len() < 4, "{name}: {}", records.len());
        assert!(done.stderr.contains("cut.warc: record ") && done.stderr.contains(place), "{}", done.stderr);
        let replayed = run(sandbox.bare().arg("replay").arg(&cut).args(["-O", "out.jsonl"])).expect(7);
        assert_eq!(sandbox.records("out.jsonl").len(), records.len(), "{name}: {}", replayed.stderr);
    }
}

#[test]
fn a_revisit_without_its_page_is_counted() {
    let sandbox = Sandbox::new();
    // the records of wget, after a revisit of a page of another archive
    let revisit = "WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://a.test/again\r\n\
         WARC-Payload-Digest: sha1:AAAA\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let whole = fs::read(archive("wget-plain.warc")).unwrap();
    let file = sandbox.write("a.warc", [revisit.as_bytes(), &whole].concat());
    let done = run(sandbox.bare().arg("extract").arg(&file)).expect(0);
    assert_eq!(lines(&done.stdout).len(), 3, "{}", done.stderr);
    assert!(
        done.stderr.contains("http://a.test/again: a revisit whose page is in no input"),
        "{}",
        done.stderr
    );
    let done = run(sandbox.bare().arg("replay").arg(&file).args(["-O", "out.jsonl"])).expect(0);
    assert!(done.stderr.contains("1 revisit skipped"), "{}", done.stderr);
}

/// Files of Heritrix: the second one has revisits of pages of the first.
#[test]
fn revisits_are_resolved_across_the_inputs_of_a_command() {
    let sandbox = Sandbox::new();
    let files = ["heritrix-0.warc.gz", "heritrix-1.warc.gz"].map(archive);
    let [about, ferry, tides] =
        ["about/", "news/ferry", "tides"].map(|path| format!("http://www.harbour.example/{path}"));
    // dns: and metadata records are no pages, and the page that was cut is read as far as it goes
    let first = run(sandbox.bare().arg("extract").arg(&files[0])).expect(0);
    // that one has a warning, and all have what their response has told
    let cut = |records: &[Value]| {
        let is_cut = |record: &&Value| record["warnings"].to_string().contains("body_truncated");
        records.iter().filter(is_cut).map(|record| record["url"].clone()).collect::<Vec<_>>()
    };
    let records = lines(&first.stdout);
    assert_eq!(cut(&records), [tides.as_str()]);
    let answers = records.iter().map(|record| &record["metadata"]);
    assert!(answers.clone().all(|of| of["statusCode"] == 200 && of["contentType"] == "text/html"));
    run(sandbox.bare().arg("replay").arg(&files[0]).args(["-O", "first.jsonl"])).expect(0);
    assert_eq!(cut(&sandbox.records("first.jsonl")), [tides.as_str()]);
    let urls = |text: &str| urls_and_titles(&lines(text)).into_iter().map(|(url, _)| url).collect::<Vec<_>>();
    assert_eq!(urls(&first.stdout), [&about, &ferry, &tides].map(String::clone));
    let alone = run(sandbox.bare().arg("extract").arg(&files[1])).expect(2);
    assert!(alone.stderr.contains("2 revisits skipped, since their page is in no input"), "{}", alone.stderr);
    let elsewhere = run(sandbox.bare().arg("extract").arg(archive("wget.warc.gz")).arg(&files[1])).expect(0);
    let named = format!("{}: {about}: a revisit whose page is in no input", files[1].display());
    assert!(elsewhere.stderr.contains(&named), "{}", elsewhere.stderr);
    for order in [[0, 1], [1, 0]] {
        let inputs = order.map(|n| &files[n]);
        let both = run(sandbox.bare().arg("extract").args(inputs)).expect(0);
        let records = lines(&both.stdout);
        assert_eq!(
            urls(&both.stdout),
            [&about, &ferry, &tides, &about, &ferry].map(String::clone),
            "{order:?}"
        );
        assert_eq!(records[3]["metadata"]["fetchedAt"], "2026-11-27T10:00:03Z");
        assert_eq!((&records[3]["text"], &records[4]["text"]), (&records[0]["text"], &records[1]["text"]));
        let out = format!("out-{}.jsonl", order[0]);
        run(sandbox.bare().arg("replay").args(inputs).args(["-O", &out])).expect(0);
        assert_eq!(sandbox.records(&out).len(), 3);
    }
    let refused = run(sandbox.bare().arg("replay").args(&files).args(["--url", "https://a.test/"])).expect(2);
    assert!(refused.stderr.contains("--url is the URL of one input"), "{}", refused.stderr);
}

#[test]
fn replay_reads_standard_input() {
    let sandbox = Sandbox::new();
    let page = fixtures().join("sites/harbour/about/index.html");
    for (input, flags, count) in
        [(archive("browsertrix.wacz"), &[][..], 4), (page, &["--url", "https://a.test/about"], 1)]
    {
        let mut reading = sandbox.bare();
        reading.args(["replay", "-", "-O", "out.jsonl"]).args(flags).stdin(File::open(&input).unwrap());
        run(&mut reading).expect(0);
        assert_eq!(sandbox.records("out.jsonl").len(), count, "{}", input.display());
    }
}

#[test]
fn file_names_outside_utf_8_have_urls() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("www.harbour.example");
    fs::create_dir(&folder).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.html");
    fs::copy(fixtures().join("sites/harbour/about/index.html"), folder.join(name)).unwrap();
    for job in ["extract", "replay"] {
        let done = run(sandbox.bare().args([job, "www.harbour.example"])).expect(0);
        assert_eq!(lines(&done.stdout)[0]["url"], "https://www.harbour.example/caf%E9.html");
    }
}

/// A folder of --warc with files of other makers: the replay of the crawl names and counts these.
#[test]
fn foreign_files_in_an_archive_folder_are_reported() {
    let page = "<title>Own</title><article><p>A page of a crawl with enough words to be a page of its own.</p></article>";
    let server = Server::start(0, move |_: &Request| Response::html(page)).unwrap();
    let sandbox = Sandbox::new();
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "a.jsonl", "--warc", "archive"])).expect(0);
    let replayed = |count: usize| {
        let done = run(sandbox.bare().args(["replay", "archive", "-O", "out.jsonl"])).expect(0);
        assert_eq!(sandbox.records("out.jsonl").len(), count, "{}", done.stderr);
        done.stderr
    };
    assert!(!replayed(1).contains("other programs"));
    fs::copy(archive("warcio.warc.gz"), sandbox.path("archive/warcio.warc.gz")).unwrap();
    fs::copy(archive("collection.wacz"), sandbox.path("archive/collection.wacz")).unwrap();
    let told = replayed(1);
    for words in
        ["2 files or folders of other programs skipped", "archive/warcio.warc.gz", "archive/collection.wacz"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn folders_of_html_are_read_with_their_addresses() {
    let sandbox = Sandbox::new();
    let mirror = sandbox.path("mirror/www.harbour.example");
    fs::create_dir_all(mirror.join("about")).unwrap();
    let site = fixtures().join("sites/harbour");
    fs::copy(site.join("about/index.html"), mirror.join("about/index.html")).unwrap();
    fs::copy(site.join("ja/tides.html"), mirror.join("tides?year=2026")).unwrap();
    fs::copy(site.join("style.css"), mirror.join("style.css")).unwrap();
    fs::copy(archive("warcio.warc.gz"), mirror.join("zz")).unwrap();
    let own = ["https://www.harbour.example/about/", "https://www.harbour.example/tides?year=2026"];
    let mirrored: Vec<&str> = own.iter().chain(&WARCIO).copied().collect();

    for folder in ["mirror", "mirror/www.harbour.example"] {
        let done = run(sandbox.bare().arg("extract").arg(sandbox.path(folder))).expect(0);
        let told = urls_and_titles(&lines(&done.stdout));
        assert_eq!(told.iter().map(|(url, _)| url.as_str()).collect::<Vec<_>>(), mirrored, "{folder}");
    }
    run(sandbox.bare().arg("replay").arg(sandbox.path("mirror")).args(["-O", "out.jsonl"])).expect(0);
    // the page of the folder and that of the archive have one address
    assert_eq!(sandbox.records("out.jsonl").len(), 5);

    fs::rename(sandbox.path("mirror/www.harbour.example/about"), sandbox.path("pages")).unwrap();
    let nameless = run(sandbox.bare().args(["replay", "pages", "-O", "b.jsonl"])).expect(2);
    assert!(nameless.stderr.contains("--url"), "{}", nameless.stderr);
    let base = ["--url", "https://docs.example.org/en/"];
    run(sandbox.bare().args(["replay", "pages", "-O", "b.jsonl"]).args(base)).expect(0);
    assert_eq!(urls_and_titles(&sandbox.records("b.jsonl"))[0].0, "https://docs.example.org/en/");
}

#[test]
fn an_input_without_a_page_is_a_usage_error() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).unwrap();
    for job in ["extract", "replay"] {
        let done = run(sandbox.bare().args([job, "empty"])).expect(2);
        assert!(done.stderr.contains("no page"), "{}", done.stderr);
    }
    // the name is that of an archive, and the content is none: damage, while the rest is read
    sandbox.write("empty/b.warc.gz", [0_u8; 400]);
    fs::copy(archive("wget.warc.gz"), sandbox.path("empty/a.warc.gz")).unwrap();
    let done = run(sandbox.bare().args(["extract", "empty"])).expect(7);
    assert_eq!(lines(&done.stdout).len(), 3, "{}", done.stderr);
    assert!(done.stderr.contains("empty/b.warc.gz: the first bytes are not"), "{}", done.stderr);
    // one file alone, by its name or content
    let whole = fs::read(archive("browsertrix.wacz")).unwrap();
    sandbox.write("cut.wacz", &whole[..whole.len() / 2]);
    let arc =
        sandbox.write("old.arc", "filedesc://old.arc 0.0.0.0 20040101000000 text/plain 76\n1 0 Alexa\n");
    for (name, words) in
        [("cut.wacz", "the directory of its zip file is missing"), ("old.arc", "warcio recompress")]
    {
        for job in ["extract", "replay"] {
            let done = run(sandbox.bare().args([job, name])).expect(7);
            assert!(done.stderr.contains(words), "{name}: {}", done.stderr);
        }
    }
    let mut reading = sandbox.bare();
    let done = run(reading.args(["extract", "-"]).stdin(File::open(&arc).unwrap())).expect(2);
    assert!(done.stderr.contains("warcio recompress"), "{}", done.stderr);
    let zip = sandbox.write("a.zip", b"PK\x03\x04 and no more");
    run(sandbox.bare().arg("extract").arg(&zip)).expect(2);
    run(sandbox.bare().arg("extract").arg(sandbox.path("missing.warc.gz"))).expect(2);
}

/// A folder of archives with a stray page: the page is named, and the rest is replayed.
#[test]
fn page_without_a_url_does_not_stop_a_folder() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("mixed")).unwrap();
    fs::copy(archive("wget.warc.gz"), sandbox.path("mixed/a.warc.gz")).unwrap();
    sandbox.write(
        "mixed/stray.html",
        "<!doctype html><p>A page that stands beside the archives, without an address.</p>",
    );
    let done = run(sandbox.bare().args(["replay", "mixed", "-O", "out.jsonl"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 3, "{}", done.stderr);
    assert!(done.stderr.contains("1 page without a known URL skipped"), "{}", done.stderr);
    assert!(done.stderr.contains("mixed/stray.html: the URL of this page is unknown"), "{}", done.stderr);
}

/// Opt-outs of archived pages are recorded, whether the page or its response has them.
#[test]
fn opt_outs_of_archived_pages_are_recorded() {
    let record = |path: &str, fields: &str, head: &str| {
        let page = format!(
            "<!doctype html><html><head>{head}</head><body><p>A page with enough words to be a page.</p></body></html>"
        );
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n{page}");
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/{path}\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    let sandbox = Sandbox::new();
    let pages = [
        record("1-free", "X-Robots-Tag: otherbot: noai\r\nTDM-Reservation: 0\r\n", ""),
        record("2-word", "X-Robots-Tag: noai\r\n", ""),
        record("3-tdm", "tdm-reservation: 1\r\n", ""),
        record("4-meta", "", "<meta name=robots content=noai><meta name=tdm-reservation content=1>"),
    ];
    let file = sandbox.write("a.warc", pages.concat());
    let extracted = run(sandbox.bare().arg("extract").arg(&file)).expect(0);
    run(sandbox.bare().arg("replay").arg(&file).args(["-O", "out.jsonl"])).expect(0);
    for mut records in [lines(&extracted.stdout), sandbox.records("out.jsonl")] {
        records.sort_by_key(|record| record["url"].to_string());
        let found: Vec<_> = records.iter().map(|record| record["metadata"]["aiOptOut"].to_string()).collect();
        assert_eq!(found, ["[]", r#"["noai"]"#, r#"["tdm_header"]"#, r#"["noai","tdm_meta"]"#]);
    }
}

#[test]
fn an_empty_page_among_several_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("a.html", "<p>The ferry runs eleven crossings a day.</p>");
    sandbox.write("b.html", "\n");
    sandbox.write("c.warc", "");
    let done = run(sandbox.bare().args(["extract", "a.html", "b.html", "c.warc"])).expect(0);
    assert!(done.stderr.contains("b.html: is empty"), "{}", done.stderr);
    assert!(done.stderr.contains("c.warc: is empty"), "{}", done.stderr);
    assert!(!done.stderr.contains("a.html"), "{}", done.stderr);
}
