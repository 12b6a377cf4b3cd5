//! Use of a site's evidence in an extraction.

use super::{
    CorrectionRules, CountedBlock, PageOutline, SiteEvidence, SiteJudgement, adjust, counted, outline,
};
use crate::{content::Chosen, page::Page};
use crawl_model::{Extraction, Extractor, PageMetadata};

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
