//! WACZ 1.1.1: a zip file with WARC files in `archive/`.

use super::{Archived, Revisits, of_warc};
use crate::RecordError;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::ControlFlow,
};
use zip::ZipArchive;

/// Maximum bytes of all WARC files of a WACZ when unpacked: a small zip file can unpack to a full disk.
const MAX_UNPACKED: u64 = 64 << 30;
/// Bytes that are copied at once.
const CHUNK: usize = 64 << 10;

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

/// Passes the pages of each WARC file to `each`.
pub(super) fn read(
    file: File,
    most: usize,
    revisits: &mut Revisits,
    each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
) -> io::Result<()> {
    each_warc(file, &mut |name, copy, copied| {
        if of_warc(copy, most, &format!("{name}: "), revisits, each)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        Ok(match copied {
            Err(error) => each(Archived::Unreadable { place: name, error }),
            Ok(()) => ControlFlow::Continue(()),
        })
    })
}

/// Passes the pages of `revisits` in each WARC file to `each`.
pub(super) fn resolve(
    file: File,
    most: usize,
    revisits: &mut Revisits,
    each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
) -> io::Result<()> {
    each_warc(file, &mut |_, copy, _| {
        let goes_on = revisits.resolve(copy, most, each)?;
        Ok(if revisits.is_empty() { ControlFlow::Break(()) } else { goes_on })
    })
}

/// Takes the name of a WARC file, a copy of the file, and the damage of the copy.
type EachWarc<'a> = &'a mut dyn FnMut(String, File, Result<(), RecordError>) -> io::Result<ControlFlow<()>>;

/// Copies each WARC file out of the zip, since its reader seeks, and passes it to `each`. A copy has all that could be unpacked.
fn each_warc(file: File, each: EachWarc<'_>) -> io::Result<()> {
    let mut zip = ZipArchive::new(file)?;
    let mut left = MAX_UNPACKED;
    for name in warcs(&zip) {
        let mut copy = tempfile::tempfile().map_err(|e| in_temporary_file(&e))?;
        let copied = match zip.by_name(&name) {
            Ok(mut entry) => unpack(&mut entry, &mut copy, &mut left)?,
            Err(e) => Err(RecordError::Io(e.to_string())),
        };
        copy.seek(SeekFrom::Start(0))?;
        if each(name, copy, copied)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Copies an entry, and subtracts its bytes from those that are left. The inner error is damage of the entry.
///
/// # Errors
/// When the temporary file cannot be written.
fn unpack(entry: &mut impl Read, copy: &mut File, left: &mut u64) -> io::Result<Result<(), RecordError>> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let len = match entry.read(&mut chunk) {
            Ok(0) => return Ok(Ok(())),
            Ok(len) => len,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Ok(Err(RecordError::Io(e.to_string()))),
        };
        let Some(rest) = left.checked_sub(len as u64) else {
            return Ok(Err(RecordError::TooLarge(MAX_UNPACKED)));
        };
        *left = rest;
        copy.write_all(&chunk[..len]).map_err(|e| in_temporary_file(&e))?;
    }
}

fn in_temporary_file(e: &io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    io::Error::new(io::ErrorKind::StorageFull, format!("a temporary file in {}: {e}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_beyond_the_limit_is_an_error() {
        for (left, fits) in [(10, true), (9, false)] {
            let (mut copy, mut rest) = (tempfile::tempfile().unwrap(), left);
            let unpacked = unpack(&mut &[7_u8; 10][..], &mut copy, &mut rest).unwrap();
            assert_eq!(unpacked.is_ok(), fits, "{left}");
        }
    }
}
