//! Records and error lines of a world, and their differences from those of an undisturbed run.

use crate::{
    scenario::{Format, Job},
    world::World,
};
use crawl_archive::{Body, Item, ReadOptions, read_file};
use flate2::bufread::MultiGzDecoder;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
    ops::ControlFlow,
    path::Path,
};

/// Sorted hashes of contents by name. Names are URLs with their location.
type Found = BTreeMap<String, Vec<u64>>;

/// Records and error lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    records: Found,
    errors: Found,
}

/// Numbers of names that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Names with too few contents.
    pub lost: Vec<String>,
    /// Names with too many contents.
    pub doubled: Vec<String>,
    /// Names with other content.
    pub changed: Vec<String>,
    /// Missing and additional lines of the error log.
    pub errors: Vec<String>,
}

impl Difference {
    /// Returns true if there is none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.is_whole() && self.errors.is_empty()
    }

    /// Returns true if all records are present and correct.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.doubled.is_empty() && self.changed.is_empty()
    }
}

impl Outcome {
    /// Reads the outputs of a world. With `torn`, a truncated file may end within a line, a member or a
    /// frame.
    ///
    /// # Errors
    /// A text that names the unreadable output.
    pub fn read(world: &World, torn: bool) -> Result<Self, String> {
        let mut outcome = Self::default();
        let (scenario, output) = (world.scenario(), world.output());
        let records = &mut outcome.records;
        match (scenario.job, scenario.format) {
            (Job::Duplicates, _) => table(&world.case().join("out.csv"), records)?,
            (_, Format::Parquet) => parquet(&output, world, records)?,
            (_, Format::Folder) => folder(&output, world, torn, records)?,
            (_, format) => lines_of(&output, format, torn, |line| record(line, "", world, records))?,
        }
        if scenario.format == Format::Project && scenario.is_crawl() && !torn {
            let path = world.case().join("projects.sqlite");
            check_projects(&path, world)?;
            project(&path, world, records)?;
        }
        if scenario.is_crawl() {
            let errors = &mut outcome.errors;
            lines_of(&world.state().join("errors.jsonl"), Format::Jsonl, torn, |line| {
                let name = format!("{} {}", text(&line["url"]), text(&line["kind"]));
                // a URL that is retried and fails again has a line for each try
                let lines = errors.entry(world.named(&name)).or_default();
                if lines.is_empty() || scenario.job != Job::Retry {
                    lines.push(0);
                }
            })?;
        }
        Ok(outcome)
    }

    /// Adds the records of a replay of the archive.
    ///
    /// # Errors
    /// A text that explains why the replay failed.
    pub fn replayed(&mut self, world: &World) -> Result<(), String> {
        let (archive, output) = (world.case().join("warc"), world.own("again.jsonl"));
        let _ = fs::remove_file(&output);
        let (archive, name) = (archive.to_string_lossy(), output.to_string_lossy());
        let mut arguments = vec!["replay", &*archive, "-O", &*name];
        if !world.scenario().dedup {
            arguments.push("--no-dedup");
        }
        let ended = world.run_other(&arguments).map_err(|e| e.to_string())?;
        if ended.code != Some(0) {
            return Err(format!(
                "replay of the archive: exit {:?}: {}",
                ended.code,
                last_line(&ended.stderr)
            ));
        }
        lines_of(&output, Format::Jsonl, false, |line| record(line, "archive ", world, &mut self.records))
    }

    /// Differences from the expected outcome.
    #[must_use]
    pub fn difference(&self, expected: &Self) -> Difference {
        let mut out = Difference::default();
        let none = Vec::new();
        for (name, wanted) in &expected.records {
            let found = self.records.get(name).unwrap_or(&none);
            if found.len() < wanted.len() {
                out.lost.push(name.clone());
            } else if found.len() > wanted.len() {
                out.doubled.push(name.clone());
            } else if found != wanted {
                out.changed.push(name.clone());
            }
        }
        out.doubled.extend(self.records.keys().filter(|name| !expected.records.contains_key(*name)).cloned());
        let names = self.errors.keys().chain(expected.errors.keys());
        let differs =
            |name: &&String| self.errors.get(*name).map(Vec::len) != expected.errors.get(*name).map(Vec::len);
        out.errors = names.filter(differs).cloned().collect();
        out.errors.dedup();
        out
    }

    /// Removes the records of a replay of the archive.
    pub fn forget_replay(&mut self) {
        self.records.retain(|name, _| !name.starts_with("archive "));
    }

