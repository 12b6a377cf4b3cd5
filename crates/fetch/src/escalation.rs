//! Escalation: the order of strategies, and the choice among their results (heuristics reference §2,
//! "Adaptive Strategy Flow").

use crawl_model::{Classification, ExtractedPage, Extractor, PageType, Strategy};

/// Strategies of a classification, in the order of attempts, until one finds the content. The browser follows
/// an AMP page that fails, since the page is a shell.
#[must_use]
pub const fn strategies_in_order(classification: &Classification) -> &'static [Strategy] {
    match classification.strategy {
        Strategy::Static | Strategy::StaticBestEffort => &[],
        Strategy::Mobile => &[Strategy::Mobile],
        Strategy::Amp => &[Strategy::Amp, Strategy::Chrome],
        Strategy::Chrome => &[Strategy::Chrome],
    }
}

/// Returns true if the result of another strategy is better than the current one, that is, if it has more words.
/// Words are weighted by the extractor's confidence, and by half behind a wall or in a shell. On equal text the
/// cheaper result stays.
#[must_use]
pub fn outweighs(new: &ExtractedPage, old: &ExtractedPage) -> bool {
    new.extraction.content != old.extraction.content && weighted_words(new) > weighted_words(old)
}

fn weighted_words(page: &ExtractedPage) -> f32 {
    let behind = match page.classification.page_type {
        // scripts have run in a browser, so even a short page is complete
        PageType::JsSpa if page.strategy == Strategy::Chrome => 1.0,
        PageType::CookieWalled | PageType::Paywalled | PageType::JsSpa => 0.5,
        PageType::StaticHtml | PageType::Unknown => 1.0,
    };
    #[expect(clippy::cast_precision_loss, reason = "words of a page, compared with those of another")]
    let words = page.extraction.word_count as f32;
    words * confidence(page.extraction.extractor) * behind
}

/// Confidence that an extractor found the content and nothing else. It is full for extractors that search for
/// content, low for those that keep the rest of a page.
const fn confidence(extractor: Extractor) -> f32 {
    match extractor {
        Extractor::Readability
        | Extractor::Trafilatura
        | Extractor::PrioritySelector
        | Extractor::Platform
        | Extractor::SiteTemplate
        | Extractor::SiteRule
        | Extractor::PlainText => 1.0,
        Extractor::DomDensity | Extractor::EmbeddedData => 0.9,
        Extractor::BodyFallback => 0.7,
        Extractor::None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: u32, extractor: Extractor, page_type: PageType) -> ExtractedPage {
        let page = serde_json::json!({
            "request": {"id": 1, "token": 1, "url": "https://h/", "depth": 0, "discovery": "seed", "attempt": 0,
                "strategy": null, "redirects": [], "etag": null, "last_modified": null, "project": "p", "source_group": null},
            "final_url": "https://h/", "status": 200, "content_type": null, "etag": null, "last_modified": null,
            "strategy": "static", "timings": {"started_at_ms": 0, "first_byte_ms": 0, "total_ms": 0},
            "wire_bytes": 0, "body_bytes": 0, "outgoing": [],
            "classification": {"pageType": page_type, "strategy": "static", "confidence": 0.9, "rule": "long_body", "reason": ""},
            "extraction": {"content": "word ".repeat(words as usize), "blocks": [], "metadata": {}, "links": [],
                "directives": {"noindex": false, "nofollow": false, "noarchive": false, "noai": false},
                "signals": crawl_model::PageSignals::default(),
                "extractor": extractor, "reason": "", "article_score": 0, "word_count": words, "warnings": []},
        });
        serde_json::from_value(page).unwrap()
    }

    #[test]
    fn more_words_win_unless_less_reliable() {
        use Extractor::{BodyFallback, Readability};
        let whole = |words| page(words, Readability, PageType::StaticHtml);
        assert!(outweighs(&whole(101), &whole(100)) && !outweighs(&whole(100), &whole(100)));
        assert!(!outweighs(&page(120, BodyFallback, PageType::Unknown), &whole(100)));
        assert!(outweighs(&page(150, BodyFallback, PageType::Unknown), &whole(100)));
        assert!(!outweighs(&page(0, Extractor::None, PageType::Unknown), &whole(0)));
    }

    #[test]
    fn words_before_a_wall_are_worth_half() {
        let wall = page(90, Extractor::Readability, PageType::CookieWalled);
        let content = page(60, Extractor::Readability, PageType::StaticHtml);
        assert!(outweighs(&content, &wall) && !outweighs(&wall, &content));
    }

    #[test]
    fn each_decision_gives_its_strategy_order() {
        let of = |strategy| {
            strategies_in_order(&Classification {
                page_type: PageType::Unknown,
                strategy,
                confidence: 0.5,
                rule: crawl_model::ClassificationRule::AllElse,
                reason: String::new(),
            })
        };
        assert_eq!(of(Strategy::Amp), [Strategy::Amp, Strategy::Chrome]);
        assert_eq!(of(Strategy::Mobile), [Strategy::Mobile]);
        assert_eq!(of(Strategy::Chrome), [Strategy::Chrome]);
        assert!(of(Strategy::Static).is_empty() && of(Strategy::StaticBestEffort).is_empty());
    }
}
