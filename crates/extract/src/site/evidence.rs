//! The counts of a host.

use super::{
    blocks::{SiteBlock, mix},
    title,
};
use rustc_hash::FxHashMap;

/// Maximum distinct texts of a host: a hash table of 2^14 slots, 0.4 MB.
const MAX_TEXTS: usize = 7 << 11;
/// Maximum distinct positions of a host: those of its templates come with its first pages.
const MAX_PATHS: usize = 7 << 9;
/// Minimum pages of a position that is used.
const MIN_PAGES: u32 = 5;
/// Minimum share of own words at a position of content.
pub(super) const CONTENT_OWN: f64 = 0.8;
/// Minimum share of a position's characters in links that makes it one of links.
pub(super) const CONTENT_LINKS: f64 = 0.3;
/// Divisor of a position's pages: an own text is on at most this part of them, or on one page.
const PAGES_OF_OWN: u32 = 20;

/// A block of an extracted page, for the evidence of its site.
#[derive(Clone, Copy, Debug)]
pub struct CountedBlock {
    pub(super) path: u64,
    pub(super) text: u64,
    pub(super) words: u32,
    pub(super) chars: u32,
    pub(super) link_chars: u32,
    /// The extraction took it.
    pub(super) taken: bool,
}

/// Result of the check of an extraction by the evidence of its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentCheck {
    /// It took less than a fifth of the page's own text, without repeated text.
    Missed,
    /// It did not miss the content.
    Taken,
    /// Too few pages have blocks at the positions of most of the page's text.
    Unknown,
}

/// Counts of the blocks of one host's pages by position: the path of tags and classes to a block in the tree.
///
/// [Observe](Self::observe) every page, [settle](Self::settle), then extract the pages [by
/// it](crate::PageExtractor::extract_by_site). Pages may come in any order, and two states may be
/// [merged](Self::merge).
///
/// **Memory is bounded**: 14,336 distinct texts and 3,584 positions are counted exactly, in less than 0.8 MB.
/// Beyond that texts of one page are dropped, and texts of late positions are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteEvidence {
    pub(super) pages: u32,
    pub(super) paths: FxHashMap<u64, PathCounts>,
    pub(super) texts: FxHashMap<u64, TextCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathCounts {
    /// Pages with blocks there, and those with one block there.
    pub(super) pages: u32,
    pub(super) once: u32,
    /// Words, and those that the extraction took.
    pub(super) words: u64,
    pub(super) taken: u64,
    pub(super) chars: u64,
    pub(super) link_chars: u64,
    /// Words of texts that are a page's own.
    pub(super) own: u64,
    /// Words of dropped own texts.
    pub(super) forgotten: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextCounts {
    pub(super) path: u64,
    pub(super) pages: u32,
    pub(super) words: u32,
}

/// Counts of the position of a block, as shares from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionCounts {
    /// Pages that have blocks there.
    pub(super) pages: u32,
    /// Share of the words in texts of one page.
    pub(super) own: f64,
    /// Share of the words that the extraction took.
    pub(super) taken: f64,
    /// Share of the characters inside links.
    pub(super) links: f64,
    /// Share of the pages with one block there.
    pub(super) once: f64,
    /// Number of pages with the block's text there.
    pub(super) pages_with_text: u32,
}

impl PositionCounts {
    /// Returns true if the block's text is the page's own.
    pub(super) fn is_own(&self) -> bool {
        is_own(self.pages_with_text, self.pages)
    }

    /// Returns true if the block's text is the page's own, at a position of content.
    pub(super) fn is_content(&self) -> bool {
        self.is_own() && self.own >= CONTENT_OWN && self.links < CONTENT_LINKS
    }

    /// Share of the position's pages with the block's text.
    pub(super) fn repeated(&self) -> f64 {
        f64::from(self.pages_with_text) / f64::from(self.pages)
    }
}

fn is_own(pages_with_text: u32, pages: u32) -> bool {
    pages_with_text <= (pages / PAGES_OF_OWN).max(1)
}

/// Check of an extraction by the positions of its blocks.
pub(super) struct PositionCheck<'a> {
    evidence: &'a SiteEvidence,
    /// Words of the page.
    words: u32,
    /// Words at known positions.
    known: u32,
    /// Extracted words at positions of own text.
    own: u32,
}

