//! Walk over a page: from its margins inwards, beyond gaps, and between the runs.

use super::{
    RUN,
    cleaner::{PageCleaner, Verdict},
    features::{Zone, place},
    read::naming_words,
    words::WordBuffers,
};
use crawl_model::RemovalReason;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Number of blocks near the head that are compared with blocks removed from the foot.
const TWIN_BLOCKS: usize = 8;
/// Minimum share of a line's words in the page's title or file name, for the line that ends the menu above
/// it.
const NAMED: f64 = 0.6;
/// Maximum words of a menu between the run at the head and the line that names the page.
const MENU_WORDS: u32 = 200;
/// Maximum weight of a block beyond a gap, in words, and its base weight.
const WEIGHED_WORDS: u32 = 16;
const WEIGHED_BLOCK: i64 = 3;

/// Number of own sentences that are text of the page: beyond them no gap at its foot is passed.
const OWN_SENTENCES: u32 = 2;

impl PageCleaner<'_> {
    pub(super) fn walk(&mut self) {
        if self.head() < self.read.blocks.len() {
            self.foot();
        }
        self.inside();
    }

    /// Walks from the first block on; returns the number of passed blocks.
    fn head(&mut self) -> usize {
        let n = self.read.blocks.len();
        let mut at = 0;
        if !self.page.extracted && self.repeats_title() {
            self.gone[0] = Some((RemovalReason::SaidTwice, 1));
            at = 1;
        }
        // a run may pass the page's own title once; any other gap is content
        let mut passed_title = false;
        while at < n.min(RUN) && self.title != Some(at) {
            let next = |cleaner: &Self| (at + 1 < n).then(|| cleaner.template(at + 1, Zone::Head)).flatten();
            if let Some((title, verdict)) = self.breadcrumb(at, self.least(false)).filter(|_| !passed_title) {
                self.gone[at] = Some(verdict);
                self.title = Some(title);
                passed_title = true;
            } else if let Some(verdict) =
                self.template(at, Zone::Head).filter(|_| !(passed_title && self.heading(at)))
            {
                self.gone[at] = Some(verdict);
            } else if !passed_title && self.is_section_list(at) {
                self.gone[at] = Some((RemovalReason::SaidTwice, 1));
            } else if let Some(end) = (!passed_title).then(|| self.outline_at_head(at)).flatten() {
                self.gone[at..end].fill(Some((RemovalReason::SaidTwice, 1)));
                at = end;
                continue;
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
        if self.is_full() && self.title.is_none() && at > 1 { self.menu_above_title(at) } else { at }
    }

    /// Returns true for a block right above the title that lists the page's sections. Its first line is the
    /// title, and its other lines follow below as blocks of one line, in this order.
    fn is_section_list(&self, at: usize) -> bool {
        let (read, title) = (self.read, at + 1);
        let block = &read.blocks[at];
        if !self.is_full() || title >= read.blocks.len() || block.prose || block.fenced || block.heading {
            return false;
        }
        let single = |other: usize| match read.lines_of(other) {
            [line] => Some(line.key),
            _ => None,
        };
        let lines = read.lines_of(at);
        if single(title).is_none_or(|key| lines.first().is_none_or(|first| first.key != key)) {
            return false;
        }
        let mut below = (title..read.blocks.len()).filter_map(single);
        let buffers = &mut WordBuffers::default();
        let known = naming_words(&self.page, buffers);
        lines.iter().all(|line| below.any(|key| key == line.key))
            && read.naming_share(title, &self.page, &known, buffers) >= NAMED
    }

    /// Returns true for a line that names the page.
    pub(super) fn names(&self, at: usize) -> bool {
        let buffers = &mut WordBuffers::default();
        let known = naming_words(&self.page, buffers);
        self.read.naming_share(at, &self.page, &known, buffers) >= NAMED
    }

    /// Removes labels between the run at the head and the line that names the page. They are a menu of the
    /// page's section, which few pages may share. Returns the number of passed blocks.
    fn menu_above_title(&mut self, from: usize) -> usize {
        let buffers = &mut WordBuffers::default();
        let known = naming_words(&self.page, buffers);
        let (mut at, mut words) = (from, 0);
        while let Some(block) = self.read.blocks.get(at).filter(|_| at < RUN) {
            if block.heading || self.read.naming_share(at, &self.page, &known, buffers) >= NAMED {
                self.gone[from..at].fill(Some((RemovalReason::Enclosed, 1)));
                return at;
            }
            if self.is_own_sentence(at) {
                break;
            }
            if self.is_section_list(at) {
                self.gone[from..at].fill(Some((RemovalReason::Enclosed, 1)));
                self.gone[at] = Some((RemovalReason::SaidTwice, 1));
                return at + 1;
            }
            words += block.words;
            if block.prose || block.fenced || words > MENU_WORDS {
                break;
            }
            at += 1;
        }
        from
    }

    /// Walks from the last block on.
    fn foot(&mut self) {
        let n = self.read.blocks.len();
        let end = self.end_of_last_section();
        let mut at = n;
        while at > end.max(n.saturating_sub(RUN)) {
            let this = at - 1;
            if self.gone[this].is_some() || self.title == Some(this) {
                break;
            }
            let verdict = self.template(this, Zone::Foot).or_else(|| {
                let next = this.checked_sub(1)?;
                self.slot(this).filter(|_| at < n && self.template(next, Zone::Foot).is_some())
            });
            if verdict.is_none() {
                let Some(start) = self.outline_at_foot(this, end) else { break };
                self.gone[start..at].fill(Some((RemovalReason::SaidTwice, 1)));
                at = start;
                continue;
            }
            self.gone[this] = verdict;
            at = this;
        }
        self.give_back_short(at..n);
        if self.is_full() && at > end {
            self.foot_beyond_gaps(at, end);
        }
    }

    /// Extends the run at the foot beyond labels without evidence, to the block with the maximum suffix sum
    /// of evidence over labels. Prose, code, headings, the page's name and the end of the text end it. The second
    /// sentence that no other page has ends it too: frames hold one at most, such as a teaser.
    fn foot_beyond_gaps(&mut self, from: usize, end_of_text: usize) {
        let least = self.host.settings().threshold_pct();
        let first = end_of_text.max(self.read.blocks.len().saturating_sub(RUN));
        let (mut sum, mut most, mut end, mut own_sentences) = (0, 0, from, 0);
        let mut found: Vec<Option<Verdict>> = Vec::new();
        for at in (first..from).rev() {
            let block = &self.read.blocks[at];
            let is_own = self.title == Some(at) || self.read.names_page(at);
            if self.gone[at].is_some() || block.fenced || is_own {
                break;
            }
            let by_lines = |verdict: &Verdict| verdict.0 == RemovalReason::Margin;
            let verdict = self.template_by(at, Zone::Foot, least).filter(by_lines);
            match verdict {
                Some(_) => sum += i64::from(block.words.min(WEIGHED_WORDS)) + WEIGHED_BLOCK,
                None if block.prose || block.heading => break,
                None => {
                    own_sentences += u32::from(self.is_own_sentence(at));
                    sum -= i64::from(block.words) + 1;
                }
            }
            if own_sentences >= OWN_SENTENCES {
                break;
            }
            found.push(verdict);
            if verdict.is_some() && sum > most {
                (most, end) = (sum, at);
            }
        }
        for (at, verdict) in (end..from).rev().zip(found) {
            self.gone[at] = verdict.or(Some((RemovalReason::Enclosed, 1)));
        }
    }

    /// Judges blocks between the runs: those near the head that were removed from the foot, and those of the
    /// whole site.
    fn inside(&mut self) {
        let n = self.read.blocks.len();
        let at_foot = self.removed_from_foot();
        for (i, block) in self.read.blocks.iter().enumerate() {
            if self.gone[i].is_some() || block.fenced {
                continue;
            }
            let twin = (i < TWIN_BLOCKS.min(n / 2)).then(|| at_foot.get(&block.key)).flatten();
            let verdict = if let Some(&(_, pages)) = twin {
                Some((RemovalReason::Twin, pages))
            } else if block.chars >= self.host.settings().min_block_chars() {
                self.block(block.key)
            } else {
                None
            };
            self.gone[i] = verdict.filter(|_| self.host.occurs_at(block.key, place(self.read, i, None)));
        }
    }

    /// Blocks in the lower half that were removed on the evidence of other pages.
    fn removed_from_foot(&self) -> FxHashMap<u64, Verdict> {
        let n = self.read.blocks.len();
        let counted = |reason| {
            !matches!(reason, RemovalReason::Slot | RemovalReason::Enclosed | RemovalReason::SaidTwice)
        };
        let blocks = (n / 2..n).filter(|&i| self.read.blocks[i].words > 1);
        let gone = blocks.filter_map(|i| Some((self.read.blocks[i].key, self.gone[i]?)));
        gone.filter(|(_, (reason, _))| counted(*reason)).collect()
    }

    /// Verdict on a block that reaches the threshold, or that pages repeat several times.
    fn block(&self, key: u64) -> Option<Verdict> {
        let again = || self.host.repeated_on_pages(key).filter(|_| self.is_full());
        let pages = self.host.block(key, self.read.section()).or_else(again)?;
        Some((RemovalReason::Block, pages))
    }

    /// Restores a run of an extracted text that is shorter than a decided block.
    fn give_back_short(&mut self, run: Range<usize>) {
        if !self.page.extracted {
            return;
        }
        let blocks = self.read.blocks[run.clone()].iter().zip(&self.gone[run.clone()]);
        let chars: usize = blocks.filter(|(_, gone)| gone.is_some()).map(|(block, _)| block.chars).sum();
        if chars < self.host.settings().min_block_chars() {
            self.gone[run].fill(None);
        }
    }

    /// Restores headings at the end of the run at the head, since they belong to the next block.
    fn give_back_headings(&mut self, end: usize) {
        for at in (0..end).rev() {
            if self.gone[at].is_some() && !self.heading(at) {
                return;
            }
            self.gone[at] = None;
        }
    }
}
