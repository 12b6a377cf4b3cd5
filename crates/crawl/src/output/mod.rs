//! Where records go: lines in a file (plain, gzip, zstd) or on standard output, a Parquet table, a folder of Markdown
//! files. All but standard output are exactly-once: what a batch has written is made durable before its leases are settled
//! together with how far the output reaches, and what stands behind that is cut off by the next run.

mod columns;
mod damaged;
mod fields;
mod file;
mod file_name;
mod folder;
mod frames;
mod journal;
mod lines;
mod lock;
mod packed;
mod parquet;
mod place;
mod stdout;
mod whole;

pub use fields::{Fields, UnknownField};
pub use file::{Before, FileOutput};
pub use lines::LineRecords;
pub(crate) use lines::push_line;
pub use place::Place;
pub use stdout::StdoutOutput;
pub use whole::{Replacement, replace, replace_private};

use crate::stage_error::StageError;
use crawl_model::Record;
use frames::Packing;
use std::path::{Path, PathBuf};

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
    /// Settled records that it does not hold any more, in words.
    pub damage: Option<String>,
}

impl Opened {
    fn of_file(output: Box<dyn RecordOutput>, (offset, stale, missing): (u64, bool, u64)) -> Self {
        let damage = (missing > 0).then(|| missing_words(output.name(), missing));
        Self { output, offset, stale, damage }
    }
}

/// The message that settled records are missing from a file.
fn missing_words(name: &str, missing: u64) -> String {
    format!(
        "{name}: {missing} bytes of records that were written are not there any more: the file was removed, shortened or \
         replaced; --fresh fetches them again"
    )
}

/// Opens an output by its name, cut back as `before` says.
///
/// # Errors
/// When it cannot be written, holds something else than this output writes, or another process writes it.
pub fn open(place: &Place, before: Before, fields: Option<Fields>) -> Result<Opened, StageError> {
    let path = place.path.as_path();
    let of_file = |file: &FileOutput| (file.length(), file.is_stale(), file.missing());
    Ok(match place.kind {
        Kind::Lines => {
            let file = FileOutput::open(path, before)?;
            let state = of_file(&file);
            Opened::of_file(Box::new(LineRecords::new(Box::new(file), fields)), state)
        }
        Kind::Gzip | Kind::Zstd => {
            let packing = if place.kind == Kind::Zstd { Packing::Zstd } else { Packing::Gzip };
            let packed = packed::PackedOutput::open(path, before, packing)?;
            let state = of_file(packed.file());
            Opened::of_file(Box::new(LineRecords::new(Box::new(packed), fields)), state)
        }
        Kind::Parquet => {
            let table = parquet::ParquetRecords::open(path, before, fields)?;
            let (offset, stale, damage) = (table.journal().file().length(), table.is_stale(), table.damage());
            Opened { output: Box::new(table), offset, stale, damage }
        }
        Kind::Folder => {
            let folder = folder::MarkdownFolder::open(path, before, fields)?;
            let state = of_file(folder.index());
            Opened::of_file(Box::new(folder), state)
        }
    })
}

/// Puts an output in order after a round. Called when its end is noted in the store, so that nothing has to be cut back.
///
/// # Errors
/// When it cannot be written.
pub fn tidy(place: &Place, note: &mut dyn FnMut(u64) -> Result<(), StageError>) -> Result<(), StageError> {
    if place.kind == Kind::Folder { folder::tidy(&place.path, note) } else { Ok(()) }
}

/// Takes out of an output what an earlier round has written, for a round that replaces it and has brought nothing.
///
/// # Errors
/// When it cannot be written.
pub fn replace_by_nothing(place: &Place) -> Result<(), StageError> {
    if place.kind == Kind::Parquet {
        return parquet::empty(&place.path);
    }
    let mut opened = open(place, Before::Replace, None)?;
    opened.output.commit()?;
    opened.output.finish().map(|_| ())
}

/// The absolute path, with its links as they are.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
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

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::lines::tests::record;
}
