//! Projects: pages that are kept beyond a run, what their domains repeat, and the trait of their storage.

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

/// A set of pages that are counted and compared among themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its place in the order in which projects were made; where a listing goes on.
    pub number: i64,
    /// Its identity.
    pub id: ProjectId,
    /// Its name, which no other project has.
    pub name: String,
    /// Pages kept in it.
    pub sources: u64,
    /// Milliseconds since the Unix epoch.
    pub created_at_ms: i64,
}

/// A page to be kept. Its identity is its URL within the project.
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
    /// The page before what its site repeats was removed.
    pub content: String,
    /// The page after it, where the run judged it.
    pub cleaned_content: Option<String>,
}

/// A page as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its place in the order in which pages came; where a listing goes on.
    pub number: i64,
    /// Key of its URL, which is the `id` of its record.
    pub id: UrlKey,
    /// The page.
    pub page: NewSource,
    /// When it came first, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// When a crawl brought it last.
    pub updated_at_ms: i64,
}

/// Which pages of a project are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceQuery {
    /// Of this domain only.
    pub domain: Option<String>,
    /// Of these groups only; of all if there are none.
    pub groups: Vec<String>,
    /// Those that come after the one with this number.
    pub after: i64,
    /// So many at most.
    pub limit: usize,
    /// No further page once so many bytes of text have been taken.
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

/// What an analysis found out about a domain, and with which parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainFindings {
    /// The domain.
    pub domain: String,
    /// Hashes of what is boilerplate, ascending.
    pub boilerplate_hashes: Vec<u64>,
    /// Pages looked at.
    pub pages_analyzed: u64,
    /// Distinct blocks on them.
    pub blocks_total: u64,
    /// Distinct blocks that are boilerplate.
    pub blocks_boilerplate: u64,
    /// UTF-8 bytes removed, a page looked at, rounded down.
    pub bytes_removed_avg: u64,
    /// Share of the pages that a block had to stand on.
    pub threshold_pct: f64,
    /// Pages that were needed.
    pub min_pages: u64,
    /// Characters that a block had to have.
    pub min_block_chars: u64,
    /// How blocks were judged: `exact` or `site`.
    pub mode: String,
    /// The groups that the analysis was limited to; none: all.
    pub source_groups: Vec<String>,
}

/// [`DomainFindings`] as they are kept: one for each domain of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainBoilerplate {
    /// Its identity, which stays over further analyses.
    pub id: Uuid,
    /// What was found out.
    pub findings: DomainFindings,
    /// When the domain was first analysed, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// When it was last analysed.
    pub updated_at_ms: i64,
}

/// A page as an analysis sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisPage {
    /// [`Source::number`].
    pub number: i64,
    /// Grows with each change of the content, so that a result is never put beside another text than it is of.
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

/// Where projects are kept.
///
/// Every call that changes something is one transaction: it is there as a whole once it has returned, and not at all if it
/// fails or the process dies. Other processes may write to the same place.
pub trait ProjectStore: Send + Sync {
    /// Makes a project; `None` if there is one of that name.
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

    /// Projects in the order in which they were made, after the one with the number `after`, `limit` at most.
    ///
    /// # Errors
    /// When storage fails.
    fn projects(&self, after: i64, limit: usize) -> Result<Vec<Project>, StoreError>;

    /// Removes a project with all that is its own; `false` if there was none.
    ///
    /// # Errors
    /// When storage fails.
    fn delete_project(&self, id: ProjectId) -> Result<bool, StoreError>;

    /// Keeps pages: those whose URL the project has replace what is kept of it. A page whose content has not changed keeps
    /// the cleaned content that it has. `false`, and nothing is kept, if there is no such project.
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

    /// [`save_sources`](Self::save_sources), and puts texts of these pages into the project's index, in their order, so that each
    /// text of the index is that of a page of the project.
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

    /// As [`TextIndex::texts_like`](crate::TextIndex::texts_like), of the pages of a project, whichever run kept them; none for
    /// an unknown project. All count as of this round.
    ///
    /// # Errors
    /// When storage fails.
    fn texts_like(
        &self,
        project: ProjectId,
        sketch: &Sketch,
        limit: usize,
    ) -> Result<Vec<KnownText>, StoreError>;

    /// As [`TextIndex::keep_texts_made_as`](crate::TextIndex::keep_texts_made_as), of a project.
    ///
    /// # Errors
    /// When storage fails.
    fn keep_texts_made_as(&self, project: ProjectId, how: &str) -> Result<bool, StoreError>;

    /// Pages of a project in the order in which they first came; none for an unknown project.
    ///
    /// # Errors
    /// When storage fails.
    fn sources(&self, project: ProjectId, query: &SourceQuery) -> Result<Vec<Source>, StoreError>;

    /// One page of a project.
    ///
    /// # Errors
    /// When storage fails.
    fn source(&self, project: ProjectId, id: UrlKey) -> Result<Option<Source>, StoreError>;

    /// The domains of a project (of some groups of it, if any are named) with their pages, in alphabetical order.
    ///
    /// # Errors
    /// When storage fails.
    fn domains(&self, project: ProjectId, groups: &[String]) -> Result<Vec<DomainPages>, StoreError>;

    /// What is kept of a project's domains, or of one of them, in alphabetical order.
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

/// An analysis under way. It sees the project as it was when it began, and changes nothing before
/// [`commit`](Self::commit); dropping it leaves everything as it was. Nobody has to wait for it but for the commit.
pub trait Analysis {
    /// The domains with their pages, in alphabetical order.
    ///
    /// # Errors
    /// When storage fails.
    fn domains(&self) -> Result<Vec<DomainPages>, StoreError>;

    /// Pages of a domain after the one with the number `after`, some at a time: none means the end.
    ///
    /// # Errors
    /// When storage fails.
    fn pages(&self, domain: &str, after: i64) -> Result<Vec<AnalysisPage>, StoreError>;

    /// Puts aside what is left of a page; `None` if it was not judged.
    ///
    /// # Errors
    /// When storage fails.
    fn put_page(&mut self, page: &AnalysisPage, cleaned: Option<&str>) -> Result<(), StoreError>;

    /// Puts aside what was found out about a domain.
    ///
    /// # Errors
    /// When storage fails.
    fn put_domain(&mut self, findings: DomainFindings) -> Result<(), StoreError>;

    /// Makes all that was put aside true in one transaction, but for pages whose content has changed in the meantime.
    /// `false`, and nothing is changed, if the project is gone.
    ///
    /// # Errors
    /// When storage fails; then everything is as it was.
    fn commit(self: Box<Self>, now_ms: i64) -> Result<bool, StoreError>;
}
