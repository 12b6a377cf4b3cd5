//! A page after extraction.

use crate::{
    Attempt, Block, BodyHash, Classification, CrawlRequest, Directives, Link, Media, PageMetadata,
    PageSignals, Strategy, Timings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

/// Extractor whose result was taken (heuristics reference §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extractor {
    /// Readability-style scoring of containers.
    Readability,
    /// Trafilatura-style selection of blocks.
    Trafilatura,
    /// One of the priority selectors (§5, step 1).
    PrioritySelector,
    /// Paragraph density (§5, step 2).
    DomDensity,
    /// The whole body less boilerplate (§5, step 3).
    BodyFallback,
    /// An assembly by a rule of a platform (`platforms.toml`): a forum program or a documentation generator.
    #[serde(rename = "page_type")]
    Platform,
    /// Data embedded in the page (JSON-LD, framework state, noscript).
    EmbeddedData,
    /// The part that differs from the other pages of the site, if the rules missed the content.
    SiteTemplate,
    /// The part that a rule for the site names (`sites.toml`).
    SiteRule,
    /// The input was plain text.
    PlainText,
    /// No content was found.
    None,
}

/// Condition that a reader of the record should know. Serialised by name into `warnings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// Everything on the page was boilerplate: the text is empty.
    AllBoilerplate,
    /// The page is known to be incomplete.
    PartialContent,
    /// The body was cut at the size cap.
    BodyTruncated,
    /// Elements nested deeper than the cap were flattened.
    DepthCapped,
    /// Attributes beyond the cap were dropped.
    AttributesCapped,
    /// The declared charset was wrong or missing and was guessed from the bytes.
    CharsetGuessed,
    /// Bytes that are invalid in the page's charset were replaced.
    InvalidBytes,
    /// The same text as on an earlier page.
    Duplicate,
    /// A stronger fetch strategy is needed, but is not available.
    NeedsBrowser,
    /// The text of the page says that the page does not exist, but its status does not.
    SoftNotFound,
    /// The deadline ended extraction: there is no content, and links may be missing.
    DeadlineExceeded,
    /// JSON-LD or OpenGraph of more than 256 KiB was left out.
    MetadataCapped,
    /// Links were left out: resolved, they would be many times as long as the page.
    AddressesCapped,
    /// A file that may opt out of mining is unreachable, so the page may be reserved.
    OptOutUnknown,
    /// The page has text that a reader cannot see. `metadata.hiddenText` counts the removed and the kept
    /// words.
    HiddenText,
}

/// Text of the content outside of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prose {
    /// Its words.
    pub words: u32,
    /// Hash of its words in order, for comparison within one run.
    pub hash: u64,
    /// The same without words that have a digit; 0 if there are none.
    #[serde(default)]
    pub hash_without_numbers: u64,
}

impl Prose {
    /// Returns true if a word has a digit, as numbers, dates and identifiers have.
    #[must_use]
    pub fn has_digit(word: &str) -> bool {
        word.bytes().any(|byte| byte.is_ascii_digit())
            || (!word.is_ascii() && word.contains(char::is_numeric))
    }
}

/// Result of extracting the bytes of one page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Extraction {
    /// Main content as Markdown.
    pub content: String,
    /// Blocks of the whole page.
    pub blocks: Vec<Block>,
    /// Metadata that the page declares.
    pub metadata: PageMetadata,
    /// Links, each URL once, in document order.
    pub links: Vec<Link>,
    /// Images, videos, sounds and players of the content, each URL once, in document order.
    #[serde(default)]
    pub media: Vec<Media>,
    /// Absolute URLs of the feeds (RSS, Atom, JSON Feed) that the page names as its own, each once; links to feeds do
    /// not count.
    #[serde(default)]
    pub feeds: Vec<String>,
    /// The page's own robots directives.
    pub directives: Directives,
    /// Input of classification.
    pub signals: PageSignals,
    /// The selected extractor.
    pub extractor: Extractor,
    /// Reason for the selection, in words.
    pub reason: String,
    /// Article score (§1).
    pub article_score: i32,
    /// True if the score reaches the rules' threshold, 35, and the content is no list of other pages.
    #[serde(default)]
    pub is_article: bool,
    /// Words of `content`, by Unicode word boundaries, so that scripts without spaces count.
    pub word_count: u32,
    /// Text of `content` outside of links. `None` if `content` is plain text or embedded data.
    #[serde(default)]
    pub prose: Option<Prose>,
    /// Charset that decoded the bytes, by its name in the Encoding Standard.
    #[serde(skip_deserializing)]
    pub charset: &'static str,
    /// Conditions that a reader should know.
    pub warnings: Vec<Warning>,
}

impl Extraction {
    /// An extraction without content, for this reason.
    #[must_use]
    pub fn without_content(reason: impl Into<String>) -> Self {
        Self {
            content: String::new(),
            blocks: Vec::new(),
            metadata: PageMetadata::default(),
            links: Vec::new(),
            media: Vec::new(),
            feeds: Vec::new(),
            directives: Directives::default(),
            signals: PageSignals::default(),
            extractor: Extractor::None,
            reason: reason.into(),
            article_score: 0,
            is_article: false,
            word_count: 0,
            prose: None,
            charset: "",
            warnings: Vec::new(),
        }
    }
}

/// Body of a held page, kept to extract the page again when more pages of its site are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBody {
    /// The decoded body, compressed by Zstandard, in base64.
    pub zstd: String,
    /// The raw value of the `Content-Type` header.
    pub content_type: Option<String>,
    /// Base URL of relative links.
    pub url: Url,
    /// True if extraction found so little that the page waits for more pages of its site.
    pub is_doubtful: bool,
}

/// A fetched page after extraction. It owns all its data. The body is dropped, unless it is
/// [kept](Self::kept_body).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExtractedPage {
    /// The request.
    pub request: CrawlRequest,
    /// Canonical URL of the page: the URL of the answer. A page from a later strategy keeps the requested
    /// URL.
    pub final_url: Url,
    /// HTTP status.
    pub status: u16,
    /// Content type without parameters.
    pub content_type: Option<String>,
    /// `ETag` as sent.
    pub etag: Option<String>,
    /// `Last-Modified` as sent.
    pub last_modified: Option<String>,
    /// Strategy of the fetch.
    pub strategy: Strategy,
    /// When, and how long it took.
    pub timings: Timings,
    /// Hash of the body, if one plain request brought it.
    #[serde(default)]
    pub body_hash: Option<BodyHash>,
    /// Bytes over the wire.
    pub wire_bytes: u64,
    /// Bytes of the decoded body.
    pub body_bytes: u64,
    /// Classification: the best way to fetch the page.
    pub classification: Classification,
    /// All attempts, in order; the page is the best result.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// Result of extraction. Its `links` are empty here, since the frontier has them.
    pub extraction: Extraction,
    /// Canonical outgoing links, each once, for the record.
    pub outgoing: Vec<String>,
    /// True if one of its links was new and had another URL pattern than the page.
    #[serde(default, rename = "leads_on")]
    pub links_new_pattern: bool,
    /// True if one of its links was new.
    #[serde(default)]
    pub has_new_links: bool,
    /// Places in which the site opts out of mining and machine learning, by stable names.
    #[serde(default)]
    pub ai_opt_out: Vec<String>,
    /// Identity of the archive capture from which the page was extracted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub captured: Option<Uuid>,
    /// The body, while more pages of the site may show that extraction missed the content.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kept_body: Option<KeptBody>,
}
