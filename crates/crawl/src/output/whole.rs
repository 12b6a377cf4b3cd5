//! Small files that are replaced as a whole.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Replaces a file as a whole: who reads it sees the old one or the new one, and a disk that is full leaves the old one. It keeps
/// its permissions; a new one has those that the process gives to any file. What is no file (a pipe, a device) is
/// written to as it stands.
///
/// # Errors
/// When it cannot be written; nothing is left beside it then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // a link stays one: what it leads to is replaced
    let Ok(path) = fs::canonicalize(path) else {
        return if path.is_symlink() { fs::write(path, bytes) } else { replace_file(path, bytes, None) };
    };
    match fs::metadata(&path) {
        Ok(found) if found.is_file() => replace_file(&path, bytes, Some(found.permissions())),
        _ => fs::write(&path, bytes),
    }
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

/// Removes what processes that were killed have left of replacing this file.
fn remove_leftovers(path: &Path) {
    let start = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(&start)?.parse::<u32>().ok());
        // without /proc nothing is known of other processes
        if owner.is_some_and(|pid| {
            Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists()
        }) {
            // another process may have removed it
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A name in the same folder, since only there a rename is one step, and another for each process.
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
    fn replaced_and_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report.json");
        for text in ["one", "two"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["report.json"]);
    }

    #[test]
    fn what_killed_processes_have_left_is_removed_and_nothing_else() {
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
    fn a_link_stays_a_link_and_permissions_stay() {
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

    #[test]
    fn what_cannot_be_replaced_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        replace(&folder, b"text").unwrap_err();
        replace(&dir.path().join("no/such"), b"text").unwrap_err();
        assert_eq!(names(dir.path()), ["folder"]);
    }
}
