//! Settled length of the archive file that is being written, stored in the state.

use crawl_model::{OutputMark, Store, StoreError};
use crawl_output::absolute;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Name in the store of the file that is being written; empty when it was ended.
const FILE_KEY: &str = "archive";
/// Begin of the name of an output mark of the archive; the path of a file follows.
pub const MARK: &str = "archive:";

/// The bytes of a file that are synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncedFile {
    /// Path of the file, without `.open`.
    pub file: PathBuf,
    /// Its length in bytes.
    pub length: u64,
}

impl SyncedFile {
    /// The mark that is settled with the pages of a batch. A file is noted in the store before its first mark.
    ///
    /// # Errors
    /// When storage fails.
    pub fn mark(&self, store: &dyn Store, noted: &mut String) -> Result<OutputMark, StoreError> {
        let name = absolute(&self.file).to_string_lossy().into_owned();
        if *noted != name {
            store.put(FILE_KEY, &name)?;
            noted.clone_from(&name);
        }
        Ok(OutputMark { name: format!("{MARK}{name}"), offset: self.length })
    }
}

/// Forgets the file that was being written: it is ended, and the user may do with it as they like.
///
/// # Errors
/// When storage fails.
pub fn forget(store: &dyn Store) -> Result<(), StoreError> {
    match store.get(FILE_KEY)? {
        Some(noted) if !noted.is_empty() => store.put(FILE_KEY, ""),
        _ => Ok(()),
    }
}

/// The loss of settled bytes from the file that a killed run was writing in a folder, in words; an empty path is no folder.
///
/// # Errors
/// When storage fails.
pub fn loss(store: &dyn Store, folder: &Path) -> Result<Option<String>, StoreError> {
    if folder.as_os_str().is_empty() {
        return Ok(None);
    }
    let noted = store.get(FILE_KEY)?.filter(|noted| !noted.is_empty()).map(PathBuf::from);
    let Some(file) = noted.filter(|file| file.starts_with(absolute(folder))) else { return Ok(None) };
    let settled = store.output_mark(&format!("{MARK}{}", file.display()))?.unwrap_or(0);
    let open = file.with_added_extension("open");
    let length = [&open, &file].into_iter().find_map(|path| Some(fs::metadata(path).ok()?.len()));
    let missing = settled.saturating_sub(length.unwrap_or(0));
    Ok((missing > 0).then(|| format!("{}: {missing} bytes that were written are missing", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::Frontier;
    use crawl_store::SqliteStore;

    #[test]
    fn lost_archive_bytes_are_reported_until_the_file_ends() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("warc");
        fs::create_dir(&folder).unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        let (file, open) = (folder.join("a.warc.gz"), folder.join("a.warc.gz.open"));
        let mut noted = String::new();
        assert_eq!(loss(&store, &folder).unwrap(), None, "nothing was archived");
        for length in [40, 60] {
            let mark = SyncedFile { file: file.clone(), length }.mark(&store, &mut noted).unwrap();
            store.settle(&[], &[mark]).unwrap();
        }
        fs::write(&open, [0; 70]).unwrap();
        assert_eq!(loss(&store, &folder).unwrap(), None, "bytes that were not settled stand behind the mark");
        assert_eq!(loss(&store, &dir.path().join("other")).unwrap(), None, "the run has another archive");
        fs::write(&open, [0; 50]).unwrap();
        let words = loss(&store, &folder).unwrap().unwrap();
        assert!(words.contains("a.warc.gz: 10 bytes") && !words.contains(".open"), "{words}");
        fs::remove_file(&open).unwrap();
        assert!(loss(&store, &folder).unwrap().unwrap().contains("60 bytes"));
        fs::write(&file, [0; 60]).unwrap();
        assert_eq!(loss(&store, &folder).unwrap(), None, "it was ended by the next run");
        fs::remove_file(&file).unwrap();
        forget(&store).unwrap();
        assert_eq!(loss(&store, &folder).unwrap(), None, "an ended file is the user's");
    }

    #[test]
    fn file_without_a_settlement_has_no_earlier_mark() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        let mut noted = String::new();
        let first =
            SyncedFile { file: dir.path().join("1.warc.gz"), length: 60 }.mark(&store, &mut noted).unwrap();
        store.settle(&[], &[first]).unwrap();
        // killed between the note and the settlement
        SyncedFile { file: dir.path().join("2.warc.gz"), length: 10 }.mark(&store, &mut noted).unwrap();
        assert_eq!(loss(&store, dir.path()).unwrap(), None);
    }
}
