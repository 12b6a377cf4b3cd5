//! Logs: to standard error, as text or JSON.

use crate::{
    config::{LogFormat, LogSection},
    context::{now_ms, rfc3339},
    exit::Failure,
};
use std::{
    io::{IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};
use tracing::Level;
use tracing_subscriber::EnvFilter;

/// Whether standard error is JSON lines: set once logging starts so.
static JSON: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard error for the user, as JSON where the log is. A closed standard error is not worth an error.
pub fn say(line: &str) {
    say_as(Level::INFO, line);
}

/// The same, of a level that is told where the log is JSON.
pub fn say_as(level: Level, line: &str) {
    if JSON.load(Ordering::Relaxed) {
        say_json(level, line, serde_json::Map::new());
    } else {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Writes a message with fields beside it as a JSON line to standard error.
pub fn say_json(level: Level, message: &str, fields: serde_json::Map<String, serde_json::Value>) {
    let mut line = serde_json::Map::new();
    line.insert("timestamp".into(), rfc3339(now_ms()).into());
    line.insert("level".into(), level.as_str().into());
    line.insert("message".into(), message.into());
    line.extend(fields);
    let _ = writeln!(std::io::stderr(), "{}", serde_json::Value::Object(line));
}

/// Starts logging.
///
/// # Errors
/// When the level is none that can be understood.
pub fn start(section: &LogSection) -> Result<(), Failure> {
    // html5ever warns of every page that is not well-formed, which is most of the web
    // at "trace" rmcp repeats whatever agents send
    let level = format!("html5ever=error,rmcp=info,{}", section.level);
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
        LogFormat::Json => {
            JSON.store(true, Ordering::Relaxed);
            builder.json().flatten_event(true).try_init()
        }
    };
    Ok(())
}
