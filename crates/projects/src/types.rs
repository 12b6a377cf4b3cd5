//! Types of input and output at every interface: the result types of the boilerplate spec under its names,
//! and further data of projects. The documents of REST and MCP are made of these types.

use crate::error::ProjectError;
use crawl_dedup::{FingerprintSettings, Mode, SettingRange, fingerprint::hash_digits};
use crawl_model::{self as model, rfc3339};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{
    IntoParams, ToSchema,
    openapi::schema::{Object, ObjectBuilder, SchemaType, Type},
};
use uuid::Uuid;

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema, JsonSchema)]
pub struct Project {
    /// Its identity.
    pub id: Uuid,
    /// Its name, which no other project has.
    pub name: String,
    /// Pages kept in it.
    pub sources: u64,
    /// Time of its creation, RFC 3339.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl From<model::Project> for Project {
    fn from(found: model::Project) -> Self {
        let model::Project { id, name, sources, created_at_ms, .. } = found;
        Self { id: id.0, name, sources, created_at: rfc3339(created_at_ms) }
    }
}

/// Projects in the order in which they were made.
#[derive(Clone, Debug, Serialize, ToSchema, JsonSchema)]
pub struct ProjectList {
    /// The projects.
    pub projects: Vec<Project>,
    /// Value of `after` for the next part; null at the end.
    pub next: Option<i64>,
}

/// A domain of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema, JsonSchema)]
pub struct DomainCount {
    /// Host, with its port where that is not the default.
    pub domain: String,
    /// Its pages.
    pub pages: u64,
}

impl From<model::DomainPages> for DomainCount {
    fn from(found: model::DomainPages) -> Self {
        Self { domain: found.domain, pages: found.pages }
    }
}

/// A page of a project.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema, JsonSchema)]
pub struct Source {
    /// The id of its record: 32 hex digits of its URL's hash.
    pub id: String,
    /// Its project.
    pub project_id: Uuid,
    /// Final URL, canonical.
    pub url: String,
    /// Host, with its port where that is not the default.
    pub domain: String,
    /// Label within the project.
    pub source_group: Option<String>,
    /// The page's main content before what its site repeats was removed.
    pub content: String,
    /// The same after it; null where that was not judged.
    pub cleaned_content: Option<String>,
    /// `metadata` of its record.
    pub metadata: Map<String, Value>,
    /// Time of its first visit, RFC 3339.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of its last visit, RFC 3339.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl Source {
    pub(super) fn new(project_id: Uuid, found: model::Source) -> Self {
        let model::Source { id, page, created_at_ms, updated_at_ms, .. } = found;
        Self {
            id: id.to_string(),
            project_id,
            url: page.url,
            domain: page.domain,
            source_group: page.source_group,
            content: page.content,
            cleaned_content: page.cleaned_content,
            // this column holds JSON only
            metadata: serde_json::from_str(&page.metadata).unwrap_or_default(),
            created_at: rfc3339(created_at_ms),
            updated_at: rfc3339(updated_at_ms),
        }
    }
}

/// Pages of a project in the order in which they first came.
#[derive(Clone, Debug, Serialize, ToSchema, JsonSchema)]
pub struct SourceList {
    /// The pages.
    pub sources: Vec<Source>,
    /// Value of `after` for the next part; null at the end.
    pub next: Option<i64>,
}

/// Result of cleaning a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, JsonSchema)]
pub struct DomainAnalysisResult {
    /// The domain.
    pub domain: String,
    /// Pages looked at.
    pub pages_analyzed: u64,
    /// Pages from which something was removed.
    pub pages_cleaned: u64,
    /// Distinct blocks that are boilerplate.
    pub blocks_boilerplate: u64,
    /// UTF-8 bytes removed from all pages.
    pub bytes_removed_total: u64,
    /// Reason for not judging the domain, whose pages keep their cleaned content; absent if it was judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(nullable = false)]
    pub warning: Option<String>,
}

/// Result of cleaning a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, JsonSchema)]
pub struct ProjectAnalysisResult {
    /// Domains looked at.
    pub domains_analyzed: u64,
    /// Domains with at least one boilerplate block.
    pub domains_with_boilerplate: u64,
    /// Pages from which something was removed.
    pub total_pages_cleaned: u64,
    /// UTF-8 bytes removed from all pages.
    pub total_bytes_removed: u64,
    /// One result a domain, in alphabetical order.
    pub domain_results: Vec<DomainAnalysisResult>,
}

