//! `docs/record.md` lists every field of a record with its type and its presence, and every name that a field
//! can have.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

use crate::{
    Attempt, AuthorUrl, BoilerplateInfo, BoilerplateStatus, BySite, Change, Confidence, Extractor,
    HiddenText, LanguageSource, Media, MediaKind, MetadataConfidence, MetadataSources, PageType, Quality,
    Record, RecordMetadata, RemovalReason, RemovedSpan, SCHEMA_VERSION, Strategy, Warning,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

const DOC: &str = include_str!("../../../docs/record.md");

fn attempt(full: bool) -> Attempt {
    let error = full.then(String::new);
    Attempt {
        strategy: Strategy::Static,
        status: full.then_some(200),
        words: 1,
        error,
        reason: String::new(),
    }
}

fn quality(full: bool) -> Quality {
    let text = || full.then(|| "text".to_owned());
    Quality {
        language: String::new(),
        language_source: full.then_some(LanguageSource::Declared),
        words: 0,
        content_words: 0,
        skipped: text(),
        reason: text(),
        failed: text().into_iter().collect(),
        scores: [("RULE".to_owned(), 0.5)].into(),
    }
}

fn boilerplate(full: bool) -> BoilerplateInfo {
    let removed = RemovedSpan {
        start: 0,
        end: 1,
        hash: 1,
        key: full.then_some(1),
        reason: RemovalReason::Block,
        pages: 1,
    };
    BoilerplateInfo {
        status: BoilerplateStatus::Applied,
        fingerprint: full.then(|| "text".to_owned()),
        pages: 1,
        blocks_removed: 0,
        bytes_removed: 0,
        removed: full.then_some(removed).into_iter().collect(),
    }
}

/// A record in which every optional field is present or absent.
fn media(full: bool) -> Media {
    let text = || full.then(String::new);
    Media {
        kind: MediaKind::Video,
        src: String::new(),
        alt: text(),
        caption: text(),
        width: full.then_some(1),
        height: full.then_some(1),
        poster: text(),
    }
}

const fn hidden_text(count: u32) -> HiddenText {
    HiddenText { words: count, kept: count, characters: count }
}

fn metadata(full: bool) -> RecordMetadata {
    let text = || full.then(|| "text".to_owned());
    let list = || text().into_iter().collect::<Vec<_>>();
    RecordMetadata {
        source_url: String::new(),
        canonical: text(),
        title: text(),
        description: text(),
        author: text(),
        published: text(),
        modified: text(),
        language: text(),
        site_name: text(),
        image: text(),
        keywords: list(),
        authors: list(),
        status_code: 200,
        content_type: text(),
        fetched_at: String::new(),
        strategy: Strategy::Static,
        attempts: vec![attempt(full)],
        page_type: PageType::Unknown,
        article_score: 0,
        is_article: false,
        word_count: 0,
        reading_time_minutes: 1,
        extractor: Extractor::None,
        language_detected: text(),
        content_hash: String::new(),
        duplicate_of: text(),
        similarity: full.then_some(1.0),
        similarity_estimate: full.then_some(1.0),
        change: full.then_some(Change::New),
        previous_content_hash: text(),
        last_seen: text(),
        domain: String::new(),
        depth: 0,
        licence: text(),
        breadcrumbs: list(),
        sources: MetadataSources { title: text(), authors: text(), published: text(), modified: text() },
        confidence: MetadataConfidence {
            title: full.then_some(Confidence::High),
            authors: full.then_some(Confidence::Medium),
            published: full.then_some(Confidence::Low),
            modified: full.then_some(Confidence::Low),
        },
        author_urls: full
            .then(|| AuthorUrl { name: String::new(), url: String::new() })
            .into_iter()
            .collect(),
        section: text(),
        is_accessible_for_free: full.then_some(true),
        structured: text(),
        json_ld: text(),
        open_graph: text(),
        by_site: Some(BySite { pages: 9, added: 1, dropped: 2, rebuilt: true, template: text() }),
        hidden_text: hidden_text(u32::from(full)),
        ai_opt_out: list(),
        project: text(),
        source_group: text(),
    }
}

fn record(full: bool) -> Record {
    let metadata = metadata(full);
    let boilerplate = boilerplate(full);
    Record {
        schema_version: SCHEMA_VERSION,
        id: String::new(),
        url: String::new(),
        text: String::new(),
        content: String::new(),
        metadata,
        boilerplate,
        quality: Some(quality(full)),
        warnings: Vec::new(),
        links: full.then(|| "text".to_owned()).into_iter().collect(),
        media: vec![media(full)],
    }
}

/// Type of a JSON value, as the document writes it.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(items) if items.iter().any(Value::is_object) => "list of objects",
        Value::Array(_) => "list of texts",
        Value::Object(_) => "object",
    }
}

