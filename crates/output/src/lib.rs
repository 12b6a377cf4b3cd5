//! Outputs of records: lines in a file (plain, gzip, zstd) or on standard output, a Parquet table, a folder of
//! Markdown files. All but standard output are exactly-once: a batch is durable before its leases are settled
//! together with the output's length. The next run truncates the file to that length.

mod columns;
mod damaged;
mod datasets;
mod error;
pub mod error_line;
mod fields;
mod file;
mod file_name;
mod format;
mod formats;
mod frames;
mod journal;
mod latest;
mod lines;
mod lock;
mod output;
mod owner;
mod paths;
mod place;
mod schema;
pub mod shown;
mod stdout;
mod whole;

pub use damaged::missing_words;
pub use datasets::datasets_features;
pub use error::{OutputError, WRITE_ADVICE, write_advice};
pub use fields::{Fields, UnknownField};
pub use file::{Before, FileOutput};
pub use format::{Format, Note, Opened};
pub use formats::{endings, is_folder, unknown_ending};
pub use lines::LineRecords;
pub use output::{DiscardingOutput, Output, RecordOutput};
pub use owner::Owner;
pub use paths::absolute;
pub use place::Place;
pub use schema::record_schema;
pub use stdout::{StdoutOutput, write_stdout_within};
pub use whole::{Replacement, replace, replace_private};
