//! Text that the page's own style keeps from its readers.
//!
//! The `style` attributes of a page are applied as far as they can hide, and its `style` elements if the rules ask for it: nothing is
//! fetched. A page without a style that hides costs one pass over the bytes of its style sheets. Elsewhere elements that a hiding
//! rule matches are computed by all rules.

mod cascade;
mod colour;
mod exempt;
mod judge;
mod media;
mod property;
mod selector;
mod sheet;
mod value;

use crate::{
    budget::Budget,
    dom::{Dom, NONE, Tag},
};
use cascade::Cascade;
use exempt::Exemptions;
pub(crate) use exempt::RevealRules;
use html5ever::local_name;
use judge::Judge;
use sheet::Sheets;

/// Visibility of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    #[default]
    Yes,
    /// The element is hidden with all that is in it. A click or a script may show it.
    Closed,
    /// The same, and no state of the page is meant in which it can be read.
    Never,
    /// The element stands inside of one that is hidden with all that is in it.
    Inside,
    /// The text of the element is hidden, elements in it may be shown.
    NoText,
}

/// Finds the elements of a page that its style hides. An empty list if there are none.
pub(crate) fn find<'a>(dom: &'a Dom, rules: &RevealRules, budget: &'a Budget) -> Vec<Seen> {
    let mut sheets = Sheets::default();
    let mut has_external = false;
    for id in 1..dom.len() {
        match dom.tag(id) {
            // a sheet that is not read may show what an attribute hides
            Tag::Style if !rules.style_sheets => has_external = true,
            Tag::Style => read_sheet(dom, id, &mut sheets, budget),
            Tag::Link => has_external |= is_external_sheet(dom, id),
            Tag::Other if rules.style_sheets && dom.name(id) == "style" => {
                read_sheet(dom, id, &mut sheets, budget);
            }
            _ => {}
        }
    }
    has_external |= sheets.imports;
    let cascade = Cascade::new(dom, sheets, has_external, budget);
    if !cascade.can_hide() {
        return Vec::new();
    }
    let exemptions = Exemptions::new(&cascade, rules);
    Judge::new(&cascade, &exemptions).run()
}

/// Reads a style sheet as a screen would.
fn read_sheet<'a>(dom: &'a Dom, id: u32, sheets: &mut Sheets<'a>, budget: &Budget) {
    let mut is_fallback = false;
    for up in dom.ancestors(id) {
        match dom.tag(up) {
            Tag::Noscript => is_fallback = true,
            // the sheet of a shadow root is its own
            Tag::Template => return,
            _ => {}
        }
    }
    let is_css = dom.attr(id, &local_name!("type")).is_none_or(|kind| {
        let kind = kind.trim();
        kind.is_empty() || kind.eq_ignore_ascii_case("text/css")
    });
    let is_on_screen = dom.attr(id, &local_name!("media")).is_none_or(media::matches);
    if !is_css || !is_on_screen {
        return;
    }
    for text in id + 1..dom.end(id) {
        sheets.read(dom.text(text), is_fallback, budget);
    }
}

/// A style sheet that is not part of the page.
fn is_external_sheet(dom: &Dom, id: u32) -> bool {
    dom.attr(id, &local_name!("rel")).is_some_and(|rel| {
        let rel = rel.to_ascii_lowercase();
        rel.split_ascii_whitespace().any(|word| word == "stylesheet" || word == "preload")
    }) && dom.attr(id, &local_name!("href")).is_some()
}

/// The parent of an element, if it is one.
fn parent_of(dom: &Dom, id: u32) -> Option<u32> {
    Some(dom.parent(id)).filter(|parent| *parent != NONE && *parent != 0)
}

#[cfg(test)]
mod tests;
