//! Output of `crawl dedup`.

use crate::commands::write_out;
use crawl_engine::exit::{Exit, Failure};
use crawl_output::{Replacement, write_advice};
use std::{
    io::{self, Write},
    path::Path,
};

/// Ends of names that promise another format.
const OTHER_FORMATS: [&str; 5] = ["gz", "zst", "parquet", "csv", "md"];

/// Output for records, or for the removed parts.
pub(super) enum Output<'a> {
    /// A file that is replaced at the end, so that a failure leaves the old one, and the input may be the output.
    File(&'a Path, Replacement),
    Stdout,
}

impl<'a> Output<'a> {
    /// A file that is replaced, or standard output for `-` and for none.
    pub fn create(path: Option<&'a Path>) -> Result<Self, Failure> {
        match path.filter(|path| path.as_os_str() != "-") {
            Some(path) => {
                if path.extension().is_some_and(|kind| OTHER_FORMATS.iter().any(|other| kind == *other)) {
                    return Err(Failure::usage(format!(
                        "{}: lines of JSON are written, not {}; name a file that ends in .jsonl",
                        path.display(),
                        path.extension().unwrap_or_default().display()
                    )));
                }
                let file = Replacement::create(path).map_err(|e| cannot(path, &e))?;
                Ok(Self::File(path, file))
            }
            None => Ok(Self::Stdout),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::File(path, file) => file.write_all(bytes).map_err(|e| cannot(path, &e)),
            Self::Stdout => write_out(bytes),
        }
    }

    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(path, file) => file.finish().map_err(|e| cannot(path, &e)),
            Self::Stdout => Ok(()),
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Storage, format!("{}: {error}; {}", path.display(), write_advice(error)))
}
