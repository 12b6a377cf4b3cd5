//! Signals of the tree for the choice of a fetch strategy (heuristics reference §2 and §3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about a page, computed from one parse; the input of `fetch::classify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageSignals {
    /// Words of the body without nav, header, footer, script, style and template (§2).
    pub body_word_count: u32,
    /// A framework's fingerprint with sparse text, or a body of fewer than 10 words in which scripts run
    /// (§2).
    pub is_js_spa: bool,
    /// True if an overlay has consent keywords (§2) and the rest of the page has few words.
    pub is_cookie_walled: bool,
    /// True if paywall keywords and signs of metered content (§2) show that the text ends here.
    pub is_paywalled: bool,
    /// Frameworks recognised by their fingerprints.
    pub frameworks_detected: Vec<String>,
    /// `<link rel="amphtml">`, absolute.
    pub amp_url: Option<String>,
    /// `<link rel="alternate">` of a feed, absolute.
    pub feed_url: Option<String>,
    /// `<script src>` elements (§3, signal 3).
    pub external_scripts: u32,
    /// True if a script runs: external, inline, or named as a module to load. Scripts that hold data do not
    /// count.
    #[serde(default)]
    pub runs_scripts: bool,
    /// Words of the body without script, style, nav, header and footer, as §3 counts them. Unlike §2, this
    /// count includes template elements. `needs_js` alone compares it with `threshold_words`; every row of
    /// §2's rule table uses `body_word_count`.
    pub visible_word_count: u32,
    /// True if the text asks for JavaScript (§3, signal 1).
    pub asks_for_javascript: bool,
    /// A root of a client-side framework is present (§3, signal 2).
    pub has_js_root: bool,
    /// True if a container for content (`<main>`, a list, `#results`) is empty.
    #[serde(default)]
    pub has_empty_root: bool,
    /// Words of the consent overlays: consent managers, dialogs.
    #[serde(default)]
    pub overlay_word_count: u32,
    /// Words of the longest `<noscript>` (§3, signal 4).
    pub noscript_words: u32,
}

/// Kind of page with regard to fetching (§2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageType {
    /// The HTML contains the text.
    StaticHtml,
    /// A shell that scripts fill.
    JsSpa,
    /// A consent wall hides the text.
    CookieWalled,
    /// A paywall hides the text; recognised, never circumvented.
    Paywalled,
    /// None of these.
    Unknown,
}

/// Rules of classification, in order of evaluation (§2's table, with `needs_js` of §3 in it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassificationRule {
    /// Plain text has nothing to run.
    PlainText,
    /// A consent wall whose page has no other content.
    CookieWalled,
    /// A paywall with only a teaser.
    Paywalled,
    /// A shell that has an AMP page.
    SpaWithAmp,
    /// A shell of a known framework (path A).
    SpaOfFramework,
    /// A nearly empty body in which scripts run (path B).
    SpaThin,
    /// One of the four signals of §3.
    NeedsJs,
    /// 150 words and more.
    LongBody,
    /// Fewer, and extraction kept 50 of them, or most of a shorter page.
    ShortExtracted,
    /// At least 50 words, of which extraction found few.
    ShortBody,
    /// None of these.
    #[default]
    AllElse,
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
    /// The rule that decided.
    #[serde(default)]
    pub rule: ClassificationRule,
    /// Reason for this page, in words.
    pub reason: String,
}
