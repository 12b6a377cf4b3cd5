//! Splitting of a page into blocks and lines.

use super::{
    PROSE_WORDS, PageText,
    section::{file_name, section},
    table::GroupHashes,
    words::*,
};
use crate::{
    blocks::{is_space, parts},
    fence::Fence,
};
use std::ops::Range;

/// Minimum letters of a significant word in the file's name.
const NAME_LETTERS: usize = 4;

/// Lines at the head that distinguish templates. One or two lines may be shared content (`NAME` in a manual).
const OPENING_LINES: usize = 3;

/// A page prepared for counting and judging. Reading one takes linear time.
#[derive(Clone, Debug, Default)]
pub struct SitePage {
    pub(super) blocks: Vec<Block>,
    pub(super) lines: Vec<Line>,
    /// Page groups that the page counts for: its section, and the pages that begin with the same
    /// [`OPENING_LINES`] lines. An extracted text has no groups. Pages of a folder share its name, which
    /// belongs to a template only in a whole page. Also, the first pages of a host come from few folders.
    pub(super) groups: GroupHashes,
    /// Possible titles, ascending; of a whole page only.
    pub(super) titles: Vec<u64>,
    /// Bit set of the first blocks that name the page.
    names: u8,
}

/// A trimmed block between blank lines.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) bytes: Range<usize>,
    pub(super) lines: Range<usize>,
    /// Hash of its lines' keys; the key of its line if it has one.
    pub(super) key: u64,
    pub(super) words: u32,
    /// Visible characters: without the targets of links.
    pub(super) chars: usize,
    /// True for a paragraph, false for a list of links or labels.
    pub(super) prose: bool,
    /// A heading in Markdown.
    pub(super) heading: bool,
    /// True for a part of fenced code, which cannot lose a part.
    pub(super) fenced: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) key: u64,
    pub(super) words: u32,
}

impl SitePage {
    /// Reads a page.
    #[must_use]
    pub fn of(page: &PageText<'_>) -> Self {
        let mut out = Self::default();
        let mut buffers = WordBuffers::default();
        let mut fence = Fence::default();
        for part in parts(page.content) {
            let text = page.content[part.clone()].trim_start_matches(is_space);
            let start = part.end - text.len();
            let text = text.trim_end_matches(is_space);
            if text.is_empty() {
                continue;
            }
            out.block(start..start + text.len(), text, &mut fence, &mut buffers);
        }
        if !page.extracted {
            out.titles = out.titles_of(page, &mut buffers);
            out.groups = [Some(section(page.url)), out.lines.get(..OPENING_LINES).map(opening)];
        }
        out.names = out.names_of(page, &mut buffers);
        out
    }

    /// Returns true if a block names the page.
    pub(super) const fn names_page(&self, block: usize) -> bool {
        block < super::TITLE_BLOCKS && self.names & (1 << block) != 0
    }

    /// Finds the blocks that name the page among the first ones. They are headings of level one, or lines
    /// with the largest share of title or file name words, at least half.
    fn names_of(&self, page: &PageText<'_>, buffers: &mut WordBuffers) -> u8 {
        let known = naming_words(page, buffers);
        let first = self.blocks.len().min(super::TITLE_BLOCKS);
        let shares: Vec<f64> = (0..first).map(|at| self.naming_share(at, page, &known, buffers)).collect();
        let most = shares.iter().copied().fold(0.5, f64::max);
        shares.iter().rev().fold(0, |all, &share| all << 1 | u8::from(share >= most))
    }

    /// Share of a block's words that are among the `known` [`naming_words`]. It is 1 for a heading of level
    /// one, 0 for a paragraph and for several lines.
    pub(super) fn naming_share(
        &self,
        at: usize,
        page: &PageText<'_>,
        known: &[u64],
        buffers: &mut WordBuffers,
    ) -> f64 {
        let line = self.text_of(at, page);
        if self.lines_of(at).len() != 1 || self.blocks[at].prose {
            return 0.0;
        }
        if line.starts_with("# ") {
            return 1.0;
        }
        let words = words(line, buffers);
        let named = words.iter().filter(|word| known.contains(&word.plain)).count();
        named as f64 / words.len().max(1) as f64
    }

