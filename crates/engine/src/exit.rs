//! Exit codes of the program.

use crate::{
    config::{ConfigError, ConfigErrors},
    ending::Ending,
    stage_error::StageError,
    stats::Stats,
};
use crawl_archive::ArchiveError;
use crawl_corpus::CorpusError;
use crawl_model::{FrontierCounts, StoreError};
use crawl_output::{OutputError, WRITE_ADVICE};
use crawl_projects::{DatabaseError, ProjectError, SaveError};
use std::{io, path::Path};

/// Exit code of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Exit {
    /// All done.
    Done = 0,
    /// An internal error.
    Internal = 1,
    /// Flags, configuration or seeds are unusable.
    Usage = 2,
    /// Output or state cannot be written, or this machine lets the run make no request.
    Storage = 3,
    /// No seed could be fetched.
    NoSeed = 4,
    /// A limit was reached before the frontier was drained.
    Limit = 5,
    /// Another run holds the state directory, or writes the output.
    Held = 6,
    /// State, output or archive is damaged: something could not be read.
    Damaged = 7,
    /// SIGINT or SIGTERM; the state is saved.
    Interrupted = 130,
}

impl Exit {
    /// Returns true if the run ended as planned: it is done, or a limit has stopped it.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Done | Self::Limit)
    }

    /// Description of the end, for messages.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Internal => "internal error",
            Self::Usage => "unusable flag, setting or seed",
            Self::Storage => "storage is full or unwritable",
            Self::NoSeed => "no seed could be fetched",
            Self::Limit => "stopped by a limit",
            Self::Held => "another run holds the state or the output",
            Self::Damaged => "state, output or archive is damaged",
            Self::Interrupted => "interrupted, state saved",
        }
    }

    /// Exit code of a run that a stage's error ended.
    #[must_use]
    pub const fn of(error: &StageError) -> Self {
        match error {
            StageError::Project { source: SaveError::Store(StoreError::Corrupt(_)), .. }
            | StageError::Output(OutputError::Damaged { .. }) => Self::Damaged,
            StageError::Output(OutputError::Write { .. })
            | StageError::Project { .. }
            | StageError::Outage { .. } => Self::Storage,
            StageError::Output(OutputError::Busy { .. }) => Self::Held,
            StageError::Output(OutputError::Abandoned) => Self::Interrupted,
            StageError::Store(error) | StageError::Output(OutputError::Store(error)) => Self::of_store(error),
            // the reader has what it wanted
            StageError::Output(OutputError::ClosedPipe) => Self::Done,
            _ => Self::Internal,
        }
    }

    const fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Full(_) | StoreError::Unavailable(_) => Self::Storage,
            StoreError::Busy(_) => Self::Held,
            StoreError::Corrupt(_) => Self::Damaged,
            StoreError::Version { .. } => Self::Usage,
            _ => Self::Internal,
        }
    }
}

impl From<Ending> for Exit {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Drained => Self::Done,
            Ending::Limit(_) => Self::Limit,
            Ending::Interrupted => Self::Interrupted,
        }
    }
}

/// Advice for an input that the system cannot read now; `None` for any other error.
fn advice_for_input(error: &io::Error) -> Option<&'static str> {
    let code = error.raw_os_error()?;
    let is = |number: rustix::io::Errno| number.raw_os_error() == code;
    Some(if is(rustix::io::Errno::MFILE) || is(rustix::io::Errno::NFILE) {
        "raise the limit of open files (ulimit -n)"
    } else if error.kind() == io::ErrorKind::StorageFull || is(rustix::io::Errno::DQUOT) {
        "free disk space"
    } else if is(rustix::io::Errno::NOMEM) {
        "free memory"
    } else {
        "check the disk, or move the file to another one"
    })
}

/// An error of the whole program with the code it ends with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// Message for the user.
    pub error: anyhow::Error,
}

