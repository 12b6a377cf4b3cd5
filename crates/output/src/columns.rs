//! A record as a row of a table: flat, typed columns.

use crate::fields::Fields;
use crate::schema::{self, Shape};
use crawl_archive::{Column, ColumnKind, Value};
use serde_json::Value as Json;

/// Columns that stand first; the others follow by name.
const LEADING_COLUMNS: [&str; 4] = ["id", "url", "title", "text"];

/// The columns of a table of records, and their values.
///
/// A member of `metadata` is a column by its own name (`title`), a member of another object by both names
/// (`boilerplate_status`). Lists of objects are JSON in a text. A list that a record lacks is an empty one.
pub(super) struct RecordColumns(Vec<RecordColumn>);

struct RecordColumn {
    /// Names from the outermost in.
    path: Vec<String>,
    shape: Shape,
    column: Column,
}

impl RecordColumn {
    /// The value of a record that has none, such as one of an earlier version.
    fn missing(&self) -> Value {
        match self.shape {
            _ if self.column.nullable => Value::Null,
            Shape::Text => Value::Text(String::new()),
            Shape::Integer | Shape::Moment => Value::Integer(0),
            Shape::Number => Value::Float(0.0),
            Shape::Boolean => Value::Boolean(false),
            Shape::Texts => Value::TextList(Vec::new()),
            // a list of objects
            Shape::Other | Shape::Object => Value::Text("[]".to_owned()),
        }
    }
}

impl RecordColumns {
    /// Columns of the fields that were chosen, or of all.
    pub(super) fn of(fields: Option<&Fields>) -> Self {
        let mut columns: Vec<RecordColumn> = schema::fields()
            .into_iter()
            .filter(|field| {
                field.shape != Shape::Object && fields.is_none_or(|chosen| chosen.has(&field.path))
            })
            .map(|field| {
                let kind = match field.shape {
                    Shape::Integer => ColumnKind::Integer,
                    Shape::Number => ColumnKind::Float,
                    Shape::Boolean => ColumnKind::Boolean,
                    Shape::Moment => ColumnKind::Timestamp,
                    Shape::Texts => ColumnKind::TextList,
                    Shape::Text | Shape::Other | Shape::Object => ColumnKind::Text,
                };
                let name = name(&field.path);
                // an invalid time, and an absent list of objects, are null
                let nullable = field.optional || field.shape == Shape::Moment;
                let column = Column { name, kind, nullable: nullable && kind != ColumnKind::TextList };
                let parts = field.path.split('.').map(str::to_owned);
                // the keys of lean records stand at the top
                let above = if fields.is_some_and(Fields::is_lean) { parts.clone().count() - 1 } else { 0 };
                let path = parts.skip(above).collect();
                RecordColumn { path, shape: field.shape, column }
            })
            .collect();
        let place =
            |column: &RecordColumn| LEADING_COLUMNS.iter().position(|name| *name == column.column.name);
        columns.sort_by_key(|column| {
            (place(column).unwrap_or(LEADING_COLUMNS.len()), column.column.name.clone())
        });
        Self(columns)
    }

    /// Returns the columns for the table's schema.
    pub(super) fn columns(&self) -> Vec<Column> {
        self.0.iter().map(|column| column.column.clone()).collect()
    }

    /// A row of a table with the same columns, some of which could be null there.
    pub(super) fn row_of_table<'a>(&'a self, row: Vec<Value>) -> impl Iterator<Item = Value> + 'a {
        row.into_iter().zip(&self.0).map(|(value, column)| match value {
            Value::Null => column.missing(),
            value => value,
        })
    }

    /// The row of a record.
    pub(super) fn row<'a>(&'a self, record: &'a Json) -> impl Iterator<Item = Value> + 'a {
        self.0.iter().map(move |column| {
            let value = column.path.iter().fold(record, |value, name| &value[name.as_str()]);
            cell(value, column)
        })
    }
}

fn name(path: &str) -> String {
    path.strip_prefix("metadata.").unwrap_or(path).replace('.', "_")
}

fn cell(value: &Json, column: &RecordColumn) -> Value {
    let found = match column.shape {
        // records of version 1 have the map of `quality.scores` itself
        Shape::Text if value.is_object() => Some(Value::Text(value.to_string())),
        Shape::Text => value.as_str().map(|text| Value::Text(text.to_owned())),
        Shape::Moment => value
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok())
            .map(|moment| Value::Integer(moment.as_millisecond())),
        Shape::Integer => value.as_i64().map(Value::Integer),
        Shape::Number => value.as_f64().map(Value::Float),
        Shape::Boolean => value.as_bool().map(Value::Boolean),
        Shape::Texts => {
            let texts = value.as_array().into_iter().flatten();
            let texts = texts.filter_map(Json::as_str).map(str::to_owned).collect();
            Some(Value::TextList(texts))
        }
        Shape::Other | Shape::Object => {
            Some(value).filter(|v| !v.is_null()).map(|v| Value::Text(v.to_string()))
        }
    };
    found.unwrap_or_else(|| column.missing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_field_has_a_column_of_its_own() {
        let columns = RecordColumns::of(None).columns();
        let names: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names.len(), columns.len(), "two fields have one column");
        let leaves = schema::fields().into_iter().filter(|field| field.shape != Shape::Object).count();
        assert_eq!(columns.len(), leaves);
        let first: Vec<&str> = columns.iter().take(4).map(|column| column.name.as_str()).collect();
        assert_eq!(first, LEADING_COLUMNS);
        for name in ["boilerplate_status", "sourceURL", "fetchedAt", "links"] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn chosen_fields_are_the_only_columns() {
        let names = ["metadata.title".to_owned(), "boilerplate".to_owned(), "id".to_owned()];
        let columns = RecordColumns::of(Fields::of(&names).unwrap().as_ref()).columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names[..2], ["id", "title"]);
        assert!(names[2..].iter().all(|name| name.starts_with("boilerplate_")), "{names:?}");
    }
}
