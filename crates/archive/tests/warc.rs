//! WARC files that are whole, truncated, damaged and hostile.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_archive::{ArchiveKind, Body, Item, ReadOptions, Revisits, WarcReader, read_file, read_pages};
use flate2::{Compression, write::GzEncoder};
use std::{
    fs,
    io::{Cursor, Seek, SeekFrom, Write},
    ops::ControlFlow,
    path::Path,
};

const MOST: usize = 1 << 20;

fn record(kind: &str, uri: &str, content_type: &str, block: &[u8]) -> Vec<u8> {
    let mut out = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Record-ID: <urn:uuid:{uri}>\r\n\
         WARC-Date: 2024-05-01T00:00:00Z\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        block.len()
    )
    .into_bytes();
    out.extend_from_slice(block);
    out.extend_from_slice(b"\r\n\r\n");
    out
}

fn response(uri: &str, body: &str) -> Vec<u8> {
    let message = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}");
    record("response", uri, "application/http; msgtype=response", message.as_bytes())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// URI of each record, or the kind of its error.
fn read(bytes: Vec<u8>) -> Vec<String> {
    WarcReader::new(Cursor::new(bytes), MOST)
        .unwrap()
        .map(|record| record.map_or_else(|e| e.name().to_owned(), |record| record.target_uri()))
        .collect()
}

fn five() -> Vec<Vec<u8>> {
    (1..=5)
        .map(|n| response(&format!("http://a.test/{n}"), &format!("<p>page {n}</p>").repeat(n * 20)))
        .collect()
}

fn uris(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("http://a.test/{n}")).collect()
}

#[test]
fn intact_files_are_read_plain_and_compressed() {
    let plain = five().concat();
    assert_eq!(read(plain.clone()), uris(1..=5));
    assert_eq!(read(five().iter().flat_map(|r| gzip(r)).collect()), uris(1..=5));
    assert_eq!(read(gzip(&plain)), uris(1..=5), "compressed as a whole");
    let bare = String::from_utf8(plain).unwrap().replace("\r\n\r\nWARC/", "\nWARC/").into_bytes();
    assert_eq!(read(bare), uris(1..=5), "fewer empty lines between records");
    let record = &five()[0];
    let (head, body) = record.split_at(record.len() - 100);
    let mut split = gzip(head);
    split.extend(gzip(body));
    split.extend(gzip(&five()[1]));
    assert_eq!(read(split), uris(1..=2), "a record in two members");
    assert_eq!(read(Vec::new()), [""; 0]);
}

#[test]
fn truncated_file_gives_its_whole_records() {
    for cut in [1, 30, 200] {
        let mut plain = five().concat();
        plain.truncate(plain.len() - cut - 4);
        assert_eq!(read(plain), [uris(1..=4), vec!["truncated".into()]].concat(), "{cut}");
        let mut packed: Vec<u8> = five().iter().flat_map(|r| gzip(r)).collect();
        // beyond the checksum and the end of the compressed data
        packed.truncate(packed.len() - cut.min(60) - 30);
        assert_eq!(read(packed), [uris(1..=4), vec!["truncated".into()]].concat(), "gzip, {cut}");
    }
}

#[test]
fn records_after_damage_are_read() {
    let members: Vec<Vec<u8>> = five().iter().map(|r| gzip(r)).collect();
    for (from, to) in [(12, 20), (40, 60)] {
        let mut damaged = members.clone();
        damaged[2][from..to].fill(0xff);
        let found = read(damaged.concat());
        assert_eq!(
            found.iter().filter(|f| f.starts_with("http")).cloned().collect::<Vec<_>>(),
            uris([1, 2, 4, 5])
        );
        assert!(found.iter().any(|f| f == "bad_gzip" || f == "truncated"), "{found:?}");
    }
    // a truncated member directly before the next one
    let mut short = members.clone();
    let half = short[1].len() / 2;
    short[1].truncate(half);
    let found = read(short.concat());
    assert_eq!(
        found.iter().filter(|f| f.starts_with("http")).cloned().collect::<Vec<_>>(),
        uris([1, 3, 4, 5])
    );
    assert!(found.iter().any(|f| f == "bad_gzip" || f == "truncated"), "{found:?}");
    // padding between members, and bytes outside of members
    let mut apart = members.clone();
    apart[3].extend_from_slice(b"\0\0\0\r\n");
    assert_eq!(read(apart.concat()), uris(1..=5));
    apart[3].extend_from_slice(b"rubbish");
    assert_eq!(read(apart.concat()), [uris(1..=4), vec!["bad_gzip".into()], uris([5])].concat());
    apart[4].extend_from_slice(b"rubbish");
    assert_eq!(read(apart.concat()).last().unwrap(), "bad_gzip");
}

