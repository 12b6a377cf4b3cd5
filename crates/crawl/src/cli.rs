//! The command line as plain data.

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
  crawl --seed urls.txt -o pages.jsonl             crawl the sites of the seeds, one line a page
  crawl --seed urls.txt --limit 100 | jq .text     a first look
  printf 'example.org\\n' | crawl --seed -          seeds from standard input
  crawl extract page.html --url https://example.org/page --format markdown
  crawl --seed urls.txt --scope domain --depth 3 --exclude '/archive/'

The same command again continues where it stopped. After a finished round it starts the next one, which asks only \
due pages (--recrawl) and writes only changes (--emit). --fresh starts over.

Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 storage full or unwritable, 4 no seed could be \
fetched, 5 stopped by a limit, 6 another run holds the state directory or writes the output, 7 state, output or \
archive is damaged, 130 interrupted (state saved).";

/// Help of the output, with the names that select a format.
fn output_help() -> String {
    let endings: Vec<&str> = crawl_output::endings().collect();
    format!(
        "Append records to FILE (default, and -: standard output)\n\n\
         An end of the name selects the format ({}). DIR/ is a folder of Markdown files.",
        endings.join(", ")
    )
}

/// Crawls sites politely and writes the main content of each page as JSONL.
#[derive(Debug, Parser)]
#[command(name = "crawl", version = env!("CRAWL_VERSION"), after_help = "crawl --help describes all flags and commands, with examples and exit codes.", after_long_help = EXAMPLES, disable_help_subcommand = true, args_conflicts_with_subcommands = true, max_term_width = 110)]
pub struct Cli {
    /// Another job than crawling.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of the main job.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Jobs beside the main one.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Extract the main content of a page, or of all pages of an archive or folder.
    Extract(ExtractArgs),
    /// Show how the pages of sites are read, by template.
    ///
    /// The input is a JSONL of pages, a WARC, or a folder of HTML or WARC.
    Site(SiteArgs),
    /// Explain the class of a page and how it should be fetched.
    Classify(ClassifyArgs),
    /// Remove what each domain repeats from a finished JSONL.
    Dedup(DedupArgs),
    /// Group exact and near duplicates of a corpus.
    ///
    /// Each group has a canonical document.
    Duplicates(DuplicatesArgs),
    /// Judge documents of a corpus by repetition and quality.
    ///
    /// The rules are those of Gopher, C4 and FineWeb. The output says why a document fails.
    Quality(QualityArgs),
    /// Explain one decision on a URL, robots.txt, sitemap or rule.
    ///
    /// The inputs are a robots.txt, a URL, bytes, a sitemap, rules of your own and a filter list.
    Check(CheckArgs),
    /// List, show, analyse and delete projects.
    ///
    /// A project keeps the pages of crawls with --project.
    Projects(ProjectsArgs),
    /// Serve projects over HTTP: a REST API (docs/api.md).
    Serve(ServeArgs),
    /// Serve projects, crawls and extraction to agents over MCP.
    ///
    /// MCP uses standard input and output (docs/api.md).
    Mcp(McpArgs),
    /// Print the effective settings with the source of each value.
    ///
    /// The flags are those of the crawl: `crawl config --config crawl.toml --depth 2`.
    Config(Box<ConfigArgs>),
    /// Show the frontier, held pages and errors of a crawl.
    ///
    /// It works beside a run. It lists the frontier by host, held pages, the last errors and the time of the next visits.
    Status(StatusArgs),
    /// List the files that the workers of a crawl have written, with the bytes that count.
    ///
    /// The crawl is in a database: `crawl outputs --store postgres://user@host/database --crawl NAME`.
    Outputs(StoreArgs),
    /// List the workers of a crawl in a database.
    ///
    /// The list has workers that have a lease or hosts, or have added or visited a URL of the current round.
    Workers(WorkersArgs),
    /// Fetch again the pages that failed in the last round.
    ///
    /// The round then continues: `crawl retry-errors --seed urls.txt -o pages.jsonl`.
    RetryErrors(Box<RetryArgs>),
    /// Check or repair a state directory.
    ///
    /// For example `crawl state check --state-dir DIR`.
    State(StateJobArgs),
    /// Extract the pages of an archive (--warc, WARC, WACZ, HTML) again, offline.
    Replay(ReplayArgs),
    /// Print the JSON Schema of a record, or its types for a loader.
    Schema(SchemaArgs),
    /// Write the report of the last run again.
    ///
    /// Each run leaves its report in the state directory: a page with the outcome of the run.
    Report(ReportArgs),
    /// Write the manual pages into a directory.
    ///
    /// There is one for each command: crawl.1, crawl-extract.1, …
    Manual {
        /// The directory, which is made if it does not exist
        dir: PathBuf,
    },
    /// Print shell completions.
    Completions {
        /// The shell to complete for.
        shell: clap_complete::Shell,
    },
}

