//! The files of an archive: one is written at a time, and ended when it is large enough.
//!
//! While a file is written its name ends in `.open`, and this process holds a lock on it. What a process that was killed has left so is
//! cut behind its last whole member and given its name by the next one, so no reader ever meets a torn record.

use flate2::bufread::GzDecoder;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// What ends the name of a file that is being written.
const OPEN: &str = ".open";

/// The files of one run.
pub struct WarcFiles {
    folder: PathBuf,
    prefix: String,
    most: u64,
    serial: u32,
    current: Option<Current>,
}

struct Current {
    file: File,
    path: PathBuf,
    length: u64,
}

impl WarcFiles {
    /// Files `PREFIX-00000.warc.gz` and on, each of `most` bytes or a little less; a record that is larger has one of its own.
    /// The folder is made; what an earlier process has left in it is ended.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(folder: &Path, prefix: &str, most: u64) -> io::Result<Self> {
        match fs::create_dir(folder) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
            _ => {}
        }
        end_leftovers(folder)?;
        let (folder, prefix) = (folder.to_owned(), prefix.to_owned());
        Ok(Self { folder, prefix, most, serial: 0, current: None })
    }

    /// Whether `bytes` more go into another file than the last ones, or into the first.
    #[must_use]
    pub fn begins(&self, bytes: usize) -> bool {
        self.current.as_ref().is_none_or(|current| current.length + bytes as u64 > self.most)
    }

    /// Ends the present file and begins another; returns its name. The first record of a file is its `warcinfo`.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn begin(&mut self) -> io::Result<String> {
        self.end()?;
        loop {
            let name = format!("{}-{:05}.warc.gz", self.prefix, self.serial);
            let path = self.folder.join(format!("{name}{OPEN}"));
            self.serial += 1;
            if self.folder.join(&name).exists() {
                continue;
            }
            let file = match OpenOptions::new().append(true).create_new(true).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            file.try_lock()?;
            self.current = Some(Current { file, path, length: 0 });
            return Ok(name);
        }
    }

    /// Appends whole members.
    ///
    /// # Errors
    /// When they cannot be written; then none of them is, and the file is as it was.
    pub fn append(&mut self, members: &[u8]) -> io::Result<()> {
        let current = self.current.as_mut().ok_or_else(|| io::Error::other("no file was begun"))?;
        if let Err(e) = current.file.write_all(members) {
            // what cannot be taken back is by the next run, or by whoever reads it
            let _ = current.file.set_len(current.length);
            return Err(e);
        }
        current.length += members.len() as u64;
        Ok(())
    }

    /// Makes what was appended durable.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn sync(&mut self) -> io::Result<()> {
        self.current.as_ref().map_or(Ok(()), |current| current.file.sync_data())
    }

    /// Ends the present file.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn end(&mut self) -> io::Result<()> {
        let Some(current) = self.current.take() else { return Ok(()) };
        current.file.sync_all()?;
        close(&current.path)
    }
}

/// Gives a file its name.
fn close(path: &Path) -> io::Result<()> {
    let name = path.as_os_str().to_string_lossy();
    fs::rename(path, name.strip_suffix(OPEN).unwrap_or(&name))
}

/// Ends the files that nobody writes any more.
fn end_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.as_os_str().to_string_lossy().ends_with(&format!(".warc.gz{OPEN}")) {
            continue;
        }
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(e)) => return Err(e),
        }
        let whole = whole_members(&file)?;
        file.set_len(whole)?;
        file.sync_all()?;
        if whole == 0 { fs::remove_file(&path)? } else { close(&path)? }
    }
    Ok(())
}

/// Bytes up to the end of the last member that is whole.
fn whole_members(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut raw = BufReader::with_capacity(1 << 18, file);
    raw.seek(SeekFrom::Start(0))?;
    let mut whole = 0;
    while whole < length {
        let mut member = GzDecoder::new(&mut raw);
        match io::copy(&mut member, &mut io::sink()) {
            Ok(_) => {}
            // of what is written here nothing is damaged but the end
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
                ) =>
            {
                return Ok(whole);
            }
            Err(e) => return Err(e),
        }
        whole = raw.stream_position()?;
    }
    Ok(whole)
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

    #[test]
    fn files_are_ended_when_they_are_large_enough() {
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
        assert_eq!(names(&folder), ["run-00000.warc.gz", "run-00001.warc.gz", "run-00002.warc.gz.open"]);
        files.end().unwrap();
        assert_eq!(names(&folder)[2], "run-00002.warc.gz");
        assert_eq!(payloads(&folder.join("run-00001.warc.gz")), [b"one", b"one"]);
    }

    #[test]
    fn a_torn_end_is_cut_off_wherever_it_was_torn() {
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

    #[test]
    fn files_of_another_process_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut other = WarcFiles::open(directory.path(), "other", 1000).unwrap();
        other.begin().unwrap();
        other.append(&member(b"x")).unwrap();
        WarcFiles::open(directory.path(), "mine", 1000).unwrap();
        assert_eq!(names(directory.path()), ["other-00000.warc.gz.open"]);
        other.end().unwrap();
        assert_eq!(names(directory.path()), ["other-00000.warc.gz"]);
    }
}
