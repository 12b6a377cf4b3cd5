//! Arguments of the command line as plain data.

mod address;
mod duplicates;
mod jobs;
mod operate;
mod other_names;
mod overrides;
mod projects;
mod quality;
mod removed;
mod replay;
mod text;

use crate::usage_error;
pub use address::{page_url, whole_url};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use crawl_engine::{
    config::{self, Override},
    seeds,
};
pub use duplicates::DuplicatesArgs;
pub use jobs::{
    CheckArgs, CheckWhat, ClassifyArgs, DedupArgs, DedupMode, ExplainForm, ExtractArgs, RulesArgs, SiteArgs,
    TextFormat,
};
pub use operate::{
    ConfigArgs, CopyArgs, ReportArgs, RetryArgs, SchemaArgs, StateArgs, StateJob, StateJobArgs, StatusArgs,
    StoreArgs, WorkersArgs,
};
use overrides::Overrides;
pub use projects::{AnalyzeArgs, DatabaseArgs, McpArgs, ProjectsArgs, ProjectsWhat, ServeArgs};
pub use quality::QualityArgs;
pub use replay::ReplayArgs;
use secrecy::{ExposeSecret, SecretString};
use std::{ffi::OsString, path::PathBuf};
pub use text::TextArgs;

const EXAMPLES: &str = "\
Examples:
  crawl https://example.org -o pages.jsonl         crawl one site
  crawl --seed urls.txt -o pages.jsonl             crawl the sites in a seed file, one line per page
  crawl --seed urls.txt --limit 100 | jq .text     print the text of the first 100 pages
  printf 'example.org\\n' | crawl --seed -          read seeds from standard input
  crawl extract page.html --url https://example.org/page --format markdown
  crawl --seed urls.txt --scope domain --depth 3 --exclude '/archive/'

Run the same command again to continue an interrupted crawl. After a finished round the same command starts the \
next round. It fetches only pages that are due (--recrawl) and writes only changes (--emit). --fresh starts over.

Exit codes: 0 done, 1 internal error, 2 wrong flags or settings, 3 disk full or unwritable, 4 no seed could be \
fetched, 5 stopped by a limit, 6 another run uses the state directory or the output, 7 state, output or \
archive is damaged, 130 interrupted (state saved).";

/// Help of the output, with the names that select a format.
fn output_help() -> String {
    let endings: Vec<&str> = crawl_output::endings().collect();
    format!(
        "Append records to FILE; - is standard output, the default\n\n\
         The file name extension selects the format ({}). DIR/ is a folder of Markdown files.",
        endings.join(", ")
    )
}

