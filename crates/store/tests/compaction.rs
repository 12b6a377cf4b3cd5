//! Memory of a compaction. The peak is that of the process, so this test is alone in its file.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use crawl_model::RunStore;
use crawl_store::SqliteStore;
use std::fs;

/// Peak of this process's memory in KiB, since the last reset.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
#[ignore = "needs a memory peak that can be reset"]
fn compaction_does_not_hold_the_database_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let value = "x".repeat(1 << 20);
    for n in 0..96 {
        store.put(&format!("value{n}"), &value).unwrap();
    }
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_kib();
    store.compact().unwrap();
    let taken = peak_kib().saturating_sub(before);
    assert!(taken < 48 << 10, "{taken} KiB for a database of 96 MiB");
    assert_eq!(store.get("value95").unwrap().map(|value| value.len()), Some(1 << 20));
}
