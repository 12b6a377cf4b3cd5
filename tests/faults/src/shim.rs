//! Library that is preloaded into the crawl, and its log.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Kinds of calls that the shim counts.
pub const KINDS: [&str; 8] = ["open", "write", "sync", "truncate", "rename", "unlink", "mkdir", "close"];

/// Compiles the shim into `folder`.
///
/// # Errors
/// When there is no C compiler, or it fails.
pub fn compile(folder: &Path) -> io::Result<PathBuf> {
    let (source, library) = (folder.join("shim.c"), folder.join("shim.so"));
    fs::write(&source, include_str!("../shim.c"))?;
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&library, &source])
        .args(["-ldl", "-lpthread"])
        .output()?;
    if output.status.success() {
        return Ok(library);
    }
    Err(io::Error::other(format!("the shim does not compile:\n{}", String::from_utf8_lossy(&output.stderr))))
}

/// The shim of this process, compiled once.
///
/// # Panics
/// When it cannot be compiled.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let made = LIBRARY.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("crawl-faults-shim-").tempdir().unwrap();
        let library = compile(folder.path()).unwrap();
        (folder, library)
    });
    &made.1
}

/// One fault, as the shim reads it from the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Kinds of calls that count for it.
    pub kinds: Vec<&'static str>,
    /// Number of the call, from 1.
    pub n: u64,
    /// `fail`, `short`, `kill-before`, `kill-after` or `kill-half`.
    pub action: &'static str,
    /// Error number of a failing call.
    pub errno: i32,
    /// Later calls fail as well.
    pub persist: bool,
}

impl Plan {
    /// Variables of the environment.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![
            ("FAULT_KINDS", self.kinds.join(",")),
            ("FAULT_N", self.n.to_string()),
            ("FAULT_ACTION", self.action.to_owned()),
            ("FAULT_ERRNO", self.errno.to_string()),
        ];
        if self.persist {
            out.push(("FAULT_PERSIST", "1".to_owned()));
        }
        out
    }
}

/// An operation of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named as in the manual of the calls")]
pub enum Op {
    /// A file was made.
    Create { path: PathBuf, inode: u64 },
    /// Bytes were written.
    Write { inode: u64, offset: u64, bytes: Vec<u8> },
    /// A file was cut or stretched.
    Truncate { inode: u64, length: u64 },
    /// A file or folder was synced.
    Sync { inode: u64 },
    /// The file system was synced.
    SyncAll,
    /// A name was changed.
    Rename { from: PathBuf, to: PathBuf },
    /// A file got a second name.
    Link { from: PathBuf, to: PathBuf },
    /// A name was removed.
    Unlink { path: PathBuf },
    /// A folder was made.
    Mkdir { path: PathBuf },
}

/// Reads the log of a run; a torn end is left out.
///
/// # Errors
/// When it cannot be read.
pub fn log(path: &Path) -> io::Result<Vec<Op>> {
    let bytes = fs::read(path)?;
    let mut rest = bytes.as_slice();
    let mut out = Vec::new();
    while let Some((op, left)) = operation(rest) {
        out.extend(op);
        rest = left;
    }
    Ok(out)
}

fn operation(bytes: &[u8]) -> Option<(Option<Op>, &[u8])> {
    let (head, rest) = bytes.split_at_checked(40)?;
    let number = |i: usize| u64::from_ne_bytes(head[8 * i..8 * i + 8].try_into().unwrap_or_default());
    let length = |i: usize| usize::try_from(number(i)).ok();
    let (path, rest) = rest.split_at_checked(length(3)?)?;
    let (bytes, rest) = rest.split_at_checked(length(4)?)?;
    let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
    let other = || PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
    let inode = number(2);
    let op = match u8::try_from(number(0)).ok()? {
        b'C' => Some(Op::Create { path, inode }),
        b'W' => Some(Op::Write { inode, offset: number(1), bytes: bytes.to_vec() }),
        b'T' => Some(Op::Truncate { inode, length: number(1) }),
        b'S' => Some(Op::Sync { inode }),
        b'A' => Some(Op::SyncAll),
        b'R' => Some(Op::Rename { from: path, to: other() }),
        b'L' => Some(Op::Link { from: path, to: other() }),
        b'U' => Some(Op::Unlink { path }),
        b'M' => Some(Op::Mkdir { path }),
        _ => None,
    };
    Some((op, rest))
}
