//! Consent banners with invented names (heuristics reference §4, keyword sweep).

use super::{HiddenReason, Page};
use crate::{dom::Tag, rules::Roles, text};
use html5ever::local_name;

/// Maximum words of a banner with a button that gives consent. Details of cookies are tables of some hundred words.
const MAX_WORDS_WITH_BUTTON: u32 = 1_000;
/// Minimum prose of a page outside of such a banner (characters).
const MIN_PROSE_OUTSIDE: u32 = 250;
/// Maximum characters of a button.
const MAX_BUTTON: u32 = 40;

impl Page<'_> {
    /// Removes banners with invented names by a guarded keyword sweep: a word of their name and a phrase of
    /// their text. Long elements, most of the page, articles and their parts are exempt. An overlay with a
    /// button may be most of the page: then the page is a consent wall. Returns true if it removed an
    /// element.
    pub(crate) fn remove_consent(&mut self) -> bool {
        let sweep = &self.rules.consent.sweep;
        let total = self.amount(self.body).words;
        let limit = sweep.max_words.min((total as f32 * sweep.max_share) as u32);
        let mut changed = false;
        let mut id = self.body + 1;
        while id < self.dom.end(self.body) && !self.budget.is_over() {
            let at = id as usize;
            if self.gone[at] == HiddenReason::No && (self.is_named_banner(id, limit) || self.is_overlay(id)) {
                let text = text::fold_lower(&self.visible_text(id));
                if self.rules.sweep.is_match(&text) {
                    let end = self.dom.end(id);
                    self.gone[at..end as usize].fill(HiddenReason::Consent);
                    changed = true;
                    id = end;
                    continue;
                }
            }
            id += 1;
        }
        changed
    }

    /// Returns true for a banner with a word of consent in its name. A banner with a button that gives consent may list
    /// its cookies, and may be longer than a short page.
    fn is_named_banner(&self, id: u32, limit: u32) -> bool {
        let candidate = self.roles[id as usize].has(Roles::CONSENT)
            && !matches!(self.dom.tag(id), Tag::Text | Tag::Main | Tag::Article | Tag::A | Tag::Code);
        let words = if candidate { self.amount(id).words } else { 0 };
        words > 0
            && (words <= limit
                || words <= MAX_WORDS_WITH_BUTTON && self.is_beside_prose(id) && self.has_consent_button(id))
            && !self.in_article(id)
            && !self.holds(id, &[Tag::Article, Tag::H1, Tag::Main])
    }

    /// Returns true if the page has prose outside of the element. A page about its cookies has none.
    fn is_beside_prose(&self, id: u32) -> bool {
        self.amount(self.body).prose.saturating_sub(self.amount(id).prose) >= MIN_PROSE_OUTSIDE
    }

    /// Returns true if a button of the element has a phrase of consent.
    fn has_consent_button(&self, id: u32) -> bool {
        let nodes = id..self.dom.end(id);
        let is_button = |node: &u32| {
            self.dom.tag(*node) == Tag::Button || self.dom.attr(*node, &local_name!("role")) == Some("button")
        };
        nodes.filter(is_button).any(|button| {
            let chars = self.amount(button).chars;
            chars > 0
                && chars <= MAX_BUTTON
                && self.rules.sweep.is_match(&text::fold_lower(&self.visible_text(button)))
        })
    }

    /// Returns true for an overlay with a button that is not too long and no article.
    fn is_overlay(&self, id: u32) -> bool {
        let words = if self.overlays.binary_search(&id).is_ok() { self.amount(id).words } else { 0 };
        words > 0
            && words <= self.rules.frameworks.cookie_wall.max_words
            && !self.in_article(id)
            && !self.holds(id, &[Tag::Article, Tag::Main])
            && (id..self.dom.end(id)).any(|down| {
                matches!(self.dom.tag(down), Tag::Button | Tag::Input | Tag::A)
                    || self.dom.attr(down, &local_name!("role")) == Some("button")
            })
    }

    fn in_article(&self, id: u32) -> bool {
        self.dom.ancestors(id).any(|up| self.dom.tag(up) == Tag::Article)
    }

    fn holds(&self, id: u32, tags: &[Tag]) -> bool {
        (id..self.dom.end(id)).any(|down| tags.contains(&self.dom.tag(down)))
    }
}
