//! Records as a Parquet table.
//!
//! A run cannot write a Parquet file batch by batch: it is unreadable before its footer is written, and its row
//! groups should be large. During a run the records lie in a [journal](crate::journal) beside the table
//! (`pages.parquet.part`). It is cut back to the settled length like any file of lines. At the end of a run the
//! records become row groups of a new table, after those of the old one. A rename puts the new table in the old one's
//! place. Each journal has its own name, and the table notes the last one it was made from. So no record is taken
//! twice if the process is killed between the rename and the end of the journal.

use super::{
    latest_rows,
    table_file::{NOTE, table},
};
use crate::{
    columns::RecordColumns,
    damaged::move_aside,
    error::OutputError,
    fields::Fields,
    file::{Before, folder_exists},
    format::{Format, Note, Opened},
    journal::{Head, Journal},
    lines::push_record,
    output::RecordOutput,
    whole::sync_folder,
};
use crawl_archive::{ArchiveError, ParquetFile, ParquetTable};
use crawl_model::Record;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    ops::Range,
    path::{Path, PathBuf},
};

/// Parquet tables.
pub(super) struct ParquetTables;

impl Format for ParquetTables {
    fn ending(&self) -> &'static str {
        ".parquet"
    }

    fn open(&self, path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
        let table = ParquetRecords::open(path, before, fields)?;
        let (offset, stale, damage) = (table.journal.file().length(), table.stale, table.damage.clone());
        Ok(Opened { output: Box::new(table), offset, stale, damage })
    }

    fn written(&self, path: &Path) -> PathBuf {
        part_of(path)
    }

    fn is_empty(&self, path: &Path) -> io::Result<bool> {
        match table(path) {
            Ok(table) => Ok(table.is_none_or(|table| table.rows() == 0)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn tidy(
        &self,
        path: &Path,
        note: &mut dyn FnMut(u64) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        remove_finished_journal(path, note)
    }

    fn keep_latest(&self, path: &Path, _: Note<'_>) -> Result<(), OutputError> {
        let name = || path.display().to_string();
        latest_rows::keep_latest(path).map_err(|source| OutputError::Write { name: name(), source })
    }

    fn replace_by_nothing(&self, path: &Path) -> Result<(), OutputError> {
        ParquetRecords::open(path, Before::Replace, None)?.make_table(None).map(|_| ())
    }
}

/// Records as a Parquet table.
struct ParquetRecords {
    path: PathBuf,
    name: String,
    columns: RecordColumns,
    fields: Option<Fields>,
    journal: Journal,
    /// The table is of an earlier round, and is replaced by the records of this one.
    stale: bool,
    lines: Vec<u8>,
    /// Records that are lost, in words.
    damage: Option<String>,
}

impl ParquetRecords {
    /// Opens a table and its journal, truncated according to `before`.
    pub(super) fn open(path: &Path, before: Before, fields: Option<Fields>) -> Result<Self, OutputError> {
        let name = crate::paths::absolute(path).to_string_lossy().into_owned();
        folder_exists(path).map_err(|source| OutputError::Write { name: name.clone(), source })?;
        let columns = RecordColumns::of(fields.as_ref());
        let journal = Journal::open(&part_of(path), before)?;
        if let (0, Ok(file)) = (journal.file().length(), File::open(journal.file().path())) {
            // it stays writable
            share_as(path, &file, 0o600);
        }
        let (path, lines) = (path.to_owned(), Vec::new());
        let mut opened = Self { path, name, columns, fields, journal, stale: false, lines, damage: None };
        opened.settle_journal(before)?;
        opened.stale = match before {
            Before::Replace => opened.path.exists(),
            _ => opened.journal.head().is_some_and(|head| head.replaces),
        };
        if !opened.stale {
            opened.check_columns()?;
        }
        Ok(opened)
    }

    /// Handles a journal of an earlier run before this run writes.
    fn settle_journal(&mut self, before: Before) -> Result<(), OutputError> {
        let Some(head) = self.journal.head().cloned() else {
            return self.discard_unreadable(before);
        };
        let replaced = before == Before::Replace || head.replaces;
        let table = match table(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(self.fail(error)),
            // the table may lack its rows, so it is moved aside
            Err(_) if before == Before::Replace && !head.replaces => {
                let aside = move_aside(&self.path).map_err(|e| self.fail(e))?;
                tracing::warn!(
                    file = self.name,
                    "the table cannot be read: it was moved to {}",
                    aside.display()
                );
                None
            }
            Err(_) if replaced => None,
            found => self.readable(found)?,
        };
        if table.is_some_and(|table| table.note(NOTE) == Some(head.journal.as_str())) {
            return self.journal.clear();
        }
        match before {
            Before::CutOff(settled) => {
                self.note_missing();
                self.journal.cut_back(settled)
            }
            // left by a removed state or by a finished round
            _ => {
                let damaged = self.make_table(Some(&head))?;
                self.note_damage(&damaged, before)?;
                self.journal.clear()
            }
        }
    }

    /// A journal without a single frame that can be read.
    fn discard_unreadable(&mut self, before: Before) -> Result<(), OutputError> {
        let length = self.journal.file().length();
        match before {
            Before::CutOff(0) => return self.journal.clear(),
            Before::CutOff(_) => self.note_missing(),
            _ => {}
        }
        if length > 0 {
            self.note_damage(std::slice::from_ref(&(0..length)), before)?;
            self.journal.clear()?;
        }
        Ok(())
    }

    fn note_missing(&mut self) {
        let (file, missing) = (self.journal.file(), self.journal.file().missing());
        if missing > 0 {
            self.damage = Some(crate::damaged::missing_words(crate::output::Output::name(file), missing));
        }
    }

    /// Moves unreadable bytes to another file. A round that replaces the table loses none of its own records.
    fn note_damage(&mut self, damaged: &[Range<u64>], before: Before) -> Result<(), OutputError> {
        if damaged.is_empty() {
            return Ok(());
        }
        let name = crate::output::Output::name(self.journal.file()).to_owned();
        let what = self.journal.copy_damaged(damaged).map_err(|e| self.journal.file().fail(e))?;
        tracing::warn!(file = name, "{what}");
        if before != Before::Replace {
            self.damage = Some(format!("{name}: {what}"));
        }
        Ok(())
    }

    fn fail(&self, source: io::Error) -> OutputError {
        OutputError::Write { name: self.name.clone(), source }
    }

    /// The error of an unreadable table, with the remedy.
    fn readable<T>(&self, table: io::Result<T>) -> Result<T, OutputError> {
        table.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => OutputError::Damaged {
                name: self.name.clone(),
                what: format!(
                    "it is no table that can be read ({error}); name another file, or replace it with -O"
                ),
            },
            _ => self.fail(error),
        })
    }

    /// Rows are added only to a table with the same columns.
    fn check_columns(&self) -> Result<(), OutputError> {
        match self.readable(table(&self.path))? {
            Some(table) if !table.has_columns_of_other_nulls(&self.columns.columns()) => {
                let words = "the table has other columns than these records: name another file, or replace it with -O";
                Err(self.fail(io::Error::new(io::ErrorKind::InvalidInput, words)))
            }
            _ => Ok(()),
        }
    }

    /// Rewrites the table: its rows (unless they are replaced), then those of the journal, which is left as it is.
    /// Returns the bytes of the journal that cannot be read.
    fn make_table(&self, head: Option<&Head>) -> Result<Vec<Range<u64>>, OutputError> {
        let new = beside(&self.path, ".new");
        let made = self.make_table_as(&new, head);
        if made.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        self.readable(made)
    }

    fn make_table_as(&self, new: &Path, head: Option<&Head>) -> io::Result<Vec<Range<u64>>> {
        let columns = self.columns.columns();
        let notes: Vec<(&str, &str)> = head.iter().map(|head| (NOTE, head.journal.as_str())).collect();
        let file = File::create(new)?;
        share_as(&self.path, &file, 0);
        let out = BufWriter::with_capacity(1 << 18, file);
        let mut rows = ParquetTable::with_notes(out, &columns, &notes).map_err(unwritable)?;
        let mut damaged = Vec::new();
        if let Some(head) = head {
            if !head.replaces
                && let Some(old) = table(&self.path)?
            {
                self.append(&mut rows, &old).map_err(unwritable)?;
            }
            damaged =
                self.journal.read(&mut |record| rows.push(self.columns.row(record)).map_err(unwritable))?;
        }
        let file = rows.finish().map_err(unwritable)?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(new, &self.path)?;
        sync_folder(&self.path)?;
        Ok(damaged)
    }
}

