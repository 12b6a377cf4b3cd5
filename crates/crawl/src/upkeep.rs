//! Upkeep of a state directory: its database is compacted, and unused directories are removed. Both are
//! bounded, and announced before they begin.

use crate::logging::say;
use bytesize::ByteSize;
use crawl_engine::{config::StateSection, state};
use crawl_model::StoreError;
use crawl_output::absolute;
use crawl_store::{StateLock, StoreSize, Upkeep};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Old state directories that one run removes at the most.
const MOST_REMOVED: usize = 10;
/// Files that identify a state directory; one of them suffices.
const OURS: [&str; 2] = ["crawl.sqlite", "lock"];

/// Gives what a database does not use back to the disk, if that is worth the time.
///
/// # Errors
/// When storage fails. A disk without room for the copy is no error: the database stays as it is.
pub fn compact(store: &dyn Upkeep, settings: &StateSection, quiet: bool) -> Result<(), StoreError> {
    let StoreSize { file, free } = store.size()?;
    if settings.compact.is_none_or(|least| file <= least.as_u64()) || free < file / 4 {
        return Ok(());
    }
    if !quiet {
        say(&format!("compacting the state: {} of {} are unused", ByteSize(free), ByteSize(file)));
    }
    match store.compact() {
        Err(error @ (StoreError::Full(_) | StoreError::Other(_))) => {
            tracing::warn!(%error, "the state is not compacted");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Removes state directories beside this one that no run has used for longer than `state.keep`. Only those
/// under `$XDG_STATE_HOME/crawl` are removed, which runs made by themselves.
pub fn remove_old(settings: &StateSection, own: &Path, quiet: bool) {
    let (Some(keep), Ok(base)) = (settings.keep, state::base()) else { return };
    for dir in old(&base, &absolute(own), keep).into_iter().take(MOST_REMOVED) {
        // a run that begins there at this moment holds the lock, or waits for it
        let Ok(lock) = StateLock::acquire(&dir) else { continue };
        if !quiet {
            say(&format!("removing {}: no run has used it for longer than state.keep", dir.display()));
        }
        if let Err(error) = fs::remove_dir_all(&dir) {
            tracing::warn!(dir = %dir.display(), %error, "an old state cannot be removed");
        }
        drop(lock);
    }
}

/// State directories, but for `own`, that were last written to longer than `keep` ago; the oldest first.
fn old(base: &Path, own: &Path, keep: Duration) -> Vec<PathBuf> {
    let Some(limit) = SystemTime::now().checked_sub(keep) else { return Vec::new() };
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let mut old: Vec<(SystemTime, PathBuf)> = entries
        .map(|entry| entry.path())
        .filter(|dir| dir != own && !dir.is_symlink() && OURS.iter().all(|file| dir.join(file).is_file()))
        .filter_map(|dir| Some((last_used(&dir)?, dir)))
        .filter(|(used, _)| *used < limit)
        .collect();
    old.sort();
    old.into_iter().map(|(_, dir)| dir).collect()
}

/// Returns the time at which the newest file in a directory was written.
fn last_used(dir: &Path) -> Option<SystemTime> {
    let files = fs::read_dir(dir).ok()?.flatten();
    files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_state(base: &Path, name: &str, days: u64) -> PathBuf {
        let dir = base.join(name);
        fs::create_dir_all(&dir).unwrap();
        let when = SystemTime::now().checked_sub(Duration::from_secs(days * 86_400)).unwrap();
        for file in OURS {
            fs::File::create(dir.join(file)).unwrap().set_modified(when).unwrap();
        }
        dir
    }

    #[test]
    fn only_old_states_of_other_crawls_are_found() {
        let base = tempfile::tempdir().unwrap();
        let (older, old_one) = (make_state(base.path(), "older", 60), make_state(base.path(), "old", 40));
        let own = make_state(base.path(), "own", 50);
        make_state(base.path(), "new", 1);
        fs::remove_file(make_state(base.path(), "foreign", 50).join("crawl.sqlite")).unwrap();
        std::os::unix::fs::symlink(&old_one, base.path().join("link")).unwrap();
        let found = old(base.path(), &own, Duration::from_secs(30 * 86_400));
        assert_eq!(found, [older, old_one]);
        assert!(old(&base.path().join("nowhere"), &own, Duration::ZERO).is_empty());
    }
}
