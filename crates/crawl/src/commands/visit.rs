//! Fetch of one page, as a crawl with a single seed.

use crawl_engine::{
    config::Config,
    exit::{Exit, Failure},
    threads,
    visit::Visitor,
};
use crawl_model::Record;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Time limit of a visit.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fetches a page politely and extracts it. robots.txt is obeyed.
///
/// # Errors
/// When there is no page (exit 4); its reason is the message.
pub fn page(url: Url, config: Config) -> Result<Record, Failure> {
    let runtime = threads::runtime()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    let name = url.to_string();
    runtime
        .block_on(Visitor::new(config, PATIENCE).visit(url, None, None, &CancellationToken::new()))
        .map_err(|error| Failure::new(Exit::NoSeed, format!("{name}: {error}")))
}
