//! Jobs: running analyses, and the latest finished ones.

use crate::rest::problem::Problem;
use axum::http::StatusCode;
use crawl_engine::cpu::CpuPool;
use crawl_model::{now_ms, rfc3339};
use crawl_projects::{Analysis, Progress, ProjectAnalysisResult, ProjectError, Projects};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tokio::sync::watch;
use utoipa::ToSchema;
use uuid::Uuid;

/// Maximum number of ended jobs that are kept.
const REMEMBERED: usize = 100;
/// Maximum number of jobs that wait or run; further requests are refused.
const MAX_ACTIVE: usize = 32;

/// Jobs by number, in the order of their requests: a clock may show two the same time, or step back.
type Book = BTreeMap<u64, Arc<Entry>>;
type Outcome = Result<ProjectAnalysisResult, Problem>;

/// Status of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// Other analyses come first.
    Queued,
    /// The analysis runs.
    Running,
    /// The analysis is done: `result` holds its result.
    Done,
    /// The analysis failed, and nothing was changed: `error` says why.
    Failed,
}

/// Progress of an analysis.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobProgress {
    /// Domains to look at.
    pub domains_total: u64,
    /// Domains done.
    pub domains_done: u64,
    /// Pages to clean.
    pub pages_total: u64,
    /// Pages cleaned.
    pub pages_done: u64,
}

/// An analysis in the background. A server that is started again knows none of before.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Job {
    /// Its identity.
    pub id: Uuid,
    /// The project that is analysed.
    pub project_id: Uuid,
    /// Its status.
    pub status: JobStatus,
    /// Its progress.
    pub progress: JobProgress,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub result: Option<ProjectAnalysisResult>,
    /// Its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<Problem>,
    /// Time of the request, RFC 3339.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// A job as it is known here.
pub struct Entry {
    id: Uuid,
    project: Uuid,
    created_at_ms: i64,
    progress: Progress,
    running: AtomicBool,
    outcome: watch::Sender<Option<Outcome>>,
}

impl Entry {
    /// Describes its current state.
    pub fn snapshot(&self) -> Job {
        let outcome = self.outcome.borrow().clone();
        let status = match &outcome {
            Some(Ok(_)) => JobStatus::Done,
            Some(Err(_)) => JobStatus::Failed,
            None if self.running.load(Relaxed) => JobStatus::Running,
            None => JobStatus::Queued,
        };
        let (result, error) =
            outcome.map_or((None, None), |o| o.map_or_else(|e| (None, Some(e)), |r| (Some(r), None)));
        let Progress { domains_total, domains_done, pages_total, pages_done, .. } = &self.progress;
        Job {
            id: self.id,
            project_id: self.project,
            status,
            progress: JobProgress {
                domains_total: domains_total.load(Relaxed),
                domains_done: domains_done.load(Relaxed),
                pages_total: pages_total.load(Relaxed),
                pages_done: pages_done.load(Relaxed),
            },
            result,
            error,
            created_at: rfc3339(self.created_at_ms),
        }
    }

    /// Waits for the end.
    pub async fn ended(&self) -> Outcome {
        let mut outcome = self.outcome.subscribe();
        match outcome.wait_for(Option::is_some).await {
            Ok(found) => found.clone().unwrap_or_else(|| Err(Problem::internal(&"a job without an end"))),
            Err(error) => Err(Problem::internal(&error)),
        }
    }

    /// Ends it soon, with nothing changed.
    pub fn stop(&self) {
        self.progress.stop();
    }
}

/// Jobs of a server. Analyses run on a pool of threads, one on each.
#[derive(Clone)]
pub struct Jobs {
    book: Arc<Mutex<Book>>,
    pool: CpuPool,
}

