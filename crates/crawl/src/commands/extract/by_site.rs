//! `crawl extract --jsonl --by-site`: two passes over the lines. The first counts the blocks of each host's pages, the second
//! extracts each page by these counts.

use super::line;
use crate::commands::{jsonl, kept::Kept, line_input::open_lines};
use crawl_engine::exit::{Exit, Failure};
use crawl_extract::{PageExtractor, SiteEvidence};
use crawl_model::HostKey;
use crawl_output::Fields;
use std::{collections::HashMap, io::BufReader, path::Path};

pub fn run(extractor: &PageExtractor, file: Option<&Path>, fields: Option<&Fields>) -> Result<Exit, Failure> {
    let lines = Lines::of(file)?;
    let mut sites: HashMap<Option<HostKey>, SiteEvidence> = HashMap::new();
    let counted = |page: jsonl::Page<'_>| (host(&page), extractor.count_blocks(&page.input()));
    jsonl::visit(lines.reader()?, counted, |(host, blocks)| {
        sites.entry(host).or_default().observe(&blocks);
    })?;
    sites.values_mut().for_each(SiteEvidence::settle);
    jsonl::each(lines.reader()?, |page| {
        let evidence = sites.get(&host(&page));
        line(extractor, page, evidence, fields)
    })
}

/// Host of a page. Pages without a URL count as one site.
fn host(page: &jsonl::Page<'_>) -> Option<HostKey> {
    page.url.as_ref().and_then(HostKey::of)
}

/// Lines that can be read twice.
pub(in crate::commands) enum Lines<'a> {
    Path(&'a Path),
    /// Standard input or a pipe.
    Kept(Kept),
}

impl<'a> Lines<'a> {
    pub(in crate::commands) fn of(file: Option<&'a Path>) -> Result<Self, Failure> {
        if let Some(path) = file.filter(|file| file.is_file()) {
            return Ok(Self::Path(path));
        }
        Kept::of(open_lines(file)?).map(Self::Kept)
    }

    /// The lines from the first one on.
    pub(in crate::commands) fn reader(&self) -> Result<jsonl::Lines, Failure> {
        match self {
            Self::Path(path) => jsonl::Lines::open(Some(path)),
            Self::Kept(kept) => {
                Ok(jsonl::Lines::new(Box::new(BufReader::new(kept.reader()?)), jsonl::input_name(None)))
            }
        }
    }
}
