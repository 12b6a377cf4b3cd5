//! Where records go: lines in a file (plain, gzip, zstd) or on standard output, a Parquet table, a folder of Markdown
//! files. All but standard output are exactly-once: what a batch has written is made durable before its leases are settled
//! together with how far the output reaches, and what stands behind that is cut off by the next run.

mod columns;
mod fields;
mod file;
mod file_name;
mod folder;
mod lines;
mod packed;
mod parquet;
mod whole;

pub use fields::{Fields, UnknownField};
pub use file::{Before, FileOutput};
pub use lines::LineRecords;
pub(crate) use lines::push_line;
pub use whole::replace;

use crate::context::StageError;
use crawl_model::Record;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A place for lines. Lines are written in batches; after [`Output::sync`] they survive the process.
pub trait Output: Send {
    /// Appends whole lines.
    ///
    /// # Errors
    /// When they cannot be written.
    fn write(&mut self, lines: &[u8]) -> Result<(), StageError>;

    /// Makes what was written durable. Returns the length of the output, where it has one.
    ///
    /// # Errors
    /// When that cannot be done.
    fn sync(&mut self) -> Result<Option<u64>, StageError>;

    /// Called after the last batch of a run that was not cut off.
    ///
    /// # Errors
    /// When the output cannot be finished.
    fn finish(&mut self) -> Result<Option<u64>, StageError> {
        self.sync()
    }

    /// Name under which the store keeps how far the output reaches.
    fn name(&self) -> &str;
}

/// A place for records, whatever they become in it. They are collected into a batch, which is written as a whole.
pub trait RecordOutput: Send {
    /// Takes a record into the batch.
    ///
    /// # Errors
    /// When it cannot be written.
    fn push(&mut self, record: &Record) -> Result<(), StageError>;

    /// Bytes of the batch so far.
    fn batch_bytes(&self) -> usize;

    /// Writes the batch and makes it durable. Returns how far the output reaches now, where that can be said.
    ///
    /// # Errors
    /// When that cannot be done.
    fn commit(&mut self) -> Result<Option<u64>, StageError>;

    /// Called after the last batch of a run that was not cut off. Returns what [`RecordOutput::commit`] does.
    ///
    /// # Errors
    /// When the output cannot be finished.
    fn finish(&mut self) -> Result<Option<u64>, StageError>;

    /// Name under which the store keeps how far the output reaches.
    fn name(&self) -> &str;
}

/// What records are written as, by the name of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line of JSON each.
    Lines,
    /// The same, compressed: a gzip member a batch.
    Gzip,
    /// The same, compressed: a zstd frame a batch.
    Zstd,
    /// A Parquet table.
    Parquet,
    /// A Markdown file each, in a folder.
    Folder,
}

impl Kind {
    /// `….gz`, `….zst`, `….parquet`, or a folder, which ends in a slash; all others are lines.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
        match () {
            () if name.ends_with('/') => Self::Folder,
            () if name.ends_with(".gz") => Self::Gzip,
            () if name.ends_with(".zst") => Self::Zstd,
            () if name.ends_with(".parquet") => Self::Parquet,
            () => Self::Lines,
        }
    }

    /// The file by whose path the state knows the output.
    #[must_use]
    pub fn marked(self, path: &Path) -> PathBuf {
        match self {
            Self::Folder => path.join(folder::INDEX),
            _ => path.to_owned(),
        }
    }
}

/// An output that was opened.
pub struct Opened {
    /// The output.
    pub output: Box<dyn RecordOutput>,
    /// How far it reaches.
    pub offset: u64,
    /// What it holds is of an earlier round, and goes when the first record comes.
    pub stale: bool,
}

/// Opens an output by its name, cut back as `before` says.
///
/// # Errors
/// When it cannot be written, or holds something else than this output writes.
pub fn open(path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, StageError> {
    let kind = Kind::of(path);
    let of_file = |file: &FileOutput| (file.length(), file.is_stale());
    let (output, (offset, stale)): (Box<dyn RecordOutput>, _) = match kind {
        Kind::Lines => {
            let file = FileOutput::open(path, before)?;
            let state = of_file(&file);
            (Box::new(LineRecords::new(Box::new(file), fields)), state)
        }
        Kind::Gzip | Kind::Zstd => {
            let file = FileOutput::open_bytes(path, before)?;
            let state = of_file(&file);
            let packed = packed::PackedOutput::new(file, kind == Kind::Zstd)?;
            (Box::new(LineRecords::new(Box::new(packed), fields)), state)
        }
        Kind::Parquet => {
            let table = parquet::ParquetRecords::open(path, before, fields)?;
            let state = (table.length(), table.is_stale());
            (Box::new(table), state)
        }
        Kind::Folder => {
            let folder = folder::MarkdownFolder::open(path, before, fields)?;
            let state = of_file(folder.index());
            (Box::new(folder), state)
        }
    };
    Ok(Opened { output, offset, stale })
}

/// Takes out of an output what an earlier round has written, for a round that replaces it and has brought nothing.
///
/// # Errors
/// When it cannot be written.
pub fn replace_by_nothing(path: &Path) -> Result<(), StageError> {
    if Kind::of(path) == Kind::Parquet {
        return parquet::empty(path);
    }
    let mut opened = open(path, Before::Replace, None)?;
    opened.output.commit()?;
    opened.output.finish().map(|_| ())
}

/// The path as it is kept in the state: absolute, but not resolved, since the file may not exist yet.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Standard output. A resumed run may repeat the last batch, since nobody can say how much of it the reader took.
pub struct StdoutOutput;

impl Output for StdoutOutput {
    fn write(&mut self, lines: &[u8]) -> Result<(), StageError> {
        stdout_result(io::stdout().lock().write_all(lines))
    }

    fn sync(&mut self) -> Result<Option<u64>, StageError> {
        stdout_result(io::stdout().lock().flush()).map(|()| None)
    }

    fn name(&self) -> &'static str {
        "standard output"
    }
}

/// Where nothing goes.
pub struct Nowhere;

impl Output for Nowhere {
    fn write(&mut self, _: &[u8]) -> Result<(), StageError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, StageError> {
        Ok(None)
    }

    fn name(&self) -> &'static str {
        "nowhere"
    }
}

fn stdout_result(result: io::Result<()>) -> Result<(), StageError> {
    result.map_err(|source| match source.kind() {
        io::ErrorKind::BrokenPipe => StageError::ClosedPipe,
        _ => StageError::Output { name: "standard output".into(), source },
    })
}
