//! Classification: the best strategy for a page, by its static HTML (heuristics reference §2 and §3).
//!
//! The rule table of §2 keeps its order and its confidences, but applies only to pages whose text is missing.
//! Its signals (words of a consent banner, a framework's root element) hold for most of the web. They would
//! send half of all pages to a browser. So a wall or a shell counts only if extraction did not find the
//! content in the HTML, a `<noscript>` or embedded data.
//!
//! There are two word counts, as in the reference. `body_word_count` (§2, without templates) feeds the rule
//! table. `visible_word_count` (§3, with templates) feeds only [`needs_js`], which runs between the table's
//! rows on shells and those on static pages.

use crawl_model::{Classification, ClassificationRule, Extractor, PageSignals, PageType, Strategy};
use url::Url;

/// Minimum words of a static body (§2).
const STATIC_WORDS: u32 = 150;
/// Minimum words of a body with content (§2). Below it, a page of which extraction kept less counts as empty.
const SOME_WORDS: u32 = 50;
/// Number of words below which extraction counts as having found nothing.
const NO_WORDS: u32 = 10;
/// Default of §3 for `threshold_words` of [`needs_js`]. Below it, the root of a framework makes a shell.
pub const THRESHOLD_WORDS: u32 = 100;
/// §3, signal 3: more external scripts than this on fewer words than [`SOME_WORDS`].
const MANY_SCRIPTS: u32 = 8;
/// §3, signal 4: a `<noscript>` of more words than this describes content.
const NOSCRIPT_WORDS: u32 = 20;
/// Maximum words of a teaser before a paywall. With more words the article is present: metered paywalls show some
/// articles.
const TEASER_WORDS: u32 = 400;

/// Reason why a page needs JavaScript: the first signal of §3 that holds. A page with all of its text can
/// show any of them, so [`classify`] checks them only if text is missing.
///
/// `threshold_words` is compared with [`PageSignals::visible_word_count`], the count of §3;
/// [`THRESHOLD_WORDS`] is the reference's default. An empty container for content counts like the root of a
/// framework.
#[must_use]
pub fn needs_js(signals: &PageSignals, threshold_words: u32) -> Option<&'static str> {
    let words = signals.visible_word_count;
    if signals.asks_for_javascript {
        Some("the text asks for JavaScript")
    } else if signals.has_js_root && words < threshold_words {
        Some("a framework's root element with sparse text")
    } else if signals.has_empty_root && words < threshold_words {
        Some("an empty place for the content, and scripts to fill it")
    } else if signals.external_scripts > MANY_SCRIPTS && words < SOME_WORDS {
        Some("many external scripts and hardly any text")
    } else if signals.noscript_words > NOSCRIPT_WORDS {
        Some("text within noscript")
    } else {
        None
    }
}

/// Chooses the best strategy for a page. `content_words` and `extractor` describe the extraction of the
/// static page; the URL only appears in the reason.
#[must_use]
pub fn classify(
    signals: &PageSignals,
    url: &Url,
    content_words: u32,
    extractor: Extractor,
) -> Classification {
    let (rule, why) = decide(signals, content_words, extractor);
    let (page_type, strategy, confidence) = row(rule);
    let host = url.host_str().unwrap_or("the page");
    let reason = format!("{why} ({content_words} words from {host})");
    Classification { page_type, strategy, confidence, rule, reason }
}

/// Row of a rule in §2's table, extended by the rows that this module adds.
const fn row(rule: ClassificationRule) -> (PageType, Strategy, f32) {
    use ClassificationRule as R;
    use PageType as T;
    use Strategy as S;
    match rule {
        R::PlainText | R::LongBody => (T::StaticHtml, S::Static, 0.9),
        R::CookieWalled => (T::CookieWalled, S::Chrome, 0.85),
        // a browser would see the same: paywalls are recognised, never circumvented
        R::Paywalled => (T::Paywalled, S::StaticBestEffort, 0.75),
        R::SpaWithAmp => (T::JsSpa, S::Amp, 0.9),
        R::SpaOfFramework => (T::JsSpa, S::Chrome, 0.9),
        R::SpaThin => (T::JsSpa, S::Chrome, 0.8),
        R::NeedsJs => (T::JsSpa, S::Chrome, 0.7),
        R::ShortExtracted => (T::StaticHtml, S::Static, 0.7),
        R::ShortBody => (T::StaticHtml, S::Mobile, 0.7),
        R::AllElse => (T::Unknown, S::StaticBestEffort, 0.5),
    }
}