impl Failure {
    /// A usage error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, error: anyhow::Error::msg(message.into()) }
    }

    /// Adds the state directory to an error of its store: which state it is, and how to get out of it.
    #[must_use]
    pub fn in_state(self, dir: &Path) -> Self {
        let dir = dir.display();
        let words = match self.error.downcast_ref::<StoreError>() {
            Some(StoreError::Corrupt(_)) => format!(
                "{dir}: the state is damaged; `crawl state repair --state-dir {dir}` recovers the readable part, --fresh starts over \
                 without it"
            ),
            Some(StoreError::Full(_)) => {
                format!("{dir}: the state cannot be written; {WRITE_ADVICE}")
            }
            _ => return self,
        };
        Self { error: self.error.context(words), ..self }
    }

    /// An error of reading an input: a usage error if the path is wrong, and one of storage if the system cannot read it now.
    pub fn input(path: &Path, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename => Exit::Usage,
            _ if error.raw_os_error().is_some() => Exit::Storage,
            _ => Exit::Usage,
        };
        let path = path.display();
        match advice_for_input(error).filter(|_| exit == Exit::Storage) {
            Some(way_out) => {
                Self::new(exit, format!("{path}: {error}; {way_out}, then run the same command again"))
            }
            None => Self::new(exit, format!("{path}: {error}")),
        }
    }

    /// An error of this kind while doing something with a name.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(message.into()) }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self { exit: Exit::Usage, error: errors.into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { exit: Exit::of_store(&error), error: error.into() }
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        let exit = match &error {
            DatabaseError::NoHome | DatabaseError::Name(_) => Exit::Usage,
            DatabaseError::Store { error: StoreError::Corrupt(_), .. } => Exit::Damaged,
            DatabaseError::Store { .. } => Exit::Storage,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let exit = match &error {
            ProjectError::Store(StoreError::Corrupt(_)) => Exit::Damaged,
            ProjectError::Store(_) => Exit::Storage,
            ProjectError::Stopped => Exit::Interrupted,
            _ => Exit::Usage,
        };
        Self { exit, error: error.into() }
    }
}

impl From<CorpusError> for Failure {
    fn from(error: CorpusError) -> Self {
        let exit = match error {
            CorpusError::Work(_) | CorpusError::Output(_) => Exit::Storage,
            CorpusError::Setting { .. } | CorpusError::TooMany => Exit::Usage,
        };
        Self { exit, error: error.into() }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let exit = match &error {
            ArchiveError::Io { path, error } => return Self::input(path, error),
            ArchiveError::Output(_) => Exit::Storage,
            ArchiveError::NoFile(_) | ArchiveError::Folder(_) | ArchiveError::Pattern { .. } => Exit::Usage,
        };
        Self { exit, error: error.into() }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        StageError::from(error).into()
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Store(error) => error.into(),
            StageError::Project { name, source: SaveError::Store(error) } => {
                DatabaseError::Store { path: name.into(), error }.into()
            }
            error => Self { exit: Exit::of(&error), error: error.into() },
        }
    }
}

/// The code for how a run ended.
#[must_use]
pub fn exit_code(ending: Ending, counts: &FrontierCounts, stats: &Stats) -> Exit {
    let fetched = counts.records + counts.unchanged + counts.held + stats.pages.get();
    match ending {
        // no request of the round brought a page: the seeds are unreachable, gone, disallowed, or no pages. A round that
        // visits no known page may have only sitemaps to read
        Ending::Drained if fetched == 0 && stats.page_leases.get() > 0 => Exit::NoSeed,
        ending => ending.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_archive::ArchiveError;

    #[test]
    fn unreadable_input_exits_with_3_and_names_the_remedy() {
        use rustix::io::Errno;
        for (code, exit, words) in [
            (Errno::IO, Exit::Storage, "check the disk, or move the file"),
            (Errno::MFILE, Exit::Storage, "ulimit -n"),
            (Errno::NOSPC, Exit::Storage, "free disk space"),
            (Errno::NOENT, Exit::Usage, "No such file"),
            (Errno::ACCESS, Exit::Usage, "denied"),
            (Errno::ISDIR, Exit::Usage, "directory"),
            (Errno::NAMETOOLONG, Exit::Usage, "too long"),
        ] {
            let error = || io::Error::from(code);
            let path = Path::new("in.jsonl");
            let read = Failure::from(ArchiveError::Io { path: path.to_owned(), error: error() });
            for failure in [Failure::input(path, &error()), read] {
                let message = format!("{:#}", failure.error);
                assert_eq!(failure.exit, exit, "{message}");
                assert!(message.starts_with("in.jsonl: ") && message.contains(words), "{message}");
            }
        }
    }

    #[test]
    fn storage_failures_map_to_exit_codes_with_a_remedy() {
        let exit = |error: StoreError| Failure::from(error).in_state(Path::new("dir")).exit;
        assert_eq!(exit(StoreError::Version { found: 9, known: 7 }), Exit::Usage);
        assert_eq!(exit(StoreError::Corrupt(String::new())), Exit::Damaged);
        assert_eq!(exit(StoreError::Full(String::new())), Exit::Storage);
        assert_eq!(exit(StoreError::Busy(String::new())), Exit::Held);
        assert_eq!(exit(StoreError::Other(String::new())), Exit::Internal);
        let damaged =
            Failure::from(StoreError::Corrupt("crawl.sqlite: page 3".into())).in_state(Path::new("dir"));
        let words = format!("{:#}", damaged.error);
        assert!(words.contains("crawl state repair --state-dir dir") && words.contains("page 3"), "{words}");
    }
}
