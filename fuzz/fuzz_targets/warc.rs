//! WARC and WET files, compressed or not.
#![no_main]

use crawl_archive::{NewRecord, RecordError, WarcReader, WarcRecord};
use crawl_fuzz::{Scratch, in_linear_time};
use libfuzzer_sys::fuzz_target;
use std::{io::Cursor, sync::LazyLock};
use uuid::Uuid;

static FILE: LazyLock<Scratch> = LazyLock::new(|| Scratch::new("warc"));

const MAX_RECORD: usize = 64 << 10;
const MAX_RECORDS: usize = 1_024;

/// Records of a file.
fn records(data: &[u8]) -> Vec<Result<WarcRecord, RecordError>> {
    let reader = WarcReader::new(Cursor::new(data), MAX_RECORD).expect("memory can be read");
    reader.take(MAX_RECORDS).collect()
}

fn check(record: &WarcRecord) {
    assert!(record.block.len() <= MAX_RECORD);
    if let Ok(payload) = in_linear_time(MAX_RECORD, || record.payload(MAX_RECORD)) {
        assert!(payload.len() <= MAX_RECORD);
    }
    assert!(record.block.ends_with(record.http_body()));
    assert_eq!(
        record.http_field("content-type"),
        record.http_fields("Content-Type").first().cloned().unwrap_or_default()
    );
    assert!(!record.target_uri().contains(' '));
    // The rewritten record is the same.
    let uri = record.target_uri();
    let new = NewRecord {
        kind: record.record_type(),
        id: Uuid::from_u128(7),
        target_uri: &uri,
        content_type: record.header("content-type"),
        payload: &record.block,
        ..NewRecord::default()
    };
    let member = new.member().expect("memory takes everything");
    let again = records(&member);
    let [Ok(again)] = again.as_slice() else { panic!("{again:?}") };
    assert!(again.is_intact());
    assert_eq!(again.block, record.block);
    assert_eq!(
        again.record_type().is_empty(),
        record.record_type().trim_matches(char::is_control).trim().is_empty()
    );
}

fuzz_target!(|data: &[u8]| {
    // A few compressed bytes may unpack to a thousand times as many.
    let is_packed = data.windows(2).any(|bytes| bytes == b"\x1f\x8b");
    let weight = if is_packed { data.len() * 1_024 } else { data.len() };
    let found = in_linear_time(weight, || records(data));
    assert_eq!(format!("{found:?}"), format!("{:?}", records(data)));
    found.iter().flatten().for_each(check);
    let read = FILE.read(data, weight + MAX_RECORD);
    assert_eq!(read.shown, FILE.read(data, weight + MAX_RECORD).shown);
});
