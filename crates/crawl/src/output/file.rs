//! A file of lines, synced and cut back to what was settled.

use super::{Output, absolute};
use crate::context::StageError;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// A file.
pub struct FileOutput {
    file: File,
    name: String,
    length: u64,
    /// What the file holds is of an earlier round, and goes when the first line comes.
    stale: bool,
}

/// What the state knows of a file from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing: the file is appended to as it stands.
    Unknown,
    /// A round starts that replaces the file, with its first record: one that brings none leaves what there is.
    Replace,
    /// A run that was cut off had settled this many bytes; what stands behind them is written again.
    CutOff(u64),
}

impl FileOutput {
    /// Opens a file of lines for appending, creating it, cut back as `before` says. Its folder has to be there: one that is
    /// made unasked may be a slip of the pen, or stand under a disk that is not mounted.
    ///
    /// # Errors
    /// When the file cannot be opened for writing.
    pub fn open(path: &Path, before: Before) -> Result<Self, StageError> {
        Self::open_as(path, before, true)
    }

    /// The same for bytes that are no lines: what a last line lacks is not added.
    ///
    /// # Errors
    /// When the file cannot be opened for writing.
    pub fn open_bytes(path: &Path, before: Before) -> Result<Self, StageError> {
        Self::open_as(path, before, false)
    }

    fn open_as(path: &Path, before: Before, lines: bool) -> Result<Self, StageError> {
        let name = absolute(path).to_string_lossy().into_owned();
        let fail = |source| StageError::Output { name: name.clone(), source };
        folder_exists(path).map_err(fail)?;
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(fail)?;
        let found = file.metadata().map_err(fail)?;
        let keep = match before {
            Before::Unknown | Before::Replace => found.len(),
            Before::CutOff(settled) => settled.min(found.len()),
        };
        if let Before::CutOff(settled) = before
            && found.is_file()
            && found.len() < settled
        {
            let missing = settled - found.len();
            tracing::warn!(file = name, missing, "bytes of records that were written are not there any more");
        }
        if found.is_file() && keep < found.len() {
            file.set_len(keep).map_err(fail)?;
        }
        if before == Before::Replace {
            return Ok(Self { file, name, length: 0, stale: found.is_file() && found.len() > 0 });
        }
        // a device has no end to seek to
        let mut length = if found.is_file() { file.seek(SeekFrom::End(0)).map_err(fail)? } else { 0 };
        if lines && length > 0 && !ends_a_line(path, length).map_err(fail)? {
            // whoever wrote the last line was cut off: a record must not be glued to it
            file.write_all(b"\n").map_err(fail)?;
            length += 1;
        }
        Ok(Self { file, name, length, stale: false })
    }

    /// Empties it.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn clear(&mut self) -> Result<(), StageError> {
        let cleared = self.file.set_len(0).and_then(|()| self.file.sync_data());
        cleared.map_err(|source| StageError::Output { name: self.name.clone(), source })?;
        (self.length, self.stale) = (0, false);
        Ok(())
    }

    /// Bytes of it that count.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Whether the file still holds what an earlier round has written.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        self.stale
    }
}

/// An error that says so if the folder that a file is to be made in is not there.
pub(super) fn folder_exists(path: &Path) -> io::Result<()> {
    match path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists()) {
        None => Ok(()),
        Some(folder) => {
            let missing = format!("there is no folder {}: make it first", folder.display());
            Err(io::Error::new(io::ErrorKind::NotFound, missing))
        }
    }
}

/// By a handle of its own: one that reads and writes would keep a pipe open that its reader has left.
fn ends_a_line(path: &Path, length: u64) -> io::Result<bool> {
    let (mut file, mut last) = (File::open(path)?, [0]);
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

impl Output for FileOutput {
    fn write(&mut self, lines: &[u8]) -> Result<(), StageError> {
        let fail = |source| StageError::Output { name: self.name.clone(), source };
        if std::mem::take(&mut self.stale) {
            self.file.set_len(0).map_err(fail)?;
        }
        self.file.write_all(lines).map_err(|source| {
            // a full disk takes a part of the lines, and who reads the file meanwhile must not meet half of one; that this
            // fails too is mended by the next run, which cuts the file back
            if self.file.metadata().is_ok_and(|found| found.is_file()) {
                let _ = self.file.set_len(self.length);
            }
            fail(source)
        })?;
        self.length += lines.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, StageError> {
        match self.file.sync_data() {
            Ok(()) => Ok(Some(self.length)),
            // pipes and devices cannot be synced, and need not be
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
                Ok(Some(self.length))
            }
            Err(source) => Err(StageError::Output { name: self.name.clone(), source }),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(before: Before) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deeper/out.jsonl");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        let mut output = FileOutput::open(&path, before).unwrap();
        output.write(b"new\n").unwrap();
        let length = output.sync().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(length, Some(text.len() as u64));
        text
    }

    #[test]
    fn cut_back_to_what_was_settled() {
        assert_eq!(after(Before::CutOff(8)), "one\ntwo\nnew\n");
        assert_eq!(after(Before::CutOff(800)), "one\ntwo\nthr\nnew\n");
        assert_eq!(after(Before::Replace), "new\n");
        assert_eq!(after(Before::Unknown), "one\ntwo\nthr\nnew\n");
    }

    #[test]
    fn what_is_replaced_stays_until_there_is_something_to_replace_it_with() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        std::fs::write(&path, "old\n").unwrap();
        let mut output = FileOutput::open(&path, Before::Replace).unwrap();
        assert_eq!((output.sync().unwrap(), output.is_stale()), (Some(0), true));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\n");
        output.write(b"new\n").unwrap();
        assert_eq!((output.sync().unwrap(), output.is_stale()), (Some(4), false));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    }

    #[test]
    fn a_missing_folder_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let error = FileOutput::open(&dir.path().join("deep/out.jsonl"), Before::Unknown).err().unwrap();
        let StageError::Output { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().contains("make it first"), "{source}");
        assert!(!dir.path().join("deep").exists());
    }

    #[test]
    fn a_folder_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let error = FileOutput::open(dir.path(), Before::Unknown).err().unwrap();
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    }
}
