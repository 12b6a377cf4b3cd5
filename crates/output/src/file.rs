//! A file of lines, which can be synced and truncated to its settled length.

use crate::OutputError;
use crate::{
    lock::{is_named, lock},
    output::Output,
    paths::absolute,
    whole::sync_folder,
};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// A file that only this process writes while it is open.
pub struct FileOutput {
    file: File,
    path: PathBuf,
    name: String,
    length: u64,
    /// True if it has an end and a length; pipes and devices have not.
    regular: bool,
    /// True if the content is of an earlier round; it goes when the first line comes.
    stale: bool,
    /// Bytes of settled records that were not there any more when it was opened.
    missing: u64,
}

/// The state's knowledge of a file from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Unknown length: records are appended to the unchanged file.
    Unknown,
    /// A run closed the file at this length: records are appended to the unchanged file.
    Closed(u64),
    /// A round starts that replaces the file, with its first record. A round without records leaves the old
    /// content.
    Replace,
    /// An interrupted run had settled this many bytes: the file is truncated to them.
    CutOff(u64),
}

impl FileOutput {
    /// Opens a file of lines for appending, creating it, truncated according to `before`. Its folder has to exist:
    /// a missing one may be a typing error or an unmounted disk.
    ///
    /// # Errors
    /// When the file cannot be opened for writing, or another process writes it.
    pub fn open(path: &Path, before: Before) -> Result<Self, OutputError> {
        let mut opened = Self::open_bytes(path, before)?;
        if !opened.stale
            && opened.length > 0
            && !ends_a_line(path, opened.length).map_err(|e| opened.fail(e))?
        {
            let file = &opened.name;
            tracing::warn!(file, "the last line is incomplete; it stays, and records follow on a new line");
            opened.write(b"\n")?;
        }
        Ok(opened)
    }

    /// Opens a file like [`FileOutput::open`], but adds no missing end of a line.
    ///
    /// # Errors
    /// Those of [`FileOutput::open`].
    pub fn open_bytes(path: &Path, before: Before) -> Result<Self, OutputError> {
        let name = absolute(path).to_string_lossy().into_owned();
        let fail = |source| OutputError::Write { name: name.clone(), source };
        folder_exists(path).map_err(fail)?;
        let file = open_and_lock(path, &name)?;
        let found = file.metadata().map_err(fail)?;
        let (path, regular) = (path.to_owned(), found.is_file());
        let mut opened = Self { file, path, name, length: 0, regular, stale: false, missing: 0 };
        if !regular {
            return Ok(opened);
        }
        sync_folder(&opened.path).map_err(|e| opened.fail(e))?;
        opened.stale = before == Before::Replace && found.len() > 0;
        opened.length = if before == Before::Replace { 0 } else { found.len() };
        if let Before::CutOff(settled) = before {
            opened.expect(settled);
            opened.cut_back(settled)?;
        }
        Ok(opened)
    }

    /// Cuts it back to a length, with a warning. A shorter one stays as it is.
    pub(super) fn cut_back(&mut self, length: u64) -> Result<(), OutputError> {
        if length < self.length {
            let (file, bytes) = (&self.name, self.length - length);
            tracing::warn!(
                file,
                bytes,
                "cut back to {length} bytes, which were settled; the pages behind them are fetched again"
            );
            self.file.set_len(length).map_err(|e| self.fail(e))?;
            self.length = length;
        }
        Ok(())
    }

    /// Sets the number of settled bytes.
    pub(super) const fn expect(&mut self, settled: u64) {
        self.missing = settled.saturating_sub(self.length);
    }

    /// Makes it as long as `length`, without a word, and syncs that.
    ///
    /// # Errors
    /// When that cannot be done.
    pub(super) fn keep(&mut self, length: u64) -> Result<(), OutputError> {
        self.file.set_len(length).and_then(|()| self.file.sync_data()).map_err(|e| self.fail(e))?;
        (self.length, self.stale) = (length, false);
        Ok(())
    }

    /// Settled bytes of the file.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Bytes of settled records that were not there any more when it was opened.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.missing
    }

    /// Returns true if the file still holds what an earlier round has written.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        self.stale
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn fail(&self, source: io::Error) -> OutputError {
        OutputError::Write { name: self.name.clone(), source }
    }

    /// Fails if the path names another file, or if its length is not what this run has written. Otherwise the state would
    /// count records as written that the output does not hold.
    fn check(&self) -> io::Result<()> {
        if !self.regular {
            return Ok(());
        }
        let found = self.file.metadata()?.len();
        let what = if !is_named(&self.file, &self.path)? {
            format!("was removed or replaced during the run, with {} bytes that were written", self.length)
        } else if self.stale || found == self.length {
            return Ok(());
        } else if found < self.length {
            format!(
                "was shortened during the run: {} bytes that were written are missing",
                self.length - found
            )
        } else {
            format!("was changed by another program during the run: {} bytes", found - self.length)
        };
        let rest = "the same command fetches unsettled pages again, --fresh fetches lost ones";
        Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("it {what}; {rest}")))
    }
}