/// Crawl web sites politely and write the main content of each page as JSONL.
#[derive(Debug, Parser)]
#[command(name = "crawl", version = env!("CRAWL_VERSION"), after_help = "crawl --help describes all flags and commands, with examples and exit codes.", after_long_help = EXAMPLES, disable_help_subcommand = true, args_conflicts_with_subcommands = true, max_term_width = 110)]
pub struct Cli {
    /// Subcommand; without one the program crawls.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of a crawl.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Extract the main content of a page, or of all pages of an archive or folder.
    Extract(ExtractArgs),
    /// Show how extraction reads the pages of each site, grouped by page template.
    ///
    /// The input is JSONL with pages, a WARC file, or a folder of HTML or WARC files.
    Site(SiteArgs),
    /// Show the page type of a page, the strategy to fetch it, and the reason.
    Classify(ClassifyArgs),
    /// Remove the boilerplate of each domain from a finished JSONL file.
    Dedup(DedupArgs),
    /// Group exact and near duplicates of a corpus.
    ///
    /// Each group names one canonical document, the one to keep.
    Duplicates(DuplicatesArgs),
    /// Score the documents of a corpus by repetition and quality.
    ///
    /// The rules are those of Gopher, C4 and FineWeb. The output names the rules that a document fails.
    Quality(QualityArgs),
    /// Explain one decision, or check one file, offline.
    ///
    /// It checks a robots.txt, URLs, the charset of a page, a sitemap, extraction rules, a filter list or a settings file.
    Check(CheckArgs),
    /// List, show, analyze and delete projects.
    ///
    /// A project is a named set of pages in a database. Crawls with --project add pages to it.
    Projects(ProjectsArgs),
    /// Serve projects over HTTP: a REST API (docs/api.md).
    Serve(ServeArgs),
    /// Serve projects, crawls and extraction to AI agents over MCP.
    ///
    /// The server speaks the Model Context Protocol on standard input and output (docs/api.md).
    Mcp(McpArgs),
    /// Print the effective settings with the source of each value.
    ///
    /// It takes the flags of a crawl, for example `crawl config --config crawl.toml --depth 2`.
    Config(Box<ConfigArgs>),
    /// Show the frontier, held pages and errors of a crawl.
    ///
    /// It lists the frontier by host, held pages, the last errors and the time of the next visits. It may be used during a run.
    /// Held pages are fetched, but wait until enough pages of their host show its boilerplate.
    Status(StatusArgs),
    /// List the output files of a crawl in PostgreSQL, with their valid length in bytes.
    ///
    /// Each worker has its own: `crawl outputs --store postgres://user@host/database --crawl NAME`.
    Outputs(StoreArgs),
    /// List the workers of a crawl in PostgreSQL.
    ///
    /// A worker is listed if it has a lease or hosts, or has added or visited a URL in the current round.
    Workers(WorkersArgs),
    /// Fetch again the pages that failed in the last round.
    ///
    /// It takes the flags of the crawl, for example `crawl retry-errors --seed urls.txt -o pages.jsonl`.
    /// An interrupted round then continues.
    RetryErrors(Box<RetryArgs>),
    /// Check, repair, copy or upgrade the state of a crawl.
    ///
    /// For example `crawl state check --state-dir DIR`.
    State(StateJobArgs),
    /// Extract the pages of a web archive (WARC, WACZ, HTML) again, offline.
    Replay(ReplayArgs),
    /// Print the JSON Schema of a record, or its types for the Python package datasets.
    Schema(SchemaArgs),
    /// Write the HTML report of the last run again.
    ///
    /// Each run writes a report to its state directory: one HTML page with its results and errors.
    Report(ReportArgs),
    /// Write the manual pages to a directory.
    ///
    /// Each command has one: crawl.1, crawl-extract.1, …
    Manual {
        /// The directory; it is created if it does not exist
        dir: PathBuf,
    },
    /// Print shell completions.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

/// Flags of a crawl that `crawl -h` shows.
const SHORT_HELP: [&str; 4] = ["seed", "append", "scope", "limit"];

/// Commands that only `crawl --help` lists, so that `crawl -h` is one screen.
const LONG_HELP_COMMANDS: [&str; 3] = ["schema", "manual", "completions"];

impl Cli {
    /// Parses the arguments of the process.
    ///
    /// # Errors
    /// Returns an error for wrong arguments, and also for `--help` and `--version`, whose text goes to standard output.
    pub fn of_process() -> Result<Self, clap::Error> {
        Self::parse_from(&std::env::args_os().collect::<Vec<_>>())
    }

