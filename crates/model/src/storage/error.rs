//! Errors of storage.

/// Error of a storage call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No space is left, or the medium is not writable.
    #[error("storage is full or not writable: {0}")]
    Full(String),
    /// The server of a database cannot be reached, or refuses the user.
    #[error("the database cannot be used: {0}")]
    Unavailable(String),
    /// Another process holds it.
    #[error("{}", busy(.0))]
    Busy(String),
    /// Stored data is corrupt.
    #[error("storage is damaged: {0}")]
    Corrupt(String),
    /// Made by another version.
    #[error(
        "storage was made by a newer version of this program (format {found}, this one reads up to {known}): install the newer version"
    )]
    Version {
        /// Version of the store.
        found: u32,
        /// Newest version this program knows.
        known: u32,
    },
    /// Anything else.
    #[error("storage: {0}")]
    Other(String),
}

/// Message of a busy store. The message of a state directory's lock is complete already.
fn busy(words: &str) -> String {
    if words.starts_with("another run ") { words.to_owned() } else { format!("storage is in use: {words}") }
}
