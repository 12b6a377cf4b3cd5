//! Links of a page, and directives about them.

use serde::{Deserialize, Serialize};

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`, or a link of an SVG image.
    Area,
    /// `<frame src>` or `<iframe src>`.
    Frame,
    /// `<meta http-equiv="refresh">`, or a `Refresh` header, that leads to another page within seconds.
    Refresh,
    /// The inline script of a page without text, which leads to another page.
    Script,
    /// A fixed address in the `onclick` of a link, row or box, or in a `javascript:` link.
    Click,
    /// `<link rel="next">` or `<link rel="prev">`, or a `Link` header with these.
    Paging,
    /// `<link rel="alternate" hreflang>`, or a `Link` header with these: the page in another language.
    Translation,
}

/// A link of the page, resolved against its base, without its fragment. Each URL occurs once per page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The absolute URL, not yet canonicalised.
    pub url: String,
    /// Kind of the link.
    pub kind: LinkKind,
    /// `rel` says nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// Robots directives of the page itself, from `<meta name="robots">` or a meta element named after our
/// product token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directives {
    /// `noindex` or `none`: no record is written.
    pub noindex: bool,
    /// `nofollow` or `none`: links are not followed.
    pub nofollow: bool,
    /// `noarchive`.
    pub noarchive: bool,
    /// `noai` or `noimageai`: an opt-out from machine learning.
    pub noai: bool,
    /// `<meta name="tdm-reservation" content="1">`: an opt-out from text and data mining.
    #[serde(default)]
    pub tdm_reserved: bool,
}

impl Directives {
    /// Merges both sets of directives; the stricter one holds.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
            noai: self.noai || other.noai,
            tdm_reserved: self.tdm_reserved || other.tdm_reserved,
        }
    }
}
