//! A view of the file system for the browser, by bubblewrap: programs, libraries and settings of the system to read, its profile to
//! write, and nothing of the user.

use super::command::in_path;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Its own processes, and no folder yet.
const NAMESPACES: [&str; 10] = [
    "--die-with-parent",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
];
/// Folders that the browser reads, without those that are missing.
const READ: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/etc",
    "/nix",
    "/gnu",
    "/sys",
    "/run/systemd/resolve",
    "/var/cache/fontconfig",
];
/// Folders of the user that it reads: certificates that the user trusts, and fonts.
const READ_AT_HOME: [&str; 4] = [".pki", ".fonts", ".local/share/fonts", ".config/fontconfig"];

/// The arguments of `bwrap` up to the program, for a browser at `path`.
pub(super) fn arguments(path: &Path, profile: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = NAMESPACES.map(Into::into).into();
    let mut bind = |kind: &str, path: &Path| arguments.extend([kind.into(), path.into(), path.into()]);
    READ.iter().for_each(|folder| bind("--ro-bind-try", Path::new(folder)));
    if let Some(home) = std::env::var_os("HOME") {
        READ_AT_HOME.iter().for_each(|folder| bind("--ro-bind-try", &Path::new(&home).join(folder)));
    }
    // a browser of the user's own, and the one behind a link
    let target = path.canonicalize().ok();
    for folder in [Some(path), target.as_deref()].into_iter().flatten().filter_map(Path::parent) {
        if folder.parent().is_some() && READ.iter().all(|known| !folder.starts_with(known)) {
            bind("--ro-bind-try", folder);
        }
    }
    bind("--bind", profile);
    arguments.push("--".into());
    arguments
}

/// Set once the browser was not started by bubblewrap.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The path of `bwrap`, unless it is missing or the browser was not started by it. Says once if it is missing.
pub(super) fn find() -> Option<PathBuf> {
    if REFUSED.load(Ordering::Relaxed) {
        return None;
    }
    let bwrap = in_path("bwrap");
    if bwrap.is_none() {
        refuse("bwrap is missing");
    }
    bwrap
}

/// Says that the browser is started without bubblewrap, and why; once.
pub(super) fn refuse(reason: &str) {
    if !REFUSED.swap(true, Ordering::Relaxed) {
        tracing::info!("the browser can read the files of its user: bubblewrap is not used: {reason}");
    }
}