/// First rule that holds, with its reason.
fn decide(signals: &PageSignals, content_words: u32, extractor: Extractor) -> (ClassificationRule, String) {
    use ClassificationRule as R;
    if extractor == Extractor::PlainText {
        return (R::PlainText, "plain text".into());
    }
    // embedded data is chosen because it is text; text in the HTML may be the page frame
    let enough = if extractor == Extractor::EmbeddedData { SOME_WORDS } else { THRESHOLD_WORDS };
    let missing = content_words < enough;
    // consent notices are not content
    let body_words = signals.body_word_count.saturating_sub(signals.overlay_word_count);
    if missing && signals.is_cookie_walled {
        return (R::CookieWalled, "consent overlay, and no content behind it".into());
    }
    if signals.is_paywalled && content_words < TEASER_WORDS {
        return (R::Paywalled, "paywall, and only a teaser before it".into());
    }
    if missing && signals.is_js_spa && shows_shell(signals, content_words, body_words) {
        return shell(signals);
    }
    // a body with enough words does not need scripts, even if extraction found little
    if content_words < SOME_WORDS
        && body_words < STATIC_WORDS
        && let Some(why) = needs_js(signals, THRESHOLD_WORDS)
        && (content_words < NO_WORDS || shows_container(signals))
    {
        return (R::NeedsJs, why.into());
    }
    let outside_noscript = body_words.saturating_sub(signals.noscript_words);
    let (rule, why) = match body_words {
        _ if extractor == Extractor::EmbeddedData && !missing => {
            (R::ShortExtracted, "the text stands in data for scripts")
        }
        STATIC_WORDS.. if outside_noscript < SOME_WORDS => (R::LongBody, "the text stands in a noscript"),
        STATIC_WORDS.. => (R::LongBody, "the text stands in the HTML"),
        _ if content_words >= SOME_WORDS || is_whole(signals, content_words, body_words) => {
            (R::ShortExtracted, "a short page, extracted whole")
        }
        _ if is_half(content_words, body_words) && !signals.runs_scripts => {
            (R::ShortExtracted, "a short page without scripts, of which half or more was extracted")
        }
        SOME_WORDS.. => (R::ShortBody, "a short page of which little was extracted"),
        _ => (R::AllElse, "hardly any text, and no sign of why"),
    };
    (rule, why.into())
}

/// Returns true if extraction kept nine tenths of a short body, and nothing shows that scripts add text. Examples are
/// the entries of an API and the days of a calendar; §2 would call them incomplete.
fn is_whole(signals: &PageSignals, content_words: u32, body_words: u32) -> bool {
    content_words >= NO_WORDS
        && 10 * content_words >= 9 * body_words
        && !signals.is_js_spa
        && !shows_container(signals)
        && needs_js(signals, THRESHOLD_WORDS).is_none()
}

/// Returns true if extraction kept half of a short body. The other words are usually the page's frame, such as
/// a sidebar.
const fn is_half(content_words: u32, body_words: u32) -> bool {
    content_words >= NO_WORDS && 2 * content_words >= body_words
}

/// Returns true if the page has a framework's root or an empty container, asks for JavaScript, or has text in a
/// `<noscript>`.
const fn shows_container(signals: &PageSignals) -> bool {
    signals.has_empty_root
        || signals.has_js_root
        || signals.asks_for_javascript
        || signals.noscript_words > NOSCRIPT_WORDS
}

/// Returns true if the page shows that a script adds its text: its container is empty, or extraction found
/// almost nothing. A page with few words may be complete. A framework's page holds its text if the server has
/// filled its root.
const fn shows_shell(signals: &PageSignals, content_words: u32, body_words: u32) -> bool {
    let few = !signals.frameworks_detected.is_empty() && body_words < SOME_WORDS;
    signals.has_empty_root || signals.asks_for_javascript || content_words < NO_WORDS || few
}

