//! A file of entries, written once in order and read by number.

use crate::CorpusError;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
    path::Path,
};

/// While it is written.
pub(crate) struct Spool {
    out: BufWriter<File>,
    /// End of each entry.
    ends: Vec<u64>,
}

impl Spool {
    /// Creates an unnamed file in a directory; it vanishes when dropped.
    pub(crate) fn new(directory: &Path) -> Result<Self, CorpusError> {
        let file = tempfile::tempfile_in(directory).map_err(CorpusError::Work)?;
        Ok(Self { out: BufWriter::with_capacity(1 << 20, file), ends: Vec::new() })
    }

    pub(crate) fn push(&mut self, entry: &[u8]) -> Result<(), CorpusError> {
        self.out.write_all(entry).map_err(CorpusError::Work)?;
        let end = self.ends.last().copied().unwrap_or(0) + entry.len() as u64;
        self.ends.push(end);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Entries, CorpusError> {
        let file = self.out.into_inner().map_err(|e| CorpusError::Work(e.into_error()))?;
        Ok(Entries { file, ends: self.ends })
    }
}

/// Spool opened for reading.
pub(crate) struct Entries {
    file: File,
    ends: Vec<u64>,
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Reads an entry; one that was never written is empty.
    pub(crate) fn read(&self, index: usize) -> Result<Vec<u8>, CorpusError> {
        let mut bytes = Vec::new();
        self.read_into(index, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads an entry as [`read`](Self::read) does, into a reusable buffer.
    pub(crate) fn read_into(&self, index: usize, bytes: &mut Vec<u8>) -> Result<(), CorpusError> {
        bytes.clear();
        let Some(end) = self.ends.get(index).copied() else { return Ok(()) };
        let start = index.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        let length = usize::try_from(end - start).map_err(|e| CorpusError::Work(io::Error::other(e)))?;
        bytes.resize(length, 0);
        self.file.read_exact_at(bytes, start).map_err(CorpusError::Work)
    }

    /// Reads an entry as text; invalid UTF-8 is replaced, which never happens to written text.
    pub(crate) fn text(&self, index: usize) -> Result<String, CorpusError> {
        let bytes = self.read(index)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }
}

/// Numbers as bytes, for an entry.
pub(crate) fn to_bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// Decodes numbers of an entry into a reusable buffer.
pub(crate) fn from_bytes(bytes: &[u8], numbers: &mut Vec<u64>) {
    numbers.clear();
    numbers.extend(bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)));
}
