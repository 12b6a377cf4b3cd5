//! Signals for classification (heuristics reference §2 and §3).

use crate::{
    dom::Tag,
    page::{HiddenReason, Page, is_shadow},
    text::{self, has_token},
};
use aho_corasick::AhoCorasick;
use crawl_model::PageSignals;
use html5ever::local_name;

/// Maximum words of a page that asks for scripts; a longer page has content.
const ASKS_WORDS: u32 = 400;

/// Computes the signals of a page from its tree.
pub(crate) fn compute(page: &Page<'_>, accessible: Option<bool>) -> PageSignals {
    let (limits, phrases) = (&page.rules.frameworks.thresholds, &page.rules.phrases);
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
    let thin = counts.body < limits.thin_words && counts.runs_scripts;
    let asks = counts.visible < ASKS_WORDS && matches_text(page, &phrases.javascript);
    PageSignals {
        body_word_count: counts.body,
        is_js_spa: sparse || thin,
        is_cookie_walled: is_cookie_walled(page, &counts),
        is_paywalled: is_paywalled(page, counts.body, accessible),
        frameworks_detected: named,
        amp_url: head_link(page, "amphtml", |_| true),
        feed_url: head_link(page, "alternate", is_feed),
        external_scripts: counts.scripts,
        runs_scripts: counts.runs_scripts,
        visible_word_count: counts.visible,
        asks_for_javascript: asks || counts.visible < ASKS_WORDS && counts.noscript_asks,
        has_js_root: page.has_js_root,
        has_empty_root: counts.runs_scripts && page.content_roots.iter().any(|id| is_waiting(page, *id)),
        overlay_word_count: counts.overlay,
        noscript_words: counts.noscript,
    }
}

#[derive(Default)]
struct Counts {
    /// Words by §2.
    body: u32,
    /// Words by §3.
    visible: u32,
    /// Words of `body` in requests for consent.
    overlay: u32,
    scripts: u32,
    runs_scripts: bool,
    noscript: u32,
    noscript_asks: bool,
}

fn count(page: &Page<'_>) -> Counts {
    let mut counts = Counts::default();
    count_elements(page, &mut counts);
    count_words(page, &mut counts);
    counts
}

/// Counts scripts and their fallbacks.
fn count_elements(page: &Page<'_>, counts: &mut Counts) {
    let dom = &page.dom;
    let words = |range: std::ops::Range<u32>| -> u32 {
        range.map(|id| page.raw_words[id as usize]).fold(0, u32::saturating_add)
    };
    let mut noscript_end = 0;
    for id in dom.of_kind(|tag| matches!(tag, Tag::Script | Tag::Link | Tag::Noscript)) {
        match dom.tag(id) {
            Tag::Script if dom.attr(id, &local_name!("src")).is_some() => {
                counts.scripts += 1;
                counts.runs_scripts = true;
            }
            Tag::Script => counts.runs_scripts |= is_code(page, id),
            Tag::Link => counts.runs_scripts |= loads_script(page, id),
            // A nested one was read with its parent.
            Tag::Noscript if id >= noscript_end => {
                noscript_end = dom.end(id);
                counts.noscript = counts.noscript.max(words(id..dom.end(id)));
                let text = text::fold_lower(&dom.raw_text(id));
                counts.noscript_asks |= page.rules.phrases.javascript.is_match(&text);
            }
            _ => {}
        }
    }
}

fn count_words(page: &Page<'_>, counts: &mut Counts) {
    let dom = &page.dom;
    let mut id = page.body;
    let mut template_end = 0;
    while id < dom.end(page.body) {
        match dom.tag(id) {
            Tag::Nav | Tag::Header | Tag::Footer | Tag::Script | Tag::Style => {
                id = dom.end(id);
                continue;
            }
            // the template of a shadow root is visible text
            Tag::Template if !is_shadow(dom, id) => template_end = template_end.max(dom.end(id)),
            Tag::Text => {
                let words = page.raw_words[id as usize];
                counts.visible += words;
                if id >= template_end {
                    counts.body += words;
                    counts.overlay += if page.gone[id as usize] == HiddenReason::Consent { words } else { 0 };
                }
            }
            _ => {}
        }
        id += 1;
    }
}

