//! Text that the page's own styles hide.
//!
//! The `style` attributes are applied to the whole page before the choice of its content. The `style`
//! elements are applied to the chosen content; nothing is fetched. A page without a hiding style costs one
//! pass over the bytes of its style sheets. On other pages all rules apply to the elements that a hiding rule
//! matches.

mod cascade;
mod colour;
mod condition;
mod exempt;
mod fade;
mod first_look;
mod index;
mod judge;
mod layers;
mod media;
mod names;
mod property;
mod scan;
mod scripts;
mod selector;
mod sheet;
mod validity;
mod value;

use crate::{
    budget::Budget,
    dom::{Dom, NONE, Tag},
};
use cascade::Cascade;
use exempt::Exemptions;
pub(crate) use exempt::RevealRules;
pub(crate) use fade::fades_in;
use html5ever::local_name;
use judge::Judge;
use names::Names;
use property::{COLOURS, Group};
pub(crate) use scripts::is_static;
use sheet::Sheets;

/// Visibility of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    #[default]
    Yes,
    /// The element is hidden with its content. A click or a script may show it.
    Closed,
    /// The element is hidden with its content, in every intended state of the page.
    Never,
    /// An ancestor is hidden with its content.
    Inside,
    /// The text of the element is hidden, but inner elements may be visible.
    NoText,
}

/// Finds the elements that attributes hide; an empty list if there are none. Style sheets may show such an
/// element, so that a page with one keeps text that only a colour hides: [`find_in`] reads them.
pub(crate) fn find<'a>(dom: &'a Dom, rules: &RevealRules, budget: &'a Budget) -> Vec<Seen> {
    let mut links_and_sheets = dom.of_kind(|tag| matches!(tag, Tag::Style | Tag::Link));
    let has_sheets = links_and_sheets.any(|id| dom.tag(id) == Tag::Style || is_external_sheet(dom, id));
    let cascade = Cascade::new(dom, Sheets::default(), has_sheets, budget);
    let (by_attributes, hides) = cascade.hidden_by_attributes();
    if by_attributes.is_empty() {
        return Vec::new();
    }
    let may_hide = |id: u32| if by_attributes.binary_search(&id).is_ok() { Group::MAX } else { 0 };
    let is_overruled = rules.style_sheets && cascade.is_overruled(&by_attributes, hides);
    let mut elements: Vec<u32> = Vec::new();
    for id in &by_attributes {
        let next = elements.last().map_or(*id, |last| (last + 1).max(*id));
        elements.extend((next..dom.end(*id)).filter(|id| dom.tag(*id) != Tag::Text));
    }
    if is_overruled {
        let examined = with_surroundings(dom, by_attributes.iter().copied());
        let (sheets, _) = read_sheets(dom, &sheets_of(dom), &examined, budget);
        let cascade = Cascade::new(dom, sheets, has_sheets, budget);
        cascade.require(Group::MAX);
        let exemptions = Exemptions::new(&cascade, rules);
        return Judge::new(&cascade, &exemptions).run(&elements, may_hide);
    }
    let exemptions = Exemptions::new(&cascade, rules);
    Judge::new(&cascade, &exemptions).run(&elements, may_hide)
}

/// Finds the elements that the style sheets of a page hide, among those of a part of it. They are in document
/// order, with all their ancestors.
pub(crate) fn find_in<'a>(
    dom: &'a Dom,
    part: &'a [u32],
    rules: &RevealRules,
    budget: &'a Budget,
) -> Vec<Seen> {
    if !rules.style_sheets {
        return Vec::new();
    }
    let sheets = sheets_of(dom);
    if sheets.is_empty() {
        return Vec::new();
    }
    let (sheets, has_external) = read_sheets(dom, &sheets, part, budget);
    let cascade = Cascade::new(dom, sheets, has_external, budget);
    // other attributes were checked before
    let by_colour = cascade.lost_by_attributes(part);
    let hiding = cascade.hiding(!by_colour.is_empty());
    if hiding.is_empty() && by_colour.is_empty() {
        return Vec::new();
    }
    let exemptions = Exemptions::new(&cascade, rules);
    let may_hide = |id: u32| {
        let by_attribute = if by_colour.binary_search(&id).is_ok() { COLOURS } else { 0 };
        by_attribute | cascade.hidden_by(&hiding, id)
    };
    Judge::new(&cascade, &exemptions).run(part, may_hide)
}

/// The elements that hold style sheets.
fn sheets_of(dom: &Dom) -> Vec<u32> {
    let all = dom.of_kind(|tag| matches!(tag, Tag::Style | Tag::Other));
    all.filter(|id| dom.tag(*id) == Tag::Style || dom.name(*id) == "style").collect()
}

/// Style sheets of a page for a part of it. The second value is true if there are external ones.
fn read_sheets<'a>(dom: &'a Dom, elements: &[u32], part: &[u32], budget: &Budget) -> (Sheets<'a>, bool) {
    let mut sheets = Sheets::about(Names::of(dom, part));
    for id in elements {
        read_sheet(dom, *id, &mut sheets, budget);
    }
    sheets.resolve_variables();
    sheets.order_layers();
    let mut links = dom.of_kind(|tag| tag == Tag::Link);
    let has_external = sheets.imports || links.any(|id| is_external_sheet(dom, id));
    (sheets, has_external)
}

/// Reads a style sheet for a screen.
fn read_sheet<'a>(dom: &'a Dom, id: u32, sheets: &mut Sheets<'a>, budget: &Budget) {
    let mut is_fallback = false;
    for up in dom.ancestors(id) {
        match dom.tag(up) {
            Tag::Noscript => is_fallback = true,
            // the sheet of a shadow root applies only there
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

/// Returns true for an external style sheet.
fn is_external_sheet(dom: &Dom, id: u32) -> bool {
    dom.attr(id, &local_name!("rel")).is_some_and(|rel| {
        let rel = rel.to_ascii_lowercase();
        rel.split_ascii_whitespace().any(|word| word == "stylesheet" || word == "preload")
    }) && dom.attr(id, &local_name!("href")).is_some()
}

/// Elements whose styles decide about some elements in document order: they, their content and their
/// ancestors.
fn with_surroundings(dom: &Dom, elements: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut is_one = vec![false; dom.len() as usize];
    let mut end = 0;
    for id in elements {
        let content = id.max(end)..dom.end(id).max(end);
        end = content.end;
        is_one[content.start as usize..content.end as usize].fill(true);
        for up in dom.ancestors(id) {
            // the ancestors of a known one are known
            if std::mem::replace(&mut is_one[up as usize], true) {
                break;
            }
        }
    }
    (1..dom.len()).filter(|id| is_one[*id as usize] && dom.tag(*id) != Tag::Text).collect()
}

/// The parent of an element, if it is an element.
fn parent_of(dom: &Dom, id: u32) -> Option<u32> {
    Some(dom.parent(id)).filter(|parent| *parent != NONE && *parent != 0)
}

#[cfg(test)]
mod tests;
