//! Removal of the boilerplate of a site from a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Effect of the site's fingerprint on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BoilerplateStatus {
    /// The fingerprint was applied (it may have removed nothing).
    Applied,
    /// The host has fewer than `min_pages` pages: no block was removed.
    TooFewPages,
    /// `dedup.enabled` is off.
    Off,
}

/// Removal of the site's boilerplate from a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BoilerplateInfo {
    /// Effect of the fingerprint.
    pub status: BoilerplateStatus,
    /// Identity of the fingerprint, 16 hex digits. In the mode `exact`, it identifies the set of the
    /// boilerplate hashes. In the mode `site`, it identifies all counts of the host's pages so far.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Pages that the fingerprint was computed from.
    pub pages: u64,
    /// Blocks removed from this page.
    pub blocks_removed: u32,
    /// UTF-8 bytes removed from this page.
    pub bytes_removed: u64,
    /// Removed parts, in order, as positions in `content`.
    #[serde(default)]
    pub removed: Vec<RemovedSpan>,
}

impl BoilerplateInfo {
    /// Information on a page from which nothing was removed.
    #[must_use]
    pub const fn new(status: BoilerplateStatus) -> Self {
        Self { status, fingerprint: None, pages: 0, blocks_removed: 0, bytes_removed: 0, removed: Vec::new() }
    }
}

/// A part of `content` that is not in `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedSpan {
    /// First byte in `content` (UTF-8).
    pub start: u64,
    /// Byte after the last one.
    pub end: u64,
    /// First 64 bits of the SHA-256 of the block, folded as in the boilerplate specification, as 16 hex
    /// digits. A block has the same hash in both modes and in `boilerplate_hashes` of a project.
    #[serde(with = "hex_digits")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{16}$"))]
    pub hash: u64,
    /// Key by which the mode `site` counted the block, as 16 hex digits. Blocks that differ only in the
    /// digits of short lines share it.
    #[serde(with = "optional_hex_digits", default)]
    #[schemars(with = "Option<String>", regex(pattern = "^[0-9a-f]{16}$"))]
    pub key: Option<u64>,
    /// Reason for the removal.
    pub reason: RemovalReason,
    /// Pages of the host that gave the evidence.
    pub pages: u64,
}

/// Reason for the removal of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// The whole block occurs on as many pages as the settings require, at any position.
    Block,
    /// The block belongs to the run at the head or foot of the page whose lines occur on many pages.
    Margin,
    /// The block is in that run. Many pages have its words there in this order, except for the variable
    /// ones.
    Pattern,
    /// The block is in the run at the foot and consists of titles of other pages.
    Titles,
    /// The block is in that run between two blocks that enclose other text on many pages.
    Slot,
    /// The block is a label between blocks of the frame, or between the frame at the head and the title of
    /// the page.
    Enclosed,
    /// The page has the block again, as its title or as the headings of its sections.
    SaidTwice,
    /// The block is near the head, and its copy was removed from the foot.
    Twin,
}

/// A number as 16 hex digits.
mod hex_digits {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{hash:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let digits = String::deserialize(deserializer)?;
        u64::from_str_radix(&digits, 16).map_err(D::Error::custom)
    }
}

/// Optional numbers as 16 hex digits.
mod optional_hex_digits {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(key: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match key {
            Some(key) => super::hex_digits::serialize(key, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let digits = Option::<String>::deserialize(deserializer)?;
        digits.map(|digits| u64::from_str_radix(&digits, 16).map_err(D::Error::custom)).transpose()
    }
}
