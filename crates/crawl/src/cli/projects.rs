//! Flags of `crawl projects`, `crawl serve` and `crawl mcp`.

use super::{DedupMode, Overrides};
use clap::{Args, Subcommand};
use crawl_engine::config::Override;
use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

/// Database and settings.
#[derive(Debug, Args)]
pub struct DatabaseArgs {
    /// Database of projects [default: $XDG_DATA_HOME/crawl/projects.sqlite]
    #[arg(long, value_name = "FILE", global = true)]
    pub database: Option<PathBuf>,
    /// Settings file (TOML); crawl config --default prints one with every setting
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

impl DatabaseArgs {
    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        out.path("--database", "projects.database", self.database.as_ref());
        out.0
    }
}

/// `crawl projects`
#[derive(Debug, Args)]
pub struct ProjectsArgs {
    /// Action
    #[command(subcommand)]
    pub what: ProjectsWhat,
    /// Database of the projects
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// Actions on projects; a project is given by its name or its id.
#[derive(Debug, Subcommand)]
pub enum ProjectsWhat {
    /// List all projects with their pages.
    List,
    /// Create an empty project. A crawl with --project creates its project itself.
    Create {
        /// Name of the project
        name: String,
    },
    /// Show a project: its domains, their pages, and the boilerplate that the last analysis found.
    Show {
        /// Name or id
        project: String,
    },
    /// Delete a project with all its pages.
    Delete {
        /// Name or id
        project: String,
    },
    /// Find the boilerplate of each domain of a project, and remove it from the pages.
    Analyze(AnalyzeArgs),
    /// Check the structure of the database and the checksum of each page. Exit code 7: damage.
    Check,
}

/// `crawl projects analyze`
#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// Name or id
    pub project: String,
    /// Analyze only the pages of this source group (repeatable)
    #[arg(long, value_name = "NAME")]
    pub source_group: Vec<String>,
    /// Mode of the search for boilerplate [default: dedup.mode of the settings]
    #[arg(long, value_enum)]
    pub mode: Option<DedupMode>,
    /// Minimum share of a domain's pages that have a boilerplate block, 0.1 to 1 [default: from the settings]
    #[arg(long, value_name = "SHARE")]
    pub threshold_pct: Option<f64>,
    /// Minimum pages of a domain, 2 to 100 [default: from the settings]
    #[arg(long, value_name = "N")]
    pub min_pages: Option<i64>,
    /// Minimum length of a block in characters, 10 to 500 [default: from the settings]
    #[arg(long, value_name = "N")]
    pub min_block_chars: Option<i64>,
}

/// Reads the address to listen on. The error for a bare address or port shows the complete form.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text);
        match (text.parse::<IpAddr>(), port.parse::<u16>()) {
            (Ok(address), _) => format!("no port; write {}", SocketAddr::new(address, DEFAULT_PORT)),
            (_, Ok(port)) => format!("no address; write 127.0.0.1:{port}"),
            _ => format!("write ADDRESS:PORT, such as 127.0.0.1:{DEFAULT_PORT}; a host name is not allowed"),
        }
    })
}

/// Port of `serve.listen` in `config/crawl.toml`.
const DEFAULT_PORT: u16 = 8620;

/// `crawl serve`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address and port to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// File with the token that clients must send
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Database of the projects
    #[command(flatten)]
    pub database: DatabaseArgs,
}

impl ServeArgs {
    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(self.database.overrides());
        out.path("--token-file", "serve.token_file", self.token_file.as_ref());
        if let Some(listen) = self.listen {
            out.set("--listen", "serve.listen", listen.to_string());
        }
        out.0
    }
}

/// `crawl mcp`
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Database of the projects
    #[command(flatten)]
    pub database: DatabaseArgs,
}
