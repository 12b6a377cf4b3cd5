//! JSON Schema of a record, generated from its types. `crawl schema` prints it, `schema/record.schema.json` holds it,
//! and the outputs read their fields and columns from it.

use crawl_model::Record;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// JSON Schema (draft 2020-12) of a line of the output.
#[must_use]
pub fn record_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Record>().to_value()
}

/// A field of a record that others can be named by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Names from the outermost in, joined by dots: `metadata.title`.
    pub path: String,
    /// Shape of its value.
    pub shape: Shape,
    /// True if it may be null or missing.
    pub optional: bool,
}

/// Shape of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A text.
    Text,
    /// A moment (RFC 3339).
    Moment,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list of texts.
    Texts,
    /// Fields of its own, which follow it.
    Object,
    /// A list of objects.
    Other,
}

/// All fields, each object before its own.
#[must_use]
pub fn fields() -> Vec<Field> {
    let mut fields = Vec::new();
    collect(&inlined(), "", false, &mut fields);
    fields
}

/// The schema without references.
pub(crate) fn inlined() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<Record>().to_value()
}

/// The fields of an object, which may be missing itself.
fn collect(schema: &Value, within: &str, missing: bool, fields: &mut Vec<Field>) {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort();
    for name in names {
        let field = &properties[name];
        let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        let required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        let shape = shape(field);
        let optional = missing || !required || is_a(field, "null");
        fields.push(Field { path: path.clone(), shape, optional });
        if let Some(object) = object(field) {
            collect(object, &path, optional, fields);
        }
    }
}

/// The schema of an object with known fields: it, or one of its alternatives.
pub(crate) fn object(schema: &Value) -> Option<&Value> {
    if schema["properties"].is_object() {
        return Some(schema);
    }
    schema["anyOf"].as_array()?.iter().find_map(object)
}

/// Shape of the values of a schema.
pub(crate) fn shape(schema: &Value) -> Shape {
    let is = |kind| is_a(schema, kind);
    match () {
        () if is("string") && schema["format"] == "date-time" => Shape::Moment,
        () if is("string") => Shape::Text,
        () if is("integer") => Shape::Integer,
        () if is("number") => Shape::Number,
        () if is("boolean") => Shape::Boolean,
        () if is("array") && is_a(&schema["items"], "string") => Shape::Texts,
        () if object(schema).is_some() => Shape::Object,
        () => Shape::Other,
    }
}

/// Returns true if values of a schema may be of a type, by its `type`, its constants, or one of its
/// alternatives.
fn is_a(schema: &Value, kind: &str) -> bool {
    let of_type = |value: &Value| value == kind;
    let constant = |value: &Value| kind == "string" && value.is_string();
    let alternatives = ["oneOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()).flatten();
    of_type(&schema["type"])
        || schema["type"].as_array().is_some_and(|all| all.iter().any(of_type))
        || constant(&schema["const"])
        || schema["enum"].as_array().is_some_and(|all| all.iter().any(constant))
        || alternatives.into_iter().any(|schema| is_a(schema, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `crawl schema > schema/record.schema.json` writes the file again.
    #[test]
    fn schema_file_matches_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/record.schema.json");
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(file, record_schema(), "make it anew: crawl schema > schema/record.schema.json");
    }

    #[test]
    fn schema_fields_match_their_types() {
        let fields = fields();
        let of = |path: &str| {
            let field = fields.iter().find(|field| field.path == path);
            field.map(|field| (field.shape, field.optional))
        };
        assert_eq!(of("text"), Some((Shape::Text, false)));
        assert_eq!(of("metadata"), Some((Shape::Object, false)));
        assert_eq!(of("metadata.title"), Some((Shape::Text, true)));
        assert_eq!(of("metadata.strategy"), Some((Shape::Text, false)));
        assert_eq!(of("metadata.fetchedAt"), Some((Shape::Moment, false)));
        assert_eq!(of("metadata.similarity"), Some((Shape::Number, true)));
        assert_eq!(of("metadata.depth"), Some((Shape::Integer, false)));
        assert_eq!(of("metadata.isArticle"), Some((Shape::Boolean, false)));
        assert_eq!(of("metadata.breadcrumbs"), Some((Shape::Texts, false)));
        assert_eq!(of("warnings"), Some((Shape::Texts, false)));
        assert_eq!(of("metadata.attempts"), Some((Shape::Other, false)));
        assert_eq!(of("boilerplate.status"), Some((Shape::Text, false)));
        assert_eq!(of("quality.failed"), Some((Shape::Texts, true)), "of a part that may be missing");
        assert_eq!(of("quality.scores"), Some((Shape::Text, true)));
    }
}
