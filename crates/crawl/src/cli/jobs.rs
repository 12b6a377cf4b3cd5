//! Flags of the commands that read pages and files.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Format of `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// One JSON record per page.
    Json,
    /// The main content as Markdown.
    Markdown,
    /// The main content as plain text.
    Text,
}

/// Format of an explanation of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainForm {
    /// Lines of text, or with `--format json` one JSON object.
    Text,
    /// One HTML page: the source page with kept and removed parts marked.
    Html,
}

/// Extraction rules besides the built-in ones.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Directory of your own extraction rules (TOML), which override the built-in ones (see docs/rules.md)
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
    /// Remove the elements that a filter list in EasyList syntax hides (repeatable)
    #[arg(long, value_name = "FILE")]
    pub consent_list: Vec<PathBuf>,
}

/// `crawl extract`
#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// HTML file, https:// URL, WARC or WACZ file, or folder of HTML files; with --jsonl a JSONL file. - or no
    /// argument: standard input. A URL is fetched if robots.txt allows it
    #[arg(value_name = "FILE|URL")]
    pub file: Option<PathBuf>,
    /// Further archives, HTML files and folders, read together: a revisit record may refer to a page in another archive
    #[arg(value_name = "FILE", conflicts_with_all = ["jsonl", "explain"])]
    pub more: Vec<PathBuf>,
    /// URL of the page. It completes relative links, and dates in it are used. For a folder: URL of its top level
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// Content-Type header of the page, which may name its charset
    #[arg(long, value_name = "VALUE")]
    pub content_type: Option<String>,
    /// Read JSON lines {"id","url","content_type","html" or "html_base64"}, also in gzip or zstd. Write one record per
    /// line, in the same order
    #[arg(long)]
    pub jsonl: bool,
    /// With --jsonl: read all lines first, learn the page templates of each host from its pages, then extract with them
    #[arg(long, requires = "jsonl", conflicts_with = "explain")]
    pub by_site: bool,
    /// Output format [default: json for files, markdown for URLs, text with --explain]. Several pages
    /// are one JSON record per line, whose `text` has the format
    #[arg(long, value_enum)]
    pub format: Option<TextFormat>,
    /// Write only these fields, such as id,text,metadata.title (crawl schema lists all), one record per line
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "explain")]
    pub fields: Vec<String>,
    /// Write only id, url, text, title, published and language, one record per line
    #[arg(long, conflicts_with_all = ["fields", "explain"])]
    pub lean: bool,
    /// For a URL: settings file with credentials, headers, proxy, browser and extraction settings. Flags take
    /// precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Explain the text of a file: candidates, removed parts and their rules, sources of the metadata.
    /// --explain=html writes the source page with removed parts greyed
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub explain: Option<ExplainForm>,
    /// Extract only the elements that match these CSS selectors, such as 'article h2, .price'
    #[arg(long, value_name = "CSS", conflicts_with_all = ["by_site", "explain"])]
    pub select: Option<String>,
    /// Extraction rules
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Preference in extraction: precision (less text), recall (more text), balanced [default: balanced]
    #[arg(long)]
    pub favor: Option<crawl_extract::Favor>,
    /// Links in the text: keep, once (each address once), strip, reference (numbered, addresses at the end) [default:
    /// keep]
    #[arg(long)]
    pub links: Option<crawl_extract::LinkStyle>,
    /// Keep images in the text
    #[arg(long)]
    pub images: bool,
    /// Omit tables
    #[arg(long)]
    pub no_tables: bool,
    /// Keep the comments below an article
    #[arg(long)]
    pub comments: bool,
    /// Copy all JSON-LD and OpenGraph data of the page into the record
    #[arg(long)]
    pub raw_metadata: bool,
    /// Allow requests to these private addresses, such as 10.0.0.0/8 or 127.0.0.1/32 (repeatable)
    #[arg(long, value_name = "CIDR")]
    pub allow_address: Vec<String>,
    /// For a URL: connect to ADDRESS for HOST:PORT, as with curl's --resolve (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub resolve: Vec<String>,
    /// For a URL: browser for a page whose text comes from scripts [default: the first chromium or google-chrome in
    /// PATH]
    #[arg(long, value_name = "PATH")]
    pub chrome: Option<PathBuf>,
    /// For a URL: run the browser without its sandbox; needed as root
    #[arg(long)]
    pub chrome_no_sandbox: bool,
}

