//! A page after extraction.

use crate::{Attempt, BodyHash, Classification, CrawlRequest, PageSignals, Strategy, Timings};
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

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`.
    Area,
    /// `<frame src>` or `<iframe src>`.
    Frame,
}

/// A link of the page, resolved against its base, without its fragment. Each URL occurs once per page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The absolute URL, not yet canonicalised.
    pub url: String,
    /// Kind of the link.
    pub kind: LinkKind,
    /// `rel` says nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// Robots directives of the page itself, from `<meta name="robots">` or a meta element named after our
/// product token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directives {
    /// `noindex` or `none`: no record is written.
    pub noindex: bool,
    /// `nofollow` or `none`: links are not followed.
    pub nofollow: bool,
    /// `noarchive`.
    pub noarchive: bool,
    /// `noai` or `noimageai`: an opt-out from machine learning.
    pub noai: bool,
}

impl Directives {
    /// Merges both sets of directives; the stricter one holds.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
            noai: self.noai || other.noai,
        }
    }
}

/// One block of the whole page, inside or outside the main content: the input of a site's fingerprint. Stored
/// as an array, since a page has hundreds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredBlock", into = "StoredBlock")]
pub struct Block {
    /// First 64 bits of the SHA-256 of the block's normalised text: whitespace folded, stripped, lower case
    /// (boilerplate spec, phase A).
    pub hash: u64,
    /// Hash of the tag path with classes, from the root to the block.
    pub tag_path: u64,
    /// Characters of the normalised text.
    pub chars: u32,
    /// Ordinal of the block on the page.
    pub position: u32,
    /// Share of the characters that stand inside links, 0 to 255 for 0 to 1.
    pub link_density: u8,
    /// The block went into `content`.
    pub in_content: bool,
}

/// Hash, tag path, characters, position, link density, in content.
type StoredBlock = (u64, u64, u32, u32, u8, bool);

impl From<StoredBlock> for Block {
    fn from((hash, tag_path, chars, position, link_density, in_content): StoredBlock) -> Self {
        Self { hash, tag_path, chars, position, link_density, in_content }
    }
}

impl From<Block> for StoredBlock {
    fn from(block: Block) -> Self {
        (block.hash, block.tag_path, block.chars, block.position, block.link_density, block.in_content)
    }
}

/// A version of the page in another language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hreflang {
    /// BCP 47 tag, in the case of RFC 5646 §2.1.1, or `x-default`.
    pub lang: String,
    /// Absolute URL.
    pub url: String,
}

/// Metadata that the page declares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PageMetadata {
    /// Title without the site's name.
    pub title: Option<String>,
    /// Summary from the head.
    pub description: Option<String>,
    /// Names of the authors, or the handle of `twitter:creator` (`@jane`).
    pub authors: Vec<String>,
    /// Date of publication: `YYYY-MM-DD`, or RFC 3339 if the time is known.
    pub published: Option<String>,
    /// Date of the last change, same form.
    pub modified: Option<String>,
    /// Declared language as a BCP 47 tag, in the case of RFC 5646 §2.1.1 (§8; never guessed).
    pub language: Option<String>,
    /// Language identified from the text if none is declared: ISO 639-1 if the language has a code there,
    /// else ISO 639-3.
    pub language_detected: Option<String>,
    /// Name of the site.
    pub site_name: Option<String>,
    /// `rel=canonical`, absolute.
    pub canonical: Option<String>,
    /// Main image, absolute.
    pub image: Option<String>,
    /// Keywords and tags.
    pub keywords: Vec<String>,
    /// Licence, as a URL or a name.
    pub licence: Option<String>,
    /// Breadcrumb trail, outermost first.
    pub breadcrumbs: Vec<String>,
    /// Feeds, absolute.
    pub feeds: Vec<String>,
    /// Versions in other languages.
    pub hreflang: Vec<Hreflang>,
    /// `og:type`.
    pub og_type: Option<String>,
    /// `@type`s of the page's JSON-LD.
    pub json_ld_types: Vec<String>,
    /// Rules that gave title, authors and dates.
    pub sources: MetadataSources,
    /// Certainty of title, authors and dates.
    pub confidence: MetadataConfidence,
    /// Pages about the authors.
    pub author_urls: Vec<AuthorUrl>,
    /// Section of the site.
    pub section: Option<String>,
    /// True if the page can be read without payment (`isAccessibleForFree`).
    pub is_accessible_for_free: Option<bool>,
    /// Object of a recipe, a product or the like, as JSON.
    pub structured: Option<String>,
    /// All JSON-LD of the page, if requested: one JSON list with the object or list of each script.
    pub json_ld: Option<String>,
    /// OpenGraph and similar meta elements, if requested: one JSON object that maps each name to a list of
    /// contents.
    pub open_graph: Option<String>,
    /// Changes that other pages of the site made to the content.
    pub by_site: Option<BySite>,
    /// Hidden text of the content that was left out.
    pub hidden_text: HiddenText,
}

/// Text that a reader cannot see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct HiddenText {
    /// Words of the content that a style or an attribute hides. They were left out.
    pub words: u32,
    /// Words of the content that style sheets hide. They stay, since scripts usually show that much.
    pub kept: u32,
    /// Invisible characters of the page that can carry a text: tags, variation selectors without a base,
    /// operators, direction overrides.
    pub characters: u32,
}

impl HiddenText {
    /// Returns true if nothing is hidden.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.words == 0 && self.kept == 0 && self.characters == 0
    }
}

/// Changes that evidence from other pages of the site made to a page's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BySite {
    /// Number of the site's pages in the evidence.
    pub pages: u32,
    /// Blocks that were added to the extractor's choice.
    pub added: u32,
    /// Blocks of the site's frame that were left out.
    pub dropped: u32,
    /// True if the extractor missed the content and the part that differs from the other pages was taken.
    pub rebuilt: bool,
    /// Place of that part: tags and first classes of the last six elements on its path (`div.wrap >
    /// div.comment`).
    #[serde(default)]
    pub template: Option<String>,
}

