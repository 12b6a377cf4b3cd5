//! Flags of the commands on the state of a crawl.

use super::{Overrides, RunArgs};
use clap::{Args, Subcommand};
use crawl_engine::config::Override;
use std::path::PathBuf;

/// State directory.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// Seeds of the crawl, the same as in its command; they determine its state directory
    #[arg(value_name = "URL|FILE")]
    pub seeds: Vec<PathBuf>,
    /// Seed file or URL of the crawl (repeatable)
    #[arg(long, value_name = "FILE|URL")]
    pub seed: Vec<PathBuf>,
    /// State directory of the crawl, if its command has one
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Settings file of the crawl
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Database of the crawl: postgres://user@host/database
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Name of the crawl in the database
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
    /// Database of the crawl: postgres://user@host/database
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Name of the crawl in the database
    #[arg(long, value_name = "NAME")]
    pub crawl: Option<String>,
    /// Settings file of the crawl
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
    /// Also list workers that have done nothing in the current round
    #[arg(long)]
    pub all: bool,
}

/// `crawl status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// State directory to describe
    #[command(flatten)]
    pub state: StateArgs,
    /// Maximum hosts to show, those with most URLs first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub hosts: usize,
    /// Maximum errors to show, the latest ones
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub errors: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `crawl schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Print the features argument for load_dataset of the Python package datasets
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

/// Commands on a state that no run uses.
#[derive(Debug, Subcommand)]
pub enum StateJob {
    /// Check the state for damage and change nothing. Exit code 0: no damage, 7: damage.
    Check(StateArgs),
    /// Build a new database from the readable rows. The damaged one is kept as crawl.sqlite.damaged-N. The crawl
    /// then continues, and fetches pages with an uncertain state again.
    Repair(StateArgs),
    /// Copy a crawl from a state directory to a database, or back. The crawl continues from the copy with the same
    /// records. It fetches held pages again.
    Copy(CopyArgs),
    /// Upgrade the state to the version of this program. A crawl in a database needs this after an update. A state
    /// directory is also upgraded by its next run.
    Upgrade(StateArgs),
}

/// `crawl state copy`
#[derive(Debug, Args)]
pub struct CopyArgs {
    /// The state to copy, as sqlite:DIR or postgres://user@host/database
    #[arg(value_name = "FROM")]
    pub from: String,
    /// Target of the copy, in the same form; it must not have this crawl yet
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
    /// Flags of a crawl
    #[command(flatten)]
    pub run: RunArgs,
}

/// `crawl retry-errors`
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Fetch only failures of this kind, a `kind` of errors.jsonl (repeatable; see docs/errors.md) [default: all but traps]
    ///
    /// For a crawl in a database these are the failures of one worker, whose directory is --state-dir.
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Flags of the crawl
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
    /// Open the report in the web browser
    #[arg(long)]
    pub open: bool,
}
