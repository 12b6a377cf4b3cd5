//! The place of an output: its format and its one path, for every name that leads to it.

use crate::{
    error::OutputError,
    fields::Fields,
    file::Before,
    format::{Format, Note, Opened},
    formats::{format_of, json_lines},
    paths::absolute,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Links that are followed before a path counts as one that leads nowhere.
const MOST_LINKS: usize = 40;

/// An output with links and `..` resolved, so that one file has one name in the state.
#[derive(Clone)]
pub struct Place {
    format: &'static dyn Format,
    /// Resolved.
    pub path: PathBuf,
}

impl Place {
    /// The place that a name after `-o` or `-O` stands for. The name selects the format.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { format: format_of(path), path: resolved(path) }
    }

    /// Makes the place of a file of lines, for any name.
    #[must_use]
    pub fn of_lines(path: &Path) -> Self {
        Self { format: json_lines(), path: resolved(path) }
    }

    /// An output of the same format at another path, which is not resolved.
    #[must_use]
    pub fn at(&self, path: PathBuf) -> Self {
        Self { format: self.format, path }
    }

    /// The file whose path identifies the output in the state.
    #[must_use]
    pub fn marked(&self) -> PathBuf {
        self.format.marked(&self.path)
    }

    /// The file that is appended to during a run.
    #[must_use]
    pub fn written(&self) -> PathBuf {
        self.format.written(&self.path)
    }

    /// Name under which the store keeps the output.
    #[must_use]
    pub fn name(&self) -> String {
        self.marked().to_string_lossy().into_owned()
    }

    /// Opens the output, truncated according to `before`.
    ///
    /// # Errors
    /// When it cannot be written, holds something else than this output writes, or another process writes it.
    pub fn open(&self, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
        self.format.open(&self.path, before, fields)
    }

    /// Returns true if the output is a file without a record.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_empty(&self) -> Result<bool, OutputError> {
        let fail = |source| OutputError::Write { name: self.path.display().to_string(), source };
        if !self.path.is_file() {
            return Ok(false);
        }
        self.format.is_empty(&self.path).map_err(fail)
    }

    /// Returns true if the output is a folder of files.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.format.ending() == "/"
    }

    /// Removes an output without a record, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_empty(&self) -> Result<(), OutputError> {
        match self.format.remove_empty(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(OutputError::Write { name: self.path.display().to_string(), source })
            }
            _ => Ok(()),
        }
    }

    /// Removes unsettled files of a killed process. `fields` are those of its records. Files of others stay. Only for
    /// an output that was opened without damage since then.
    ///
    /// # Errors
    /// When it cannot be read or removed.
    pub fn remove_unsettled(&self, fields: Option<&Fields>) -> Result<(), OutputError> {
        let fail = |source| OutputError::Write { name: self.path.display().to_string(), source };
        self.format.remove_unsettled(&self.path, fields).map_err(fail)
    }

    /// Puts the output in order after a round. Called when its end is noted in the store, so that nothing has to be cut back.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn tidy(&self, note: &mut dyn FnMut(u64) -> Result<(), OutputError>) -> Result<(), OutputError> {
        self.format.tidy(&self.path, note)
    }

    /// Leaves the latest record of each page, at the end of a round.
    ///
    /// # Errors
    /// When the output cannot be read or written.
    pub fn keep_latest(&self, note: Note<'_>) -> Result<(), OutputError> {
        self.format.keep_latest(&self.path, note)
    }

    /// Empties an output of earlier rounds, for a round that replaces it and has no records.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace_by_nothing(&self) -> Result<(), OutputError> {
        self.format.replace_by_nothing(&self.path)
    }
}

/// The absolute path without links and `..`. The file need not exist; pipes and devices keep the name that they have.
fn resolved(path: &Path) -> PathBuf {
    let given = absolute(path);
    match fs::metadata(&given) {
        Ok(found) if found.is_file() || found.is_dir() => return fs::canonicalize(&given).unwrap_or(given),
        Ok(_) => return given,
        Err(_) => {}
    }
    let mut path = given.clone();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or_else(|| Path::new("/")).join(target);
    }
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_to_one_output_resolve_to_one_name() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(dir.join("deep")).unwrap();
        symlink(dir.join("deep"), dir.join("short")).unwrap();
        symlink("deep/out.gz", dir.join("link.jsonl")).unwrap();
        for there in [false, true] {
            if there {
                fs::write(dir.join("deep/out.gz"), "").unwrap();
            }
            let place = Place::of(&dir.join("deep/out.gz"));
            let read = |place: &Place| (place.format.ending(), place.path.clone());
            assert_eq!(read(&place), (".gz", dir.join("deep/out.gz")));
            assert_eq!(read(&Place::of(&dir.join("deep/../short/out.gz"))), read(&place));
            // the given name sets the format
            let link = Place::of(&dir.join("link.jsonl"));
            assert_eq!(read(&link), ("", place.path));
        }
        let folder = Place::of(Path::new(&format!("{}/short/pages/", dir.display())));
        assert_eq!(folder.name(), format!("{}/deep/pages/index.jsonl", dir.display()));
        assert_eq!(Place::of(Path::new("/dev/null")).path, Path::new("/dev/null"));
    }
}
