//! Profile directory of a browser, marked with its owner, and removal of those with dead owners.

use super::{
    command::VARIABLE,
    group::{Group, group_of, processes, start_time},
};
use rustix::process::{Pid, geteuid};
use std::{
    fs::{self, Permissions},
    io::ErrorKind,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    thread::sleep,
    time::Duration,
};
use tempfile::TempDir;

/// Prefix of a profile directory's name.
const PREFIX: &str = "crawl-chrome-";
/// File in the profile that names its owner: process id and start time.
pub(super) const MARK: &str = "crawl-owner";
/// Attempts to remove a profile, and the pause between them.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn new_profile(base: &Path) -> std::io::Result<TempDir> {
    // cookies and files of pages are private
    let permissions = Permissions::from_mode(0o700);
    let profile = tempfile::Builder::new().prefix(PREFIX).permissions(permissions).tempdir_in(base)?;
    let own = std::process::id();
    fs::write(profile.path().join(MARK), format!("{own} {}", start_time(own).unwrap_or_default()))?;
    // settings without a switch
    let preferences = serde_json::json!({
        "download_restrictions": 3,
        // no prefetching, and no sign-in
        "signin": {"allowed": false},
        "net": {"network_prediction_options": 2},
        "profile": {"default_content_setting_values": {
            "automatic_downloads": 2, "geolocation": 2, "media_stream": 2, "notifications": 2, "popups": 2,
        }},
    });
    // no user can enter a password, so the browser must not ask for one
    let state = serde_json::json!({"auth": {"schemes": ""}});
    fs::write(profile.path().join("Local State"), state.to_string())?;
    let default = profile.path().join("Default");
    fs::create_dir(&default)?;
    fs::write(default.join("Preferences"), preferences.to_string())?;
    Ok(profile)
}

/// Removes a profile whose processes are dead. A remaining part keeps its owner's mark, so that a later start
/// tries again.
#[expect(clippy::disallowed_methods, reason = "the end of a writer that is not known is no event")]
pub(super) fn remove_profile(profile: &Path) {
    let mark = fs::read(profile.join(MARK));
    for attempt in 1..=TRIES {
        match fs::remove_dir_all(profile) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                if attempt < TRIES {
                    sleep(PAUSE);
                    continue;
                }
                tracing::debug!("the browser's profile {} is left for later: {error}", profile.display());
                if let Ok(mark) = &mark {
                    // the directory may have become unwritable
                    let _ = fs::write(profile.join(MARK), mark);
                }
            }
            _ => return,
        }
    }
}

/// Ends the browsers of killed crawls and removes their profiles: our directories with the mark of a dead
/// owner. Returns their number.
pub(crate) fn reap(base: &Path) -> usize {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .filter(|e| reap_one(&e.path()))
        .count()
}

fn reap_one(profile: &Path) -> bool {
    // the directory may be shared: only our own directories, and no links
    let own =
        fs::symlink_metadata(profile).is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
    let Some(mark) = own.then(|| fs::read_to_string(profile.join(MARK)).ok()).flatten() else {
        return false;
    };
    let mut parts = mark.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(started))) = (parts.next(), parts.next()) else {
        return false;
    };
    if u32::try_from(pid).is_ok_and(|pid| start_time(pid) == Some(started)) {
        return false;
    }
    let mut mark = format!("{VARIABLE}={}", profile.display()).into_bytes();
    mark.push(0);
    for pid in processes() {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if !environment.windows(mark.len()).any(|part| part == mark) {
            continue;
        }
        if let Some(group) = group_of(pid).and_then(Pid::from_raw) {
            Group(group).end();
        }
    }
    remove_profile(profile);
    true
}
