//! Date of a page's last change.

use super::{
    DateRules, Order, Sources, dates, jsonld, near,
    shown::{self, MAX_LABELLED},
    sources::{Field, Rule},
};
use crate::{dom::Tag, page::Page, text};

/// Date of the last change: from JSON-LD, meta elements, then visible text with a word for a change.
pub(super) fn modified(s: &Sources<'_>, order: Order) -> Option<String> {
    let shown = || Some((Rule::ShownChange, shown_change(s, order, &|_| true)?));
    let (rule, date) = in_data(s, order).or_else(shown)?;
    s.note(Field::Modified, rule, false);
    Some(date)
}

/// Date of the last change in JSON-LD, else in meta elements, with its rule.
pub(super) fn in_data(s: &Sources<'_>, order: Order) -> Option<(Rule, String)> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let in_json = s.main.and_then(|main| jsonld::text(main.get("dateModified")?).and_then(parse));
    let in_meta = || rules.modified.iter().find_map(|name| s.metas.all(name).find_map(parse));
    in_json.map(|date| (Rule::JsonLd, date)).or_else(|| Some((Rule::Meta, in_meta()?)))
}

/// Date of the last change as an upper bound of the publication date. The date of a review says nothing about
/// the age of the text.
pub(super) fn only_change(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let is_newer = |line: &str| !shown::has_word(&rules.reviewed_words, &line.to_lowercase());
    let near = || {
        s.near().iter().find_map(|line| {
            let date = dates::parse(rules, line, order)?;
            (is_newer(line) && !shown::is_about_member(rules, line)).then_some(date)
        })
    };
    shown_change(s, order, &is_newer).or_else(near).or_else(|| Some(in_data(s, order)?.1))
}

/// Date of a `time` element or an accepted short line with a word for a change.
fn shown_change(s: &Sources<'_>, order: Order, accept: &dyn Fn(&str) -> bool) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let rules = &page.rules.dates;
    let is_change = |id: &u32| {
        page.is_visible(*id)
            && change_line(page, *id).is_some_and(|line| accept(&line))
            && !near::is_elsewhere(page, *id)
    };
    let mut times =
        dom.find_all(page.within_body(), Tag::Time).take_while(|_| !page.budget.is_over()).filter(is_change);
    let is_line = |line: &&String| {
        dates::has_digit(line)
            && line.chars().count() <= MAX_LABELLED as usize
            && is_about_change(rules, &line.to_lowercase())
            && accept(line)
    };
    let near = || s.near().iter().filter(is_line).find_map(|line| dates::parse(rules, line, order));
    let labelled = || shown::labelled(s, &rules.modified_words, accept, false, order);
    times.find_map(|id| shown::stamp(s, id, order)).or_else(labelled).or_else(near)
}

/// Text of the smallest short element around a date that has a word for a change before it, in lower case.
/// None if it also has a word for publication, or if a smaller element has one.
pub(super) fn change_line(page: &Page<'_>, id: u32) -> Option<String> {
    let rules = &page.rules.dates;
    let around = std::iter::once(id).chain(page.dom.ancestors(id).take(LABEL_LEVELS));
    let is_line = |up: &u32| {
        *up > page.body && page.amount(*up).chars <= MAX_LABELLED && page.dom.end(*up) - *up <= LABEL_NODES
    };
    let mut lines = around.take_while(is_line).map(|up| text::fold(&page.visible_text(up)).to_lowercase());
    let line = lines.find(|line| {
        shown::has_word(&rules.modified_words, line) || shown::has_word(&rules.published_words, line)
    })?;
    // "3 December. Updated: 7 December" begins with the date of publication.
    let before = line.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
    (is_about_change(rules, &line) && shown::has_word(&rules.modified_words, before)).then_some(line)
}

/// Ancestors of a date that are searched for its label.
const LABEL_LEVELS: usize = 4;

/// Maximum nodes of a line.
const LABEL_NODES: u32 = 64;

/// Returns true if the lower-case line has a word for the last change and none for publication.
pub(super) fn is_about_change(rules: &DateRules, line: &str) -> bool {
    shown::has_word(&rules.modified_words, line) && !shown::has_word(&rules.published_words, line)
}
