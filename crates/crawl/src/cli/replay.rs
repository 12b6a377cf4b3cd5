//! Flags of `crawl replay`.

use super::Overrides;
use crate::config::Override;
use clap::Args;
use std::path::PathBuf;

/// `crawl replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The folder that --warc has filled
    pub dir: PathBuf,
    /// Configuration file, as of the crawl
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Append records to FILE (default: standard output)
    #[arg(short = 'o', long = "output", value_name = "FILE", conflicts_with = "replace")]
    pub append: Option<PathBuf>,
    /// Replace FILE by the records
    #[arg(short = 'O', long = "replace-output", value_name = "FILE")]
    pub replace: Option<PathBuf>,
    /// Write these fields of a record alone
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Leave the list of outgoing links out of the records
    #[arg(long)]
    pub no_links: bool,
    /// Keep what a site repeats
    #[arg(long)]
    pub no_dedup: bool,
    /// Trade: precision, recall, balanced
    #[arg(long, value_name = "WHAT")]
    pub favor: Option<String>,
    /// Links in the text: keep, strip, reference
    #[arg(long, value_name = "HOW")]
    pub links: Option<String>,
    /// Keep images
    #[arg(long)]
    pub images: bool,
    /// Leave tables out
    #[arg(long)]
    pub no_tables: bool,
    /// Keep the comments below an article
    #[arg(long)]
    pub comments: bool,
    /// Rules of extraction of your own
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
    /// Remove what a filter list in EasyList syntax hides (repeatable)
    #[arg(long, value_name = "FILE")]
    pub consent_list: Vec<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl ReplayArgs {
    /// The settings that the flags stand for.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        // the output of the crawl is not meant
        out.set("--output", "output.append", "");
        out.set("--replace-output", "output.replace", "");
        out.path("--output", "output.append", self.append.as_ref());
        out.path("--replace-output", "output.replace", self.replace.as_ref());
        out.list("--fields", "output.fields", &self.fields);
        out.switch("--no-links", "output.links", self.no_links, false);
        out.switch("--no-dedup", "dedup.enabled", self.no_dedup, false);
        out.text("--favor", "extract.favor", self.favor.as_ref());
        out.text("--links", "extract.links", self.links.as_ref());
        out.switch("--images", "extract.images", self.images, true);
        out.switch("--no-tables", "extract.tables", self.no_tables, false);
        out.switch("--comments", "extract.comments", self.comments, true);
        out.path("--rules", "extract.rules", self.rules.as_ref());
        let lists: Vec<String> =
            self.consent_list.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        out.list("--consent-list", "extract.consent_lists", &lists);
        out.0
    }
}
