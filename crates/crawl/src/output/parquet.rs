//! Records as a Parquet table.
//!
//! A Parquet file is none before its footer is written, and its row groups should be large; so a run cannot write it batch by
//! batch. While a run is on its records lie in a [journal](super::journal) beside the table (`pages.parquet.part`), which
//! is cut back to what was settled like any file of lines. At the end of a run they become row groups of a new table, behind
//! those of the old one, and the new table takes the old one's place by a rename. Each journal has a name of its own, and
//! the table notes which one it was made from last: whatever is killed between the rename and the end of the journal, no record
//! is taken twice.

use super::{
    Before, Fields, RecordOutput,
    columns::RecordColumns,
    damaged::move_aside,
    file::folder_exists,
    journal::{Head, Journal},
    lines::push_record,
    whole::sync_folder,
};
use crate::context::StageError;
use crawl_archive::{ArchiveError, ParquetFile, ParquetTable};
use crawl_model::Record;
use std::{
    fs::File,
    io::{self, BufWriter},
    ops::Range,
    path::{Path, PathBuf},
};

/// The note of a table that names the journal it was made from last.
const NOTE: &str = "crawl.journal";

/// See the module.
pub(super) struct ParquetRecords {
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
    /// Opens a table and its journal, cut back as `before` says.
    pub(super) fn open(path: &Path, before: Before, fields: Option<Fields>) -> Result<Self, StageError> {
        let name = super::absolute(path).to_string_lossy().into_owned();
        folder_exists(path).map_err(|source| StageError::Output { name: name.clone(), source })?;
        let columns = RecordColumns::of(fields.as_ref());
        let journal = Journal::open(&part_of(path), before)?;
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

    /// Makes of a journal that was left behind what has to become of it before this run writes.
    fn settle_journal(&mut self, before: Before) -> Result<(), StageError> {
        let Some(head) = self.journal.head().cloned() else {
            return self.discard_unreadable(before);
        };
        let replaced = before == Before::Replace || head.replaces;
        let table = match table(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(self.fail(error)),
            // whether its rows are in the table cannot be said any more: that table goes
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
            // what is left of a state that nobody remembers, or of a round that ended
            _ => {
                let damaged = self.make_table(Some(&head))?;
                self.note_damage(&damaged, before)?;
                self.journal.clear()
            }
        }
    }

    /// A journal without a single frame that can be read.
    fn discard_unreadable(&mut self, before: Before) -> Result<(), StageError> {
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
            self.damage = Some(super::missing_words(super::Output::name(file), missing));
        }
    }

    /// Puts bytes that cannot be read aside. A round that replaces the table loses nothing of its own by that.
    fn note_damage(&mut self, damaged: &[Range<u64>], before: Before) -> Result<(), StageError> {
        if damaged.is_empty() {
            return Ok(());
        }
        let name = super::Output::name(self.journal.file()).to_owned();
        let what = self.journal.put_aside(damaged).map_err(|e| self.journal.file().fail(e))?;
        tracing::warn!(file = name, "{what}");
        if before != Before::Replace {
            self.damage = Some(format!("{name}: {what}"));
        }
        Ok(())
    }

