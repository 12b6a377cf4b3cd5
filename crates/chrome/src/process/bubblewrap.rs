//! Isolation of the browser by bubblewrap. It can read programs, libraries and settings of the system, and
//! write its profile, but sees no user data and no other process. It has no capability and only the system
//! calls of `seccomp.rs`.
//!
//! The browser keeps the session of its parent, since its processes are identified by their group.
//! `seccomp.rs` denies the calls that a session of its own would prevent. It keeps the network too: it
//! reaches the proxy by TCP on loopback, which a namespace would cut off.

use super::{command::in_path, seccomp};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, Once, PoisonError},
};

/// Own process namespace, no rights of root, and no folders yet.
const NAMESPACES: [&str; 13] = [
    "--die-with-parent",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
];
/// Folders that the browser reads; missing ones are skipped.
const READ: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix",
    "/gnu",
    "/sys",
    "/run/systemd/resolve",
    "/var/cache/fontconfig",
];
/// System settings that the browser and its libraries read. Other files of `/etc` may hold secrets.
const READ_OF_ETC: [&str; 27] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "chromium",
    "chromium-browser",
    "chromium.d",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "machine-id",
    "mime.types",
    "nsswitch.conf",
    "opt",
    "os-release",
    "passwd",
    "pki",
    "resolv.conf",
    "ssl",
    "static",
    "timezone",
];
/// Descriptor from which bubblewrap reads the system call filter, and the shell program that opens it there.
const FILTER_AT: &str = "9";
const OPEN: &str = r#"exec "$@" 9<"$0""#;
/// File of the filter in the profile.
const FILTER: &str = "crawl-seccomp";
/// Folders of the user that the browser reads: trusted certificates, and fonts.
const READ_AT_HOME: [&str; 4] = [".pki", ".fonts", ".local/share/fonts", ".config/fontconfig"];

/// Bubblewrap, and the system call filter that it sets.
pub(super) struct Wrapper {
    program: PathBuf,
    filter: Option<PathBuf>,
}

impl Wrapper {
    /// Writes the filter into the profile. Logs once if there is none for this machine.
    pub(super) fn new(program: PathBuf, profile: &Path) -> Self {
        let path = profile.join(FILTER);
        let written = seccomp::filter()
            .map_err(|error| error.to_string())
            .and_then(|filter| fs::write(&path, filter).map_err(|error| error.to_string()));
        if let Err(reason) = &written {
            static LOGGED: Once = Once::new();
            LOGGED.call_once(|| {
                tracing::warn!("the browser can make every system call: no filter of seccomp: {reason}");
            });
        }
        Self { program, filter: written.is_ok().then_some(path) }
    }

    #[cfg(test)]
    pub(super) fn remove_filter(&mut self) {
        self.filter = None;
    }

    /// Command-line words before the program, for a browser at `path`.
    pub(super) fn words(&self, path: &Path, profile: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(filter) = &self.filter {
            words.extend(["sh", "-c", OPEN].map(Into::into));
            words.push(filter.into());
        }
        words.push(self.program.clone().into());
        if self.filter.is_some() {
            words.extend(["--seccomp", FILTER_AT].map(Into::into));
        }
        words.extend(arguments(path, profile));
        words
    }
}

/// Arguments of `bwrap` up to the program, for a browser at `path`.
fn arguments(path: &Path, profile: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = NAMESPACES.map(Into::into).into();
    let mut bind = |kind: &str, path: &Path| arguments.extend([kind.into(), path.into(), path.into()]);
    READ.iter().for_each(|folder| bind("--ro-bind-try", Path::new(folder)));
    READ_OF_ETC.iter().for_each(|name| bind("--ro-bind-try", &Path::new("/etc").join(name)));
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

/// Returns true if a folder holds more than the installation of a browser: a home, a folder of temporary
/// files, or a parent of these.
fn is_shared(folder: &Path, home: Option<&Path>) -> bool {
    let home_target = home.and_then(|home| home.canonicalize().ok());
    let known = ["/home", "/root", "/tmp", "/var/tmp"].map(Path::new);
    let homes = [home, home_target.as_deref()].into_iter().flatten().chain(known);
    folder.parent() == Some(Path::new("/home")) || homes.into_iter().any(|home| home.starts_with(folder))
}

/// Logs once that the browser sees only its own file of its folder.
fn hide(folder: &Path) {
    static LOGGED: Once = Once::new();
    LOGGED.call_once(|| {
        tracing::warn!(
            "{} is hidden from the browser, since it contains other files: install the browser in its own folder",
            folder.display()
        );
    });
}

/// Number of starts that may fail by bubblewrap before the browser is started without it.
const MAX_FAILURES: u32 = 2;

/// Number of starts that failed by bubblewrap, by the path of the browser.
static FAILURES: Mutex<Vec<(PathBuf, u32)>> = Mutex::new(Vec::new());

/// Path of `bwrap`, unless it is missing or has failed two starts of the browser at `path`.
///
/// Logs once per browser if `bwrap` is missing.
pub(super) fn find(path: &Path) -> Option<PathBuf> {
    let failures = FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
    if failures.iter().any(|(browser, count)| browser == path && *count >= MAX_FAILURES) {
        return None;
    }
    drop(failures);
    let bwrap = in_path("bwrap");
    if bwrap.is_none() && count_failures(path, MAX_FAILURES) {
        warn("bwrap is missing");
    }
    bwrap
}

/// Counts a start of the browser at `path` that failed by bubblewrap. Logs the first reason.
pub(super) fn on_failure(path: &Path, reason: &str) {
    if count_failures(path, 1) {
        warn(reason);
    }
}

/// Adds failures of the browser at `path`. Returns true if they are its first.
fn count_failures(path: &Path, more: u32) -> bool {
    let mut failures = FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, count)) = failures.iter_mut().find(|(browser, _)| browser == path) {
        *count = count.saturating_add(more);
        return false;
    }
    failures.push((path.to_owned(), more));
    true
}

fn warn(reason: &str) {
    tracing::warn!(
        "the browser runs without bubblewrap: {reason}; a page that exploits it can read the files of its user and make every system \
         call: install bubblewrap (Debian, Fedora: the package bubblewrap), and allow it user namespaces"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bubblewrap_is_dropped_after_two_failures_and_reported_once() {
        let [browser, other] = ["/test/browser", "/test/other"].map(Path::new);
        assert!(count_failures(browser, 1) && count_failures(other, MAX_FAILURES));
        assert_eq!(find(other), None);
        assert_eq!(find(browser), in_path("bwrap"), "one failure may pass");
        assert!(!count_failures(browser, 1));
        assert_eq!(find(browser), None);
    }

    #[test]
    fn shared_folders_are_recognised() {
        let home = Some(Path::new("/data/ada"));
        for folder in ["/", "/home", "/home/ada", "/root", "/data", "/data/ada", "/tmp", "/var", "/var/tmp"] {
            assert!(is_shared(Path::new(folder), home), "{folder}");
        }
        for folder in ["/home/ada/chrome", "/root/chrome", "/data/ada/chrome", "/data/chrome", "/srv"] {
            assert!(!is_shared(Path::new(folder), home), "{folder}");
        }
    }

    #[test]
    fn browser_in_a_shared_folder_is_bound_as_a_file() {
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