/// Result of the last analysis of a domain, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema, JsonSchema)]
pub struct DomainStats {
    /// The domain.
    pub domain: String,
    /// Pages looked at.
    pub pages_analyzed: u64,
    /// Distinct blocks on them; 0 if they were too few to judge.
    pub blocks_total: u64,
    /// Distinct blocks that are boilerplate.
    pub blocks_boilerplate: u64,
    /// UTF-8 bytes removed, a page looked at.
    pub bytes_removed_avg: u64,
    /// Hashes of the boilerplate blocks, only on request: the first 16 hex digits of the SHA-256 of each. A
    /// block is hashed in lower case, with single spaces and stripped, in both modes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boilerplate_hashes: Option<Vec<String>>,
    /// Share of the pages that a block had to stand on.
    pub threshold_pct: f64,
    /// Pages that were needed.
    pub min_pages: u64,
    /// Characters that a block had to have.
    pub min_block_chars: u64,
    /// Mode of judging blocks.
    pub mode: String,
    /// The groups that the analysis was limited to; empty for all.
    pub source_groups: Vec<String>,
    /// Time of the domain's first analysis, RFC 3339.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of its last analysis, RFC 3339.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl From<model::DomainBoilerplate> for DomainStats {
    fn from(row: model::DomainBoilerplate) -> Self {
        let found = row.findings;
        Self {
            domain: found.domain,
            pages_analyzed: found.pages_analyzed,
            blocks_total: found.blocks_total,
            blocks_boilerplate: found.blocks_boilerplate,
            bytes_removed_avg: found.bytes_removed_avg,
            boilerplate_hashes: Some(digits(&found.boilerplate_hashes)),
            threshold_pct: found.threshold_pct,
            min_pages: found.min_pages,
            min_block_chars: found.min_block_chars,
            mode: found.mode,
            source_groups: found.source_groups,
            created_at: rfc3339(row.created_at_ms),
            updated_at: rfc3339(row.updated_at_ms),
        }
    }
}

/// Mode of judging blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnalysisMode {
    /// Whole blocks by the pages that they stand on.
    Exact,
    /// Blocks by where they stand on the page too.
    Site,
}

impl AnalysisMode {
    /// Returns its name in requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Site => "site",
        }
    }
}

impl From<AnalysisMode> for Mode {
    fn from(mode: AnalysisMode) -> Self {
        match mode {
            AnalysisMode::Exact => Self::Exact,
            AnalysisMode::Site => Self::Site,
        }
    }
}

impl From<Mode> for AnalysisMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Exact => Self::Exact,
            Mode::Site => Self::Site,
        }
    }
}

/// Parameters of an analysis. Missing ones are taken from the configuration.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AnalysisParams {
    /// Analyse the pages of these groups alone, and count no others; repeatable.
    #[param(inline)]
    pub source_groups: Vec<String>,
    /// Share of a domain's pages that a block must stand on to be boilerplate.
    #[param(schema_with = threshold_pct, required = false)]
    pub threshold_pct: Option<f64>,
    /// Pages that a domain needs to be judged.
    #[param(schema_with = min_pages, required = false)]
    pub min_pages: Option<i64>,
    /// Characters that a block must have.
    #[param(schema_with = min_block_chars, required = false)]
    pub min_block_chars: Option<i64>,
    /// Mode of judging blocks.
    #[param(inline, required = false, nullable = false)]
    pub mode: Option<AnalysisMode>,
}

/// A range as OpenAPI says it.
fn ranged(range: &SettingRange, kind: Type) -> Object {
    let whole = kind == Type::Integer;
    let number = |n: f64| if whole { utoipa::Number::Int(n as isize) } else { utoipa::Number::Float(n) };
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(kind))
        .minimum(Some(number(range.least)))
        .maximum(Some(number(range.most)))
        .build()
}

fn threshold_pct() -> Object {
    ranged(&FingerprintSettings::THRESHOLD_PCT, Type::Number)
}

fn min_pages() -> Object {
    ranged(&FingerprintSettings::MIN_PAGES, Type::Integer)
}

fn min_block_chars() -> Object {
    ranged(&FingerprintSettings::MIN_BLOCK_CHARS, Type::Integer)
}

/// Maximum entries of one part of a list.
pub const MAX_LIMIT: u64 = 100;
/// Entries if no limit is given.
const DEFAULT_LIMIT: u64 = 20;

/// Part of a list.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Go on after this: `next` of the part before.
    #[param(minimum = 0, required = false, nullable = false)]
    pub after: Option<i64>,
    /// Maximum number of entries.
    #[param(minimum = 1, maximum = 100, default = 20, required = false, nullable = false)]
    pub limit: Option<u64>,
}

impl Paging {
    pub(super) fn after(&self) -> i64 {
        self.after.unwrap_or(0)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// When one is out of its range.
    pub fn check(&self) -> Result<(), ProjectError> {
        let invalid = |field, problem: &str| Err(ProjectError::Invalid { field, problem: problem.into() });
        match (self.after, self.limit) {
            (Some(..0), _) => invalid("after", "must not be negative"),
            (_, Some(0 | 101..)) => invalid("limit", "is not from 1 to 100"),
            _ => Ok(()),
        }
    }
}

/// Filter of pages.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SourceFilter {
    /// Pages of this domain alone.
    #[param(required = false, nullable = false)]
    pub domain: Option<String>,
    /// Pages of these groups alone; repeatable.
    #[param(inline)]
    pub source_groups: Vec<String>,
    /// Go on after this: `next` of the part before.
    #[param(minimum = 0, required = false, nullable = false)]
    pub after: Option<i64>,
    /// Maximum number of pages; fewer come if they are long.
    #[param(minimum = 1, maximum = 100, default = 20, required = false, nullable = false)]
    pub limit: Option<u64>,
}

impl SourceFilter {
    /// Its part of the list.
    #[must_use]
    pub const fn paging(&self) -> Paging {
        Paging { after: self.after, limit: self.limit }
    }
}

/// Hashes as the specification writes them.
fn digits(hashes: &[u64]) -> Vec<String> {
    hashes.iter().copied().map(hash_digits).collect()
}
