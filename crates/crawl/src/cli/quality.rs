//! Flags of `crawl quality`.

use super::{Overrides, RulesArgs};
use clap::Args;
use crawl_engine::config::Override;
use std::path::PathBuf;

/// `crawl quality`
#[derive(Debug, Args)]
pub struct QualityArgs {
    /// Files or patterns such as 'crawl/*.warc.gz': JSONL (`text`, `content` or `html`), WARC, WET, CSV (also .gz),
    /// Parquet
    #[arg(required_unless_present_any = ["url", "show_config"], value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Write every document as JSONL, with its scores and failed rules in `quality`, to FILE; - is standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Omit documents that fail a rule of these sets, separated by commas, or of all [default: text]
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
    /// Write an HTML page to FILE: plots of the scores by domain, and failed documents
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the distribution of the scores, over all documents and by domain, to FILE as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,

    /// Explain the document with this id or URL: its repeated words and passages, cause and remedy (repeatable)
    #[arg(long, value_name = "ID", conflicts_with = "url", help_heading = "Explaining")]
    pub explain: Vec<String>,
    /// Explain the documents that --drop would omit, the first three in detail
    #[arg(long, conflicts_with = "url", help_heading = "Explaining")]
    pub failed: bool,
    /// Fetch this page, with the limits and robots.txt of a crawl, and explain it
    #[arg(long, value_name = "URL", value_parser = super::page_url, conflicts_with_all = ["inputs", "output", "html", "stats"], help_heading = "Explaining")]
    pub url: Option<url::Url>,
    /// Print the effective thresholds as a rules file (quality.toml)
    #[arg(long, conflicts_with_all = ["inputs", "url"], help_heading = "Explaining")]
    pub show_config: bool,

    /// Language of all documents (en, en-US, english), or auto (declared, else detected); it selects the stop words
    /// [default: auto]
    #[arg(long, value_name = "LANGUAGE", help_heading = "Parameters")]
    pub language: Option<String>,
    /// Ignore boilerplate lines in the repetition ratios
    #[arg(long, help_heading = "Parameters")]
    pub remove_boilerplate: bool,
    /// Preference in extraction: precision (less text), recall (more text), balanced [default: balanced]
    #[arg(long, value_name = "NAME", help_heading = "Parameters")]
    pub favor: Option<String>,
    /// Settings file, section `quality`
    #[arg(long, value_name = "FILE", help_heading = "Parameters")]
    pub config: Option<PathBuf>,
    /// Extraction rules
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
