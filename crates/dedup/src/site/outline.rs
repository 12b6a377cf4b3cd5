//! The page's own list of its sections: a table of contents beside or inside the text.

use super::{
    RUN, TITLE_WORDS,
    cleaner::PageCleaner,
    features::Zone,
    view::Evidence,
    words::{WordBuffers, title, words},
};
use std::ops::Range;

/// Minimum lines of a list that are also separate blocks of the page, in the same order.
const LISTED: usize = 3;
/// Minimum share of such lines: a list may have a line of its own, such as *Overview*.
const LISTED_SHARE: f64 = 0.75;
/// Maximum lines of a list.
const MAX_LINES: usize = 512;
/// Maximum blocks of a page with the name of a section: the section, and lists of a sidebar.
const MAX_BLOCKS: usize = 3;
/// Maximum blocks between a list of the text itself and its first section, such as an abstract.
const NEAR: usize = 2;
/// Share of a line that all pages have. The [outlook](crate::outlook::Outlook) computes it with rounding.
const ALL: f64 = 1.0 - 1e-9;

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

    /// Distances of the blocks with these words from a block, on one side of it; the greatest first.
    fn distances(&self, zone: Zone, hash: u64, from: usize) -> impl Iterator<Item = usize> {
        let first = self.0.partition_point(|entry| entry.0 < hash);
        let mut found = [None; MAX_BLOCKS];
        for (distance, (_, at)) in
            found.iter_mut().zip(self.0[first..].iter().take_while(|entry| entry.0 == hash))
        {
            let beyond = if zone == Zone::Head { at.checked_sub(from) } else { from.checked_sub(*at) };
            *distance = beyond.filter(|&distance| distance > 0);
        }
        if zone == Zone::Head {
            found.reverse();
        }
        found.into_iter().flatten()
    }
}

impl PageCleaner<'_> {
    /// End of a list of the page's sections that begins right below the frame and stands above a label or
    /// more frame. The label is usually the page's title. No shared word is required between the label and the
    /// URL, since a translated page often has an English URL. A list right above its first section stays: such
    /// a list belongs to the text below the title.
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

    /// First block of a list of the page's sections that ends right above the frame. The list stays if it
    /// begins above the end of the text or the page's title, or contains removed blocks.
    pub(super) fn outline_at_foot(&self, at: usize, end: usize) -> Option<usize> {
        if !self.is_full() || self.gone.get(at + 1).is_none_or(Option::is_none) {
            return None;
        }
        let start = self.outline(Zone::Foot, at)?.blocks.start;
        let is_below_text = start >= end && self.title.is_none_or(|title| title < start);
        (is_below_text && self.gone[start..=at].iter().all(Option::is_none)).then_some(start)
    }

    /// End of the last section that a list of the text names. The section's name is on so many pages that
    /// its text may look like the frame; otherwise the result is zero. The frame begins at the first block
    /// on more pages, since it is on pages without the section too. Without such a block the page has no
    /// frame at its foot. A section of all pages has no such block either, and is no exception.
    pub(super) fn end_of_last_section(&self) -> usize {
        let Some(last) = self.last_section() else { return 0 };
        let own = self.rarest_line(last);
        if own.share < self.least(false) || own.share >= ALL {
            return 0;
        }
        let n = self.read.blocks.len();
        (last + 1..n).find(|&at| self.rarest_line(at).pages > own.pages).unwrap_or(n)
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
        let least = LISTED_SHARE * lines.len() as f64;
        let enough = |count: usize| count >= LISTED && count as f64 >= least;
        if !enough(distinct.len()) {
            return None;
        }
        let from = if zone == Zone::Head { blocks.end - 1 } else { blocks.start };
        let lines = lines.into_iter().flatten();
        let distances = longest_ascending(lines.map(|hash| self.singles().distances(zone, hash, from)));
        let before = std::iter::once(0).chain(distances.iter().copied());
        let apart = distances.iter().zip(before).filter(|(distance, before)| *distance - before > 1).count();
        if !enough(distances.len()) || apart * 2 < distances.len() {
            return None;
        }
        let sections: Vec<usize> = match zone {
            Zone::Head => distances.iter().map(|distance| from + distance).collect(),
            Zone::Foot => distances.iter().rev().map(|distance| from - distance).collect(),
        };
        Some(Outline { blocks, sections })
    }

    /// Blocks of labels in a row of which most lines stand on the page again, and the hashes of their lines
    /// from there on. A block of the frame ends the row.
    fn listed_lines(&self, zone: Zone, from: usize) -> Option<(Range<usize>, Vec<Option<u64>>)> {
        let row = self.labels(zone, from);
        if row.clone().map(|at| self.read.blocks[at].lines.len()).take(LISTED).sum::<usize>() < LISTED {
            return None;
        }
        let (singles, buffers) = (self.singles(), &mut WordBuffers::default());
        let (mut lines, mut blocks) = (Vec::new(), from..from);
        for (step, at) in row.enumerate() {
            if lines.len() + self.read.blocks[at].lines.len() > MAX_LINES {
                break;
            }
            let text = self.read.text_of(at, &self.page).lines();
            let mut hashes: Vec<_> = text.map(|line| words_hash(line, buffers)).collect();
            let again = hashes
                .iter()
                .flatten()
                .filter(|&&hash| singles.distances(zone, hash, at).next().is_some())
                .count();
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

    /// Blocks that may be a list, in a row from a block on.
    fn labels(&self, zone: Zone, from: usize) -> impl Iterator<Item = usize> + Clone {
        let steps = (0..RUN).map_while(move |step| match zone {
            Zone::Head => from.checked_add(step),
            Zone::Foot => from.checked_sub(step),
        });
        steps.take_while(|&at| {
            let block = self.read.blocks.get(at);
            block.is_some_and(|block| !block.prose && !block.fenced && !block.heading)
        })
    }

    fn singles(&self) -> &Singles {
        self.singles.get_or_init(|| {
            let buffers = &mut WordBuffers::default();
            let mut found = Vec::new();
            for (at, block) in self.read.blocks.iter().enumerate() {
                let is_label = block.lines.len() == 1 && !block.prose && !block.fenced;
                if is_label && block.words as usize <= TITLE_WORDS {
                    let hash = words_hash(self.read.text_of(at, &self.page), buffers);
                    found.extend(hash.map(|hash| (hash, at)));
                }
            }
            Singles::of(found)
        })
    }
}

/// Hash of the words of a short line, without the marks of a list or a heading.
fn words_hash(line: &str, buffers: &mut WordBuffers) -> Option<u64> {
    let words = words(line, buffers);
    (1..=TITLE_WORDS).contains(&words.len()).then(|| title(&words))
}

/// Longest run of ascending numbers with at most one of each list, and the one that ends first of several.
/// The numbers of a list come in descending order. So one line out of order costs no other line its place.
fn longest_ascending(lists: impl Iterator<Item = impl Iterator<Item = usize>>) -> Vec<usize> {
    // a number and the one before it in its run; for each length the end of the run that ends first
    let (mut found, mut ends): (Vec<(usize, Option<usize>)>, Vec<usize>) = (Vec::new(), Vec::new());
    for number in lists.flatten() {
        let length = ends.partition_point(|&end| found[end].0 < number);
        let before = length.checked_sub(1).map(|at| ends[at]);
        if length == ends.len() {
            ends.push(found.len());
        } else {
            ends[length] = found.len();
        }
        found.push((number, before));
    }
    let mut run: Vec<usize> =
        std::iter::successors(ends.last().copied(), |&at| found[at].1).map(|at| found[at].0).collect();
    run.reverse();
    run
}
