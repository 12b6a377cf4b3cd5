//! Files of an archive that are one gzip member, as `gzip` writes them. A replay reads single records, so it needs plain copies.

use crate::{
    exit::{Exit, Failure},
    scratch::Scratch,
};
use crawl_archive::WarcReader;
use flate2::read::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// First bytes of a gzip member.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Plain copies of files.
pub(super) struct Unpacked {
    /// The folder of the copies, if there are any.
    pub(super) folder: Option<Scratch>,
    /// Files whose end cannot be unpacked.
    pub(super) damaged: usize,
}

/// Replaces each file whose first gzip member has several records by a plain copy.
///
/// # Errors
/// When a file cannot be read, or a copy cannot be written.
pub(super) fn unpack(files: &mut [PathBuf], most: usize) -> Result<Unpacked, Failure> {
    let mut unpacked = Unpacked { folder: None, damaged: 0 };
    for file in files {
        if !is_one_member(file, most).map_err(|e| Failure::input(file, &e))? {
            continue;
        }
        let base = std::env::temp_dir();
        let in_base = |e: io::Error| {
            let advice = "free disk space, or name another folder with TMPDIR";
            Failure::new(
                Exit::Storage,
                format!("{}: no copy of {}: {e}; {advice}", base.display(), file.display()),
            )
        };
        if unpacked.folder.is_none() {
            unpacked.folder = Some(Scratch::new(&base, "crawl-unpacked-").map_err(in_base)?);
        }
        let (Some(folder), Some(name)) = (&unpacked.folder, file.file_stem()) else { continue };
        let copy = folder.path().join(name);
        let mut source = MultiGzDecoder::new(File::open(&*file).map_err(|e| Failure::input(file, &e))?);
        if let Some(error) = copy_readable(&mut source, &copy).map_err(in_base)? {
            tracing::warn!(file = %file.display(), "the end of the file cannot be unpacked: {error}");
            unpacked.damaged += 1;
        }
        *file = copy;
    }
    Ok(unpacked)
}

/// Copies bytes up to the end or to the first one that cannot be read. Returns the error of reading.
fn copy_readable(source: &mut impl Read, copy: &Path) -> io::Result<Option<io::Error>> {
    let mut to = File::create(copy)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => to.write_all(buffer.get(..read).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// Returns true if the first two records of a file are in one gzip member.
fn is_one_member(path: &Path, most: usize) -> io::Result<bool> {
    let mut head = [0; GZIP.len()];
    let mut file = File::open(path)?;
    if file.read(&mut head)? < GZIP.len() || head != GZIP {
        return Ok(false);
    }
    let mut reader = WarcReader::new(File::open(path)?, most)?;
    let mut offset = || reader.next().and_then(Result::ok).map(|_| reader.offset());
    let first = offset();
    Ok(first.is_some() && first == offset())
}
