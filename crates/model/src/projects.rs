//! Projects: pages kept beyond a run, the boilerplate of their domains, and the trait of their storage.

use crate::{KnownText, NewText, Sketch, StoreError, UrlKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// The identity of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectId(pub Uuid);

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of pages that are counted and compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Position in the order of creation; the cursor of a listing.
    pub number: i64,
    /// Its identity.
    pub id: ProjectId,
    /// Name, unique among projects.
    pub name: String,
    /// Number of its pages.
    pub sources: u64,
    /// Milliseconds since the Unix epoch.
    pub created_at_ms: i64,
}

/// A page to store. Its URL within the project is its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSource {
    /// Final URL, canonical.
    pub url: String,
    /// Host, with its port where that is not the default.
    pub domain: String,
    /// Label within the project.
    pub source_group: Option<String>,
    /// Metadata of the record as a JSON object; `title` and `extractor` are read again by analyses.
    pub metadata: String,
    /// Content before the site's boilerplate is removed.
    pub content: String,
    /// Content after the site's boilerplate is removed, if the run did so.
    pub cleaned_content: Option<String>,
}

/// A stored page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Position in the order of arrival; the cursor of a listing.
    pub number: i64,
    /// Key of its URL, which is the `id` of its record.
    pub id: UrlKey,
    /// The page.
    pub page: NewSource,
    /// Time of its first arrival, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// Time of its last update by a crawl.
    pub updated_at_ms: i64,
}

/// Selection of a project's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceQuery {
    /// Only pages of this domain, if set.
    pub domain: Option<String>,
    /// Only pages of these groups; pages of all groups if empty.
    pub groups: Vec<String>,
    /// Only pages after the one with this number.
    pub after: i64,
    /// Maximum number of results.
    pub limit: usize,
    /// Byte budget of a listing: no further page is returned once the texts reach it.
    pub max_bytes: usize,
}

/// A domain of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainPages {
    /// Host, with its port where that is not the default.
    pub domain: String,
    /// Its pages.
    pub pages: u64,
}

/// Result and parameters of the analysis of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainFindings {
    /// The domain.
    pub domain: String,
    /// Hashes of boilerplate blocks, ascending.
    pub boilerplate_hashes: Vec<u64>,
    /// Pages looked at.
    pub pages_analyzed: u64,
    /// Distinct blocks on them.
    pub blocks_total: u64,
    /// Distinct blocks that are boilerplate.
    pub blocks_boilerplate: u64,
    /// Mean of the UTF-8 bytes removed per analysed page, rounded down.
    pub bytes_removed_avg: u64,
    /// Minimum share of the pages that contain a block, in percent.
    pub threshold_pct: f64,
    /// Pages that were needed.
    pub min_pages: u64,
    /// Minimum characters of a block.
    pub min_block_chars: u64,
    /// Mode of the analysis: `exact` or `site`.
    pub mode: String,
    /// Groups to which the analysis was limited; all if empty.
    pub source_groups: Vec<String>,
}

/// Stored [`DomainFindings`]: one per domain of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainBoilerplate {
    /// Identity, stable over later analyses.
    pub id: Uuid,
    /// Result and parameters of the analysis.
    pub findings: DomainFindings,
    /// Time of the domain's first analysis, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// Time of its last analysis.
    pub updated_at_ms: i64,
}

/// A page as input of an analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisPage {
    /// [`Source::number`].
    pub number: i64,
    /// Revision, which grows with each change of the content, so that a result is never stored with another
    /// text.
    pub revision: i64,
    /// Its URL.
    pub url: String,
    /// `title` of its metadata.
    pub title: Option<String>,
    /// `extractor` of its metadata.
    pub extractor: Option<String>,
    /// Its text.
    pub content: String,
}

/// Storage of projects.
///
/// Every call that changes data is one transaction: it takes effect as a whole, or not at all if it fails or
/// the process dies. Other processes may write to the same storage.
pub trait ProjectStore: Send + Sync {
    /// Creates a project; `None` if the name is taken.
    ///
    /// # Errors
    /// When storage fails.
    fn create_project(&self, name: &str, now_ms: i64) -> Result<Option<Project>, StoreError>;

    /// A project by its identity.
    ///
    /// # Errors
    /// When storage fails.
    fn project(&self, id: ProjectId) -> Result<Option<Project>, StoreError>;

    /// A project by its name.
    ///
    /// # Errors
    /// When storage fails.
    fn project_named(&self, name: &str) -> Result<Option<Project>, StoreError>;

