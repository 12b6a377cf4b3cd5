//! Amounts of visible text.

use super::{HiddenReason, Page};
use crate::{dom::Tag, text};
use html5ever::local_name;
use std::ops::{Range, RangeInclusive};

/// Amounts of visible text; differences of prefix sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Characters, whitespace folded.
    pub(crate) chars: u32,
    /// Characters inside links.
    pub(crate) link_chars: u32,
    /// Words.
    pub(crate) words: u32,
    /// Commas and sentence ends, in any script.
    pub(crate) marks: u32,
    /// Links with text.
    pub(crate) links: u32,
    /// Characters of prose: of long blocks that do not consist of links.
    pub(crate) prose: u32,
}

impl Amount {
    /// Share of the characters inside links, 0 to 1.
    pub(crate) fn link_density(self) -> f32 {
        if self.chars == 0 { 0.0 } else { self.link_chars as f32 / self.chars as f32 }
    }

    /// Amount without a part of it.
    pub(crate) const fn minus(self, other: Self) -> Self {
        Self {
            chars: self.chars.saturating_sub(other.chars),
            link_chars: self.link_chars.saturating_sub(other.link_chars),
            words: self.words.saturating_sub(other.words),
            marks: self.marks.saturating_sub(other.marks),
            links: self.links.saturating_sub(other.links),
            prose: self.prose.saturating_sub(other.prose),
        }
    }

    /// Amount with more characters, all of them inside links.
    pub(crate) const fn with_links(self, chars: u32) -> Self {
        Self { chars: self.chars + chars, link_chars: self.link_chars + chars, ..self }
    }

    /// Adds another amount.
    pub(crate) const fn add(&mut self, other: Self) {
        self.chars += other.chars;
        self.link_chars += other.link_chars;
        self.words += other.words;
        self.marks += other.marks;
        self.links += other.links;
        self.prose += other.prose;
    }
}

/// Minimum characters of a prose block.
pub(super) const MIN_PROSE: u32 = 80;
/// Maximum share of characters inside links in a prose block.
const MAX_PROSE_LINKS: f32 = 0.4;

impl Page<'_> {
    /// Counts the visible text of all nodes.
    pub(super) fn measure(&mut self) {
        let mut link_end = 0;
        let mut sum = Amount::default();
        for id in 0..self.dom.len() {
            let mut amount = Amount::default();
            match self.dom.tag(id) {
                Tag::A if self.dom.attr(id, &local_name!("href")).is_some() => {
                    link_end = link_end.max(self.dom.end(id));
                    amount.links = 1;
                }
                Tag::Text => {
                    let parent = self.dom.tag(self.dom.parent(id));
                    if !matches!(parent, Tag::Script | Tag::Style) {
                        let measured = text::measure(self.dom.text(id));
                        self.raw_words[id as usize] = measured.words;
                        amount.chars = measured.chars;
                        amount.link_chars = if id < link_end { measured.chars } else { 0 };
                        amount.words = measured.words;
                        amount.marks = measured.marks;
                    }
                }
                _ => {}
            }
            if self.gone[id as usize] == HiddenReason::No {
                sum.add(amount);
            }
            self.sums[id as usize + 1] = sum;
        }
        self.add_prose();
    }

    /// Credits runs of prose: text between two block borders that is long enough and mostly outside of links.
    fn add_prose(&mut self) {
        let dom = &self.dom;
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut run = (0, Amount::default());
        let mut close = |run: &mut (u32, Amount)| {
            let (start, amount) = std::mem::take(run);
            if amount.chars >= MIN_PROSE && amount.link_density() < MAX_PROSE_LINKS {
                found.push((start, amount.chars - amount.link_chars));
            }
        };
        let mut ends: Vec<u32> = Vec::new();
        for id in self.body..dom.end(self.body) {
            while ends.last().is_some_and(|end| *end <= id) {
                ends.pop();
                close(&mut run);
            }
            let tag = dom.tag(id);
            if tag == Tag::Text {
                let amount = self.amount_in(id..id + 1);
                if run.1.chars == 0 {
                    run.0 = id;
                }
                run.1.add(amount);
            } else if tag.is_block() {
                close(&mut run);
                ends.push(dom.end(id));
            }
        }
        close(&mut run);
        let mut found = found.into_iter().peekable();
        let mut prose = 0;
        for id in 0..self.gone.len() {
            if let Some((_, chars)) = found.next_if(|(start, _)| *start as usize == id) {
                prose += chars;
            }
            self.sums[id + 1].prose = prose;
        }
    }

    /// Recomputes the prefix sums without nodes that were hidden since.
    pub(crate) fn recompute_sums(&mut self) {
        let mut sum = Amount::default();
        let mut old = self.sums[0];
        for at in 0..self.gone.len() {
            let amount = self.sums[at + 1].minus(old);
            old = self.sums[at + 1];
            if self.gone[at] == HiddenReason::No {
                sum.add(amount);
            }
            self.sums[at + 1] = sum;
        }
    }

    /// Visible text of a subtree.
    pub(crate) fn amount(&self, id: u32) -> Amount {
        self.amount_in(id..self.dom.end(id))
    }

    /// Characters of visible text in a subtree.
    pub(crate) fn chars(&self, id: u32) -> u32 {
        self.sums[self.dom.end(id) as usize].chars.saturating_sub(self.sums[id as usize].chars)
    }

    /// Texts of a range of nodes with that many visible characters, in order.
    pub(crate) fn texts_of(&self, nodes: Range<u32>, chars: RangeInclusive<u32>) -> Vec<u32> {
        let until = |id: usize| self.sums[id].chars;
        let own = |id: u32| until(id as usize + 1).saturating_sub(until(id as usize));
        self.dom.texts(nodes).filter(|id| chars.contains(&own(*id))).collect()
    }

    /// Visible text of a range of nodes.
    pub(crate) fn amount_in(&self, range: Range<u32>) -> Amount {
        self.sums[range.end as usize].minus(self.sums[range.start as usize])
    }

    /// Frees the data of [`Page::amount`] when it is no longer needed.
    pub(crate) fn forget_amounts(&mut self) {
        self.sums = Vec::new();
        self.raw_words = Vec::new();
    }
}
