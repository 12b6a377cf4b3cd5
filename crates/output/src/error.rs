//! Errors of outputs.

use crawl_model::StoreError;
use std::io::{self, ErrorKind};

/// Advice for an output or a state that cannot be written.
pub const WRITE_ADVICE: &str = "free disk space, or remove the file or folder that blocks the path, then run the same command again to resume";

/// Returns advice for an output that cannot be opened or written, by the error of the system.
#[must_use]
pub fn write_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "make its folder, then run the same command again",
        ErrorKind::PermissionDenied => {
            "permit this user to write there, or name another path, then run the same command again"
        }
        ErrorKind::IsADirectory => {
            "it is a folder; write `/` after its name for files in it, or name another file"
        }
        ErrorKind::ReadOnlyFilesystem => "its file system can only be read; name another path",
        ErrorKind::FileTooLarge => {
            "raise the limit on the size of files (ulimit -f), or set output.max_file below it, then run the same \
             command again to resume"
        }
        ErrorKind::BrokenPipe => "its reader has ended; start one, then run the same command again to resume",
        ErrorKind::ResourceBusy => "leave the file to this command until it ends",
        _ => WRITE_ADVICE,
    }
}

/// Reasons for which an output cannot be opened or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The output cannot be written.
    #[error("{name}: cannot be written; {}", write_advice(source))]
    Write {
        /// The file.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The output holds something that cannot be read, or lacks what was written.
    #[error("{name}: {what}")]
    Damaged {
        /// The file.
        name: String,
        /// The damage, and the way out.
        what: String,
    },
    /// Another process writes the output.
    #[error("{name}: {holder} writes it; wait for it to end, or name another file")]
    Busy {
        /// The file.
        name: String,
        /// The process.
        holder: String,
    },
    /// The reader of standard output has gone.
    #[error("standard output was closed by its reader")]
    ClosedPipe,
    /// The reader of standard output takes nothing, and the run was told to stop.
    #[error("the reader of standard output takes nothing")]
    Abandoned,
    /// The length of the output cannot be stored, or a record cannot be written as JSON, which is a bug.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_error_advice_follows_the_system_error() {
        let words = |kind: ErrorKind| {
            OutputError::Write { name: "out/pages.jsonl".into(), source: kind.into() }.to_string()
        };
        for (kind, advice) in [
            (ErrorKind::NotFound, "make its folder"),
            (ErrorKind::PermissionDenied, "permit this user"),
            (ErrorKind::IsADirectory, "write `/` after its name"),
            (ErrorKind::ReadOnlyFilesystem, "can only be read"),
            (ErrorKind::StorageFull, "free disk space"),
            (ErrorKind::FileTooLarge, "ulimit -f"),
            (ErrorKind::BrokenPipe, "its reader has ended"),
            (ErrorKind::ResourceBusy, "leave the file"),
        ] {
            let said = words(kind);
            assert!(
                said.starts_with("out/pages.jsonl: cannot be written; ") && said.contains(advice),
                "{said}"
            );
        }
    }
}
