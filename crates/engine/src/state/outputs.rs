//! Outputs as stored in the state: settled length, identity of the file, and a mark while it is open.

use super::{ERROR_LOG, State, number};
use crate::exit::Failure;
use crawl_model::{OutputMark, Store, StoreError};
use crawl_output::{Before, Opened, Place, absolute};
use crawl_store::StateStore;
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// Name in the store of lost records that no exit code has reported yet.
const DAMAGE_KEY: &str = "damage";

impl State {
    /// Returns the mode for opening an output that the user named `given`.
    ///
    /// # Errors
    /// When storage fails.
    pub fn before(&self, place: &Place, given: &Path, replace: bool) -> Result<Before, StoreError> {
        let name = place.name();
        self.adopt(place, given)?;
        let mark = self.store.output_mark(&name)?;
        // a process that began the round may have ended before it opened the output
        let of_this_round = number(self.store.get(&round_key(&name))?) == Some(self.round);
        if replace && (self.is_stale(place)? || !(of_this_round && mark.is_some())) {
            return Ok(Before::Replace);
        }
        Ok(match mark {
            Some(settled) if is_open(&*self.store, &name)? => Before::CutOff(settled),
            Some(length) => Before::Closed(length),
            None => Before::Unknown,
        })
    }

    /// Returns true if this round replaces an output and has not written its first record.
    ///
    /// # Errors
    /// When storage fails.
    pub fn is_stale(&self, place: &Place) -> Result<bool, StoreError> {
        Ok(self.store.output_mark(&place.name())? == Some(0) && is_untouched(&*self.store, place)?)
    }

    /// Returns true if the state knows an output that the user named `given`.
    ///
    /// # Errors
    /// When storage fails.
    pub fn knows(&self, place: &Place, given: &Path) -> Result<bool, StoreError> {
        Ok(known_name(&*self.store, place, given)?.is_some())
    }

    /// Takes over the notes of an output under another name: the one in states of earlier versions, or the
    /// one before it was moved.
    fn adopt(&self, place: &Place, given: &Path) -> Result<(), StoreError> {
        let (store, name) = (&self.store, place.name());
        if store.output_mark(&name)?.is_some() {
            return Ok(());
        }
        let Some((earlier, mark)) = known_name(&**store, place, given)? else { return Ok(()) };
        for key in [open_key, round_key, stale_key, file_key] {
            if let Some(value) = store.get(&key(&earlier))? {
                store.put(&key(&name), &value)?;
            }
        }
        // last: with it the new name counts
        store.settle(&[], &[OutputMark { name, offset: mark }])?;
        store.put(&open_key(&earlier), "0")
    }

    /// Notes that an output is being written in this round. If this process is killed, the next one cuts the
    /// file back to the settled length. Stale content is of an earlier round, and must not be taken for
    /// records of this one.
    ///
    /// # Errors
    /// When storage fails.
    pub fn output_opened(&self, place: &Place, offset: u64, stale: bool) -> Result<(), StoreError> {
        note_opened(&*self.store, self.round, place, (offset, stale))
    }

    /// Notes records that an output has lost, for the exit code of the run that ends the round.
    ///
    /// # Errors
    /// When storage fails.
    pub fn note_damage(&self, opened: &Opened) -> Result<(), StoreError> {
        opened.damage.as_deref().map_or(Ok(()), |damage| note_damage(&*self.store, damage))
    }
}

/// Key of an output whose name has a date.
fn pattern_key(pattern: &Path) -> String {
    format!("pattern:{}", pattern.display())
}

/// Notes the name of an output before its date is filled in.
///
/// # Errors
/// When storage fails.
pub fn note_pattern(store: &dyn Store, pattern: &Path) -> Result<(), StoreError> {
    if pattern.to_string_lossy().contains('%') { store.put(&pattern_key(pattern), "1") } else { Ok(()) }
}

/// Returns true if the state has written to an output of this name with a date.
pub(super) fn knows_pattern(store: &dyn Store, pattern: &Path) -> Result<bool, StoreError> {
    Ok(store.get(&pattern_key(pattern))?.is_some())
}

/// Notes which file an output is, so that it is known after a move.
///
/// # Errors
/// When storage fails.
pub fn note_file(store: &dyn Store, place: &Place) -> Result<(), StoreError> {
    let file = file_of(&place.written()).map(|(file, _)| file);
    store.put(&file_key(&place.name()), &file.unwrap_or_default())
}

