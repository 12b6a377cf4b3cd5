//! The command line of the crawler: arguments, commands, progress and reports. The crawl itself is in [`crawl_engine`].

mod background_tasks;
pub mod cli;
mod commands;
mod distinct_files;
mod logging;
mod place;
pub mod progress;
mod progress_line;
mod reconnect;
pub mod report;
pub mod run;
mod run_end;
mod signals;
mod terminal;
mod upkeep;
pub mod usage_error;

pub use commands::dispatch;
use crawl_engine::words;
