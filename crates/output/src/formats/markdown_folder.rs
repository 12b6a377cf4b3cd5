//! Records as Markdown files with YAML front matter, one a page, in folders like the paths of their URLs.
//!
//! A file is written under a temporary name and then renamed, so that no partial file appears. A batch's
//! files are on disk before their lines are in `index.jsonl`, which is kept exactly-once like any file of
//! lines. A page that is fetched again after a crash has the same name.

mod front_matter;
mod restored;
mod unlisted;

use crate::{
    error::OutputError,
    fields::{Fields, members},
    file::{Before, FileOutput},
    file_name::{earlier_path, page_path},
    format::{Format, Opened, state_of},
    lines::{push_line, unwritable},
    output::{Output, RecordOutput},
    whole::{Replacement, write_by},
};
use crawl_model::{Change, Record, UrlKey};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _, Write as _},
    path::{Component, Path, PathBuf},
};

/// The index of the folder.
const INDEX: &str = "index.jsonl";
/// Temporary name of a file that is being written.
const TEMPORARY_NAME: &str = ".writing.tmp";

/// A line of the index.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Relative to the folder.
    path: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    title: Option<String>,
}

/// Folders of Markdown files.
pub(super) struct MarkdownFolders;

impl Format for MarkdownFolders {
    fn ending(&self) -> &'static str {
        "/"
    }

    fn open(&self, path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
        let folder = MarkdownFolder::open(path, before, fields)?;
        let state = state_of(&folder.index);
        Ok(Opened::new(folder, state))
    }

    fn marked(&self, path: &Path) -> PathBuf {
        path.join(INDEX)
    }

    /// Pages without a line of the index were not settled.
    fn remove_empty(&self, path: &Path) -> io::Result<()> {
        match fs::metadata(path.join(INDEX)) {
            Ok(index) if index.len() > 0 => Ok(()),
            _ => fs::remove_dir_all(path),
        }
    }

    fn remove_unsettled(&self, path: &Path, fields: Option<&Fields>) -> io::Result<()> {
        unlisted::remove_unlisted(path, fields)
    }

    fn tidy(
        &self,
        path: &Path,
        note: &mut dyn FnMut(u64) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        tidy(path, note)
    }
}

/// Records as Markdown files in a folder.
struct MarkdownFolder {
    folder: PathBuf,
    index: FileOutput,
    fields: Option<Fields>,
    lines: Vec<u8>,
    /// Files were removed in this batch.
    removed: bool,
    /// Bytes of pages that no count has taken yet.
    page_bytes: u64,
}

