//! Consent banners that no rule names: those with a keyword in their name (heuristics reference §4, keyword sweep),
//! and those without a name.

use super::{HiddenReason, Page};
use crate::{dom::Tag, rules::Roles, text};
use html5ever::local_name;

/// Maximum words of a banner with a button that gives consent. Details of cookies are tables of some hundred words.
const MAX_WORDS_WITH_BUTTON: u32 = 1_000;
/// Minimum characters of prose outside of such a banner.
const MIN_PROSE_OUTSIDE: u32 = 250;
/// Minimum words of a banner outside of buttons and links.
const MIN_WORDS: u32 = 5;
/// Minimum characters of a text that can show the topic of a banner.
const MIN_TEXT: u32 = 40;
/// Maximum nodes of such a banner, and elements around its button.
const MAX_NODES: u32 = 5_000;
const MAX_LEVELS: usize = 32;
/// Divisor of the page's other prose: at most that part of it is on the shorter side of such a banner.
const EDGE: u32 = 4;
/// Maximum buttons of a page that accept all cookies. A page with more keeps its text.
const MAX_BUTTONS: usize = 16;
/// Maximum characters of a button.
const MAX_BUTTON: u32 = 40;

impl Page<'_> {
    /// Removes banners by keywords: a word of their name and a phrase of their text. Long elements, most of the page,
    /// articles and their parts are exempt. An overlay with a button may be most of the page: then the page is a
    /// consent wall. Returns true if it removed an element.
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
        changed | self.remove_unnamed_banner()
    }

    /// Removes a banner without a name: a box before or after the text, with a button that gives consent and a text
    /// about consent. A page with several such boxes, or with other text about consent, keeps them. Returns true if
    /// it removed one.
    fn remove_unnamed_banner(&mut self) -> bool {
        let buttons = self.accept_buttons();
        if buttons.len() > MAX_BUTTONS {
            return false;
        }
        let mut banner = None;
        for button in buttons {
            let is_inside = banner.is_some_and(|banner| button < self.dom.end(banner));
            let found = if is_inside { None } else { self.banner_around(button) };
            if found.is_some() && banner.is_some() {
                return false;
            }
            banner = banner.or(found);
        }
        let Some(banner) = banner.filter(|banner| {
            self.is_at_an_edge(*banner)
                && self.is_mostly_of_consent(*banner)
                && !self.is_about_consent(*banner)
        }) else {
            return false;
        };
        self.gone[banner as usize..self.dom.end(banner) as usize].fill(HiddenReason::Consent);
        true
    }

    /// The first box around a button with text outside of buttons and links, if that is about consent. Outer boxes
    /// belong to the banner while all their parts with prose are about consent.
    fn banner_around(&self, button: u32) -> Option<u32> {
        let (mut found, mut last) = (None, button);
        for up in self.dom.ancestors(button).take(MAX_LEVELS) {
            if self.dom.tag(up).heading_level().is_some() || !self.may_be_banner(up) {
                break;
            }
            let is_banner = if found.is_some() {
                let mut others = self.dom.children(up).filter(|child| *child != last);
                !others.any(|child| self.amount(child).prose > 0 && !self.speaks_of_consent(child))
            } else if self.words_beside_controls(up) >= MIN_WORDS {
                self.speaks_of_consent(up)
            } else {
                last = up;
                continue;
            };
            if !is_banner {
                break;
            }
            found = Some(up);
            last = up;
        }
        found
    }

    fn speaks_of_consent(&self, id: u32) -> bool {
        self.rules.sweep.is_match(&text::fold_lower(&self.visible_text(id)))
    }

    /// Returns true if most of the prose outside of the element is on one side of it.
    fn is_at_an_edge(&self, id: u32) -> bool {
        let before = self.amount_in(self.body..id).prose;
        let behind = self.amount_in(self.dom.end(id)..self.dom.end(self.body)).prose;
        before.min(behind) * EDGE <= before + behind
    }

    /// Returns true for a text with a phrase of banners or a word of their names.
    fn names_consent(&self, text: &str) -> bool {
        let text = text::fold_lower(text);
        let is_token = |word: &str| self.rules.consent.sweep.tokens.iter().any(|token| token == word);
        self.rules.sweep.is_match(&text) || text.split(|c: char| !c.is_alphanumeric()).any(is_token)
    }

    /// Returns true if at least half of the longer texts outside of tables, which list cookies, name consent.
    fn is_mostly_of_consent(&self, banner: u32) -> bool {
        let (mut all, mut named) = (0, 0);
        let mut id = banner + 1;
        while id < self.dom.end(banner) {
            if self.dom.tag(id) == Tag::Table {
                id = self.dom.end(id);
                continue;
            }
            let chars = if self.dom.tag(id) == Tag::Text { self.amount(id).chars } else { 0 };
            if chars >= MIN_TEXT {
                all += chars;
                named += if self.names_consent(self.dom.text(id)) { chars } else { 0 };
            }
            id += 1;
        }
        2 * named >= all
    }

    /// Returns true if the page itself is about consent. Its title or URL names it, or a text outside of the banner
    /// and of links has a phrase of banners.
    fn is_about_consent(&self, banner: u32) -> bool {
        let titles = self.dom.find_all(0..self.body, Tag::Title);
        let mut texts = titles.flat_map(|title| self.dom.texts(title..self.dom.end(title)));
        if texts.any(|text| self.names_consent(self.dom.text(text)))
            || self.url.is_some_and(|url| self.names_consent(url.path()))
        {
            return true;
        }
        let mut id = self.body + 1;
        while id < self.dom.end(self.body) {
            let tag = self.dom.tag(id);
            if id == banner
                || tag == Tag::A
                || self.is_button(id)
                || self.gone[id as usize] != HiddenReason::No
            {
                id = self.dom.end(id);
                continue;
            }
            if tag == Tag::Text && self.rules.sweep.is_match(&text::fold_lower(self.dom.text(id))) {
                return true;
            }
            id += 1;
        }
        false
    }

    /// Returns true for a box beside the text of the page that is not too long.
    fn may_be_banner(&self, id: u32) -> bool {
        id > self.body
            && self.dom.end(id) - id <= MAX_NODES
            && self.amount(id).words <= MAX_WORDS_WITH_BUTTON
            && self.is_beside_prose(id)
            && !matches!(self.dom.tag(id), Tag::Main | Tag::Article)
            && !self.dom.ancestors(id).any(|up| matches!(self.dom.tag(up), Tag::Main | Tag::Article))
            && !self.holds(id, &[Tag::Article, Tag::H1, Tag::Main])
    }

    /// Words of an element outside of buttons and links.
    fn words_beside_controls(&self, id: u32) -> u32 {
        let (mut words, mut at) = (self.amount(id).words, id + 1);
        while at < self.dom.end(id) {
            if self.is_button(at) || self.dom.tag(at) == Tag::A {
                words = words.saturating_sub(self.amount(at).words);
                at = self.dom.end(at);
            } else {
                at += 1;
            }
        }
        words
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
        (id..self.dom.end(id)).any(|node| self.gives_consent(node))
    }

    fn is_button(&self, id: u32) -> bool {
        self.dom.tag(id) == Tag::Button || self.dom.attr(id, &local_name!("role")) == Some("button")
    }

    /// Returns true for a button with a phrase of consent.
    fn gives_consent(&self, id: u32) -> bool {
        let is_short = || (1..=MAX_BUTTON).contains(&self.amount(id).chars);
        self.is_button(id)
            && is_short()
            && self.rules.sweep.is_match(&text::fold_lower(&self.visible_text(id)))
    }

    /// Visible buttons that accept all cookies, in order.
    fn accept_buttons(&self) -> Vec<u32> {
        let dom = &self.dom;
        let by_role = dom.with_attr(local_name!("role")).filter(|(_, role)| *role == "button");
        let by_tag = dom.find_all(self.body..dom.end(self.body), Tag::Button);
        let mut buttons: Vec<u32> = by_role.map(|(id, _)| id).chain(by_tag).collect();
        buttons.retain(|id| self.gone[*id as usize] == HiddenReason::No && self.accepts_all(*id));
        buttons.sort_unstable();
        buttons.dedup();
        buttons
    }

    /// Returns true for the label of a button that accepts all cookies.
    fn accepts_all(&self, button: u32) -> bool {
        button > self.body && (1..=MAX_BUTTON).contains(&self.amount(button).chars) && {
            let label = text::fold_lower(&self.visible_text(button));
            self.rules.consent.sweep.accept.iter().any(|phrase| label.contains(phrase.as_str()))
        }
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
