//! Extraction of a page's content, metadata, links and signals.
//!
//! One call, [`PageExtractor::extract`], does everything. It is synchronous and pure, without I/O, and uses a
//! clock only for the optional deadline ([`Options::deadline`]). It never fails and never panics on any
//! input; a page without content gives empty text with a reason. A page is parsed once, and every step takes
//! linear time.
//!
//! Steps:
//!
//! 1. Decode the bytes ([`charset`]) and parse them into a flat tree.
//! 2. Classify the elements once: hidden parts, consent banners, names.
//! 3. Compute signals, metadata, links and directives.
//! 4. Build candidates for the content and choose one.
//! 5. Convert its nodes to pieces of text, and these to Markdown or plain text.

pub mod charset;

mod blocks;
mod budget;
mod consent;
mod content;
mod dom;
mod edges;
mod embedded;
mod explain;
mod extractor;
mod invisible;
mod last_pass;
mod links;
mod media;
mod metadata;
mod options;
mod page;
mod plain;
mod polish;
mod prose;
mod render;
mod rules;
mod score;
mod signals;
mod site;
mod text;
mod visibility;
mod words;

pub use explain::{Candidate, Explanation, MAX_ELEMENTS, Points, Removal, Shown, Source, Span};
pub use extractor::{Input, PageExtractor, is_html};
pub use options::{Favor, Format, Limits, LinkStyle, Options, ParseOptionError};
pub use rules::{ConsentBanners, ListReport, Rules, RulesError};
pub use site::{
    CountedBlock, CountedExtraction, OutlineBlock, PageOutline, SiteArea, SiteEvidence, SiteJudgement,
};
pub use words::{count_words, reading_time_minutes};