    fn parse_from(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let as_flag = usage_error::as_help_flag(arguments);
        let arguments = as_flag.as_deref().unwrap_or(arguments);
        let mut command = Self::command().mut_args(|argument| {
            let is_short = SHORT_HELP.contains(&argument.get_id().as_str());
            argument.hide_short_help(!is_short)
        });
        if arguments.iter().skip(1).any(|word| word == "-h") {
            for name in LONG_HELP_COMMANDS {
                command = command.mut_subcommand(name, |subcommand| subcommand.hide(true));
            }
        }
        let matches = command
            .try_get_matches_from_mut(arguments)
            .map_err(|error| other_names::explain(error, arguments, &command))
            .map_err(|error| usage_error::with_checks::<CheckWhat>(error, arguments))
            .map_err(|error| removed::explain(error, arguments, &mut command))?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Reads a seed without a flag. A word that names no file, URL or host is likely a misspelled command.
fn seed_name(text: &str) -> Result<PathBuf, String> {
    let name = PathBuf::from(text);
    if let Some(url) = seeds::as_url(&name) {
        return match crawl_fetch::parse_seed_line(url) {
            Ok(_) => Ok(name),
            Err(problem) => Err(problem),
        };
    }
    let is_path = name.extension().is_some() || name.components().count() > 1;
    let is_file = text == "-" || name.exists() || is_path && !text.contains([':', '@']);
    if !is_file {
        if text.contains("://") || text.contains('@') {
            return crawl_fetch::parse_seed_line(text).map(|_| name);
        }
        let known = Cli::command();
        let advice = match config::nearest(text, known.get_subcommands().map(clap::Command::get_name)) {
            Some(command) => format!("did you mean the command {command}?"),
            None => "crawl -h lists the commands".to_owned(),
        };
        return Err(format!("not a command, file, URL or host; {advice}"));
    }
    Ok(name)
}

/// Flags of a crawl. Most override a setting.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// URLs, hosts or seed files to crawl, as with --seed
    #[arg(value_name = "URL|FILE", value_parser = seed_name, help_heading = "Input")]
    pub seeds: Vec<PathBuf>,
    /// Seed file, or one URL (repeatable); the flag name may be omitted
    ///
    /// A seed file has a URL or a host on each line. Lines that begin with # are comments. A .gz file is unpacked. - is standard input.
    #[arg(long, value_name = "FILE|URL", help_heading = "Input")]
    pub seed: Vec<PathBuf>,
    /// Settings file (TOML); crawl config --default prints one with every setting
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub config: Option<PathBuf>,

    /// Append records to FILE; - is standard output, the default
    #[arg(
        long_help = output_help(),
        short = 'o',
        long = "output",
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with = "replace"
    )]
    pub append: Option<PathBuf>,
    /// Keep the latest record of each page in FILE (with --emit changes: only the records of this round)
    #[arg(short = 'O', long = "replace-output", value_name = "FILE", help_heading = "Output")]
    pub replace: Option<PathBuf>,
    /// Keep all requests and responses in DIR as WARC files; crawl replay extracts them again
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub warc: Option<PathBuf>,
    /// Directory with the state of the crawl: frontier, lock and errors.jsonl
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub state_dir: Option<PathBuf>,
    /// Keep the frontier in a PostgreSQL database that several workers share: postgres://user@host/database
    #[arg(long, value_name = "URL", help_heading = "Output")]
    pub store: Option<String>,
    /// Name of the crawl in the database
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub crawl: Option<String>,
    /// Forget the saved state and start over
    #[arg(long, help_heading = "Output")]
    pub fresh: bool,
    /// Records to write after the first round: auto, changes (new, changed and gone pages) or all (unchanged ones too)
    #[arg(long, value_name = "WHICH", help_heading = "Output")]
    pub emit: Option<String>,

    /// Links to follow: host, subdomains, domain, any [default: host]
    #[arg(long, value_name = "SCOPE", help_heading = "Scope")]
    pub scope: Option<String>,
    /// Maximum number of links from a seed to a page (0: only the seeds); pages of sitemaps count as one link away [default: unlimited]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope")]
    pub depth: Option<String>,
    /// Stop after N records
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope")]
    pub limit: Option<String>,
    /// Stop after this time, such as 30m or 6h; requests in flight are finished
    #[arg(long, value_name = "TIME", help_heading = "Scope")]
    pub max_time: Option<String>,
    /// Stop after receiving this many bytes, such as 500MiB
    #[arg(long, value_name = "SIZE", help_heading = "Scope")]
    pub max_bytes: Option<String>,
    /// Fetch only URLs that match this regular expression (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    pub include: Vec<String>,
    /// Never fetch URLs that match this regular expression (repeatable)
    #[arg(long, visible_alias = "exclude-regex", value_name = "REGEX", help_heading = "Scope")]
    pub exclude: Vec<String>,
    /// Do not read the sitemaps listed in robots.txt
    #[arg(long, help_heading = "Scope")]
    pub no_sitemaps: bool,
    /// Do not read the feeds (RSS, Atom, JSON Feed) that pages link to
    #[arg(long, help_heading = "Scope")]
    pub no_feeds: bool,
    /// Also store the pages in this project, to compare pages of several crawls (see crawl projects)
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    pub project: Option<String>,
    /// Label of these seeds within the project
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    pub source_group: Option<String>,
    /// Database of projects [default: $XDG_DATA_HOME/crawl/projects.sqlite]
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub database: Option<PathBuf>,

    /// Known pages to visit again in a later round: auto (each as often as it changes), all, changed, none (only new
    /// URLs). With changed a page is visited if a sitemap or a conditional request can show a change
    #[arg(long, value_name = "MODE", help_heading = "Recrawl")]
    pub recrawl: Option<String>,
    /// Minimum time between two visits of a page, such as 20h (for auto)
    #[arg(long, value_name = "TIME", help_heading = "Recrawl")]
    pub min_age: Option<String>,
    /// Maximum time between two visits of a page, such as 720h (for auto and changed)
    #[arg(long, value_name = "TIME", help_heading = "Recrawl")]
    pub max_age: Option<String>,

