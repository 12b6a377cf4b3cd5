//! JSONL, CSV, Parquet, and the formats of input files.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_archive::{
    Body, ColumnKind, Document, Format, Item, ParquetTable, ReadOptions, Value, expand, read_file,
};
use flate2::{Compression, write::GzEncoder};
use std::{
    fs,
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

const OPTIONS: ReadOptions = ReadOptions { max_record: 200, keep_lines: false };

fn read(path: &Path) -> (Vec<Document>, Vec<(u64, String)>) {
    let (mut documents, mut bad) = (Vec::new(), Vec::new());
    read_file(path, &OPTIONS, &mut |item| {
        match item {
            Item::Document(document) => documents.push(document),
            Item::Skipped => {}
            Item::Unreadable { number, error } => bad.push((number, error.name().to_owned())),
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    (documents, bad)
}

fn texts(documents: &[Document]) -> Vec<String> {
    documents
        .iter()
        .map(|d| match &d.body {
            Body::Text(text) => format!("{} {text}", d.id),
            Body::Html(bytes) => format!("{} html {}", d.id, String::from_utf8_lossy(bytes)),
        })
        .collect()
}

fn file(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn jsonl_lines_are_read_or_reported() {
    let directory = tempfile::tempdir().unwrap();
    let long = format!("{{\"id\":\"long\",\"text\":\"{}\"}}", "x".repeat(300));
    let lines = [
        r#"{"id":"a","url":"https://a.test/","text":"cleaned","content":"whole","metadata":{"title":"T","fetchedAt":"2024","contentType":"text/html"}}"#,
        "",
        "{broken",
        r#"{"id":7,"content":"number"}"#,
        &long,
        r#"{"url":"https://a.test/h","html":"<p>x"}"#,
        r#"{"html_base64":"PHA+eQ=="}"#,
        r#"{"id":"none"}"#,
        r#"{"id":"bad","html_base64":"%"}"#,
    ];
    let path = file(directory.path(), "in.jsonl", lines.join("\n"));
    let (documents, bad) = read(&path);
    let own = format!("{}#6 html <p>y", path.display());
    assert_eq!(texts(&documents), ["a cleaned", "7 number", "https://a.test/h html <p>x", &own]);
    assert_eq!(
        (documents[0].title.as_str(), documents[0].date.as_str(), documents[0].content_type.as_str()),
        ("T", "2024", "text/html")
    );
    let bad: Vec<_> = bad.iter().map(|(n, name)| (*n, name.as_str())).collect();
    assert_eq!(bad, [(3, "not_json"), (5, "too_large"), (8, "no_text"), (9, "bad_encoding")]);
}

#[test]
fn jsonl_of_other_programs_loses_no_line() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        "\u{feff}{\"id\":\"mark\",\"text\":\"first\"}",
        r#"{"id":"cut","text":"smile \ud83d"}"#,
        r#"{"id":"empty","text":"","html":"<p>page"}"#,
        r#"{"id":"none","text":"","content":""}"#,
    ];
    let (documents, bad) = read(&file(directory.path(), "in.jsonl", lines.join("\r\n")));
    assert_eq!(texts(&documents), ["mark first", "cut smile \u{fffd}", "empty html <p>page", "none "]);
    assert_eq!(bad, []);
}

#[test]
fn gzip_is_detected_and_truncated_gzip_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    for n in 0..2000 {
        writeln!(out, "{{\"id\":\"{n}\",\"text\":\"text {}\"}}", n * 7919 % 1000).unwrap();
    }
    let packed = out.finish().unwrap();
    assert_eq!(read(&file(directory.path(), "a.jsonl.gz", &packed)).0.len(), 2000);
    let (documents, bad) = read(&file(directory.path(), "cut.jsonl", &packed[..packed.len() / 2]));
    assert!((500..2000).contains(&documents.len()), "{}", documents.len());
    assert_eq!(bad.last().unwrap().1, "truncated");
}

#[test]
fn csv_rows_are_read_or_reported() {
    let directory = tempfile::tempdir().unwrap();
    let csv =
        "\u{feff}URL,id,Text,extra\r\nhttps://a.test/,a,\"two\nlines, \"\"quoted\"\"\",1\r\nshort,row\r\n"
            .to_owned()
            + &format!("u,long,{},1\r\nu,,last,1\r\n", "x".repeat(300));
    let (documents, bad) = read(&file(directory.path(), "in.csv", csv));
    assert_eq!(texts(&documents), ["a two\nlines, \"quoted\"", "u last"]);
    assert_eq!(documents[0].url, "https://a.test/");
    assert_eq!(bad, [(3, "bad_row".to_owned()), (4, "too_large".to_owned())]);
    assert_eq!(read(&file(directory.path(), "no.csv", "a,b\n1,2\n")).1, [(1, "no_text".to_owned())]);
    // an unclosed quote takes the rest of the file, but not the memory
    let open = format!("id,text\na,\"{}", "y\n".repeat(10_000));
    assert_eq!(read(&file(directory.path(), "open.csv", open)).1, [(2, "too_large".to_owned())]);
}

#[test]
fn written_parquet_tables_are_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let columns = [
        ("id", ColumnKind::Text),
        ("size", ColumnKind::Integer),
        ("text", ColumnKind::Text),
        ("score", ColumnKind::Float),
        ("good", ColumnKind::Boolean),
    ];
    let mut table = ParquetTable::new(Vec::new(), &columns).unwrap();
    let row = |id: &str, text: &str| {
        [
            Value::Text(id.into()),
            Value::Integer(-3),
            Value::Text(text.into()),
            Value::Float(0.5),
            Value::Boolean(true),
        ]
    };
    for n in 0..300 {
        table.push(row(&format!("d{n}"), "Grüße")).unwrap();
    }
    table.push(row("long", &"x".repeat(300))).unwrap();
    table.push(row("last", "end")).unwrap();
    assert!(table.push([Value::Boolean(true)]).is_err());
    let bytes = table.finish().unwrap();
    let (documents, bad) = read(&file(directory.path(), "in.parquet", &bytes));
    assert_eq!(documents.len(), 301);
    assert_eq!(texts(&documents)[299..], ["d299 Grüße", "last end"]);
    assert_eq!(bad, [(301, "too_large".to_owned())]);

    // damage anywhere is an error of the file or has no effect, and never panics
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x2a;
        read(&file(directory.path(), "damaged.parquet", &damaged));
    }
    assert_eq!(read(&file(directory.path(), "empty.parquet", b"")).1, [(1, "bad_parquet".to_owned())]);
    assert_eq!(read(&file(directory.path(), "short.parquet", &bytes[..bytes.len() / 2])).1.len(), 1);
}

