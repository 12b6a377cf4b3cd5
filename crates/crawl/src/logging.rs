//! Log messages on standard error, as text or JSON.

use crate::terminal;
use crawl_engine::{
    config::{LogFormat, LogSection},
    exit::Failure,
};
use crawl_model::{now_ms, rfc3339};
use crawl_output::shown;
use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};
use tracing::{Level, field::Field};
use tracing_subscriber::{
    EnvFilter,
    field::MakeExt,
    fmt::format::{self, Writer},
};

/// True if standard error is JSON lines: set once logging starts so.
static JSON: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard error for the user, as JSON where the log is. A closed standard error is not worth an error.
pub fn say(line: &str) {
    say_as(Level::INFO, line);
}

/// Writes a line for the user with this level, if the log is JSON.
pub fn say_as(level: Level, line: &str) {
    if JSON.load(Ordering::Relaxed) {
        say_json(level, line, serde_json::Map::new());
    } else {
        let _ = Screen.write_all(format!("{}\n", shown::lines(line)).as_bytes());
    }
}

/// Writes a message with fields beside it as a JSON line to standard error.
pub fn say_json(level: Level, message: &str, fields: serde_json::Map<String, serde_json::Value>) {
    let mut line = serde_json::Map::new();
    line.insert("timestamp".into(), rfc3339(now_ms()).into());
    line.insert("level".into(), level.as_str().into());
    line.insert("message".into(), message.into());
    line.extend(fields);
    // one write, so that lines of other threads do not come between
    let line = format!("{}\n", serde_json::Value::Object(line));
    let _ = JsonLog.write_all(line.as_bytes());
}

/// Starts logging.
///
/// # Errors
/// When the level is none that can be understood.
pub fn start(section: &LogSection) -> Result<(), Failure> {
    let filter = filter(&section.level)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // a reader of the log that has gone must not end the crawl
        .log_internal_errors(false)
        .with_writer(|| Screen)
        .with_ansi(io::stderr().is_terminal());
    // a second start, as in tests, keeps the first
    let _ = match section.format {
        LogFormat::Text => {
            builder.with_target(false).fmt_fields(format::debug_fn(write_field).delimited(" ")).try_init()
        }
        LogFormat::Json => {
            JSON.store(true, Ordering::Relaxed);
            builder.json().flatten_event(true).with_writer(|| JsonLog).try_init()
        }
    };
    Ok(())
}

/// The filter of a level. Libraries that say more than a user needs are held back.
fn filter(level: &str) -> Result<EnvFilter, Failure> {
    // rmcp logs each session and message; below info it logs everything that agents send
    let mcp = if level.trim().eq_ignore_ascii_case("trace") { "info" } else { "warn" };
    check_level(level)?;
    // html5ever warns of every page that is not well-formed, which is most of the web
    // rustls_platform_verifier repeats the error of the request
    let directives = format!("html5ever=error,rustls_platform_verifier=off,rmcp={mcp},{level}");
    EnvFilter::try_new(directives).map_err(|e| Failure::usage(format!("log.level: {e}")))
}

/// Refuses a misspelled level: the filter would take it as the name of a module, and log nothing else.
fn check_level(level: &str) -> Result<(), Failure> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let word = level.trim();
    let is_word = !word.is_empty() && word.chars().all(char::is_alphanumeric);
    let is_known = LEVELS.iter().any(|known| known.eq_ignore_ascii_case(word))
        || word.parse::<u8>().is_ok_and(|level| level <= 5);
    if is_word && !is_known {
        let known = LEVELS.join(", ");
        return Err(Failure::usage(format!(
            "log.level: \"{word}\" is not a level; known are {known}; a module needs one, as in hyper=debug"
        )));
    }
    Ok(())
}

/// Writes a field of an event on its line: foreign text begins no other line and commands no terminal.
fn write_field(out: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = format!("{value:?}");
    match field.name() {
        "message" => write!(out, "{}", shown::line(&value)),
        // fields that the crate `log` adds
        name if name.starts_with("log.") => Ok(()),
        name => write!(out, "{name}={}", shown::line(&value)),
    }
}

/// Standard error, without a line of progress while it is written to.
struct Screen;

impl Write for Screen {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut written = Ok(());
        terminal::without_bar(&mut || written = io::stderr().write_all(line));
        written.map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Standard error for lines of JSON, their controls as escapes. Each write is a whole line.
struct JsonLog;

impl Write for JsonLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(shown::json(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn mcp_library_logs_only_warnings_by_default() {
        let said = |level: &str| {
            let out = Arc::new(Mutex::new(Vec::new()));
            let shared = Arc::clone(&out);
            let log = tracing_subscriber::fmt()
                .with_env_filter(filter(level).unwrap())
                .with_writer(move || Buffer(Arc::clone(&shared)))
                .without_time()
                .with_ansi(false)
                .finish();
            tracing::subscriber::with_default(log, || {
                tracing::debug!(target: "rmcp::transport", "a message");
                tracing::info!(target: "rmcp::service", "a session");
                tracing::warn!(target: "rmcp::service", "a fault");
                tracing::error!(target: "rustls_platform_verifier", "a certificate");
                tracing::debug!(target: "crawl", "ours");
            });
            String::from_utf8(out.lock().unwrap().clone()).unwrap()
        };
        for level in ["info", "debug"] {
            let said = said(level);
            assert!(said.contains("a fault") && !said.contains("a session"), "{level}: {said}");
            assert!(!said.contains("a certificate"), "{level}: {said}");
            assert_eq!(said.contains("ours"), level == "debug", "{said}");
        }
        let traced = said("trace");
        assert!(traced.contains("a session") && !traced.contains("a message"), "{traced}");
    }

    #[test]
    fn log_message_is_one_line_without_control_characters() {
        let out = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&out);
        let writer = move || Buffer(Arc::clone(&shared));
        let builder = tracing_subscriber::fmt().with_writer(writer).without_time().with_ansi(false);
        let fields = format::debug_fn(write_field).delimited(" ");
        let log = builder.with_target(false).fmt_fields(fields).finish();
        tracing::subscriber::with_default(log, || {
            tracing::warn!(url = %"x\u{1b}[2J\nWARN forged", host = "y\u{9b}", "a\u{9b}b\u{202e}c");
        });
        let said = String::from_utf8(out.lock().unwrap().clone()).unwrap();
        let want = " WARN a\\u{9b}b\\u{202e}c url=x\\u{1b}[2J\\nWARN forged host=\"y\\u{9b}\"\n";
        assert_eq!(said, want);
    }
}
