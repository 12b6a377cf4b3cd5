//! Tables as Parquet.

use crate::ArchiveError;
use parquet::{
    basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel},
    column::writer::ColumnCloseResult,
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        reader::{FileReader, Length},
        serialized_reader::SerializedFileReader,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::Type,
};
use std::{
    fs::File,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Rows, and bytes of text, per row group.
pub(crate) const GROUP_ROWS: usize = 1 << 17;
const GROUP_BYTES: usize = 32 << 20;

/// Type of a column.
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
    /// Milliseconds since the Unix epoch, UTC.
    Timestamp,
    /// Any number of texts. Never null: a missing list is empty.
    TextList,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type.
    pub kind: ColumnKind,
    /// True if values may be null.
    pub nullable: bool,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// For [`ColumnKind::Text`].
    Text(String),
    /// For [`ColumnKind::Integer`] and [`ColumnKind::Timestamp`].
    Integer(i64),
    /// For [`ColumnKind::Float`].
    Float(f64),
    /// For [`ColumnKind::Boolean`].
    Boolean(bool),
    /// For [`ColumnKind::TextList`].
    TextList(Vec<String>),
    /// For columns that are nullable.
    Null,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Boolean(Vec<bool>),
}

/// Data of a column until its row group is written: the values, and Parquet's levels for lists and nullable
/// columns.
struct Buffer {
    values: Values,
    kind: ColumnKind,
    nullable: bool,
    /// 1 for a value, 0 for null and for an empty list.
    definition: Vec<i16>,
    /// 0 at the start of a row, 1 for further texts of a list.
    repetition: Vec<i16>,
}

