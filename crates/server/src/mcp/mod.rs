//! Tools for agents, over the Model Context Protocol on standard input and output. Standard error is for logs.

mod parameters;
mod recent;
mod tools;
mod types;

pub use tools::Tools;

use crawl_engine::{
    config::Config,
    exit::{Exit, Failure},
    project_access, threads,
};
use rmcp::{ServiceExt, transport::stdio};
use std::time::Duration;

/// Time for which a read of standard input, which cannot be aborted, may delay the end.
const LAST_READ: Duration = Duration::from_millis(100);

/// Time for the end of a running visit.
const LAST_VISIT: Duration = Duration::from_secs(5);

/// Serves until the client closes standard input, or SIGINT or SIGTERM comes.
///
/// # Errors
/// When the settings or the database cannot be used, or the client speaks no MCP.
pub fn run(settings: Config) -> Result<Exit, Failure> {
    let (store, _) = crawl_projects::open(&settings.projects.database)?;
    let projects = project_access::projects(store, &settings)?;
    let tools = Tools::new(projects, settings)?;
    let runtime = threads::runtime()
        .worker_threads(2)
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    let done = runtime.block_on(async {
        let done = serve(tools.clone()).await;
        // a visit whose client disconnected still has running threads
        let _ = tokio::time::timeout(LAST_VISIT, tools.stop()).await;
        done
    });
    runtime.shutdown_timeout(LAST_READ);
    done
}

async fn serve(tools: Tools) -> Result<Exit, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |e: &dyn std::fmt::Display| Failure::new(Exit::Internal, e.to_string());
    let mut int = signal(SignalKind::interrupt()).map_err(|e| failed(&e))?;
    let mut term = signal(SignalKind::terminate()).map_err(|e| failed(&e))?;
    let starting = tools.serve(stdio());
    let service = tokio::select! {
        started = starting => started.map_err(|e| Failure::usage(format!("the client speaks no MCP: {e}")))?,
        _ = int.recv() => return Ok(Exit::Done),
        _ = term.recv() => return Ok(Exit::Done),
    };
    let stop = service.cancellation_token();
    tokio::select! {
        ended = service.waiting() => ended.map(|_| Exit::Done).map_err(|e| failed(&e)),
        _ = int.recv() => { stop.cancel(); Ok(Exit::Done) }
        _ = term.recv() => { stop.cancel(); Ok(Exit::Done) }
    }
}
