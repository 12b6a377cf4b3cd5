//! `crawl serve`: the REST API over projects. See `docs/api.md`.

pub(crate) mod accept;
mod api;
mod document;
mod guard;
mod input;
mod jobs;
mod problem;
mod token;
mod visitors;

pub use document::document;
pub(crate) use visitors::Limits;

use crate::{cli::ServeArgs, logging::say};
use axum::{Router, extract::DefaultBodyLimit, middleware};
use crawl_engine::{
    config::{self, Config},
    cpu::CpuPool,
    exit::{Exit, Failure},
    project_access,
};
use crawl_projects::{ProjectError, Projects};
use jobs::Jobs;
use problem::Problem;
use std::{sync::Arc, time::Duration};
use token::Token;
use tokio_util::sync::CancellationToken;

/// Threads that wait for the database.
const STORE_THREADS: usize = 4;

/// What all requests share.
#[derive(Clone)]
pub struct App {
    projects: Projects,
    jobs: Jobs,
    pool: CpuPool,
    token: Arc<Token>,
    hosts: Arc<[String]>,
    timeout: Duration,
    max_body: u64,
}

impl App {
    /// Runs something that waits for the database, away from the threads that answer requests.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Projects) -> Result<T, ProjectError> + Send + 'static,
    ) -> Result<T, Problem> {
        let projects = self.projects.clone();
        let _place = self.pool.ready().await;
        let done = self.pool.run(move || work(&projects)).await;
        done.map_err(|panicked| Problem::internal(&panicked))?.map_err(Problem::from)
    }
}

/// Runs `crawl serve`.
///
/// # Errors
/// When the settings, the database or the address cannot be used.
pub fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let settings = config::load(args.database.config.as_deref(), config::environment()?, args.overrides())?;
    crate::logging::start(&settings.log)?;
    let app = app(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(serve(app, &settings))
}

fn app(settings: &Config) -> Result<App, Failure> {
    let (store, _) = crawl_projects::open(&settings.projects.database)?;
    let pool = |name, threads| {
        CpuPool::named(name, threads).map_err(|e| Failure::new(Exit::Internal, e.to_string()))
    };
    Ok(App {
        projects: project_access::projects(Arc::new(store), settings)?,
        jobs: Jobs::new(pool("analysis", settings.serve.analyses)?),
        pool: pool("store", STORE_THREADS)?,
        token: Arc::new(Token::of(&settings.serve)?),
        hosts: settings.serve.hosts.as_slice().into(),
        timeout: settings.serve.timeout,
        max_body: settings.serve.max_body.as_u64(),
    })
}

/// Service of `crawl serve` without its listener, for callers that hand it requests.
///
/// # Errors
/// When the settings or the database cannot be used.
pub fn service(settings: &Config) -> Result<Router, Failure> {
    app(settings).map(|app| router(&app))
}

/// The paths with everything that stands before them.
fn router(app: &App) -> Router {
    let max_body = usize::try_from(app.max_body).unwrap_or(usize::MAX);
    let guarded = |router: Router<App>| {
        let admitted = middleware::from_fn_with_state(app.clone(), guard::admit);
        let within = DefaultBodyLimit::max(max_body);
        router
            .layer(within)
            .layer(admitted)
            .layer(middleware::from_fn(guard::as_problem))
            .with_state(app.clone())
    };
    let limited: Router<App> = api::limited().into();
    let limited = limited
        .route(document::PATH, axum::routing::get(document::get))
        .layer(middleware::from_fn_with_state(app.clone(), guard::in_time));
    let unlimited: Router<App> = api::unlimited().into();
    guarded(limited.merge(unlimited))
}

async fn serve(app: App, settings: &Config) -> Result<Exit, Failure> {
    let section = &settings.serve;
    let fail = |e: std::io::Error| Failure::usage(format!("{}: {e}", section.listen));
    let listener = tokio::net::TcpListener::bind(section.listen).await.map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "listening beyond this machine, without TLS: the token can be read on the way");
    }
    say(&format!("listening on http://{address}, API document at http://{address}{}", document::PATH));
    let router = router(&app);
    let stop = CancellationToken::new();
    let signals = tokio::spawn(stop_on_signals(stop.clone(), app.jobs.clone()));
    let limits = Limits { connections: section.connections, timeout: section.timeout };
    accept::serve(listener, router, limits, stop).await;
    signals.abort();
    Ok(Exit::Done)
}

/// The first SIGINT or SIGTERM ends the server in order: what was asked is answered, analyses stop with nothing changed.
fn stop_on_signals(stop: CancellationToken, jobs: Jobs) -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let caught = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    async move {
        let (Ok(mut int), Ok(mut term)) = caught else { return };
        for _ in 0..2 {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
            if stop.is_cancelled() {
                std::process::exit(i32::from(Exit::Interrupted as u8));
            }
            stop.cancel();
            jobs.stop_all();
        }
    }
}
