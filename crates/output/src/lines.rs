//! Records as JSON, one a line.

use crate::OutputError;
use crate::{fields::Fields, output::Output, output::RecordOutput};
use crawl_model::{Record, StoreError};

/// Bytes that the buffer keeps from batch to batch.
const KEEP_BUFFER: usize = 2 << 20;

/// Writes each record, or the fields of it that were chosen, as a line.
pub struct LineRecords {
    output: Box<dyn Output>,
    fields: Option<Fields>,
    lines: Vec<u8>,
}

impl LineRecords {
    /// Lines into `output`; without `fields` a line is the whole record.
    #[must_use]
    pub fn new(output: Box<dyn Output>, fields: Option<Fields>) -> Self {
        Self { output, fields, lines: Vec::new() }
    }
}

impl RecordOutput for LineRecords {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        push_record(&mut self.lines, record, self.fields.as_ref())
    }

    fn batch_bytes(&self) -> usize {
        self.lines.len()
    }

    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        self.output.write(&self.lines)?;
        self.lines.clear();
        self.lines.shrink_to(KEEP_BUFFER);
        self.output.sync()
    }

    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        self.output.finish()
    }

    fn name(&self) -> &str {
        self.output.name()
    }
}

/// Appends a record, or its selected fields, as a line.
pub(super) fn push_record(
    lines: &mut Vec<u8>,
    record: &Record,
    fields: Option<&Fields>,
) -> Result<(), OutputError> {
    // a buffer that grows by doubling would take three times the memory of a large page
    lines.reserve((record.text.len() + record.content.as_ref().map_or(0, String::len)) / 16 * 17 + 1024);
    match fields {
        None => push_line(lines, record),
        Some(fields) => {
            fields.write(record, lines).map_err(unwritable)?;
            lines.push(b'\n');
            Ok(())
        }
    }
}

/// Appends a value as a line.
pub(crate) fn push_line(lines: &mut Vec<u8>, value: &impl serde::Serialize) -> Result<(), OutputError> {
    serde_json::to_writer(&mut *lines, value).map_err(unwritable)?;
    lines.push(b'\n');
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn unwritable(error: serde_json::Error) -> OutputError {
    StoreError::Other(format!("a record cannot be written: {error}")).into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record with an `id` of the test's choice.
    pub(crate) fn record(id: &str) -> Record {
        let mut record: Record = serde_json::from_str(include_str!("../tests/record.json")).unwrap();
        id.clone_into(&mut record.id);
        record
    }

    /// A record with an `id` and a URL of the test's choice.
    pub(crate) fn record_at(url: &str, id: &str) -> Record {
        let mut record = record(id);
        url.clone_into(&mut record.url);
        record
    }
}