/// The name by which a state knows an output, and how far it was settled; `None` for an unknown output.
///
/// # Errors
/// When storage fails.
pub(super) fn known_name(
    store: &dyn Store,
    place: &Place,
    given: &Path,
) -> Result<Option<(String, u64)>, StoreError> {
    for name in [place.name(), place.at(absolute(given)).name()] {
        if let Some(mark) = store.output_mark(&name)? {
            return Ok(Some((name, mark)));
        }
    }
    moved(store, place)
}

/// The name under which a file was written that has another name now, and how far it was settled.
fn moved(store: &dyn Store, place: &Place) -> Result<Option<(String, u64)>, StoreError> {
    let Some((file, length)) = file_of(&place.written()) else { return Ok(None) };
    for (key, noted) in store.entries("file:")? {
        let name = key.trim_start_matches("file:");
        let mark = store.output_mark(name)?.filter(|mark| noted == file && *mark <= length);
        // one that is still there under that name is not this one
        let there = place.at(PathBuf::from(name)).written();
        if let Some(mark) = mark
            && file_of(&there).is_none_or(|(other, _)| other == file)
        {
            return Ok(Some((name.to_owned(), mark)));
        }
    }
    Ok(None)
}

/// Notes that an output is being written in a round, from `offset` on; see [`State::output_opened`].
///
/// # Errors
/// When storage fails.
pub fn note_opened(
    store: &dyn Store,
    round: u32,
    place: &Place,
    (offset, stale): (u64, bool),
) -> Result<(), StoreError> {
    let name = place.name();
    let stale = if stale { identity(&place.marked()) } else { None };
    store.put(&stale_key(&name), &stale.unwrap_or_default())?;
    let file = file_of(&place.written()).map(|(file, _)| file);
    store.put(&file_key(&name), &file.unwrap_or_default())?;
    store.settle(&[], &[OutputMark { name: name.clone(), offset }])?;
    store.put(&open_key(&name), "1")?;
    store.put(&round_key(&name), &round.to_string())
}

/// Notes lost records, for the exit code of the run that ends the round.
///
/// # Errors
/// When storage fails.
pub fn note_damage(store: &dyn Store, damage: &str) -> Result<(), StoreError> {
    tracing::warn!("{damage}");
    let noted = store.get(DAMAGE_KEY)?.filter(|noted| !noted.is_empty());
    let words = noted.map_or_else(|| damage.to_owned(), |noted| format!("{noted}; {damage}"));
    store.put(DAMAGE_KEY, &words)
}

/// The lost records that no exit code has reported yet.
///
/// # Errors
/// When storage fails.
pub fn damage(store: &dyn Store) -> Result<Option<String>, StoreError> {
    Ok(store.get(DAMAGE_KEY)?.filter(|noted| !noted.is_empty()))
}

/// Forgets the lost records that the exit code reports.
pub fn forget_damage(store: &dyn Store) {
    if let Err(error) = store.put(DAMAGE_KEY, "") {
        tracing::warn!(%error, "the next run will report the same damage again");
    }
}

pub(super) fn round_key(name: &str) -> String {
    format!("round:{name}")
}

fn stale_key(name: &str) -> String {
    format!("stale:{name}")
}

/// Identity of a file that changes when it is written to.
fn identity(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let changed = (found.mtime(), found.mtime_nsec());
    Some(format!("{}:{}:{}:{}.{:09}", found.dev(), found.ino(), found.len(), changed.0, changed.1))
}

/// Device, inode and creation time of a file, and its length. A file system gives the inode of a removed file to a new one;
/// the creation time distinguishes them.
fn file_of(path: &Path) -> Option<(String, u64)> {
    let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let since_epoch = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let created = since_epoch.map_or_else(String::new, |since| since.as_nanos().to_string());
    Some((format!("{}:{}:{created}", found.dev(), found.ino()), found.len()))
}

/// Returns true if a file to replace is unchanged since the round began.
fn is_untouched(store: &dyn Store, place: &Place) -> Result<bool, StoreError> {
    let noted = store.get(&stale_key(&place.name()))?.filter(|noted| !noted.is_empty());
    Ok(noted.is_some() && noted == identity(&place.marked()))
}

/// Returns true if the lines of the error log in a directory are of an earlier round. The current one has no failure yet then.
///
/// # Errors
/// When storage fails.
pub fn is_log_of_earlier_round(store: &dyn StateStore, dir: &Path) -> Result<bool, StoreError> {
    let place = Place::of_lines(&dir.join(ERROR_LOG));
    let round: Option<u32> = number(store.get(&round_key(&place.name()))?);
    let is_earlier = round.is_some() && round != Some(store.round()?);
    Ok(is_earlier || is_untouched(store, &place)?)
}

