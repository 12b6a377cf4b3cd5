//! The two kinds of outputs: of lines, and of records.

use crate::OutputError;
use crawl_model::Record;

/// A place for lines. Lines are written in batches; after [`Output::sync`] they survive the process.
pub trait Output: Send {
    /// Appends whole lines.
    ///
    /// # Errors
    /// When they cannot be written.
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError>;

    /// Makes what was written durable. Returns the length of the output, where it has one.
    ///
    /// # Errors
    /// When that cannot be done.
    fn sync(&mut self) -> Result<Option<u64>, OutputError>;

    /// Called after the last batch of a run that was not cut off.
    ///
    /// # Errors
    /// When the output cannot be finished.
    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        self.sync()
    }

    /// Name under which the store keeps how far the output reaches.
    fn name(&self) -> &str;
}

/// Output of records in any format. They are collected into a batch, which is written as a whole.
pub trait RecordOutput: Send {
    /// Takes a record into the batch.
    ///
    /// # Errors
    /// When it cannot be written.
    fn push(&mut self, record: &Record) -> Result<(), OutputError>;

    /// Bytes of the batch so far; none for an output without a batch.
    fn batch_bytes(&self) -> usize {
        0
    }

    /// Bytes of files of the batch that are no part of `batch_bytes`, counted once.
    fn take_file_bytes(&mut self) -> u64 {
        0
    }

    /// Writes the batch and makes it durable. Returns the length of the output, if it has one. An output
    /// without a batch has nothing to do.
    ///
    /// # Errors
    /// When that cannot be done.
    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    /// Called after the last batch of a run that was not cut off. Returns what [`RecordOutput::commit`] does.
    ///
    /// # Errors
    /// When the output cannot be finished.
    fn finish(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    /// Name under which the store keeps how far the output reaches.
    fn name(&self) -> &str;
}

/// Output that discards everything.
pub struct DiscardingOutput;

impl Output for DiscardingOutput {
    fn write(&mut self, _: &[u8]) -> Result<(), OutputError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    fn name(&self) -> &'static str {
        "nowhere"
    }
}
