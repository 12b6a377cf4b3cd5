//! The file of a table.

use crawl_archive::ParquetFile;
use std::{fs::File, io, path::Path};

/// The note of a table that names the journal it was made from last.
pub(super) const NOTE: &str = "crawl.journal";

/// The table at a path, if there is one. A file that is no table is an error (invalid data).
pub(super) fn table(path: &Path) -> io::Result<Option<ParquetFile>> {
    match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
        Ok(file) if file.metadata()?.len() == 0 => Ok(None),
        Ok(file) => ParquetFile::open(file)
            .map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
    }
}
