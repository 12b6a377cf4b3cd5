//! The page's own list of its sections: a table of contents beside or inside the text.

use super::{
    RUN, TITLE_WORDS,
    features::Zone,
    judge::Judge,
    view::Evidence,
    words::{Scratch, title, words},
};
use std::ops::Range;

/// Minimum lines of a list that stand as blocks of their own on the page, in the same order.
const LISTED: usize = 3;
/// Minimum share of such lines: a list may have a line of its own, such as *Overview*.
const LISTED_SHARE: f64 = 0.75;
/// Maximum lines of a list.
const MAX_LINES: usize = 512;
/// Maximum blocks of a page with the name of a section: the section, and lists of a sidebar.
const MAX_BLOCKS: usize = 3;
/// Maximum blocks between a list of the text itself and its first section, such as an abstract.
const NEAR: usize = 2;

/// A list of labels. Its lines stand on the page as blocks of one line, in the same order and with text
/// between them.
pub(super) struct Outline {
    /// Blocks of the list.
    pub(super) blocks: Range<usize>,
    /// Blocks that it lists, ascending.
    sections: Vec<usize>,
}

/// Blocks of one line by the hash of their words, ascending.
#[derive(Debug)]
pub(super) struct Singles(Vec<(u64, usize)>);

impl Singles {
    /// Without words that many blocks have, such as tags under the entries of a list.
    fn of(mut found: Vec<(u64, usize)>) -> Self {
        found.sort_unstable();
        let same = found.chunk_by(|a, b| a.0 == b.0);
        Self(same.filter(|blocks| blocks.len() <= MAX_BLOCKS).flatten().copied().collect())
    }

    /// The nearest block with these words below a position.
    fn below(&self, hash: u64, at: usize) -> Option<usize> {
        let found = self.0.get(self.0.partition_point(|&entry| entry <= (hash, at)))?;
        (found.0 == hash).then_some(found.1)
    }

    /// The nearest block with these words above a position.
    fn above(&self, hash: u64, at: usize) -> Option<usize> {
        let found = self.0.get(self.0.partition_point(|&entry| entry < (hash, at)).checked_sub(1)?)?;
        (found.0 == hash).then_some(found.1)
    }

    fn beyond(&self, zone: Zone, hash: u64, at: usize) -> Option<usize> {
        match zone {
            Zone::Head => self.below(hash, at),
            Zone::Foot => self.above(hash, at),
        }
    }
}

