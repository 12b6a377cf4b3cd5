//! Warnings about files of earlier runs in the folder of an archive.

use crawl_archive::Leftover;
use std::path::{Path, PathBuf};

/// Warns of files that an earlier version left readable by all users.
#[cfg(unix)]
pub(super) fn warn_of_readers(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let allows =
        |path: &Path, right: u32| path.metadata().is_ok_and(|found| found.permissions().mode() & right != 0);
    if !allows(folder, 0o001) {
        return;
    }
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_open = |path: &PathBuf| path.to_string_lossy().contains(".warc.gz") && allows(path, 0o004);
    let count = files.filter(is_open).count();
    if count > 0 {
        let folder = folder.display();
        tracing::warn!(
            "{folder}: all users can read {count} files of earlier runs; chmod -R go= {folder} takes that away"
        );
    }
}

#[cfg(not(unix))]
pub(super) fn warn_of_readers(_: &Path) {}

/// Lost answers that are named in a warning.
const MAX_NAMED: usize = 10;

/// Logs what has been done with a file that a killed run has left: a torn end is normal, damage is not.
pub(super) fn warn_of_leftover(leftover: &Leftover) {
    let file = leftover.path.display();
    if leftover.torn > 0 {
        tracing::info!("{file}: an incomplete record of {} bytes was removed", leftover.torn);
    }
    let Some(aside) = &leftover.aside else { return };
    let Leftover { damaged, places, lost, .. } = leftover;
    tracing::warn!(
        "{file}: {damaged} bytes at {places} places are damaged and were moved to {}; the records in them are lost",
        aside.display()
    );
    if !lost.is_empty() {
        let named = lost.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(" ");
        let more = lost.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        tracing::warn!("{file}: {} responses are lost: {named}{more}", lost.len());
    }
}
