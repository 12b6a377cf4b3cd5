//! [`ProjectStore`] in memory.

use super::texts::Texts;
use crawl_model::{
    Analysis, AnalysisPage, DomainBoilerplate, DomainFindings, DomainPages, KnownText, NewSource, NewText,
    Project, ProjectId, ProjectStore, Sketch, Source, SourceQuery, StoreError, UrlKey,
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use uuid::Uuid;

/// Projects in memory. Nothing outlives it.
#[derive(Default)]
pub struct MemoryProjects {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    projects: BTreeMap<ProjectId, Kept>,
    /// Last number of projects and pages.
    numbers: i64,
}

struct Kept {
    project: Project,
    sources: Vec<Held>,
    boilerplate: BTreeMap<String, DomainBoilerplate>,
    texts: Texts,
}

#[derive(Clone)]
struct Held {
    source: Source,
    revision: i64,
}

impl MemoryProjects {
    /// A place without projects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers
    }
}

impl Kept {
    fn project(&self) -> Project {
        Project { sources: self.sources.len() as u64, ..self.project.clone() }
    }
}

impl Held {
    fn is_of(&self, groups: &[String]) -> bool {
        groups.is_empty() || self.source.page.source_group.as_ref().is_some_and(|of| groups.contains(of))
    }
}

fn domains_of<'a>(sources: impl Iterator<Item = &'a Held>) -> Vec<DomainPages> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for held in sources {
        *counts.entry(&held.source.page.domain).or_default() += 1;
    }
    counts.into_iter().map(|(domain, pages)| DomainPages { domain: domain.to_owned(), pages }).collect()
}

impl ProjectStore for MemoryProjects {
    fn create_project(&self, name: &str, now_ms: i64) -> Result<Option<Project>, StoreError> {
        let mut inner = self.inner();
        if inner.projects.values().any(|kept| kept.project.name == name) {
            return Ok(None);
        }
        let (number, id) = (inner.number(), ProjectId(Uuid::new_v4()));
        let project = Project { number, id, name: name.to_owned(), sources: 0, created_at_ms: now_ms };
        let kept = Kept {
            project: project.clone(),
            sources: Vec::new(),
            boilerplate: BTreeMap::default(),
            texts: Texts::default(),
        };
        inner.projects.insert(id, kept);
        Ok(Some(project))
    }

    fn project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        Ok(self.inner().projects.get(&id).map(Kept::project))
    }

    fn project_named(&self, name: &str) -> Result<Option<Project>, StoreError> {
        Ok(self.inner().projects.values().find(|kept| kept.project.name == name).map(Kept::project))
    }

    fn projects(&self, after: i64, limit: usize) -> Result<Vec<Project>, StoreError> {
        let mut found: Vec<Project> = self.inner().projects.values().map(Kept::project).collect();
        found.retain(|project| project.number > after);
        found.sort_by_key(|project| project.number);
        found.truncate(limit);
        Ok(found)
    }

    fn delete_project(&self, id: ProjectId) -> Result<bool, StoreError> {
        Ok(self.inner().projects.remove(&id).is_some())
    }

    fn save_sources_with_texts(
        &self,
        project: ProjectId,
        sources: &[NewSource],
        texts: &[NewText],
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut inner = self.inner();
        let Some(kept) = inner.projects.get_mut(&project) else { return Ok(false) };
        texts.iter().for_each(|text| kept.texts.put(0, text));
        for page in sources {
            let (id, mut page) = (UrlKey::of(&page.url), page.clone());
            let number = inner.number();
            let Some(kept) = inner.projects.get_mut(&project) else { return Ok(false) };
            if let Some(held) = kept.sources.iter_mut().find(|held| held.source.id == id) {
                if held.source.page.content == page.content {
                    page.cleaned_content = held.source.page.cleaned_content.take().or(page.cleaned_content);
                } else {
                    held.revision += 1;
                }
                held.source.page = page;
                held.source.updated_at_ms = now_ms;
            } else {
                let source = Source { number, id, page, created_at_ms: now_ms, updated_at_ms: now_ms };
                kept.sources.push(Held { source, revision: 1 });
            }
        }
        Ok(inner.projects.contains_key(&project))
    }

    fn similar_texts(
        &self,
        project: ProjectId,
        sketch: &Sketch,
        limit: usize,
    ) -> Result<Vec<KnownText>, StoreError> {
        Ok(self
            .inner()
            .projects
            .get(&project)
            .map_or_else(Vec::new, |kept| kept.texts.like(0, sketch, limit)))
    }

    fn keep_texts_of_method(&self, project: ProjectId, method: &str) -> Result<bool, StoreError> {
        Ok(self.inner().projects.get_mut(&project).is_some_and(|kept| kept.texts.keep_of_method(method)))
    }

    fn sources(&self, project: ProjectId, query: &SourceQuery) -> Result<Vec<Source>, StoreError> {
        let inner = self.inner();
        let Some(kept) = inner.projects.get(&project) else { return Ok(Vec::new()) };
        let (mut found, mut bytes) = (Vec::new(), 0);
        let asked = |held: &&Held| {
            held.source.number > query.after
                && query.domain.as_ref().is_none_or(|domain| *domain == held.source.page.domain)
                && held.is_of(&query.groups)
        };
        for held in kept.sources.iter().filter(asked).take(query.limit) {
            let page = &held.source.page;
            bytes += page.content.len() + page.cleaned_content.as_ref().map_or(0, String::len);
            found.push(held.source.clone());
            if bytes >= query.max_bytes {
                break;
            }
        }
        Ok(found)
    }

    fn source(&self, project: ProjectId, id: UrlKey) -> Result<Option<Source>, StoreError> {
        let inner = self.inner();
        let find = |kept: &Kept| kept.sources.iter().find(|held| held.source.id == id).cloned();
        Ok(inner.projects.get(&project).and_then(find).map(|held| held.source))
    }

    fn domains(&self, project: ProjectId, groups: &[String]) -> Result<Vec<DomainPages>, StoreError> {
        let inner = self.inner();
        let sources = inner.projects.get(&project).into_iter().flat_map(|kept| &kept.sources);
        Ok(domains_of(sources.filter(|held| held.is_of(groups))))
    }

    fn boilerplate(
        &self,
        project: ProjectId,
        domain: Option<&str>,
    ) -> Result<Vec<DomainBoilerplate>, StoreError> {
        let inner = self.inner();
        let all = inner.projects.get(&project).into_iter().flat_map(|kept| kept.boilerplate.values());
        Ok(all.filter(|row| domain.is_none_or(|asked| asked == row.findings.domain)).cloned().collect())
    }

    fn begin_analysis(
        &self,
        project: ProjectId,
        groups: &[String],
    ) -> Result<Box<dyn Analysis + '_>, StoreError> {
        let inner = self.inner();
        let all = inner.projects.get(&project).map(|kept| kept.sources.clone()).unwrap_or_default();
        let snapshot = all.into_iter().filter(|held| held.is_of(groups)).collect();
        Ok(Box::new(MemoryAnalysis {
            store: self,
            project,
            snapshot,
            pages: Vec::new(),
            domains: Vec::new(),
        }))
    }
}