impl PositionCheck<'_> {
    /// Adds a block.
    pub(super) fn add(&mut self, path: u64, words: u32, is_taken: bool) {
        if let Some(path) = self.evidence.known_path(path) {
            self.known += words;
            let has_own_text = path.own as f64 >= CONTENT_OWN * path.words as f64;
            self.own += if is_taken && has_own_text { words } else { 0 };
        }
    }

    /// Returns true if the blocks so far suffice; further blocks do not change that.
    pub(super) fn is_surely_taken(&self) -> bool {
        // a fifth of the words at these positions may repeat
        let least_own = (CONTENT_OWN * f64::from(self.own)) as u32;
        let is_known = f64::from(self.known) >= super::HALF * f64::from(self.words);
        is_known && !super::is_missed(least_own, self.words)
    }
}

impl SiteEvidence {
    /// Pages that were counted.
    #[must_use]
    pub const fn pages(&self) -> u32 {
        self.pages
    }

    /// Counts a page.
    pub fn observe(&mut self, blocks: &[CountedBlock]) {
        self.pages = self.pages.saturating_add(1);
        // Sorted, so that each position and each text is looked up once.
        let mut sorted: Vec<&CountedBlock> = blocks.iter().collect();
        sorted.sort_by_key(|block| (block.path, block.text));
        for at_path in sorted.chunk_by(|a, b| a.path == b.path) {
            self.observe_path(at_path);
        }
    }

    /// Counts the blocks of a page at one position, sorted by text.
    fn observe_path(&mut self, blocks: &[&CountedBlock]) {
        let Some(hash) = blocks.first().map(|block| block.path) else { return };
        if self.paths.len() >= MAX_PATHS && !self.paths.contains_key(&hash) {
            return;
        }
        let path = self.paths.entry(hash).or_default();
        path.pages += 1;
        path.once += u32::from(blocks.len() == 1);
        for block in blocks {
            path.words += u64::from(block.words);
            path.taken += if block.taken { u64::from(block.words) } else { 0 };
            path.chars += u64::from(block.chars);
            path.link_chars += u64::from(block.link_chars);
        }
        for same in blocks.chunk_by(|a, b| a.text == b.text) {
            let block = same[0];
            let key = mix(hash, block.text);
            self.make_room(key);
            let new = TextCounts { path: hash, pages: 0, words: block.words };
            self.texts.entry(key).or_insert(new).pages += 1;
        }
    }

    /// Adds the counts of another state, for example of other pages.
    pub fn merge(&mut self, other: &Self) {
        self.pages = self.pages.saturating_add(other.pages);
        for (hash, more) in &other.paths {
            if self.paths.len() >= MAX_PATHS && !self.paths.contains_key(hash) {
                continue;
            }
            let path = self.paths.entry(*hash).or_default();
            path.pages += more.pages;
            path.once += more.once;
            path.words += more.words;
            path.taken += more.taken;
            path.chars += more.chars;
            path.link_chars += more.link_chars;
            path.forgotten += more.forgotten;
        }
        for (key, more) in &other.texts {
            self.make_room(*key);
            let text = self.texts.entry(*key).or_insert(TextCounts { pages: 0, ..*more });
            text.pages += more.pages;
        }
    }

    /// Makes space for a text in a full table. It drops texts of one page, then those of two, and so on,
    /// until a quarter of the table is free. With less, a table of frequent texts would be scanned for each
    /// new text.
    fn make_room(&mut self, key: u64) {
        if self.texts.len() < MAX_TEXTS || self.texts.contains_key(&key) {
            return;
        }
        let (texts, paths) = (&mut self.texts, &mut self.paths);
        for least in 1.. {
            texts.retain(|_, text| {
                let stays = text.pages > least;
                if !stays && let Some(path) = paths.get_mut(&text.path) {
                    path.forgotten += u64::from(text.words) * u64::from(text.pages);
                }
                stays
            });
            if texts.len() <= MAX_TEXTS / 4 * 3 {
                break;
            }
        }
        // removed entries keep their slots, and a table full of them would grow
        texts.shrink_to_fit();
    }