/// A flipped byte of a member affects no other record, and the damage is reported.
#[test]
fn flipped_byte_is_reported_and_affects_one_record() {
    let members: Vec<Vec<u8>> = five().iter().map(|r| gzip(r)).collect();
    for at in (0..members[2].len()).filter(|at| !(4..10).contains(at)) {
        let mut damaged = members.clone();
        damaged[2][at] ^= 0x55;
        let found = read(damaged.concat());
        let (mut good, bad): (Vec<String>, Vec<String>) =
            found.into_iter().partition(|f| f.starts_with("http"));
        // with a smaller length it may seem whole until its checksum is read
        good.retain(|uri| *uri != uris([3])[0]);
        assert_eq!((good, bad.is_empty()), (uris([1, 2, 4, 5]), false), "byte {at}");
    }
}

#[test]
fn wrong_content_length_loses_one_record() {
    let with = |length: &str| {
        let mut records = five();
        let text = String::from_utf8(records[1].clone()).unwrap();
        let start = text.find("Content-Length: ").unwrap();
        let end = start + text[start..].find('\r').unwrap();
        records[1] = format!("{}{length}{}", &text[..start], &text[end..]).into_bytes();
        read(records.concat())
    };
    assert_eq!(
        with("Content-Length: 20"),
        [
            "http://a.test/1",
            "http://a.test/2",
            "no_header",
            "http://a.test/3",
            "http://a.test/4",
            "http://a.test/5"
        ]
    );
    assert_eq!(
        with("Content-Length: 999999"),
        ["http://a.test/1", "truncated", "http://a.test/3", "http://a.test/4", "http://a.test/5"]
    );
    assert_eq!(
        with("Content-Length: 9999999999"),
        ["http://a.test/1", "truncated", "http://a.test/3", "http://a.test/4", "http://a.test/5"]
    );
    assert_eq!(
        with("Content-Length: many"),
        ["http://a.test/1", "bad_header", "http://a.test/3", "http://a.test/4", "http://a.test/5"]
    );
    assert_eq!(
        with("X: y"),
        ["http://a.test/1", "bad_header", "http://a.test/3", "http://a.test/4", "http://a.test/5"]
    );
}

#[test]
fn records_beyond_the_size_limit_are_skipped() {
    let mut bytes = gzip(&five()[0]);
    bytes.extend(gzip(&record("resource", "http://a.test/big", "text/html", &vec![b'x'; MOST + 1])));
    bytes.extend(gzip(&five()[1]));
    assert_eq!(read(bytes), ["http://a.test/1", "too_large", "http://a.test/2"]);
}

#[test]
fn reading_ends_for_any_damaged_byte() {
    // a fast test of damage: each byte of a small file in turn
    let plain = [five()[0].clone(), five()[1].clone()].concat();
    let packed = [gzip(&five()[0]), gzip(&five()[1])].concat();
    for original in [plain, packed] {
        for at in 0..original.len().min(700) {
            let mut bytes = original.clone();
            bytes[at] ^= 0x55;
            assert!(read(bytes).len() < 100, "byte {at}");
        }
    }
}

