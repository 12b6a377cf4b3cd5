//! Blocks of a page: the units that a fingerprint counts.

use serde::{Deserialize, Serialize};

/// One block of the whole page, inside or outside the main content: the input of a site's fingerprint. Stored
/// as an array, since a page has hundreds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredBlock", into = "StoredBlock")]
pub struct Block {
    /// First 64 bits of the SHA-256 of the block's normalised text: whitespace folded, stripped, lower case
    /// (boilerplate spec, phase A).
    pub hash: u64,
    /// Hash of the tag path with classes, from the root to the block.
    pub tag_path: u64,
    /// Characters of the normalised text.
    pub chars: u32,
    /// Ordinal of the block on the page.
    pub position: u32,
    /// Share of the characters inside links, 0 to 255 for 0 to 1.
    pub link_density: u8,
    /// The block went into `content`.
    pub in_content: bool,
}

/// Hash, tag path, characters, position, link density, in content.
type StoredBlock = (u64, u64, u32, u32, u8, bool);

impl From<StoredBlock> for Block {
    fn from((hash, tag_path, chars, position, link_density, in_content): StoredBlock) -> Self {
        Self { hash, tag_path, chars, position, link_density, in_content }
    }
}

impl From<Block> for StoredBlock {
    fn from(block: Block) -> Self {
        (block.hash, block.tag_path, block.chars, block.position, block.link_density, block.in_content)
    }
}
