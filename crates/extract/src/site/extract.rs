//! Extraction by the evidence of a site.

use super::{
    CorrectionRules, CountedBlock, PageOutline, SiteEvidence, SiteJudgement, adjust, counted, outline,
};
use crate::{
    content::Chosen,
    explain::Trace,
    extractor::{Input, PageExtractor},
    page::Page,
};
use crawl_model::{Extraction, Extractor, PageMetadata};

impl PageExtractor {
    /// Blocks of a page for the [evidence](SiteEvidence) of its site: positions, and true for those that its
    /// extraction takes. Plain text has none.
    #[must_use]
    pub fn count_blocks(&self, input: &Input<'_>) -> Vec<CountedBlock> {
        let mut blocks = Vec::new();
        self.run(input, Trace::default(), &mut SiteUse::Count(&mut blocks));
        blocks
    }

    /// Extracts a page while further pages of its site are expected. It counts the blocks, and corrects the
    /// extraction if the evidence so far says that it missed the content.
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
        self.extract_and_count(input, Some(evidence)).extraction
    }

    /// Outlines a page: its template, and its blocks with evidence from other pages of its site. Plain text
    /// has none.
    #[must_use]
    pub fn outline(&self, input: &Input<'_>, evidence: &SiteEvidence) -> Option<PageOutline> {
        let mut outline = None;
        self.run(input, Trace::default(), &mut SiteUse::Outline(evidence, &mut outline));
        outline
    }
}

/// Use of a site's evidence in an extraction.
pub(crate) enum SiteUse<'a> {
    None,
    /// The blocks of the page are counted.
    Count(&'a mut Vec<CountedBlock>),
    /// The page is outlined.
    Outline(&'a SiteEvidence, &'a mut Option<PageOutline>),
    /// The choice is adjusted.
    Apply(&'a SiteEvidence),
    /// The blocks are counted, and the choice is corrected if it missed the content.
    Crawl {
        evidence: Option<&'a SiteEvidence>,
        blocks: Vec<CountedBlock>,
        is_doubtful: bool,
    },
}

impl SiteUse<'_> {
    /// Applies the evidence to a choice of the content; a choice by a rule for the site stays. `None` if no
    /// other result is requested.
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
            Self::Apply(evidence) => Some(adjust(page, evidence, CorrectionRules::All, chosen, metadata)),
            Self::Crawl { evidence, blocks, is_doubtful } => {
                *blocks = counted(page, &chosen.selection, metadata.title.as_deref());
                *is_doubtful = super::is_doubtful(page, &chosen.selection);
                match evidence.filter(|site| site.classify(blocks) == SiteJudgement::Missed) {
                    Some(evidence) => Some(adjust(page, evidence, CorrectionRules::Missed, chosen, metadata)),
                    None => Some(chosen),
                }
            }
        }
    }

    /// Sets the extractor of the written content.
    pub(crate) fn written(&mut self, extractor: Extractor) {
        if let Self::Crawl { is_doubtful, .. } = self {
            *is_doubtful &= extractor != Extractor::EmbeddedData;
        }
    }
}

/// A page that was extracted while further pages of its site are expected.
#[derive(Debug)]
#[non_exhaustive]
pub struct CountedExtraction {
    /// The extraction.
    pub extraction: Extraction,
    /// The blocks, for [`SiteEvidence::observe`].
    pub blocks: Vec<CountedBlock>,
    /// True if the page has much text outside of the extraction, so that further pages may show missed
    /// content.
    pub is_doubtful: bool,
}
