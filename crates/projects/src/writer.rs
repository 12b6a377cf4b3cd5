//! Writes the records of a run to its project.

use crate::{
    database::{DatabaseError, open},
    name::check_name,
};
use crawl_model::{
    BoilerplateStatus, KnownText, NewSource, NewText, ProjectId, ProjectStore, Record, Sketch, StoreError,
    now_ms,
};
use std::sync::Arc;

/// Project of a run that names none; the records do not name it.
pub const DEFAULT_PROJECT: &str = "default";

/// Error of saving pages.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The project was deleted meanwhile.
    #[error("the project was deleted while its pages were being crawled")]
    Gone,
}

/// The project of a run. Pages are saved by URL before their leases are settled, so a page that is crawled again
/// after a crash is stored once.
pub struct ProjectWriter {
    store: Arc<dyn ProjectStore>,
    project: ProjectId,
    /// The database, for messages.
    pub name: String,
}

impl ProjectWriter {
    /// Opens the project of a run and creates it if missing; `None` for a run that names none. `database` is the path
    /// of the database, or empty for the default one.
    ///
    /// # Errors
    /// When the name or the database cannot be used.
    pub fn open(name: &str, database: &str) -> Result<Option<Self>, DatabaseError> {
        if name == DEFAULT_PROJECT {
            return Ok(None);
        }
        check_name(name).map_err(DatabaseError::Name)?;
        let (store, path) = open(database)?;
        let at = |error: StoreError| DatabaseError::Store { path: path.clone(), error };
        let made = store.create_project(name, now_ms()).map_err(at)?;
        let found = made.map_or_else(|| store.project_named(name).map_err(at), |made| Ok(Some(made)))?;
        let project = found.ok_or_else(|| at(StoreError::Other("the project was deleted".into())))?.id;
        Ok(Some(Self { store, project, name: path.display().to_string() }))
    }

    /// Creates a writer for a project of an open store.
    #[must_use]
    pub fn new(store: Arc<dyn ProjectStore>, project: ProjectId) -> Self {
        Self { store, project, name: "the database of projects".into() }
    }

    /// Saves pages, and their texts for the index, in one transaction.
    ///
    /// # Errors
    /// When the database fails, or the project is gone.
    pub fn save(&self, sources: &[NewSource], texts: &[NewText]) -> Result<(), SaveError> {
        if sources.is_empty() || self.store.save_sources_with_texts(self.project, sources, texts, now_ms())? {
            return Ok(());
        }
        Err(SaveError::Gone)
    }

    /// Calls [`ProjectStore::similar_texts`].
    ///
    /// # Errors
    /// When the database fails.
    pub fn similar_texts(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError> {
        self.store.similar_texts(self.project, sketch, limit)
    }

    /// Calls [`ProjectStore::keep_texts_of_method`].
    ///
    /// # Errors
    /// When the database fails.
    pub fn keep_texts_of_method(&self, method: &str) -> Result<bool, StoreError> {
        self.store.keep_texts_of_method(self.project, method)
    }
}

/// Converts a record to a page of a project. If the run cleaned the record, its text is the cleaned content until an
/// analysis of the project replaces it.
///
/// # Errors
/// When the metadata cannot be written, which is a bug.
pub fn source_of(record: Record) -> Result<NewSource, StoreError> {
    let metadata = serde_json::to_string(&record.metadata).map_err(|e| StoreError::Other(e.to_string()))?;
    let judged = record.boilerplate.status == BoilerplateStatus::Applied;
    let content = record.content.unwrap_or_else(|| record.text.clone());
    Ok(NewSource {
        url: record.url,
        domain: record.metadata.domain,
        source_group: record.metadata.source_group,
        metadata,
        content,
        cleaned_content: judged.then_some(record.text),
    })
}
