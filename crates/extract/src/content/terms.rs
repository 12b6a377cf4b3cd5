//! Terms within sentences that open an explanation.

use crate::{dom::Tag, page::Page, rules::Roles};

/// Maximum nodes of a paragraph that is searched for buttons.
const MAX_PARAGRAPH: u32 = 500;
/// Maximum words of a term in a sentence.
const MAX_TERM: u32 = 3;

/// Returns true if a span has less text than the rest of its paragraph.
pub(super) fn is_in_sentence(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let parent = dom.parent(id);
    dom.tag(id) == Tag::Span
        && dom.tag(parent) == Tag::P
        && page.amount(parent).chars > 2 * page.amount(id).chars
}

/// Returns true if a button of a few words is within a sentence of its paragraph: a term that opens its
/// explanation. A button after the end of a sentence or in a request for consent is a control.
pub(super) fn is_word_of_paragraph(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    // Each text is read for at most one button: a button without words is no term.
    if !(1..=MAX_TERM).contains(&page.amount(id).words) {
        return false;
    }
    let Some(paragraph) = dom.ancestors(id).find(|up| dom.tag(*up).is_block()) else { return false };
    if dom.tag(paragraph) != Tag::P || dom.end(paragraph) - paragraph > MAX_PARAGRAPH {
        return false;
    }
    let asks_consent = |up: u32| page.roles[up as usize].has(Roles::CONSENT);
    let is_box = |up: &u32| !matches!(dom.tag(*up), Tag::Article | Tag::Main | Tag::Body);
    if asks_consent(id) || dom.ancestors(id).take_while(is_box).any(asks_consent) {
        return false;
    }
    let has_text = |node: &u32| dom.tag(*node) == Tag::Text && page.amount(*node).chars > 0;
    let before = (paragraph..id).rev().find(has_text).map(|node| dom.text(node).trim_end());
    let goes_on = before.is_some_and(|text| !text.ends_with(['.', '…', '!', '?', ':', '。']));
    goes_on && (dom.end(id)..dom.end(paragraph)).any(|node| has_text(&node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::Budget,
        dom::{self, Limits},
        rules::Rules,
    };

    fn terms(html: &str) -> Vec<String> {
        let rules = Rules::embedded().unwrap();
        let budget = Budget::unlimited();
        let page = Page::new(dom::parse(html, &Limits::default()).dom, &rules, None, &budget);
        let is_term = |id: &u32| page.dom.tag(*id) == Tag::Button && is_word_of_paragraph(&page, *id);
        (0..page.dom.len()).filter(is_term).map(|id| page.dom.raw_text(id)).collect()
    }

    #[test]
    fn button_within_a_sentence_is_a_term() {
        assert_eq!(terms("<p>A <button>quay</button> is long. <button>More</button> text."), ["quay"]);
        assert!(terms("<p>A <button> </button> or <button>→</button> is no term.").is_empty());
    }

    #[test]
    fn buttons_that_ask_for_consent_are_controls() {
        let paragraph = "<p>You can <button>Accept</button> or <button>Reject</button> them here.</p>";
        assert_eq!(terms(paragraph), ["Accept", "Reject"]);
        assert!(terms(&format!("<div class=cookie-consent>{paragraph}</div>")).is_empty());
    }
}
