//! Rules that decide if a block of a page is boilerplate.

use super::{
    MARGIN, PROSE, PageText, SitePage,
    features::{Zone, may_be_slot, place, surroundings_of},
    margin::Margin,
    outline::Singles,
    read::file_words,
    table::GroupHashes,
    view::{Evidence, View},
    words::WordBuffers,
};
use crate::blocks::hash_folded;
use crawl_model::{RemovalReason, RemovedSpan};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// Number of occurrences of a line on a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) lines: u32,
    /// First and last block with the line.
    pub(super) first: usize,
    pub(super) last: usize,
}

/// Minimum words of a sentence; a shorter text with a full stop may be a label.
const SENTENCE: u32 = 6;
/// Signs at the end of a sentence.
const SENTENCE_ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];

/// Reason for a removal, and the number of pages that support it.
pub(super) type Verdict = (RemovalReason, u64);

/// Evidence that a cleaning accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// All kinds; see the [module](super).
    Full,
    /// Only lines on `threshold_pct` of the pages, and whole blocks. For a page that would otherwise be
    /// empty.
    Strict,
}

pub(super) struct PageCleaner<'a> {
    pub(super) host: View<'a>,
    pub(super) page: PageText<'a>,
    pub(super) read: &'a SitePage,
    pub(super) level: Level,
    /// Occurrences of each line on this page; computed on demand, since most pages have no removals.
    seen: OnceCell<FxHashMap<u64, Times>>,
    /// Blocks of one line; computed when blocks in a row may be a list of the page's sections.
    pub(super) singles: OnceCell<Singles>,
    /// Page groups that count as evidence.
    pub(super) groups: GroupHashes,
    pub(super) gone: Vec<Option<Verdict>>,
    /// The page's own title, if the walk from the head reached it.
    pub(super) title: Option<usize>,
}

/// Removed blocks of a page, in order.
pub(super) fn removed_spans(host: View<'_>, page: &PageText<'_>, read: &SitePage) -> Vec<RemovedSpan> {
    cleaner_of(host, page, read).map_or_else(Vec::new, PageCleaner::removed)
}

/// Positions of a page's removed blocks, in order.
pub(super) fn positions(host: View<'_>, page: &PageText<'_>, read: &SitePage) -> Vec<usize> {
    let gone = cleaner_of(host, page, read).map_or_else(Vec::new, |cleaner| cleaner.gone);
    gone.iter().enumerate().filter(|(_, gone)| gone.is_some()).map(|(at, _)| at).collect()
}

/// Cleans a page. If only headings would be left, it is cleaned again by the [strict](Level::Strict) evidence.
/// If that leaves only headings too, no block is removed.
fn cleaner_of<'a>(host: View<'a>, page: &PageText<'a>, read: &'a SitePage) -> Option<PageCleaner<'a>> {
    let levels: &[Level] = if page.extracted { &[Level::Full] } else { &[Level::Full, Level::Strict] };
    levels.iter().find_map(|&level| {
        let mut cleaner = PageCleaner::new(host, page, read, level);
        cleaner.walk();
        cleaner.leaves_text().then_some(cleaner)
    })
}

impl<'a> PageCleaner<'a> {
    fn new(host: View<'a>, page: &PageText<'a>, read: &'a SitePage, level: Level) -> Self {
        Self {
            host,
            page: *page,
            read,
            level,
            seen: OnceCell::new(),
            singles: OnceCell::new(),
            groups: read.groups,
            gone: vec![None; read.blocks.len()],
            title: None,
        }
    }

    fn leaves_text(&self) -> bool {
        let mut blocks = self.read.blocks.iter().zip(&self.gone);
        blocks.any(|(block, gone)| gone.is_none() && !block.heading && block.words > 0)
    }

    fn removed(self) -> Vec<RemovedSpan> {
        let blocks = self.read.blocks.iter().zip(&self.gone);
        let mut folded = Vec::new();
        let span = |(block, gone): (&super::read::Block, &Option<Verdict>)| {
            let (reason, pages) = (*gone)?;
            let (start, end) = (block.bytes.start as u64, block.bytes.end as u64);
            let hash = hash_folded(&self.page.content[block.bytes.clone()], &mut folded);
            Some(RemovedSpan { start, end, hash, key: Some(block.key), reason, pages })
        };
        blocks.filter_map(span).collect()
    }