struct MemoryAnalysis<'a> {
    store: &'a MemoryProjects,
    project: ProjectId,
    snapshot: Vec<Held>,
    /// Number, revision, cleaned text.
    pages: Vec<(i64, i64, Option<String>)>,
    domains: Vec<DomainFindings>,
}

/// Pages given at a time.
const READ_PAGES: usize = 64;

impl Analysis for MemoryAnalysis<'_> {
    fn domains(&self) -> Result<Vec<DomainPages>, StoreError> {
        Ok(domains_of(self.snapshot.iter()))
    }

    fn pages(&self, domain: &str, after: i64) -> Result<Vec<AnalysisPage>, StoreError> {
        let asked = |held: &&Held| held.source.page.domain == domain && held.source.number > after;
        Ok(self.snapshot.iter().filter(asked).take(READ_PAGES).map(page_of).collect())
    }

    fn put_page(&mut self, page: &AnalysisPage, cleaned: Option<&str>) -> Result<(), StoreError> {
        self.pages.push((page.number, page.revision, cleaned.map(str::to_owned)));
        Ok(())
    }

    fn put_domain(&mut self, findings: DomainFindings) -> Result<(), StoreError> {
        self.domains.push(findings);
        Ok(())
    }

    fn commit(self: Box<Self>, now_ms: i64) -> Result<bool, StoreError> {
        let mut inner = self.store.inner();
        let Some(kept) = inner.projects.get_mut(&self.project) else { return Ok(false) };
        for (number, revision, cleaned) in self.pages {
            let same = |held: &&mut Held| held.source.number == number && held.revision == revision;
            if let Some(held) = kept.sources.iter_mut().find(same) {
                held.source.page.cleaned_content = cleaned;
            }
        }
        for findings in self.domains {
            let before = kept.boilerplate.get(&findings.domain);
            let (id, created_at_ms) =
                before.map_or_else(|| (Uuid::new_v4(), now_ms), |row| (row.id, row.created_at_ms));
            let row = DomainBoilerplate { id, created_at_ms, updated_at_ms: now_ms, findings };
            kept.boilerplate.insert(row.findings.domain.clone(), row);
        }
        Ok(true)
    }
}

fn page_of(held: &Held) -> AnalysisPage {
    let Source { number, page, .. } = &held.source;
    let metadata: serde_json::Value = serde_json::from_str(&page.metadata).unwrap_or_default();
    let said = |key| metadata.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    AnalysisPage {
        number: *number,
        revision: held.revision,
        url: page.url.clone(),
        title: said("title"),
        extractor: said("extractor"),
        content: page.content.clone(),
    }
}