impl ParquetRecords {
    /// Appends the rows of a table. One of an earlier version may have other columns that can be null. The small row
    /// groups of many runs are joined.
    fn append<W: Write + Send>(
        &self,
        rows: &mut ParquetTable<W>,
        old: &ParquetFile,
    ) -> Result<(), ArchiveError> {
        if old.has_columns(&self.columns.columns()) && !old.is_fragmented() {
            return rows.append(old);
        }
        old.each_row(&mut |row| rows.push(self.columns.row_of_table(row)))
    }
}

impl RecordOutput for ParquetRecords {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        push_record(&mut self.lines, record, self.fields.as_ref())
    }

    fn batch_bytes(&self) -> usize {
        self.lines.len()
    }

    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        if !self.lines.is_empty() {
            let mut lines = std::mem::take(&mut self.lines);
            self.journal.push(&lines, self.stale)?;
            lines.clear();
            self.lines = lines;
        }
        self.journal.sync()
    }

    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        if let Some(head) = self.journal.head().cloned() {
            let damaged = self.make_table(Some(&head))?;
            self.stale = false;
            if !damaged.is_empty() {
                let name = crate::output::Output::name(self.journal.file()).to_owned();
                let what = self.journal.copy_damaged(&damaged).map_err(|e| self.journal.file().fail(e))?;
                self.journal.detach_name()?;
                // the table is whole: the same command ends the round
                return Err(OutputError::Damaged { name, what });
            }
            self.journal.detach_name()?;
        }
        if !self.path.exists() {
            self.make_table(None)?;
        }
        self.journal.sync()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Removes the journal of a table that holds all of its records.