fn items(path: &Path) -> (Vec<(String, Body)>, usize, Vec<String>) {
    let (mut documents, mut skipped, mut bad) = (Vec::new(), 0, Vec::new());
    read_file(path, &ReadOptions { max_record: MOST, keep_lines: false }, &mut |item| {
        match item {
            Item::Document(d) => documents.push((d.url, d.body)),
            Item::Skipped => skipped += 1,
            Item::Unreadable { error, .. } => bad.push(error.name().to_owned()),
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    (documents, skipped, bad)
}

#[test]
fn html_pages_and_texts_become_documents() {
    let directory = tempfile::tempdir().unwrap();
    let http = "application/http; msgtype=response";
    let records = [
        record("warcinfo", "", "application/warc-fields", b"software: x"),
        response("http://a.test/1", "<p>one"),
        record("request", "http://a.test/1", "application/http; msgtype=request", b"GET / HTTP/1.1\r\n\r\n"),
        record(
            "response",
            "http://a.test/gone",
            http,
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>no",
        ),
        record(
            "response",
            "http://a.test/i.png",
            http,
            b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n...",
        ),
        record("response", "http://a.test/odd", http, b"garbage"),
        record("resource", "http://a.test/r", "text/html", b"<p>resource"),
    ];
    let path = directory.path().join("pages.warc.gz");
    fs::write(&path, records.iter().flat_map(|r| gzip(r)).collect::<Vec<_>>()).unwrap();
    let (documents, skipped, bad) = items(&path);
    assert_eq!(
        documents,
        [
            ("http://a.test/1".into(), Body::Html(b"<p>one".to_vec())),
            ("http://a.test/r".into(), Body::Html(b"<p>resource".to_vec())),
        ]
    );
    assert_eq!((skipped, bad), (4, vec!["bad_http".to_owned()]));

    let path = directory.path().join("texts.warc.wet");
    fs::write(&path, record("conversion", "http://a.test/t", "text/plain", "Grüße".as_bytes())).unwrap();
    assert_eq!(items(&path).0, [("http://a.test/t".into(), Body::Text("Grüße".into()))]);
}

/// A record of 256 MB of zeros, compressed to a quarter of a megabyte: a buffer is in memory, not the record.
#[test]
fn decompression_bomb_is_read_in_bounded_memory() {
    let size: u64 = 256 << 20;
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    write!(
        out,
        "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/html\r\nContent-Length: {size}\r\n\r\n"
    )
    .unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..size >> 20 {
        out.write_all(&zeros).unwrap();
    }
    let mut bytes = out.finish().unwrap();
    bytes.extend(gzip(&five()[0]));
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0)
    };
    let before = peak();
    assert_eq!(read(bytes), ["too_large", "http://a.test/1"]);
    // the kernel counts by thread, so its peak may fall by a few pages
    let more = peak().saturating_sub(before);
    assert!(more < 64 << 10, "{more} kB more than before");
}

/// A record with fields of its own in its header.
fn with_fields(record: &[u8], fields: &str) -> Vec<u8> {
    let text = String::from_utf8(record.to_vec()).unwrap();
    text.replacen("WARC-Date", &format!("{fields}\r\nWARC-Date"), 1).into_bytes()
}

#[test]
fn revisit_of_what_is_no_page_is_not_missed() {
    let message = |status: &str, media: &str| format!("HTTP/1.1 {status}\r\nContent-Type: {media}\r\n\r\n");
    let (http, digest) = ("application/http; msgtype=response", "WARC-Payload-Digest: sha1:AAA");
    let image =
        |kind, head: &str| with_fields(&record(kind, "http://a.test/i", http, head.as_bytes()), digest);
    let open = |records: Vec<Vec<u8>>| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&records.concat()).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut revisits = Revisits::default();
        let each = &mut |_| ControlFlow::Continue(());
        read_pages(ArchiveKind::Warc, file, MOST, &mut revisits, each).unwrap();
        revisits.into_unresolved().count()
    };
    let png = message("200 OK", "image/png");
    assert_eq!(open(vec![image("revisit", &png)]), 0, "its own header says so");
    assert_eq!(open(vec![image("revisit", &message("301 Moved", "text/html"))]), 0);
    assert_eq!(open(vec![image("response", &png), image("revisit", "")]), 0, "the capture says so");
    assert_eq!(open(vec![image("revisit", &message("200 OK", "text/html"))]), 1);
    assert_eq!(open(vec![image("revisit", &message("304 Not Modified", "text/html"))]), 1);
}