/// Writes rows, compressed with zstd, in groups of bounded size.
pub struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    buffers: Vec<Buffer>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> ParquetTable<W> {
    /// Creates a table with these columns, none of them nullable.
    ///
    /// # Errors
    /// When two columns have the same name, or the output fails.
    pub fn new(out: W, columns: &[(&str, ColumnKind)]) -> Result<Self, ArchiveError> {
        let columns: Vec<Column> = columns
            .iter()
            .map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind, nullable: false })
            .collect();
        Self::with_notes(out, &columns, &[])
    }

    /// Creates a table with these columns, and with notes (`key`, `value`) in its footer.
    ///
    /// # Errors
    /// When two columns have the same name, or the output fails.
    pub fn with_notes(out: W, columns: &[Column], notes: &[(&str, &str)]) -> Result<Self, ArchiveError> {
        let notes: Vec<KeyValue> =
            notes.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(Some(notes).filter(|notes| !notes.is_empty()))
            .build();
        let writer = schema(columns)
            .and_then(|schema| SerializedFileWriter::new(out, schema, Arc::new(properties)))
            .map_err(failed)?;
        let buffers = columns.iter().map(Buffer::new).collect();
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
                Some(Value::TextList(texts)) => texts.iter().map(|text| text.len() + 8).sum(),
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

    /// Appends the compressed rows of another table with the same columns.
    ///
    /// # Errors
    /// When that is no table with these columns, or the output fails.
    pub fn append(&mut self, table: &ParquetFile) -> Result<(), ArchiveError> {
        if self.rows > 0 {
            self.flush().map_err(failed)?;
        }
        // the decoder trusts the file's own indexes
        catch_unwind(AssertUnwindSafe(|| self.splice(table)))
            .unwrap_or_else(|_| Err(ParquetError::General("the table is damaged".into())))
            .map_err(failed)
    }

    fn splice(&mut self, table: &ParquetFile) -> Result<(), ParquetError> {
        for rows in table.reader.metadata().row_groups() {
            let mut group = self.writer.next_row_group()?;
            for chunk in rows.columns() {
                let bytes_written = u64::try_from(chunk.compressed_size()).unwrap_or(0);
                let close = ColumnCloseResult {
                    bytes_written,
                    rows_written: u64::try_from(rows.num_rows()).unwrap_or(0),
                    metadata: chunk.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                group.append_column(&table.file, close)?;
            }
            group.close()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.buffers {
            let Some(mut column) = group.next_column()? else { break };
            buffer.write(&mut column)?;
            column.close()?;
            buffer.clear();
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Writes the rest and the footer, without which the file is invalid.
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

/// A table in a file.
pub struct ParquetFile {
    file: File,
    pub(crate) reader: SerializedFileReader<File>,
}

impl ParquetFile {
    /// Opens a table.
    ///
    /// # Errors
    /// When the file is no Parquet file.
    pub fn open(file: File) -> Result<Self, ArchiveError> {
        let second = file.try_clone().map_err(|e| ArchiveError::Output(e.to_string()))?;
        let reader = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(second)))
            .unwrap_or_else(|_| Err(ParquetError::General("it is damaged".into())))
            .map_err(failed)?;
        Ok(Self { file, reader })
    }

    /// Returns true if it has exactly these columns, in this order.
    #[must_use]
    pub fn has_columns(&self, columns: &[Column]) -> bool {
        let found = self.reader.metadata().file_metadata().schema();
        schema(columns).is_ok_and(|wanted| wanted.get_fields() == found.get_fields())
    }

    /// Returns true if it has these columns in this order, whichever of them may be null.
    #[must_use]
    pub fn has_columns_of_other_nulls(&self, columns: &[Column]) -> bool {
        let found = self.reader.metadata().file_metadata().schema().get_fields();
        let is_alike = |wanted: &Type, found: &Type| {
            let parts = |of: &Type| (of.get_physical_type(), of.get_basic_info().converted_type());
            wanted == found
                || wanted.is_primitive()
                    && found.is_primitive()
                    && wanted.name() == found.name()
                    && parts(wanted) == parts(found)
        };
        schema(columns).is_ok_and(|wanted| {
            let wanted = wanted.get_fields();
            wanted.len() == found.len()
                && wanted.iter().zip(found).all(|(wanted, found)| is_alike(wanted, found))
        })
    }

    /// A note of its footer.
    #[must_use]
    pub fn note(&self, key: &str) -> Option<&str> {
        let notes = self.reader.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.as_deref()
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.file.len()
    }
}

impl Buffer {
    fn new(column: &Column) -> Self {
        let values = match column.kind {
            ColumnKind::Text | ColumnKind::TextList => Values::Text(Vec::new()),
            ColumnKind::Integer | ColumnKind::Timestamp => Values::Integer(Vec::new()),
            ColumnKind::Float => Values::Float(Vec::new()),
            ColumnKind::Boolean => Values::Boolean(Vec::new()),
        };
        let (kind, nullable) = (column.kind, column.nullable);
        Self { values, kind, nullable, definition: Vec::new(), repetition: Vec::new() }
    }

    /// Adds a value; returns false if it has another type than the column.
    fn push(&mut self, value: Option<Value>) -> bool {
        match (&mut self.values, value) {
            (Values::Text(all), Some(Value::TextList(texts))) if self.kind == ColumnKind::TextList => {
                self.definition.push(i16::from(!texts.is_empty()));
                self.definition.extend(texts.iter().skip(1).map(|_| 1));
                self.repetition.push(0);
                self.repetition.extend(texts.iter().skip(1).map(|_| 1));
                all.extend(texts.into_iter().map(|text| ByteArray::from(text.into_bytes())));
                return true;
            }
            (_, Some(Value::Null)) if self.nullable && self.kind != ColumnKind::TextList => {
                self.definition.push(0);
                return true;
            }
            (Values::Text(all), Some(Value::Text(text))) if self.kind == ColumnKind::Text => {
                all.push(ByteArray::from(text.into_bytes()));
            }
            (Values::Integer(all), Some(Value::Integer(number))) => all.push(number),
            (Values::Float(all), Some(Value::Float(number))) => all.push(number),
            (Values::Boolean(all), Some(Value::Boolean(value))) => all.push(value),
            _ => return false,
        }
        if self.nullable {
            self.definition.push(1);
        }
        true
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Text(all) => self.typed::<ByteArrayType>(column, all),
            Values::Integer(all) => self.typed::<Int64Type>(column, all),
            Values::Float(all) => self.typed::<DoubleType>(column, all),
            Values::Boolean(all) => self.typed::<BoolType>(column, all),
        }
    }

    fn typed<T: DataType>(
        &self,
        column: &mut SerializedColumnWriter<'_>,
        values: &[T::T],
    ) -> Result<(), ParquetError> {
        let list = self.kind == ColumnKind::TextList;
        let definition = (list || self.nullable).then_some(self.definition.as_slice());
        let repetition = list.then_some(self.repetition.as_slice());
        column.typed::<T>().write_batch(values, definition, repetition).map(|_| ())
    }

    fn clear(&mut self) {
        match &mut self.values {
            Values::Text(all) => all.clear(),
            Values::Integer(all) => all.clear(),
            Values::Float(all) => all.clear(),
            Values::Boolean(all) => all.clear(),
        }
        self.definition.clear();
        self.repetition.clear();
    }
}

fn schema(columns: &[Column]) -> Result<Arc<Type>, ParquetError> {
    let fields: Result<Vec<Arc<Type>>, ParquetError> =
        columns.iter().map(|column| field(column).map(Arc::new)).collect();
    Type::group_type_builder("table").with_fields(fields?).build().map(Arc::new)
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, converted) = match column.kind {
        ColumnKind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        ColumnKind::Integer => (Physical::INT64, ConvertedType::NONE),
        ColumnKind::Float => (Physical::DOUBLE, ConvertedType::NONE),
        ColumnKind::Boolean => (Physical::BOOLEAN, ConvertedType::NONE),
        ColumnKind::Timestamp => (Physical::INT64, ConvertedType::TIMESTAMP_MILLIS),
        ColumnKind::TextList => return list(&column.name),
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_converted_type(converted)
        .build()
}

/// A list with three levels, as the format's specification requires (LogicalTypes.md, "Lists").
fn list(name: &str) -> Result<Type, ParquetError> {
    let element = Type::primitive_type_builder("element", Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::UTF8)
        .build()?;
    let texts = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![Arc::new(texts)])
        .build()
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: ParquetError) -> ArchiveError {
    ArchiveError::Output(error.to_string())
}