/// Flags of the main job that `crawl -h` shows.
const SHORT_HELP: [&str; 4] = ["seed", "append", "scope", "limit"];

/// Commands that only `crawl --help` lists, so that `crawl -h` is one screen.
const LONG_HELP_COMMANDS: [&str; 3] = ["schema", "manual", "completions"];

impl Cli {
    /// Parses the arguments of the process.
    ///
    /// # Errors
    /// Help and version, which go to standard output, and faulty arguments.
    pub fn of_process() -> Result<Self, clap::Error> {
        Self::parse_from(&std::env::args_os().collect::<Vec<_>>())
    }

    fn parse_from(arguments: &[OsString]) -> Result<Self, clap::Error> {
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
            .map_err(|error| removed::explain(error, arguments, &mut command))?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Reads a seed without a flag. A word that names no file, URL or host is likely a command that is written wrong.
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
        let known = Cli::command();
        let advice = match config::nearest(text, known.get_subcommands().map(clap::Command::get_name)) {
            Some(command) => format!("is the command {command} meant?"),
            None => "crawl -h lists the commands".to_owned(),
        };
        return Err(format!("no command, file, URL or host has this name; {advice}"));
    }
    Ok(name)
}

/// Flags of the main job; all but a few override a key of the configuration.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// URLs, hosts or files of seeds to crawl, as with --seed
    #[arg(value_name = "URL|FILE", value_parser = seed_name, help_heading = "Input")]
    pub seeds: Vec<PathBuf>,
    /// File of seeds, or one URL, also without the flag (repeatable)
    ///
    /// A line is a URL or a bare host, or a comment that begins with #. A file that ends in .gz is unpacked. - is standard input.
    #[arg(long, value_name = "FILE|URL", help_heading = "Input")]
    pub seed: Vec<PathBuf>,
    /// File of settings (TOML); crawl config --default prints one with all of them
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub config: Option<PathBuf>,

    /// Append records to FILE (default, and -: standard output)
    #[arg(
        long_help = output_help(),
        short = 'o',
        long = "output",
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with = "replace"
    )]
    pub append: Option<PathBuf>,
    /// Keep the current state of the crawl in FILE: the latest record of each page (with --emit changes: of this round alone)
    #[arg(short = 'O', long = "replace-output", value_name = "FILE", help_heading = "Output")]
    pub replace: Option<PathBuf>,
    /// Keep every request and answer in DIR as WARC files, to be extracted again by crawl replay
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub warc: Option<PathBuf>,
    /// Directory of frontier, lock and errors.jsonl
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub state_dir: Option<PathBuf>,
    /// Keep the frontier in a database that several workers share, as postgres://user@host/database
    #[arg(long, value_name = "URL", help_heading = "Output")]
    pub store: Option<String>,
    /// Name of the crawl in the database
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub crawl: Option<String>,
    /// Forget the saved state and start over
    #[arg(long, help_heading = "Output")]
    pub fresh: bool,
    /// Records of a run after a finished round: auto, changes (new, changed, gone pages) or all (unchanged ones too)
    #[arg(long, value_name = "WHICH", help_heading = "Output")]
    pub emit: Option<String>,

    /// Links to follow: host, subdomains, domain, any
    #[arg(long, value_name = "SCOPE", help_heading = "Scope")]
    pub scope: Option<String>,
    /// Links from the nearest seed (0: the seeds alone)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope")]
    pub depth: Option<String>,
    /// Stop after N records
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Scope")]
    pub limit: Option<String>,
    /// Stop after this time, as 30m, 6h; what is in flight is finished
    #[arg(long, value_name = "TIME", help_heading = "Scope")]
    pub max_time: Option<String>,
    /// Stop after so many bytes received, as 500MiB
    #[arg(long, value_name = "SIZE", help_heading = "Scope")]
    pub max_bytes: Option<String>,
    /// Fetch only URLs that match (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    pub include: Vec<String>,
    /// Never fetch URLs that match (repeatable)
    #[arg(long, visible_alias = "exclude-regex", value_name = "REGEX", help_heading = "Scope")]
    pub exclude: Vec<String>,
    /// Do not read the sitemaps that robots.txt names
    #[arg(long, help_heading = "Scope")]
    pub no_sitemaps: bool,
    /// Do not read the feeds that pages name
    #[arg(long, help_heading = "Scope")]
    pub no_feeds: bool,
    /// Keep the pages in the project of this name too, where they are compared with each other (see crawl projects)
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    pub project: Option<String>,
    /// Label of these seeds within the project
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    pub source_group: Option<String>,
    /// Database of projects [default: $XDG_DATA_HOME/crawl/projects.sqlite]
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub database: Option<PathBuf>,

    /// Known pages to ask again after a finished round: auto (each as often as it changes), all, changed,
    /// none (new URLs alone). Changed: where a sitemap or a conditional request tells cheaply
    #[arg(long, value_name = "MODE", help_heading = "Recrawl")]
    pub recrawl: Option<String>,
    /// Leave a page alone for so long at least, as 20h (auto)
    #[arg(long, value_name = "TIME", help_heading = "Recrawl")]
    pub min_age: Option<String>,
    /// Ask again what was not visited for so long, as 720h (auto, changed)
    #[arg(long, value_name = "TIME", help_heading = "Recrawl")]
    pub max_age: Option<String>,

    /// Requests in flight over all hosts
    #[arg(short = 'c', long, value_name = "N", allow_negative_numbers = true, help_heading = "Fetching")]
    pub concurrency: Option<u32>,
    /// Requests in flight per host
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Fetching")]
    pub host_concurrency: Option<u32>,
    /// Least time between two requests to one host, as 200ms, 1s
    #[arg(long, value_name = "TIME", help_heading = "Fetching")]
    pub delay: Option<String>,
    /// Strategy: auto (as each page needs it), static, mobile, amp, chrome
    #[arg(long, value_name = "NAME", help_heading = "Fetching")]
    pub strategy: Option<String>,
    /// The browser for pages that scripts fill (default: the first chromium or google-chrome in PATH)
    #[arg(long, value_name = "PATH", help_heading = "Fetching")]
    pub chrome: Option<PathBuf>,
    /// Run the browser without its sandbox, as root has to
    #[arg(long, help_heading = "Fetching")]
    pub chrome_no_sandbox: bool,
    /// The user agent to send
    #[arg(long, value_name = "TEXT", help_heading = "Fetching")]
    pub user_agent: Option<String>,
    /// URL or mail address for site owners, sent in the user agent
    #[arg(long, value_name = "TEXT", help_heading = "Fetching")]
    pub contact: Option<String>,
    /// Send this header with every request, as curl does (repeatable; for a secret use the configuration)
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Fetching")]
    pub header: Vec<SecretString>,
    /// Keep cookies, each for the host that set it
    #[arg(long, help_heading = "Fetching")]
    pub cookies: bool,
    /// Send requests through this proxy, but for addresses that are not public; or none (default: HTTP_PROXY, HTTPS_PROXY,
    /// ALL_PROXY, NO_PROXY)
    #[arg(long, value_name = "URL", help_heading = "Fetching")]
    pub proxy: Option<SecretString>,
    /// Do not obey robots.txt, meta robots, X-Robots-Tag and nofollow
    #[arg(long, help_heading = "Fetching")]
    pub ignore_robots: bool,
    /// Keep pages whose site has opted out of mining and machine learning
    #[arg(long, help_heading = "Fetching")]
    pub no_respect_ai_optout: bool,
    /// Reach HOST:PORT at ADDRESS, as curl does (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = "Fetching")]
    pub resolve: Vec<String>,
    /// Allow addresses of this network although they are not public (repeatable)
    #[arg(long, value_name = "CIDR", help_heading = "Fetching")]
    pub allow_address: Vec<String>,
    /// Allow all addresses that are not public
    #[arg(long, help_heading = "Fetching")]
    pub allow_private_addresses: bool,

    /// Leave out pages that repeat another one's content or text (default: they only say so)
    #[arg(long, help_heading = "Cleaning")]
    pub drop_duplicates: bool,
    /// Least similarity of two texts that repeat each other [default: 0.85]
    #[arg(long, value_name = "0.3..1", help_heading = "Cleaning")]
    pub near_jaccard: Option<f64>,
    /// Find only pages with the same content, not those with nearly the same text
    #[arg(long, help_heading = "Cleaning")]
    pub no_near_duplicates: bool,
    /// Text to keep of a page
    #[command(flatten)]
    pub text: TextArgs,

    /// No progress and no summary
    #[arg(short, long, help_heading = "Messages")]
    pub quiet: bool,
    /// Show the counts of the run to Prometheus at this address, as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS", help_heading = "Messages")]
    pub metrics_listen: Option<String>,
    /// Write the counts of the run to FILE, for the textfile collector of a node exporter
    #[arg(long, value_name = "FILE", help_heading = "Messages")]
    pub metrics_textfile: Option<PathBuf>,
    /// error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", help_heading = "Messages")]
    pub log_level: Option<String>,
    /// text or json
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
