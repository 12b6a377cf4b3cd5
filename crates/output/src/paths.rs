//! Paths as the state names them.

use std::path::{Path, PathBuf};

/// The absolute path, with its links as they are.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
