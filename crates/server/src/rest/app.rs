//! State that all requests share.

use crate::rest::{jobs::Jobs, problem::Problem, token::Token};
use crawl_engine::{
    config::Config,
    cpu::CpuPool,
    exit::{Exit, Failure},
    project_access,
};
use crawl_projects::{ProjectError, Projects};
use std::{sync::Arc, time::Duration};

/// Threads that wait for the database.
const STORE_THREADS: usize = 4;

/// State that all requests share.
#[derive(Clone)]
pub struct App {
    pub(super) projects: Projects,
    pub(super) jobs: Jobs,
    pub(super) pool: CpuPool,
    pub(super) token: Arc<Token>,
    pub(super) hosts: Arc<[String]>,
    pub(super) timeout: Duration,
}

impl App {
    /// Opens the database and the token that the settings name. `print` is called with a line for the user when a token is made.
    pub(super) fn open(settings: &Config, print: &dyn Fn(&str)) -> Result<Self, Failure> {
        let (store, _) = crawl_projects::open(&settings.projects.database)?;
        let pool = |name, threads| {
            CpuPool::named(name, threads).map_err(|e| Failure::new(Exit::Internal, e.to_string()))
        };
        Ok(Self {
            projects: project_access::projects(store, settings)?,
            jobs: Jobs::new(pool("analysis", settings.serve.analyses)?),
            pool: pool("store", STORE_THREADS)?,
            token: Arc::new(Token::of(&settings.serve, print)?),
            hosts: settings.serve.hosts.as_slice().into(),
            timeout: settings.serve.timeout,
        })
    }

    /// Runs something that waits for the database, away from the threads that answer requests.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Projects) -> Result<T, ProjectError> + Send + 'static,
    ) -> Result<T, Problem> {
        let projects = self.projects.clone();
        let _place = self.pool.ready().await;
        let done = self.pool.run(move || work(&projects)).await;
        done.map_err(|panicked| Problem::internal(&panicked))?.map_err(Problem::from)
    }
}