    /// Maximum requests in flight over all hosts
    #[arg(short = 'c', long, value_name = "N", allow_negative_numbers = true, help_heading = "Fetching")]
    pub concurrency: Option<u32>,
    /// Maximum requests in flight per host
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Fetching")]
    pub host_concurrency: Option<u32>,
    /// Minimum time between two requests to one host, such as 200ms or 1s [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Fetching")]
    pub delay: Option<String>,
    /// Method to fetch pages: auto (chosen for each page), static, mobile, amp, chrome (a browser)
    #[arg(long, value_name = "NAME", help_heading = "Fetching")]
    pub strategy: Option<String>,
    /// Browser for pages whose text comes from scripts [default: the first chromium or google-chrome in PATH]
    #[arg(long, value_name = "PATH", help_heading = "Fetching")]
    pub chrome: Option<PathBuf>,
    /// Run the browser without its sandbox; needed as root
    #[arg(long, help_heading = "Fetching")]
    pub chrome_no_sandbox: bool,
    /// User agent to send
    #[arg(long, value_name = "TEXT", help_heading = "Fetching")]
    pub user_agent: Option<String>,
    /// URL or mail address for site owners, sent in the user agent
    #[arg(long, value_name = "TEXT", help_heading = "Fetching")]
    pub contact: Option<String>,
    /// Send this header with every request (repeatable; for secrets use fetch.auth in a settings file)
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Fetching")]
    pub header: Vec<SecretString>,
    /// Keep cookies, each for the host that set it
    #[arg(long, help_heading = "Fetching")]
    pub cookies: bool,
    /// Proxy for requests, except to private IP addresses in URLs, or none [default: HTTP_PROXY, HTTPS_PROXY,
    /// ALL_PROXY, NO_PROXY]
    #[arg(long, value_name = "URL", help_heading = "Fetching")]
    pub proxy: Option<SecretString>,
    /// Do not obey robots.txt, meta robots, X-Robots-Tag and nofollow
    #[arg(long, help_heading = "Fetching")]
    pub ignore_robots: bool,
    /// Keep pages whose site has opted out of text mining and machine learning
    #[arg(long, help_heading = "Fetching")]
    pub no_respect_ai_optout: bool,
    /// Connect to ADDRESS for HOST:PORT, as with curl's --resolve (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = "Fetching")]
    pub resolve: Vec<String>,
    /// Allow requests to these private addresses, such as 10.0.0.0/8 or 127.0.0.1/32 (repeatable)
    #[arg(long, value_name = "CIDR", help_heading = "Fetching")]
    pub allow_address: Vec<String>,
    /// Allow requests to all private addresses: those that are not public, also loopback
    #[arg(long, help_heading = "Fetching")]
    pub allow_private_addresses: bool,

    /// Omit pages that repeat the content or text of another one [default: write them, marked as duplicates]
    #[arg(long, help_heading = "Cleaning")]
    pub drop_duplicates: bool,
    /// Minimum Jaccard similarity of near duplicates [default: 0.85]
    #[arg(long, value_name = "0.3..1", help_heading = "Cleaning")]
    pub near_jaccard: Option<f64>,
    /// Find only exact duplicates, not near duplicates
    #[arg(long, help_heading = "Cleaning")]
    pub no_near_duplicates: bool,
    /// Text to keep of a page
    #[command(flatten)]
    pub text: TextArgs,

    /// Print no progress and no summary
    #[arg(short, long, help_heading = "Messages")]
    pub quiet: bool,
    /// Serve metrics for Prometheus at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", help_heading = "Messages")]
    pub metrics_listen: Option<String>,
    /// Write metrics to FILE, for the textfile collector of the Prometheus node exporter
    #[arg(long, value_name = "FILE", help_heading = "Messages")]
    pub metrics_textfile: Option<PathBuf>,
    /// Lowest level of messages: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", help_heading = "Messages")]
    pub log_level: Option<String>,
    /// Format of messages: text or json
    #[arg(long, value_name = "FORMAT", help_heading = "Messages")]
    pub log_format: Option<String>,
}

