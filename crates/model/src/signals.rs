//! What the tree says about how a page has to be fetched (heuristics reference §2 and §3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about a page, computed from one parse; `fetch::classify` decides on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageSignals {
    /// Words of the body without nav, header, footer, script, style and template (§2).
    pub body_word_count: u32,
    /// A framework's fingerprint with sparse text, or a body of fewer than 10 words in which scripts run (§2).
    pub is_js_spa: bool,
    /// Consent keywords (§2) in something that is laid over the page, and hardly a word outside of it.
    pub is_cookie_walled: bool,
    /// Paywall keywords with signs of metered content (§2) that say that the text ends here.
    pub is_paywalled: bool,
    /// Frameworks recognised by their fingerprints.
    pub frameworks_detected: Vec<String>,
    /// `<link rel="amphtml">`, absolute.
    pub amp_url: Option<String>,
    /// `<link rel="alternate">` of a feed, absolute.
    pub feed_url: Option<String>,
    /// `<script src>` elements (§3, signal 3).
    pub external_scripts: u32,
    /// A script runs: external, inline, or named as a module to load. Data in scripts does not count.
    #[serde(default)]
    pub runs_scripts: bool,
    /// Words of the body without script, style, nav, header and footer, but with template: §3 counts so, where §2
    /// leaves template out too. This count is compared with `threshold_words`, and is asked for by `needs_js` alone;
    /// every row of the rule table of §2 goes by `body_word_count`.
    pub visible_word_count: u32,
    /// The text asks for JavaScript (§3, signal 1).
    pub asks_for_javascript: bool,
    /// A root of a client-side framework is present (§3, signal 2).
    pub has_js_root: bool,
    /// A place for the content (`<main>`, a list, `#results`) stands empty.
    #[serde(default)]
    pub has_empty_root: bool,
    /// Words of what asks for consent and is laid over the page: a consent manager, a dialog.
    #[serde(default)]
    pub overlay_word_count: u32,
    /// Words of the longest `<noscript>` (§3, signal 4).
    pub noscript_words: u32,
}

/// What kind of page it is, as far as fetching is concerned (§2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

/// The rules of classification, in the order in which they are asked (§2's table, with `needs_js` of §3 in it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassificationRule {
    /// Plain text has nothing to run.
    PlainText,
    /// A consent wall, and no content behind it.
    CookieWalled,
    /// A paywall, and only a teaser before it.
    Paywalled,
    /// A shell beside which there is an AMP page.
    SpaWithAmp,
    /// A shell of a framework that is known (path A).
    SpaOfFramework,
    /// A nearly empty body in which scripts run (path B).
    SpaThin,
    /// One of the four signals of §3.
    NeedsJs,
    /// 150 words and more.
    LongBody,
    /// Fewer, and extraction brought them.
    ShortExtracted,
    /// 50 words and more of which extraction brought little.
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
    /// Why it holds of this page, in words.
    pub reason: String,
}