impl MarkdownFolder {
    /// Opens a folder, making it; its parent has to exist.
    pub(super) fn open(path: &Path, before: Before, fields: Option<Fields>) -> Result<Self, OutputError> {
        let fail = |source| OutputError::Write { name: path.display().to_string(), source };
        match fs::create_dir(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let words = format!("there is no folder to make {} in: make it first", path.display());
                return Err(fail(io::Error::new(io::ErrorKind::NotFound, words)));
            }
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(fail(e)),
            _ => {}
        }
        let mut index = FileOutput::open(&path.join(INDEX), before)?;
        if matches!(before, Before::Closed(1..)) && index.length() == 0 {
            restored::restore(path, &mut index, fields.as_ref())?;
        }
        Ok(Self { folder: path.to_owned(), index, fields, lines: Vec::new(), removed: false, page_bytes: 0 })
    }

    fn fail(&self, source: io::Error) -> OutputError {
        OutputError::Write { name: self.folder.display().to_string(), source }
    }

    /// Removes what the index names: nothing else is ours.
    fn remove_old(&self) -> io::Result<()> {
        for line in BufReader::new(File::open(self.folder.join(INDEX))?).lines() {
            let Some(path) = page_of(&line?) else { continue };
            let path = Path::new(&path);
            match fs::remove_file(self.folder.join(path)) {
                Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    return Err(e);
                }
                _ => {}
            }
            remove_empty_parents(&self.folder, path);
        }
        Ok(())
    }

    /// Removes the file of a page that is gone, if there is one.
    fn remove_page(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives the file of a page the name of this version, if it has that of an earlier one.
    fn rename_page(&self, record: &Record, path: &str) -> io::Result<()> {
        let Some(earlier) = earlier_path(&record.url, &record.id) else { return Ok(()) };
        let (earlier, target) = (self.folder.join(earlier), self.folder.join(path));
        // on a file system without case the file may belong to another page
        if target.exists() || !holds_page(&earlier, &record.id) {
            return Ok(());
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(earlier, target)
    }

    fn write_page(&self, path: &str, page: &str) -> io::Result<()> {
        let (writing, target) = (self.folder.join(TEMPORARY_NAME), self.folder.join(path));
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        write_by(&writing, &target, page.as_bytes(), None)
    }
}

impl RecordOutput for MarkdownFolder {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        if self.index.is_stale() {
            self.remove_old().map_err(|e| self.fail(e))?;
            self.index.write(b"")?;
        }
        let path = page_path(&record.url, &record.id);
        self.rename_page(record, &path).map_err(|e| self.fail(e))?;
        let change = record.metadata.change;
        if change == Some(Change::Gone) {
            self.removed = true;
            return self.remove_page(&path).map_err(|e| self.fail(e));
        }
        // the record of an unchanged page has no text, but its file has
        if change != Some(Change::Unchanged) || !self.folder.join(&path).exists() {
            let page = page(record, self.fields.as_ref()).map_err(unwritable)?;
            self.write_page(&path, &page).map_err(|e| self.fail(e))?;
            self.page_bytes += page.len() as u64;
        }
        let (id, url, title) = (record.id.clone(), record.url.clone(), record.metadata.title.clone());
        push_line(&mut self.lines, &Entry { path, id, url, title })
    }

    fn batch_bytes(&self) -> usize {
        // a batch without lines has to be committed as well
        self.lines.len() + usize::from(self.removed)
    }

    fn take_file_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.page_bytes)
    }

    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        if self.index.is_stale() {
            self.remove_old().map_err(|e| self.fail(e))?;
        }
        if std::mem::take(&mut self.removed) || !self.lines.is_empty() {
            // one sync for all files of the batch: syncing a single file would cost as much
            let synced = File::open(&self.folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
            synced.map_err(|e| self.fail(e))?;
        }
        self.index.write(&self.lines)?;
        self.lines.clear();
        self.index.sync()
    }

    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        self.index.sync()
    }

    fn name(&self) -> &str {
        self.index.name()
    }
}

/// Removes the folders of a page that is no longer there; those with other files stay.
fn remove_empty_parents(folder: &Path, page: &Path) {
    for parent in page.ancestors().skip(1).filter(|parent| *parent != Path::new("")) {
        if fs::remove_dir(folder.join(parent)).is_err() {
            break;
        }
    }
}

/// Returns true if the front matter of a file begins with the id of a page.
fn holds_page(path: &Path, id: &str) -> bool {
    let start = format!("---\nid: \"{id}\"\n");
    let mut read = vec![0; start.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut read)).is_ok() && read == start.as_bytes()
}

/// Returns the page that a line of the index names, if this program wrote the line.
fn page_of(line: &str) -> Option<String> {
    let entry: Entry = serde_json::from_str(line).ok()?;
    let path = Path::new(&entry.path);
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    (inside && path.extension().is_some_and(|ending| ending == "md")).then_some(entry.path)
}

/// Removes outdated lines from the index: those with a later line of the same page, and those of gone pages. Readers
/// see the old index or the new one. `note` is called with the length of the new one before it takes its place.
fn tidy(folder: &Path, note: &mut dyn FnMut(u64) -> Result<(), OutputError>) -> Result<(), OutputError> {
    let path = folder.join(INDEX);
    if !path.exists() {
        return Ok(());
    }
    let locked = FileOutput::open(&path, Before::Unknown)?;
    if let Some((new, length)) = without_old_lines(folder, &path).map_err(|e| locked.fail(e))? {
        note(length)?;
        new.finish().map_err(|e| locked.fail(e))?;
    }
    Ok(())
}