    /// The journal.
    pub(super) const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns true if the table is still that of an earlier round.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale
    }

    /// Records that were lost before this run, in words.
    pub(super) fn damage(&self) -> Option<String> {
        self.damage.clone()
    }

    fn fail(&self, source: io::Error) -> StageError {
        StageError::Output { name: self.name.clone(), source }
    }

    /// An error that says the way out of a table that cannot be read.
    fn readable<T>(&self, table: io::Result<T>) -> Result<T, StageError> {
        table.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => StageError::Damaged {
                name: self.name.clone(),
                what: format!(
                    "it is no table that can be read ({error}); name another file, or replace it with -O"
                ),
            },
            _ => self.fail(error),
        })
    }

    /// Rows are added only to a table with the same columns.
    fn check_columns(&self) -> Result<(), StageError> {
        match self.readable(table(&self.path))? {
            Some(table) if !table.has_columns(&self.columns.columns()) => {
                let words = "the table has other columns than these records: name another file, or replace it with -O";
                Err(self.fail(io::Error::new(io::ErrorKind::InvalidInput, words)))
            }
            _ => Ok(()),
        }
    }

    /// Makes the table anew: its rows (unless they are replaced), then those of the journal, which is left as it is.
    /// Returns the bytes of the journal that cannot be read.
    fn make_table(&self, head: Option<&Head>) -> Result<Vec<Range<u64>>, StageError> {
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
        let out = BufWriter::with_capacity(1 << 18, File::create(new)?);
        let mut rows = ParquetTable::with_notes(out, &columns, &notes).map_err(unwritable)?;
        let mut damaged = Vec::new();
        if let Some(head) = head {
            if !head.replaces
                && let Some(old) = table(&self.path)?
            {
                rows.append(&old).map_err(unwritable)?;
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

impl RecordOutput for ParquetRecords {
    fn push(&mut self, record: &Record) -> Result<(), StageError> {
        push_record(&mut self.lines, record, self.fields.as_ref())
    }

    fn batch_bytes(&self) -> usize {
        self.lines.len()
    }

    fn commit(&mut self) -> Result<Option<u64>, StageError> {
        if !self.lines.is_empty() {
            let mut lines = std::mem::take(&mut self.lines);
            self.journal.push(&lines, self.stale)?;
            lines.clear();
            self.lines = lines;
        }
        self.journal.sync()
    }

    fn finish(&mut self) -> Result<Option<u64>, StageError> {
        if let Some(head) = self.journal.head().cloned() {
            let damaged = self.make_table(Some(&head))?;
            self.stale = false;
            if !damaged.is_empty() {
                let name = super::Output::name(self.journal.file()).to_owned();
                let what = self.journal.put_aside(&damaged).map_err(|e| self.journal.file().fail(e))?;
                self.journal.keep_name()?;
                // the table is whole: the same command ends the round
                return Err(StageError::Damaged { name, what });
            }
            self.journal.keep_name()?;
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

/// Empties a table.
pub(super) fn empty(path: &Path) -> Result<(), StageError> {
    let opened = ParquetRecords::open(path, Before::Replace, None)?;
    opened.make_table(None).map(|_| ())
}

/// The table at a path, if there is one. One that is no table is invalid data.
fn table(path: &Path) -> io::Result<Option<ParquetFile>> {
    match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
        Ok(file) if file.metadata()?.len() == 0 => Ok(None),
        Ok(file) => ParquetFile::open(file)
            .map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
    }
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
mod tests {
    use super::*;
    use crate::output::lines::tests::record;

    fn rows(path: &Path) -> Vec<String> {
        let mut ids = Vec::new();
        let options = crawl_archive::ReadOptions { max_record: 1 << 20, keep_lines: false };
        crawl_archive::read_file(path, &options, &mut |item| {
            let crawl_archive::Item::Document(document) = item else { panic!("unreadable") };
            ids.push(document.id);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        ids
    }

    fn write(output: &mut ParquetRecords, ids: &[&str]) -> u64 {
        for id in ids {
            output.push(&record(id)).unwrap();
        }
        output.commit().unwrap().unwrap()
    }

    #[test]
    fn runs_add_to_the_table_and_rounds_replace_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut first, &["a", "b"]);
        write(&mut first, &["c"]);
        assert!(!path.exists(), "a table without its end is none");
        first.finish().unwrap();
        drop(first);
        assert_eq!(rows(&path), ["a", "b", "c"]);
        let mut second = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut second, &["d"]);
        second.finish().unwrap();
        drop(second);
        assert_eq!(rows(&path), ["a", "b", "c", "d"]);
        // a round that replaces and was cut off after its first batch
        let mut third = ParquetRecords::open(&path, Before::Replace, None).unwrap();
        assert!(third.is_stale());
        let settled = write(&mut third, &["e"]);
        write(&mut third, &["lost"]);
        drop(third);
        assert_eq!(rows(&path).len(), 4, "as it was until the round has come to an end");
        let mut again = ParquetRecords::open(&path, Before::CutOff(settled), None).unwrap();
        write(&mut again, &["f"]);
        again.finish().unwrap();
        drop(again);
        assert_eq!(rows(&path), ["e", "f"]);
        empty(&path).unwrap();
        assert_eq!(rows(&path), [""; 0]);
    }

    #[test]
    fn a_journal_that_is_in_the_table_is_not_taken_twice() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        let settled = write(&mut first, &["a"]);
        let journal = std::fs::read(part_of(&path)).unwrap();
        first.finish().unwrap();
        drop(first);
        // killed after the rename, before the journal was emptied
        std::fs::write(part_of(&path), journal).unwrap();
        let mut again = ParquetRecords::open(&path, Before::CutOff(settled), None).unwrap();
        write(&mut again, &["b"]);
        again.finish().unwrap();
        assert_eq!(rows(&path), ["a", "b"]);
    }

    #[test]
    fn a_journal_that_nobody_remembers_is_kept_as_far_as_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut first, &["a"]);
        write(&mut first, &["b"]);
        drop(first);
        let part = std::fs::read(part_of(&path)).unwrap();
        std::fs::write(part_of(&path), &part[..part.len() - 30]).unwrap();
        let mut again = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut again, &["c"]);
        again.finish().unwrap();
        assert_eq!(rows(&path), ["a", "c"]);
        assert!(again.damage().unwrap().contains("pages.parquet.part.damaged-1"), "{:?}", again.damage());
    }

    /// A journal of three batches, damaged at some byte: no way of opening it fails, what can be read becomes rows, the rest is
    /// counted, and the next run has nothing to tell.
    #[test]
    fn a_damaged_journal_can_be_got_out_of() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let mut made = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        let settled = ["a", "b", "c"].map(|id| write(&mut made, &[id]));
        drop(made);
        let whole = std::fs::read(part_of(&path)).unwrap();
        let end = *settled.last().unwrap();
        let harm = |bytes: Vec<u8>, before: Before| {
            let _ = std::fs::remove_file(&path);
            std::fs::write(part_of(&path), bytes).unwrap();
            let mut opened = ParquetRecords::open(&path, before, None).unwrap();
            let told = opened.damage();
            write(&mut opened, &["d"]);
            let ended = opened.finish();
            drop(opened);
            let mut again = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
            assert_eq!(again.damage(), None);
            again.finish().unwrap();
            (rows(&path), told, ended.err().map(|error| error.to_string()))
        };
        let all = ["a", "b", "c", "d"];
        for at in (0..whole.len()).step_by(97) {
            let flipped: Vec<u8> = [&whole[..at], &[whole[at] ^ 0x55], &whole[at + 1..]].concat();
            for before in [Before::CutOff(end), Before::Unknown, Before::Replace] {
                let (rows, opened, ended) = harm(flipped.clone(), before);
                let lost = all.len() - if before == Before::Replace { rows.len() + 3 } else { rows.len() };
                assert!(lost <= 1 && rows.last().unwrap() == "d", "{at} {before:?}: {rows:?}");
                let told = opened.is_some() || ended.as_ref().is_some_and(|words| words.contains(".part: "));
                assert!(lost == 0 || told, "{at} {before:?}: {lost} lost in silence");
            }
            let (rows, told, _) = harm(whole[..at].to_vec(), Before::CutOff(end));
            let readable = settled.iter().filter(|end| **end <= at as u64).count();
            assert_eq!(rows.len(), readable + 1, "cut off at {at}: {rows:?}");
            assert!(told.unwrap().contains(".part"), "cut off at {at}");
        }
    }

    /// Killed between the two steps that end a run, or after them: its journal is known to be in the table.
    #[test]
    fn the_end_of_a_run_can_be_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        let settled = write(&mut first, &["a"]);
        first.finish().unwrap();
        drop(first);
        let mut again = ParquetRecords::open(&path, Before::CutOff(settled), None).unwrap();
        assert_eq!(again.damage(), None, "nothing is missing: the rows are in the table");
        write(&mut again, &["b"]);
        again.finish().unwrap();
        assert_eq!(rows(&path), ["a", "b"]);
    }

    #[test]
    fn a_table_that_cannot_be_read_is_told_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        let settled = write(&mut first, &["a"]);
        drop(first);
        std::fs::write(&path, "no table").unwrap();
        for before in [Before::Unknown, Before::CutOff(settled)] {
            let refused = ParquetRecords::open(&path, before, None).err().unwrap();
            let StageError::Damaged { name, what } = refused else { panic!("{refused}") };
            assert!(name.ends_with("pages.parquet") && what.contains("-O"), "{name}: {what}");
        }
        let mut again = ParquetRecords::open(&path, Before::Replace, None).unwrap();
        assert_eq!(std::fs::read(path.with_extension("parquet.damaged-1")).unwrap(), b"no table");
        assert_eq!(rows(&path), ["a"], "what was left is there until the round has a record");
        write(&mut again, &["b"]);
        again.finish().unwrap();
        assert_eq!(rows(&path), ["b"]);
    }

    #[test]
    fn rows_of_another_kind_are_refused_before_anything_is_fetched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let some = || Fields::of(&["id".to_owned(), "text".to_owned()]).unwrap();
        let mut first = ParquetRecords::open(&path, Before::Unknown, some()).unwrap();
        write(&mut first, &["a"]);
        first.finish().unwrap();
        drop(first);
        let refused = ParquetRecords::open(&path, Before::Unknown, None).err().unwrap();
        let StageError::Output { source, .. } = refused else { panic!("{refused}") };
        assert!(source.to_string().contains("other columns"), "{source}");
        assert!(ParquetRecords::open(&path, Before::Replace, None).is_ok());
        std::fs::write(&path, "no table").unwrap();
        assert!(ParquetRecords::open(&path, Before::Unknown, None).is_err());
    }
}
