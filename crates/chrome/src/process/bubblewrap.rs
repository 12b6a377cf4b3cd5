//! A view of the file system for the browser, by bubblewrap: programs, libraries and settings of the system to read, its profile to
//! write, and nothing of the user.

use super::command::in_path;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Mutex, Once, PoisonError},
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
    let home = std::env::var_os("HOME").map(PathBuf::from);
    if let Some(home) = &home {
        READ_AT_HOME.iter().for_each(|folder| bind("--ro-bind-try", &home.join(folder)));
    }
    // a browser of the user's own, and the one behind a link
    let target = path.canonicalize().ok();
    for file in [Some(path), target.as_deref()].into_iter().flatten() {
        let Some(folder) = file.parent() else { continue };
        if READ.iter().any(|known| folder.starts_with(known)) {
            continue;
        }
        if is_shared(folder, home.as_deref()) {
            hide(folder);
            bind("--ro-bind-try", file);
        } else {
            bind("--ro-bind-try", folder);
        }
    }
    bind("--bind", profile);
    arguments.push("--".into());
    arguments
}

/// Returns true if a folder holds more than the installation of a browser: a home, a folder of temporary files, or one above these.
fn is_shared(folder: &Path, home: Option<&Path>) -> bool {
    let home_target = home.and_then(|home| home.canonicalize().ok());
    let known = ["/home", "/root", "/tmp", "/var/tmp"].map(Path::new);
    let homes = [home, home_target.as_deref()].into_iter().flatten().chain(known);
    folder.parent() == Some(Path::new("/home")) || homes.into_iter().any(|home| home.starts_with(folder))
}

/// Logs once that the browser sees nothing of its folder but its own file.
fn hide(folder: &Path) {
    static LOGGED: Once = Once::new();
    LOGGED.call_once(|| {
        tracing::warn!(
            "{} is hidden from the browser, since it holds other files: install the browser in a folder of its own",
            folder.display()
        );
    });
}

/// Browsers that do not start by bubblewrap.
static REFUSED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The path of `bwrap`, unless it is missing or the browser at `path` does not start by it. Logs once for a browser if it is missing.
pub(super) fn find(path: &Path) -> Option<PathBuf> {
    if REFUSED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|refused| refused == path) {
        return None;
    }
    let bwrap = in_path("bwrap");
    if bwrap.is_none() {
        refuse(path, "bwrap is missing");
    }
    bwrap
}

/// Has the browser at `path` started without bubblewrap from now on. Logs the reason once.
pub(super) fn refuse(path: &Path, reason: &str) {
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if !refused.iter().any(|known| known == path) {
        refused.push(path.to_owned());
        tracing::info!("the browser can read the files of its user: bubblewrap is not used: {reason}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_other_files_is_hidden() {
        let home = Some(Path::new("/data/ada"));
        for folder in ["/", "/home", "/home/ada", "/root", "/data", "/data/ada", "/tmp", "/var", "/var/tmp"] {
            assert!(is_shared(Path::new(folder), home), "{folder}");
        }
        for folder in ["/home/ada/chrome", "/root/chrome", "/data/ada/chrome", "/data/chrome", "/srv"] {
            assert!(!is_shared(Path::new(folder), home), "{folder}");
        }
    }

    #[test]
    fn a_browser_in_a_shared_folder_is_bound_alone() {
        let bound = |path: &str| {
            let arguments = arguments(Path::new(path), Path::new("/tmp/profile"));
            let binds = arguments.windows(2).filter(|pair| pair[0] == "--ro-bind-try");
            binds.map(|pair| pair[1].to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let file = bound("/home/ada/chromium");
        assert!(
            file.contains(&"/home/ada/chromium".into()) && !file.contains(&"/home/ada".into()),
            "{file:?}"
        );
        let folder = bound("/home/ada/chrome/chromium");
        assert!(folder.contains(&"/home/ada/chrome".into()) && !folder.contains(&"/home/ada".into()));
    }
}
