//! Records as JSON, one a line, in a file.

use crate::{
    error::OutputError,
    fields::Fields,
    file::{Before, FileOutput},
    format::{Format, Opened, state_of},
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
}
