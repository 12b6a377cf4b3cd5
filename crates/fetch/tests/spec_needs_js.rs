//! Heuristics reference §3: the signals of [`needs_js`] and their order.

use crawl_fetch::{THRESHOLD_WORDS, needs_js};
use crawl_model::PageSignals;

fn page(words: u32) -> PageSignals {
    PageSignals { body_word_count: words, visible_word_count: words, ..PageSignals::default() }
}

#[test]
fn the_threshold_is_100_words() {
    assert_eq!(THRESHOLD_WORDS, 100);
}

#[test]
fn a_page_without_a_signal_needs_no_javascript() {
    assert_eq!(needs_js(&page(0), THRESHOLD_WORDS), None);
    assert_eq!(needs_js(&page(1_000), THRESHOLD_WORDS), None);
}

#[test]
fn most_reliable_signal_gives_the_reason() {
    let mut signals = PageSignals {
        asks_for_javascript: true,
        has_js_root: true,
        external_scripts: 9,
        noscript_words: 21,
        ..page(10)
    };
    let mut said = Vec::new();
    said.extend(needs_js(&signals, THRESHOLD_WORDS));
    signals.asks_for_javascript = false;
    said.extend(needs_js(&signals, THRESHOLD_WORDS));
    signals.has_js_root = false;
    said.extend(needs_js(&signals, THRESHOLD_WORDS));
    signals.external_scripts = 8;
    said.extend(needs_js(&signals, THRESHOLD_WORDS));
    assert_eq!(
        said,
        [
            "the text asks for JavaScript",
            "a framework's root element with sparse text",
            "many external scripts and hardly any text",
            "text within noscript"
        ]
    );
}
