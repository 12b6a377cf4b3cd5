//! Lines of the error log of a state directory.

use serde_json::Value;
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::Path,
};

/// Bytes of the error log's end that are read for its last lines.
const TAIL: u64 = 256 << 10;

/// Returns true if a line of the log names a trap. The log holds the lines of one round. A log that is not there names none; a very
/// large one counts as one that does.
pub(super) fn names_trap(log: &Path) -> bool {
    /// Maximum bytes of a log that is read.
    const MOST: u64 = 64 << 20;
    let Ok(log) = File::open(log) else { return false };
    if log.metadata().is_ok_and(|log| log.len() > MOST) {
        return true;
    }
    let finder = memchr::memmem::Finder::new(b"\"kind\":\"trap_");
    let mut lines = BufReader::new(log.take(MOST));
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(1..) if finder.find(&line).is_some() => return true,
            Ok(1..) => {}
            _ => return false,
        }
    }
}

/// The last whole lines of a log, as JSON, oldest first. A log that is not there has none.
pub(super) fn last_lines(path: &Path, most: usize) -> Vec<Value> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    // the first line may have lost its beginning, the last one its end: neither is JSON then
    let lines = bytes.split(|b| *b == b'\n').rev().filter_map(|line| serde_json::from_slice(line).ok());
    let mut lines: Vec<Value> = lines.take(most).collect();
    lines.reverse();
    lines
}
