//! Bytes of a page to its content, metadata, links and signals.
//!
//! One call, [`PageExtractor::extract`]: synchronous, pure, without I/O, and without a clock but for the deadline that
//! a caller may set ([`Options::deadline`]). It never fails and never panics, whatever the bytes are; a page that yields
//! nothing gives empty text and says why. A page is parsed once, and no step takes time that grows faster than the page.
//!
//! The steps: bytes are decoded ([`charset`]), parsed into a flat tree, looked at once (what is hidden, what is a consent
//! banner, what elements are called); from that come signals, metadata, links and directives; candidates for
//! the content are put up and one is chosen; its nodes become pieces of text, and these Markdown or plain text.

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
