//! Script that runs in every document before its own scripts, the call into it, and its result.

use crate::{
    error::RenderError,
    rules::RULES,
    settings::{Budgets, ChromeSettings},
};
use serde::Deserialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Source of the script: a single function, so that the page cannot reach its parts.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\nconst rules = RULES;\n",
    include_str!("js/guard.js"),
    include_str!("js/follow.js"),
    include_str!("js/rest.js"),
    include_str!("js/consent.js"),
    include_str!("js/scroll.js"),
    include_str!("js/hidden.js"),
    include_str!("js/take.js"),
    "})();"
);
/// Property of the window that calls the script in the page.
const KEY: &str = "__crawlPage";
/// Minimum silence of a page in ms without pending work, if it shows little or a clock runs in it: two
/// frames. Pages with activity that cannot be tracked wait for [`Budgets::quiet`], all others do not wait.
const SILENCE: u64 = 32;
/// Minimum words of a page with content; with fewer it may be a shell (heuristics §2, the rule of the least
/// `body_word_count`).
const SOME_WORDS: u32 = 50;
/// Maximum number of elements with text that are checked for invisibility.
const MAX_TEXTS: u32 = 20_000;

/// Result of the script in the page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Taken {
    pub(crate) html: String,
    pub(crate) url: String,
    pub(crate) settled: bool,
    pub(crate) dismissed: u32,
    pub(crate) scrolls: u32,
    pub(crate) truncated: bool,
    /// True if the page keeps changing after it was taken.
    pub(crate) goes_on: bool,
    /// True if the page has, or may have, cookies.
    pub(crate) cookies: bool,
    times: [f64; 4],
}

impl Taken {
    /// Durations of settling, consent and scrolling.
    pub(crate) fn phases(&self) -> [Duration; 3] {
        let [start, settled, dismissed, scrolled] = self.times;
        [settled - start, dismissed - settled, scrolled - dismissed]
            .map(|ms| Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default())
    }

    /// Address of the page, if it is http or https.
    pub(crate) fn address(&self) -> Result<url::Url, RenderError> {
        let url = url::Url::parse(&self.url).map_err(|error| RenderError::Protocol(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            scheme => Err(RenderError::Navigation(format!("it led to {scheme}:"))),
        }
    }
}

/// Script for every document, with the rules in it.
pub(crate) fn page_script(settings: &ChromeSettings) -> String {
    let quiet = millis(settings.budgets.quiet);
    let rules = serde_json::json!({
        "key": KEY,
        "quiet": quiet,
        "silence": SILENCE.min(quiet),
        "someWords": SOME_WORDS,
        "maxTexts": MAX_TEXTS,
        // nested timers up to three deep, of up to a second, that start in the first two seconds. A page that
        // shows content "in a moment" uses these. Slower or repeated timers are clocks.
        "timerDelay": 1000, "timerWindow": 2000, "timerDepth": 3,
        "stepBudget": 1500,
        "consent": settings.consent,
        "buttons": RULES.consent.buttons,
    });
    SCRIPT.replacen("= RULES;", &format!("= {rules};"), 1)
}

/// Traits of a page's response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// It has a `Refresh` header.
    pub(crate) refreshes: bool,
    /// It forbids all scripts, so none of our timers run.
    pub(crate) inert: bool,
}

/// Call that waits for the page and takes it. `left` is the remaining time to settle, `steps` the remaining
/// scroll steps. An inert page is taken at once; it has settled if it is loaded.
pub(crate) fn take_call(settings: &ChromeSettings, left: Duration, steps: u32, traits: Traits) -> String {
    let Traits { refreshes, inert } = traits;
    let Budgets { consent, scroll, .. } = settings.budgets;
    // by the clock, since the call waits while the page blocks its thread
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + left;
    let options = serde_json::json!({
        "until": millis(until), "refreshes": refreshes, "inert": inert, "consent": millis(consent), "scrolling": millis(scroll),
        "steps": steps, "maxHtml": settings.max_html,
    });
    format!("window.{KEY}({options})")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
