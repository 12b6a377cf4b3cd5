//! Sorting more records than fit into memory: sorted runs in files, merged as they are read.

use crate::CorpusError;
use rayon::slice::ParallelSliceMut;
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// A record of fixed size.
pub(crate) trait Fixed: Copy + Ord + Send {
    /// Its bytes in a file.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Default;
    fn to_bytes(self) -> Self::Bytes;
    fn from_bytes(bytes: &Self::Bytes) -> Self;
}

/// External sort of records, with at most one run in memory.
pub(crate) struct Sorter<T: Fixed> {
    directory: PathBuf,
    run: Vec<T>,
    run_length: usize,
    files: Vec<File>,
}

impl<T: Fixed> Sorter<T> {
    pub(crate) fn new(directory: &Path, run_length: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            run: Vec::new(),
            run_length: run_length.max(1),
            files: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, record: T) -> Result<(), CorpusError> {
        self.run.push(record);
        if self.run.len() >= self.run_length { self.spill().map_err(CorpusError::Work) } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        self.run.par_sort_unstable();
        self.run.dedup();
        let mut out = BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(&self.directory)?);
        for record in self.run.drain(..) {
            out.write_all(record.to_bytes().as_ref())?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.files.push(file);
        Ok(())
    }

    /// All records in order, each once.
    pub(crate) fn sorted(mut self) -> Result<Sorted<T>, CorpusError> {
        if self.files.is_empty() {
            self.run.par_sort_unstable();
            self.run.dedup();
            return Ok(Sorted::Memory(self.run.into_iter()));
        }
        if !self.run.is_empty() {
            self.spill().map_err(CorpusError::Work)?;
        }
        let mut merge = Merge { files: Vec::new(), heads: BinaryHeap::new(), last: None };
        for file in self.files {
            merge.files.push(BufReader::with_capacity(1 << 18, file));
            merge.refill(merge.files.len() - 1).map_err(CorpusError::Work)?;
        }
        Ok(Sorted::Files(merge))
    }
}

/// Records in order.
pub(crate) enum Sorted<T: Fixed> {
    Memory(std::vec::IntoIter<T>),
    Files(Merge<T>),
}

/// The runs, and the next record of each.
pub(crate) struct Merge<T: Fixed> {
    files: Vec<BufReader<File>>,
    heads: BinaryHeap<Reverse<(T, usize)>>,
    last: Option<T>,
}

impl<T: Fixed> Merge<T> {
    fn refill(&mut self, from: usize) -> io::Result<()> {
        let Some(file) = self.files.get_mut(from) else { return Ok(()) };
        let mut bytes = T::Bytes::default();
        match file.read_exact(bytes.as_mut()) {
            Ok(()) => self.heads.push(Reverse((T::from_bytes(&bytes), from))),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn next_record(&mut self) -> io::Result<Option<T>> {
        while let Some(Reverse((record, from))) = self.heads.pop() {
            self.refill(from)?;
            if self.last != Some(record) {
                self.last = Some(record);
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

impl<T: Fixed> Iterator for Sorted<T> {
    type Item = Result<T, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(run) => run.next().map(Ok),
            Self::Files(merge) => merge.next_record().map_err(CorpusError::Work).transpose(),
        }
    }
}

/// Hash of a band of a document's signature, and the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bucketed {
    pub hash: u64,
    pub document: u32,
}

impl Fixed for Bucketed {
    type Bytes = [u8; 12];

    fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        let (hash, document) = bytes.split_at_mut(8);
        hash.copy_from_slice(&self.hash.to_le_bytes());
        document.copy_from_slice(&self.document.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
        Self {
            hash: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            document: u32::from_le_bytes([i, j, k, l]),
        }
    }
}

/// Two documents, the smaller number first.
pub(crate) type Candidate = (u32, u32);

impl Fixed for Candidate {
    type Bytes = [u8; 8];

    fn to_bytes(self) -> [u8; 8] {
        ((u64::from(self.0) << 32) | u64::from(self.1)).to_le_bytes()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of 64 bits")]
    fn from_bytes(bytes: &[u8; 8]) -> Self {
        let both = u64::from_le_bytes(*bytes);
        ((both >> 32) as u32, both as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorting_in_files_equals_sorting_in_memory(records in prop::collection::vec((0_u64..50, 0_u32..50), 0..200), run in 1_usize..40) {
            let directory = tempfile::tempdir().unwrap();
            let mut buckets = Sorter::new(directory.path(), run);
            let mut pairs = Sorter::new(directory.path(), run);
            for (hash, document) in &records {
                buckets.push(Bucketed { hash: *hash << 40, document: *document }).unwrap();
                pairs.push((*document, 7)).unwrap();
            }
            let all: Vec<_> = buckets.sorted().unwrap().map(Result::unwrap).collect();
            let mut expected: Vec<_> = records.iter().map(|(h, d)| Bucketed { hash: h << 40, document: *d }).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(all, expected);
            let mut documents: Vec<_> = records.iter().map(|r| (r.1, 7)).collect();
            documents.sort_unstable();
            documents.dedup();
            prop_assert_eq!(pairs.sorted().unwrap().map(Result::unwrap).collect::<Vec<_>>(), documents);
        }
    }
}
