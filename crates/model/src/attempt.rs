//! Attempts to fetch a page.

use crate::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One try at fetching a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Strategy of the attempt.
    pub strategy: Strategy,
    /// HTTP status, if there was an answer.
    #[serde(default)]
    pub status: Option<u16>,
    /// Words of content that it brought.
    pub words: u32,
    /// Kind of failure, as in the error log, if the attempt brought no page.
    #[serde(default)]
    pub error: Option<String>,
    /// Reason for the attempt, and its result.
    pub reason: String,
}
