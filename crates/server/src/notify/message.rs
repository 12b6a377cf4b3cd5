//! Contents of messages.

use crawl_engine::exit::Failure;
use crawl_model::{now_ms, rfc3339};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Result of a run, for messages.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// Exit code of the process.
    pub exit_code: u8,
    /// Description of the end.
    pub ended: String,
    /// The error that ended the run.
    pub error: Option<String>,
    /// Seeds as named on the command line.
    pub seeds: Vec<String>,
    /// Name of the output.
    pub output: Option<String>,
    /// Path of the report.
    pub report: Option<String>,
    /// Sums of the run; none if it did not begin.
    pub totals: Option<Totals>,
    /// Numbers of new, changed and gone pages.
    pub changes: Changes,
    /// The first new, changed and gone pages.
    #[serde(skip)]
    pub changed_pages: BTreeMap<&'static str, Vec<String>>,
}

/// Sums of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Duration of the run.
    pub seconds: f64,
    /// Records written.
    pub records: u64,
    /// Responses with a body that was read.
    pub pages: u64,
    /// URLs that failed.
    pub errors: u64,
}

/// Numbers of pages by their change since the last visit.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Changes {
    /// Pages without an earlier visit.
    pub new: u64,
    /// Pages with another text.
    pub changed: u64,
    /// Pages that answer 404 or 410.
    pub gone: u64,
}

impl Changes {
    /// Returns true if a page is new, changed or gone.
    #[must_use]
    pub const fn any(self) -> bool {
        self.new + self.changed + self.gone > 0
    }
}

impl RunEnd {
    /// The same run, ended by a failure.
    #[must_use]
    pub fn failed(self, failure: &Failure) -> Self {
        let (code, error) = (failure.exit, Some(format!("{:#}", failure.error)));
        Self { exit_code: code as u8, ended: code.words().to_owned(), error, ..self }
    }

    /// Data of the message about the end.
    pub(super) fn ended_message(&self) -> Value {
        json!(self)
    }

    /// Data of the message about changes, with the first URLs of each kind.
    pub(super) fn changes_message(&self) -> Value {
        let pages = |kind: &str| self.changed_pages.get(kind).cloned().unwrap_or_default();
        json!({
            "seeds": self.seeds,
            "output": self.output,
            "changes": self.changes,
            "new": pages("new"),
            "changed": pages("changed"),
            "gone": pages("gone"),
        })
    }
}

/// A message as JSON.
pub(super) fn body(kind: &str, data: &Value) -> String {
    json!({"type": kind, "timestamp": rfc3339(now_ms()), "data": data}).to_string()
}
