//! Extraction of a page's content, metadata, links and signals.
//!
//! ```
//! use crawl_extract::{Input, Options, PageExtractor};
//! use url::Url;
//!
//! let url: Url = "https://example.org/harbour".parse()?;
//! let html = b"<title>Harbour</title><nav><a href=/>Home</a></nav>
//!     <article><h1>Harbour</h1><p>The ferry leaves at nine, and the last one returns at six.</p></article>";
//!
//! // one extractor serves all pages and all threads
//! let extractor = PageExtractor::new(Options::default())?;
//! let page = extractor.extract(&Input::new(html).with_url(&url));
//!
//! assert_eq!(page.metadata.title.as_deref(), Some("Harbour"));
//! assert!(page.content.contains("The ferry leaves at nine"));
//! assert_eq!(page.links[0].url, "https://example.org/");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`PageExtractor::extract`] is synchronous and pure, without I/O. It uses a clock only for the optional
//! deadline ([`Options::deadline`]). It never fails and never panics on any input. A page without content
//! gives empty text with a reason. A page is parsed once, and every step takes linear time.
//!
//! [`Options`] choose the format and the parts of a page that are kept. [`Rules`] hold selectors, words and
//! weights, and can be completed by a directory of files. [`PageExtractor::explain`] says how the content was
//! chosen. [`SiteEvidence`] improves the choice by other pages of the same site.
//!
//! Structs and enums that may grow are `#[non_exhaustive]`. Options and inputs are made by `new` or `default`
//! and `with_*` methods.
//!
//! Steps:
//!
//! 1. Decode the bytes ([`charset`]) and parse them into a flat tree.
//! 2. Classify the elements once: hidden parts, consent banners, names.
//! 3. Compute signals, metadata, links and directives.
//! 4. Build candidates for the content and choose one.
//! 5. Convert its nodes to pieces of text, and these to Markdown or plain text.

pub mod charset;

mod address;
mod blocks;
mod budget;
mod content;
mod dom;
mod embedded;
mod explain;
mod explanation;
mod extractor;
mod invisible;
mod json;
mod last_pass;
mod links;
mod markdown_document;
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
mod selection;
mod sentence;
mod signals;
mod site;
mod style;
mod text;
mod trace;
mod visibility;
mod words;
mod xhtml;

#[doc(hidden)]
pub use dom::parse_only;
pub use explanation::{Candidate, Explanation, MAX_ELEMENTS, Points, Removal, Shown, Source, Span};
pub use extractor::{Input, PageExtractor, is_html};
pub use links::{HeaderLinks, of_header, refresh_target};
pub use options::{Favor, Format, Limits, LinkStyle, Options, ParseOptionError};
pub use rules::{ConsentBanners, ListReport, Rules, RulesError};
pub use site::{
    ContentCheck, CountPolicy, CountedBlock, CountedExtraction, OutlineBlock, PageOutline, SiteArea,
    SiteEvidence,
};
pub use words::{count_words, reading_time_minutes};