#[test]
fn floating_point_ids_have_no_exponent() {
    let directory = tempfile::tempdir().unwrap();
    let columns = [("id", ColumnKind::Float), ("text", ColumnKind::Text)];
    let mut table = ParquetTable::new(Vec::new(), &columns).unwrap();
    for id in [0.0, 1_234_567.0, 0.5, -1.0, 1e18, 1_234_567_890_123_456_789.0, 1e20, 1e-5] {
        table.push([Value::Float(id), Value::Text("x".into())]).unwrap();
    }
    let (documents, _) = read(&file(directory.path(), "in.parquet", table.finish().unwrap()));
    let ids = [
        "0.0",
        "1234567.0",
        "0.5",
        "-1.0",
        "1000000000000000000.0",
        "1234567890123456800.0",
        "100000000000000000000.0",
        "0.00001",
    ];
    assert_eq!(texts(&documents), ids.map(|id| format!("{id} x")));
}

/// Lists that state more elements than the file has bytes: the library counts them without reading any.
#[test]
fn lists_longer_than_a_parquet_file_are_errors_at_once() {
    let directory = tempfile::tempdir().unwrap();
    // found by fuzzing: the first page header holds a list of UUIDs that extends far beyond the end
    let page = include_bytes!("../../../fuzz/seeds/parquet/list-behind-the-end");
    let path = file(directory.path(), "page.parquet", page);
    assert_eq!(read(&path), (Vec::new(), vec![(1, "bad_parquet".to_owned())]));

    // found by fuzzing: a field of the dictionary's header has another type than the format's
    let page = include_bytes!("../../../fuzz/seeds/parquet/field-of-another-type");
    let path = file(directory.path(), "type.parquet", page);
    assert_eq!(read(&path), (Vec::new(), vec![(1, "bad_parquet".to_owned())]));

    // found by fuzzing: more string lengths than the page can hold
    let page = include_bytes!("../../../fuzz/seeds/parquet/lengths-without-bytes");
    let path = file(directory.path(), "lengths.parquet", page);
    assert_eq!(read(&path), (Vec::new(), vec![(1, "bad_parquet".to_owned())]));

    // a footer of 10,000 unknown fields, each a list of 2^31 - 1 booleans, which take no bytes
    let mut footer = [0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07].repeat(10_000);
    footer.push(0);
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    let bytes = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    let path = file(directory.path(), "footer.parquet", &bytes);
    assert_eq!(read(&path), (Vec::new(), vec![(1, "bad_parquet".to_owned())]));
}

