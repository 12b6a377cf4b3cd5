//! Small files that are replaced atomically.

use crawl_store::private;
use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Replaces a file as a whole: a reader sees the old one or the new one, and a full disk leaves the old one.
/// It keeps its permissions; a new one has the default ones of the process. A pipe, a device or anything else
/// but a file is written in place.
///
/// # Errors
/// When it cannot be written; nothing is left beside it then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // a symbolic link stays, and its target is replaced
    let Ok(path) = fs::canonicalize(path) else {
        return if path.is_symlink() { fs::write(path, bytes) } else { replace_file(path, bytes, None) };
    };
    match fs::metadata(&path) {
        Ok(found) if found.is_file() => replace_file(&path, bytes, Some(found.permissions())),
        _ => fs::write(&path, bytes),
    }
}

/// Replaces a file of a state directory as a whole. No other user can read it.
///
/// # Errors
/// When it cannot be written; nothing is left beside it then.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    remove_leftovers(&path);
    let new = beside(&path);
    let written = private::write(&new, bytes).and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn replace_file(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    remove_leftovers(path);
    write_by(&beside(path), path, bytes, permissions)
}

/// Writes a file under the name `new` and gives it its own when it is whole; `new` is of the same file system.
///
/// # Errors
/// When that cannot be done; `new` is not left then.
pub(super) fn write_by(
    new: &Path,
    path: &Path,
    bytes: &[u8],
    permissions: Option<fs::Permissions>,
) -> io::Result<()> {
    let written = fs::write(new, bytes)
        .and_then(|()| permissions.map_or(Ok(()), |given| fs::set_permissions(new, given)))
        .and_then(|()| fs::rename(new, path));
    if written.is_err() {
        let _ = fs::remove_file(new);
    }
    written
}

/// Syncs the folder that a path is in: a name that was made or changed is on disk then.
///
/// # Errors
/// When that cannot be done.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    match fs::File::open(folder)?.sync_all() {
        // some file systems have nothing to sync there
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

/// A file that is written in pieces and replaces another as a whole. One that is dropped before
/// [`Replacement::finish`] leaves the other as it is. Pipes and devices are written to as they stand.
pub struct Replacement {
    out: BufWriter<fs::File>,
    /// The name that it is written under, and its own.
    names: Option<(PathBuf, PathBuf)>,
}

impl Replacement {
    /// Begins to replace the file at a path, which need not exist.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        // a symbolic link stays, and its target is replaced
        let resolved = fs::canonicalize(path);
        let found = resolved.as_ref().ok().and_then(|path| fs::metadata(path).ok());
        let (file, names) = match (resolved, &found) {
            (Ok(_), Some(found)) if !found.is_file() => (fs::File::create(path)?, None),
            (Err(_), _) if path.is_symlink() => (fs::File::create(path)?, None),
            (resolved, _) => {
                let own = resolved.unwrap_or_else(|_| path.to_owned());
                remove_leftovers(&own);
                let new = beside(&own);
                (fs::File::create(&new)?, Some((new, own)))
            }
        };
        let made = Self { out: BufWriter::with_capacity(1 << 18, file), names };
        if let (Some(found), Some((new, _))) = (found, &made.names) {
            fs::set_permissions(new, found.permissions())?;
        }
        Ok(made)
    }

    /// Puts the new file in the place of the old one.
    ///
    /// # Errors
    /// When that cannot be done; the old file stays then.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some((new, own)) = &self.names {
            self.out.get_ref().sync_all()?;
            fs::rename(new, own)?;
            let synced = sync_folder(own);
            self.names = None;
            return synced;
        }
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((new, _)) = &self.names {
            let _ = fs::remove_file(new);
        }
    }
}

/// Removes what processes that were killed have left of replacing this file.
fn remove_leftovers(path: &Path) {
    let start = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(&start)?.parse::<u32>().ok());
        // without /proc other processes are unknown
        if owner.is_some_and(|pid| {
            Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists()
        }) {
            // another process may have removed it
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Name of a temporary file, different for each process. It is in the same folder, since only there a rename is
/// atomic.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn replace_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.json");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["report.json"]);
    }

    #[test]
    fn temporary_files_of_killed_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.json");
        // no process has this number, one has the next, and the others are not ours
        let others = [".report.json.1", ".report.json.old", ".other.json.999999999", "report.json.999999999"];
        for name in others.iter().chain(&[".report.json.999999999"]) {
            fs::write(dir.path().join(name), "left").unwrap();
        }
        replace(&path, b"new").unwrap();
        let mut left = [others.as_slice(), &["report.json"]].concat();
        left.sort_unstable();
        assert_eq!(names(dir.path()), left);
    }

    #[cfg(unix)]
    #[test]
    fn replace_keeps_symlinks_and_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (link, path) = (dir.path().join("link"), dir.path().join("there"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(link.is_symlink());
        fs::remove_file(&path).unwrap();
        replace(&link, b"again").unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&path).unwrap() == "again");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        replace(&path, b"secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        replace(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!Path::new("/dev/null").is_file());
    }

    #[cfg(unix)]
    #[test]
    fn private_replacement_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.json");
        for text in ["one", "two"] {
            replace_private(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        assert_eq!(names(dir.path()), ["report.json"]);
    }

    #[test]
    fn failed_replacement_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        replace(&folder, b"text").unwrap_err();
        replace(&dir.path().join("no/such"), b"text").unwrap_err();
        assert_eq!(names(dir.path()), ["folder"]);
    }

    #[test]
    fn unfinished_replacement_keeps_the_old_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (link, path) = (dir.path().join("link"), dir.path().join("out.jsonl"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut half = Replacement::create(&link).unwrap();
        half.write_all(&[b'x'; 1 << 19]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(half);
        assert_eq!(names(dir.path()), ["link", "out.jsonl"]);
        let mut whole = Replacement::create(&link).unwrap();
        whole.write_all(b"new").unwrap();
        whole.finish().unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&path).unwrap() == "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        Replacement::create(Path::new("/dev/null")).unwrap().finish().unwrap();
        assert!(!Path::new("/dev/null").is_file());
        assert_eq!(names(dir.path()), ["link", "out.jsonl"]);
    }
}