impl RunArgs {
    /// Seeds of the run, with and without the flag.
    #[must_use]
    pub fn named_seeds(&self) -> Vec<PathBuf> {
        self.seed.iter().chain(&self.seeds).cloned().collect()
    }

    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        out.output("--output", "output.append", self.append.as_ref());
        out.output("--replace-output", "output.replace", self.replace.as_ref());
        // a flag names one output: it must not meet the other kind from the file
        if self.append.is_some() {
            out.set("--output", "output.replace", "");
        }
        if self.replace.is_some() {
            out.set("--replace-output", "output.append", "");
        }
        out.path("--warc", "archive.dir", self.warc.as_ref());
        out.path("--state-dir", "state.dir", self.state_dir.as_ref());
        out.text("--store", "state.store", self.store.as_ref());
        out.text("--crawl", "state.crawl", self.crawl.as_ref());
        out.text("--scope", "crawl.scope", self.scope.as_ref());
        out.limit("--depth", "crawl.depth", self.depth.as_ref());
        out.limit("--limit", "crawl.limit", self.limit.as_ref());
        out.text("--max-time", "crawl.max_time", self.max_time.as_ref());
        out.text("--max-bytes", "crawl.max_bytes", self.max_bytes.as_ref());
        out.list("--include", "crawl.include", &self.include);
        out.list("--exclude", "crawl.exclude", &self.exclude);
        out.switch("--no-sitemaps", "crawl.sitemaps", self.no_sitemaps, false);
        if self.no_feeds {
            out.set("--no-feeds", "crawl.feeds", 0);
        }
        self.recrawl_overrides(&mut out);
        out.text("--project", "crawl.project", self.project.as_ref());
        out.text("--source-group", "crawl.source_group", self.source_group.as_ref());
        out.path("--database", "projects.database", self.database.as_ref());
        self.fetching(&mut out);
        self.cleaning(&mut out);
        out.text("--metrics-listen", "metrics.listen", self.metrics_listen.as_ref());
        out.path("--metrics-textfile", "metrics.textfile", self.metrics_textfile.as_ref());
        out.text("--log-level", "log.level", self.log_level.as_ref());
        out.text("--log-format", "log.format", self.log_format.as_ref());
        out.0
    }

    fn fetching(&self, out: &mut Overrides) {
        out.number("--concurrency", "fetch.concurrency", self.concurrency);
        out.number("--host-concurrency", "politeness.host_concurrency", self.host_concurrency);
        out.text("--delay", "politeness.delay", self.delay.as_ref());
        out.text("--strategy", "fetch.strategy", self.strategy.as_ref());
        out.path("--chrome", "chrome.path", self.chrome.as_ref());
        out.switch("--chrome-no-sandbox", "chrome.sandbox", self.chrome_no_sandbox, false);
        out.text("--user-agent", "fetch.user_agent", self.user_agent.as_ref());
        out.text("--contact", "fetch.contact", self.contact.as_ref());
        let headers: Vec<_> = self.header.iter().map(|header| header.expose_secret().to_owned()).collect();
        out.list("--header", "fetch.headers", &headers);
        out.switch("--cookies", "fetch.cookies", self.cookies, true);
        if let Some(proxy) = &self.proxy {
            out.set("--proxy", "fetch.proxy", proxy.expose_secret());
        }
        out.switch("--ignore-robots", "crawl.obey_robots", self.ignore_robots, false);
        out.switch("--no-respect-ai-optout", "crawl.respect_ai_optout", self.no_respect_ai_optout, false);
        out.list("--resolve", "fetch.resolve", &self.resolve);
        out.list("--allow-address", "fetch.allow_addresses", &self.allow_address);
        out.switch(
            "--allow-private-addresses",
            "fetch.allow_private_addresses",
            self.allow_private_addresses,
            true,
        );
    }

    fn cleaning(&self, out: &mut Overrides) {
        self.text.overrides(out);
        out.switch("--drop-duplicates", "near_duplicates.drop", self.drop_duplicates, true);
        out.share("--near-jaccard", "near_duplicates.jaccard", self.near_jaccard);
        out.switch("--no-near-duplicates", "near_duplicates.enabled", self.no_near_duplicates, false);
    }

    fn recrawl_overrides(&self, out: &mut Overrides) {
        out.text("--recrawl", "recrawl.mode", self.recrawl.as_ref());
        out.text("--min-age", "recrawl.min_age", self.min_age.as_ref());
        out.text("--max-age", "recrawl.max_age", self.max_age.as_ref());
        out.text("--emit", "output.emit", self.emit.as_ref());
    }
}
