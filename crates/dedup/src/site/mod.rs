//! The mode `site`: what a site repeats, judged by where it stands on the page as much as by how often.
//!
//! What a template puts on pages stands at their margins: a run of blocks from the first one on, and one that ends with the
//! last. Inside the content the same words may be a trait's documentation or a licence, and are the page's own. So a block in
//! such a run needs little evidence ([`MARGIN`] of the threshold), a paragraph there more ([`PROSE`]), and a block between
//! the runs all that the specification asks for. A run ends at the first block that has none; the one at the foot goes on beyond labels
//! where what all pages have outweighs them, and the one at the head to the line that names the page.
//!
//! What changes in a template is found in three ways: digits of short lines are masked; the words of a block are compared in pairs with
//! those of other pages' margins (`Reference for unit 'x'`, `Home > Docs > Topic`); and a block between two others which stand
//! around something else on many pages is a slot (`Previous topic`, a title, `Next topic`). A line at the foot which consists
//! of titles of other pages is a link to them.
//!
//! What is said on one page may be repeated by the frame of the others: a legal notice on the page that is about it, the description of a
//! product that other pages show under theirs. So a block goes from where it stands on other pages too ([`AT_HOME`]): nearer to the
//! head, nearer to the foot, or right under a heading or what names the page.
//!
//! All evidence is one kind of thing, a hash counted once a page, so one table of bounded size holds a host's state, pages may
//! come in any order, and what is said of a page depends on the page and the counts alone. Each piece of evidence is
//! counted for the host and for two groups of its pages, which may have a template of their own: the section (see `section`), and the
//! pages that begin with the same lines.
//!
//! Of a text that extraction has chosen already the margins are the content's. There a run needs all that the specification asks
//! for: `threshold_pct` of the pages, and `min_block_chars` characters, which its blocks may have together; slots and
//! titles are not looked for, and groups have no say.

mod features;
mod host;
mod judge;
mod margin;
mod read;
mod section;
mod table;
mod trail;
mod view;
mod walk;
mod words;

pub(crate) use host::ALGORITHM;
pub use host::{MAX_FEATURES, SiteFingerprint};
pub use read::SitePage;
pub(crate) use table::{GROUPINGS, Key, NO_GROUP, Piece};

/// A page as text, and what is known of it beside.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageText<'a> {
    /// The text, Markdown or plain; blocks are parted by blank lines.
    pub content: &'a str,
    /// The page's absolute URL, or nothing.
    pub url: &'a str,
    /// The page's title, where it is known.
    pub title: Option<&'a str>,
    /// The text is what extraction took for the main content, not the whole page. Its margins are then no longer those of
    /// the page, and need more evidence.
    pub extracted: bool,
}

impl PageText<'_> {
    /// Whether a text is [extracted](Self::extracted), by the name that its record gives for what chose it: `body_fallback` chose nothing,
    /// and a text of which nobody says it may be a whole page. Plain text comes without a frame, as what was chosen does.
    #[must_use]
    pub fn is_extracted_by(extractor: Option<&str>) -> bool {
        extractor.is_some_and(|name| !matches!(name, "" | "body_fallback"))
    }
}

/// Share of `threshold_pct` that a short block at the margin needs: 35 % of the pages by default.
pub const MARGIN: f64 = 0.5;
/// Share of `threshold_pct` that a paragraph at the margin needs: 70 % of the pages by default.
pub const PROSE: f64 = 1.0;
/// Share of the pages with a block that must have it at the same place: what is a notice at the foot of other pages is the content of the
/// page that has it under its title.
pub const AT_HOME: f64 = 1.0 / 3.0;
/// Share of the pages that must have a block that pages say again and again.
const SAID_AGAIN: f64 = 0.1;
/// What a share of a group's pages counts beside one of the host's, at a margin: groups are many and small, and chance is larger.
const GROUP_WEIGHT: f64 = 0.6;
/// The same of a block that is as long as `min_block_chars`.
const GROUP_BLOCK_WEIGHT: f64 = 0.8;
/// Words of the longest line that may be a pattern: a longer one is a sentence, and what changes in it is what it says.
const LABEL_WORDS: u32 = 16;
/// Words in a line that make a paragraph of it, unless they are links.
const PROSE_WORDS: u32 = 25;
/// Blocks from either end that a run may reach over.
const RUN: usize = 64;
/// Blocks from either end whose words are counted in pairs.
const ZONE: usize = 4;
/// First blocks whose first line may be the page's title.
const TITLE_BLOCKS: usize = 6;
/// Words of the longest title.
const TITLE_WORDS: usize = 20;
