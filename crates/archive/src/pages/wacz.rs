//! WACZ 1.1.1: a zip file with WARC files in `archive/`.

use super::{Archived, of_warc};
use crate::RecordError;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
};
use zip::ZipArchive;

/// Bytes that a WARC file of a WACZ may have when unpacked.
const MAX_WARC: u64 = 64 << 30;

/// Returns true if a zip file is a WACZ.
pub(super) fn is_one(file: &mut File) -> bool {
    ZipArchive::new(file).is_ok_and(|zip| !warcs(&zip).is_empty())
}

/// Names of the WARC files.
fn warcs<R: Read + Seek>(zip: &ZipArchive<R>) -> Vec<String> {
    let names = zip.file_names().filter_map(Result::ok).filter(|name| is_warc(name));
    let mut names: Vec<String> = names.map(std::borrow::Cow::into_owned).collect();
    names.sort();
    names
}

fn is_warc(name: &str) -> bool {
    let endings = [".warc", ".warc.gz", ".warc.zst"];
    name.starts_with("archive/") && endings.iter().any(|ending| name.ends_with(ending))
}

/// Passes the pages of each WARC file to `each`. A file is copied out of the zip first, since its reader seeks.
pub(super) fn read(
    file: File,
    most: usize,
    each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut zip = ZipArchive::new(file)?;
    for name in warcs(&zip) {
        let mut copy = tempfile::tempfile()?;
        let copied = zip.by_name(&name).map_err(io::Error::from);
        // what could be unpacked is read all the same
        let copied = copied.and_then(|entry| io::copy(&mut entry.take(MAX_WARC), &mut copy));
        copy.seek(SeekFrom::Start(0))?;
        if of_warc(copy, most, &format!("{name}: "), each)?.is_break() {
            return Ok(());
        }
        if let Err(e) = copied {
            let error = RecordError::Io(e.to_string());
            if each(Archived::Unreadable { place: name, error }).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
