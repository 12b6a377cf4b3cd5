//! `docs/record.md` lists every field of a record with its type and its presence, and every name that a field
//! can have. The fields are read from the types, as in the JSON Schema of a record.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

use crate::{Record, Warning};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;
use std::collections::BTreeMap;

const DOC: &str = include_str!("../../../docs/record.md");

/// A field of a record.
#[derive(Debug)]
struct Field {
    /// Type in the words of the document.
    kind: String,
    /// True if it may be left out.
    is_optional: bool,
    /// Values that it may have, for an enumeration.
    names: Vec<String>,
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// A schema and its alternatives, without the one of null.
fn alternatives(schema: &Value) -> Vec<&Value> {
    match schema["anyOf"].as_array() {
        Some(all) => all.iter().filter(|schema| schema["type"] != "null").collect(),
        None => vec![schema],
    }
}

fn is_nullable(schema: &Value) -> bool {
    let all = schema["anyOf"].as_array().or_else(|| schema["type"].as_array());
    all.is_some_and(|all| all.iter().any(|one| one == "null" || one["type"] == "null"))
}

/// Names of an enumeration.
fn names(schema: &Value) -> Vec<String> {
    let listed = schema["enum"].as_array().into_iter().flatten();
    let described = schema["oneOf"].as_array().into_iter().flatten();
    let one_by_one = described.flat_map(|one| match one["enum"].as_array() {
        Some(several) => several.iter().collect(),
        None => vec![&one["const"]],
    });
    listed.chain(one_by_one).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Type of a value, as the document writes it.
fn type_of(schema: &Value) -> &'static str {
    let is = |kind: &str| {
        let kinds = &schema["type"];
        kinds == kind || kinds.as_array().is_some_and(|all| all.iter().any(|one| one == kind))
    };
    match () {
        () if is("object") => "object",
        () if is("array") && alternatives(&schema["items"]).iter().any(|item| item["type"] == "object") => {
            "list of objects"
        }
        () if is("array") => "list of texts",
        () if is("boolean") => "true or false",
        () if is("integer") || is("number") => "number",
        () if is("string") || !names(schema).is_empty() => "text",
        () => panic!("no type: {schema}"),
    }
}

/// Collects the fields of an object by their paths, those of lists of objects as `list[].field`.
fn collect(object: &Value, within: &str, out: &mut BTreeMap<String, Field>) {
    for (name, schema) in object["properties"].as_object().into_iter().flatten() {
        let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        let required = object["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        for inner in alternatives(schema) {
            collect(inner, &path, out);
            collect(&inner["items"], &format!("{path}[]"), out);
            let null = if required && is_nullable(schema) { " or null" } else { "" };
            let (kind, names) = (format!("{}{null}", type_of(inner)), names(inner));
            out.insert(path.clone(), Field { kind, is_optional: !required, names });
        }
    }
}

fn fields() -> BTreeMap<String, Field> {
    let mut out = BTreeMap::new();
    collect(&schema_of::<Record>(), "", &mut out);
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

/// Returns true if a row names a value: that of the field, of the object around it, or of a field with the same values.
fn is_documented(
    rows: &BTreeMap<&str, Vec<&str>>,
    fields: &BTreeMap<String, Field>,
    path: &str,
    name: &str,
) -> bool {
    let around = path.rsplit_once('.').map_or("", |(around, _)| around);
    let alike = fields.iter().filter(|(_, field)| field.names == fields[path].names);
    let mut places = alike.map(|(path, _)| path.as_str()).chain([around]);
    places.any(|place| rows.get(place).is_some_and(|row| row[1].contains(&format!("`{name}`"))))
}

#[test]
fn every_field_is_documented_with_its_type() {
    let (fields, rows) = (fields(), rows());
    let mut wrong = Vec::new();
    for (path, field) in &fields {
        let Some(row) = rows.get(path.as_str()) else {
            wrong.push(format!("no row for {path}"));
            continue;
        };
        if row[0] != field.kind {
            wrong.push(format!("{path} is \"{}\", not \"{}\"", field.kind, row[0]));
        }
        if row[1].to_lowercase().contains("absent") != field.is_optional {
            let may = if field.is_optional { "may be" } else { "is never" };
            wrong.push(format!("{path} {may} absent: {}", row[1]));
        }
    }
    let optional: Vec<&String> =
        fields.iter().filter(|(_, field)| field.is_optional).map(|(path, _)| path).collect();
    assert!(optional.is_empty(), "every key stands in every record: {optional:?}");
    let warnings = names(&schema_of::<Warning>());
    // the names of rules are keys of a map
    let is_key = |name: &str| name.strip_suffix(".RULE").is_some_and(|map| fields.contains_key(map));
    let known = |name: &str| {
        fields.contains_key(name) || is_key(name) || warnings.iter().any(|warning| warning == name)
    };
    wrong.extend(rows.keys().filter(|name| !known(name)).map(|name| format!("{name} is no field")));
    assert!(wrong.is_empty(), "docs/record.md: {wrong:#?}");
}

#[test]
fn every_value_name_is_documented() {
    let (fields, rows) = (fields(), rows());
    let mut wrong = Vec::new();
    for (path, field) in &fields {
        let unsaid = field.names.iter().filter(|name| !is_documented(&rows, &fields, path, name));
        wrong.extend(unsaid.map(|name| format!("{path} may be {name}")));
    }
    let warnings = names(&schema_of::<Warning>());
    let unsaid = warnings.iter().filter(|warning| !rows.contains_key(warning.as_str()));
    wrong.extend(unsaid.map(|warning| format!("no row for the warning {warning}")));
    assert!(wrong.is_empty(), "docs/record.md: {wrong:#?}");
    assert!(warnings.len() > 2 && fields["metadata.change"].names.len() > 2, "no names are read");
}
