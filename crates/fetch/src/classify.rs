//! How a page is best fetched, judged from its static HTML (heuristics reference §2 and §3).
//!
//! The rule table of §2 stands as it is, in its order and with its confidences, but is asked about pages whose text is
//! missing only. Its signals alone (words of a consent banner, a framework's root element) are true of most of the web
//! and would send every second page to a browser; so a wall counts as a wall, and a shell as a shell, only where
//! extraction did not bring the content all the same, be it from the HTML, a `<noscript>` or embedded data.

use crawl_model::{Classification, Extractor, PageSignals, PageType, Strategy};
use url::Url;

/// §2: a body of so many words is static.
const STATIC_WORDS: u32 = 150;
/// §2: a body of so many words has something to say; below it a page of which extraction kept less counts as empty.
const SOME_WORDS: u32 = 50;
/// §3: `threshold_words`, below which a root of a framework makes a shell.
const THRESHOLD_WORDS: u32 = 100;
/// §3, signal 3: more external scripts than this on fewer words than [`SOME_WORDS`].
const MANY_SCRIPTS: u32 = 8;
/// §3, signal 4: a `<noscript>` of more words than this speaks of content.
const NOSCRIPT_WORDS: u32 = 20;

/// The first of the signals of §3 that says a page needs JavaScript, in words. A page can show any of them and have
/// its text all the same: [`classify`] asks only where text is missing.
#[must_use]
pub fn needs_js(signals: &PageSignals) -> Option<&'static str> {
    let words = signals.visible_word_count;
    if signals.asks_for_javascript {
        Some("the text asks for JavaScript")
    } else if signals.has_js_root && words < THRESHOLD_WORDS {
        Some("a framework's root element with sparse text")
    } else if signals.external_scripts > MANY_SCRIPTS && words < SOME_WORDS {
        Some("many external scripts and hardly any text")
    } else if signals.noscript_words > NOSCRIPT_WORDS {
        Some("text within noscript")
    } else {
        None
    }
}

/// Decides by what strategy a page is best fetched. `content_words` and `extractor` are what extraction made of the
/// static page; the URL speaks only in the reason.
#[must_use]
pub fn classify(
    signals: &PageSignals,
    url: &Url,
    content_words: u32,
    extractor: Extractor,
) -> Classification {
    let (page_type, strategy, confidence, reason) = decide(signals, content_words, extractor);
    let host = url.host_str().unwrap_or("the page");
    Classification {
        page_type,
        strategy,
        confidence,
        reason: format!("{reason} ({content_words} words from {host})"),
    }
}

