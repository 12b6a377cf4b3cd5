//! Files of an archive: one is written at a time, and closed at its size limit.
//!
//! While a file is written its name ends in `.open`, and this process holds a lock on it. The next process
//! recovers such a file of a killed process. It keeps every whole member, cuts off a torn end, moves damaged
//! bytes aside and removes the suffix `.open`. So no file `*.warc.gz` has a torn record.

use super::{
    WarcReader,
    salvage::{Survey, copy_parts},
};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    ops::Range,
    path::{Path, PathBuf},
};

/// Suffix of a file that is being written.
const OPEN: &str = ".open";
/// Suffix of a file with the damaged bytes of another.
const DAMAGED: &str = ".damaged";
/// Suffix of a copy with the readable members of a damaged file.
const PART: &str = ".part";
/// Maximum bytes of a record examined after damage.
const LONGEST: usize = 1 << 28;

/// File of an earlier process that was not closed, and its recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Its new name. The file does not exist if none of its members is readable.
    pub path: PathBuf,
    /// Bytes of an unfinished member cut off at its end, as a killed process leaves it.
    pub torn: u64,
    /// Damaged bytes, moved to [`Leftover::aside`].
    pub damaged: u64,
    /// Number of damaged ranges.
    pub places: usize,
    /// File with the damaged bytes.
    pub aside: Option<PathBuf>,
    /// URLs of requests whose answers were in the damaged bytes.
    pub lost: Vec<String>,
}

/// The files of one run.
pub struct WarcFiles {
    folder: PathBuf,
    prefix: String,
    most: u64,
    serial: u32,
    current: Option<Current>,
    /// Full files that are not closed yet.
    full: Vec<Current>,
    /// True if the folder has names that are not synced.
    has_new_names: bool,
    leftovers: Vec<Leftover>,
}

struct Current {
    file: File,
    path: PathBuf,
    length: u64,
}

/// Written parts of the files that are not durable yet, see [`WarcFiles::unsynced`].
#[must_use]
pub struct Unsynced {
    folder: Option<PathBuf>,
    full: Vec<Current>,
    current: Option<Current>,
}

impl Unsynced {
    /// Closes full files and syncs the current one. Returns its length and the path that it will have when closed.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn sync(self) -> io::Result<Option<(PathBuf, u64)>> {
        for full in &self.full {
            full.file.sync_all()?;
            close(&full.path)?;
        }
        if let Some(current) = &self.current {
            current.file.sync_data()?;
        }
        self.folder.as_deref().map_or(Ok(()), sync_folder)?;
        Ok(self.current.map(|current| (closed_name(&current.path), current.length)))
    }
}

