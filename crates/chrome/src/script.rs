//! The script that runs in every document before the document's own, the call into it, and what it gives.

use crate::{
    error::RenderError,
    rules::RULES,
    settings::{Budgets, ChromeSettings},
};
use serde::Deserialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One function, so that nothing of it is seen by the page.
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
/// The property of the window under which the script in the page is called.
const KEY: &str = "__crawlPage";
/// How long a page has to be silent, in ms, though nothing is under way, if it has next to nothing to show or a clock ticks in it: two
/// frames. Pages that do what cannot be followed wait for [`Budgets::quiet`], all others for nothing.
const SILENCE: u64 = 32;
/// Words from which on a page shows something: with fewer it may be a shell (heuristics §2, the rule of the least `body_word_count`).
const SOME_WORDS: u32 = 50;
/// Elements with a text of their own that are looked at for what a reader cannot see.
const MAX_TEXTS: u32 = 20_000;

/// What the script in the page gives.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Taken {
    pub(crate) html: String,
    pub(crate) url: String,
    pub(crate) settled: bool,
    pub(crate) dismissed: u32,
    pub(crate) scrolls: u32,
    pub(crate) truncated: bool,
    /// It changes on after it was taken.
    pub(crate) goes_on: bool,
    /// It has, or may have, cookies.
    pub(crate) cookies: bool,
    times: [f64; 4],
}

impl Taken {
    /// How long settling, consent and scrolling took.
    pub(crate) fn phases(&self) -> [Duration; 3] {
        let [start, settled, dismissed, scrolled] = self.times;
        [settled - start, dismissed - settled, scrolled - dismissed]
            .map(|ms| Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default())
    }

    /// The address of the page, if it is one of the web.
    pub(crate) fn address(&self) -> Result<url::Url, RenderError> {
        let url = url::Url::parse(&self.url).map_err(|error| RenderError::Protocol(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            scheme => Err(RenderError::Navigation(format!("it led to {scheme}:"))),
        }
    }
}

/// The script for every document, with the rules in it.
pub(crate) fn page_script(settings: &ChromeSettings) -> String {
    let quiet = millis(settings.budgets.quiet);
    let rules = serde_json::json!({
        "key": KEY,
        "quiet": quiet,
        "silence": SILENCE.min(quiet),
        "someWords": SOME_WORDS,
        "maxTexts": MAX_TEXTS,
        // timers of up to a second, set in the first two, three deep: a page that shows something "in a moment" does
        // it so; what is slower or goes on is a clock
        "timerDelay": 1000, "timerWindow": 2000, "timerDepth": 3,
        "stepBudget": 1500,
        "consent": settings.consent,
        "buttons": RULES.consent.buttons,
    });
    SCRIPT.replacen("= RULES;", &format!("= {rules};"), 1)
}

/// The call that waits for the page and takes it. `left` is what is left of the time to settle, `steps` of those it may be scrolled;
/// `refreshes`: its response leads elsewhere.
pub(crate) fn take_call(settings: &ChromeSettings, left: Duration, steps: u32, refreshes: bool) -> String {
    let Budgets { consent, scroll, .. } = settings.budgets;
    // by the clock, since the call waits while the page keeps its thread
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + left;
    let options = serde_json::json!({
        "until": millis(until), "refreshes": refreshes, "consent": millis(consent), "scrolling": millis(scroll),
        "steps": steps, "maxHtml": settings.max_html,
    });
    format!("window.{KEY}({options})")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
