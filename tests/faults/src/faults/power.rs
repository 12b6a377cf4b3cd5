//! Losses of power: the folder of a case in a state that a stop at an operation of a recorded run could
//! leave.
//!
//! The assumed behaviour is that of ext4 with `data=ordered`. A sync makes the bytes of its file durable, and
//! all earlier changes of names. A rename over an existing file makes the bytes of the new one durable.

use super::{Case, names};
use crate::{
    random::Random,
    scenario::Scenario,
    shim::{self, Op},
    world::With,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let mut scenario = Scenario::crawl(&mut case.random);
    // a table and a folder have the most failure modes
    if case.random.percent(25) {
        scenario.format =
            *case.random.pick(&[crate::scenario::Format::Parquet, crate::scenario::Format::Folder]);
    }
    case.tell(scenario.to_string());
    let world = case.world(scenario)?;
    let mut disk = Disk::of(&world.case())?;
    disk.keep_in(&world.own("kept"))?;
    let ended = world.run(&With { record: true, ..With::default() })?;
    case.check_end(&ended);
    let log = shim::log(&world.own("log"))?;
    // names change late in a run: half of the losses happen near one
    let renames: Vec<usize> = log
        .iter()
        .enumerate()
        .filter(|(_, op)| matches!(op, Op::Rename { .. } | Op::Unlink { .. }))
        .map(|(n, _)| n)
        .collect();
    let at = if case.random.percent(50) && !renames.is_empty() {
        (*case.random.pick(&renames) + case.random.index(8)).min(log.len())
    } else {
        usize::try_from(case.random.part(log.len() as u64 + 1)).unwrap_or(0)
    };
    log[..at].iter().enumerate().for_each(|(number, op)| disk.apply(number, op));
    let variant = *case.random.pick(&[Variant::Nothing, Variant::Prefix, Variant::Subset]);
    case.tell(format!("power lost after operation {at} of {}, unsynced: {variant:?}", log.len()));
    disk.rebuild(variant, &mut case.random, &world.case())?;
    case.finish(&world)
}

/// Unsynced operations that survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// None.
    Nothing,
    /// The first ones.
    Prefix,
    /// The first name changes; of each file the first bytes after its durable end, and any of the pages
    /// before it.
    Subset,
}

/// A file: its durable bytes, and later operations.
#[derive(Clone, Debug, Default)]
struct Bytes {
    inode: u64,
    durable: Vec<u8>,
    pending: Vec<(usize, Data)>,
}

#[derive(Clone, Debug)]
enum Data {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

#[derive(Clone, Debug)]
enum Name {
    Set(PathBuf, usize),
    Move(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    Folder(PathBuf),
}

/// Durable state of a disk, with pending operations.
struct Disk {
    files: Vec<Bytes>,
    by_inode: HashMap<u64, usize>,
    names: Names,
    pending: Vec<(usize, Name)>,
    /// Files from before the run.
    kept: HashMap<usize, Kept>,
}

#[derive(Clone, Default)]
struct Names {
    files: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
}

impl Names {
    fn apply(&mut self, name: &Name) {
        match name {
            Name::Set(path, file) => {
                self.files.insert(path.clone(), *file);
            }
            Name::Move(from, to) => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                }
            }
            Name::Link(from, to) => {
                if let Some(file) = self.files.get(from).copied() {
                    self.files.insert(to.clone(), file);
                }
            }
            Name::Remove(path) => {
                self.files.remove(path);
                self.folders.remove(path);
            }
            Name::Folder(path) => {
                self.folders.insert(path.clone());
            }
        }
    }
}

fn apply_data(bytes: &mut Vec<u8>, data: &Data) {
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    match data {
        Data::Write(offset, written) => {
            let (from, to) = (place(*offset), place(*offset) + written.len());
            if bytes.len() < to {
                bytes.resize(to, 0);
            }
            bytes[from..to].copy_from_slice(written);
        }
        Data::Truncate(length) => bytes.resize(place(*length), 0),
    }
}