/// The same page as UTF-8, as Latin-1, and as UTF-8 with a truncated character.
#[test]
fn tables_in_other_encodings_are_decoded_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let mut csv = b"id,text\none,\"Le caf\xe9 du port \x96 ouvert\"\n".to_vec();
    csv.extend("two,Le café du port\n".as_bytes());
    csv.extend(b"three,Le caf\xc3\xa9 du port \xc3\n");
    let (documents, unreadable) = read(&file(directory.path(), "a.csv", csv));
    assert_eq!(
        texts(&documents),
        ["one Le café du port – ouvert", "two Le café du port", "three Le café du port \u{fffd}"]
    );
    let from: Vec<_> = documents.iter().map(|document| document.decoded_from).collect();
    assert_eq!(
        (from, unreadable.len()),
        (vec![Some("windows-1252"), None, Some("UTF-8 with replacements")], 0)
    );
}

#[test]
fn parquet_is_read_with_each_compression() {
    use parquet::{
        basic::{BrotliLevel, Compression as By, GzipLevel, ZstdLevel},
        data_type::{ByteArrayType, Int64Type},
        file::{properties::WriterProperties, writer::SerializedFileWriter},
        schema::parser::parse_message_type,
    };
    let directory = tempfile::tempdir().unwrap();
    let schema = "message m { required binary text (UTF8); required int64 date (TIMESTAMP(MILLIS,true)); }";
    for (name, by) in [
        ("plain", By::UNCOMPRESSED),
        ("snappy", By::SNAPPY),
        ("gzip", By::GZIP(GzipLevel::default())),
        ("brotli", By::BROTLI(BrotliLevel::default())),
        ("zstd", By::ZSTD(ZstdLevel::default())),
        ("lz4", By::LZ4_RAW),
    ] {
        let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
        let properties = std::sync::Arc::new(WriterProperties::builder().set_compression(by).build());
        let path = directory.path().join(format!("{name}.parquet"));
        let out = fs::File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(out, schema, properties).unwrap();
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let text = "the ferry ".repeat(4);
        column.typed::<ByteArrayType>().write_batch(&[text.as_str().into()], None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1_735_787_045_678], None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
        writer.close().unwrap();
        let (documents, unreadable) = read(&path);
        assert_eq!(unreadable, [], "{name}");
        assert_eq!(documents[0].body, Body::Text(text), "{name}");
        assert_eq!(documents[0].date, "2025-01-02T03:04:05Z", "{name}");
    }
}

#[test]
fn timestamps_of_all_inputs_have_one_format() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"text":"a","warc_date":"2025-01-02 03:04:05"}"#,
        r#"{"text":"a","date":"20250102030405"}"#,
        r#"{"text":"a","metadata":{"fetchedAt":"2025-01-02T03:04:05.678Z"}}"#,
    ];
    let jsonl = file(directory.path(), "a.jsonl", lines.join("\n"));
    let csv = file(
        directory.path(),
        "a.csv",
        "text,date\na,\"Thu, 02 Jan 2025 03:04:05 GMT\"\na,2025-01-02T05:04:05+02:00\n",
    );
    let warc = file(
        directory.path(),
        "a.warc",
        "WARC/1.1\r\nWARC-Type: conversion\r\nWARC-Date: 2025-01-02T03:04:05.123456Z\r\nContent-Type: text/plain\r\n\
         Content-Length: 1\r\n\r\na\r\n\r\n",
    );
    for path in [jsonl, csv, warc] {
        let (documents, _) = read(&path);
        assert!(!documents.is_empty());
        assert!(documents.iter().all(|document| document.date == "2025-01-02T03:04:05Z"), "{documents:?}");
    }
}

#[test]
fn input_names_and_glob_patterns_expand_to_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["b.jsonl", "a.jsonl", "c.csv", "[x].jsonl"] {
        file(directory.path(), name, "");
    }
    let at = |name: &str| directory.path().join(name);
    assert_eq!(
        expand(&[at("c.csv"), at("[ab].jsonl")]).unwrap(),
        [at("c.csv"), at("a.jsonl"), at("b.jsonl")]
    );
    assert_eq!(expand(&[at("[x].jsonl")]).unwrap(), [at("[x].jsonl")]);
    assert!(expand(&[at("none*")]).unwrap_err().to_string().contains("no such file"));
    assert!(expand(&[at("a***b")]).unwrap_err().to_string().contains("a***b"));
    for (name, format) in [
        ("a.jsonl", Format::Jsonl),
        ("a.json.gz", Format::Jsonl),
        ("A.WARC.GZ", Format::Warc),
        ("x.warc.wet.gz", Format::Warc),
        ("x.wet", Format::Warc),
        ("x.warc.gz.bad", Format::Warc),
        ("t.csv", Format::Csv),
        ("t.parquet", Format::Parquet),
        ("plain", Format::Jsonl),
    ] {
        assert_eq!(Format::of(Path::new(name)), format, "{name}");
    }
}