/// A path may get another file between opening and locking it.
fn open_and_lock(path: &Path, name: &str) -> Result<File, OutputError> {
    let fail = |source| OutputError::Write { name: name.to_owned(), source };
    loop {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            return Ok(file);
        }
        lock(&file, path)?;
        if is_named(&file, path).map_err(fail)? {
            return Ok(file);
        }
    }
}

/// The error of a missing folder, if the folder of a new file does not exist.
pub(super) fn folder_exists(path: &Path) -> io::Result<()> {
    match path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists()) {
        None => Ok(()),
        Some(folder) => {
            let missing = format!("there is no folder {}: make it first", folder.display());
            Err(io::Error::new(io::ErrorKind::NotFound, missing))
        }
    }
}

/// Returns true if the last line has an end. Uses a handle of its own: a handle that reads and writes would
/// keep a pipe open that its reader has left.
fn ends_a_line(path: &Path, length: u64) -> io::Result<bool> {
    let (mut file, mut last) = (File::open(path)?, [0]);
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

impl Output for FileOutput {
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        self.check().map_err(|e| self.fail(e))?;
        if std::mem::take(&mut self.stale) {
            self.file.set_len(0).map_err(|e| self.fail(e))?;
        }
        self.file.write_all(lines).map_err(|source| {
            // a full disk takes a part of the lines, and a reader must not see half a line. If the truncation
            // fails too, the next run truncates the file
            if self.regular {
                let _ = self.file.set_len(self.length);
            }
            self.fail(source)
        })?;
        self.length += lines.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        match self.file.sync_data() {
            Ok(()) => {}
            // pipes and devices cannot be synced, and need not be
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            Err(source) => return Err(self.fail(source)),
        }
        self.check().map_err(|e| self.fail(e))?;
        Ok(Some(self.length))
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
    fn output_is_truncated_to_the_settled_length() {
        assert_eq!(after(Before::CutOff(8)), "one\ntwo\nnew\n");
        assert_eq!(after(Before::CutOff(800)), "one\ntwo\nthr\nnew\n");
        assert_eq!(after(Before::Replace), "new\n");
        assert_eq!(after(Before::Unknown), "one\ntwo\nthr\nnew\n");
    }

    #[test]
    fn replaced_file_stays_until_the_first_record() {
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
    fn missing_output_folder_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let error = FileOutput::open(&dir.path().join("deep/out.jsonl"), Before::Unknown).err().unwrap();
        let OutputError::Write { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().contains("make it first"), "{source}");
        assert!(!dir.path().join("deep").exists());
    }

    #[test]
    fn output_path_of_a_folder_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let error = FileOutput::open(dir.path(), Before::Unknown).err().unwrap();
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    }

    /// Opens a file, settles two lines, lets `harm` do something to it, and writes on. Returns the words of the error.
    fn error_after_damage(harm: impl Fn(&Path)) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        let mut output = FileOutput::open(&path, Before::Unknown).unwrap();
        output.write(b"one\ntwo\n").unwrap();
        output.sync().unwrap();
        harm(&path);
        let before = std::fs::read(&path).unwrap_or_default();
        let OutputError::Write { source, .. } = output.write(b"three\n").unwrap_err() else {
            panic!("another error")
        };
        assert_eq!(std::fs::read(&path).unwrap_or_default(), before, "nothing is written behind the harm");
        assert!(output.sync().is_err());
        source.to_string()
    }

    #[test]
    fn output_changed_by_others_is_an_error() {
        assert!(
            error_after_damage(|path| std::fs::remove_file(path).unwrap()).contains("removed or replaced")
        );
        let rotate = |path: &Path| {
            std::fs::rename(path, path.with_extension("1")).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert!(error_after_damage(rotate).contains("with 8 bytes that were written"));
        let shorten = |path: &Path| File::options().write(true).open(path).unwrap().set_len(3).unwrap();
        assert!(error_after_damage(shorten).contains("5 bytes that were written are missing"));
        let append =
            |path: &Path| File::options().append(true).open(path).unwrap().write_all(b"foreign").unwrap();
        assert!(error_after_damage(append).contains("by another program during the run: 7 bytes"));
    }

    #[test]
    fn missing_settled_bytes_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        std::fs::write(&path, "one\n").unwrap();
        let missing = |before| FileOutput::open(&path, before).unwrap().missing();
        assert_eq!(
            [missing(Before::CutOff(4)), missing(Before::CutOff(9)), missing(Before::Unknown)],
            [0, 5, 0]
        );
    }

    #[test]
    fn output_in_use_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        let first = FileOutput::open(&path, Before::CutOff(8)).unwrap();
        let refused = FileOutput::open(&path, Before::CutOff(4)).err().unwrap();
        assert!(matches!(refused, OutputError::Busy { .. }), "{refused}");
        assert_eq!(
            std::fs::read(&path).unwrap(),
            b"one\ntwo\n",
            "it is not cut under the one that writes it"
        );
        drop(first);
        FileOutput::open(&path, Before::CutOff(4)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n");
    }
}