    /// Returns true if the page is whole and all kinds of evidence count.
    pub(super) fn is_full(&self) -> bool {
        !self.page.extracted && self.level == Level::Full
    }

    /// Verdict on a block that lines of other pages' margins cover.
    pub(super) fn template(&self, at: usize, zone: Zone) -> Option<Verdict> {
        self.template_by(at, zone, self.least(self.read.blocks[at].prose))
    }

    /// Verdict of [`template`](Self::template) with another minimum share of the pages.
    pub(super) fn template_by(&self, at: usize, zone: Zone, least: f64) -> Option<Verdict> {
        let block = &self.read.blocks[at];
        if block.fenced || block.words == 0 {
            return None;
        }
        let verdict = Margin { cleaner: self, at, zone, least }.verdict();
        verdict.filter(|_| self.host.occurs_at(block.key, place(self.read, at, Some(zone))))
    }

    /// Minimum share of the pages for evidence at a margin.
    pub(super) fn least(&self, prose: bool) -> f64 {
        let share = match (self.is_full(), prose) {
            (false, _) => 1.0,
            (true, true) => PROSE,
            (true, false) => MARGIN,
        };
        share * self.host.settings().threshold_pct()
    }

    /// Verdict on a block between two blocks that enclose other text on other pages. Text after a heading is
    /// content. Text at the head that no other page has is usually a title, not a slot.
    pub(super) fn slot(&self, at: usize) -> Option<Verdict> {
        let block = &self.read.blocks[at];
        let beside_gone = at > 0 && !self.heading(at - 1);
        if !self.is_full() || !beside_gone || !may_be_slot(block) || self.is_alone_at_head(at) {
            return None;
        }
        let evidence = self.evidence(surroundings_of(self.read, at)?);
        (evidence.share >= self.least(false)).then_some((RemovalReason::Slot, evidence.pages))
    }

    fn is_alone_at_head(&self, at: usize) -> bool {
        at * 2 < self.read.blocks.len() && self.is_alone(at)
    }

    /// Returns true if no other page has a line of the block.
    fn is_alone(&self, at: usize) -> bool {
        self.read.lines_of(at).iter().all(|line| self.host.is_alone(line.key))
    }

    /// Returns true for a sentence that no other page has: it belongs to no menu.
    pub(super) fn is_own_sentence(&self, at: usize) -> bool {
        let block = &self.read.blocks[at];
        let text = || self.read.text_of(at, &self.page).trim_end();
        block.words >= SENTENCE && text().ends_with(SENTENCE_ENDS) && self.is_alone(at)
    }

    pub(super) fn heading(&self, at: usize) -> bool {
        self.read.blocks.get(at).is_some_and(|block| block.heading)
    }

    /// Returns true if the page begins with its title, followed by the same text as a heading.
    pub(super) fn repeats_title(&self) -> bool {
        let blocks = &self.read.blocks;
        blocks.len() > 2 && blocks[0].key == blocks[1].key && (!blocks[0].heading || blocks[1].heading)
    }

    /// Returns true for a line that is the page's title, a heading, or has a word of the file's name.
    pub(super) fn is_own_title(&self, at: usize) -> bool {
        if self.heading(at) {
            return true;
        }
        if at == 0 || self.read.lines_of(at).len() != 1 {
            return false;
        }
        let buffers = &mut WordBuffers::default();
        self.read.has_word_of(at, &self.page, &file_words(self.page.url, buffers), buffers)
            || self.page.title.is_some_and(|title| title.trim() == self.read.text_of(at, &self.page))
    }

    /// Occurrences of a line on this page, with the first and last block.
    pub(super) fn times(&self, line: u64) -> Times {
        let seen = self.seen.get_or_init(|| {
            let mut seen: FxHashMap<u64, Times> = FxHashMap::default();
            for (at, block) in self.read.blocks.iter().enumerate() {
                for line in &self.read.lines[block.lines.clone()] {
                    let times = seen.entry(line.key).or_insert(Times { lines: 0, first: at, last: at });
                    times.lines += 1;
                    times.last = at;
                }
            }
            seen
        });
        seen.get(&line).copied().unwrap_or_default()
    }

    pub(super) fn evidence(&self, feature: u64) -> Evidence {
        self.host.evidence(feature, self.groups)
    }
}
