//! Records: the output of a crawl.

use crate::{
    ContentHash, ExtractedPage, Extractor, HiddenText, LeaseToken, MetadataConfidence, MetadataSources,
    PageType, RequestId, Sketch, Strategy, UrlKey, Warning,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the shape of [`Record`].
pub const SCHEMA_VERSION: u32 = 1;

/// Effect of the site's fingerprint on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BoilerplateStatus {
    /// The fingerprint was applied (it may have removed nothing).
    Applied,
    /// The host has fewer than `min_pages` pages: no block was removed.
    TooFewPages,
    /// `dedup.enabled` is off.
    Off,
}

/// Removal of the site's boilerplate from a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BoilerplateInfo {
    /// Effect of the fingerprint.
    pub status: BoilerplateStatus,
    /// Identity of the fingerprint, 16 hex digits. In the mode `exact`, it stands for the set of the
    /// boilerplate hashes. In the mode `site`, it stands for all counts of the host's pages so far.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<String>,
    /// Pages that the fingerprint was computed from.
    pub pages: u64,
    /// Blocks removed from this page.
    pub blocks_removed: u32,
    /// UTF-8 bytes removed from this page.
    pub bytes_removed: u64,
    /// Removed parts, in order, as positions in `content`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub removed: Vec<RemovedSpan>,
}

impl BoilerplateInfo {
    /// Information on a page from which nothing was removed.
    #[must_use]
    pub const fn new(status: BoilerplateStatus) -> Self {
        Self { status, fingerprint: None, pages: 0, blocks_removed: 0, bytes_removed: 0, removed: Vec::new() }
    }
}

/// A part of `content` that is not in `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedSpan {
    /// First byte in `content` (UTF-8).
    pub start: u64,
    /// Byte after the last one.
    pub end: u64,
    /// First 64 bits of the SHA-256 of the block, folded as in the boilerplate specification, as 16 hex
    /// digits. A block has the same hash in both modes and in `boilerplate_hashes` of a project.
    #[serde(with = "hex_digits")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{16}$"))]
    pub hash: u64,
    /// Key by which the mode `site` counted the block, as 16 hex digits. Blocks that differ only in the
    /// digits of short lines share it.
    #[serde(with = "optional_hex_digits", skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>", regex(pattern = "^[0-9a-f]{16}$"))]
    pub key: Option<u64>,
    /// Reason for the removal.
    pub reason: RemovalReason,
    /// Pages of the host that gave the evidence.
    pub pages: u64,
}

/// Reason for the removal of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// The whole block occurs on as many pages as the settings require, at any position.
    Block,
    /// The block belongs to the run at the head or foot of the page whose lines occur on many pages.
    Margin,
    /// The block stands in that run. Many pages have its words there in this order, except for the variable
    /// ones.
    Pattern,
    /// The block stands in the run at the foot and consists of titles of other pages.
    Titles,
    /// The block stands in that run between two blocks that enclose other text on many pages.
    Slot,
    /// The block is a label between blocks of the frame, or between the frame at the head and the title of
    /// the page.
    Enclosed,
    /// The block begins the page and is repeated directly after.
    SaidTwice,
    /// The block stands near the head, and its copy was removed from the foot.
    Twin,
}

/// A number as 16 hex digits.
mod hex_digits {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{hash:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let digits = String::deserialize(deserializer)?;
        u64::from_str_radix(&digits, 16).map_err(D::Error::custom)
    }
}

/// Optional numbers as 16 hex digits.
mod optional_hex_digits {
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(key: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match key {
            Some(key) => super::hex_digits::serialize(key, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        super::hex_digits::deserialize(deserializer).map(Some)
    }
}

/// Change of a page since earlier rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// No earlier round stored it as a page.
    New,
    /// Its text is another one.
    Changed,
    /// Its text is the same.
    Unchanged,
    /// Two answers of its host say that it no longer exists.
    Gone,
}

/// A page after deduplication.
#[derive(Debug)]
pub struct CleanPage {
    /// The page; its `extraction.content` is not cleaned.
    pub page: ExtractedPage,
    /// `content` without the site's boilerplate.
    pub text: String,
    /// Removal of the site's boilerplate.
    pub boilerplate: BoilerplateInfo,
    /// The page that this one repeats. Until the record is written, it is the page that `rel=canonical`
    /// names, if known.
    pub duplicate: Option<Duplicate>,
    /// Sketch for the comparison with other pages; none before it is computed.
    pub sketch: Option<Sketch>,
    /// Hash that identifies the same content on other pages; none for a page that is too short.
    pub exact: Option<ContentHash>,
    /// SHA-256 of `content`.
    pub content_hash: ContentHash,
    /// Result of the quality rules for `text`, if they are enabled.
    pub quality: Option<Quality>,
    /// SHA-256 of `text`.
    pub text_hash: ContentHash,
    /// Change since earlier rounds.
    pub change: Change,
}

/// The page that another page repeats, and their similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    /// The page that came first.
    pub of: UrlKey,
    /// Similarity: 1 for equal contents, else the exact Jaccard similarity of the texts. None if only the
    /// `rel=canonical` of the page says so.
    pub similarity: Option<f64>,
    /// MinHash estimate of the similarity.
    pub estimate: Option<f64>,
}

