//! Records as a Parquet table.
//!
//! A Parquet file is none before its footer is written, and its row groups should be large; so a run cannot write it batch by
//! batch. While a run is on its records lie in a journal beside the table (`pages.parquet.part`, JSON lines in zstd frames), which
//! is cut back to what was settled like any file of lines. At the end of a run they become row groups of a new table, behind
//! those of the old one, and the new table takes the old one's place by a rename. Each journal has a name of its own, and
//! the table notes which one it was made from last: whatever is killed between the rename and the end of the journal, no record
//! is taken twice.

use super::{
    Before, Fields, FileOutput, Output, RecordOutput,
    columns::RecordColumns,
    file::folder_exists,
    lines::{push_line, push_record},
    packed::zstd_frames,
};
use crate::context::{StageError, random};
use crawl_archive::{ArchiveError, ParquetFile, ParquetTable};
use crawl_model::Record;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter},
    path::{Path, PathBuf},
};
use zstd::bulk::Compressor;

/// The note of a table that names the journal it was made from last.
const NOTE: &str = "crawl.journal";

/// The first line of a journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    journal: String,
    /// The table is to be made of this journal alone.
    replaces: bool,
}

/// See the module.
pub(super) struct ParquetRecords {
    path: PathBuf,
    name: String,
    columns: RecordColumns,
    fields: Option<Fields>,
    journal: FileOutput,
    /// Of the journal; `None` before its first frame.
    head: Option<Head>,
    /// The table is of an earlier round, and is replaced by the records of this one.
    stale: bool,
    lines: Vec<u8>,
    compressor: Compressor<'static>,
}

impl ParquetRecords {
    /// Opens a table and its journal, cut back as `before` says.
    pub(super) fn open(path: &Path, before: Before, fields: Option<Fields>) -> Result<Self, StageError> {
        let name = super::absolute(path).to_string_lossy().into_owned();
        let fail = |source| StageError::Output { name: name.clone(), source };
        folder_exists(path).map_err(fail)?;
        let columns = RecordColumns::of(fields.as_ref());
        let part = part_of(path);
        let left = head_of(&part);
        let folded = match (&left, table(path).map_err(fail)?) {
            (Some(head), Some(table)) => table.note(NOTE) == Some(head.journal.as_str()),
            _ => false,
        };
        let settled = match before {
            _ if folded => Before::CutOff(0),
            Before::CutOff(length) => Before::CutOff(length),
            // whatever it is, it ends with this run's first batch
            Before::Unknown | Before::Replace => Before::Unknown,
        };
        let journal = FileOutput::open_bytes(&part, settled)?;
        let head = left.filter(|_| journal.length() > 0);
        let compressor = zstd_frames().map_err(fail)?;
        let lines = Vec::new();
        let mut opened = Self {
            path: path.to_owned(),
            name,
            columns,
            fields,
            journal,
            head,
            stale: false,
            lines,
            compressor,
        };
        // what is left of a state that nobody remembers, or of a round that ended
        if !matches!(before, Before::CutOff(_)) {
            opened.fold()?;
        }
        opened.stale = match before {
            Before::Replace => path.exists(),
            _ => opened.head.as_ref().is_some_and(|head| head.replaces),
        };
        if !opened.stale {
            opened.check_columns()?;
        }
        Ok(opened)
    }

    /// Bytes of the journal.
    pub(super) const fn length(&self) -> u64 {
        self.journal.length()
    }

