//! Rows of a table, one by one.

use crate::{ArchiveError, Column, ColumnKind, ParquetFile, Value, parquet_write::GROUP_ROWS};
use parquet::{
    basic::{ConvertedType, Repetition, Type as Physical},
    errors::ParquetError,
    file::reader::FileReader,
    record::{Field, Row},
    schema::types::Type,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Row groups, and their mean bytes, from which on a table counts as fragmented.
const MANY_GROUPS: usize = 64;
const SMALL_GROUP: u64 = 4 << 20;

/// Returns true for many row groups that are small in bytes and in rows.
const fn are_fragments(groups: usize, rows: u64, bytes: u64) -> bool {
    let all = groups as u64;
    groups >= MANY_GROUPS
        && bytes < SMALL_GROUP.saturating_mul(all)
        && rows < (GROUP_ROWS as u64 / 2).saturating_mul(all)
}

impl ParquetFile {
    /// Returns true if it has many small row groups, which make reading slow. The format ends at 32,767 groups.
    #[must_use]
    pub fn is_fragmented(&self) -> bool {
        let groups = self.reader.metadata().row_groups();
        let bytes = groups.iter().map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0)).sum();
        are_fragments(groups.len(), self.rows(), bytes)
    }

    /// Columns of a table that [`ParquetTable`](crate::ParquetTable) wrote.
    ///
    /// # Errors
    /// When a column has another type.
    pub fn columns(&self) -> Result<Vec<Column>, ArchiveError> {
        let fields = self.reader.metadata().file_metadata().schema().get_fields();
        fields.iter().map(|field| column(field)).collect()
    }

    /// Calls `each` with the values of every row, in the order of the columns.
    ///
    /// # Errors
    /// When the table cannot be read, or `each` fails.
    pub fn each_row(
        &self,
        each: &mut dyn FnMut(Vec<Value>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        // the decoder trusts the file's own indexes
        catch_unwind(AssertUnwindSafe(|| {
            for row in self.reader.get_row_iter(None).map_err(unreadable)? {
                each(values(&row.map_err(unreadable)?))?;
            }
            Ok(())
        }))
        .unwrap_or_else(|_| Err(ArchiveError::Output("the table is damaged".into())))
    }
}

fn column(field: &Type) -> Result<Column, ArchiveError> {
    let info = field.get_basic_info();
    let kind = match (field.is_primitive(), info.converted_type()) {
        (false, ConvertedType::LIST) => ColumnKind::TextList,
        (true, converted) => match (field.get_physical_type(), converted) {
            (Physical::BYTE_ARRAY, ConvertedType::UTF8) => ColumnKind::Text,
            (Physical::INT64, ConvertedType::TIMESTAMP_MILLIS) => ColumnKind::Timestamp,
            (Physical::INT64, ConvertedType::NONE) => ColumnKind::Integer,
            (Physical::DOUBLE, _) => ColumnKind::Float,
            (Physical::BOOLEAN, _) => ColumnKind::Boolean,
            _ => return Err(ArchiveError::Output(format!("the column {} has a foreign type", field.name()))),
        },
        _ => return Err(ArchiveError::Output(format!("the column {} has a foreign type", field.name()))),
    };
    let nullable = info.repetition() == Repetition::OPTIONAL;
    Ok(Column { name: field.name().to_owned(), kind, nullable })
}

fn values(row: &Row) -> Vec<Value> {
    row.get_column_iter().map(|(_, field)| value(field)).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Str(text) => Value::Text(text.clone()),
        Field::Long(number) | Field::TimestampMillis(number) => Value::Integer(*number),
        Field::Double(number) => Value::Float(*number),
        Field::Bool(value) => Value::Boolean(*value),
        Field::ListInternal(list) => {
            let texts = list.elements().iter().filter_map(|element| match element {
                Field::Str(text) => Some(text.clone()),
                _ => None,
            });
            Value::TextList(texts.collect())
        }
        _ => Value::Null,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: ParquetError) -> ArchiveError {
    ArchiveError::Output(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_row_groups_are_no_fragments() {
        let full = GROUP_ROWS as u64;
        assert!(are_fragments(64, 64, 64 * 6_000));
        assert!(!are_fragments(63, 63, 63 * 6_000), "few groups");
        assert!(!are_fragments(64, 64 * full, 64 * 100), "groups of few short columns");
        assert!(!are_fragments(64, 64 * 900, 64 * (32 << 20)), "groups of long texts");
        assert!(!are_fragments(0, 0, 0));
    }
}
