//! When a page was last changed.

use super::{
    DateRules, Order, Sources, dates, jsonld, near,
    shown::{self, MAX_LABELLED},
    sources::{Field, Rule},
};
use crate::{dom::Tag, page::Page, text};

/// The date of the last change: JSON-LD, meta elements, then what the page shows with a word for a change.
pub(super) fn modified(s: &Sources<'_>, order: Order) -> Option<String> {
    let shown = || Some((Rule::ShownChange, shown_change(s, order, &|_| true)?));
    let (rule, date) = in_data(s, order).or_else(shown)?;
    s.note(Field::Modified, rule, false);
    Some(date)
}

/// The date of the last change in JSON-LD, else in meta elements, with its rule.
pub(super) fn in_data(s: &Sources<'_>, order: Order) -> Option<(Rule, String)> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let in_json = s.main.and_then(|main| jsonld::text(main.get("dateModified")?).and_then(parse));
    let in_meta = || rules.modified.iter().find_map(|name| s.metas.all(name).find_map(parse));
    in_json.map(|date| (Rule::JsonLd, date)).or_else(|| Some((Rule::Meta, in_meta()?)))
}

/// Returns the date of the last change. The text is at least as old. A review says nothing about the age of the text.
pub(super) fn only_change(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let is_newer = |line: &str| !shown::has_word(&rules.reviewed_words, &line.to_lowercase());
    let near = || {
        s.near()
            .iter()
            .filter(|line| is_newer(line) && !shown::speaks_of_member(rules, line))
            .find_map(|line| dates::parse(rules, line, order))
    };
    shown_change(s, order, &is_newer).or_else(near).or_else(|| Some(in_data(s, order)?.1))
}

/// The date of a `time` element or a short line that has a word for a change beside it, of the lines that are accepted.
fn shown_change(s: &Sources<'_>, order: Order, accept: &dyn Fn(&str) -> bool) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let rules = &page.rules.dates;
    let is_change = |id: &u32| {
        dom.tag(*id) == Tag::Time
            && page.is_visible(*id)
            && change_line(page, *id).is_some_and(|line| accept(&line))
            && !near::is_elsewhere(page, *id)
    };
    let mut times = (page.body..dom.end(page.body)).take_while(|_| !page.budget.is_over()).filter(is_change);
    let is_line = |line: &&String| {
        line.chars().count() <= MAX_LABELLED as usize
            && speaks_of_change(rules, &line.to_lowercase())
            && accept(line)
    };
    let near = || s.near().iter().filter(is_line).find_map(|line| dates::parse(rules, line, order));
    let labelled = || shown::labelled(s, &rules.modified_words, accept, false, order);
    times.find_map(|id| shown::stamp(s, id, order)).or_else(labelled).or_else(near)
}

/// The text of the smallest short element around a date that has a word for a change in front of it, in lower case; none if it has
/// one for publication too, or if a smaller element has.
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
    (speaks_of_change(rules, &line) && shown::has_word(&rules.modified_words, before)).then_some(line)
}

/// Elements around a date in which the word for it is looked for.
const LABEL_LEVELS: usize = 4;

/// An element with more nodes is no line.
const LABEL_NODES: u32 = 64;

/// The line, in lower case, has a word for the last change and none for publication.
pub(super) fn speaks_of_change(rules: &DateRules, line: &str) -> bool {
    shown::has_word(&rules.modified_words, line) && !shown::has_word(&rules.published_words, line)
}