fn decide(
    signals: &PageSignals,
    content_words: u32,
    extractor: Extractor,
) -> (PageType, Strategy, f32, String) {
    use PageType as T;
    use Strategy as S;
    if extractor == Extractor::PlainText {
        return (T::StaticHtml, S::Static, 0.9, "plain text".into());
    }
    let enough = if extractor == Extractor::EmbeddedData { SOME_WORDS } else { THRESHOLD_WORDS };
    let missing = content_words < enough;
    if missing && signals.is_cookie_walled && signals.body_word_count < STATIC_WORDS {
        return (T::CookieWalled, S::Chrome, 0.85, "consent overlay, and no content behind it".into());
    }
    if missing && signals.is_paywalled {
        // a browser would see what we see: paywalls are recognised, never circumvented
        return (T::Paywalled, S::StaticBestEffort, 0.75, "paywall, and only a teaser before it".into());
    }
    if missing && signals.is_js_spa {
        let frameworks = signals.frameworks_detected.join(", ");
        return match (&signals.amp_url, frameworks.is_empty()) {
            (Some(_), _) => (T::JsSpa, S::Amp, 0.9, "filled by scripts, and there is an AMP page".into()),
            (None, false) => (T::JsSpa, S::Chrome, 0.9, format!("shell of {frameworks}")),
            (None, true) => (T::JsSpa, S::Chrome, 0.8, "nearly empty body with external scripts".into()),
        };
    }
    // a body that has words enough has no need of scripts, even if extraction made little of it
    if content_words < SOME_WORDS
        && signals.body_word_count < STATIC_WORDS
        && let Some(why) = needs_js(signals)
    {
        return (T::JsSpa, S::Chrome, 0.7, why.into());
    }
    match signals.body_word_count {
        STATIC_WORDS.. => (T::StaticHtml, S::Static, 0.9, "the text stands in the HTML".into()),
        _ if content_words >= SOME_WORDS => {
            (T::StaticHtml, S::Static, 0.7, "a short page, extracted whole".into())
        }
        SOME_WORDS.. => (T::StaticHtml, S::Mobile, 0.7, "a short page of which little was extracted".into()),
        _ => (T::Unknown, S::StaticBestEffort, 0.5, "hardly any text, and no sign of why".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(signals: &PageSignals, words: u32, extractor: Extractor) -> (PageType, Strategy, f32) {
        let c = classify(signals, &Url::parse("https://h/").unwrap(), words, extractor);
        (c.page_type, c.strategy, c.confidence)
    }

    fn body(words: u32) -> PageSignals {
        PageSignals { body_word_count: words, visible_word_count: words, ..PageSignals::default() }
    }

    #[test]
    fn the_rule_table_in_its_order() {
        use Extractor::{None as Nothing, Readability};
        use PageType as T;
        use Strategy as S;
        let spa = |words| PageSignals { is_js_spa: true, external_scripts: 2, ..body(words) };
        let react = PageSignals { frameworks_detected: vec!["React".into()], ..spa(5) };
        let amp = PageSignals { amp_url: Some("https://h/amp".into()), ..react.clone() };
        let wall = PageSignals { is_cookie_walled: true, ..react.clone() };
        let pay = PageSignals { is_paywalled: true, ..react.clone() };
        for (signals, words, extractor, expected) in [
            (wall, 0, Nothing, (T::CookieWalled, S::Chrome, 0.85)),
            (pay, 40, Readability, (T::Paywalled, S::StaticBestEffort, 0.75)),
            (amp, 0, Nothing, (T::JsSpa, S::Amp, 0.9)),
            (react, 0, Nothing, (T::JsSpa, S::Chrome, 0.9)),
            (spa(5), 0, Nothing, (T::JsSpa, S::Chrome, 0.8)),
            (body(150), 120, Readability, (T::StaticHtml, S::Static, 0.9)),
            (body(149), 120, Readability, (T::StaticHtml, S::Static, 0.7)),
            (body(50), 10, Readability, (T::StaticHtml, S::Mobile, 0.7)),
            (body(49), 10, Readability, (T::Unknown, S::StaticBestEffort, 0.5)),
        ] {
            assert_eq!(decided(&signals, words, extractor), expected, "{signals:?}");
        }
    }

    #[test]
    fn signals_alone_send_no_page_with_content_to_a_browser() {
        let all = PageSignals {
            is_js_spa: true,
            is_cookie_walled: true,
            is_paywalled: true,
            has_js_root: true,
            asks_for_javascript: true,
            noscript_words: 30,
            external_scripts: 20,
            frameworks_detected: vec!["Next.js".into()],
            ..body(190)
        };
        assert_eq!(decided(&all, 150, Extractor::Trafilatura).1, Strategy::Static);
        assert_eq!(decided(&all, 60, Extractor::EmbeddedData).1, Strategy::Static);
        assert_eq!(decided(&body(0), 3, Extractor::PlainText).1, Strategy::Static);
    }

    #[test]
    fn each_of_the_four_signals_needs_its_sparseness() {
        let root = |words| PageSignals { has_js_root: true, ..body(words) };
        assert!(needs_js(&root(99)).is_some() && needs_js(&root(100)).is_none());
        let scripts = |n, words| PageSignals { external_scripts: n, ..body(words) };
        assert!(needs_js(&scripts(9, 49)).is_some());
        assert!(needs_js(&scripts(8, 49)).is_none() && needs_js(&scripts(9, 50)).is_none());
        let noscript = |n| PageSignals { noscript_words: n, ..body(500) };
        assert!(needs_js(&noscript(21)).is_some() && needs_js(&noscript(20)).is_none());
        assert!(needs_js(&PageSignals { asks_for_javascript: true, ..body(500) }).is_some());
        assert_eq!(decided(&root(20), 10, Extractor::BodyFallback).1, Strategy::Chrome);
        let long = PageSignals { asks_for_javascript: true, ..body(150) };
        assert_eq!(decided(&long, 10, Extractor::BodyFallback).1, Strategy::Static);
    }
}
