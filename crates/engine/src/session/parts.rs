//! Parts of an output: the files that one worker of a crawl writes. Their names and lengths are in the store,
//! and in a manifest beside them.

use crate::{
    exit::{Exit, Failure},
    rotation::FileSeries,
    state::{self, State},
};
use crawl_model::{OutputMark, StoreError, instant};
use crawl_output::{Fields, OutputError, Place};
use crawl_store::{OutputPart, StateStore, WorkerStart};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// Name of the file beside the parts that lists them.
pub const MANIFEST: &str = "manifest.json";

/// The character of a path that is replaced by the name of a part.
const STAR: char = '*';

/// The parts of a crawl, as the manifest has them.
#[derive(Serialize)]
struct Manifest<'a> {
    parts: &'a [OutputPart],
}

/// Parts that a manifest lists.
#[derive(Deserialize)]
struct Listed {
    parts: Vec<ListedPart>,
}

#[derive(Deserialize)]
struct ListedPart {
    path: String,
}

/// Returns true if a path is a pattern for the parts of several workers.
pub(super) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(STAR)
}

/// The folder that holds the parts of a pattern.
pub(super) fn folder_of(pattern: &Path) -> PathBuf {
    let text = pattern.to_string_lossy();
    let before = text.split(STAR).next().unwrap_or_default();
    let folder =
        before.rsplit_once('/').map_or(".", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    PathBuf::from(folder)
}

/// Prepares the first part of this start of the worker: its folder, and the parts of earlier starts. Returns its place.
pub(super) fn begin(
    state: &State,
    pattern: &Path,
    part: &Path,
    fields: Option<&Fields>,
) -> Result<Place, Failure> {
    check_manifest(&*state.store, pattern)?;
    make_folder(pattern)?;
    // a place in the folder is resolved once the folder is there
    let place = Place::of(part);
    end_earlier(state, fields)?;
    add(state, &place)?;
    Ok(place)
}

/// Makes the folder of the parts of a pattern, if it is missing.
fn make_folder(pattern: &Path) -> Result<(), Failure> {
    let folder = folder_of(pattern);
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(Exit::Storage, format!("{}: {error}", folder.display())))
}

/// A part by its number in this start of the worker: `part-WORKER-EPOCH-SEQ` in place of the star.
fn path_of(pattern: &Path, start: &WorkerStart, seq: u32) -> PathBuf {
    let name = format!("part-{}-{}-{seq}", start.name, start.epoch);
    PathBuf::from(pattern.to_string_lossy().replacen(STAR, &name, 1))
}

/// The first part that this start of the worker writes. `None` for a state of one process, whose output has the name as it is.
pub(super) fn first_of(store: &dyn StateStore, pattern: &Path) -> Result<Option<PathBuf>, StoreError> {
    if !is_pattern(pattern) {
        return Ok(None);
    }
    Ok(store.worker()?.map(|start| path_of(pattern, &start, 0)))
}

/// The last part that this start of the worker writes. `None` for a state of one process.
pub(super) fn last_of(store: &dyn StateStore, pattern: &Path) -> Result<Option<PathBuf>, StoreError> {
    let Some(start) = store.worker()?.filter(|_| is_pattern(pattern)) else { return Ok(None) };
    let parts = store.parts()?;
    let own = parts.iter().filter(|part| part.worker == start.name && part.epoch == start.epoch);
    Ok(Some(path_of(pattern, &start, own.map(|part| part.seq).max().unwrap_or(0))))
}

/// Pause between two manifests while parts are written, in durations of the first: the list grows with each part.
const MANIFEST_PAUSE: u32 = 100;

/// Parts of one start of a worker, one after the other.
pub(super) struct PartSeries {
    store: Arc<dyn StateStore>,
    pattern: PathBuf,
    round: u32,
    seq: u32,
    /// Earliest time of the next manifest, except for the final one.
    next_manifest: Option<Instant>,
}

impl PartSeries {
    pub(super) fn new(state: &State, pattern: &Path) -> Self {
        let (store, pattern) = (Arc::clone(&state.store), pattern.to_owned());
        Self { store, pattern, round: state.round, seq: 0, next_manifest: None }
    }
}

impl FileSeries for PartSeries {
    fn next(&mut self) -> Result<Place, OutputError> {
        let lacks_worker = || StoreError::Other("parts belong to a worker, and this process is none".into());
        let start = self.store.worker()?.ok_or_else(lacks_worker)?;
        self.seq += 1;
        let place = Place::of(&path_of(&self.pattern, &start, self.seq));
        // first: a part without its file ends with the next start of the worker
        note(&*self.store, &place, (start, self.seq, self.round))?;
        Ok(place)
    }

    fn opened(&mut self, ended: &Place) -> Result<(), OutputError> {
        end(&*self.store, ended)?;
        let begun = instant();
        if self.next_manifest.is_some_and(|at| begun < at) {
            return Ok(());
        }
        write_manifest(&*self.store, &self.pattern)?;
        let now = instant();
        self.next_manifest = now.checked_add(now.saturating_duration_since(begun) * MANIFEST_PAUSE);
        Ok(())
    }
}

/// Refuses a folder whose manifest lists parts of another crawl, before anything is written there.
fn check_manifest(store: &dyn StateStore, pattern: &Path) -> Result<(), Failure> {
    let path = folder_of(pattern).join(MANIFEST);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Failure::new(Exit::Storage, format!("{}: {e}", path.display()))),
    };
    let listed: Listed = serde_json::from_slice(&text).map_err(|e| {
        let path = path.display();
        Failure::usage(format!("{path} is not the manifest of a crawl ({e}): name another folder after -o"))
    })?;
    let parts = store.parts()?;
    let is_known = |listed: &ListedPart| parts.iter().any(|part| part.path == listed.path);
    match listed.parts.iter().find(|listed| !is_known(listed)) {
        None => Ok(()),
        Some(foreign) => Err(Failure::usage(format!(
            "{} lists {}, a part of another crawl: name another folder after -o, or remove the manifest",
            path.display(),
            foreign.path
        ))),
    }
}

