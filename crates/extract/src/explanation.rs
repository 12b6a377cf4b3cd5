//! Explanation of an extraction: the output of `crawl extract --explain`.

use serde::Serialize;

/// Explanation of an extraction, which itself names the extractor and the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Explanation {
    /// Evidence for the type of page, in sentences.
    pub evidence: Vec<String>,
    /// Parts of the article score (heuristics reference §1), in points.
    pub score: Vec<Points>,
    /// Candidates for the content, in the order of evaluation.
    pub candidates: Vec<Candidate>,
    /// Consent banners that were removed first.
    pub removed: Vec<Removal>,
    /// Dropped parts of the content, and lines that the last passes dropped.
    pub dropped: Vec<Removal>,
    /// Sources of title, authors and dates.
    pub metadata: Vec<Source>,
    /// Blocks of the source page in order, each with its fate. Not among the fields for programs, since it is
    /// as long as the page.
    #[serde(skip)]
    pub page: Vec<Shown>,
}

/// A part of the article score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Points {
    /// Points, possibly negative.
    pub points: i32,
    /// Signal of the points.
    pub signal: &'static str,
}

/// A candidate for the content, with the features that decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Candidate {
    /// Method that found it.
    pub name: String,
    /// Its elements, as `tag#id.class`; at most [`MAX_ELEMENTS`].
    pub elements: Vec<String>,
    /// Words after pruning.
    pub words: u32,
    /// Characters, whitespace folded.
    pub characters: u32,
    /// Share of the characters in long blocks outside of links, 0 to 1.
    pub prose: f32,
    /// Share of the characters inside links, 0 to 1.
    pub link_density: f32,
    /// Commas and ends of sentences.
    pub marks: u32,
    /// Points of its scoring method, if any.
    pub score: Option<f32>,
    /// True if it is the content.
    pub taken: bool,
}

/// A removed part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Removal {
    /// The rule that did it.
    pub rule: String,
    /// The element, as `tag#id.class`, or the kind of line.
    pub element: String,
    /// Its words.
    pub words: u32,
    /// Its first words.
    pub starts: String,
}

/// Source of a field of the metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// `title`, `authors`, `published`, `modified`.
    pub field: &'static str,
    /// Name of the source.
    pub source: &'static str,
}

/// Maximum elements of a candidate that are listed.
pub const MAX_ELEMENTS: usize = 5;

/// A block of the source page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// Name of its block element.
    pub tag: String,
    /// The element, as `tag#id.class`.
    pub element: String,
    /// Its text in order, split where the fate changes.
    pub spans: Vec<Span>,
}

/// A part of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Span {
    /// The text; whitespace is folded except in preformatted text.
    pub text: String,
    /// Reason of the drop; `None` for content.
    pub dropped: Option<String>,
}

impl Shown {
    /// A block with these parts.
    #[must_use]
    pub fn new(tag: impl Into<String>, element: impl Into<String>, spans: Vec<Span>) -> Self {
        Self { tag: tag.into(), element: element.into(), spans }
    }
}

impl Span {
    /// A part of a block with this text.
    #[must_use]
    pub fn new(text: impl Into<String>, dropped: Option<String>) -> Self {
        Self { text: text.into(), dropped }
    }
}
