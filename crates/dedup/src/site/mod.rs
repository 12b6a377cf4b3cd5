//! The mode `site`: detects boilerplate by the position of a block on the page and by its frequency.
//!
//! **Margins.** A template fills the margins of a page: a run of blocks from the first on, and a run up to
//! the last. Inside the content the same words may be a trait's documentation or a licence, and belong to the
//! page. So a short block in a run needs little evidence ([`MARGIN`] of the threshold), a paragraph there
//! more ([`PROSE`]). A block between the runs needs the full evidence of the specification. A run ends at the
//! first block without evidence. The run at the foot extends beyond labels if the evidence outweighs them.
//! The run at the head extends to the line that names the page.
//!
//! **Variable parts.** Three methods find the variable parts of a template. Digits of short lines are masked.
//! The words of a block are compared in pairs with those of other pages' margins (`Reference for unit 'x'`,
//! `Home > Docs > Topic`). A block between two others that enclose different text on many pages is a slot
//! (`Previous topic`, a title, `Next topic`). A line at the foot that consists of titles of other pages is a
//! list of links to them.
//!
//! **Lists of sections.** A table of contents beside the text repeats the headings of the page. Such a list
//! is removed without evidence of other pages. See `outline`.
//!
//! **Own content.** The frame of other pages may repeat the content of one page, such as a legal notice or
//! the description of a product. So a block is only removed at a position that it has on other pages too
//! ([`SAME_POSITION`]). The positions are: nearer to the head, nearer to the foot, or right under a heading
//! or the page's title.
//!
//! **State.** All features are hashes counted once per page. So one table of bounded size holds a host's
//! state, and pages may come in any order. The result for a page depends only on the page and the counts.
//! Each feature is counted for the host and for two groups of its pages, which may have their own template.
//! The groups are the section (see `section`), and the pages that begin with the same lines.
//!
//! **Extracted text.** The margins of an extracted text are those of the content. A run there needs the full
//! evidence of the specification: `threshold_pct` of the pages, and `min_block_chars` characters in all its
//! blocks together. Slots, titles and groups do not count there.

mod breadcrumb;
mod cleaner;
mod features;
mod host;
mod margin;
mod outline;
mod read;
mod section;
mod table;
mod view;
mod walk;
mod words;

pub(crate) use host::ALGORITHM;
pub use host::{MAX_FEATURES, SiteFingerprint};
pub use read::SitePage;
pub(crate) use table::{FeatureCount, GROUPINGS, Key, NO_GROUP};

/// Text of a page, and information about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageText<'a> {
    /// Text, Markdown or plain, with blank lines between blocks.
    pub content: &'a str,
    /// The page's absolute URL, or nothing.
    pub url: &'a str,
    /// Title of the page, if known.
    pub title: Option<&'a str>,
    /// True if the text is the extracted main content, not the whole page. Its margins are then not those of
    /// the page, and need more evidence.
    pub extracted: bool,
}

impl PageText<'_> {
    /// Returns true if a text is [extracted](Self::extracted), by the extractor in its record.
    /// `body_fallback` selects nothing, and a text without an extractor may be a whole page. Plain text
    /// counts as extracted, since it has no frame.
    #[must_use]
    pub fn is_extracted_by(extractor: Option<&str>) -> bool {
        extractor.is_some_and(|name| !matches!(name, "" | "body_fallback"))
    }
}

/// Share of `threshold_pct` for a short block at the margin: 35 % of the pages by default.
pub const MARGIN: f64 = 0.5;
/// Share of `threshold_pct` for a paragraph at the margin: 70 % of the pages by default.
pub const PROSE: f64 = 1.0;
/// Minimum share of a block's pages that have it at the same position. A notice at the foot of other pages is
/// content on the page that has it under its title.
pub const SAME_POSITION: f64 = 1.0 / 3.0;
/// Minimum share of the pages with a block that pages repeat several times.
const REPEATED_ON_PAGE: f64 = 0.1;
/// Weight of a share of a group's pages at a margin, relative to the host's. Groups are many and small, so
/// chance has more effect.
const GROUP_WEIGHT: f64 = 0.6;
/// The same weight for a block of at least `min_block_chars`.
const GROUP_BLOCK_WEIGHT: f64 = 0.8;
/// Maximum words of a line that may be a pattern. A longer line is a sentence, whose variable parts are
/// content.
const LABEL_WORDS: u32 = 16;
/// Minimum words of a paragraph line, without links.
const PROSE_WORDS: u32 = 25;
/// Maximum blocks of a run from either end.
const RUN: usize = 64;
/// Blocks from either end whose words are counted in pairs.
const ZONE: usize = 4;
/// First blocks whose first line may be the page's title.
const TITLE_BLOCKS: usize = 6;
/// Words of the longest title.
const TITLE_WORDS: usize = 20;
