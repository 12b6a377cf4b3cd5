//! Flags of `crawl quality`.

use super::{Overrides, RulesArgs};
use clap::Args;
use crawl_engine::config::Override;
use std::path::PathBuf;

/// `crawl quality`
#[derive(Debug, Args)]
pub struct QualityArgs {
    /// JSONL (`text`, `content` or `html`), WARC, WET, CSV (all also .gz), Parquet; files, or patterns such as 'crawl/*.warc.gz'
    #[arg(required_unless_present_any = ["url", "show_config"], value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Write every document as JSONL with what the rules say of it (`quality`) to FILE; - for standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Leave documents out of the output that fail a rule of these sets, separated by commas, or all [default: text]
    #[arg(
        long,
        value_name = "SETS",
        requires = "output",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        help_heading = "Output"
    )]
    pub drop: Option<String>,
    /// Write a page to look at to FILE: values by domain as plots, documents that fail
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the distribution over all documents and by domain to FILE as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,

    /// Explain the document with this id or URL: repeated words and passages in context, cause, remedy (repeatable)
    #[arg(long, value_name = "ID", conflicts_with = "url", help_heading = "Explaining")]
    pub explain: Vec<String>,
    /// Explain the documents that --drop would leave out, the first three in detail
    #[arg(long, conflicts_with = "url", help_heading = "Explaining")]
    pub failed: bool,
    /// Fetch this page, politely as a crawl does, and explain it
    #[arg(long, value_name = "URL", value_parser = super::page_url, conflicts_with_all = ["inputs", "output", "html", "stats"], help_heading = "Explaining")]
    pub url: Option<url::Url>,
    /// Print the thresholds in force, as a file of rules (quality.toml)
    #[arg(long, conflicts_with_all = ["inputs", "url"], help_heading = "Explaining")]
    pub show_config: bool,

    /// Language of all documents (en, en-US, english), or auto: declared, else detected. Its stop words are left out [default: auto]
    #[arg(long, value_name = "LANGUAGE", help_heading = "Parameters")]
    pub language: Option<String>,
    /// Leave lines of boilerplate out before the ratios are taken
    #[arg(long, help_heading = "Parameters")]
    pub remove_boilerplate: bool,
    /// Amount to take from a page: precision, balanced or recall [default: balanced]
    #[arg(long, value_name = "NAME", help_heading = "Parameters")]
    pub favor: Option<String>,
    /// Configuration file, section `quality`
    #[arg(long, value_name = "FILE", help_heading = "Parameters")]
    pub config: Option<PathBuf>,
    /// Rules for extracting pages
    #[command(flatten)]
    pub rules: RulesArgs,
}

impl QualityArgs {
    /// The flags as settings.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        out.text("--language", "quality.language", self.language.as_ref());
        out.switch("--remove-boilerplate", "quality.remove_boilerplate", self.remove_boilerplate, true);
        out.text("--favor", "extract.favor", self.favor.as_ref());
        out.path("--rules", "extract.rules", self.rules.rules.as_ref());
        let lists = self.rules.consent_list.iter().map(|path| path.to_string_lossy().into_owned());
        out.list("--consent-list", "extract.consent_lists", &lists.collect::<Vec<_>>());
        out.0
    }
}
