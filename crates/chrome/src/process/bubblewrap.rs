//! A view of the file system for the browser, by bubblewrap: programs, libraries and settings of the system to read, its profile to
//! write, and nothing of the user.

use super::command::{environment, in_path};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
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
/// Longest time that the browser may take to say its version, in seconds.
const PROBE: &str = "20";

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

/// The path of `bwrap` if the browser at `path` runs by it. Says once if it does not.
pub(super) fn usable(path: &Path, profile: &Path) -> Option<PathBuf> {
    static USABLE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let look = || {
        let bwrap = in_path("bwrap").ok_or_else(|| "bwrap is missing".to_owned());
        let bwrap = bwrap.and_then(|bwrap| probe(&bwrap, path, profile).map(|()| bwrap));
        let said = bwrap.inspect_err(|reason| {
            tracing::info!("the browser can read the files of its user: bubblewrap is not used: {reason}");
        });
        said.ok()
    };
    USABLE.get_or_init(look).clone()
}

/// Has the browser say its version.
fn probe(bwrap: &Path, path: &Path, profile: &Path) -> Result<(), String> {
    let mut command = Command::new(bwrap);
    command.args(arguments(path, profile)).args(["timeout", PROBE]).arg(path).arg("--version");
    command.env_clear().envs(environment());
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("it failed").to_owned())
}
