//! Input files and their formats.

use crate::ArchiveError;
use std::path::{Path, PathBuf};

/// Formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object a line.
    Jsonl,
    /// WARC, or WET, which has the same format.
    Warc,
    /// CSV with a header.
    Csv,
    /// Parquet.
    Parquet,
}

impl Format {
    /// Format by the suffixes of the name; JSONL for an unknown one.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let name =
            path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        for ending in name.rsplit('.') {
            match ending {
                "warc" | "wet" => return Self::Warc,
                "csv" => return Self::Csv,
                "parquet" => return Self::Parquet,
                "jsonl" | "json" | "ndjson" => return Self::Jsonl,
                _ => {}
            }
        }
        Self::Jsonl
    }
}

/// Expands names and patterns (`*`, `?`, `[…]`, `**`) to files: in the given order, those of a pattern by
/// name. An existing file whose name has such characters is taken literally.
///
/// # Errors
/// When a name or pattern matches no file, or is no pattern.
pub fn expand(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut files = Vec::new();
    for input in inputs {
        if input.is_file() {
            files.push(input.clone());
            continue;
        }
        if input.is_dir() {
            let name = input.to_string_lossy();
            let trimmed = name.trim_end_matches('/');
            return Err(ArchiveError::Folder(if trimmed.is_empty() { &*name } else { trimmed }.to_owned()));
        }
        let pattern = input.to_string_lossy();
        let found = glob::glob(&pattern).map_err(|e| ArchiveError::Pattern {
            pattern: pattern.clone().into_owned(),
            problem: e.to_string(),
        })?;
        let mut found: Vec<PathBuf> = found.filter_map(Result::ok).filter(|path| path.is_file()).collect();
        if found.is_empty() {
            return Err(ArchiveError::NoFile(pattern.into_owned()));
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}
