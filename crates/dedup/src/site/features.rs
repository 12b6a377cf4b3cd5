//! Features of a page: hashes of several kinds, each counted once per page.

use super::{
    LABEL_WORDS, PageText, RUN, ZONE,
    read::{Block, SitePage},
    words::{Word, WordBuffers, mix, words},
};
use rustc_hash::FxHashSet;

/// Margin at which a run of blocks begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    Head,
    Foot,
}

/// A line, at any position within reach of a run.
pub(super) const fn line(key: u64) -> u64 {
    mix(key, 1)
}

/// A whole block, at any position.
pub(super) const fn block(key: u64) -> u64 {
    mix(key, 2)
}

/// The line before a block and the one after it.
pub(super) const fn surroundings(before: u64, after: u64) -> u64 {
    mix(mix(before, after), 3)
}

/// Two consecutive words of a block near a margin.
pub(super) const fn pair(zone: Zone, first: Word, second: Word) -> u64 {
    mix(mix(first.masked, second.masked), 4 + zone as u64)
}

/// A title.
pub(super) const fn title(hash: u64) -> u64 {
    mix(hash, 6)
}

/// Position of a block outside of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Nearer to the head.
    Head,
    /// Nearer to the foot.
    Foot,
    /// The name of the page.
    Name,
    /// Under the page's title or a heading.
    Title,
}

/// A whole block at a place.
pub(super) const fn placed(key: u64, place: Position) -> u64 {
    mix(key, 7 + place as u64)
}

/// A whole block that a page has more than once.
pub(super) const fn again(key: u64) -> u64 {
    mix(key, 11)
}

/// Position of a block; a run at a margin determines the side.
pub(super) fn place(read: &SitePage, at: usize, zone: Option<Zone>) -> Position {
    let nearer = if at * 2 < read.blocks.len() { Zone::Head } else { Zone::Foot };
    match zone.unwrap_or(nearer) {
        _ if read.names_page(at) => Position::Name,
        _ if at > 0 && (read.names_page(at - 1) || read.blocks[at - 1].heading) => Position::Title,
        Zone::Head => Position::Head,
        Zone::Foot => Position::Foot,
    }
}

/// Features by which a page is counted.
#[derive(Default)]
pub(super) struct Features {
    /// Features counted for the host and for the section.
    pub(super) both: Vec<u64>,
    /// For the host alone.
    pub(super) host: Vec<u64>,
}

/// All features of a page. Blocks shorter than `min_block_chars` are not counted as wholes. An extracted text
/// has only the features that its cleaning looks up.
pub(super) fn of(page: &PageText<'_>, read: &SitePage, min_block_chars: usize) -> Features {
    let n = read.blocks.len();
    let mut out = Features::default();
    let mut buffers = WordBuffers::default();
    let mut once = FxHashSet::default();
    for (i, this) in read.blocks.iter().enumerate() {
        if this.chars >= min_block_chars {
            out.both.push(block(this.key));
        }
        if this.chars >= min_block_chars || read.names_page(i) {
            out.host.push(placed(this.key, place(read, i, None)));
        }
        if this.chars >= min_block_chars && !once.insert(this.key) {
            out.host.push(again(this.key));
        }
        if i >= RUN && i + RUN < n {
            continue;
        }
        out.both.extend(read.lines_of(i).iter().map(|l| line(l.key)));
        if !page.extracted && may_be_slot(this) {
            out.both.extend(surroundings_of(read, i));
        }
        if (i < ZONE || i + ZONE >= n) && may_be_pattern(read, i) {
            let words = words(read.text_of(i, page), &mut buffers);
            for (a, b) in words.iter().zip(words.iter().skip(1)) {
                out.both.extend((i < ZONE).then(|| pair(Zone::Head, *a, *b)));
                out.both.extend((i + ZONE >= n).then(|| pair(Zone::Foot, *a, *b)));
            }
        }
    }
    out.host.extend(read.titles.iter().map(|&hash| title(hash)));
    for list in [&mut out.both, &mut out.host] {
        list.sort_unstable();
        list.dedup();
    }
    out
}

/// Returns true for a label instead of content: other pages may have another label in its place.
pub(super) const fn may_be_slot(block: &Block) -> bool {
    !block.heading && !block.prose && !block.fenced
}

/// Returns true for short lines, which may mix words of the page with those of the template.
pub(super) fn may_be_pattern(read: &SitePage, i: usize) -> bool {
    !read.blocks[i].prose && read.lines_of(i).iter().all(|line| line.words <= LABEL_WORDS)
}

/// Lines next to a block, if it has some on both sides.
pub(super) fn surroundings_of(read: &SitePage, i: usize) -> Option<u64> {
    let before = read.lines_of(i.checked_sub(1)?).last()?;
    let after = (i + 1 < read.blocks.len()).then(|| read.lines_of(i + 1))?.first()?;
    Some(surroundings(before.key, after.key))
}