/// Path of a field → its type.
fn fields(value: &Value, path: &str, out: &mut BTreeMap<String, &'static str>) {
    let inner = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().filter(|i| i.is_object()).map(|i| ("[]".to_owned(), i)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let path = match (path, key.as_str()) {
            (path, "[]") => format!("{path}[]"),
            ("", key) => key.to_owned(),
            (path, key) => format!("{path}.{key}"),
        };
        fields(value, &path, out);
        if !path.ends_with("[]") {
            out.insert(path, type_of(value));
        }
    }
}

fn fields_of(full: bool) -> BTreeMap<String, &'static str> {
    let mut out = BTreeMap::new();
    fields(&serde_json::to_value(record(full)).unwrap(), "", &mut out);
    out
}

/// Cells of the rows that begin with a name in backquotes.
fn rows() -> BTreeMap<&'static str, Vec<&'static str>> {
    let rows = DOC.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (name, cells) = row.split_once('`').unwrap();
        (name, cells.trim_matches([' ', '|']).split(" | ").collect())
    })
    .collect()
}

#[test]
fn every_field_is_documented_with_its_type() {
    let (full, mut empty, rows) = (fields_of(true), fields_of(false), rows());
    // Present in both, so that their own fields can be compared; they may be absent as a whole.
    assert!(empty.remove("quality").is_some());
    let is_there = |path: &str| !matches!(path, "media" | "metadata.bySite");
    for (path, kind) in &full {
        let row = rows.get(path.as_str()).unwrap_or_else(|| panic!("docs/record.md has no row for {path}"));
        let inner_of_absent = path.contains("[]") && !empty.contains_key(path.split("[]").next().unwrap());
        let expected = match empty.get(path) {
            Some(&"null") if *kind != "null" => format!("{kind} or null"),
            _ => (*kind).to_owned(),
        };
        assert_eq!(row[0], expected, "the type of {path}");
        let absent = row[1].to_lowercase().contains("absent");
        let may_be = !empty.contains_key(path) && !inner_of_absent || !is_there(path);
        assert_eq!(absent, may_be, "{path} may be absent: {}", row[1]);
    }
    let warnings = names::<Warning>();
    let unknown: Vec<_> = rows
        .keys()
        .filter(|name| !full.contains_key(**name) && !warnings.iter().any(|w| w == *name))
        .collect();
    assert!(unknown.is_empty(), "rows of fields that are not there: {unknown:?}");
}

/// Names of an enumeration, as serde lists them in the error of an unknown one.
fn names<T: DeserializeOwned>() -> Vec<String> {
    let Err(error) = serde_json::from_str::<T>("\"no such name\"") else { panic!("every name is known") };
    let error = error.to_string();
    let (_, expected) = error.split_once("expected").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_name_is_documented() {
    let rows = rows();
    let said = |field: &str, names: Vec<String>| {
        assert!(names.len() > 2, "{field}: {names:?}");
        for name in names {
            assert!(rows[field][1].contains(&format!("`{name}`")), "docs/record.md: {field} may be {name}");
        }
    };
    for warning in names::<Warning>() {
        assert!(rows.contains_key(warning.as_str()), "docs/record.md has no row for the warning {warning}");
    }
    said("metadata.strategy", names::<Strategy>());
    said("metadata.change", names::<Change>());
    said("metadata.pageType", names::<PageType>());
    said("metadata.extractor", names::<Extractor>());
    said("media[].kind", names::<MediaKind>());
    said("boilerplate.status", names::<BoilerplateStatus>());
    said("boilerplate.removed[].reason", names::<RemovalReason>());
}
