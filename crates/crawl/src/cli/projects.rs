//! Flags of the jobs around projects: the command line over them, the server, the tools for agents.

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
    /// Configuration file (TOML; see config/crawl.toml for every key)
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
    /// Make an empty project; a crawl with --project makes its own.
    Create {
        /// Its name
        name: String,
    },
    /// Show a project: its domains, their pages, and what the last analysis found they repeat.
    Show {
        /// Name or id
        project: String,
    },
    /// Remove a project with all its pages.
    Delete {
        /// Name or id
        project: String,
    },
    /// Find what the domains of a project repeat, and clean its pages of it.
    Analyze(AnalyzeArgs),
    /// Check the database: its structure, and each page against its checksum. Exit code 7 if anything is damaged.
    Check,
}

/// `crawl projects analyze`
#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// Name or id
    pub project: String,
    /// Analyse the pages of this group alone (repeatable)
    #[arg(long, value_name = "NAME")]
    pub source_group: Vec<String>,
    /// Mode of judging blocks [default: from the configuration]
    #[arg(long, value_enum)]
    pub mode: Option<DedupMode>,
    /// Share of a domain's pages that a block must stand on, 0.1 to 1 [default: from the configuration]
    #[arg(long, value_name = "SHARE")]
    pub threshold_pct: Option<f64>,
    /// Least pages of a domain, 2 to 100 [default: from the configuration]
    #[arg(long, value_name = "N")]
    pub min_pages: Option<i64>,
    /// Shortest block looked at, in characters, 10 to 500 [default: from the configuration]
    #[arg(long, value_name = "N")]
    pub min_block_chars: Option<i64>,
}

/// Reads the address to listen at. An address or a port alone is answered with both.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.strip_prefix("localhost:").or(text.strip_prefix(':')).unwrap_or(text);
        match (text.parse::<IpAddr>(), port.parse::<u16>()) {
            (Ok(address), _) => format!("no port; write {}", SocketAddr::new(address, DEFAULT_PORT)),
            (_, Ok(port)) => format!("no address; write 127.0.0.1:{port}"),
            _ => format!("write ADDRESS:PORT, such as 127.0.0.1:{DEFAULT_PORT}; a host name is not taken"),
        }
    })
}

/// Port of `serve.listen` in `config/crawl.toml`.
const DEFAULT_PORT: u16 = 8620;

/// `crawl serve`
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// File with the token that callers must send
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