impl Jobs {
    /// No jobs yet.
    #[must_use]
    pub fn new(pool: CpuPool) -> Self {
        Self { book: Arc::default(), pool }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job that is known.
    pub fn get(&self, id: Uuid) -> Option<Arc<Entry>> {
        self.book().values().find(|entry| entry.id == id).cloned()
    }

    /// Ends all jobs soon.
    pub fn stop_all(&self) {
        self.book().values().for_each(|entry| entry.stop());
    }

    /// Starts an analysis, or puts it in the queue.
    ///
    /// # Errors
    /// 409 while another analysis of the project runs or waits, 503 while the queue is full.
    pub fn start(&self, projects: &Projects, analysis: Analysis) -> Result<Arc<Entry>, Problem> {
        let entry = self.enter(analysis.project.0)?;
        let (projects, pool, started) = (projects.clone(), self.pool.clone(), Arc::clone(&entry));
        tokio::spawn(async move {
            let Some(_place) = pool.ready().await else { return };
            started.running.store(true, Relaxed);
            let job = Arc::clone(&started);
            let done = pool.run(move || projects.analyze(&analysis, &job.progress)).await;
            let outcome = match done {
                Ok(Err(ProjectError::Stopped)) => Err(Problem::from(ProjectError::Stopped)),
                Ok(result) => result.map_err(Problem::from),
                Err(panicked) => Err(Problem::internal(&panicked)),
            };
            started.outcome.send_replace(Some(outcome));
        });
        Ok(entry)
    }

    fn enter(&self, project: Uuid) -> Result<Arc<Entry>, Problem> {
        let mut book = self.book();
        let active: Vec<&Arc<Entry>> =
            book.values().filter(|entry| entry.outcome.borrow().is_none()).collect();
        if let Some(other) = active.iter().find(|entry| entry.project == project) {
            let detail = format!("an analysis of this project runs or waits: /api/v1/jobs/{}", other.id);
            return Err(Problem::new(StatusCode::CONFLICT, detail));
        }
        if active.len() >= MAX_ACTIVE {
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many analyses are waiting"));
        }
        let ended = book.len() - active.len();
        if ended >= REMEMBERED {
            let oldest = book.iter().find(|(_, entry)| entry.outcome.borrow().is_some()).map(|(key, _)| *key);
            oldest.and_then(|key| book.remove(&key));
        }
        let entry = Arc::new(Entry {
            id: Uuid::new_v4(),
            project,
            created_at_ms: now_ms(),
            progress: Progress::default(),
            running: AtomicBool::new(false),
            outcome: watch::Sender::new(None),
        });
        let number = book.last_key_value().map_or(0, |(last, _)| last + 1);
        book.insert(number, Arc::clone(&entry));
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_engine::project_access;
    use crawl_model::{NewSource, ProjectId, ProjectStore};
    use crawl_projects::{AnalysisMode, AnalysisParams};
    use crawl_store::MemoryProjects;

    fn projects(names: &[&str]) -> (Projects, Vec<Uuid>) {
        let store = MemoryProjects::new();
        let ids: Vec<Uuid> =
            names.iter().map(|name| store.create_project(name, 1).unwrap().unwrap().id.0).collect();
        let page = |n| NewSource {
            url: format!("https://a.example/{n}"),
            domain: "a.example".into(),
            source_group: None,
            metadata: "{}".into(),
            content: format!(
                "Own words of page {n}.\n\nThe same fifty characters and more stand on every page."
            ),
            cleaned_content: None,
        };
        for id in &ids {
            store.save_sources(ProjectId(*id), &(0..6).map(page).collect::<Vec<_>>(), 1).unwrap();
        }
        let settings = crawl_engine::config::load(None, std::iter::empty(), Vec::new()).unwrap();
        (project_access::projects(Arc::new(store), &settings).unwrap(), ids)
    }

    #[tokio::test]
    async fn second_analysis_of_a_project_is_a_conflict() {
        let (projects, ids) = projects(&["one", "two"]);
        let pool = CpuPool::named("analysis", 1).unwrap();
        let jobs = Jobs::new(pool.clone());
        let params = AnalysisParams { mode: Some(AnalysisMode::Exact), ..AnalysisParams::default() };
        let analysis = |id| projects.analysis(id, &params).unwrap();
        // no job has been started yet
        let place = pool.ready().await;
        let first = jobs.start(&projects, analysis(ids[0])).unwrap();
        assert_eq!(first.snapshot().status, JobStatus::Queued);
        let refused = jobs.start(&projects, analysis(ids[0])).err().unwrap();
        assert_eq!(refused.status, 409);
        assert!(refused.detail.contains(&first.snapshot().id.to_string()), "{refused:?}");
        let second = jobs.start(&projects, analysis(ids[1])).unwrap();
        first.stop();
        drop(place);
        assert_eq!(first.ended().await.unwrap_err().status, 503);
        assert_eq!(first.snapshot().status, JobStatus::Failed);
        assert!(projects.stats(ids[0], None).unwrap().is_empty(), "nothing was changed");
        let result = second.ended().await.unwrap();
        assert_eq!((result.domains_analyzed, result.total_pages_cleaned), (1, 6));
        let snapshot = jobs.get(second.snapshot().id).unwrap().snapshot();
        assert_eq!(
            (snapshot.status, snapshot.progress.pages_done, snapshot.progress.pages_total),
            (JobStatus::Done, 6, 6)
        );
        assert!(jobs.start(&projects, analysis(ids[0])).unwrap().ended().await.is_ok(), "it has ended");
    }

    #[tokio::test]
    async fn old_jobs_are_evicted() {
        let (projects, ids) = projects(&["one"]);
        let jobs = Jobs::new(CpuPool::named("analysis", 1).unwrap());
        let analysis = projects.analysis(ids[0], &AnalysisParams::default()).unwrap();
        let first = jobs.start(&projects, analysis.clone()).unwrap();
        first.ended().await.unwrap();
        for _ in 0..REMEMBERED {
            jobs.start(&projects, analysis.clone()).unwrap().ended().await.unwrap();
        }
        assert_eq!(jobs.book().len(), REMEMBERED);
        assert!(jobs.get(first.snapshot().id).is_none());
    }
}
