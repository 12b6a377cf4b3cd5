//! Unreadable bytes of an output: they are moved to a separate file, and never discarded.

use crate::whole::sync_folder;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

/// Copies ranges of a file into the first free `NAME.damaged-N` beside it and syncs that. Returns its path.
pub(super) fn copy_damaged(path: &Path, ranges: &[Range<u64>]) -> io::Result<PathBuf> {
    let (aside, mut out) = new_file(path)?;
    let mut file = File::open(path)?;
    for range in ranges {
        file.seek(SeekFrom::Start(range.start))?;
        io::copy(&mut (&mut file).take(range.end - range.start), &mut out)?;
    }
    out.sync_all()?;
    sync_folder(&aside)?;
    Ok(aside)
}

/// Gives a whole file the first free name `NAME.damaged-N`, which is returned.
pub(super) fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let (aside, _) = new_file(path)?;
    std::fs::rename(path, &aside)?;
    sync_folder(&aside)?;
    Ok(aside)
}

fn new_file(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 1;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return Ok((name.into(), made?)),
        }
    }
}

/// Bytes of some ranges.
pub(super) fn bytes_of(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// The message that settled records are missing from a file.
#[must_use]
pub fn missing_words(name: &str, missing: u64) -> String {
    format!(
        "{name}: {missing} bytes of records that were written are not there any more: the file was removed, shortened or \
         replaced; --fresh fetches them again"
    )
}
