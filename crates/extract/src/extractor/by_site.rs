//! Extraction by the evidence of a site.

use super::{Input, PageExtractor};
use crate::{
    site::{CountPolicy, CountedBlock, CountedExtraction, CrawlUse, PageOutline, SiteEvidence, SiteUse},
    trace::Trace,
};
use crawl_model::{Extraction, Extractor};

impl PageExtractor {
    /// Blocks of a page for the [evidence](SiteEvidence) of its site: positions, and true for those that its
    /// extraction takes. Plain text has none.
    #[must_use]
    pub fn count_blocks(&self, input: &Input<'_>) -> Vec<CountedBlock> {
        let mut blocks = Vec::new();
        self.run(input, Trace::default(), &mut SiteUse::Count(&mut blocks));
        blocks
    }

    /// Extracts a page of a running crawl. Counts its blocks, and corrects the extraction if the evidence so far
    /// shows that it missed the content.
    #[must_use]
    pub fn extract_and_count(
        &self,
        input: &Input<'_>,
        evidence: Option<&SiteEvidence>,
        policy: CountPolicy,
    ) -> CountedExtraction {
        let mut site = SiteUse::Crawl(CrawlUse::new(evidence, policy));
        let extraction = self.run(input, Trace::default(), &mut site).0;
        let SiteUse::Crawl(CrawlUse { blocks, check, is_doubtful, .. }) = site else {
            return CountedExtraction { extraction, blocks: Vec::new(), check: None, is_doubtful: false };
        };
        let is_corrected = extraction.extractor == Extractor::SiteTemplate;
        CountedExtraction { extraction, blocks, check, is_doubtful: is_doubtful && !is_corrected }
    }

    /// Extracts a page by evidence from other pages of its site, which must be
    /// [settled](SiteEvidence::settle). Without evidence the result equals that of [`Self::extract`]. If the
    /// evidence shows missed content, the extractor is [`Extractor::SiteTemplate`].
    #[must_use]
    pub fn extract_by_site(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Extraction {
        self.run(input, Trace::default(), &mut SiteUse::Apply(evidence)).0
    }

    /// Runs [`Self::extract_by_site`] with the first rule only: corrects only an extraction that missed the
    /// content.
    #[must_use]
    pub fn extract_if_missed(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Extraction {
        self.extract_and_count(input, Some(evidence), CountPolicy::Every).extraction
    }

    /// Outlines a page: its template, and its blocks with the evidence from other pages of its site. Plain text has
    /// no outline.
    #[must_use]
    pub fn outline(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Option<PageOutline> {
        let mut outline = None;
        self.run(input, Trace::default(), &mut SiteUse::Outline(evidence, &mut outline));
        outline
    }
}
