//! The table of formats. A format is a file of this folder, with its module and its line of `FORMATS` here.

mod json_lines;
mod markdown_folder;
mod packed_lines;
mod parquet_table;

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

/// Returns true if the name of an output stands for a folder of files.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    format_of(path).ending() == "/"
}

/// Ends of names that select a format, such as `.gz`.
pub fn endings() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.ending()).filter(|ending| ending.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_selects_one_format() {
        let ending = |name: &str| format_of(Path::new(name)).ending();
        let found = ["pages/", "a.JSONL.GZ", "a.zst", "a.Parquet", "a.jsonl", "a"].map(ending);
        assert_eq!(found, ["/", ".gz", ".zst", ".parquet", "", ""]);
        let mut all: Vec<&str> = FORMATS.iter().map(|format| format.ending()).collect();
        assert_eq!(all.pop(), Some(""), "the last format takes every name");
        let shadowed = |n: usize| all[..n].iter().any(|earlier| all[n].ends_with(earlier));
        assert!(!(0..all.len()).any(shadowed), "an earlier format takes the names of a later one: {all:?}");
    }
}