/// Returns true for an inline script of code: it has no type, or that of JavaScript or a module.
fn is_code(page: &Page<'_>, id: u32) -> bool {
    let kind = page.dom.attr(id, &local_name!("type")).unwrap_or_default().trim().to_ascii_lowercase();
    let code =
        kind.is_empty() || kind == "module" || kind.ends_with("javascript") || kind.ends_with("ecmascript");
    code && (id..page.dom.end(id)).any(|node| !page.dom.text(node).trim().is_empty())
}

/// Returns true for a link that names a script: SvelteKit and others have no script with a source besides it.
fn loads_script(page: &Page<'_>, id: u32) -> bool {
    let rel = page.dom.attr(id, &local_name!("rel")).unwrap_or_default();
    let is_script =
        || page.dom.attr(id, &local_name!("as")).is_some_and(|kind| kind.eq_ignore_ascii_case("script"));
    has_token(rel, &["modulepreload"]) || has_token(rel, &["preload"]) && is_script()
}

/// Maximum words of a loading message.
const LOADING_WORDS: u32 = 5;

/// Returns true for a container for content that is empty or has only a loading message.
fn is_waiting(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    if !page.is_visible(id) {
        return false;
    }
    let shows = |node| {
        let tag = dom.tag(node);
        tag.is_player()
            || matches!(tag, Tag::Img | Tag::Picture | Tag::Canvas | Tag::Object | Tag::Input | Tag::Form)
    };
    let range = id..dom.end(id);
    let words = range.clone().map(|node| page.raw_words[node as usize]).fold(0, u32::saturating_add);
    let loading = || page.rules.phrases.loading.is_match(&text::fold_lower(&page.visible_text(id)));
    !range.into_iter().any(shows) && (words == 0 || words <= LOADING_WORDS && loading())
}

/// Returns true if the page asks for consent and has few other words. If it says that it opens only with
/// consent, some other words (a heading, a name) are permitted.
fn is_cookie_walled(page: &Page<'_>, counts: &Counts) -> bool {
    let (limits, phrases) = (&page.rules.frameworks.thresholds, &page.rules.phrases);
    let beside = counts.body.saturating_sub(counts.overlay);
    if beside >= limits.cookie_wall_words {
        return false;
    }
    let banner = counts.overlay > 0 && beside < limits.thin_words;
    banner && matches_text(page, &phrases.consent) || matches_text(page, &phrases.demands)
}

/// Maximum bytes of a page's text that are searched for phrases of a wall, which come early.
const WALL_BYTES: usize = 256 * 1024;

/// Returns true if the body's text holds one of the phrases. Consent banners count here, although extraction
/// drops them.
fn matches_text(page: &Page<'_>, phrases: &AhoCorasick) -> bool {
    let dom = &page.dom;
    let (mut text, mut read) = (String::new(), 0);
    for id in dom.texts(page.within_body()) {
        if !matches!(dom.tag(dom.parent(id)), Tag::Script | Tag::Style | Tag::Template) {
            let own = text::head(dom.text(id), WALL_BYTES);
            text::push_fold_lower(own, &mut text);
            read += own.len() + 1;
        }
        if read > WALL_BYTES {
            break;
        }
    }
    phrases.is_match(&text)
}

/// Returns true for a phrase that ends the text with a sign of metered content, or the page's own
/// `isAccessibleForFree: false` with a phrase or sign.
fn is_paywalled(page: &Page<'_>, body_words: u32, accessible: Option<bool>) -> bool {
    let short = body_words < page.rules.frameworks.thresholds.paywall_words;
    let declared = accessible == Some(false);
    let phrases = &page.rules.phrases;
    let ends = || matches_text(page, &phrases.paywall);
    if declared {
        return page.has_paywall || ends() || matches_text(page, &phrases.paid);
    }
    page.has_paywall && short && ends()
}

fn is_feed(kind: &str) -> bool {
    matches!(kind, "application/rss+xml" | "application/atom+xml" | "application/feed+json")
}

fn head_link(page: &Page<'_>, rel: &str, kind: impl Fn(&str) -> bool) -> Option<String> {
    let dom = &page.dom;
    dom.find_all(0..dom.len(), Tag::Link).find_map(|id| {
        let rels = dom.attr(id, &local_name!("rel"))?;
        let media = dom.attr(id, &local_name!("type")).unwrap_or_default().trim().to_ascii_lowercase();
        if !has_token(rels, &[rel]) || !kind(&media) {
            return None;
        }
        page.resolve(dom.attr(id, &local_name!("href"))?)
    })
}
