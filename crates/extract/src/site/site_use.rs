//! Use of a site's evidence in an extraction.

use super::{
    ContentCheck, CorrectionRules, CountedBlock, PageOutline, SiteEvidence, adjust, counted, outline,
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
    Crawl(CrawlUse<'a>),
}

/// A page of a crawl: its site's evidence, and what the page adds to it.
pub(crate) struct CrawlUse<'a> {
    pub(crate) evidence: Option<&'a SiteEvidence>,
    pub(crate) policy: CountPolicy,
    pub(crate) blocks: Vec<CountedBlock>,
    pub(crate) check: Option<ContentCheck>,
    pub(crate) is_doubtful: bool,
}

impl<'a> CrawlUse<'a> {
    pub(crate) const fn new(evidence: Option<&'a SiteEvidence>, policy: CountPolicy) -> Self {
        Self { evidence, policy, blocks: Vec::new(), check: None, is_doubtful: false }
    }

    fn apply(&mut self, page: &Page<'_>, chosen: Chosen, metadata: &mut PageMetadata) -> Chosen {
        self.is_doubtful = super::is_doubtful(page, &chosen.selection);
        if let Some(evidence) = self.evidence.filter(|_| self.policy == CountPolicy::Unusual)
            && super::is_surely_taken(page, &chosen.selection, evidence)
        {
            self.check = Some(ContentCheck::Taken);
            return chosen;
        }
        self.blocks = counted(page, &chosen.selection, metadata.title.as_deref());
        self.check = self.evidence.map(|evidence| evidence.classify(&self.blocks));
        match self.evidence.filter(|_| self.check == Some(ContentCheck::Missed)) {
            Some(evidence) => adjust(page, evidence, CorrectionRules::Missed, chosen, metadata),
            None => chosen,
        }
    }
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
            Self::Crawl(crawl) => Some(crawl.apply(page, chosen, metadata)),
        }
    }

    /// Sets the extractor of the written content.
    pub(crate) fn written(&mut self, extractor: Extractor) {
        if let Self::Crawl(crawl) = self {
            crawl.is_doubtful &= extractor != Extractor::EmbeddedData;
        }
    }
}

/// Which pages [`PageExtractor::extract_and_count`](crate::PageExtractor::extract_and_count) counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountPolicy {
    /// Every page.
    Every,
    /// Pages that have unknown positions, or whose extraction may have missed the content by the evidence so far.
    /// Without evidence every page. The counts are then shares of such pages, which suffices for
    /// [`SiteEvidence::classify`]; corrections of other kinds need every page.
    Unusual,
}

/// A page that was extracted while further pages of its site are expected.
#[derive(Debug)]
#[non_exhaustive]
pub struct CountedExtraction {
    /// The extraction.
    pub extraction: Extraction,
    /// The blocks, for [`SiteEvidence::observe`]; empty for a page that is not counted.
    pub blocks: Vec<CountedBlock>,
    /// Verdict by the evidence that was given; `None` without evidence, or if a rule for the site chose the content.
    pub check: Option<ContentCheck>,
    /// True if the page has much text outside of the extraction, so that further pages may show missed
    /// content.
    pub is_doubtful: bool,
}
