//! Records as JSON, one a line, in a file.

use super::latest_lines::keep_latest;
use crate::{
    error::OutputError,
    fields::Fields,
    file::{Before, FileOutput},
    format::{Format, Note, Opened, state_of},
    lines::LineRecords,
};
use std::path::Path;

/// Files of lines.
pub(super) struct JsonLines;

impl Format for JsonLines {
    fn ending(&self) -> &'static str {
        ""
    }

    fn open(&self, path: &Path, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
        let file = FileOutput::open(path, before)?;
        let state = state_of(&file);
        Ok(Opened::new(LineRecords::new(Box::new(file), fields), state))
    }

    fn keep_latest(&self, path: &Path, note: Note<'_>) -> Result<(), OutputError> {
        keep_latest(path, None, note)
    }
}
