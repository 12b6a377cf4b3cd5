//! Tables as Parquet.

use crate::ArchiveError;
use parquet::{
    basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use std::{io::Write, sync::Arc};

/// Rows, and bytes of text, that are collected into a row group.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_BYTES: usize = 32 << 20;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// UTF-8.
    Text,
    /// Signed, 64 bits.
    Integer,
    /// 64 bits.
    Float,
    /// True or false.
    Boolean,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// For [`ColumnKind::Text`].
    Text(String),
    /// For [`ColumnKind::Integer`].
    Integer(i64),
    /// For [`ColumnKind::Float`].
    Float(f64),
    /// For [`ColumnKind::Boolean`].
    Boolean(bool),
}

enum Buffer {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Boolean(Vec<bool>),
}

/// Writes rows, compressed with zstd, in groups of bounded size.
pub struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    buffers: Vec<Buffer>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> ParquetTable<W> {
    /// A table with these columns; no value is ever null.
    ///
    /// # Errors
    /// When two columns have one name, or the output fails.
    pub fn new(out: W, columns: &[(&str, ColumnKind)]) -> Result<Self, ArchiveError> {
        let fields: Result<Vec<Arc<Type>>, ParquetError> =
            columns.iter().map(|(name, kind)| Ok(Arc::new(column(name, *kind)?))).collect();
        let schema = fields.and_then(|fields| Type::group_type_builder("table").with_fields(fields).build());
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = schema
            .and_then(|schema| SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)))
            .map_err(failed)?;
        let buffers = columns.iter().map(|(_, kind)| Buffer::new(*kind)).collect();
        Ok(Self { writer, buffers, rows: 0, bytes: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When its values do not fit the columns, or the output fails.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) -> Result<(), ArchiveError> {
        let mut row = row.into_iter();
        for buffer in &mut self.buffers {
            let value = row.next();
            self.bytes += match &value {
                Some(Value::Text(text)) => text.len(),
                _ => 8,
            };
            if !buffer.push(value) {
                return Err(ArchiveError::Output("a row does not fit the columns".into()));
            }
        }
        if row.next().is_some() {
            return Err(ArchiveError::Output("a row has more values than there are columns".into()));
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
            self.flush().map_err(failed)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.buffers {
            let Some(mut column) = group.next_column()? else { break };
            match buffer {
                Buffer::Text(v) => column.typed::<ByteArrayType>().write_batch(v, None, None)?,
                Buffer::Integer(v) => column.typed::<Int64Type>().write_batch(v, None, None)?,
                Buffer::Float(v) => column.typed::<DoubleType>().write_batch(v, None, None)?,
                Buffer::Boolean(v) => column.typed::<BoolType>().write_batch(v, None, None)?,
            };
            column.close()?;
            buffer.clear();
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes what is left and the footer, without which the file is none.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> Result<W, ArchiveError> {
        if self.rows > 0 {
            self.flush().map_err(failed)?;
        }
        self.writer.into_inner().map_err(failed)
    }
}

impl Buffer {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Self::Text(Vec::new()),
            ColumnKind::Integer => Self::Integer(Vec::new()),
            ColumnKind::Float => Self::Float(Vec::new()),
            ColumnKind::Boolean => Self::Boolean(Vec::new()),
        }
    }

    /// Whether the value is of the column's kind.
    fn push(&mut self, value: Option<Value>) -> bool {
        match (self, value) {
            (Self::Text(all), Some(Value::Text(text))) => all.push(ByteArray::from(text.into_bytes())),
            (Self::Integer(all), Some(Value::Integer(number))) => all.push(number),
            (Self::Float(all), Some(Value::Float(number))) => all.push(number),
            (Self::Boolean(all), Some(Value::Boolean(value))) => all.push(value),
            _ => return false,
        }
        true
    }

    fn clear(&mut self) {
        match self {
            Self::Text(all) => all.clear(),
            Self::Integer(all) => all.clear(),
            Self::Float(all) => all.clear(),
            Self::Boolean(all) => all.clear(),
        }
    }
}

fn column(name: &str, kind: ColumnKind) -> Result<Type, ParquetError> {
    let (physical, converted) = match kind {
        ColumnKind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        ColumnKind::Integer => (Physical::INT64, ConvertedType::NONE),
        ColumnKind::Float => (Physical::DOUBLE, ConvertedType::NONE),
        ColumnKind::Boolean => (Physical::BOOLEAN, ConvertedType::NONE),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(converted)
        .build()
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: ParquetError) -> ArchiveError {
    ArchiveError::Output(error.to_string())
}
