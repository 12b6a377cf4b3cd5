//! Outputs as stored in the state: settled length, identity of the file, and a mark while it is open.

use super::{ERROR_LOG, State, number};
use crate::exit::Failure;
use crawl_model::{OutputMark, Store, StoreError};
use crawl_output::{Before, Opened, Place, absolute, is_folder, missing_words};
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

    /// Notes that a file is shorter than the last run left it. In an unfinished round its pages are lost, which the exit code
    /// reports. In a new round the user may have cut it, so there is a warning. A file of `-o` that is missing or empty has
    /// been taken away.
    ///
    /// # Errors
    /// When storage fails.
    pub fn note_shortened(&self, place: &Place, before: Before, replace: bool) -> Result<(), StoreError> {
        let Before::Closed(closed) = before else { return Ok(()) };
        let length = match length_of(place) {
            Some(length) => length,
            None if !place.marked().exists() && !is_folder(&place.path) => 0,
            // a folder or a table
            None => return Ok(()),
        };
        if length >= closed || (length == 0 && !replace) {
            return Ok(());
        }
        let words = missing_words(&place.name(), closed - length);
        if self.new_round {
            tracing::warn!("{words}");
            return Ok(());
        }
        note_damage(&*self.store, &words)
    }

    /// Notes if a new round replaces an output by its changes alone, so that the output lacks the other pages afterwards.
    ///
    /// # Errors
    /// When storage fails.
    pub fn note_kind_of_output(&self, place: &Place, only_changes: bool) -> Result<(), StoreError> {
        if !self.new_round {
            return Ok(());
        }
        let lacks_pages = only_changes && self.round > 1;
        self.store.put(&partial_key(&place.name()), if lacks_pages { "1" } else { "" })
    }
}

/// Returns true if a round has replaced an output by its changes alone.
///
/// # Errors
/// When storage fails.
pub(super) fn is_partial(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    Ok(store.get(&partial_key(name))?.as_deref() == Some("1"))
}

/// Returns true if an output of `-O` is missing, or shorter than the last run left it. `settled` is that length.
pub(super) fn is_shortened(place: &Place, settled: u64) -> bool {
    !place.marked().exists() || length_of(place).is_some_and(|length| length < settled)
}

/// Length of the file that records are written to; `None` if there is none, and for a folder, whose index is made again.
fn length_of(place: &Place) -> Option<u64> {
    if is_folder(&place.path) {
        return None;
    }
    file_of(&place.written()).map(|(_, length)| length)
}

fn partial_key(name: &str) -> String {
    format!("partial:{name}")
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
mod tests;
