//! Flags of the jobs over a crawl's state.

use super::{Overrides, RunArgs};
use clap::{Args, Subcommand};
use crawl_engine::config::Override;
use std::path::PathBuf;

/// State directory.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// The seeds of the crawl, as it was given them: they name its state directory
    #[arg(value_name = "URL|FILE")]
    pub seeds: Vec<PathBuf>,
    /// The same, as with the flag of the crawl (repeatable)
    #[arg(long, value_name = "FILE|URL")]
    pub seed: Vec<PathBuf>,
    /// Its state directory, if it was given one
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Its configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Its database, as postgres://user@host/database
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Its name in the database
    #[arg(long, value_name = "NAME")]
    pub crawl: Option<String>,
}

impl StateArgs {
    /// All seeds, in the order of a crawl.
    #[must_use]
    pub fn all_seeds(&self) -> Vec<PathBuf> {
        self.seed.iter().chain(&self.seeds).cloned().collect()
    }

    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        out.path("--state-dir", "state.dir", self.state_dir.as_ref());
        out.text("--store", "state.store", self.store.as_ref());
        out.text("--crawl", "state.crawl", self.crawl.as_ref());
        out.0
    }
}

/// Crawl in a database.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// Its database, as postgres://user@host/database
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Its name in the database
    #[arg(long, value_name = "NAME")]
    pub crawl: Option<String>,
    /// Its configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl StoreArgs {
    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        out.text("--store", "state.store", self.store.as_ref());
        out.text("--crawl", "state.crawl", self.crawl.as_ref());
        out.0
    }
}

/// `crawl workers`
#[derive(Debug, Args)]
pub struct WorkersArgs {
    /// The crawl
    #[command(flatten)]
    pub store: StoreArgs,
    /// List workers without a part in the current round too
    #[arg(long)]
    pub all: bool,
}

/// `crawl status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// State directory to describe
    #[command(flatten)]
    pub state: StateArgs,
    /// Hosts to show, those with most URLs first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub hosts: usize,
    /// Errors to show, the last ones
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub errors: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `crawl schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Print the features for load_dataset of the Python package datasets
    #[arg(long)]
    pub datasets: bool,
    /// Fields of the records, as in a crawl with --fields
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "datasets")]
    pub fields: Vec<String>,
}

/// `crawl state`
#[derive(Debug, Args)]
pub struct StateJobArgs {
    /// Check, repair, copy or upgrade the state
    #[command(subcommand)]
    pub job: StateJob,
}

/// Jobs over a state that no run holds.
#[derive(Debug, Subcommand)]
pub enum StateJob {
    /// Look for damage, without changing anything: ends with 0 if there is none, else with 7.
    Check(StateArgs),
    /// Make a new database of all that can be read; the damaged one is kept as crawl.sqlite.damaged-N. A crawl goes on
    /// with it: pages whose state is doubtful are fetched again.
    Repair(StateArgs),
    /// Copy a crawl from a state directory into a database, or back. The crawl goes on from the copy, with the same
    /// records; pages that wait for the fingerprint of their host are fetched again.
    Copy(CopyArgs),
    /// Bring the state to the version of this program. A crawl in a database needs it after an update; a state
    /// directory is also upgraded by its next run.
    Upgrade(StateArgs),
}

/// `crawl state copy`
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// The state to copy, as sqlite:DIR or postgres://user@host/database
    #[arg(value_name = "FROM")]
    pub from: String,
    /// Place of the copy, which has no such crawl yet: the same forms
    #[arg(value_name = "TO")]
    pub to: String,
    /// Name of the crawl in the database
    #[arg(long, value_name = "NAME")]
    pub crawl: String,
}

/// `crawl config`
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Print the default file, with an explanation of each setting
    #[arg(long = "default")]
    pub is_default: bool,
    /// The crawl, as it would be begun
    #[command(flatten)]
    pub run: RunArgs,
}

/// `crawl retry-errors`
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Only those of this kind, as the error log names it (repeatable; see docs/errors.md)
    ///
    /// Of a crawl in a database, these are failed pages of one worker, whose directory --state-dir names.
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// The crawl, as it was begun
    #[command(flatten)]
    pub run: RunArgs,
}

/// `crawl report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// State directory to report
    #[command(flatten)]
    pub state: StateArgs,
    /// File to write [default: report.html in the state directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show it in the browser
    #[arg(long)]
    pub open: bool,
}
