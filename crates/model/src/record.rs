//! What is written.

use crate::{ContentHash, ExtractedPage, LeaseToken, RequestId, Sketch, Strategy, UrlKey, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the shape of [`Record`].
pub const SCHEMA_VERSION: u32 = 1;

/// What the site's fingerprint did to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoilerplateStatus {
    /// The fingerprint was applied (it may have removed nothing).
    Applied,
    /// The host ended below `min_pages`: nothing was judged.
    TooFewPages,
    /// `dedup.enabled` is off.
    Off,
}

/// How a page was cleaned of what its site repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoilerplateInfo {
    /// What was done.
    pub status: BoilerplateStatus,
    /// Names what the page was judged by, 16 hex digits: in the mode `exact` the set of the hashes of boilerplate, in the
    /// mode `site` all that was counted of the host's pages until then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<String>,
    /// Pages that the fingerprint was computed from.
    pub pages: u64,
    /// Blocks removed from this page.
    pub blocks_removed: u32,
    /// UTF-8 bytes removed from this page.
    pub bytes_removed: u64,
    /// What was removed, in order, as places in `content`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub removed: Vec<RemovedSpan>,
}

/// A part of `content` that is not in `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedSpan {
    /// First byte in `content` (UTF-8).
    pub start: u64,
    /// Byte after the last one.
    pub end: u64,
    /// The first 64 bits of the SHA-256 of the block, folded as the boilerplate specification says, as 16 hex digits. The same
    /// block has the same hash in both modes and in `boilerplate_hashes` of a project.
    #[serde(with = "hex_digits")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{16}$"))]
    pub hash: u64,
    /// In the mode `site`, the key by which the block was counted, as 16 hex digits: blocks that differ only in the digits of
    /// short lines share it.
    #[serde(with = "optional_hex_digits", skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>", regex(pattern = "^[0-9a-f]{16}$"))]
    pub key: Option<u64>,
    /// Why it was removed.
    pub reason: RemovalReason,
    /// Pages of the host that gave the evidence.
    pub pages: u64,
}

/// Why a block was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// The whole block stands on as many pages as the settings ask for, wherever it stands on them.
    Block,
    /// It belongs to the run of blocks at the head or the foot of the page whose lines stand on many pages.
    Margin,
    /// It stands in that run and is made of words that many pages have there in this order, but for what changes.
    Pattern,
    /// It stands in the run at the foot and is made of titles of other pages.
    Titles,
    /// It stands in that run between two blocks that stand around something else on many pages.
    Slot,
    /// It is a label between blocks of the frame, or between the frame at the head and the line that names the page.
    Enclosed,
    /// The page begins with it and says it again at once.
    SaidTwice,
    /// It stands near the head and was removed from the foot.
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

/// A number as 16 hex digits, or nothing.
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

/// A page against what earlier rounds knew of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// No earlier round had it as a page.
    New,
    /// Its text is another one.
    Changed,
    /// Its text is the same.
    Unchanged,
    /// Its host says that it is no more, and has said so twice.
    Gone,
}

/// A page after deduplication.
#[derive(Debug)]
pub struct CleanPage {
    /// The page; its `extraction.content` is as extraction left it.
    pub page: ExtractedPage,
    /// `content` without what the site repeats.
    pub text: String,
    /// How it was cleaned.
    pub boilerplate: BoilerplateInfo,
    /// The page that this one repeats. Until it is written it is the one that its `rel=canonical` names, if that is known.
    pub duplicate: Option<Duplicate>,
    /// What other pages are compared with; none where that has not been worked out yet.
    pub sketch: Option<Sketch>,
    /// What decides that another page has the same content; none for a page that is too short for that.
    pub exact: Option<ContentHash>,
    /// SHA-256 of `content`.
    pub content_hash: ContentHash,
    /// What the rules of quality say of `text`, where they are asked.
    pub quality: Option<Quality>,
    /// SHA-256 of `text`.
    pub text_hash: ContentHash,
    /// What is new of it.
    pub change: Change,
}

/// That a page repeats another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    /// The page that came first.
    pub of: UrlKey,
    /// 1 where both have the same content, else the exact Jaccard similarity of their texts; none where the page only says so
    /// itself, by `rel=canonical`.
    pub similarity: Option<f64>,
    /// What MinHash estimates the similarity as.
    pub estimate: Option<f64>,
}