impl Judge<'_> {
    /// End of a list of the page's sections that begins right below the frame and stands above the page's
    /// title. A list right above its first section stays: it belongs to the text below the title.
    pub(super) fn outline_at_head(&self, at: usize) -> Option<usize> {
        if !self.is_full() || at == 0 || self.gone[at - 1].is_none() {
            return None;
        }
        let outline = self.outline(Zone::Head, at)?;
        let end = outline.blocks.end;
        let next = self.read.blocks.get(end)?;
        let is_section = outline.sections.contains(&end) && !self.names(end);
        let is_label = next.lines.len() == 1 && !next.prose;
        (!is_section && (is_label || self.template(end, Zone::Head).is_some())).then_some(end)
    }

    /// First block of a list of the page's sections that ends right above the frame.
    pub(super) fn outline_at_foot(&self, at: usize) -> Option<usize> {
        if !self.is_full() || self.gone.get(at + 1).is_none_or(Option::is_none) {
            return None;
        }
        Some(self.outline(Zone::Foot, at)?.blocks.start)
    }

    /// End of the last section that a list of the text names. The section's name is on so many pages that
    /// its text may look like the frame; otherwise the result is zero. The frame begins at the first block
    /// on more pages, since it is on pages without the section too.
    pub(super) fn end_of_last_section(&self) -> usize {
        let Some(last) = self.last_section() else { return 0 };
        let own = self.rarest_line(last);
        if own.share < self.least(false) {
            return 0;
        }
        (last + 1..self.read.blocks.len()).find(|&at| self.rarest_line(at).pages > own.pages).unwrap_or(0)
    }

    /// Evidence for the line of a block that is on the fewest pages.
    fn rarest_line(&self, at: usize) -> Evidence {
        let lines = self.read.lines_of(at).iter().map(|line| self.host.on_host(line.key));
        lines.min_by_key(|evidence| evidence.pages).unwrap_or_default()
    }

    /// Last section of the first list that stands right above its sections.
    fn last_section(&self) -> Option<usize> {
        if !self.is_full() {
            return None;
        }
        let near = |list: &Outline| list.sections.first().is_some_and(|&at| at <= list.blocks.end + NEAR);
        let starts = 0..self.read.blocks.len().min(RUN);
        let first = starts.filter_map(|at| self.outline(Zone::Head, at)).find(near)?;
        first.sections.last().copied()
    }

    /// The list from a block on: downwards with its sections below, or upwards with its sections above.
    fn outline(&self, zone: Zone, from: usize) -> Option<Outline> {
        let (blocks, lines) = self.listed_lines(zone, from)?;
        let mut distinct: Vec<u64> = lines.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let enough = |count: usize| count >= LISTED && count as f64 >= LISTED_SHARE * lines.len() as f64;
        if !enough(distinct.len()) {
            return None;
        }
        let mut at = if zone == Zone::Head { blocks.end - 1 } else { blocks.start };
        let (mut apart, mut sections) = (0, Vec::new());
        for hash in lines.iter().flatten() {
            let Some(next) = self.singles().beyond(zone, *hash, at) else { continue };
            apart += usize::from(next.abs_diff(at) > 1);
            sections.push(next);
            at = next;
        }
        sections.sort_unstable();
        (enough(sections.len()) && apart * 2 >= sections.len()).then_some(Outline { blocks, sections })
    }

    /// Blocks of labels in a row of which most lines stand on the page again, and the hashes of their lines
    /// from there on. A block of the frame ends the row.
    fn listed_lines(&self, zone: Zone, from: usize) -> Option<(Range<usize>, Vec<Option<u64>>)> {
        let (singles, scratch) = (self.singles(), &mut Scratch::default());
        let (mut lines, mut blocks) = (Vec::new(), from..from);
        for step in 0..RUN {
            let next = if zone == Zone::Head { from.checked_add(step) } else { from.checked_sub(step) };
            let Some((at, block)) = next.and_then(|at| Some((at, self.read.blocks.get(at)?))) else { break };
            let is_list = !block.prose && !block.fenced && !block.heading;
            if !is_list || lines.len() + block.lines.len() > MAX_LINES {
                break;
            }
            let text = self.read.text_of(at, &self.page).lines();
            let mut hashes: Vec<_> = text.map(|line| words_hash(line, scratch)).collect();
            let again =
                hashes.iter().flatten().filter(|&&hash| singles.beyond(zone, hash, at).is_some()).count();
            if again * 2 <= hashes.len() || (step > 0 && self.template(at, zone).is_some()) {
                break;
            }
            if zone == Zone::Foot {
                hashes.reverse();
            }
            lines.extend(hashes);
            blocks = blocks.start.min(at)..blocks.end.max(at + 1);
        }
        (lines.len() >= LISTED).then_some((blocks, lines))
    }

    fn singles(&self) -> &Singles {
        self.singles.get_or_init(|| {
            let scratch = &mut Scratch::default();
            let mut found = Vec::new();
            for (at, block) in self.read.blocks.iter().enumerate() {
                let is_label = block.lines.len() == 1 && !block.prose && !block.fenced;
                if is_label && block.words as usize <= TITLE_WORDS {
                    let hash = words_hash(self.read.text_of(at, &self.page), scratch);
                    found.extend(hash.map(|hash| (hash, at)));
                }
            }
            Singles::of(found)
        })
    }
}

/// Hash of the words of a short line, without the marks of a list or a heading.
fn words_hash(line: &str, scratch: &mut Scratch) -> Option<u64> {
    let words = words(line, scratch);
    (1..=TITLE_WORDS).contains(&words.len()).then(|| title(&words))
}