impl BySite {
    /// No change yet, by the evidence of this many pages.
    #[must_use]
    pub const fn of_pages(pages: u32) -> Self {
        Self { pages, added: 0, dropped: 0, rebuilt: false, template: None }
    }
}

/// Place that gave each field of the metadata: `json_ld`, `meta`, `twitter`, `rdfa`, `title_element`,
/// `heading`, `element`, `post`, `text`, `script`, `url`, `site` (other pages of the host).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct MetadataSources {
    /// Place of the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Place of the authors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Place of the date of publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Place of the date of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

impl MetadataSources {
    /// Returns true if no field was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.title.is_none() && self.authors.is_none() && self.published.is_none() && self.modified.is_none()
    }
}

/// Certainty of a field of the metadata. docs/record.md gives the share of correct values per level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Confidence {
    /// The place may hold a name or a date of something else.
    Low,
    /// One source on the page.
    Medium,
    /// Two agreeing sources on the page.
    High,
}

/// Certainty of title, authors and dates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct MetadataConfidence {
    /// Certainty of the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Confidence>,
    /// Certainty of the authors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authors: Option<Confidence>,
    /// Certainty of the date of publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Confidence>,
    /// Certainty of the date of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<Confidence>,
}

impl MetadataConfidence {
    /// Returns true if no field was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.title.is_none() && self.authors.is_none() && self.published.is_none() && self.modified.is_none()
    }
}

/// The page about an author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthorUrl {
    /// Name, as in the list of authors.
    pub name: String,
    /// Absolute URL.
    pub url: String,
}

/// Kind of an image, a video or the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A video file.
    Video,
    /// A sound file.
    Audio,
    /// A player of another site in a frame.
    Embed,
}

/// An image, a video, a sound or a player of the content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Media {
    /// Kind.
    pub kind: MediaKind,
    /// Absolute URL: the largest candidate of an image, or the page that holds a player's media.
    pub src: String,
    /// Alternative text, or the title of a video, a sound or a player.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alt: Option<String>,
    /// Text of the caption.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub caption: Option<String>,
    /// Width in pixels, as the page declares it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width: Option<u32>,
    /// Height in pixels, as the page declares it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub height: Option<u32>,
    /// URL of the picture that stands for a video until it plays.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub poster: Option<String>,
}

/// Text of the content outside of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prose {
    /// Its words.
    pub words: u32,
    /// Hash of its words in order, for comparison within one run.
    pub hash: u64,
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
    /// Absolute URLs of the feeds (RSS, Atom) that the page names as its own, each once; links to feeds do
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
    /// True if one of its links was new and of another URL pattern than the page.
    #[serde(default)]
    pub leads_on: bool,
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
