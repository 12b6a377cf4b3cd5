//! The REST API over projects. See `docs/api.md`.

mod api;
mod app;
mod document;
mod guard;
mod input;
mod jobs;
mod problem;
mod token;

pub use document::document;

use crate::{
    accept,
    rest::{app::App, jobs::Jobs},
    visitors::Limits,
};
use axum::{Router, extract::DefaultBodyLimit, middleware};
use crawl_engine::{
    config::Config,
    exit::{Exit, Failure},
    threads,
};
use tokio_util::sync::CancellationToken;

/// Maximum bytes of a request's body. Bodies name projects and parameters, in some kilobytes.
const MAX_BODY_BYTES: usize = 256 << 10;

/// Service of `crawl serve` without its listener, for callers that hand it requests.
///
/// # Errors
/// When the settings or the database cannot be used.
pub fn service(settings: &Config) -> Result<Router, Failure> {
    App::open(settings, &|_| {}).map(|app| router(&app))
}

/// The router of all paths, with the checks of every request.
fn router(app: &App) -> Router {
    let guarded = |router: Router<App>| {
        let admitted = middleware::from_fn_with_state(app.clone(), guard::admit);
        let within = DefaultBodyLimit::max(MAX_BODY_BYTES);
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

/// Serves until the process is told to stop by SIGINT or SIGTERM. `print` is called with lines for the user: a token that was made, and
/// the address.
///
/// # Errors
/// When the settings, the database or the address cannot be used.
pub fn run(settings: &Config, print: &dyn Fn(&str)) -> Result<Exit, Failure> {
    let app = App::open(settings, print)?;
    let runtime = threads::runtime()
        .worker_threads(2)
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(serve(app, settings, print))
}

async fn serve(app: App, settings: &Config, print: &dyn Fn(&str)) -> Result<Exit, Failure> {
    let section = &settings.serve;
    let fail = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::AddrInUse => {
            Failure::usage(format!("{}: {e}; name another address with --listen", section.listen))
        }
        _ => Failure::usage(format!("{}: {e}", section.listen)),
    };
    let listener = tokio::net::TcpListener::bind(section.listen).await.map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "listening beyond this machine, without TLS: the token can be read on the way");
    }
    print(&format!("listening on http://{address}, API document at http://{address}{}", document::PATH));
    let router = router(&app);
    let stop = CancellationToken::new();
    let signals = tokio::spawn(stop_on_signals(stop.clone(), app.jobs.clone()));
    let limits = Limits { connections: section.connections, timeout: section.timeout };
    accept::serve(listener, router, limits, stop).await;
    signals.abort();
    Ok(Exit::Done)
}

/// The first SIGINT or SIGTERM ends the server in order: requests in progress are answered, and analyses stop without
/// changes.
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
