//! The journal of a Parquet table: the records of a run until the table is made of them.
//!
//! JSON lines in zstd frames, a frame a batch. Each frame begins with the line that says which journal it is, so that any frame that
//! can be read tells it. The first frame has that line alone: a journal that became a table is cut back to it, and says so.

use crate::OutputError;
use crate::{
    damaged::{bytes_of, copy_damaged},
    file::Before,
    file::FileOutput,
    frames::{Frames, Packing, Part, zstd_frames},
    lines::push_line,
    output::Output,
};
use crawl_model::random;
use serde::{Deserialize, Serialize};
use std::{io, ops::Range, path::Path};
use zstd::bulk::Compressor;

/// The first line of a frame. Earlier versions began the first frame alone with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// Name of the journal.
    pub(super) journal: String,
    /// True if the table consists of only this journal.
    pub(super) replaces: bool,
}

/// Journal of records.
pub(super) struct Journal {
    file: FileOutput,
    /// `None` before its first frame.
    head: Option<Head>,
    compressor: Compressor<'static>,
}

impl Journal {
    /// Opens a journal, truncated according to `before`.
    pub(super) fn open(path: &Path, before: Before) -> Result<Self, OutputError> {
        // locked before it is read, and truncated once its records are known to be in no table
        let mut file = FileOutput::open_bytes(path, Before::Unknown)?;
        let head = head_of(&file).map_err(|e| file.fail(e))?;
        let compressor = zstd_frames().map_err(|e| file.fail(e))?;
        if let Before::CutOff(length) = before {
            file.expect(length);
        }
        Ok(Self { file, head, compressor })
    }

    /// The file.
    pub(super) const fn file(&self) -> &FileOutput {
        &self.file
    }

    pub(super) const fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Truncates the journal to its settled length.
    pub(super) fn cut_back(&mut self, length: u64) -> Result<(), OutputError> {
        self.file.cut_back(length)?;
        if self.file.length() == 0 {
            self.head = None;
        }
        Ok(())
    }

    /// Appends lines. The first lines of a journal decide if the table consists of only this journal.
    pub(super) fn push(&mut self, lines: &[u8], replaces: bool) -> Result<(), OutputError> {
        let head = match self.head.clone() {
            Some(head) => head,
            None => {
                let head = Head { journal: format!("{:016x}", random()), replaces };
                let mut line = Vec::new();
                push_line(&mut line, &head)?;
                self.write_frame(&line)?;
                self.head.insert(head).clone()
            }
        };
        let mut frame = Vec::with_capacity(lines.len() + 64);
        push_line(&mut frame, &head)?;
        frame.extend_from_slice(lines);
        self.write_frame(&frame)
    }

    fn write_frame(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        let frame = self.compressor.compress(lines).map_err(|e| self.file.fail(e))?;
        self.file.write(&frame)
    }

    pub(super) fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        self.file.sync()
    }

    /// Empties it: the next batch begins another journal.
    pub(super) fn clear(&mut self) -> Result<(), OutputError> {
        self.head = None;
        self.file.keep(0)
    }

    /// Stops the removal of its file, so that a journal differs from one whose records are in no table.
    pub(super) fn detach_name(&mut self) -> Result<(), OutputError> {
        let mut frames = Frames::open(self.file.path(), Packing::Zstd, 0).map_err(|e| self.file.fail(e))?;
        let name_alone = match frames.next() {
            Some(Ok(Part::Whole(frame))) => split(&frame).0.is_some() && split(&frame).1.is_empty(),
            _ => false,
        };
        self.file.keep(if name_alone { frames.offset() } else { 0 })
    }

    /// Calls `row` with each record that can be read. Returns the bytes that cannot be.
    pub(super) fn read(
        &self,
        row: &mut dyn FnMut(&serde_json::Value) -> io::Result<()>,
    ) -> io::Result<Vec<Range<u64>>> {
        let mut damaged: Vec<Range<u64>> = Vec::new();
        let mut frames = Frames::open(self.file.path(), Packing::Zstd, 0)?;
        loop {
            let start = frames.offset();
            let Some(part) = frames.next() else { return Ok(damaged) };
            let range = match part? {
                Part::Damaged(range) => range,
                Part::Whole(frame) => {
                    let lines = split(&frame).1.split(|b| *b == b'\n').filter(|line| !line.is_empty());
                    let records: Result<Vec<serde_json::Value>, _> =
                        lines.map(serde_json::from_slice).collect();
                    if let Ok(records) = records {
                        records.iter().try_for_each(&mut *row)?;
                        continue;
                    }
                    start..frames.offset()
                }
            };
            match damaged.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => damaged.push(range),
            }
        }
    }

    /// Puts bytes that cannot be read under a name of their own. Returns a message for the user.
    pub(super) fn copy_damaged(&self, damaged: &[Range<u64>]) -> io::Result<String> {
        let aside = copy_damaged(self.file.path(), damaged)?;
        let (bytes, first) = (bytes_of(damaged), damaged.first().map_or(0, |range| range.start));
        Ok(format!(
            "{bytes} bytes of records cannot be read, from byte {first} on: they were moved to {}, all others are in the table",
            aside.display()
        ))
    }
}

/// The head by the first frame that has one. A journal of an earlier version whose only head is damaged gets another name.
fn head_of(file: &FileOutput) -> io::Result<Option<Head>> {
    let mut nameless = None;
    for part in Frames::open(file.path(), Packing::Zstd, 0)? {
        let Part::Whole(frame) = part? else { continue };
        if let Some(head) = split(&frame).0 {
            return Ok(Some(head));
        }
        nameless = Some(Head { journal: format!("{:016x}", random()), replaces: false });
    }
    Ok(nameless)
}

/// The head of a frame, if it has one, and its other lines.
fn split(frame: &[u8]) -> (Option<Head>, &[u8]) {
    let end = memchr::memchr(b'\n', frame).map_or(frame.len(), |at| at + 1);
    let (line, rest) = frame.split_at(end);
    match serde_json::from_slice(line) {
        Ok(head) => (Some(head), rest),
        Err(_) => (None, frame),
    }
}