    /// Computes the own share of each position after the pages have been counted.
    pub fn settle(&mut self) {
        self.paths.values_mut().for_each(|path| path.own = path.forgotten);
        for text in self.texts.values() {
            if let Some(path) = self.paths.get_mut(&text.path)
                && is_own(text.pages, path.pages)
            {
                path.own += u64::from(text.words) * u64::from(text.pages);
            }
        }
    }

    /// Copy for [`PageExtractor::extract_by_site`](crate::PageExtractor::extract_by_site): settled, without
    /// texts of one page, which add nothing to their position. It gives the same results with less memory.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let mut copy = Self { pages: self.pages, paths: self.paths.clone(), texts: FxHashMap::default() };
        for (key, text) in &self.texts {
            if text.pages > 1 {
                copy.texts.insert(*key, *text);
            } else if let Some(path) = copy.paths.get_mut(&text.path) {
                path.forgotten += u64::from(text.words);
            }
        }
        copy.settle();
        copy
    }

    /// Classifies the extraction of a page by its blocks. The evidence must be [settled](Self::settle).
    #[must_use]
    pub fn classify(&self, blocks: &[CountedBlock]) -> ContentCheck {
        let all = blocks.iter().map(|block| block.words).sum();
        let (mut known, mut own_words, mut taken_words) = (0, 0, 0);
        let is_known = |known| f64::from(known) >= super::HALF * f64::from(all);
        let (taken, other) = (|block: &&CountedBlock| block.taken, |block: &&CountedBlock| !block.taken);
        // The extracted blocks come first, because they decide most pages.
        for block in blocks.iter().filter(taken).chain(blocks.iter().filter(other)) {
            let place = self.place_of(block.path, block.text);
            known += if place.is_some() { block.words } else { 0 };
            if place.is_some_and(|place| place.is_content()) {
                own_words += block.words;
            }
            if block.taken && place.is_none_or(|place| place.repeated() < super::HALF) {
                taken_words += block.words;
            }
            // The other blocks change nothing, even if all words are the page's own.
            if is_known(known) && !super::is_missed(taken_words, all) {
                return ContentCheck::Taken;
            }
        }
        match () {
            () if super::is_missed(taken_words, own_words) => ContentCheck::Missed,
            () if !is_known(known) => ContentCheck::Unknown,
            () => ContentCheck::Taken,
        }
    }

    /// Checks by the positions of the blocks of a page with so many words, whatever their texts, that the extraction
    /// took the content. [`Self::classify`] then returns [`ContentCheck::Taken`], unless texts of the page repeat that
    /// differ on others.
    pub(super) const fn position_check(&self, words: u32) -> PositionCheck<'_> {
        PositionCheck { evidence: self, words, known: 0, own: 0 }
    }

    /// Counts of a position; `None` if fewer than [`MIN_PAGES`] pages have a block there.
    fn known_path(&self, path: u64) -> Option<&PathCounts> {
        self.paths.get(&path).filter(|path| path.pages >= MIN_PAGES)
    }

    /// Counts of a block's position; `None` if fewer than [`MIN_PAGES`] pages have one there.
    pub(super) fn place(&self, block: &SiteBlock) -> Option<PositionCounts> {
        self.place_of(block.path, block.text)
    }

    /// Returns true if half of the pages have this title: it names the site.
    pub(super) fn is_title_of_site(&self, title: &str) -> bool {
        let place = self.place_of(title::PLACE, title::hash(title));
        place.is_some_and(|place| place.repeated() >= super::HALF)
    }

    fn place_of(&self, path: u64, text: u64) -> Option<PositionCounts> {
        let key = mix(path, text);
        let path = self.known_path(path)?;
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        Some(PositionCounts {
            pages: path.pages,
            own: share(path.own, path.words),
            taken: share(path.taken, path.words),
            links: share(path.link_chars, path.chars),
            once: f64::from(path.once) / f64::from(path.pages),
            pages_with_text: self.texts.get(&key).map_or(0, |text| text.pages),
        })
    }

    /// Bytes in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let text = size_of::<(u64, TextCounts)>() + 1;
        let path = size_of::<(u64, PathCounts)>() + 1;
        self.texts.capacity() * text + self.paths.capacity() * path
    }
}

#[cfg(test)]
mod tests;
