//! Extraction by the evidence of a site.

use super::{CountedBlock, Mending, PageOutline, SiteEvidence, SiteJudgement, adjust, counted, outline};
use crate::{
    content::Chosen,
    explain::Trace,
    extractor::{Input, PageExtractor},
    page::Page,
};
use crawl_model::{Extraction, Extractor, PageMetadata};

impl PageExtractor {
    /// Returns the blocks of a page for the [evidence](SiteEvidence) of its site: where they stand, and which of them its extraction
    /// takes. Plain text has none.
    #[must_use]
    pub fn count_blocks(&self, input: &Input<'_>) -> Vec<CountedBlock> {
        let mut blocks = Vec::new();
        self.run(input, Trace::default(), &mut SiteUse::Count(&mut blocks));
        blocks
    }

    /// Extracts a page of a site whose pages are still to come: counts its blocks, and mends the extraction by the evidence so far, if it
    /// says that the content was missed.
    #[must_use]
    pub fn extract_and_count(&self, input: &Input<'_>, evidence: Option<&SiteEvidence>) -> CountedExtraction {
        let mut site = SiteUse::Crawl { evidence, blocks: Vec::new(), is_doubtful: false };
        let extraction = self.run(input, Trace::default(), &mut site).0;
        let SiteUse::Crawl { blocks, is_doubtful, .. } = site else {
            return CountedExtraction { extraction, blocks: Vec::new(), is_doubtful: false };
        };
        let is_mended = extraction.extractor == Extractor::SiteTemplate;
        CountedExtraction { extraction, blocks, is_doubtful: is_doubtful && !is_mended }
    }

    /// Extracts a page by what the other pages of its site say of its template; the evidence has to be
    /// [settled](SiteEvidence::settle). The extraction is that of [`Self::extract`] where it says nothing; where it says that this
    /// missed the content, the extractor is [`Extractor::SiteTemplate`].
    #[must_use]
    pub fn extract_by_site(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Extraction {
        self.run(input, Trace::default(), &mut SiteUse::Apply(evidence)).0
    }

    /// [`Self::extract_by_site`] by the first rule alone: changes nothing but an extraction that missed the content.
    #[must_use]
    pub fn extract_if_missed(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Extraction {
        self.extract_and_count(input, Some(evidence)).extraction
    }

    /// Outlines a page: its template, and its blocks with what the other pages of its site say of them. Plain text has none.
    #[must_use]
    pub fn outline(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Option<PageOutline> {
        let mut outline = None;
        self.run(input, Trace::default(), &mut SiteUse::Outline(evidence, &mut outline));
        outline
    }
}

/// The use of a site's evidence in an extraction.
pub(crate) enum SiteUse<'a> {
    None,
    /// The blocks of the page are counted.
    Count(&'a mut Vec<CountedBlock>),
    /// The page is outlined.
    Outline(&'a SiteEvidence, &'a mut Option<PageOutline>),
    /// The choice is adjusted.
    Apply(&'a SiteEvidence),
    /// The blocks are counted, and the choice is adjusted if it missed the content.
    Crawl {
        evidence: Option<&'a SiteEvidence>,
        blocks: Vec<CountedBlock>,
        is_doubtful: bool,
    },
}

impl SiteUse<'_> {
    /// Applies the evidence to a choice of the content; a choice by a rule for the site stays. `None` where nothing else of the page is
    /// asked for.
    pub(crate) fn apply(
        &mut self,
        page: &Page<'_>,
        chosen: Chosen,
        has_rule: bool,
        metadata: &mut PageMetadata,
    ) -> Option<Chosen> {
        match self {
            Self::Count(blocks) => {
                **blocks = counted(page, &chosen.selection, metadata.title.as_deref());
                None
            }
            Self::Outline(evidence, result) => {
                **result = Some(outline(page, evidence, &chosen.selection));
                None
            }
            Self::None => Some(chosen),
            _ if has_rule => Some(chosen),
            Self::Apply(evidence) => Some(adjust(page, evidence, Mending::All, chosen, metadata)),
            Self::Crawl { evidence, blocks, is_doubtful } => {
                *blocks = counted(page, &chosen.selection, metadata.title.as_deref());
                *is_doubtful = super::is_doubtful(page, &chosen.selection);
                match evidence.filter(|site| site.judge(blocks) == SiteJudgement::Missed) {
                    Some(evidence) => Some(adjust(page, evidence, Mending::Missed, chosen, metadata)),
                    None => Some(chosen),
                }
            }
        }
    }

    /// Notes the extractor of the content as it was written.
    pub(crate) fn written(&mut self, extractor: Extractor) {
        if let Self::Crawl { is_doubtful, .. } = self {
            *is_doubtful &= extractor != Extractor::EmbeddedData;
        }
    }
}

/// A page that was extracted while the pages of its site come.
#[derive(Debug)]
pub struct CountedExtraction {
    /// The extraction.
    pub extraction: Extraction,
    /// The blocks, for [`SiteEvidence::observe`].
    pub blocks: Vec<CountedBlock>,
    /// The page has so much text beside what was taken that more pages of its site may show that the content was missed.
    pub is_doubtful: bool,
}
