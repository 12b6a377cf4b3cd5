//! What classification needs to know (heuristics reference §2 and §3).

use crate::{dom::Tag, links::tokens, page::Page, text};
use aho_corasick::AhoCorasick;
use crawl_model::PageSignals;
use html5ever::local_name;

/// A page with more words than this says something even where it asks for scripts.
const ASKS_WORDS: u32 = 400;

/// Computes the signals of a page from its tree.
pub(crate) fn compute(page: &Page<'_>, accessible: Option<bool>) -> PageSignals {
    let limits = &page.rules.frameworks.thresholds;
    let counts = count(page);
    let named: Vec<String> = page
        .rules
        .frameworks
        .framework
        .iter()
        .zip(&page.frameworks)
        .filter(|(_, seen)| **seen)
        .map(|(framework, _)| framework.name.clone())
        .collect();
    let sparse = !named.is_empty() && counts.body < limits.spa_words;
    let thin = counts.body < limits.thin_words && counts.scripts > 0;
    let asks = counts.visible < ASKS_WORDS && matches_text(page, &page.rules.javascript);
    let walled = page.amount(page.body).words < limits.cookie_wall_words
        && matches_text(page, &page.rules.cookie_wall);
    PageSignals {
        body_word_count: counts.body,
        is_js_spa: sparse || thin,
        is_cookie_walled: walled,
        is_paywalled: is_paywalled(page, counts.body, accessible),
        frameworks_detected: named,
        amp_url: head_link(page, "amphtml", |_| true),
        feed_url: head_link(page, "alternate", is_feed),
        external_scripts: counts.scripts,
        visible_word_count: counts.visible,
        asks_for_javascript: asks || counts.visible < ASKS_WORDS && counts.noscript_asks,
        has_js_root: page.has_js_root,
        noscript_words: counts.noscript,
    }
}

#[derive(Default)]
struct Counts {
    body: u32,
    visible: u32,
    scripts: u32,
    noscript: u32,
    noscript_asks: bool,
}

fn count(page: &Page<'_>) -> Counts {
    let dom = &page.dom;
    let mut counts = Counts::default();
    let words = |range: std::ops::Range<u32>| -> u32 {
        range.map(|id| page.raw_words[id as usize]).fold(0, u32::saturating_add)
    };
    let mut noscript_end = 0;
    for id in 0..dom.len() {
        match dom.tag(id) {
            Tag::Script if dom.attr(id, &local_name!("src")).is_some() => counts.scripts += 1,
            // What stands inside of another one has been read with it.
            Tag::Noscript if id >= noscript_end => {
                noscript_end = dom.end(id);
                counts.noscript = counts.noscript.max(words(id..dom.end(id)));
                let text = text::fold_lower(&dom.raw_text(id));
                counts.noscript_asks |= page.rules.javascript.is_match(&text);
            }
            _ => {}
        }
    }
    let mut id = page.body;
    let mut template_end = 0;
    while id < dom.end(page.body) {
        match dom.tag(id) {
            Tag::Nav | Tag::Header | Tag::Footer | Tag::Script | Tag::Style => {
                id = dom.end(id);
                continue;
            }
            Tag::Template => template_end = template_end.max(dom.end(id)),
            Tag::Text => {
                counts.visible += page.raw_words[id as usize];
                if id >= template_end {
                    counts.body += page.raw_words[id as usize];
                }
            }
            _ => {}
        }
        id += 1;
    }
    counts
}

/// How much of a page's text is searched for what a wall says (bytes): it says so soon.
const WALL_BYTES: usize = 256 * 1024;

/// Whether the body's text holds one of the phrases. Consent banners count here, although extraction drops them.
fn matches_text(page: &Page<'_>, phrases: &AhoCorasick) -> bool {
    let dom = &page.dom;
    let mut text = String::new();
    for id in page.body..dom.end(page.body) {
        if dom.tag(id) == Tag::Text
            && !matches!(dom.tag(dom.parent(id)), Tag::Script | Tag::Style | Tag::Template)
        {
            text.push_str(text::head(dom.text(id), WALL_BYTES));
            text.push(' ');
        }
        if text.len() > WALL_BYTES {
            break;
        }
    }
    phrases.is_match(&text::fold_lower(&text))
}

/// A phrase and a sign of metered content, or the page's own `isAccessibleForFree: false` with a phrase or sign.
fn is_paywalled(page: &Page<'_>, body_words: u32, accessible: Option<bool>) -> bool {
    let short = body_words < page.rules.frameworks.thresholds.paywall_words;
    let declared = accessible == Some(false);
    if declared {
        return page.has_paywall || matches_text(page, &page.rules.paywall);
    }
    page.has_paywall && short && matches_text(page, &page.rules.paywall)
}

fn is_feed(kind: &str) -> bool {
    matches!(kind, "application/rss+xml" | "application/atom+xml" | "application/feed+json")
}

fn head_link(page: &Page<'_>, rel: &str, kind: impl Fn(&str) -> bool) -> Option<String> {
    let dom = &page.dom;
    (0..dom.len()).filter(|id| dom.tag(*id) == Tag::Link).find_map(|id| {
        let rels = dom.attr(id, &local_name!("rel"))?;
        let media = dom.attr(id, &local_name!("type")).unwrap_or_default().trim().to_ascii_lowercase();
        if !tokens(rels).any(|t| t == rel) || !kind(&media) {
            return None;
        }
        page.resolve(dom.attr(id, &local_name!("href"))?)
    })
}