/// One try at fetching a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// By which strategy.
    pub strategy: Strategy,
    /// HTTP status, if there was an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Words of content that it brought.
    pub words: u32,
    /// The kind of failure, one of those of the error log, if it brought no page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Why it was tried, and what came of it.
    pub reason: String,
}

/// `metadata` of a record; names are well known to other tools, so they are camelCase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordMetadata {
    /// The URL that was asked for.
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
    /// Kind of page, as far as fetching is concerned.
    pub page_type: crate::PageType,
    /// Heuristics reference §1.
    pub article_score: i32,
    /// `article_score` reaches the threshold of the rules, 35, and the content is no list of other pages.
    pub is_article: bool,
    /// Words of `text`.
    pub word_count: u32,
    /// At 200 words a minute, at least 1.
    pub reading_time_minutes: u32,
    /// Which extractor was taken.
    pub extractor: crate::Extractor,
    /// Language identified from the text, where none is declared.
    pub language_detected: Option<String>,
    /// 64 hex digits: the whole SHA-256 of `content` as it stands.
    pub content_hash: String,
    /// `id` of the earlier record that this one repeats.
    pub duplicate_of: Option<String>,
    /// How alike the two are, 0 to 1.
    pub similarity: Option<f64>,
    /// What MinHash estimates that as.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub similarity_estimate: Option<f64>,
    /// Against earlier rounds; `None` for a page from a file.
    pub change: Option<Change>,
    /// `content_hash` of the earlier round, of a page that has changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous_content_hash: Option<String>,
    /// When a page that is gone or unchanged was last there, RFC 3339 in UTC.
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
    pub sources: crate::MetadataSources,
    /// Certainty of title, authors and dates.
    #[serde(skip_serializing_if = "crate::MetadataConfidence::is_empty", default)]
    pub confidence: crate::MetadataConfidence,
    /// Pages about the authors.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub author_urls: Vec<crate::AuthorUrl>,
    /// Section of the site that the page calls its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub section: Option<String>,
    /// The page says if it can be read without payment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is_accessible_for_free: Option<bool>,
    /// Object of a recipe, a product or the like, as one text of JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub structured: Option<String>,
    /// All JSON-LD of the page, as one text of JSON, where `extract.raw_metadata` asks for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub json_ld: Option<String>,
    /// OpenGraph's meta elements, as one text of JSON, where `extract.raw_metadata` asks for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open_graph: Option<String>,
    /// Changes that other pages of the site made to the content.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by_site: Option<crate::BySite>,
    /// Text of the content that a reader cannot see and that was left out.
    #[serde(skip_serializing_if = "crate::HiddenText::is_empty", default)]
    pub hidden_text: crate::HiddenText,
    /// Where the site has opted out of mining and machine learning: `noai`, `tdm_header`, `tdm_file`, `ai_txt`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ai_opt_out: Vec<String>,
    /// Project, if one was named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub project: Option<String>,
    /// Source group, if one was named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_group: Option<String>,
}

/// Origin of the language in which a text was judged.
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

/// What the rules of quality say of a text; nothing follows from it but what its reader makes of it.
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
    /// Those of them that are no stop words.
    pub content_words: u32,
    /// Why the ratios are told but not judged: `short_text`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub skipped: Option<String>,
    /// About the word ratio: `too_few_content_words`, or `term` where the higher threshold holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Names of the rules that the text does not keep to.
    pub failed: Vec<String>,
    /// Rule → value.
    pub scores: BTreeMap<String, f64>,
}

/// One line of the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How it was cleaned.
    pub boilerplate: BoilerplateInfo,
    /// What the rules of quality say of `text`, where they were asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quality: Option<Quality>,
    /// What a reader should know.
    pub warnings: Vec<Warning>,
    /// Outgoing links, canonical, each once.
    pub links: Vec<String>,
    /// Images, videos, sounds and players of the content, each URL once, in document order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub media: Vec<crate::Media>,
}

/// Where in the flow a page failed.
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
    /// Where.
    pub stage: Stage,
    /// The kind of failure, one of a closed list of names.
    pub kind: &'static str,
    /// HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// Attempts made.
    pub attempts: u32,
    /// What happened.
    pub message: String,
    /// What the user can do, in one sentence.
    pub hint: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// The lease that is settled by this failure.
    #[serde(skip)]
    pub lease: Option<(RequestId, LeaseToken)>,
}