/// One try at fetching a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Strategy of the attempt.
    pub strategy: Strategy,
    /// HTTP status, if there was an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Words of content that it brought.
    pub words: u32,
    /// Kind of failure, as in the error log, if the attempt brought no page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Reason for the attempt, and its result.
    pub reason: String,
}

/// `metadata` of a record. Field names are camelCase, as other tools expect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RecordMetadata {
    /// The requested URL.
    #[serde(rename = "sourceURL")]
    pub source_url: String,
    /// `rel=canonical`.
    pub canonical: Option<String>,
    /// Title without the site's name.
    pub title: Option<String>,
    /// Summary from the head.
    pub description: Option<String>,
    /// All authors, joined by ", ".
    pub author: Option<String>,
    /// Date of publication.
    pub published: Option<String>,
    /// Date of the last change.
    pub modified: Option<String>,
    /// Declared language.
    pub language: Option<String>,
    /// Name of the site.
    pub site_name: Option<String>,
    /// Main image.
    pub image: Option<String>,
    /// Keywords.
    pub keywords: Vec<String>,
    /// Authors, one by one.
    pub authors: Vec<String>,
    /// HTTP status.
    pub status_code: u16,
    /// Content type without parameters.
    pub content_type: Option<String>,
    /// RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub fetched_at: String,
    /// The strategy whose result this is.
    pub strategy: Strategy,
    /// Everything that was tried.
    pub attempts: Vec<Attempt>,
    /// Kind of page with regard to fetching.
    pub page_type: PageType,
    /// Heuristics reference §1.
    pub article_score: i32,
    /// True if `article_score` reaches the threshold of the rules, 35, and the content is no list of other
    /// pages.
    pub is_article: bool,
    /// Words of `text`.
    pub word_count: u32,
    /// Reading time at 200 words a minute, at least 1.
    pub reading_time_minutes: u32,
    /// The selected extractor.
    pub extractor: Extractor,
    /// Language identified from the text if none is declared.
    pub language_detected: Option<String>,
    /// 64 hex digits: the whole SHA-256 of the unchanged `content`.
    pub content_hash: String,
    /// `id` of the earlier record that this one repeats.
    pub duplicate_of: Option<String>,
    /// Similarity of both pages, 0 to 1.
    pub similarity: Option<f64>,
    /// MinHash estimate of the similarity.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub similarity_estimate: Option<f64>,
    /// Change since earlier rounds; `None` for a page from a file.
    pub change: Option<Change>,
    /// `content_hash` of the earlier round, if the page has changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous_content_hash: Option<String>,
    /// Last time at which a gone or unchanged page was found, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_seen: Option<String>,
    /// Host, with its port where that is not the default.
    pub domain: String,
    /// Links from the nearest seed.
    pub depth: u32,
    /// Licence, as a URL or a name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub licence: Option<String>,
    /// Breadcrumb trail.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub breadcrumbs: Vec<String>,
    /// Place that gave title, authors and dates.
    #[serde(skip_serializing_if = "crate::MetadataSources::is_empty", default)]
    pub sources: MetadataSources,
    /// Certainty of title, authors and dates.
    #[serde(skip_serializing_if = "crate::MetadataConfidence::is_empty", default)]
    pub confidence: MetadataConfidence,
    /// Pages about the authors.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub author_urls: Vec<crate::AuthorUrl>,
    /// Section of the site that the page calls its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub section: Option<String>,
    /// True if the page can be read without payment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is_accessible_for_free: Option<bool>,
    /// Object of a recipe, a product or the like, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub structured: Option<String>,
    /// All JSON-LD of the page, as JSON text, if `extract.raw_metadata` is set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub json_ld: Option<String>,
    /// OpenGraph's meta elements, as JSON text, if `extract.raw_metadata` is set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open_graph: Option<String>,
    /// Changes that other pages of the site made to the content.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_site: Option<crate::BySite>,
    /// Hidden text of the content that was left out.
    #[serde(skip_serializing_if = "crate::HiddenText::is_empty", default)]
    pub hidden_text: HiddenText,
    /// Places in which the site opts out of mining and machine learning: `noai`, `tdm_header`, `tdm_file`,
    /// `ai_txt`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ai_opt_out: Vec<String>,
    /// Project, if one was named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<String>,
    /// Source group, if one was named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_group: Option<String>,
}