/// `crawl site`
#[derive(Debug, Args)]
pub struct SiteArgs {
    /// JSON lines {"id","url","content_type","html" or "html_base64"}, a WARC file (.warc, .warc.gz), or a folder of
    /// HTML or WARC files. - or no argument: standard input
    pub file: Option<PathBuf>,
    /// For a folder of HTML files: URL of its top level
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// Write one HTML page: a picture of each page template, with content, page frame and unsure parts
    #[arg(long, conflicts_with = "json")]
    pub html: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Extraction rules
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// `crawl classify`
#[derive(Debug, Args)]
pub struct ClassifyArgs {
    /// HTML file, or with --jsonl a JSONL file; - or no argument: standard input
    pub file: Option<PathBuf>,
    /// URL of the page
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// Read JSON lines {"id","url","content_type","html" or "html_base64"}, write
    /// {"id","pageType","strategy","confidence","reason","signals"}
    #[arg(long)]
    pub jsonl: bool,
    /// Extraction rules
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Mode of the search for boilerplate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DedupMode {
    /// A block is boilerplate by the share of pages with it.
    Exact,
    /// The position of a block on the page and its neighbours count too.
    Site,
}

/// `crawl dedup`
#[derive(Debug, Args)]
pub struct DedupArgs {
    /// JSONL of records with `url` and `content` (or `text`), also in gzip or zstd; - or no argument: standard input
    pub file: Option<PathBuf>,
    /// Write the records to FILE, which may be the input; - is standard output, the default
    #[arg(short = 'o', long = "output", value_name = "FILE", conflicts_with = "explain")]
    pub output: Option<PathBuf>,
    /// Mode of the search for boilerplate [default: dedup.mode of the settings]
    #[arg(long, value_enum)]
    pub mode: Option<DedupMode>,
    /// Minimum share of a domain's pages that have a boilerplate block, 0.1 to 1 [default: from the settings]
    #[arg(long, value_name = "SHARE")]
    pub threshold_pct: Option<f64>,
    /// Minimum pages of a domain, 2 to 100 [default: from the settings]
    #[arg(long, value_name = "N")]
    pub min_pages: Option<u32>,
    /// Minimum length of a block in characters, 10 to 500 [default: from the settings]
    #[arg(long, value_name = "N")]
    pub min_block_chars: Option<u32>,
    /// Print the removed text of each page and the reasons, instead of records
    #[arg(long)]
    pub explain: bool,
    /// Write the statistics of each domain to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Write an HTML page to FILE: figures of each domain, removed text, and pages before and after
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `crawl check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Kind of check
    #[arg(value_enum)]
    pub what: CheckWhat,
    /// File to check; for url a file with one URL per line, for rules a directory. - or no argument: standard input
    pub file: Option<PathBuf>,
    /// URL to check (robots, url), or the URL of the file (sitemap)
    #[arg(long)]
    pub url: Option<String>,
    /// Product token of the crawler in robots.txt [default: crawl]
    #[arg(long, value_name = "TOKEN")]
    pub user_agent: Option<String>,
    /// Content-Type header of the page (charset)
    #[arg(long, value_name = "VALUE")]
    pub content_type: Option<String>,
    /// Read one JSON object per line, and write one answer per line. Keys for robots: robots or robots_b64, url,
    /// user_agent; for url: in; for charset: bytes_b64, content_type; for sitemap: bytes_b64, url, strict_location. Not
    /// for rules, list and config
    #[arg(long)]
    pub jsonl: bool,
}

/// Kinds of check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckWhat {
    /// Show if robots.txt allows a URL, and the line that decides
    Robots,
    /// Show the canonical form of URLs
    Url,
    /// Show the charset of a page, and its source
    Charset,
    /// Show the URLs of a sitemap or feed
    Sitemap,
    /// Check a directory of extraction rules; each error has file, line and key
    Rules,
    /// Check a filter list in EasyList syntax: counts of its kinds of rules, and each error with its line
    List,
    /// Check a settings file; each error has file, line and key
    Config,
}
