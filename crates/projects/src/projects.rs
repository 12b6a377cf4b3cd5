//! The operations on projects.

use crate::{
    analysis::{self, Analysis, Progress},
    error::ProjectError,
    name::check_name,
    types::{
        AnalysisParams, DomainCount, DomainStats, Paging, Project, ProjectAnalysisResult, ProjectList,
        Source, SourceFilter, SourceList,
    },
    writer::ProjectWriter,
};
use crawl_dedup::{FingerprintSettings, Mode};
use crawl_extract::PageExtractor;
use crawl_model::{ProjectId, ProjectStore, SourceQuery, UrlKey, now_ms};
use std::{str::FromStr, sync::Arc};
use url::Url;
use uuid::Uuid;

/// Maximum bytes of text in one answer. A listing ends there.
const LISTING_BYTES: usize = 16 << 20;

/// Parameters of an analysis that names none itself.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisSettings {
    /// Mode of judging blocks.
    pub mode: Mode,
    /// Share of a domain's pages that a block of boilerplate stands on, in percent.
    pub threshold_pct: f64,
    /// Pages that a domain needs to be judged.
    pub min_pages: usize,
    /// Characters that a block must have.
    pub min_block_chars: usize,
}

/// Operations on projects. Calls block: they read and write a database.
#[derive(Clone)]
pub struct Projects {
    store: Arc<dyn ProjectStore>,
    defaults: AnalysisSettings,
    /// Extractor for the last pass over analysed pages.
    extractor: Arc<PageExtractor>,
}

impl Projects {
    /// Projects of a store. An analysis takes `defaults` for parameters that it does not name, and cleans pages by the rules of
    /// `extractor`.
    #[must_use]
    pub fn new(store: Arc<dyn ProjectStore>, defaults: AnalysisSettings, extractor: PageExtractor) -> Self {
        Self { store, defaults, extractor: Arc::new(extractor) }
    }

    /// Returns the store of the projects.
    #[must_use]
    pub fn store(&self) -> &dyn ProjectStore {
        &*self.store
    }

    /// Keeps the record of a visit in a project.
    #[must_use]
    pub fn writer(&self, id: Uuid) -> ProjectWriter {
        ProjectWriter::new(Arc::clone(&self.store), ProjectId(id))
    }

    /// A project by its id, or else by its name.
    ///
    /// # Errors
    /// When there is none, or storage fails.
    pub fn find(&self, id_or_name: &str) -> Result<Project, ProjectError> {
        let found = match Uuid::try_parse(id_or_name) {
            Ok(id) => self.store.project(ProjectId(id))?,
            Err(_) => self.store.project_named(id_or_name)?,
        };
        found.map(Project::from).ok_or_else(|| ProjectError::NoProject(format!("\"{id_or_name}\"")))
    }

    /// A project by its id.
    ///
    /// # Errors
    /// When there is none, or storage fails.
    pub fn get(&self, id: Uuid) -> Result<Project, ProjectError> {
        let found = self.store.project(ProjectId(id))?;
        found.map(Project::from).ok_or_else(|| ProjectError::NoProject(id.to_string()))
    }

    /// Projects in the order in which they were made.
    ///
    /// # Errors
    /// When storage fails.
    pub fn list(&self, page: &Paging) -> Result<ProjectList, ProjectError> {
        let found = self.store.projects(page.after(), page.limit())?;
        let next = (found.len() == page.limit()).then(|| found.last().map(|p| p.number)).flatten();
        Ok(ProjectList { projects: found.into_iter().map(Project::from).collect(), next })
    }

    /// Makes a project.
    ///
    /// # Errors
    /// When its name cannot be used or is taken, or storage fails.
    pub fn create(&self, name: &str) -> Result<Project, ProjectError> {
        check_name(name)?;
        let made = self.store.create_project(name, now_ms())?;
        made.map(Project::from).ok_or_else(|| ProjectError::NameTaken(name.to_owned()))
    }

    /// Removes a project with all that is its own.
    ///
    /// # Errors
    /// When there is none, or storage fails.
    pub fn delete(&self, id: Uuid) -> Result<(), ProjectError> {
        if self.store.delete_project(ProjectId(id))? {
            Ok(())
        } else {
            Err(ProjectError::NoProject(id.to_string()))
        }
    }

