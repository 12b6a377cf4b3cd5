//! Files and directories that no other user can read, under any umask.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    path::Path,
};

#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
#[cfg(unix)]
const DIRECTORY_MODE: u32 = 0o700;

/// Prefixes of the names in a state directory.
const STATE_NAMES: [&str; 5] = ["crawl.sqlite", "lock", "errors.jsonl", "report.", ".report."];

/// Options that create files for their owner alone. An existing file keeps its permissions.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Creates an empty file, if it is missing.
///
/// # Errors
/// When the file is missing and cannot be created.
pub fn create(path: &Path) -> io::Result<()> {
    match options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Writes a whole file.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = options().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)
}

/// Creates a directory and its missing parents. An existing directory keeps its permissions.
///
/// # Errors
/// When one of them cannot be created.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIRECTORY_MODE);
    builder.create(path)
}

/// Removes the rights of other users on a file or directory. A group with write permission keeps its rights,
/// since the file is shared on purpose. Links are left alone. If the change fails, a warning names the file.
pub fn tighten(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let Ok(found) = path.symlink_metadata() else { return };
        let mode = found.permissions().mode() & 0o7777;
        let kept = if mode & 0o020 == 0 { mode & !0o077 } else { mode & !0o007 };
        if found.is_symlink() || kept == mode {
            return;
        }
        if let Err(error) = fs::set_permissions(path, fs::Permissions::from_mode(kept)) {
            tracing::warn!(
                "{}: other users can read it, and its permissions cannot be changed: {error}",
                path.display()
            );
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Removes the rights of other users on the files of a state directory, and on the directory if it holds no
/// other files.
///
/// A directory with the sticky bit, such as `/tmp`, is shared on purpose and stays as it is.
pub(crate) fn tighten_state(dir: &Path) {
    let mut is_ours_alone = !is_sticky(dir);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if STATE_NAMES.iter().any(|start| name.starts_with(start)) {
            tighten(&entry.path());
        } else {
            is_ours_alone = false;
        }
    }
    if is_ours_alone {
        tighten(dir);
    }
}

#[cfg(unix)]
fn is_sticky(dir: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    dir.metadata().is_ok_and(|found| found.permissions().mode() & 0o1000 != 0)
}

#[cfg(not(unix))]
const fn is_sticky(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[allow(clippy::unwrap_used, reason = "a helper of tests fails the test that uses it")]
    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[allow(clippy::unwrap_used, reason = "a helper of tests fails the test that uses it")]
    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn new_files_and_directories_are_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        create_dir_all(&deep).unwrap();
        create(&deep.join("made")).unwrap();
        write(&deep.join("written"), b"text").unwrap();
        assert_eq!(fs::read(deep.join("written")).unwrap(), b"text");
        assert_eq!([&dir.path().join("a"), &deep].map(|path| mode(path)), [0o700; 2]);
        assert_eq!(["made", "written"].map(|name| mode(&deep.join(name))), [0o600; 2]);
        create(&deep.join("written")).unwrap();
        assert_eq!(fs::read(deep.join("written")).unwrap(), b"text", "it stays as it is");
    }

    #[test]
    fn older_state_is_restricted_and_foreign_files_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        for (name, before) in [
            ("crawl.sqlite", 0o644),
            ("crawl.sqlite-wal", 0o664),
            ("report.html", 0o640),
            ("mine.txt", 0o644),
        ] {
            fs::write(state.join(name), "").unwrap();
            set(&state.join(name), before);
        }
        let outside = dir.path().join("outside");
        fs::write(&outside, "").unwrap();
        set(&outside, 0o644);
        std::os::unix::fs::symlink(&outside, state.join("lock")).unwrap();
        set(&state, 0o755);
        tighten_state(&state);
        let modes = ["crawl.sqlite", "crawl.sqlite-wal", "report.html", "mine.txt"];
        assert_eq!(modes.map(|name| mode(&state.join(name))), [0o600, 0o660, 0o600, 0o644]);
        assert_eq!((mode(&state), mode(&outside)), (0o755, 0o644), "they are not ours alone");
        fs::remove_file(state.join("mine.txt")).unwrap();
        tighten_state(&state);
        assert_eq!(mode(&state), 0o700);
    }
    #[test]
    fn a_shared_directory_stays_shared() {
        let dir = tempfile::tempdir().unwrap();
        set(dir.path(), 0o1777);
        tighten_state(dir.path());
        assert_eq!(dir.path().metadata().unwrap().permissions().mode() & 0o7777, 0o1777);
    }
}
