//! Flags for the text of a record, of crawls and of `crawl replay`.

use super::{Overrides, RulesArgs};
use clap::Args;

/// Selection and format of the text.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cleaning")]
pub struct TextArgs {
    /// Write only these fields of a record, such as id,text,metadata.title (crawl schema lists all)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Output")]
    pub fields: Vec<String>,
    /// Write only six fields of a record: id, url, text, title, published, language
    #[arg(long, help_heading = "Output", conflicts_with = "fields")]
    pub lean: bool,
    /// Omit the list of outgoing links from the records
    #[arg(long, help_heading = "Output")]
    pub no_links: bool,
    /// Do not remove the boilerplate that the pages of a site repeat
    #[arg(long)]
    pub no_dedup: bool,
    /// Preference in extraction: precision (less text), recall (more text), balanced [default: balanced]
    #[arg(long, value_name = "NAME")]
    pub favor: Option<String>,
    /// Links in the text: keep, once (each address once), strip, reference (numbered, addresses at the end) [default:
    /// once; crawl extract: keep]
    #[arg(long, value_name = "STYLE")]
    pub links: Option<String>,
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
    /// Extraction rules
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