/// A file in its state before the run.
struct Kept {
    /// A link to it.
    path: PathBuf,
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl Disk {
    /// Reads a folder as durable.
    fn of(folder: &Path) -> io::Result<Self> {
        let mut disk = Self {
            files: Vec::new(),
            by_inode: HashMap::new(),
            names: Names::default(),
            pending: Vec::new(),
            kept: HashMap::new(),
        };
        let (files, folders) = walk(folder)?;
        disk.names.folders = folders;
        for path in files {
            let inode = fs::metadata(&path)?.ino();
            let file = disk.add(inode, fs::read(&path)?);
            disk.names.files.insert(path, file);
        }
        Ok(disk)
    }

    /// Keeps a link to each file in a folder, so that a replaced file can return with its inode and time.
    fn keep_in(&mut self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (path, file) in &self.names.files {
            let (kept, bytes) = (folder.join(file.to_string()), self.files[*file].durable.clone());
            fs::hard_link(path, &kept)?;
            let modified = fs::metadata(path)?.modified()?;
            self.kept.insert(*file, Kept { path: kept, bytes, modified });
        }
        Ok(())
    }

    fn add(&mut self, inode: u64, durable: Vec<u8>) -> usize {
        self.files.push(Bytes { inode, durable, pending: Vec::new() });
        self.by_inode.insert(inode, self.files.len() - 1);
        self.files.len() - 1
    }

    fn apply(&mut self, number: usize, op: &Op) {
        match op {
            Op::Create { path, inode } => {
                let file = self.add(*inode, Vec::new());
                self.pending.push((number, Name::Set(path.clone(), file)));
            }
            Op::Write { inode, offset, bytes } => {
                self.data(number, *inode, Data::Write(*offset, bytes.clone()));
            }
            Op::Truncate { inode, length } => self.data(number, *inode, Data::Truncate(*length)),
            Op::Sync { inode } => {
                if let Some(file) = self.by_inode.get(inode).copied() {
                    self.flush(file);
                }
                self.commit();
            }
            Op::SyncAll => {
                (0..self.files.len()).for_each(|file| self.flush(file));
                self.commit();
            }
            Op::Rename { from, to } => self.pending.push((number, Name::Move(from.clone(), to.clone()))),
            Op::Link { from, to } => self.pending.push((number, Name::Link(from.clone(), to.clone()))),
            Op::Unlink { path } => self.pending.push((number, Name::Remove(path.clone()))),
            Op::Mkdir { path } => self.pending.push((number, Name::Folder(path.clone()))),
        }
    }

    fn data(&mut self, number: usize, inode: u64, data: Data) {
        if let Some(file) = self.by_inode.get(&inode) {
            self.files[*file].pending.push((number, data));
        }
    }

    fn flush(&mut self, file: usize) {
        let file = &mut self.files[file];
        for (_, data) in file.pending.drain(..) {
            apply_data(&mut file.durable, &data);
        }
    }

    /// Makes name changes durable; a file that replaces another becomes durable too.
    fn commit(&mut self) {
        for (number, name) in std::mem::take(&mut self.pending) {
            self.bring(number, &name);
            self.names.apply(&name);
        }
    }

    fn bring(&mut self, number: usize, name: &Name) {
        if let Name::Move(from, to) = name
            && self.names.files.contains_key(to)
            && let Some(file) = self.names.files.get(from).copied()
        {
            let file = &mut self.files[file];
            let (before, after) = file.pending.drain(..).partition(|(at, _)| *at < number);
            file.pending = after;
            let before: Vec<(usize, Data)> = before;
            before.iter().for_each(|(_, data)| apply_data(&mut file.durable, data));
        }
    }

    /// Makes the folder match the disk after the loss. A remaining file keeps its inode.
    fn rebuild(mut self, variant: Variant, random: &mut Random, folder: &Path) -> io::Result<()> {
        let first = self.oldest();
        let last = self.newest();
        let cut = first + random.index(last.saturating_sub(first) + 2);
        for (number, name) in std::mem::take(&mut self.pending) {
            if variant != Variant::Nothing && number < cut {
                self.bring(number, &name);
                self.names.apply(&name);
            }
        }
        for file in &mut self.files {
            keep(file, variant, cut, random);
        }
        self.names.files.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
        self.write(folder)
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        let names = self.pending.iter().map(|(number, _)| *number);
        names.chain(self.files.iter().flat_map(|file| file.pending.iter().map(|(number, _)| *number)))
    }

    fn oldest(&self) -> usize {
        self.numbers().min().unwrap_or(0)
    }

    fn newest(&self) -> usize {
        self.numbers().max().unwrap_or(0)
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let (files, folders) = walk(folder)?;
        for path in files.iter().filter(|path| !self.names.files.contains_key(*path)) {
            fs::remove_file(path)?;
        }
        for path in folders.iter().rev().filter(|path| !self.names.folders.contains(*path)) {
            if names(path).is_empty() {
                fs::remove_dir(path)?;
            }
        }
        for (path, number) in &self.names.files {
            let (file, kept) = (&self.files[*number], self.kept.get(number));
            if fs::metadata(path).is_ok_and(|found| found.ino() != file.inode) {
                fs::remove_file(path)?;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            if let Some(kept) = kept.filter(|_| !path.exists()) {
                fs::hard_link(&kept.path, path)?;
            }
            let mut out = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
            out.write_all(&file.durable)?;
            if let Some(kept) = kept.filter(|kept| kept.bytes == file.durable) {
                out.set_modified(kept.modified)?;
            }
        }
        self.names.folders.iter().try_for_each(fs::create_dir_all)
    }
}

/// Applies the surviving part of a file's pending operations.
fn keep(file: &mut Bytes, variant: Variant, cut: usize, random: &mut Random) {
    let end = file.durable.len() as u64;
    let mut appends = true;
    for (number, data) in std::mem::take(&mut file.pending) {
        let kept = match (variant, &data) {
            (Variant::Nothing, _) => false,
            (Variant::Prefix, _) => number < cut,
            (Variant::Subset, Data::Write(offset, _)) if *offset < end => random.percent(50),
            (Variant::Subset, _) => {
                appends = appends && random.percent(80);
                appends
            }
        };
        if kept {
            apply_data(&mut file.durable, &data);
        }
    }
}

/// Files and folders below a folder.
fn walk(folder: &Path) -> io::Result<(BTreeSet<PathBuf>, BTreeSet<PathBuf>)> {
    let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path.clone());
                folders.insert(path);
            } else {
                files.insert(path);
            }
        }
    }
    Ok((files, folders))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(inode: u64, bytes: &[u8]) -> Op {
        Op::Write { inode, offset: 0, bytes: bytes.to_vec() }
    }

    fn rebuilt(ops: &[Op], folder: &Path) -> Vec<String> {
        let mut disk = Disk::of(folder).unwrap();
        ops.iter().enumerate().for_each(|(number, op)| disk.apply(number, op));
        disk.rebuild(Variant::Nothing, &mut Random::of(1, "test"), folder).unwrap();
        names(folder)
    }

    #[test]
    fn power_loss_keeps_only_synced_bytes_and_names() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let ops = [
            Op::Create { path: one.clone(), inode: 1 },
            written(1, b"kept"),
            Op::Sync { inode: 1 },
            Op::Write { inode: 1, offset: 4, bytes: b" lost".to_vec() },
            Op::Create { path: two, inode: 2 },
        ];
        assert_eq!(rebuilt(&ops, folder.path()), ["one"]);
        assert_eq!(fs::read(one).unwrap(), b"kept");
    }

    #[test]
    fn rename_over_a_file_takes_effect_after_a_sync() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, "old").unwrap();
        let mut ops = vec![
            Op::Create { path: new.clone(), inode: 1 },
            written(1, b"new"),
            Op::Rename { from: new, to: old.clone() },
        ];
        assert_eq!(rebuilt(&ops, folder.path()), ["old"]);
        assert_eq!(fs::read(&old).unwrap(), b"old");
        ops.push(Op::Sync { inode: 99 });
        assert_eq!(rebuilt(&ops, folder.path()), ["old"]);
        assert_eq!(fs::read(&old).unwrap(), b"new");
    }
}