/// Rows of the table for a page that scripts fill.
fn shell(signals: &PageSignals) -> (ClassificationRule, String) {
    use ClassificationRule as R;
    if signals.amp_url.is_some() {
        return (R::SpaWithAmp, "scripts add the text, and an AMP page exists".into());
    }
    match signals.frameworks_detected.join(", ") {
        none if none.is_empty() => (R::SpaThin, "nearly empty page with scripts, which add the text".into()),
        frameworks => (R::SpaOfFramework, format!("page of {frameworks}, whose scripts add the text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(signals: &PageSignals, words: u32, extractor: Extractor) -> Classification {
        classify(signals, &Url::parse("https://h/").unwrap(), words, extractor)
    }

    fn strategy(signals: &PageSignals, words: u32, extractor: Extractor) -> Strategy {
        decided(signals, words, extractor).strategy
    }

    fn body(words: u32) -> PageSignals {
        PageSignals {
            body_word_count: words,
            visible_word_count: words,
            runs_scripts: true,
            ..PageSignals::default()
        }
    }

    #[test]
    fn classification_rules_apply_in_table_order() {
        use ClassificationRule as R;
        use Extractor::{EmbeddedData, None as Nothing, PlainText, Readability};
        use PageType as T;
        use Strategy as S;
        let spa = |words| PageSignals { is_js_spa: true, external_scripts: 2, ..body(words) };
        let react = PageSignals { frameworks_detected: vec!["React".into()], ..spa(5) };
        let amp = PageSignals { amp_url: Some("https://h/amp".into()), ..react.clone() };
        let pay = PageSignals { is_paywalled: true, ..react.clone() };
        let wall = PageSignals { is_cookie_walled: true, ..pay.clone() };
        let root = PageSignals { has_js_root: true, ..body(20) };
        let many_scripts = PageSignals { external_scripts: 9, ..body(30) };
        let plain = |words| PageSignals { runs_scripts: false, ..body(words) };
        let plain_root = PageSignals { has_js_root: true, ..plain(90) };
        let plain_noscript = PageSignals { noscript_words: 30, ..plain(90) };
        for (signals, words, extractor, rule, page_type, strategy, confidence) in [
            (&wall, 3, PlainText, R::PlainText, T::StaticHtml, S::Static, 0.9),
            (&wall, 0, Nothing, R::CookieWalled, T::CookieWalled, S::Chrome, 0.85),
            (&pay, 40, Readability, R::Paywalled, T::Paywalled, S::StaticBestEffort, 0.75),
            (&amp, 0, Nothing, R::SpaWithAmp, T::JsSpa, S::Amp, 0.9),
            (&react, 0, Nothing, R::SpaOfFramework, T::JsSpa, S::Chrome, 0.9),
            (&spa(5), 0, Nothing, R::SpaThin, T::JsSpa, S::Chrome, 0.8),
            (&root, 20, Readability, R::NeedsJs, T::JsSpa, S::Chrome, 0.7),
            (&react, 50, EmbeddedData, R::ShortExtracted, T::StaticHtml, S::Static, 0.7),
            (&body(150), 120, Readability, R::LongBody, T::StaticHtml, S::Static, 0.9),
            (&body(149), 120, Readability, R::ShortExtracted, T::StaticHtml, S::Static, 0.7),
            (&body(50), 10, Readability, R::ShortBody, T::StaticHtml, S::Mobile, 0.7),
            (&body(49), 10, Readability, R::AllElse, T::Unknown, S::StaticBestEffort, 0.5),
            (&body(33), 30, Readability, R::ShortExtracted, T::StaticHtml, S::Static, 0.7),
            (&body(34), 30, Readability, R::AllElse, T::Unknown, S::StaticBestEffort, 0.5),
            (&plain(98), 49, Readability, R::ShortExtracted, T::StaticHtml, S::Static, 0.7),
            (&plain(99), 49, Readability, R::ShortBody, T::StaticHtml, S::Mobile, 0.7),
            (&plain(20), 10, Readability, R::ShortExtracted, T::StaticHtml, S::Static, 0.7),
            (&plain(18), 9, Readability, R::AllElse, T::Unknown, S::StaticBestEffort, 0.5),
            (&plain_root, 49, Readability, R::NeedsJs, T::JsSpa, S::Chrome, 0.7),
            (&plain_noscript, 49, Readability, R::NeedsJs, T::JsSpa, S::Chrome, 0.7),
            (&body(9), 9, Readability, R::AllElse, T::Unknown, S::StaticBestEffort, 0.5),
            (&many_scripts, 30, Readability, R::AllElse, T::Unknown, S::StaticBestEffort, 0.5),
        ] {
            let c = decided(signals, words, extractor);
            let found = (c.rule, c.page_type, c.strategy, c.confidence);
            assert_eq!(found, (rule, page_type, strategy, confidence), "{signals:?}: {}", c.reason);
        }
    }

    #[test]
    fn page_with_content_needs_no_browser_despite_signals() {
        let all = PageSignals {
            is_js_spa: true,
            is_cookie_walled: true,
            has_js_root: true,
            has_empty_root: true,
            asks_for_javascript: true,
            noscript_words: 30,
            external_scripts: 20,
            frameworks_detected: vec!["Next.js".into()],
            ..body(190)
        };
        assert_eq!(strategy(&all, 100, Extractor::Trafilatura), Strategy::Static);
        assert_eq!(strategy(&all, 50, Extractor::EmbeddedData), Strategy::Static);
        assert_eq!(strategy(&all, 99, Extractor::Trafilatura), Strategy::Chrome);
        assert_eq!(strategy(&all, 49, Extractor::EmbeddedData), Strategy::Chrome);
    }

    #[test]
    fn short_page_is_not_a_shell_by_length_alone() {
        let scripts = PageSignals { external_scripts: 15, is_js_spa: true, ..body(9) };
        assert_eq!(strategy(&scripts, 40, Extractor::Trafilatura), Strategy::StaticBestEffort);
        assert_eq!(strategy(&scripts, 9, Extractor::Trafilatura), Strategy::Chrome);
        let filled = PageSignals {
            is_js_spa: true,
            has_js_root: true,
            frameworks_detected: vec!["Vue".into()],
            ..body(79)
        };
        assert_eq!(strategy(&filled, 59, Extractor::Platform), Strategy::Static);
        let empty = PageSignals { has_empty_root: true, ..filled.clone() };
        assert_eq!(strategy(&empty, 59, Extractor::Platform), Strategy::Chrome);
        let few = PageSignals { body_word_count: 49, ..filled };
        assert_eq!(strategy(&few, 30, Extractor::Platform), Strategy::Chrome);
    }

    #[test]
    fn paywalled_page_is_never_rendered() {
        let pay = PageSignals { is_paywalled: true, is_js_spa: true, ..body(500) };
        assert_eq!(decided(&pay, 399, Extractor::Readability).page_type, PageType::Paywalled);
        assert_eq!(decided(&pay, 400, Extractor::Readability).strategy, Strategy::Static);
        assert_eq!(decided(&pay, 0, Extractor::None).strategy, Strategy::StaticBestEffort);
    }

    #[test]
    fn classification_reason_names_the_text_source() {
        let noscript = PageSignals { noscript_words: 280, ..body(300) };
        let reason = |signals: &PageSignals, extractor| decided(signals, 250, extractor).reason;
        assert_eq!(
            reason(&noscript, Extractor::Platform),
            "the text stands in a noscript (250 words from h)"
        );
        assert_eq!(reason(&body(300), Extractor::Platform), "the text stands in the HTML (250 words from h)");
        assert!(reason(&body(0), Extractor::EmbeddedData).contains("data for scripts"));
    }

    #[test]
    fn each_signal_needs_its_word_limit() {
        let js = |signals: &PageSignals| needs_js(signals, THRESHOLD_WORDS).is_some();
        let root = |words| PageSignals { has_js_root: true, ..body(words) };
        assert!(js(&root(99)) && !js(&root(100)));
        let scripts = |n, words| PageSignals { external_scripts: n, ..body(words) };
        assert!(js(&scripts(9, 49)));
        assert!(!js(&scripts(8, 49)) && !js(&scripts(9, 50)));
        let noscript = |n| PageSignals { noscript_words: n, ..body(500) };
        assert!(js(&noscript(21)) && !js(&noscript(20)));
        assert!(js(&PageSignals { asks_for_javascript: true, ..body(500) }));
        let empty = |words| PageSignals { has_empty_root: true, ..body(words) };
        assert!(js(&empty(99)) && !js(&empty(100)));
        assert_eq!(strategy(&root(20), 10, Extractor::BodyFallback), Strategy::Chrome);
        let long = PageSignals { asks_for_javascript: true, ..body(150) };
        assert_eq!(strategy(&long, 10, Extractor::BodyFallback), Strategy::Static);
    }

    #[test]
    fn needs_js_and_rule_table_use_different_word_counts() {
        // a template counts in §3 but not in §2: if full of words, it shows that the root is not empty
        let template =
            PageSignals { has_js_root: true, body_word_count: 20, visible_word_count: 120, ..body(0) };
        assert_eq!(needs_js(&template, THRESHOLD_WORDS), None);
        assert!(needs_js(&template, 121).is_some(), "the threshold can be chosen");
        assert_eq!(decided(&template, 9, Extractor::BodyFallback).rule, ClassificationRule::AllElse);
        let spa = PageSignals { is_js_spa: true, ..template };
        assert_eq!(decided(&spa, 9, Extractor::BodyFallback).rule, ClassificationRule::SpaThin);
    }
}