fn remove_finished_journal(
    path: &Path,
    note: &mut dyn FnMut(u64) -> Result<(), OutputError>,
) -> Result<(), OutputError> {
    let part = part_of(path);
    if !part.exists() {
        return Ok(());
    }
    let journal = Journal::open(&part, Before::Unknown)?;
    let fail = |error| journal.file().fail(error);
    let is_in_table = match journal.head() {
        None => journal.file().length() == 0,
        Some(head) => {
            table(path).map_err(fail)?.is_some_and(|table| table.note(NOTE) == Some(head.journal.as_str()))
        }
    };
    if is_in_table {
        note(0)?;
        std::fs::remove_file(&part).and_then(|()| sync_folder(&part)).map_err(fail)?;
    }
    Ok(())
}

/// Gives a new file the mode of its table, which may be private, and the bits `more`. A file system may refuse that.
#[cfg(unix)]
fn share_as(table: &Path, new: &File, more: u32) {
    use std::os::unix::fs::PermissionsExt;
    let mode = |found: std::fs::Metadata| found.permissions().mode() & 0o7777;
    let (Ok(wanted), Ok(has)) = (table.metadata().map(mode), new.metadata().map(mode)) else { return };
    let set = |mode| new.set_permissions(std::fs::Permissions::from_mode(mode));
    if let Some(error) = not_narrowed(wanted | more, has, set) {
        tracing::warn!(table = %table.display(), %error, "more users can read the new records than the table");
    }
}

#[cfg(not(unix))]
fn share_as(_: &Path, _: &File, _: u32) {}

/// Sets a mode if the file has another one. Returns the error if the file keeps rights that others shall not have.
fn not_narrowed(wanted: u32, has: u32, set: impl Fn(u32) -> io::Result<()>) -> Option<io::Error> {
    let refused = if has == wanted { None } else { set(wanted).err() };
    refused.filter(|_| has & !wanted & 0o077 != 0)
}

/// The journal of a table.
pub(super) fn part_of(path: &Path) -> PathBuf {
    beside(path, ".part")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unwritable(error: ArchiveError) -> io::Error {
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests;
