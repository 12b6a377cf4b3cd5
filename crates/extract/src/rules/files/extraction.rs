//! Rules of `extraction.toml`: content and its output.

use serde::Deserialize;

/// `extraction.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extraction {
    pub(crate) priority_selectors: Vec<String>,
    pub(crate) anchors: Vec<String>,
    pub(crate) containers: Vec<String>,
    pub(crate) code_lines: Vec<String>,
    pub(crate) words: CandidateWords,
    pub(crate) choice: Choice,
    pub(crate) prune: Prune,
    pub(crate) declared: Declared,
    pub(crate) embedded: Embedded,
    pub(crate) last_pass: LastPass,
    pub(crate) markdown: Markdown,
    #[serde(default)]
    pub(crate) visibility: crate::visibility::RevealRules,
}

/// Properties in which a page declares its text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declared {
    pub(crate) properties: Vec<String>,
}

/// Names that rendering reads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Markdown {
    pub(crate) gutters: Vec<String>,
    pub(crate) language_prefixes: Vec<String>,
    pub(crate) language_attributes: Vec<String>,
    pub(crate) languages: Vec<String>,
    pub(crate) highlighters: Vec<String>,
    pub(crate) formulas: Vec<String>,
    pub(crate) formula_attributes: Vec<String>,
    pub(crate) formula_images: Vec<String>,
    pub(crate) formula_scripts: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) sidenotes: Vec<String>,
    pub(crate) players: Vec<Player>,
    #[serde(default)]
    pub(crate) player_elements: Vec<PlayerElement>,
    pub(crate) avatars: Vec<String>,
    pub(crate) image_sources: Vec<String>,
    pub(crate) image_candidates: Vec<String>,
    /// Absent from rules directories of earlier versions.
    #[serde(default)]
    pub(crate) archives: Vec<String>,
    #[serde(default)]
    pub(crate) archive_rels: Vec<String>,
    #[serde(default)]
    pub(crate) unvouched_rels: Vec<String>,
    #[serde(default)]
    pub(crate) index_files: Vec<String>,
    #[serde(default)]
    pub(crate) code_blocks: Vec<String>,
    #[serde(default)]
    pub(crate) note_roles: Vec<String>,
    #[serde(default)]
    pub(crate) note_boxes: Vec<String>,
    #[serde(default)]
    pub(crate) note_callouts: Vec<String>,
    #[serde(default)]
    pub(crate) callouts: Vec<String>,
    #[serde(default)]
    pub(crate) callout_kinds: Vec<String>,
}

/// A player of media in a frame.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Player {
    pub(crate) embed: String,
    pub(crate) page: String,
}

/// A custom element that plays media.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlayerElement {
    pub(crate) element: String,
    /// Attribute that names the media.
    pub(crate) attribute: String,
    pub(crate) page: String,
}

/// Parts that the last pass removes from a cleaned text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LastPass {
    pub(crate) pixels: Vec<String>,
    pub(crate) line_share: f32,
    pub(crate) line_chars: usize,
    pub(crate) outside_chars: usize,
    pub(crate) preamble_share: f32,
    pub(crate) running_chars: usize,
    pub(crate) max_share: f32,
}

/// Data for scripts that holds text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embedded {
    pub(crate) text: Vec<String>,
    pub(crate) author: Vec<String>,
    pub(crate) date: Vec<String>,
    pub(crate) min_chars: usize,
    pub(crate) min_assigned_chars: usize,
}

/// Words a candidate needs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CandidateWords {
    pub(crate) readability: u32,
    pub(crate) trafilatura: u32,
    pub(crate) dom: u32,
    pub(crate) thin: u32,
}

/// The choice between candidates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    pub(crate) trafilatura_ratio: f32,
    /// Minimum words of a container by lines, as a multiple of those of the best container.
    pub(crate) lines_ratio: f32,
    pub(crate) listed_ratio: f32,
    pub(crate) named_words: u32,
    pub(crate) listed_types: Vec<String>,
    pub(crate) whole_ratio: f32,
    pub(crate) whole_prose: f32,
    pub(crate) whole_links: f32,
    pub(crate) article_prose: f32,
    pub(crate) body_share: f32,
    pub(crate) article_score: i32,
    pub(crate) anchor_share: f32,
    pub(crate) anchor_words: u32,
    pub(crate) product_types: Vec<String>,
    pub(crate) dated_types: Vec<String>,
    pub(crate) guarded_score: i32,
    pub(crate) guarded_links: f32,
    pub(crate) collection_types: Vec<String>,
    pub(crate) relaxed_few: f32,
    pub(crate) relaxed_thin: f32,
    pub(crate) relaxed_prose: f32,
}

const fn default_advertisement_ratio() -> f32 {
    0.5
}

/// Parts that are removed from the content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prune {
    pub(crate) wrapper_share: f32,
    pub(crate) prose_share: f32,
    /// Absent from rules directories of earlier versions.
    #[serde(default = "default_advertisement_ratio")]
    pub(crate) advertisement_ratio: f32,
    pub(crate) link_density: f32,
    pub(crate) list_share: f32,
    pub(crate) article_list_share: f32,
    pub(crate) teaser_share: f32,
    pub(crate) article_teaser_share: f32,
    pub(crate) declared_teaser_share: f32,
    pub(crate) teaser_prose: u32,
    pub(crate) caption_share: f32,
    pub(crate) link_chars: u32,
    pub(crate) article_link_chars: u32,
    pub(crate) stamped_share: f32,
    pub(crate) ago_starts: Vec<String>,
    pub(crate) ago_ends: Vec<String>,
}
