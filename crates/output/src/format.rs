//! A format of records: the names of its outputs, and how such an output is opened.

use crate::{
    damaged::missing_words,
    error::OutputError,
    fields::Fields,
    file::{Before, FileOutput},
    output::RecordOutput,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Function that notes the length of an output.
pub type Note<'a> = &'a mut dyn FnMut(u64) -> Result<(), OutputError>;

/// A format of records. A format is a file of `formats`, with its module and its line of `FORMATS` there.
pub trait Format: Sync {
    /// End of the names of its outputs in lower case, such as `.gz`; a slash for a folder, empty for any other name.
    fn ending(&self) -> &'static str;

    /// Opens an output, truncated according to `before`.
    ///
    /// # Errors
    /// When it cannot be written, holds something else than this output writes, or another process writes it.
    fn open(&self, path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError>;

    /// The file whose path identifies the output in the state.
    fn marked(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// The file that is appended to during a run.
    fn written(&self, path: &Path) -> PathBuf {
        self.marked(path)
    }

    /// Returns true if an output has no record. A folder counts as one that has some.
    ///
    /// # Errors
    /// When it cannot be read.
    fn is_empty(&self, path: &Path) -> io::Result<bool> {
        Ok(fs::metadata(path)?.len() == 0)
    }

    /// Removes an output without a record.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove_empty(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// Removes unsettled files of a killed process. `fields` are those of its records. Files of others stay. An open
    /// output has been cut back already, so only a folder has more to remove.
    ///
    /// # Errors
    /// When it cannot be read or removed.
    fn remove_unsettled(&self, _path: &Path, _fields: Option<&Fields>) -> io::Result<()> {
        Ok(())
    }

    /// Puts an output in order after a round. `note` is called with its new length before the length changes.
    ///
    /// # Errors
    /// When it cannot be written.
    fn tidy(
        &self,
        _path: &Path,
        _note: &mut dyn FnMut(u64) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    /// Leaves the latest record of each page, and no record of a page that is gone. `note` is called with the new
    /// length before the length changes. A folder does so while records are written.
    ///
    /// # Errors
    /// When it cannot be read or written.
    fn keep_latest(&self, _path: &Path, _note: Note<'_>) -> Result<(), OutputError> {
        Ok(())
    }

    /// Empties an output of earlier rounds.
    ///
    /// # Errors
    /// When it cannot be written.
    fn replace_by_nothing(&self, path: &Path) -> Result<(), OutputError> {
        let mut opened = self.open(path, Before::Replace, None)?;
        opened.output.commit()?;
        opened.output.finish().map(|_| ())
    }
}

/// An output that was opened.
pub struct Opened {
    /// The output.
    pub output: Box<dyn RecordOutput>,
    /// Its length in bytes.
    pub offset: u64,
    /// True if the content is of an earlier round; it goes when the first record comes.
    pub stale: bool,
    /// Settled records that it does not hold any more, in words.
    pub damage: Option<String>,
}

impl Opened {
    /// An output whose records, or an index of them, lie in one file. `offset`, `stale` and `missing` are those of the file.
    pub(crate) fn new(
        output: impl RecordOutput + 'static,
        (offset, stale, missing): (u64, bool, u64),
    ) -> Self {
        let damage = (missing > 0).then(|| missing_words(output.name(), missing));
        Self { output: Box::new(output), offset, stale, damage }
    }
}

/// Length of a file, its staleness, and the settled bytes that it lacks.
pub(crate) const fn state_of(file: &FileOutput) -> (u64, bool, u64) {
    (file.length(), file.is_stale(), file.missing())
}