/// Notes the first part that this start of the worker writes.
fn add(state: &State, place: &Place) -> Result<(), StoreError> {
    let Some(start) = state.store.worker()? else { return Ok(()) };
    note(&*state.store, place, (start, 0, state.round))
}

/// The name of a part in lists. That of a folder ends with a slash, as the name that selects its format.
fn listed(place: &Place) -> String {
    let path = place.path.to_string_lossy();
    if place.is_folder() { format!("{}/", path.trim_end_matches('/')) } else { path.into_owned() }
}

/// The place of a part that is listed. An earlier program listed folders without a slash.
fn place_of(part: &OutputPart) -> Place {
    let place = Place::of(Path::new(&part.path));
    let folder = Place::of(Path::new(&format!("{}/", part.path.trim_end_matches('/'))));
    if part.mark == folder.name() { folder } else { place }
}

fn note(
    store: &dyn StateStore,
    place: &Place,
    (start, seq, round): (WorkerStart, u32, u32),
) -> Result<(), StoreError> {
    store.add_part(&OutputPart {
        path: listed(place),
        bytes: 0,
        is_complete: false,
        worker: start.name,
        epoch: start.epoch,
        seq,
        round,
        mark: place.name(),
    })
}

/// Ends the parts that earlier starts of this worker left open: each is cut back to what was settled.
fn end_earlier(state: &State, fields: Option<&Fields>) -> Result<(), Failure> {
    let Some(start) = state.store.worker()? else { return Ok(()) };
    for part in state.store.parts()? {
        if part.worker != start.name || part.is_complete || part.epoch == start.epoch {
            continue;
        }
        let place = place_of(&part);
        if part.bytes > 0 || place.written().exists() {
            let before = state.before(&place, Path::new(&part.path), false)?;
            let mut opened = place.open(before, fields.cloned())?;
            state.note_damage(&opened)?;
            let reach = opened.output.finish()?;
            let mark = reach.map(|offset| OutputMark { name: part.mark.clone(), offset });
            state.store.settle(&[], &Vec::from_iter(mark))?;
            // an index without its settled lines names fewer files than were settled
            if opened.damage.is_none() {
                place.remove_unsettled(fields)?;
            }
        }
        end_listed(&*state.store, &place, &part.path)?;
    }
    Ok(())
}

/// Notes that a part is complete, and removes one without a record.
pub(super) fn end(store: &dyn StateStore, place: &Place) -> Result<(), OutputError> {
    end_listed(store, place, &listed(place))
}

fn end_listed(store: &dyn StateStore, place: &Place, name: &str) -> Result<(), OutputError> {
    state::output_closed(store, &place.name())?;
    let bytes = match fs::metadata(&place.path) {
        // a compressed file or a table without a record has some bytes too
        Ok(found) if found.is_file() && place.is_empty()? => 0,
        Ok(found) if found.is_dir() => store.output_mark(&place.name())?.unwrap_or(0),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    store.end_part(name, bytes)?;
    if bytes == 0 { place.remove_empty() } else { Ok(()) }
}

/// Writes the manifest beside the parts of a pattern, and repeats that until it equals the store's.
pub(super) fn write_manifest(store: &dyn StateStore, pattern: &Path) -> Result<(), OutputError> {
    let path = folder_of(pattern).join(MANIFEST);
    let failed = |source| OutputError::Write { name: path.display().to_string(), source };
    let worker = store.worker()?.map_or_else(String::new, |start| start.name);
    let mut written = None;
    loop {
        let mut parts = store.parts()?;
        parts.retain(|part| part.bytes > 0);
        // another worker may have written an earlier list in between
        if written.as_ref() == Some(&parts) {
            return Ok(());
        }
        let text = serde_json::to_vec_pretty(&Manifest { parts: &parts }).map_err(|e| failed(e.into()))?;
        replace(&path, &worker, &text).map_err(failed)?;
        written = Some(parts);
    }
}

/// Replaces a manifest. The new file is named for its worker: workers in containers have the same process ids. It is on the
/// disk before it has its name, since an empty manifest is an error.
fn replace(manifest: &Path, worker: &str, text: &[u8]) -> io::Result<()> {
    let new = manifest.with_extension(format!("{worker}.new"));
    let mut file = fs::File::create(&new)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&new, manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_with_one_process_id_replace_a_manifest_side_by_side() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join(MANIFEST);
        let replaces =
            |worker: &str| (0..300).try_for_each(|_| replace(&manifest, worker, worker.as_bytes()));
        std::thread::scope(|scope| {
            let one = scope.spawn(|| replaces("one"));
            replaces("another").unwrap();
            one.join().unwrap().unwrap();
        });
        assert!(["one", "another"].contains(&fs::read_to_string(&manifest).unwrap().as_str()));
    }

    #[test]
    fn output_patterns_name_their_folder() {
        for (pattern, folder) in
            [("out/*.jsonl", "out"), ("*.jsonl", "."), ("/*.jsonl", "/"), ("/a/b/*/", "/a/b")]
        {
            assert!(is_pattern(Path::new(pattern)));
            assert_eq!(folder_of(Path::new(pattern)), Path::new(folder));
        }
        assert!(!is_pattern(Path::new("out/pages.jsonl")));
    }
}