impl RecordMetadata {
    /// Metadata of a page of which nothing is known but the hash of its content, which may be empty.
    #[must_use]
    pub fn new(content_hash: String) -> Self {
        Self {
            source_url: String::new(),
            canonical: None,
            title: None,
            description: None,
            author: None,
            published: None,
            modified: None,
            language: None,
            site_name: None,
            image: None,
            keywords: Vec::new(),
            authors: Vec::new(),
            status_code: 0,
            content_type: None,
            fetched_at: String::new(),
            strategy: Strategy::Static,
            attempts: Vec::new(),
            page_type: PageType::Unknown,
            article_score: 0,
            is_article: false,
            word_count: 0,
            reading_time_minutes: 1,
            extractor: Extractor::None,
            language_detected: None,
            content_hash,
            duplicate_of: None,
            similarity: None,
            similarity_estimate: None,
            change: None,
            previous_content_hash: None,
            last_seen: None,
            domain: String::new(),
            depth: 0,
            licence: None,
            breadcrumbs: Vec::new(),
            sources: MetadataSources::default(),
            confidence: MetadataConfidence::default(),
            author_urls: Vec::new(),
            section: None,
            is_accessible_for_free: None,
            structured: None,
            json_ld: None,
            open_graph: None,
            by_site: None,
            hidden_text: HiddenText::default(),
            ai_opt_out: Vec::new(),
            project: None,
            source_group: None,
        }
    }
}

/// Source of the language for which the quality of a text was assessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LanguageSource {
    /// The setting `quality.language`.
    Setting,
    /// The record or the page declares it.
    Declared,
    /// Identified from the text.
    Detected,
    /// Neither declared nor identified: the language is `und`.
    None,
}

impl LanguageSource {
    /// Returns the name, as in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Setting => "setting",
            Self::Declared => "declared",
            Self::Detected => "detected",
            Self::None => "none",
        }
    }
}

/// Result of the quality rules for a text. It does not affect the crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    /// Language whose stop words were left out (ISO 639-1, or `und`).
    pub language: String,
    /// Origin of `language`; absent from records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub language_source: Option<LanguageSource>,
    /// Words with a letter.
    pub words: u32,
    /// Number of words that are not stop words.
    pub content_words: u32,
    /// Reason for ratios without a verdict: `short_text`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skipped: Option<String>,
    /// Reason for the verdict on the word ratio: `too_few_content_words`, or `term` if the higher threshold
    /// applies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Names of the rules that the text fails.
    pub failed: Vec<String>,
    /// Rule → value.
    pub scores: BTreeMap<String, f64>,
}

/// One line of the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Record {
    /// Version of this shape, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// 32 hex digits, the [`crate::UrlKey`] of `url`.
    pub id: String,
    /// Final URL, canonical.
    pub url: String,
    /// Markdown without the site's boilerplate.
    pub text: String,
    /// The same before it.
    pub content: String,
    /// Everything else that is known.
    pub metadata: RecordMetadata,
    /// Removal of the site's boilerplate.
    pub boilerplate: BoilerplateInfo,
    /// Result of the quality rules for `text`, if they are enabled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quality: Option<Quality>,
    /// Conditions that a reader should know.
    pub warnings: Vec<Warning>,
    /// Outgoing links, canonical, each once.
    pub links: Vec<String>,
    /// Images, videos, sounds and players of the content, each URL once, in document order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub media: Vec<crate::Media>,
}

impl Record {
    /// A record of this version without text, links, media and warnings, of a page that was not cleaned.
    #[must_use]
    pub fn new(url: String, metadata: RecordMetadata) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            id: UrlKey::of(&url).to_string(),
            url,
            text: String::new(),
            content: String::new(),
            metadata,
            boilerplate: BoilerplateInfo::new(BoilerplateStatus::Off),
            quality: None,
            warnings: Vec::new(),
            links: Vec::new(),
            media: Vec::new(),
        }
    }
}

/// Stage in which a page failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading the seed file.
    Seed,
    /// Asking robots.txt.
    Robots,
    /// Fetching.
    Fetch,
    /// Parsing and extracting.
    Extract,
    /// Cleaning.
    Dedup,
    /// Writing.
    Sink,
}

/// One line of `errors.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedPage {
    /// The URL that failed.
    pub url: String,
    /// Stage of the failure.
    pub stage: Stage,
    /// Kind of failure, from a closed list of names.
    pub kind: &'static str,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Attempts made.
    pub attempts: u32,
    /// Message: the event that failed.
    pub message: String,
    /// Advice to the user, in one sentence.
    pub hint: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// The lease that this failure settles.
    #[serde(skip)]
    pub lease: Option<(RequestId, LeaseToken)>,
}
