//! Records: the output of a crawl.

use crate::{
    Attempt, BoilerplateInfo, BoilerplateStatus, Change, Extractor, HiddenText, MetadataConfidence,
    MetadataSources, PageType, Quality, Strategy, UrlKey, Warning,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the shape of [`Record`].
///
/// Version 2: every record has every key, `content` is null where it equals `text`, and `quality.scores`
/// is JSON in a text. Records of version 1 are read too.
pub const SCHEMA_VERSION: u32 = 2;

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
    /// The same before it; null where it equals `text`.
    #[serde(default)]
    pub content: Option<String>,
    /// Everything else that is known.
    pub metadata: RecordMetadata,
    /// Removal of the site's boilerplate.
    pub boilerplate: BoilerplateInfo,
    /// Result of the quality rules for `text`, if they are enabled.
    #[serde(default)]
    pub quality: Option<Quality>,
    /// Conditions that a reader should know.
    pub warnings: Vec<Warning>,
    /// Outgoing links, canonical, each once.
    pub links: Vec<String>,
    /// Images, videos, sounds and players of the content, each URL once, in document order.
    #[serde(default)]
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
            content: None,
            metadata,
            boilerplate: BoilerplateInfo::new(BoilerplateStatus::Off),
            quality: None,
            warnings: Vec::new(),
            links: Vec::new(),
            media: Vec::new(),
        }
    }

    /// Sets the text, and the content that it was cleaned from.
    #[must_use]
    pub fn with_text(mut self, text: String, content: String) -> Self {
        self.content = (content != text).then_some(content);
        self.text = text;
        self
    }

    /// The main content before cleaning.
    #[must_use]
    pub fn content(&self) -> &str {
        self.content.as_deref().unwrap_or(&self.text)
    }
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
    #[serde(default)]
    pub similarity_estimate: Option<f64>,
    /// Change since earlier rounds; `None` for a page from a file.
    pub change: Option<Change>,
    /// `content_hash` of the earlier round, if the page has changed.
    #[serde(default)]
    pub previous_content_hash: Option<String>,
    /// Last time at which a gone or unchanged page was found, RFC 3339 in UTC.
    #[serde(default)]
    pub last_seen: Option<String>,
    /// Host, with its port where that is not the default.
    pub domain: String,
    /// Links from the nearest seed.
    pub depth: u32,
    /// Licence, as a URL or a name.
    #[serde(default)]
    pub licence: Option<String>,
    /// Breadcrumb trail.
    #[serde(default)]
    pub breadcrumbs: Vec<String>,
    /// Place that gave title, authors and dates.
    #[serde(default)]
    pub sources: MetadataSources,
    /// Certainty of title, authors and dates.
    #[serde(default)]
    pub confidence: MetadataConfidence,
    /// Pages about the authors.
    #[serde(default)]
    pub author_urls: Vec<crate::AuthorUrl>,
    /// Section of the site that the page calls its own.
    #[serde(default)]
    pub section: Option<String>,
    /// True if the page can be read without payment.
    #[serde(default)]
    pub is_accessible_for_free: Option<bool>,
    /// Object of a recipe, a product or the like, as JSON text.
    #[serde(default)]
    pub structured: Option<String>,
    /// All JSON-LD of the page, as JSON text, if `extract.raw_metadata` is set.
    #[serde(default)]
    pub json_ld: Option<String>,
    /// OpenGraph's meta elements, as JSON text, if `extract.raw_metadata` is set.
    #[serde(default)]
    pub open_graph: Option<String>,
    /// Changes that other pages of the site made to the content.
    #[serde(default)]
    pub by_site: Option<crate::BySite>,
    /// Hidden text of the content that was left out.
    #[serde(default)]
    pub hidden_text: HiddenText,
    /// Places in which the site opts out of mining and machine learning: `noai`, `tdm_meta`, `tdm_header`, `tdm_file`,
    /// `ai_txt`.
    #[serde(default)]
    pub ai_opt_out: Vec<String>,
    /// Project, if one was named.
    #[serde(default)]
    pub project: Option<String>,
    /// Source group, if one was named.
    #[serde(default)]
    pub source_group: Option<String>,
    /// Tags of the site or seed, as a JSON object of texts.
    #[serde(default)]
    pub tags: Option<String>,
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
            tags: None,
        }
    }
}