    /// Whether the table is still that of an earlier round.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale
    }

    fn fail(&self, source: io::Error) -> StageError {
        StageError::Output { name: self.name.clone(), source }
    }

    /// Rows are added only to a table with the same columns.
    fn check_columns(&self) -> Result<(), StageError> {
        match table(&self.path).map_err(|e| self.fail(e))? {
            Some(table) if !table.has_columns(&self.columns.columns()) => {
                let words = "the table has other columns than these records: name another file, or replace it with -O";
                Err(self.fail(io::Error::new(io::ErrorKind::InvalidInput, words)))
            }
            _ => Ok(()),
        }
    }

    fn write_frame(&mut self, lines: &[u8]) -> Result<(), StageError> {
        let frame = self.compressor.compress(lines).map_err(|e| self.fail(e))?;
        self.journal.write(&frame)
    }

    /// Makes the table anew: its rows (unless they are replaced), then those of the journal, which is empty then.
    fn fold(&mut self) -> Result<(), StageError> {
        let Some(head) = self.head.take() else { return Ok(()) };
        self.make_table(Some(&head)).map_err(|e| self.fail(e))?;
        self.journal.clear()?;
        self.stale = false;
        Ok(())
    }

    fn make_table(&self, head: Option<&Head>) -> io::Result<()> {
        let new = beside(&self.path, ".new");
        let made = self.make_table_as(&new, head);
        if made.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        made
    }

    fn make_table_as(&self, new: &Path, head: Option<&Head>) -> io::Result<()> {
        let columns = self.columns.columns();
        let notes: Vec<(&str, &str)> = head.iter().map(|head| (NOTE, head.journal.as_str())).collect();
        let out = BufWriter::with_capacity(1 << 18, File::create(new)?);
        let mut rows = ParquetTable::with_notes(out, &columns, &notes).map_err(io_error)?;
        if let Some(head) = head {
            if let Some(old) = table(&self.path)?.filter(|_| !head.replaces) {
                rows.append(&old).map_err(io_error)?;
            }
            for record in Journal::open(&part_of(&self.path))? {
                rows.push(self.columns.row(&record?)).map_err(io_error)?;
            }
        }
        let file = rows.finish().map_err(io_error)?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(new, &self.path)?;
        sync_folder(&self.path)
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
        if self.lines.is_empty() {
            return self.journal.sync();
        }
        if self.head.is_none() {
            let head = Head { journal: format!("{:016x}", random()), replaces: self.stale };
            let mut line = Vec::new();
            push_line(&mut line, &head)?;
            self.write_frame(&line)?;
            self.head = Some(head);
        }
        let mut lines = std::mem::take(&mut self.lines);
        self.write_frame(&lines)?;
        lines.clear();
        self.lines = lines;
        self.journal.sync()
    }

    fn finish(&mut self) -> Result<Option<u64>, StageError> {
        self.fold()?;
        if !self.path.exists() {
            self.make_table(None).map_err(|e| self.fail(e))?;
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
    opened.make_table(None).map_err(|e| opened.fail(e))
}

/// The table at a path, if there is one.
fn table(path: &Path) -> io::Result<Option<ParquetFile>> {
    match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
        Ok(file) if file.metadata()?.len() == 0 => Ok(None),
        Ok(file) => ParquetFile::open(file).map(Some).map_err(io_error),
    }
}

fn part_of(path: &Path) -> PathBuf {
    beside(path, ".part")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// What a rename has done is on disk once the folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()
}

fn head_of(part: &Path) -> Option<Head> {
    let mut line = String::new();
    lines_of(part).ok()?.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

fn lines_of(part: &Path) -> io::Result<impl BufRead + use<>> {
    Ok(BufReader::with_capacity(1 << 18, zstd::stream::read::Decoder::new(File::open(part)?)?))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn io_error(error: ArchiveError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// The records of a journal. One that is cut off, as after a run whose state was thrown away, ends with its last whole line.
struct Journal<R> {
    lines: R,
    line: Vec<u8>,
}

impl Journal<()> {
    fn open(part: &Path) -> io::Result<Journal<impl BufRead + use<>>> {
        let mut lines = lines_of(part)?;
        lines.skip_until(b'\n')?;
        Ok(Journal { lines, line: Vec::new() })
    }
}

impl<R: BufRead> Iterator for Journal<R> {
    type Item = io::Result<serde_json::Value>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        match self.lines.read_until(b'\n', &mut self.line) {
            Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => Some(Err(e)),
            Ok(_) if self.line.ends_with(b"\n") => {
                Some(serde_json::from_slice(&self.line).map_err(Into::into))
            }
            Ok(_) | Err(_) => None,
        }
    }
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
        assert_eq!(rows(&path), ["a", "b", "c"]);
        let mut second = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut second, &["d"]);
        second.finish().unwrap();
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
        assert_eq!(again.finish().unwrap(), Some(0));
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
    }

    #[test]
    fn rows_of_another_kind_are_refused_before_anything_is_fetched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages.parquet");
        let some = || Fields::of(&["id".to_owned(), "text".to_owned()]).unwrap();
        let mut first = ParquetRecords::open(&path, Before::Unknown, some()).unwrap();
        write(&mut first, &["a"]);
        first.finish().unwrap();
        let refused = ParquetRecords::open(&path, Before::Unknown, None).err().unwrap();
        let StageError::Output { source, .. } = refused else { panic!("{refused}") };
        assert!(source.to_string().contains("other columns"), "{source}");
        assert!(ParquetRecords::open(&path, Before::Replace, None).is_ok());
        std::fs::write(&path, "no table").unwrap();
        assert!(ParquetRecords::open(&path, Before::Unknown, None).is_err());
    }
}
