//! CSV with a header (RFC 4180; quoted fields may hold line feeds), read with the memory of one row.

use crate::{
    Item, ReadOptions, RecordError,
    cell::without_guard,
    columns::{Columns, Row},
    read_error,
};
use csv_core::{ReadFieldResult, Reader};
use std::{io::BufRead, ops::ControlFlow};

const PIECE: usize = 1 << 14;

/// Reads all rows.
pub(crate) fn read(
    input: &mut dyn BufRead,
    options: &ReadOptions,
    each: &mut dyn FnMut(Item) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut rows = Rows { input, reader: Reader::new(), most: options.max_record };
    let columns = match rows.next_row() {
        Ok(Some(header)) => {
            let names: Vec<String> = header.iter().map(|n| String::from_utf8_lossy(n).into_owned()).collect();
            // a byte order mark is no part of the first name
            let names: Vec<String> =
                names.iter().map(|n| n.trim_start_matches('\u{feff}').to_owned()).collect();
            Columns::of_header(&names)
        }
        Ok(None) => return ControlFlow::Continue(()),
        Err(RowError::Bad(error) | RowError::End(error)) => Err(error),
    };
    let columns = match columns {
        Ok(columns) => columns,
        Err(error) => return each(Item::Unreadable { number: 1, error }),
    };
    for number in 2.. {
        let item = match rows.next_row() {
            Ok(None) => break,
            Ok(Some(row)) => match document(&columns, row) {
                Ok(document) => Item::Document(document),
                Err(error) => Item::Unreadable { number, error },
            },
            Err(RowError::Bad(error)) => Item::Unreadable { number, error },
            Err(RowError::End(error)) => return each(Item::Unreadable { number, error }),
        };
        each(item)?;
    }
    ControlFlow::Continue(())
}

fn document(columns: &Columns, fields: Vec<Vec<u8>>) -> Result<crate::Document, RecordError> {
    if fields.len() != columns.len() {
        return Err(RecordError::Row(format!(
            "{} fields where the header has {}",
            fields.len(),
            columns.len()
        )));
    }
    let mut row = Row::default();
    for (column, bytes) in fields.into_iter().enumerate() {
        if let Some(field) = columns.field(column) {
            row.set(field, without_guard(bytes));
        }
    }
    row.document()
}

/// A dropped row, or the end of the readable rows.
enum RowError {
    Bad(RecordError),
    End(RecordError),
}

struct Rows<'a> {
    input: &'a mut dyn BufRead,
    reader: Reader,
    most: usize,
}

impl Rows<'_> {
    /// Fields of the next row. A too long row is read to its end and dropped.
    fn next_row(&mut self) -> Result<Option<Vec<Vec<u8>>>, RowError> {
        let (mut fields, mut field) = (Vec::new(), Vec::new());
        let (mut bytes, mut piece) = (0, [0; PIECE]);
        loop {
            let available = self.input.fill_buf().map_err(|e| RowError::End(read_error(&e)))?;
            let (result, used, written) = self.reader.read_field(available, &mut piece);
            self.input.consume(used);
            bytes += written;
            if bytes > self.most {
                (fields, field) = (Vec::new(), Vec::new());
            } else {
                field.extend_from_slice(piece.get(..written).unwrap_or_default());
            }
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => {
                    // an empty field takes space too, so that a row of commas is bounded
                    bytes += 1;
                    if bytes <= self.most {
                        fields.push(std::mem::take(&mut field));
                    }
                    if record_end {
                        let too_large = RecordError::TooLarge(self.most as u64);
                        return if bytes > self.most {
                            Err(RowError::Bad(too_large))
                        } else {
                            Ok(Some(fields))
                        };
                    }
                }
                ReadFieldResult::End => return Ok(None),
            }
        }
    }
}
