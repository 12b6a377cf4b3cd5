//! Images, videos, sounds and players of the content.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of an image, a video or the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A video file.
    Video,
    /// A sound file.
    Audio,
    /// A player of another site in a frame.
    Embed,
}

/// An image, a video, a sound or a player of the content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Media {
    /// Kind.
    pub kind: MediaKind,
    /// Absolute URL: the largest candidate of an image, or the page that holds a player's media.
    pub src: String,
    /// Alternative text, or the title of a video, a sound or a player.
    #[serde(default)]
    pub alt: Option<String>,
    /// Text of the caption.
    #[serde(default)]
    pub caption: Option<String>,
    /// Width in pixels, as the page declares it.
    #[serde(default)]
    pub width: Option<u32>,
    /// Height in pixels, as the page declares it.
    #[serde(default)]
    pub height: Option<u32>,
    /// URL of the preview picture of a video.
    #[serde(default)]
    pub poster: Option<String>,
}
