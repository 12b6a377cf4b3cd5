//! The place of an output: its kind and its one path, for every name that leads to it.

use crate::{folder, parquet, paths::absolute};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Links that are followed before a path counts as one that leads nowhere.
const MOST_LINKS: usize = 40;

/// Format of records, by the name of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line of JSON each.
    Lines,
    /// The same, compressed: a gzip member a batch.
    Gzip,
    /// The same, compressed: a zstd frame a batch.
    Zstd,
    /// A Parquet table.
    Parquet,
    /// A Markdown file each, in a folder.
    Folder,
}

impl Kind {
    /// `….gz`, `….zst`, `….parquet`, or a folder, which ends in a slash; all others are lines.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
        match () {
            () if name.ends_with('/') => Self::Folder,
            () if name.ends_with(".gz") => Self::Gzip,
            () if name.ends_with(".zst") => Self::Zstd,
            () if name.ends_with(".parquet") => Self::Parquet,
            () => Self::Lines,
        }
    }

    /// The file by whose path the state knows the output.
    #[must_use]
    pub fn marked(self, path: &Path) -> PathBuf {
        match self {
            Self::Folder => path.join(folder::INDEX),
            _ => path.to_owned(),
        }
    }
}

/// An output with links and `..` resolved, so that one file has one name in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Format, by the name that the user gave.
    pub kind: Kind,
    /// Resolved.
    pub path: PathBuf,
}

impl Place {
    /// The place that a name after `-o` or `-O` leads to.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { kind: Kind::of(path), path: resolved(path) }
    }

    /// Makes the place of a file of lines, for any name.
    #[must_use]
    pub fn of_lines(path: &Path) -> Self {
        Self { kind: Kind::Lines, path: resolved(path) }
    }

    /// The file by whose path the state knows the output.
    #[must_use]
    pub fn marked(&self) -> PathBuf {
        self.kind.marked(&self.path)
    }

    /// The file that is appended to while a run is on.
    #[must_use]
    pub fn written(&self) -> PathBuf {
        match self.kind {
            Kind::Parquet => parquet::part_of(&self.path),
            _ => self.marked(),
        }
    }

    /// Name under which the store keeps the output.
    #[must_use]
    pub fn name(&self) -> String {
        self.marked().to_string_lossy().into_owned()
    }
}

/// The absolute path without links and `..`. The file need not exist; pipes and devices keep the name that they have.
fn resolved(path: &Path) -> PathBuf {
    let given = absolute(path);
    match fs::metadata(&given) {
        Ok(found) if found.is_file() || found.is_dir() => return fs::canonicalize(&given).unwrap_or(given),
        Ok(_) => return given,
        Err(_) => {}
    }
    let mut path = given.clone();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or_else(|| Path::new("/")).join(target);
    }
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_file_has_one_name() {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(dir.join("deep")).unwrap();
        symlink(dir.join("deep"), dir.join("short")).unwrap();
        symlink("deep/out.gz", dir.join("link.jsonl")).unwrap();
        for there in [false, true] {
            if there {
                fs::write(dir.join("deep/out.gz"), "").unwrap();
            }
            let place = Place::of(&dir.join("deep/out.gz"));
            assert_eq!(place, Place { kind: Kind::Gzip, path: dir.join("deep/out.gz") });
            assert_eq!(Place::of(&dir.join("deep/../short/out.gz")), place);
            // the given name sets the format
            let link = Place::of(&dir.join("link.jsonl"));
            assert_eq!(link, Place { kind: Kind::Lines, ..place });
        }
        let folder = Place::of(Path::new(&format!("{}/short/pages/", dir.display())));
        assert_eq!(folder.name(), format!("{}/deep/pages/index.jsonl", dir.display()));
        assert_eq!(Place::of(Path::new("/dev/null")).path, Path::new("/dev/null"));
    }
}