    /// Projects in order of creation, after the one with the number `after`, `limit` at most.
    ///
    /// # Errors
    /// When storage fails.
    fn projects(&self, after: i64, limit: usize) -> Result<Vec<Project>, StoreError>;

    /// Removes a project with all its data; `false` if there was none.
    ///
    /// # Errors
    /// When storage fails.
    fn delete_project(&self, id: ProjectId) -> Result<bool, StoreError>;

    /// Stores pages; a page replaces the stored one with the same URL. A page with unchanged content keeps
    /// its stored cleaned content. Returns `false` and stores nothing if the project does not exist.
    ///
    /// # Errors
    /// When storage fails.
    fn save_sources(
        &self,
        project: ProjectId,
        sources: &[NewSource],
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        self.save_sources_with_texts(project, sources, &[], now_ms)
    }

    /// Stores pages as [`save_sources`](Self::save_sources) does, and their texts in the project's index, in
    /// order. One transaction, so that each text of the index belongs to a page of the project.
    ///
    /// # Errors
    /// When storage fails.
    fn save_sources_with_texts(
        &self,
        project: ProjectId,
        sources: &[NewSource],
        texts: &[NewText],
        now_ms: i64,
    ) -> Result<bool, StoreError>;

    /// Similar texts of a project's pages from all runs, as
    /// [`TextIndex::similar_texts`](crate::TextIndex::similar_texts) finds them; none for an unknown project. All
    /// count as texts of this round.
    ///
    /// # Errors
    /// When storage fails.
    fn similar_texts(
        &self,
        project: ProjectId,
        sketch: &Sketch,
        limit: usize,
    ) -> Result<Vec<KnownText>, StoreError>;

    /// Deletes a project's texts as [`TextIndex::keep_texts_of_method`](crate::TextIndex::keep_texts_of_method) does.
    ///
    /// # Errors
    /// When storage fails.
    fn keep_texts_of_method(&self, project: ProjectId, method: &str) -> Result<bool, StoreError>;

    /// Pages of a project in the order of their first arrival; none for an unknown project.
    ///
    /// # Errors
    /// When storage fails.
    fn sources(&self, project: ProjectId, query: &SourceQuery) -> Result<Vec<Source>, StoreError>;

    /// One page of a project.
    ///
    /// # Errors
    /// When storage fails.
    fn source(&self, project: ProjectId, id: UrlKey) -> Result<Option<Source>, StoreError>;

    /// Domains of a project with their pages, in alphabetical order; limited to groups if any are named.
    ///
    /// # Errors
    /// When storage fails.
    fn domains(&self, project: ProjectId, groups: &[String]) -> Result<Vec<DomainPages>, StoreError>;

    /// Stored results for a project's domains, or for one of them, in alphabetical order.
    ///
    /// # Errors
    /// When storage fails.
    fn boilerplate(
        &self,
        project: ProjectId,
        domain: Option<&str>,
    ) -> Result<Vec<DomainBoilerplate>, StoreError>;

    /// Begins an analysis of a project, or of some groups of it.
    ///
    /// # Errors
    /// When storage fails.
    fn begin_analysis(
        &self,
        project: ProjectId,
        groups: &[String],
    ) -> Result<Box<dyn Analysis + '_>, StoreError>;
}

/// A running analysis. It reads a snapshot of the project and changes nothing before
/// [`commit`](Self::commit); dropping it discards its results. It blocks other users only during the commit.
pub trait Analysis {
    /// The domains with their pages, in alphabetical order.
    ///
    /// # Errors
    /// When storage fails.
    fn domains(&self) -> Result<Vec<DomainPages>, StoreError>;

    /// Pages of a domain after the one with the number `after`, in batches: an empty batch is the end.
    ///
    /// # Errors
    /// When storage fails.
    fn pages(&self, domain: &str, after: i64) -> Result<Vec<AnalysisPage>, StoreError>;

    /// Stages the cleaned content of a page; `None` if the page was not cleaned.
    ///
    /// # Errors
    /// When storage fails.
    fn put_page(&mut self, page: &AnalysisPage, cleaned: Option<&str>) -> Result<(), StoreError>;

    /// Stages the findings of a domain.
    ///
    /// # Errors
    /// When storage fails.
    fn put_domain(&mut self, findings: DomainFindings) -> Result<(), StoreError>;

    /// Applies all staged results in one transaction, except for pages whose content has changed since.
    /// Returns `false` and changes nothing if the project no longer exists.
    ///
    /// # Errors
    /// When storage fails; then nothing is changed.
    fn commit(self: Box<Self>, now_ms: i64) -> Result<bool, StoreError>;
}
