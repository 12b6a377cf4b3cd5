//! Owner of an output: the state directory of the one crawl that writes it.
//!
//! A hidden file beside the output names the owner. The state of another crawl knows nothing of the records in the
//! file, so it would append its own records or replace these.

use crate::{Place, whole::replace_private};
use std::{
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// End of the name of the file that names the owner.
const OWNER_SUFFIX: &str = ".crawl";

/// Owner of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The output does not exist, or no crawl has noted that it writes it.
    None,
    /// The crawl with this state directory.
    Crawl(PathBuf),
    /// A crawl whose file of ownership this user cannot read.
    Unreadable(io::ErrorKind),
}

impl Place {
    /// The file that names the owner of the output.
    #[must_use]
    pub fn owner_file(&self) -> PathBuf {
        let marked = self.marked();
        let mut name = std::ffi::OsString::from(".");
        name.push(marked.file_name().unwrap_or_default());
        name.push(OWNER_SUFFIX);
        marked.with_file_name(name)
    }

    /// Reads the owner of an output.
    #[must_use]
    pub fn owner(&self) -> Owner {
        if !self.marked().is_file() && !self.written().is_file() {
            return Owner::None;
        }
        match fs::read(self.owner_file()) {
            Ok(bytes) => {
                let path = bytes.strip_suffix(b"\n").unwrap_or(&bytes).to_vec();
                Owner::Crawl(std::ffi::OsString::from_vec(path).into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Owner::None,
            Err(error) => Owner::Unreadable(error.kind()),
        }
    }

    /// Notes the owner of an output that was opened. Devices and pipes have none.
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn set_owner(&self, state: &Path) -> io::Result<()> {
        if !self.marked().is_file() && !self.written().is_file()
            || self.owner() == Owner::Crawl(state.to_owned())
        {
            return Ok(());
        }
        let mut line = state.as_os_str().as_bytes().to_vec();
        line.push(b'\n');
        replace_private(&self.owner_file(), &line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_each_format_records_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        for (name, file, note) in [
            ("out.jsonl", "out.jsonl", ".out.jsonl.crawl"),
            ("out.parquet", "out.parquet.part", ".out.parquet.crawl"),
            ("pages/", "pages/index.jsonl", "pages/.index.jsonl.crawl"),
        ] {
            let place = Place::of(&dir.path().join(name));
            place.set_owner(Path::new("/state")).unwrap();
            assert_eq!(place.owner(), Owner::None, "{name} does not exist");
            fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            fs::write(dir.path().join(file), "").unwrap();
            // a folder is resolved only once it exists
            let place = Place::of(&dir.path().join(name));
            assert_eq!(place.owner(), Owner::None, "{name}");
            place.set_owner(Path::new("/state")).unwrap();
            assert_eq!(place.owner(), Owner::Crawl("/state".into()), "{name}");
            assert!(dir.path().join(note).is_file(), "{name}");
        }
        Place::of(Path::new("/dev/null")).set_owner(Path::new("/state")).unwrap();
    }
}