    /// Returns true if a block has one of these words.
    pub(super) fn has_word_of(
        &self,
        block: usize,
        page: &PageText<'_>,
        of: &[u64],
        buffers: &mut WordBuffers,
    ) -> bool {
        !of.is_empty()
            && words(self.text_of(block, page), buffers).iter().any(|word| of.contains(&word.plain))
    }

    fn block<'a>(
        &mut self,
        bytes: Range<usize>,
        text: &'a str,
        fence: &mut Fence<'a>,
        buffers: &mut WordBuffers,
    ) {
        let first = self.lines.len();
        let (mut key, mut words, mut longest, mut shown, mut linked) = (0, 0_u32, 0, 0, 0);
        let mut fenced = fence.is_open();
        let links = has_link(text);
        let mut count = 0;
        for line in lines(text) {
            count += 1;
            fenced |= fence.read(line);
            let read = line_key(line, links, buffers);
            if read.words == 0 {
                continue;
            }
            key = if self.lines.len() == first { read.key } else { mix(key, read.key) };
            words = words.saturating_add(read.words);
            longest = longest.max(read.words);
            shown += read.shown;
            linked += read.linked;
            self.lines.push(Line { key: read.key, words: read.words });
        }
        let lines = first..self.lines.len();
        let prose = longest >= PROSE_WORDS && linked * 2 < shown;
        let heading = text.starts_with('#') && lines.len() == 1;
        self.blocks.push(Block {
            bytes,
            lines,
            key,
            words,
            chars: shown + count - 1,
            prose,
            heading,
            fenced,
        });
    }

    pub(crate) const fn section(&self) -> Option<u64> {
        self.groups[0]
    }

    pub(super) fn lines_of(&self, block: usize) -> &[Line] {
        &self.lines[self.blocks[block].lines.clone()]
    }

    pub(super) fn text_of<'a>(&self, block: usize, page: &PageText<'a>) -> &'a str {
        &page.content[self.blocks[block].bytes.clone()]
    }

    /// Possible titles of the page: the declared title, and the first lines of its first blocks.
    fn titles_of(&self, page: &PageText<'_>, buffers: &mut WordBuffers) -> Vec<u64> {
        let said = page.title.and_then(|title| title_hash(title, buffers));
        let mut out: Vec<u64> = said.into_iter().collect();
        let first = 0..self.blocks.len().min(super::TITLE_BLOCKS);
        out.extend(first.filter_map(|i| self.title_of(i, page, buffers)));
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Words of a block's first line, as those of a title.
    fn title_of(&self, block: usize, page: &PageText<'_>, buffers: &mut WordBuffers) -> Option<u64> {
        title_hash(self.text_of(block, page).lines().next()?, buffers)
    }
}

/// Words of the page's title and of its file's name.
pub(super) fn naming_words(page: &PageText<'_>, buffers: &mut WordBuffers) -> Vec<u64> {
    let mut known = words(page.title.unwrap_or_default(), buffers);
    known.extend(words(file_name(page.url), buffers));
    known.into_iter().map(|word| word.plain).collect()
}

fn opening(lines: &[Line]) -> u64 {
    lines.iter().fold(0, |all, line| mix(all, line.key))
}

/// Words of the file's name, which often state the subject of the page.
pub(super) fn file_words(url: &str, buffers: &mut WordBuffers) -> Vec<u64> {
    let long = file_name(url)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= NAME_LETTERS)
        .filter(|word| !matches!(*word, "html" | "index" | "aspx"));
    long.flat_map(|word| words(word, buffers)).map(|word| word.plain).collect()
}

/// Faster equivalent of `str::lines`; a text has at least one line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (line, more) = match memchr::memchr(b'\n', text.as_bytes()) {
            Some(end) => (&text[..end], Some(&text[end + 1..])),
            None => (text, None),
        };
        rest = more;
        Some(line.strip_suffix('\r').unwrap_or(line))
    })
}

/// Hash of a line as a title, if it is short enough.
fn title_hash(line: &str, buffers: &mut WordBuffers) -> Option<u64> {
    let words = words(line, buffers);
    (1..=super::TITLE_WORDS).contains(&words.len()).then(|| title(&words))
}
