//! Parquet files with a text column, read row by row.

use crate::{
    Item, RecordError,
    columns::{Columns, Row},
    parquet_bounds::BoundedFile,
    parquet_pages::BoundedReader,
};
use parquet::{
    file::{reader::FileReader, serialized_reader::SerializedFileReader},
    record::{Field, reader::RowIter},
    schema::types::Type,
};
use std::{
    fs::File,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Rows of a column decoded at a time.
const BATCH: usize = 16;

/// Reads all rows. Memory depends on the file's pages: one per column is in memory, and a too long row is
/// dropped only after decoding.
pub(crate) fn read(
    file: File,
    most: usize,
    each: &mut dyn FnMut(Item) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut number = 1;
    // the decoder trusts the file's own indexes, and a damaged file may hold any: a panic is damage too
    let opened = catch_unwind(|| open(file)).unwrap_or_else(|_| Err(damaged()));
    let (reader, projection, columns) = match opened {
        Ok(opened) => opened,
        Err(error) => return each(Item::Unreadable { number, error }),
    };
    let rows = catch_unwind(AssertUnwindSafe(|| RowIter::from_file(Some(projection), &reader)));
    let mut rows = match rows.map(|rows| rows.map_err(|e| RecordError::Parquet(e.to_string()))) {
        Ok(Ok(rows)) => rows.with_batch_size(BATCH),
        Ok(Err(error)) => return each(Item::Unreadable { number, error }),
        Err(_) => return each(Item::Unreadable { number, error: damaged() }),
    };
    loop {
        let item = match catch_unwind(AssertUnwindSafe(|| rows.next())) {
            Ok(None) => return ControlFlow::Continue(()),
            Ok(Some(Ok(row))) => match document(&columns, row.into_columns()) {
                Ok(document) if document.body.len() > most => {
                    Item::Unreadable { number, error: RecordError::TooLarge(most as u64) }
                }
                Ok(document) => Item::Document(document),
                Err(error) => Item::Unreadable { number, error },
            },
            // the start of the next row is unknown
            Ok(Some(Err(e))) => {
                return each(Item::Unreadable { number, error: RecordError::Parquet(e.to_string()) });
            }
            Err(_) => return each(Item::Unreadable { number, error: damaged() }),
        };
        each(item)?;
        number += 1;
    }
}

fn damaged() -> RecordError {
    RecordError::Parquet("its metadata is wrong".into())
}

/// Opens a file; returns the reader, the schema of the used columns, and their fields.
fn open(file: File) -> Result<(BoundedReader, Type, Columns), RecordError> {
    let fail = |e: parquet::errors::ParquetError| RecordError::Parquet(e.to_string());
    let reader = BoundedFile::new(file).and_then(SerializedFileReader::new).map_err(fail)?;
    let schema = reader.metadata().file_metadata().schema();
    let primitive: Vec<Arc<Type>> =
        schema.get_fields().iter().filter(|f| f.is_primitive()).cloned().collect();
    let names: Vec<String> = primitive.iter().map(|f| f.name().to_owned()).collect();
    let all = Columns::of_header(&names)?;
    let used: Vec<Arc<Type>> = primitive
        .into_iter()
        .enumerate()
        .filter(|(at, _)| all.field(*at).is_some())
        .map(|(_, f)| f)
        .collect();
    let names: Vec<String> = used.iter().map(|f| f.name().to_owned()).collect();
    let columns = Columns::of_header(&names)?;
    let projection = Type::group_type_builder(schema.name()).with_fields(used).build().map_err(fail)?;
    Ok((BoundedReader(reader), projection, columns))
}

/// A floating-point number with a point and without an exponent.
fn decimal(number: &dyn std::fmt::Display, is_whole: bool) -> String {
    if is_whole { format!("{number}.0") } else { number.to_string() }
}

fn document(columns: &Columns, values: Vec<(String, Field)>) -> Result<crate::Document, RecordError> {
    let mut row = Row::default();
    for (at, (_, value)) in values.into_iter().enumerate() {
        let Some(field) = columns.field(at) else { continue };
        match value {
            Field::Null => {}
            Field::Str(text) => row.set(field, text.into_bytes()),
            Field::Bytes(bytes) => row.set(field, bytes.data().to_vec()),
            // numbers without an exponent, as other programs and JSON have them
            Field::Float(number) => row.set(field, decimal(&number, number.fract() == 0.0).into_bytes()),
            Field::Double(number) => row.set(field, decimal(&number, number.fract() == 0.0).into_bytes()),
            // other numbers and times, such as ids and dates
            other => row.set(field, other.to_string().into_bytes()),
        }
    }
    row.document()
}
