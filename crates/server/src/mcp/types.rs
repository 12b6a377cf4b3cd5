//! Arguments and results of the tools. The schemas that a client sees are made of these types.

use crawl_dedup::{FingerprintSettings, SettingRange};
use crawl_model::{Record, hide_userinfo, strip_userinfo};
use crawl_projects::{AnalysisMode, DomainStats, Project, Source};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

/// Characters of text in one answer where nothing else is asked for, and at most: what an agent can hold.
pub const DEFAULT_CHARS: u32 = 20_000;
/// See [`DEFAULT_CHARS`].
pub const MAX_CHARS: u32 = 200_000;

fn range(range: &SettingRange, kind: &str) -> Schema {
    let bound = |n: f64| if kind == "integer" { Value::from(n as i64) } else { Value::from(n) };
    json_schema!({ "type": [kind, "null"], "minimum": bound(range.least), "maximum": bound(range.most) })
}

fn threshold_pct(_: &mut SchemaGenerator) -> Schema {
    range(&FingerprintSettings::THRESHOLD_PCT, "number")
}

fn min_pages(_: &mut SchemaGenerator) -> Schema {
    range(&FingerprintSettings::MIN_PAGES, "integer")
}

fn min_block_chars(_: &mut SchemaGenerator) -> Schema {
    range(&FingerprintSettings::MIN_BLOCK_CHARS, "integer")
}

/// Arguments of `analyze_boilerplate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeArgs {
    /// Id or name of the project.
    pub project_id: String,
    /// Analyse the pages of these source groups alone.
    #[serde(default)]
    pub source_groups: Option<Vec<String>>,
    /// Share of a domain's pages that a block must stand on to be boilerplate (default 0.7).
    #[serde(default)]
    #[schemars(schema_with = "threshold_pct")]
    pub threshold_pct: Option<f64>,
    /// Pages that a domain needs to be judged (default 5).
    #[serde(default)]
    #[schemars(schema_with = "min_pages")]
    pub min_pages: Option<i64>,
    /// Characters that a block must have (default 50).
    #[serde(default)]
    #[schemars(schema_with = "min_block_chars")]
    pub min_block_chars: Option<i64>,
    /// Mode of judging blocks: exact counts whole blocks alone, site looks at where they stand on the page
    /// too.
    #[serde(default)]
    pub mode: Option<AnalysisMode>,
}

/// Arguments of `boilerplate_stats`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsArgs {
    /// Id or name of the project.
    pub project_id: String,
    /// The only domain to report.
    #[serde(default)]
    pub domain: Option<String>,
}

/// Arguments of `list_projects`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArgs {
    /// Go on after this: `next` of the part before.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub after: Option<i64>,
}

/// Part of a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Characters to leave out.
    pub offset: u32,
    /// Characters at most.
    pub max_chars: u32,
}

impl Part {
    /// Converts the arguments.
    ///
    /// # Errors
    /// When more is asked for than one answer may hold.
    pub fn of(offset: Option<u32>, max_chars: Option<u32>) -> Result<Self, String> {
        let max_chars = max_chars.unwrap_or(DEFAULT_CHARS);
        if !(1..=MAX_CHARS).contains(&max_chars) {
            return Err(format!("max_chars: {max_chars} is not from 1 to {MAX_CHARS}"));
        }
        Ok(Self { offset: offset.unwrap_or(0), max_chars })
    }

    /// The part, and where the next one begins if something is left.
    fn cut(self, text: &str) -> (String, Option<u32>) {
        let mut chars = text.chars();
        let part: String = chars.by_ref().skip(self.offset as usize).take(self.max_chars as usize).collect();
        let next = self.offset.saturating_add(self.max_chars);
        (part, chars.next().map(|_| next))
    }
}

/// Arguments of `get_source`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceArgs {
    /// Id or name of the project.
    pub project_id: String,
    /// Id of the source (32 hex digits, that of its record) or its URL.
    pub source: String,
    /// The text before what its site repeats was removed, instead of the one after it.
    #[serde(default)]
    pub original: Option<bool>,
    /// Characters to leave out: `next_offset` of the answer before.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Characters of text at most (default 20000).
    #[serde(default)]
    #[schemars(range(min = 1, max = 200_000))]
    pub max_chars: Option<u32>,
}

/// Arguments of `crawl_url`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrawlArgs {
    /// Address of the page, http or https.
    #[schemars(url)]
    pub url: String,
    /// Keep the page in the project with this id or name.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Label of the page within the project.
    #[serde(default)]
    pub source_group: Option<String>,
    /// Characters to leave out: `next_offset` of the answer before.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Characters of text at most (default 20000).
    #[serde(default)]
    #[schemars(range(min = 1, max = 200_000))]
    pub max_chars: Option<u32>,
}

