//! Places of a store as URLs: a directory, a database that several workers share, or `memory:`.

use crate::database::{Database, DatabaseEngine};
use crawl_model::StoreError;
use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

/// Place of a store.
#[derive(Clone, Debug)]
pub enum StoreUrl {
    /// A state directory with a database of SQLite.
    Directory(PathBuf),
    /// A database that several workers share.
    Database(Arc<dyn Database>),
    /// No persistence.
    Memory,
}

impl StoreUrl {
    /// Returns true if a URL has the scheme of a database. The rest of the URL may be unusable.
    #[must_use]
    pub fn is_database(url: &str) -> bool {
        engine(url).is_some()
    }
}

/// The engine of databases with the scheme of a URL.
fn engine(url: &str) -> Option<&'static dyn DatabaseEngine> {
    let (scheme, _) = url.split_once(':')?;
    crate::DATABASES.iter().find(|engine| engine.schemes().contains(&scheme)).copied()
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if let Some(path) = text.strip_prefix("sqlite:") {
            if path.is_empty() {
                return Err(refused("sqlite: names no directory: use sqlite:PATH"));
            }
            return Ok(Self::Directory(path.into()));
        }
        if let Some(engine) = engine(text).filter(|_| text.contains("://")) {
            return engine.database(text).map(Self::Database);
        }
        let databases: Vec<&str> = crate::DATABASES.iter().map(|engine| engine.example()).collect();
        // the text is not repeated, since it may hold a password
        Err(refused(format!("a store is sqlite:PATH, {} or memory:", databases.join(", "))))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "sqlite:{}", path.display()),
            Self::Database(database) => database.fmt(f),
            Self::Memory => f.write_str("memory:"),
        }
    }
}

/// The error of a URL that cannot be used.
pub(crate) fn refused(reason: impl fmt::Display) -> StoreError {
    StoreError::Other(format!("the URL of the store is not usable: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_backend_has_its_scheme() {
        assert!(matches!("memory:".parse(), Ok(StoreUrl::Memory)));
        assert!(matches!("sqlite:/a/b".parse(), Ok(StoreUrl::Directory(path)) if path == Path::new("/a/b")));
        for text in ["postgres://me@db.example:5433/crawls", "postgresql://me@db.example:5433/crawls"] {
            assert!(StoreUrl::is_database(text), "{text}");
            let url: StoreUrl = text.parse().unwrap();
            assert!(matches!(url, StoreUrl::Database(_)), "{url}");
            assert_eq!(url.to_string(), "postgres://me@db.example:5433/crawls");
        }
        for text in
            ["", "sqlite:", "memory", "postgres:me", "mysql://u:secret@h/d", "postgres://u:secret@h/d"]
        {
            let error = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        for text in ["", "memory:", "sqlite:/a", "mysql://h/d"] {
            assert!(!StoreUrl::is_database(text), "{text}");
        }
    }
}
