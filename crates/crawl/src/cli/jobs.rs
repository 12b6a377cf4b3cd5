//! Flags of the jobs beside the main one.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Format of `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// One JSON record a page.
    Json,
    /// The main content as Markdown.
    Markdown,
    /// The main content as plain text.
    Text,
}

/// The form of an explanation of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainForm {
    /// Lines of text, or with `--format json` one JSON object.
    Text,
    /// One page for a browser, which shows the source page with what was kept and dropped.
    Html,
}

/// Rules beside the built-in ones.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Rules of extraction of your own (TOML, laid over the built-in ones; see docs/rules.md)
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
    /// Remove what a filter list in EasyList syntax hides (repeatable)
    #[arg(long, value_name = "FILE")]
    pub consent_list: Vec<PathBuf>,
}

/// `crawl extract`
#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// The page, or with --jsonl the lines; - or none for standard input. An https:// URL is fetched, as robots.txt allows.
    /// A WARC or WACZ, or a folder of HTML gives a record a line for each page
    #[arg(value_name = "FILE|URL")]
    pub file: Option<PathBuf>,
    /// Further archives, HTML files and folders: a revisit may refer to a page of another one
    #[arg(value_name = "FILE", conflicts_with_all = ["jsonl", "explain"])]
    pub more: Vec<PathBuf>,
    /// The page's address, for dates and for links that are relative, which have no target without it. For a folder the
    /// address of its first level
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// The Content-Type header, for the charset
    #[arg(long, value_name = "VALUE")]
    pub content_type: Option<String>,
    /// Lines {"id","url","content_type","html" or "html_base64"} in, also packed with gzip or zstd, a record a line out, in the same order
    #[arg(long)]
    pub jsonl: bool,
    /// With --jsonl: read all lines first, and extract each page with what the other pages of its host say of its template
    #[arg(long, requires = "jsonl", conflicts_with = "explain")]
    pub by_site: bool,
    /// json (the default of files) prints a record, markdown (the default of URLs) its text. With --jsonl, several inputs, a folder or an archive
    /// every line is a record, and markdown or text is the form of its `text`. With --explain text is the default and json is for programs
    #[arg(long, value_enum)]
    pub format: Option<TextFormat>,
    /// Write these fields of a record alone, as id,text,metadata.title (crawl schema names all), a record a line
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "explain")]
    pub fields: Vec<String>,
    /// Write only id, url, text, title, published and language of a record, a record a line
    #[arg(long, conflicts_with_all = ["fields", "explain"])]
    pub lean: bool,
    /// For a URL: file of settings of a crawl, for credentials, headers, proxy, browser and extraction. Flags take precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Explain the result: candidates, choice, what was removed and by which rule, sources of the metadata.
    /// As =html one page for a browser, which shows the source page with dropped parts greyed
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub explain: Option<ExplainForm>,
    /// Extract the elements that match these CSS selectors, as 'article h2, .price', and nothing else of the page
    #[arg(long, value_name = "CSS", conflicts_with_all = ["by_site", "explain"])]
    pub select: Option<String>,
    /// Rules that decide
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Trade: precision, recall, balanced [default: balanced]
    #[arg(long)]
    pub favor: Option<crawl_extract::Favor>,
    /// Links in the text: keep, once, strip, reference [default: keep]
    #[arg(long)]
    pub links: Option<crawl_extract::LinkStyle>,
    /// Keep images
    #[arg(long)]
    pub images: bool,
    /// Leave tables out
    #[arg(long)]
    pub no_tables: bool,
    /// Keep the comments below an article
    #[arg(long)]
    pub comments: bool,
    /// Pass on all JSON-LD and OpenGraph
    #[arg(long)]
    pub raw_metadata: bool,
    /// Allow a URL at an address that is not public, as 10.0.0.0/8 (repeatable)
    #[arg(long, value_name = "CIDR")]
    pub allow_address: Vec<String>,
}