/// Arguments of `extract_page`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractArgs {
    /// The page's HTML.
    pub html: String,
    /// Its address, for dates and for links that are relative.
    #[serde(default)]
    #[schemars(url)]
    pub url: Option<String>,
    /// Format of the text (default markdown).
    #[serde(default)]
    pub format: Option<TextFormat>,
    /// Characters to leave out: `next_offset` of the answer before.
    #[serde(default)]
    pub offset: Option<u32>,
    /// Characters of text at most (default 20000).
    #[serde(default)]
    #[schemars(range(min = 1, max = 200_000))]
    pub max_chars: Option<u32>,
}

/// Format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextFormat {
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
}

/// The projects of the database.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectsView {
    /// Projects in the order of their creation.
    pub projects: Vec<Project>,
    /// Value of `after` for the next part; null at the end.
    pub next: Option<i64>,
}

/// Results of the last analyses of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsView {
    /// The project's id.
    pub project_id: String,
    /// One entry a domain, in alphabetical order.
    pub domains: Vec<DomainStats>,
}

/// A page, or a part of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageView {
    /// The id of its record, by which a project keeps it.
    pub id: String,
    /// Final URL, canonical; empty where none is known.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// Its main content, or the part of it that was asked for.
    pub text: String,
    /// Characters of the whole text.
    pub total_chars: u64,
    /// Start of the next part; null at the end.
    pub next_offset: Option<u32>,
    /// Further metadata: authors, dates, language, status, … Fields without a value are left out.
    pub metadata: Map<String, Value>,
    /// Warnings for a reader, as `body_truncated`, `soft_not_found`.
    pub warnings: Vec<String>,
}

impl PageView {
    fn new(text: &str, part: Part) -> Self {
        let total_chars = text.chars().count() as u64;
        let (text, next_offset) = part.cut(text);
        let (id, url) = (String::new(), String::new());
        Self {
            id,
            url,
            title: None,
            text,
            total_chars,
            next_offset,
            metadata: Map::new(),
            warnings: Vec::new(),
        }
    }

    /// A record as a page.
    #[must_use]
    pub fn of_record(record: Record, part: Part) -> Self {
        let strings = |value: Value| match value {
            Value::Array(items) => items.into_iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        Self {
            id: record.id,
            url: record.url,
            title: record.metadata.title.clone(),
            warnings: serde_json::to_value(&record.warnings).map_or_else(|_| Vec::new(), strings),
            metadata: match serde_json::to_value(record.metadata) {
                Ok(Value::Object(metadata)) => with_values(metadata),
                _ => Map::new(),
            },
            ..Self::new(&record.text, part)
        }
    }

    /// A page of a project: its cleaned content if it has one, unless the original is asked for.
    #[must_use]
    pub fn of_source(source: Source, original: bool, part: Part) -> Self {
        let cleaned = source.cleaned_content.filter(|_| !original);
        Self {
            id: source.id,
            url: source.url,
            title: source.metadata.get("title").and_then(Value::as_str).map(str::to_owned),
            metadata: with_values(source.metadata),
            ..Self::new(cleaned.as_ref().unwrap_or(&source.content), part)
        }
    }
}

/// Metadata without empty fields: an agent pays for each word.
fn with_values(mut metadata: Map<String, Value>) -> Map<String, Value> {
    metadata.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()));
    metadata
}

/// Parses a URL of a page.
///
/// # Errors
/// Says what is wrong with it.
pub fn web_url(field: &str, text: &str) -> Result<Url, String> {
    let shown = hide_userinfo(text);
    let mut url = Url::parse(text).map_err(|e| match e {
        url::ParseError::RelativeUrlWithoutBase => {
            format!("{field}: \"{shown}\" is not a URL: begin it with https://")
        }
        e => format!("{field}: \"{shown}\": {e}"),
    })?;
    strip_userinfo(&mut url);
    match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(format!("{field}: \"{shown}\": {scheme} is not http or https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_text_parts_join_to_the_whole() {
        let text = "äöü".repeat(7);
        let (mut offset, mut whole) = (Some(0), String::new());
        while offset.is_some() {
            let view = PageView::new(&text, Part::of(offset, Some(4)).unwrap());
            assert_eq!(view.total_chars, 21);
            whole += &view.text;
            offset = view.next_offset;
        }
        assert_eq!(whole, text);
        assert_eq!(PageView::new("abc", Part::of(Some(9), None).unwrap()).text, "");
        assert!(Part::of(None, Some(0)).is_err() && Part::of(None, Some(MAX_CHARS + 1)).is_err());
    }
}