impl WarcFiles {
    /// Opens a folder for files `PREFIX-00000.warc.gz` and on, each of at most `most` bytes; a larger record
    /// gets its own file. Creates the folder, and closes files of earlier processes in it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(folder: &Path, prefix: &str, most: u64) -> io::Result<Self> {
        match private_folder().create(folder) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        let leftovers = end_leftovers(folder)?;
        let (folder, prefix) = (folder.to_owned(), prefix.to_owned());
        Ok(Self {
            folder,
            prefix,
            most,
            serial: 0,
            current: None,
            full: Vec::new(),
            has_new_names: false,
            leftovers,
        })
    }

    /// Files of earlier processes that were closed when the folder was opened.
    #[must_use]
    pub fn leftovers(&self) -> &[Leftover] {
        &self.leftovers
    }

    /// Returns true if the next `bytes` go into a new file.
    #[must_use]
    pub fn begins(&self, bytes: usize) -> bool {
        self.current.as_ref().is_none_or(|current| current.length + bytes as u64 > self.most)
    }

    /// Begins another file; returns its name. The first record of a file is its `warcinfo`. The earlier file is closed
    /// by the next [`Unsynced::sync`].
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn begin(&mut self) -> io::Result<String> {
        self.full.extend(self.current.take());
        loop {
            let name = format!("{}-{:05}.warc.gz", self.prefix, self.serial);
            let path = self.folder.join(format!("{name}{OPEN}"));
            self.serial += 1;
            if self.folder.join(&name).exists() {
                continue;
            }
            let file = match private_file().append(true).create_new(true).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            // before the lock is taken, another process may treat the file as left over by a killed process and remove it
            match file.try_lock() {
                Ok(()) if is_named(&file, &path)? => {}
                Ok(()) | Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(e)) => return Err(e),
            }
            self.has_new_names = true;
            self.current = Some(Current { file, path, length: 0 });
            return Ok(name);
        }
    }

    /// Appends whole members.
    ///
    /// # Errors
    /// When they cannot be written; then none of them is, and the file has not changed.
    pub fn append(&mut self, members: &[u8]) -> io::Result<()> {
        let current = self.current.as_mut().ok_or_else(|| io::Error::other("no file was begun"))?;
        if let Err(e) = current.file.write_all(members) {
            // the next run or reader removes bytes that stay here
            let _ = current.file.set_len(current.length);
            return Err(e);
        }
        current.length += members.len() as u64;
        Ok(())
    }

    /// Takes everything that was appended so far, to sync it while others append.
    ///
    /// # Errors
    /// When the current file has no second handle.
    pub fn unsynced(&mut self) -> io::Result<Unsynced> {
        let current = match &self.current {
            None => None,
            Some(Current { file, path, length }) => {
                Some(Current { file: file.try_clone()?, path: path.clone(), length: *length })
            }
        };
        let is_changed = std::mem::take(&mut self.has_new_names) || !self.full.is_empty();
        let folder = is_changed.then(|| self.folder.clone());
        Ok(Unsynced { folder, full: std::mem::take(&mut self.full), current })
    }

    /// Takes everything that was appended, to close all files.
    pub fn end(&mut self) -> Unsynced {
        self.full.extend(self.current.take());
        self.has_new_names = false;
        let folder = (!self.full.is_empty()).then(|| self.folder.clone());
        Unsynced { folder, full: std::mem::take(&mut self.full), current: None }
    }
}

/// Options that create files for their owner alone, under any umask, since pages may be confidential.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates folders with mode 0700.
fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Gives a file its name.
fn close(path: &Path) -> io::Result<()> {
    fs::rename(path, closed_name(path))
}

fn closed_name(path: &Path) -> PathBuf {
    let name = path.as_os_str().to_string_lossy();
    PathBuf::from(name.strip_suffix(OPEN).unwrap_or(&name))
}