/// `crawl site`
#[derive(Debug, Args)]
pub struct SiteArgs {
    /// Lines {"id","url","content_type","html" or "html_base64"}, a WARC by its name (.warc, .warc.gz), or a folder of HTML or WARC;
    /// - or none for standard input
    pub file: Option<PathBuf>,
    /// For a folder of HTML, the address of its first level
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// One page for a browser: a picture of each template, with content, frame and unsure parts
    #[arg(long, conflicts_with = "json")]
    pub html: bool,
    /// JSON for programs
    #[arg(long)]
    pub json: bool,
    /// Rules that decide
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// `crawl classify`
#[derive(Debug, Args)]
pub struct ClassifyArgs {
    /// The page, or with --jsonl the lines; - or none for standard input
    pub file: Option<PathBuf>,
    /// The page's address
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// Lines {"id","url","content_type","html" or "html_base64"} in, {"id","pageType","strategy","confidence","reason","signals"} out
    #[arg(long)]
    pub jsonl: bool,
    /// Rules that decide
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Mode of judging blocks by `crawl dedup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DedupMode {
    /// Whole blocks by the pages that they stand on.
    Exact,
    /// Blocks by where they stand on the page too.
    Site,
}

/// `crawl dedup`
#[derive(Debug, Args)]
pub struct DedupArgs {
    /// Records with `url` and `content` (or `text`), also packed with gzip or zstd; - or none for standard input
    pub file: Option<PathBuf>,
    /// Write the records to FILE, which may be the input (default, and -: standard output)
    #[arg(short = 'o', long = "output", value_name = "FILE", conflicts_with = "explain")]
    pub output: Option<PathBuf>,
    /// Mode of judging blocks [default: from the configuration]
    #[arg(long, value_enum)]
    pub mode: Option<DedupMode>,
    /// Share of a domain's pages that a block must stand on, 0.1 to 1 [default: from the configuration]
    #[arg(long, value_name = "SHARE")]
    pub threshold_pct: Option<f64>,
    /// Least pages of a domain, 2 to 100 [default: from the configuration]
    #[arg(long, value_name = "N")]
    pub min_pages: Option<u32>,
    /// Shortest block looked at, in characters, 10 to 500 [default: from the configuration]
    #[arg(long, value_name = "N")]
    pub min_block_chars: Option<u32>,
    /// Instead of records, print what is removed from each page and why
    #[arg(long)]
    pub explain: bool,
    /// Write the statistics of each domain to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Write a page to look at to FILE: each domain's figures, what was removed, pages before and after
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `crawl check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Subject to check
    #[arg(value_enum)]
    pub what: CheckWhat,
    /// robots.txt, page, sitemap, filter list or file of settings; for url the URLs, one a line; for rules their directory.
    /// With --jsonl the lines; - or none for standard input
    pub file: Option<PathBuf>,
    /// The URL in question (robots, url), or where the file came from (sitemap)
    #[arg(long)]
    pub url: Option<String>,
    /// The product token that robots.txt is read for [default: our own]
    #[arg(long, value_name = "TOKEN")]
    pub user_agent: Option<String>,
    /// The Content-Type header (charset)
    #[arg(long, value_name = "VALUE")]
    pub content_type: Option<String>,
    /// A JSON object a line in, an answer a line out. For robots: robots or robots_b64, url, user_agent; for url: in; for
    /// charset: bytes_b64, content_type; for sitemap: bytes_b64, url, strict_location; not for rules, list and config
    #[arg(long)]
    pub jsonl: bool,
}

/// Subjects that `crawl check` can explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckWhat {
    /// Permission to fetch a URL, and the line of robots.txt that decides
    Robots,
    /// The canonical form of a URL
    Url,
    /// The charset of a page, and what named it
    Charset,
    /// The URLs of a sitemap or feed
    Sitemap,
    /// The rules of a directory: every fault with file, line and key
    Rules,
    /// A filter list in EasyList syntax: what its lines are, and every fault with its line
    List,
    /// A file of settings: every fault with file, line and key
    Config,
}
