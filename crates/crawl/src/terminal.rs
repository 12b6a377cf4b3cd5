//! Progress line on a terminal, and messages above it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::IsTerminal,
    sync::{Mutex, PoisonError},
};

/// The line that is drawn now.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Returns true if standard error is a terminal that can move its cursor.
#[must_use]
pub fn is_capable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

/// Starts a line of progress, which is cut at the width of the terminal. Lines for the user, and records on the
/// same terminal, push it down.
#[must_use]
pub fn start_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
        bar.set_style(style);
    }
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    if std::io::stdout().is_terminal() {
        crawl_output::write_stdout_within(without_bar);
    }
    bar
}

/// Columns before the text of the line: the spinner and the elapsed time.
const BEFORE_TEXT: usize = 11;

/// Columns of the terminal for the text of the line.
#[must_use]
pub fn width_of_line() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    // a terminal that does not know its width has 0
    if columns == 0 { usize::MAX } else { columns.saturating_sub(BEFORE_TEXT) }
}

/// Clears the line of progress for good.
pub fn end_bar() {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

/// Writes something while no line of progress is drawn.
pub fn without_bar(write: &mut dyn FnMut()) {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