    /// The domains of a project with their pages.
    ///
    /// # Errors
    /// When there is no such project, or storage fails.
    pub fn domains(&self, id: Uuid, groups: &[String]) -> Result<Vec<DomainCount>, ProjectError> {
        self.get(id)?;
        let found = self.store.domains(ProjectId(id), groups)?;
        Ok(found.into_iter().map(DomainCount::from).collect())
    }

    /// Pages of a project, in the order in which they first came.
    ///
    /// # Errors
    /// When there is no such project, or storage fails.
    pub fn sources(&self, id: Uuid, filter: &SourceFilter) -> Result<SourceList, ProjectError> {
        self.get(id)?;
        let query = SourceQuery {
            domain: filter.domain.clone(),
            groups: filter.source_groups.clone(),
            after: filter.paging().after(),
            limit: filter.paging().limit(),
            max_bytes: LISTING_BYTES,
        };
        let found = self.store.sources(ProjectId(id), &query)?;
        let text = |s: &crawl_model::Source| {
            s.page.content.len() + s.page.cleaned_content.as_ref().map_or(0, String::len)
        };
        let broke_off = found.len() == query.limit || found.iter().map(text).sum::<usize>() >= LISTING_BYTES;
        let next = broke_off.then(|| found.last().map(|s| s.number)).flatten();
        Ok(SourceList { sources: found.into_iter().map(|s| Source::new(id, s)).collect(), next })
    }

    /// One page of a project, by its id (32 hex digits, that of its record) or its URL.
    ///
    /// # Errors
    /// When there is no such project or page, or storage fails.
    pub fn source(&self, id: Uuid, id_or_url: &str) -> Result<Source, ProjectError> {
        self.get(id)?;
        let key = match Uuid::try_parse(id_or_url) {
            Ok(digits) => UrlKey(digits.into_bytes()),
            Err(_) => UrlKey::of(&canonical(id_or_url)),
        };
        let found = self.store.source(ProjectId(id), key)?;
        found.map(|s| Source::new(id, s)).ok_or_else(|| ProjectError::NoSource(id_or_url.to_owned()))
    }

    /// Returns the results of the last analyses of a project's domains, or of one domain.
    ///
    /// # Errors
    /// When there is no such project, or storage fails.
    pub fn stats(&self, id: Uuid, domain: Option<&str>) -> Result<Vec<DomainStats>, ProjectError> {
        self.get(id)?;
        let found = self.store.boilerplate(ProjectId(id), domain)?;
        Ok(found.into_iter().map(DomainStats::from).collect())
    }

    /// An analysis with these parameters; absent ones come from the configuration.
    ///
    /// # Errors
    /// When one is out of its range, or there is no such project, or storage fails.
    pub fn analysis(&self, id: Uuid, asked: &AnalysisParams) -> Result<Analysis, ProjectError> {
        let number = |given: Option<i64>, default: usize, range: &crawl_dedup::SettingRange| match given {
            None => Ok(default),
            Some(given) => usize::try_from(given).map_err(|_| match range.check(given as f64) {
                Err(error) => ProjectError::from(error),
                Ok(()) => ProjectError::Invalid { field: range.name, problem: "is too large".into() },
            }),
        };
        let settings = FingerprintSettings::new(
            asked.threshold_pct.unwrap_or(self.defaults.threshold_pct),
            number(asked.min_pages, self.defaults.min_pages, &FingerprintSettings::MIN_PAGES)?,
            number(
                asked.min_block_chars,
                self.defaults.min_block_chars,
                &FingerprintSettings::MIN_BLOCK_CHARS,
            )?,
        )?;
        let mode = asked.mode.map_or(self.defaults.mode, Mode::from);
        self.get(id)?;
        Ok(Analysis { project: ProjectId(id), groups: asked.source_groups.clone(), settings, mode })
    }

    /// Runs an analysis and keeps its result.
    ///
    /// # Errors
    /// When storage fails, the project has gone, or it was told to stop; then everything is as it was.
    pub fn analyze(
        &self,
        asked: &Analysis,
        progress: &Progress,
    ) -> Result<ProjectAnalysisResult, ProjectError> {
        analysis::analyze(&*self.store, &self.extractor, asked, progress)
    }
}

/// The canonical form of a URL; the text itself if it is no URL.
fn canonical(url: &str) -> String {
    Url::from_str(url).map_or_else(
        |_| url.to_owned(),
        |parsed| String::from(crawl_fetch::Canonicalizer::default().canonical(&parsed)),
    )
}
