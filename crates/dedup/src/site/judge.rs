//! Which blocks of a page its host repeats: the walk from the margins inwards.

use super::{
    MARGIN, PROSE, PageText, RUN, SiteFingerprint, SitePage,
    features::{Zone, may_be_slot, place, surroundings_of},
    host::Evidence,
    margin::Margin,
    read::file_words,
    words::Scratch,
};
use crate::blocks::hash_folded;
use crawl_model::{RemovalReason, RemovedSpan};
use rustc_hash::FxHashMap;
use std::{cell::OnceCell, ops::Range};

/// A block near the head is compared with what was removed from the foot among so many.
const TWIN_BLOCKS: usize = 8;

/// Why a block goes, and the pages that say so.
pub(super) type Verdict = (RemovalReason, u64);

pub(super) struct Judge<'a> {
    pub(super) host: &'a SiteFingerprint,
    pub(super) page: PageText<'a>,
    pub(super) read: &'a SitePage,
    /// How often each line stands on this page; made when it is asked for, since most pages have nothing that goes.
    seen: OnceCell<FxHashMap<u64, u32>>,
    /// The page's section, where it has a say.
    section: Option<u64>,
    gone: Vec<Option<Verdict>>,
    /// The page's own title, where the walk from the head came to it.
    title: Option<usize>,
}

/// What is removed from a page, in order; nothing where nothing but headings would be left.
pub(super) fn judge(host: &SiteFingerprint, page: &PageText<'_>, read: &SitePage) -> Vec<RemovedSpan> {
    let gone = vec![None; read.blocks.len()];
    // the pages of a folder share its name, which is a template's only where the whole page is looked at; and the first
    // pages of a host come from few folders
    let section = (!page.extracted).then_some(read.section);
    let mut judge = Judge { host, page: *page, read, seen: OnceCell::new(), section, gone, title: None };
    if judge.head() < read.blocks.len() {
        judge.foot();
    }
    judge.inside();
    judge.removed()
}

