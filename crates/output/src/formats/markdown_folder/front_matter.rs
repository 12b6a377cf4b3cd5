//! The front matter of pages in a folder, and a walk over its files.

use crate::{fields::Fields, file_name::page_path};
use crawl_model::UrlKey;
use serde_json::value::RawValue;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};
use unicode_normalization::UnicodeNormalization as _;

/// Bytes that a front matter has at the most.
const MAX_FRONT_MATTER: u64 = 16 << 20;

/// Entries of the front matter of a page that its line of the index has too.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) id: Option<String>,
    pub(super) url: Option<String>,
    pub(super) title: Option<String>,
}

impl FrontMatter {
    /// Reads the front matter of a file; `None` if the file is no page of this program. `fields` are those of the pages. A page with a
    /// `url` lies where the page of that URL does. One without has no field that was not chosen.
    pub(super) fn read(folder: &Path, path: &Path, fields: Option<&Fields>) -> io::Result<Option<Self>> {
        let mut lines = BufReader::new(File::open(folder.join(path))?.take(MAX_FRONT_MATTER)).split(b'\n');
        let mut next = || lines.next().transpose();
        if next()?.as_deref() != Some(b"---") {
            return Ok(None);
        }
        let (mut found, mut are_chosen) = (Self::default(), true);
        loop {
            let Some(line) = next()? else { return Ok(None) };
            if line == b"---" {
                break;
            }
            let entry = std::str::from_utf8(&line).ok().and_then(|line| line.split_once(": "));
            let Some((name, value)) = entry else { return Ok(None) };
            if serde_json::from_str::<&RawValue>(value).is_err() {
                return Ok(None);
            }
            let text = || serde_json::from_str::<String>(value).ok();
            match name {
                "id" => found.id = text(),
                "url" => found.url = text(),
                "title" => found.title = text(),
                _ => {}
            }
            are_chosen &= fields.is_some_and(|fields| is_chosen(fields, name));
        }
        let is_page = match &found.url {
            None => are_chosen && fields.is_some_and(|fields| !fields.has("url")),
            Some(url) => {
                let id = found.id.clone().unwrap_or_else(|| UrlKey::of(url).to_string());
                one_case(&page_path(url, &id)) == one_case(&path.to_string_lossy())
            }
        };
        Ok(is_page.then_some(found))
    }
}

/// Returns true if an entry of the front matter is of a chosen field.
fn is_chosen(fields: &Fields, name: &str) -> bool {
    fields.has(name)
        || fields.has(&format!("metadata.{name}"))
        || name.split_once('_').is_some_and(|(field, part)| fields.has(&format!("{field}.{part}")))
}

/// Hash of a path that is the same for all spellings that a file system without case takes for one. A folder has the spelling
/// of its first page there, and the names of two pages differ by more than their case.
pub(super) fn one_case(path: &str) -> [u8; 16] {
    let folded: String = path.nfc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    UrlKey::of(&folded).0
}

/// Calls `visit` with the path of each entry that is no folder, relative to the folder. Links are not followed.
pub(super) fn each_file(
    folder: &Path,
    visit: &mut dyn FnMut(&Path, fs::FileType) -> io::Result<()>,
) -> io::Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let (path, kind) = (inside.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else {
                visit(&path, kind)?;
            }
        }
    }
    Ok(())
}

/// Returns true if a file may be a page by its name.
pub(super) fn has_page_name(path: &Path, kind: fs::FileType) -> bool {
    kind.is_file() && path.extension().is_some_and(|ending| ending == "md")
}