/// Empties a file that a round replaces, if the round ended without records.
///
/// # Errors
/// When storage fails, or the file cannot be written.
pub fn replace_by_nothing(store: &dyn Store, place: &Place) -> Result<(), Failure> {
    if is_untouched(store, place)? {
        place.replace_by_nothing()?;
    }
    Ok(())
}

fn file_key(name: &str) -> String {
    format!("file:{name}")
}

fn open_key(name: &str) -> String {
    format!("open:{name}")
}

fn is_open(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    Ok(store.get(&open_key(name))?.as_deref() == Some("1"))
}

/// Notes that an output was left whole: later additions are not cut off.
///
/// # Errors
/// When storage fails.
pub fn output_closed(store: &dyn Store, name: &str) -> Result<(), StoreError> {
    store.put(&open_key(name), "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{lease, open, url};
    use crawl_model::{Outcome, PageHistory, Record, Settlement};
    use crawl_output::{FileOutput, Output};
    use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

    /// A record with an `id` of the test's choice.
    fn record(id: &str) -> Record {
        let mut record: Record =
            serde_json::from_str(include_str!("../../../output/tests/record.json")).unwrap();
        id.clone_into(&mut record.id);
        record
    }

    /// Opens an output as a run does.
    fn opened(state: &State, place: &Place) -> Opened {
        let opened = place.open(state.before(place, &place.path, false).unwrap(), None).unwrap();
        state.output_opened(place, opened.offset, opened.stale).unwrap();
        state.store.sync().unwrap();
        opened
    }

    /// Writes two settled bytes and one that is not into `out.jsonl`, as a run that is killed leaves it.
    fn killed(dir: &Path) {
        let state = open(&dir.join("state"));
        let place = Place::of(&dir.join("out.jsonl"));
        let mut file =
            FileOutput::open(&place.path, state.before(&place, &place.path, true).unwrap()).unwrap();
        state.output_opened(&place, 0, false).unwrap();
        file.write(b"a\n").unwrap();
        state.store.settle(&[], &[OutputMark { name: place.name(), offset: 2 }]).unwrap();
        file.write(b"b").unwrap();
    }

    fn before(dir: &Path, name: &str, replace: bool) -> Before {
        let path = dir.join(name);
        open(&dir.join("state")).before(&Place::of(&path), &path, replace).unwrap()
    }

    #[test]
    fn output_is_recognised_by_any_path_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        killed(&dir);
        symlink("out.jsonl", dir.join("link.jsonl")).unwrap();
        fs::create_dir(dir.join("sub")).unwrap();
        for name in ["out.jsonl", "link.jsonl", "sub/../out.jsonl"] {
            for replace in [false, true] {
                assert_eq!(before(&dir, name, replace), Before::CutOff(2), "{name} {replace}");
            }
        }
    }

    #[test]
    fn output_moved_with_its_state_is_recognised() {
        for replace in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let dir = fs::canonicalize(dir.path()).unwrap();
            fs::create_dir(dir.join("old")).unwrap();
            killed(&dir.join("old"));
            fs::rename(dir.join("old"), dir.join("new")).unwrap();
            assert_eq!(before(&dir.join("new"), "out.jsonl", replace), Before::CutOff(2));
            assert_eq!(before(&dir.join("new"), "out.jsonl", replace), Before::CutOff(2), "and again");
            // another file is another output, even under the name of this one
            fs::rename(dir.join("new/out.jsonl"), dir.join("new/kept")).unwrap();
            fs::write(dir.join("new/other.jsonl"), "mine\n").unwrap();
            let other = if replace { Before::Replace } else { Before::Unknown };
            assert_eq!(before(&dir.join("new"), "other.jsonl", replace), other);
            // nor is one that may have got the inode of the output
            fs::remove_file(dir.join("new/kept")).unwrap();
            fs::write(dir.join("new/next.jsonl"), "mine\n").unwrap();
            assert_eq!(before(&dir.join("new"), "next.jsonl", replace), other);
        }
    }

    #[test]
    fn output_names_of_earlier_versions_are_recognised() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(dir.join("real")).unwrap();
        symlink("real", dir.join("link")).unwrap();
        fs::write(dir.join("real/out.jsonl"), "a\nb").unwrap();
        let state = open(&dir.join("state"));
        let name = dir.join("link/out.jsonl").to_string_lossy().into_owned();
        state.store.settle(&[], &[OutputMark { name: name.clone(), offset: 2 }]).unwrap();
        state.store.put(&open_key(&name), "1").unwrap();
        state.store.put(&round_key(&name), "1").unwrap();
        drop(state);
        for name in ["link/out.jsonl", "real/out.jsonl"] {
            assert_eq!(before(&dir, name, true), Before::CutOff(2), "{name}");
        }
    }

    /// A crawl of six URLs in batches of two that loses power at one of its steps. The database is as at its
    /// last sync, the output as it was. Returns how often each URL is in the output once the next run has
    /// ended.
    fn crawl_without_power(name: &str, steps: usize, synced: bool) -> BTreeMap<String, usize> {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        let (state_dir, place) = (dir.join("state"), Place::of(&dir.join(name)));
        let database = state_dir.join("crawl.sqlite");
        let mut left = steps;
        let mut durable = Vec::new();
        let mut step = || {
            left -= usize::from(left > 0);
            // without its log the database is as at the last sync
            durable = fs::read(&database).unwrap();
            left > 0
        };
        run_steps(&state_dir, &place, synced, &mut step);
        fs::write(&database, durable).unwrap();
        run_steps(&state_dir, &place, synced, &mut || true);
        let mut counts = BTreeMap::new();
        for url in urls_of(&place) {
            *counts.entry(url).or_default() += 1;
        }
        counts
    }

    /// The steps of a run, until `step` says that it is over; `synced` as the sink is, before it finishes the output.
    fn run_steps(state_dir: &Path, place: &Place, synced: bool, step: &mut dyn FnMut() -> bool) {
        let state = open(state_dir);
        if state.new_round {
            assert_eq!(state.round, 1, "no round begins before the first has ended");
        }
        state.store.enqueue(&[1, 2, 3, 4, 5, 6].map(url)).unwrap();
        let mut output = opened(&state, place).output;
        if !step() {
            return;
        }
        loop {
            let leased = lease(&*state.store, 2);
            if leased.is_empty() {
                break;
            }
            let mut ended = Vec::new();
            for (lease, url) in leased {
                let mut page = record("1");
                page.url = url;
                output.push(&page).unwrap();
                ended.push(Settlement { lease, outcome: Outcome::Record, history: PageHistory::default() });
            }
            let offset = output.commit().unwrap().unwrap();
            let mark = OutputMark { name: output.name().to_owned(), offset };
            if !step() {
                return;
            }
            state.store.settle(&ended, &[mark]).unwrap();
            if !step() {
                return;
            }
        }
        if synced {
            state.store.sync().unwrap();
        }
        let offset = output.finish().unwrap().unwrap();
        if !step() {
            return;
        }
        let mark = OutputMark { name: output.name().to_owned(), offset };
        state.store.settle(&[], &[mark]).unwrap();
        drop(output);
        output_closed(&*state.store, &place.name()).unwrap();
        if !step() {
            return;
        }
        place
            .tidy(&mut |offset| {
                let mark = OutputMark { name: place.name(), offset };
                Ok(state.store.settle(&[], &[mark]).map(|_| ())?)
            })
            .unwrap();
        assert!(crate::state::note_end(&*state.store).unwrap());
        step();
    }

    fn urls_of(place: &Place) -> Vec<String> {
        if place.path != place.marked() {
            let index = fs::read_to_string(place.marked()).unwrap();
            let url = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].clone();
            return index.lines().map(|line| url(line).as_str().unwrap().to_owned()).collect();
        }
        let options = crawl_archive::ReadOptions { max_record: 1 << 20, keep_lines: false };
        let mut urls = Vec::new();
        crawl_archive::read_file(&place.path, &options, &mut |item| {
            let crawl_archive::Item::Document(document) = item else { panic!("unreadable") };
            urls.push(document.url);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        urls
    }

    #[test]
    fn power_loss_neither_loses_nor_duplicates_records() {
        let expected: BTreeMap<String, usize> = (1..=6).map(|n| (url(n).url, 1)).collect();
        for name in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"] {
            // the tenth ends the round
            for steps in 1..=9 {
                assert_eq!(crawl_without_power(name, steps, true), expected, "{name}, step {steps}");
            }
        }
    }

    #[test]
    fn simulation_detects_a_missing_sync() {
        let counts = crawl_without_power("out.parquet", 8, false);
        assert_eq!(counts.values().sum::<usize>(), 12, "each row is in the table twice: {counts:?}");
    }
}
