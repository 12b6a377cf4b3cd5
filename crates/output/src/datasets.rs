//! Types of a record for the Python package `datasets`.

use crate::{
    fields::Fields,
    schema::{Shape, inlined, object, shape},
};
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Types of a record for `load_dataset` of the Python package `datasets`, as Python. Types that a loader infers
/// from the first lines of a file are wrong for fields that are null there.
#[must_use]
pub fn datasets_features(fields: Option<&Fields>) -> String {
    let features = features(&inlined(), "", 1, &|path| {
        fields.is_none_or(|fields| fields.has(path) || fields.has_part_of(path))
    });
    format!("from datasets import Features, Value\n\nfeatures = Features({features})\n")
}

/// The type of a value in Python; `depth` is that of the indentation.
fn features(schema: &Value, within: &str, depth: usize, wanted: &dyn Fn(&str) -> bool) -> String {
    let value = |name: &str| format!("Value(\"{name}\")");
    match shape(schema) {
        Shape::Text | Shape::Moment => value("string"),
        Shape::Integer => value("int64"),
        Shape::Number => value("float64"),
        Shape::Boolean => value("bool"),
        Shape::Texts | Shape::Other => {
            format!("[{}]", features(&schema["items"], within, depth, &|_| true))
        }
        Shape::Object => {
            let none = Map::new();
            let properties =
                object(schema).and_then(|object| object["properties"].as_object()).unwrap_or(&none);
            let indent = "    ".repeat(depth);
            let mut out = "{\n".to_owned();
            for (name, schema) in properties {
                let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
                if wanted(&path) {
                    let _ =
                        writeln!(out, "{indent}\"{name}\": {},", features(schema, &path, depth + 1, wanted));
                }
            }
            out + &"    ".repeat(depth - 1) + "}"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_one_datasets_type() {
        let all = datasets_features(None);
        for line in [
            "    \"content\": Value(\"string\"),",
            "        \"similarity\": Value(\"float64\"),",
            "    \"links\": [Value(\"string\")],",
        ] {
            assert!(all.lines().any(|found| found == line), "{line}\n{all}");
        }
        let chosen = ["id".to_owned(), "metadata.title".to_owned()];
        assert_eq!(
            datasets_features(Fields::of(&chosen).unwrap().as_ref()),
            "from datasets import Features, Value\n\nfeatures = Features({\n    \"id\": Value(\"string\"),\n    \"metadata\": {\n        \
             \"title\": Value(\"string\"),\n    },\n})\n"
        );
    }

    /// A loader that reads a file in blocks finds the same keys and types in each of them.
    #[test]
    fn every_record_has_every_key() {
        let version_1: crawl_model::Record =
            serde_json::from_str(include_str!("../tests/record.json")).unwrap();
        let metadata = crawl_model::RecordMetadata::new(String::new());
        for record in [version_1, crawl_model::Record::new("https://a.test/".to_owned(), metadata)] {
            let line = serde_json::to_value(&record).unwrap();
            for field in crate::schema::fields() {
                let mut value = Some(&line);
                for name in field.path.split('.') {
                    value = value
                        .filter(|value| !value.is_null())
                        .map_or(Some(&Value::Null), |value| value.get(name));
                }
                assert!(value.is_some(), "{} is missing: {line}", field.path);
            }
        }
    }
}
