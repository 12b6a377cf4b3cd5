//! Inputs as files, for readers that take a path.

use crate::in_linear_time;
use crawl_archive::{Document, Item, ReadOptions, read_file};
use std::{fs, ops::ControlFlow, path::PathBuf};

/// Maximum bytes of a record, records, and bytes of all records of an input.
const MAX_RECORD: usize = 64 << 10;
const MAX_ITEMS: usize = 4_096;
const MAX_BYTES: usize = 8 << 20;

/// Contents of a file, from the reader.
pub struct Read {
    /// Documents of the file.
    pub documents: Vec<Document>,
    /// Number of its records, and of those that are no documents.
    pub items: usize,
    /// All of it in words.
    pub shown: String,
}

/// A file in the temporary folder, which `run.sh` creates and removes.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A file with this ending.
    #[must_use]
    pub fn new(ending: &str) -> Self {
        Self(std::env::temp_dir().join(format!("input-{}.{ending}", std::process::id())))
    }

    /// Writes bytes to the file and returns its path.
    pub fn write(&self, bytes: &[u8]) -> &PathBuf {
        fs::write(&self.0, bytes).expect("the folder for temporary files can be written");
        &self.0
    }

    /// Reads bytes as a file of documents, in time proportional to `weight`.
    pub fn read(&self, bytes: &[u8], weight: usize) -> Read {
        let path = self.write(bytes);
        let options = ReadOptions { max_record: MAX_RECORD, keep_lines: true };
        let mut read = Read { documents: Vec::new(), items: 0, shown: String::new() };
        let mut sum = 0;
        in_linear_time(weight, || {
            read_file(path, &options, &mut |item| {
                read.items += 1;
                if let Item::Document(document) = item {
                    sum += document.body.len();
                    read.documents.push(document);
                } else {
                    read.shown.push_str(&format!("{item:?}"));
                }
                if read.items < MAX_ITEMS && sum < MAX_BYTES {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })
        })
        .expect("the file is there");
        for document in &read.documents {
            // in any charset one byte gives at most three octets
            assert!(document.body.len() <= 3 * MAX_RECORD, "{} bytes", document.body.len());
        }
        read.shown.push_str(&format!("{:?}", read.documents));
        read
    }
}
