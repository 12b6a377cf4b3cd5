//! Logs: to standard error, as text or JSON.

use crate::{
    config::{LogFormat, LogSection},
    exit::Failure,
};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging.
///
/// # Errors
/// When the level is none that can be understood.
pub fn start(section: &LogSection) -> Result<(), Failure> {
    // html5ever warns of every page that is not well-formed, which is most of the web
    let level = format!("html5ever=error,{}", section.level);
    let filter = EnvFilter::try_new(level).map_err(|e| Failure::usage(format!("log.level: {e}")))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // a reader of the log that has gone must not end the crawl
        .log_internal_errors(false)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // a second start, as in tests, keeps the first
    let _ = match section.format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    Ok(())
}
