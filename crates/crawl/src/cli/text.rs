//! Flags of what becomes of a page's text, for jobs that crawl and those that read an archive again.

use super::{Overrides, RulesArgs};
use clap::Args;

/// Text to keep of a page, and its format.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cleaning")]
pub struct TextArgs {
    /// Write these fields of a record alone, as id,text,metadata.title (crawl schema names all)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Output")]
    pub fields: Vec<String>,
    /// Write six keys of a record alone: id, url, text, title, published, language
    #[arg(long, help_heading = "Output", conflicts_with = "fields")]
    pub lean: bool,
    /// Leave the list of outgoing links out of the records
    #[arg(long, help_heading = "Output")]
    pub no_links: bool,
    /// Do not remove what a site repeats
    #[arg(long)]
    pub no_dedup: bool,
    /// Trade: precision, recall, balanced
    #[arg(long, value_name = "NAME")]
    pub favor: Option<String>,
    /// Links in the text: keep, once, strip, reference
    #[arg(long, value_name = "STYLE")]
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
    /// Pass on all JSON-LD and OpenGraph
    #[arg(long)]
    pub raw_metadata: bool,
    /// Rules that decide
    #[command(flatten)]
    pub rules: RulesArgs,
}

impl TextArgs {
    pub(super) fn overrides(&self, out: &mut Overrides) {
        out.list("--fields", "output.fields", &self.fields);
        out.switch("--lean", "output.lean", self.lean, true);
        out.switch("--no-links", "output.links", self.no_links, false);
        out.switch("--no-dedup", "dedup.enabled", self.no_dedup, false);
        out.text("--favor", "extract.favor", self.favor.as_ref());
        out.text("--links", "extract.links", self.links.as_ref());
        out.switch("--images", "extract.images", self.images, true);
        out.switch("--no-tables", "extract.tables", self.no_tables, false);
        out.switch("--comments", "extract.comments", self.comments, true);
        out.switch("--raw-metadata", "extract.raw_metadata", self.raw_metadata, true);
        out.path("--rules", "extract.rules", self.rules.rules.as_ref());
        let lists = self.rules.consent_list.iter().map(|path| path.to_string_lossy().into_owned());
        out.list("--consent-list", "extract.consent_lists", &lists.collect::<Vec<_>>());
    }
}