impl Judge<'_> {
    /// Walks from the first block on; returns how many blocks it passed.
    fn head(&mut self) -> usize {
        let n = self.read.blocks.len();
        let mut at = 0;
        if !self.page.extracted && self.begins_twice() {
            self.gone[0] = Some((RemovalReason::SaidTwice, 1));
            at = 1;
        }
        // a run may pass over the page's own title once; beyond it a gap is taken for content
        let mut passed_title = false;
        while at < n.min(RUN) {
            let next = |judge: &Self| (at + 1 < n).then(|| judge.template(at + 1, Zone::Head)).flatten();
            if let Some(verdict) =
                self.template(at, Zone::Head).filter(|_| !(passed_title && self.heading(at)))
            {
                self.gone[at] = Some(verdict);
            } else if !passed_title && self.is_own_title(at) {
                self.title = Some(at);
                if next(self).is_none() || self.heading(at + 1) {
                    break;
                }
                passed_title = true;
            } else if let Some(verdict) = self.slot(at).filter(|_| !passed_title && next(self).is_some()) {
                self.gone[at] = Some(verdict);
            } else {
                break;
            }
            at += 1;
        }
        self.give_back_headings(at);
        self.give_back_short(0..at);
        at
    }

    /// Walks from the last block on.
    fn foot(&mut self) {
        let n = self.read.blocks.len();
        let mut at = n;
        while at > n.saturating_sub(RUN) {
            let this = at - 1;
            if self.gone[this].is_some() || self.title == Some(this) {
                break;
            }
            let verdict = self.template(this, Zone::Foot).or_else(|| {
                let next = this.checked_sub(1)?;
                self.slot(this).filter(|_| at < n && self.template(next, Zone::Foot).is_some())
            });
            if verdict.is_none() {
                break;
            }
            self.gone[this] = verdict;
            at = this;
        }
        self.give_back_short(at..n);
    }

    /// Between the runs: what stands near the head and went from the foot, and what the whole site has.
    fn inside(&mut self) {
        let n = self.read.blocks.len();
        let blocks = &self.read.blocks;
        let at_foot: FxHashMap<u64, Verdict> = (n / 2..n)
            .filter(|&i| blocks[i].words > 1)
            .filter_map(|i| Some((blocks[i].key, self.gone[i]?)))
            .collect();
        for (i, block) in blocks.iter().enumerate() {
            if self.gone[i].is_some() || block.fenced {
                continue;
            }
            let twin = (i < TWIN_BLOCKS.min(n / 2)).then(|| at_foot.get(&block.key)).flatten();
            let verdict = if let Some(&(_, pages)) = twin {
                Some((RemovalReason::Twin, pages))
            } else if block.chars >= self.host.state().settings().min_block_chars() {
                self.host.block(block.key, self.section).map(|pages| (RemovalReason::Block, pages))
            } else {
                None
            };
            self.gone[i] = verdict.filter(|_| self.host.stands_at(block.key, place(self.read, i, None)));
        }
    }

    fn removed(self) -> Vec<RemovedSpan> {
        let blocks = self.read.blocks.iter().zip(&self.gone);
        if !blocks.clone().any(|(block, gone)| gone.is_none() && !block.heading && block.words > 0) {
            return Vec::new();
        }
        let mut folded = Vec::new();
        let span = |(block, gone): (&super::read::Block, &Option<Verdict>)| {
            let (reason, pages) = (*gone)?;
            let (start, end) = (block.bytes.start as u64, block.bytes.end as u64);
            let hash = hash_folded(&self.page.content[block.bytes.clone()], &mut folded);
            Some(RemovedSpan { start, end, hash, key: Some(block.key), reason, pages })
        };
        blocks.filter_map(span).collect()
    }

    /// A block that the lines of other pages' margins cover.
    fn template(&self, at: usize, zone: Zone) -> Option<Verdict> {
        let block = &self.read.blocks[at];
        if block.fenced || block.words == 0 {
            return None;
        }
        let verdict = Margin { judge: self, at, zone, least: self.least(block.prose) }.verdict();
        verdict.filter(|_| self.host.stands_at(block.key, place(self.read, at, Some(zone))))
    }

    /// Share of the pages that evidence at a margin needs.
    fn least(&self, prose: bool) -> f64 {
        let share = match (self.page.extracted, prose) {
            (true, _) => 1.0,
            (false, true) => PROSE,
            (false, false) => MARGIN,
        };
        share * self.host.state().settings().threshold_pct()
    }

    /// Of an extracted text a run has to be as long as any block that is judged; else it is let be.
    fn give_back_short(&mut self, run: Range<usize>) {
        if !self.page.extracted {
            return;
        }
        let blocks = self.read.blocks[run.clone()].iter().zip(&self.gone[run.clone()]);
        let chars: usize = blocks.filter(|(_, gone)| gone.is_some()).map(|(block, _)| block.chars).sum();
        if chars < self.host.state().settings().min_block_chars() {
            self.gone[run].fill(None);
        }
    }

    /// A block between two that stand around something else on other pages. What follows a heading is its content.
    fn slot(&self, at: usize) -> Option<Verdict> {
        let block = &self.read.blocks[at];
        let beside_gone = at > 0 && !self.heading(at - 1);
        if self.page.extracted || !beside_gone || !may_be_slot(block) {
            return None;
        }
        let evidence = self.evidence(surroundings_of(self.read, at)?);
        (evidence.share >= self.least(false)).then_some((RemovalReason::Slot, evidence.pages))
    }

    fn heading(&self, at: usize) -> bool {
        self.read.blocks.get(at).is_some_and(|block| block.heading)
    }

    /// The page's title above the same as its heading.
    fn begins_twice(&self) -> bool {
        let blocks = &self.read.blocks;
        blocks.len() > 2 && blocks[0].key == blocks[1].key && (!blocks[0].heading || blocks[1].heading)
    }

    /// A line that is the page's title, a heading, or has a word of the file's name.
    fn is_own_title(&self, at: usize) -> bool {
        if self.heading(at) {
            return true;
        }
        if at == 0 || self.read.lines_of(at).len() != 1 {
            return false;
        }
        let scratch = &mut Scratch::default();
        self.read.has_word_of(at, &self.page, &file_words(self.page.url, scratch), scratch)
            || self.page.title.is_some_and(|title| title.trim() == self.read.text_of(at, &self.page))
    }

    /// Headings at the end of the run at the head belong to what follows.
    fn give_back_headings(&mut self, end: usize) {
        for at in (0..end).rev() {
            if self.gone[at].is_some() && !self.heading(at) {
                return;
            }
            self.gone[at] = None;
        }
    }

    /// How often a line stands on this page.
    pub(super) fn times(&self, line: u64) -> u32 {
        let seen = self.seen.get_or_init(|| {
            let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
            for line in &self.read.lines {
                *seen.entry(line.key).or_default() += 1;
            }
            seen
        });
        seen.get(&line).copied().unwrap_or(0)
    }

    pub(super) fn evidence(&self, feature: u64) -> Evidence {
        self.host.evidence(feature, self.section)
    }
}
