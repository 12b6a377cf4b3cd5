//! Outputs that continue in another file once one has its maximum size (`output.max_file`).
//!
//! A file ends between two batches. The state notes the next file before the first record of that file, and syncs. A
//! resumed run therefore continues with the file that was written last.

use crate::state::{self, State};
use crawl_model::{OutputMark, Record, Store, StoreError};
use crawl_output::{Before, Fields, OutputError, Place, RecordOutput};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Name in the store of the number of the file that is written.
fn part_key(base: &Path) -> String {
    format!("part:{}", Place::of(base).name())
}

/// Path of a file by its number: `pages.jsonl`, `pages-2.jsonl`, `pages-3.jsonl`.
fn path_of(base: &Path, number: u64) -> PathBuf {
    let name = base.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if number < 2 {
        return base.to_owned();
    }
    let dot = name.char_indices().skip(1).find(|(_, c)| *c == '.').map_or(name.len(), |(at, _)| at);
    let (stem, ending) = name.split_at(dot);
    base.with_file_name(format!("{stem}-{number}{ending}"))
}

/// Path of the file that a run writes first.
///
/// # Errors
/// When storage fails.
pub(crate) fn current(store: &dyn Store, base: &Path) -> Result<PathBuf, StoreError> {
    Ok(path_of(base, number_of(store, base)?))
}

/// Number of the file that is written.
fn number_of(store: &dyn Store, base: &Path) -> Result<u64, StoreError> {
    Ok(store.get(&part_key(base))?.and_then(|text| text.parse().ok()).unwrap_or(1))
}

/// Puts the file before the present one in order: a kill may have come after the note of the present one.
///
/// # Errors
/// When storage fails, or the file cannot be read.
pub(crate) fn tidy_previous(store: &dyn Store, base: &Path) -> Result<(), OutputError> {
    let number = number_of(store, base)?;
    if number < 2 { Ok(()) } else { tidy(store, &Place::of(&path_of(base, number - 1))) }
}

/// Puts a file in order that has all of its records, and notes its length.
pub(crate) fn tidy(store: &dyn Store, complete: &Place) -> Result<(), OutputError> {
    complete.tidy(&mut |offset| {
        store.settle(&[], &[OutputMark { name: complete.name(), offset }])?;
        Ok(store.sync()?)
    })
}

/// Files of one output, one after the other.
pub(crate) trait FileSeries: Send {
    /// The next file, which does not exist yet or has no record.
    fn next(&mut self) -> Result<Place, OutputError>;

    /// Notes that the next file is open, and the last one complete.
    fn opened(&mut self, ended: &Place) -> Result<(), OutputError>;
}

/// Files with a number in their name. A resumed run continues the file with the stored number.
pub(crate) struct NumberedFiles {
    store: Arc<dyn Store>,
    base: PathBuf,
    number: u64,
}

impl NumberedFiles {
    pub(crate) fn new(store: Arc<dyn Store>, base: &Path) -> Self {
        Self { store, base: base.to_owned(), number: 1 }
    }
}

impl FileSeries for NumberedFiles {
    fn next(&mut self) -> Result<Place, OutputError> {
        // numbers below are not taken again if their files were moved away
        let present = number_of(&*self.store, &self.base)?;
        for number in present.saturating_add(1)..=u64::MAX {
            let place = Place::of(&path_of(&self.base, number));
            // a kill before the note of the number leaves a file without a record
            if !place.path.exists() || place.is_empty()? {
                self.number = number;
                return Ok(place);
            }
        }
        Err(StoreError::Other(format!("{} has no further number", self.base.display())).into())
    }

    fn opened(&mut self, _ended: &Place) -> Result<(), OutputError> {
        Ok(self.store.put(&part_key(&self.base), &self.number.to_string())?)
    }
}

/// Output of records over several files.
pub(crate) struct RotatingOutput {
    store: Arc<dyn Store>,
    round: u32,
    series: Box<dyn FileSeries>,
    fields: Option<Fields>,
    max_bytes: u64,
    place: Place,
    output: Box<dyn RecordOutput>,
    /// Length of the file.
    length: u64,
}

impl RotatingOutput {
    /// Continues `output`, the present file of a series, with its length.
    pub(crate) fn new(
        state: &State,
        series: Box<dyn FileSeries>,
        (fields, max_bytes): (Option<Fields>, u64),
        (place, output, length): (Place, Box<dyn RecordOutput>, u64),
    ) -> Self {
        let store = Arc::clone(&state.store) as Arc<dyn Store>;
        Self { store, round: state.round, series, fields, max_bytes, place, output, length }
    }

    /// Ends the file and opens the next one.
    fn next_file(&mut self) -> Result<(), OutputError> {
        let store = &*self.store;
        let ended = self.output.name().to_owned();
        if let Some(offset) = self.output.finish()? {
            store.settle(&[], &[OutputMark { name: ended.clone(), offset }])?;
        }
        // a loss of power must not bring back the time before the next file
        store.sync()?;
        let place = self.series.next()?;
        let opened = place.open(Before::Unknown, self.fields.clone())?;
        state::note_opened(store, self.round, &place, (opened.offset, opened.stale))?;
        self.series.opened(&self.place)?;
        state::output_closed(store, &ended)?;
        store.sync()?;
        (self.output, self.length) = (opened.output, opened.offset);
        // its output has released its lock
        let complete = std::mem::replace(&mut self.place, place);
        tidy(store, &complete)
    }
}

impl RecordOutput for RotatingOutput {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        if self.length >= self.max_bytes && self.output.batch_bytes() == 0 {
            self.next_file()?;
        }
        self.output.push(record)
    }

    fn batch_bytes(&self) -> usize {
        self.output.batch_bytes()
    }

    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        let offset = self.output.commit()?;
        self.length = offset.unwrap_or(self.length);
        Ok(offset)
    }

    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        let offset = self.output.finish()?;
        state::output_closed(&*self.store, self.output.name())?;
        Ok(offset)
    }

    fn name(&self) -> &str {
        self.output.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_store::MemoryStore;

    #[test]
    fn next_number_reuses_an_empty_file_and_no_earlier_number() {
        let dir = tempfile::tempdir().unwrap();
        for ending in ["jsonl", "jsonl.zst", "parquet"] {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
            let base = dir.path().join(format!("pages.{ending}"));
            let next = || {
                let mut series = NumberedFiles::new(Arc::clone(&store), &base);
                let place = series.next().unwrap();
                drop(place.open(Before::Unknown, None).unwrap());
                series.opened(&place).unwrap();
                let _ = std::fs::remove_file(&place.path);
                place.path.file_name().unwrap().to_string_lossy().into_owned()
            };
            std::fs::write(dir.path().join(format!("pages-2.{ending}")), "").unwrap();
            std::fs::write(dir.path().join(format!("pages-4.{ending}")), "x\n").unwrap();
            // the file of the next number was moved away each time
            assert_eq!([next(), next(), next()], [2, 3, 5].map(|n| format!("pages-{n}.{ending}")));
        }
    }

    #[test]
    fn rotation_number_precedes_the_file_extension() {
        let path = |base: &str, number| path_of(Path::new(base), number).display().to_string();
        assert_eq!(path("a/pages.jsonl.gz", 1), "a/pages.jsonl.gz");
        assert_eq!(path("a/pages.jsonl.gz", 2), "a/pages-2.jsonl.gz");
        assert_eq!(path("pages", 3), "pages-3");
        assert_eq!(path(".pages", 3), ".pages-3");
    }
}
