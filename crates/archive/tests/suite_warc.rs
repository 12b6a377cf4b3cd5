//! The WARC files of warcio and jwarc. The reader finds every record that warcio finds, with the same contents, and goes
//! on where warcio stops.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests, which clippy does not see as such"
)]

use crawl_archive::WarcReader;
use serde_json::Value;
use std::{fs, path::Path};

const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/protocol");

/// Records that warcio does not reach, or whose body it loses, in files that are not compressed record by
/// record.
const FURTHER: [(&str, usize); 3] = [
    ("example-bad-non-chunked.warc.gz", 6),
    ("example-bad.warc.gz.bad", 6),
    ("example-wrong-chunks.warc.gz", 2),
];

#[test]
fn records_match_those_that_warcio_reads() {
    let expected = fs::read(Path::new(SUITE).join("warc_expected_warcio.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
    assert!(!expected.is_empty());
    let mut errors = Vec::new();
    for case in &expected {
        let name = case["file"].as_str().unwrap();
        let file = fs::File::open(Path::new(SUITE).join("warc").join(name)).unwrap();
        let read: Vec<_> = WarcReader::new(file, 8 << 20)
            .unwrap()
            .filter_map(|record| match record {
                Ok(record) => Some(record),
                Err(error) => {
                    errors.push((name.to_owned(), error.name()));
                    None
                }
            })
            .map(|record| {
                let payload = record.payload(8 << 20).unwrap();
                (record.record_type().to_owned(), record.target_uri(), payload.len() as u64)
            })
            .collect();
        let further = FURTHER.iter().find(|(file, _)| *file == name);
        let theirs = case["records"].as_array().unwrap();
        assert_eq!(read.len(), further.map_or(theirs.len(), |(_, n)| *n), "{name}: {read:?}");
        for (ours, theirs) in read.iter().zip(theirs) {
            assert_eq!(ours.0, theirs[0].as_str().unwrap(), "{name}");
            assert_eq!(ours.1, theirs[1].as_str().unwrap_or_default(), "{name}");
            // warcio loses the body of a record in two members
            assert!(
                Some(ours.2) == theirs[2].as_u64() || name == "example-wrong-chunks.warc.gz",
                "{name}: {ours:?}"
            );
        }
    }
}