/// Makes names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns true if a path still names an open file, which another process may have renamed or removed.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let found = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    let own = file.metadata()?;
    Ok((own.dev(), own.ino()) == (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn is_named(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

/// Closes the files that no process writes.
fn end_leftovers(folder: &Path) -> io::Result<Vec<Leftover>> {
    let mut leftovers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.as_os_str().to_string_lossy().ends_with(&format!(".warc.gz{OPEN}")) {
            continue;
        }
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            // its process has closed it since
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        match file.try_lock() {
            Ok(()) if is_named(&file, &path)? => {}
            Ok(()) | Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(e)) => return Err(e),
        }
        leftovers.push(end_leftover(&path, &file)?);
    }
    Ok(leftovers)
}

/// Closes a file of a killed process: whole members stay, a torn end is cut off, and damaged bytes are moved
/// aside.
fn end_leftover(path: &Path, file: &File) -> io::Result<Leftover> {
    let survey = Survey::of(file)?;
    let mut leftover = Leftover { path: closed_name(path), torn: survey.torn, ..Leftover::default() };
    if !survey.damaged.is_empty() {
        salvage(path, file, &survey, &mut leftover)?;
        return Ok(leftover);
    }
    let whole = survey.whole.last().map_or(0, |last| last.end);
    file.set_len(whole)?;
    file.sync_all()?;
    if whole == 0 {
        fs::remove_file(path)?;
    } else {
        close(path)?;
    }
    Ok(leftover)
}

/// Writes the readable members and the damaged bytes of a file into separate files, and removes it. The
/// removal comes last, so after a kill the next process starts over.
fn salvage(path: &Path, file: &File, survey: &Survey, leftover: &mut Leftover) -> io::Result<()> {
    let written = |name: &Path, parts: &[Range<u64>]| {
        let mut to = private_file().write(true).create(true).truncate(true).open(name)?;
        let bytes = copy_parts(file, parts, &mut to)?;
        to.sync_all().map(|()| bytes)
    };
    let named = |ending: &str| {
        let mut name = leftover.path.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    let (aside, part) = (named(DAMAGED), named(PART));
    leftover.damaged = written(&aside, &survey.damaged)?;
    leftover.places = survey.damaged.len();
    if !survey.whole.is_empty() {
        written(&part, &survey.whole)?;
        leftover.lost = lost_answers(&part)?;
        fs::rename(&part, &leftover.path)?;
    }
    leftover.aside = Some(aside);
    sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    fs::remove_file(path)
}

/// URLs of the requests in a file without an answer: both are appended in one step.
fn lost_answers(path: &Path) -> io::Result<Vec<String>> {
    let (mut answers, mut requests) = (BTreeSet::new(), Vec::new());
    for record in WarcReader::new(File::open(path)?, LONGEST)?.flatten() {
        if record.record_type() == "request" {
            requests.push((record.header("WARC-Concurrent-To").to_owned(), record.target_uri()));
        } else {
            answers.insert(record.header("WARC-Record-ID").to_owned());
        }
    }
    Ok(requests.into_iter().filter(|(answer, _)| !answers.contains(answer)).map(|(_, url)| url).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewRecord, WarcReader};
    use uuid::Uuid;

    fn member(payload: &[u8]) -> Vec<u8> {
        NewRecord { kind: "resource", id: Uuid::new_v4(), payload, ..NewRecord::default() }.member().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn payloads(path: &Path) -> Vec<Vec<u8>> {
        WarcReader::new(File::open(path).unwrap(), 1 << 20)
            .unwrap()
            .map(|record| record.unwrap().block)
            .collect()
    }

    #[cfg(unix)]
    #[test]
    fn archive_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("warc");
        let mut files = WarcFiles::open(&folder, "a", 1 << 20).unwrap();
        files.begin().unwrap();
        files.append(&member(b"one")).unwrap();
        files.end().sync().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("a-00000.warc.gz"))), (0o700, 0o600));
    }

    #[test]
    fn files_rotate_at_their_size_limit() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("warc");
        let one = member(b"one");
        let mut files = WarcFiles::open(&folder, "run", one.len() as u64 * 2).unwrap();
        for _ in 0..5 {
            if files.begins(one.len()) {
                files.begin().unwrap();
            }
            files.append(&one).unwrap();
        }
        assert!(names(&folder).iter().all(|name| name.ends_with(OPEN)), "appending syncs nothing");
        let synced = files.unsynced().unwrap().sync().unwrap();
        assert_eq!(synced, Some((folder.join("run-00002.warc.gz"), one.len() as u64)));
        assert_eq!(names(&folder), ["run-00000.warc.gz", "run-00001.warc.gz", "run-00002.warc.gz.open"]);
        files.end().sync().unwrap();
        assert_eq!(names(&folder)[2], "run-00002.warc.gz");
        assert_eq!(payloads(&folder.join("run-00001.warc.gz")), [b"one", b"one"]);
    }

    #[test]
    fn torn_member_at_the_end_is_truncated() {
        let (first, second) = (member(b"first"), member(&b"second ".repeat(50)));
        let both = [first.as_slice(), &second].concat();
        for cut in 0..=both.len() {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join("a-00000.warc.gz.open"), &both[..cut]).unwrap();
            WarcFiles::open(directory.path(), "b", 1000).unwrap();
            let whole = usize::from(cut >= first.len()) + usize::from(cut == both.len());
            if whole == 0 {
                assert_eq!(names(directory.path()), [""; 0], "{cut}");
            } else {
                assert_eq!(names(directory.path()), ["a-00000.warc.gz"], "{cut}");
                assert_eq!(payloads(&directory.path().join("a-00000.warc.gz")).len(), whole, "{cut}");
            }
        }
    }

    fn damaged_file(members: &[Vec<u8>], damage: impl Fn(&mut Vec<u8>)) -> (tempfile::TempDir, Leftover) {
        let directory = tempfile::tempdir().unwrap();
        let mut bytes = members.concat();
        damage(&mut bytes);
        fs::write(directory.path().join("a-00000.warc.gz.open"), &bytes).unwrap();
        let files = WarcFiles::open(directory.path(), "b", 1000).unwrap();
        let [leftover] = files.leftovers() else { panic!("{:?}", files.leftovers()) };
        (directory, leftover.clone())
    }

    /// Flips every byte of the second of three members in turn: the other two are always kept.
    #[test]
    fn damaged_member_leaves_the_other_members() {
        let members = [member(b"first"), member(&b"second ".repeat(20)), member(b"third")];
        let (start, end) = (members[0].len(), members[0].len() + members[1].len());
        for at in start..end {
            let (directory, leftover) = damaged_file(&members, |bytes| bytes[at] ^= 0x55);
            let kept = payloads(&directory.path().join("a-00000.warc.gz"));
            if kept.len() == 3 {
                // time, system and level in a member's header have no effect
                assert!((4..10).contains(&(at - start)), "{at}");
                continue;
            }
            assert_eq!(kept, [b"first".as_slice(), b"third"], "{at}");
            assert_eq!((leftover.damaged, leftover.places, leftover.torn), ((end - start) as u64, 1, 0));
            assert_eq!(names(directory.path()), ["a-00000.warc.gz", "a-00000.warc.gz.damaged"]);
            assert_eq!(fs::metadata(leftover.aside.unwrap()).unwrap().len(), leftover.damaged);
        }
    }

    #[test]
    fn damaged_file_keeps_whole_members_and_reports_lost_responses() {
        let [id, other] = [Uuid::new_v4(), Uuid::new_v4()];
        let answer = |id| {
            let record = NewRecord { kind: "response", id, payload: b"answer", ..NewRecord::default() };
            record.member().unwrap()
        };
        let request = |url, id| {
            let to = crate::record_id(id);
            let fields: &[(&str, &str)] = &[("WARC-Concurrent-To", &to)];
            let record = NewRecord { kind: "request", target_uri: url, fields, ..NewRecord::default() };
            record.member().unwrap()
        };
        let members = [answer(id), request("http://a/1", id), answer(other), request("http://a/2", other)];
        let middle = members[0].len() / 2;
        let (directory, leftover) = damaged_file(&members, |bytes| {
            bytes[middle] ^= 0xff;
            bytes.truncate(bytes.len() - 3);
        });
        assert_eq!(leftover.lost, ["http://a/1"]);
        assert_eq!((leftover.damaged, leftover.torn), (members[0].len() as u64, members[3].len() as u64 - 3));
        assert_eq!(payloads(&directory.path().join("a-00000.warc.gz")).len(), 2);
        // nothing is readable: the bytes are kept, an empty archive is not
        let (directory, leftover) = damaged_file(&members[..1], |bytes| bytes[middle] ^= 0xff);
        assert_eq!((names(directory.path()).len(), leftover.places), (1, 1));
        assert_eq!(names(directory.path()), ["a-00000.warc.gz.damaged"]);
    }

    /// Workers share a folder: some begin and close files while others look for those of killed processes.
    #[test]
    fn workers_open_a_folder_while_others_write() {
        const FILES: usize = 300;
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        let one = member(b"one");
        let write = |name: &str| {
            for number in 0..FILES {
                let mut files = WarcFiles::open(folder, &format!("{name}{number}"), 1 << 20).unwrap();
                files.begin().unwrap();
                files.append(&one).unwrap();
                files.end().sync().unwrap();
            }
        };
        std::thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                scope.spawn(move || write(name));
            }
        });
        let names = names(folder);
        assert_eq!(names.len(), 3 * FILES);
        assert!(names.iter().all(|name| payloads(&folder.join(name)) == [b"one"]));
    }

    #[test]
    fn open_files_of_another_process_stay_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let mut other = WarcFiles::open(directory.path(), "other", 1000).unwrap();
        other.begin().unwrap();
        other.append(&member(b"x")).unwrap();
        WarcFiles::open(directory.path(), "mine", 1000).unwrap();
        assert_eq!(names(directory.path()), ["other-00000.warc.gz.open"]);
        other.end().sync().unwrap();
        assert_eq!(names(directory.path()), ["other-00000.warc.gz"]);
    }
}
