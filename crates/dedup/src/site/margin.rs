//! Membership of a block at a margin in a template: by its lines, its words, or titles of other pages.

use super::{
    TITLE_WORDS,
    cleaner::{Level, PageCleaner, Verdict},
    features::{Zone, line as line_feature, may_be_pattern, pair},
    words::{Word, WordBuffers, mix, words},
};
use crawl_model::RemovalReason;

/// Minimum share of a block's words that lines or word pairs cover.
const COVERED: f64 = 0.5;
/// Minimum share of covered lines in a list of at least [`LIST_LINES`].
const LIST_COVERED: f64 = 0.75;
const LIST_LINES: usize = 4;
/// Minimum words that pairs cover: content shares phrases of two or three words too.
const PATTERN_WORDS: usize = 4;
/// Minimum share of covered words if titles of other pages cover some of them.
const TITLES_COVERED: f64 = 0.8;
const TITLES_LINES: usize = 3;
/// Maximum occurrences of a line on a page. A more frequent line belongs to the body, unless all its
/// occurrences are close together.
const MAX_ON_A_PAGE: u32 = 2;
/// Divisor of the page's blocks: such lines must spread over at least this part.
const SPREAD: usize = 3;

pub(super) struct Margin<'j, 'a> {
    pub(super) cleaner: &'j PageCleaner<'a>,
    /// The block.
    pub(super) at: usize,
    pub(super) zone: Zone,
    /// Minimum share of the pages for evidence.
    pub(super) least: f64,
}

impl Margin<'_, '_> {
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.by_lines().or_else(|| self.by_words().filter(|_| self.cleaner.level == Level::Full))
    }

    fn repeated_here(&self, key: u64) -> bool {
        let times = self.cleaner.times(key);
        times.lines > MAX_ON_A_PAGE && (times.last - times.first) * SPREAD > self.cleaner.read.blocks.len()
    }

    fn by_lines(&self) -> Option<Verdict> {
        let lines = self.cleaner.read.lines_of(self.at);
        let block = &self.cleaner.read.blocks[self.at];
        let (mut words, mut covered, mut pages) = (0, 0, u64::MAX);
        for line in lines {
            let evidence = self.cleaner.evidence(line_feature(line.key));
            if evidence.share >= self.least && !self.repeated_here(line.key) {
                words += line.words;
                covered += 1;
                pages = pages.min(evidence.pages);
            }
        }
        let by_words = f64::from(words) >= COVERED * f64::from(block.words);
        let is_list = !block.prose && lines.len() >= LIST_LINES;
        let by_lines = is_list && f64::from(covered) >= LIST_COVERED * lines.len() as f64;
        (covered > 0 && (by_words || by_lines)).then_some((RemovalReason::Margin, pages))
    }

    fn by_words(&self) -> Option<Verdict> {
        let read = self.cleaner.read;
        let lines = read.lines_of(self.at);
        if !may_be_pattern(read, self.at) || (self.zone == Zone::Head && read.names_page(self.at)) {
            return None;
        }
        let repeated_here = || lines.iter().any(|line| self.repeated_here(line.key));
        let words = words(read.text_of(self.at, &self.cleaner.page), &mut WordBuffers::default());
        if words.len() < 2 {
            return None;
        }
        let mut covered = vec![false; words.len()];
        let pages = pairs(self.cleaner, (self.zone, self.least), &words, &mut covered);
        let share = |covered: &[bool]| covered.iter().filter(|&&c| c).count() as f64 / words.len() as f64;
        if share(&covered) >= COVERED && covered.iter().filter(|&&c| c).count() >= PATTERN_WORDS {
            return (!repeated_here()).then_some((RemovalReason::Pattern, pages));
        }
        if self.zone == Zone::Head || lines.len() > TITLES_LINES || self.cleaner.page.extracted {
            return None;
        }
        let pages = self.titles(&words, &mut covered)?;
        (share(&covered) >= TITLES_COVERED && !repeated_here()).then_some((RemovalReason::Titles, pages))
    }

    /// Marks titles of other pages, the longest first; a title of one word only if both sides are covered.
    /// Returns the minimum number of pages with one of them, if any.
    fn titles(&self, words: &[Word], covered: &mut [bool]) -> Option<u64> {
        let (mut found, mut at) = (None, 0);
        while at < words.len() {
            let Some((len, pages)) = self.title_at(words, covered, at) else {
                at += 1;
                continue;
            };
            covered[at..at + len].fill(true);
            found = Some(found.map_or(pages, |least: u64| least.min(pages)));
            at += len;
        }
        found
    }

    fn title_at(&self, words: &[Word], covered: &[bool], at: usize) -> Option<(usize, u64)> {
        let (mut hash, mut longest) = (0, None);
        for (n, word) in words[at..].iter().take(TITLE_WORDS).enumerate() {
            hash = mix(hash, word.plain);
            let own = u64::from(self.cleaner.read.titles.binary_search(&hash).is_ok());
            let others = self.cleaner.host.pages_with_title(hash).saturating_sub(own);
            let end = at + n + 1;
            let alone = n == 0
                && (covered[at] || (at > 0 && !covered[at - 1]) || covered.get(end).is_some_and(|c| !c));
            if others > 0 && !alone {
                longest = Some((n + 1, others));
            }
        }
        longest
    }
}

/// Marks consecutive words that are on the minimum share of the pages, near the same margin. Returns the
/// minimum number of these pages.
pub(super) fn pairs(
    cleaner: &PageCleaner<'_>,
    (zone, least): (Zone, f64),
    words: &[Word],
    covered: &mut [bool],
) -> u64 {
    let mut pages = u64::MAX;
    for (i, two) in words.windows(2).enumerate() {
        let evidence = cleaner.evidence(pair(zone, two[0], two[1]));
        if evidence.share >= least {
            covered[i] = true;
            covered[i + 1] = true;
            pages = pages.min(evidence.pages);
        }
    }
    pages
}
