//! Flags of `crawl replay`.

use super::{Overrides, TextArgs};
use clap::Args;
use crawl_engine::config::Override;
use std::path::PathBuf;

/// `crawl replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Folder of --warc, WARC or WACZ files of any program, HTML files or folders of them; - is standard input
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// URL of an HTML file, or of the top level of a folder
    #[arg(long, value_parser = super::page_url)]
    pub url: Option<url::Url>,
    /// Settings file of the crawl
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Append records to FILE (default: standard output)
    #[arg(short = 'o', long = "output", value_name = "FILE", conflicts_with = "replace")]
    pub append: Option<PathBuf>,
    /// Replace FILE with the records
    #[arg(short = 'O', long = "replace-output", value_name = "FILE")]
    pub replace: Option<PathBuf>,
    /// Text to keep of a page
    #[command(flatten)]
    pub text: TextArgs,
    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl ReplayArgs {
    /// Settings of the flags.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let mut out = Overrides(Vec::new());
        // the output of the crawl is not meant
        out.set("--output", "output.append", "");
        out.set("--replace-output", "output.replace", "");
        out.output("--output", "output.append", self.append.as_ref());
        out.output("--replace-output", "output.replace", self.replace.as_ref());
        self.text.overrides(&mut out);
        out.0
    }
}