/// The new index and its length; `None` if the old one has no superseded line.
fn without_old_lines(folder: &Path, index: &Path) -> io::Result<Option<(Replacement, u64)>> {
    let old = old_lines(folder, index)?;
    if !old.contains(&true) {
        return Ok(None);
    }
    let (mut new, mut length) = (Replacement::create(index)?, 0);
    for (line, old) in BufReader::new(File::open(index)?).split(b'\n').zip(old) {
        if !old {
            let line = line?;
            new.write_all(&line)?;
            new.write_all(b"\n")?;
            length += line.len() as u64 + 1;
        }
    }
    Ok(Some((new, length)))
}

/// Returns for each line of an index if it is old. Only the hash of the path of a page is kept.
fn old_lines(folder: &Path, index: &Path) -> io::Result<Vec<bool>> {
    let (mut pages, mut old): (Vec<(UrlKey, u32)>, Vec<bool>) = (Vec::new(), Vec::new());
    for line in BufReader::new(File::open(index)?).split(b'\n') {
        let line = line?;
        if let Some(path) = std::str::from_utf8(&line).ok().and_then(page_of) {
            pages.push((UrlKey::of(&path), u32::try_from(old.len()).unwrap_or(u32::MAX)));
            old.push(!folder.join(path).try_exists().unwrap_or(true));
        } else {
            old.push(false);
        }
    }
    pages.sort_unstable_by_key(|(key, line)| (key.0, *line));
    for [(page, line), (next, _)] in pages.array_windows() {
        if page == next
            && let Some(old) = old.get_mut(*line as usize)
        {
            *old = true;
        }
    }
    Ok(old)
}

/// Formats a page: its metadata between two lines `---`, then its text.
fn page(record: &Record, fields: Option<&Fields>) -> Result<String, serde_json::Error> {
    let raw = to_raw_value(record)?;
    let mut out = String::with_capacity(record.text.len() + 2048);
    out.push_str("---\n");
    for (name, value) in members(&raw)? {
        if matches!(name.as_str(), "text" | "content") {
            continue;
        }
        // all metadata but the fields that repeat the text or explain the extraction
        let usual = matches!(name.as_str(), "id" | "url" | "metadata" | "warnings");
        let wanted = |path: &str| fields.map_or(usual, |fields| fields.has(path));
        if name != "metadata" {
            if wanted(&name) {
                entry(&mut out, &name, value);
            } else if fields.is_some() && value.get().starts_with('{') {
                for (part, value) in
                    members(value)?.iter().filter(|(part, _)| wanted(&format!("{name}.{part}")))
                {
                    entry(&mut out, &format!("{name}_{part}"), value);
                }
            }
            continue;
        }
        let metadata = members(value)?;
        let detected = metadata.iter().find(|(part, _)| part == "languageDetected").map(|(_, value)| *value);
        for (part, value) in metadata.iter().filter(|(part, _)| wanted(&format!("metadata.{part}"))) {
            let is_open = part == "language" && value.get() == "null" && fields.is_some_and(Fields::is_lean);
            entry(&mut out, part, detected.filter(|_| is_open).unwrap_or(value));
        }
    }
    out.push_str("---\n\n");
    let text = match fields {
        Some(fields) if !fields.has("text") && fields.has("content") => record.content(),
        Some(fields) if !fields.has("text") => "",
        _ => record.text.as_str(),
    };
    out.push_str(text);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(out)
}

/// Returns true if a value is empty: null, an empty list, or an object whose members are empty or 0.
fn is_empty(value: &RawValue) -> bool {
    let is_none = |text: &str| matches!(text, "null" | "[]");
    is_none(value.get())
        || value.get().starts_with('{')
            && members(value).is_ok_and(|members| {
                members.iter().all(|(_, value)| is_none(value.get()) || value.get() == "0")
            })
}

/// Adds a line of the front matter; an unknown value has none. JSON is YAML, but for characters that YAML
/// wants escaped (YAML 1.2, §5.1), which stand within strings alone.
fn entry(out: &mut String, name: &str, value: &RawValue) {
    if is_empty(value) {
        return;
    }
    let _ = write!(out, "{name}: ");
    for c in value.get().chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests;
