//! The table of formats. A format is a file of this folder, with its module and its line of `FORMATS` here.

mod json_lines;
mod latest_lines;
mod latest_rows;
mod markdown_folder;
mod packed_lines;
mod packer;
mod parquet_table;
mod table_file;

use crate::format::Format;
use std::path::Path;

/// Formats by precedence. The last one takes every name.
const FORMATS: &[&dyn Format] = &[
    &markdown_folder::MarkdownFolders,
    &packed_lines::GzipLines,
    &packed_lines::ZstdLines,
    &parquet_table::ParquetTables,
    &json_lines::JsonLines,
];

/// The format that the name of an output selects.
pub(crate) fn format_of(path: &Path) -> &'static dyn Format {
    let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
    FORMATS.iter().find(|format| name.ends_with(format.ending())).copied().unwrap_or(json_lines())
}

/// The format of a file of lines, for any name.
pub(crate) const fn json_lines() -> &'static dyn Format {
    &json_lines::JsonLines
}

/// Returns true if the name of an output is that of a folder of files.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    format_of(path).ending() == "/"
}

/// Ends of names that select a format, such as `.gz`.
pub fn endings() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.ending()).filter(|ending| ending.starts_with('.'))
}

/// Ends of names of files of lines. Numbers are parts of a date.
const LINE_SUFFIXES: [&str; 5] = ["jsonl", "ndjson", "json", "jsonlines", "log"];

/// Returns the suffix of a name if crawl does not write its format, such as `csv`. A name without an end
/// is a file of lines.
#[must_use]
pub fn unknown_ending(path: &Path) -> Option<String> {
    let format = format_of(path).ending();
    let is_special = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if matches!(format, "/" | ".parquet") || is_special {
        return None;
    }
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(format).unwrap_or(&name);
    let (stem, ending) = name.rsplit_once('.')?;
    let is_known = stem.is_empty()
        || LINE_SUFFIXES.contains(&ending)
        || ending.bytes().all(|byte| byte.is_ascii_digit());
    (!is_known).then(|| ending.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_file_extensions_are_recognised() {
        let unknown = |name: &str| unknown_ending(Path::new(name));
        for known in [
            "a",
            "a.jsonl",
            "a.JSON",
            "a.jsonl.gz",
            "a.gz",
            "a.zst",
            "a.parquet",
            "a/",
            "a.csv/",
            "a-2026.11.26",
            ".a",
        ] {
            assert_eq!(unknown(known), None, "{known}");
        }
        for (name, ending) in
            [("a.csv", "csv"), ("a.csv.gz", "csv"), ("a.tar.zst", "tar"), ("b/a.jsonl.bz2", "bz2")]
        {
            assert_eq!(unknown(name).as_deref(), Some(ending), "{name}");
        }
    }

    #[test]
    fn file_name_selects_one_format() {
        let ending = |name: &str| format_of(Path::new(name)).ending();
        let found = ["pages/", "a.JSONL.GZ", "a.zst", "a.Parquet", "a.jsonl", "a"].map(ending);
        assert_eq!(found, ["/", ".gz", ".zst", ".parquet", "", ""]);
        let mut all: Vec<&str> = FORMATS.iter().map(|format| format.ending()).collect();
        assert_eq!(all.pop(), Some(""), "the last format takes every name");
        let shadowed = |n: usize| all[..n].iter().any(|earlier| all[n].ends_with(earlier));
        assert!(!(0..all.len()).any(shadowed), "an earlier format takes the names of a later one: {all:?}");
    }
}
