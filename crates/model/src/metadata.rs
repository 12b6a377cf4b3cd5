//! Metadata that a page declares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// A version of the page in another language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hreflang {
    /// BCP 47 tag, in the case of RFC 5646 §2.1.1, or `x-default`.
    pub lang: String,
    /// Absolute URL.
    pub url: String,
}

/// The page about an author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthorUrl {
    /// Name, as in the list of authors.
    pub name: String,
    /// Absolute URL.
    pub url: String,
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
    pub title: Option<String>,
    /// Place of the authors.
    pub authors: Option<String>,
    /// Place of the date of publication.
    pub published: Option<String>,
    /// Place of the date of the last change.
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
    pub title: Option<Confidence>,
    /// Certainty of the authors.
    pub authors: Option<Confidence>,
    /// Certainty of the date of publication.
    pub published: Option<Confidence>,
    /// Certainty of the date of the last change.
    pub modified: Option<Confidence>,
}

impl MetadataConfidence {
    /// Returns true if no field was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.title.is_none() && self.authors.is_none() && self.published.is_none() && self.modified.is_none()
    }
}