    /// Leaves the error log out.
    pub fn forget_errors(&mut self) {
        self.errors.clear();
    }

    /// Number of different error lines.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors.len()
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.values().map(Vec::len).sum()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// Last non-empty line of a text.
#[must_use]
pub fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn put(found: &mut Found, name: String, content: &str) {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let hashes = found.entry(name).or_default();
    hashes.push(hasher.finish());
    hashes.sort_unstable();
}

fn record(line: &Value, place: &str, world: &World, into: &mut Found) {
    let change = if place.is_empty() { text(&line["metadata"]["change"]) } else { "" };
    let name = format!("{place}{}", text(&line["url"]));
    put(into, world.named(&name), &world.named(&format!("{change}\n{}", text(&line["text"]))));
}

/// Passes each line of a file to `each`; a missing file has none.
fn lines_of(path: &Path, format: Format, torn: bool, mut each: impl FnMut(&Value)) -> Result<(), String> {
    let Ok(bytes) = fs::read(path) else { return Ok(()) };
    let mut unpacked = Vec::new();
    let read = match format {
        Format::Gz => MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked),
        Format::Zst => zstd::stream::read::Decoder::new(bytes.as_slice())
            .and_then(|mut decoder| decoder.read_to_end(&mut unpacked)),
        _ => bytes.as_slice().read_to_end(&mut unpacked),
    };
    let fail = |error: &dyn std::fmt::Display| Err(format!("{} cannot be read: {error}", path.display()));
    match read {
        Err(error) if !torn => return fail(&error),
        _ => {}
    }
    let whole = unpacked.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < unpacked.len() && !torn {
        return fail(&"its last line is not whole");
    }
    for line in unpacked[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(value) => each(&value),
            Err(error) => return fail(&error),
        }
    }
    Ok(())
}

fn table(path: &Path, into: &mut Found) -> Result<(), String> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(()) };
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(format!("{} is not whole", path.display()));
    }
    // ids depend on ports, and so does the order
    for _ in text.lines() {
        put(into, "row".into(), "");
    }
    Ok(())
}

fn parquet(path: &Path, world: &World, into: &mut Found) -> Result<(), String> {
    if !path.exists() {
        return Ok(());
    }
    let mut failed = None;
    let read = read_file(path, &ReadOptions { max_record: 1 << 26, keep_lines: false }, &mut |item| {
        match item {
            Item::Document(document) => {
                let body = match document.body {
                    Body::Text(text) => text,
                    Body::Html(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                };
                put(into, world.named(&document.url), &world.named(&body));
            }
            other => failed = Some(format!("{}: {other:?}", path.display())),
        }
        ControlFlow::Continue(())
    });
    read.map_err(|e| e.to_string())?;
    failed.map_or(Ok(()), Err)
}

fn folder(path: &Path, world: &World, torn: bool, into: &mut Found) -> Result<(), String> {
    lines_of(&path.join("index.jsonl"), Format::Jsonl, torn, |line| {
        put(into, format!("index {}", world.named(text(&line["url"]))), "");
    })?;
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") && !torn {
                markdown(&path, world, into)?;
            }
        }
    }
    Ok(())
}

fn markdown(path: &Path, world: &World, into: &mut Found) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let parts = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let Some((front, body)) = parts else { return Err(format!("{} is not whole", path.display())) };
    let url = front.lines().find_map(|line| line.strip_prefix("url: ")).unwrap_or_default().trim_matches('"');
    put(into, world.named(url), &world.named(body));
    Ok(())
}

/// Runs the program's check of its database of projects.
fn check_projects(path: &Path, world: &World) -> Result<(), String> {
    let arguments = ["projects", "check", "--database", &path.to_string_lossy()];
    let ended = world.run_other(&arguments).map_err(|e| e.to_string())?;
    match ended.code {
        Some(0) => Ok(()),
        code => Err(format!("check of the projects: exit {code:?}: {}", last_line(&ended.stderr))),
    }
}

fn project(path: &Path, world: &World, into: &mut Found) -> Result<(), String> {
    let fail = |e: rusqlite::Error| format!("{}: {e}", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    let mut rows = connection.prepare("SELECT url, content FROM sources").map_err(fail)?;
    let rows =
        rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).map_err(fail)?;
    for row in rows {
        let (url, content) = row.map_err(fail)?;
        put(into, format!("project {}", world.named(&url)), &world.named(&content));
    }
    Ok(())
}
