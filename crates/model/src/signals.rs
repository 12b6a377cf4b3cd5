//! What the tree says about how a page has to be fetched (heuristics reference §2 and §3).

use serde::{Deserialize, Serialize};

/// Facts about a page, computed from one parse; `fetch::classify` decides on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageSignals {
    /// Words of the body without nav, header, footer, script, style and template (§2).
    pub body_word_count: u32,
    /// A framework's root with sparse text, or a body of fewer than 10 words with external scripts (§2).
    pub is_js_spa: bool,
    /// Consent overlay keywords in the visible text.
    pub is_cookie_walled: bool,
    /// Paywall keywords with signs of metered content.
    pub is_paywalled: bool,
    /// Frameworks recognised by their fingerprints.
    pub frameworks_detected: Vec<String>,
    /// `<link rel="amphtml">`, absolute.
    pub amp_url: Option<String>,
    /// `<link rel="alternate">` of a feed, absolute.
    pub feed_url: Option<String>,
    /// `<script src>` elements (§3, signal 3).
    pub external_scripts: u32,
    /// Words without script, style, nav, header and footer, but with template (§3 counts so).
    pub visible_word_count: u32,
    /// The text asks for JavaScript (§3, signal 1).
    pub asks_for_javascript: bool,
    /// A root of a client-side framework is present (§3, signal 2).
    pub has_js_root: bool,
    /// Words of the longest `<noscript>` (§3, signal 4).
    pub noscript_words: u32,
}

/// What kind of page it is, as far as fetching is concerned (§2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageType {
    /// The text stands in the HTML.
    StaticHtml,
    /// A shell that scripts fill.
    JsSpa,
    /// The text is behind a consent wall.
    CookieWalled,
    /// The text is behind a paywall; recognised, never circumvented.
    Paywalled,
    /// None of these.
    Unknown,
}

/// The decision of `fetch::classify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Classification {
    /// The kind of page.
    pub page_type: PageType,
    /// The strategy to fetch it by.
    pub strategy: crate::Strategy,
    /// 0 to 1, from the rule table.
    pub confidence: f32,
    /// The rule that decided, in words.
    pub reason: String,
}
