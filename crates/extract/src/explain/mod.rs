//! Facts of an explanation that only the page shows: candidates, dropped parts, consent banners, and the
//! page in blocks.

mod shown;

use crate::{
    dom::{NONE, Tag},
    explanation::{Candidate, Explanation, MAX_ELEMENTS, Removal},
    page::{HiddenReason, Page},
    rules::Hit,
    selection::Selection,
    text,
    trace::{MAX_REMOVALS, MAX_SHOWN_BYTES, Trace},
};
use crawl_model::Extractor;
use html5ever::local_name;
use rustc_hash::FxHashMap;

/// Adds a candidate to the explanation, chosen or not.
pub(crate) fn candidate(page: &Page<'_>, name: &str, selection: &Selection) {
    page.trace.note(|notes| notes.explanation.candidates.push(features(page, name, selection)));
}

/// Notes the reductions of the chosen part. Call it before lines are dropped, to keep the order.
pub(crate) fn chosen(page: &Page<'_>, selection: &Selection, extractor: Extractor) {
    page.trace.note(|notes| {
        let found = left_out(page, selection, &notes.marks);
        notes.explanation.dropped.extend(found);
        let elements = elements(page, selection);
        let same = notes.explanation.candidates.iter_mut().rev().filter(|c| c.elements == elements);
        // Two methods may find the same elements: then the extractor's name distinguishes them.
        let other = |c: &Candidate| !called(extractor).contains(&c.name.as_str());
        if let Some(taken) = same.min_by_key(|c| (other(c), c.words.abs_diff(selection.words))) {
            taken.taken = true;
        }
    });
}

/// Notes the fate of each block of the page, with the reason of a drop. Call it after the text is written.
pub(crate) fn written(page: &Page<'_>, selection: &Selection, in_content: &[bool]) {
    page.trace.note(|notes| {
        let dropped_nodes = shown::DroppedNodes { marks: &notes.marks, lines: &notes.lines };
        notes.explanation.page = shown::blocks(page, selection, in_content, &dropped_nodes);
    });
}

/// The explanation of a page, if one was requested.
pub(crate) fn finish(trace: Trace, page: &Page<'_>) -> Option<Explanation> {
    let notes = trace.into_notes()?;
    Some(Explanation { removed: consent(page), ..notes.explanation })
}

/// The features of a candidate that decide.
fn features(page: &Page<'_>, name: &str, selection: &Selection) -> Candidate {
    let amount = selection.amount(page);
    Candidate {
        name: name.to_owned(),
        elements: elements(page, selection),
        words: selection.words,
        characters: amount.chars,
        prose: amount.prose as f32 / amount.chars.max(1) as f32,
        link_density: amount.link_density(),
        marks: amount.marks,
        score: None,
        taken: false,
    }
}

/// Names of the candidates of an extractor.
const fn called(extractor: Extractor) -> &'static [&'static str] {
    match extractor {
        Extractor::Readability => &["readability"],
        Extractor::Trafilatura => &["trafilatura"],
        Extractor::BodyFallback => &["whole body", "second try"],
        Extractor::Platform => &["platform", "documentation"],
        Extractor::PrioritySelector | Extractor::DomDensity => &["dom heuristic"],
        _ => &[],
    }
}

fn elements(page: &Page<'_>, selection: &Selection) -> Vec<String> {
    selection.roots.iter().take(MAX_ELEMENTS).map(|root| described(page, *root)).collect()
}

/// The outermost subtrees that the selection drops.
fn left_out(page: &Page<'_>, selection: &Selection, marks: &FxHashMap<u32, &'static str>) -> Vec<Removal> {
    let mut out = Vec::new();
    left_out_each(page, selection, marks, |id, rule| {
        out.push(removal(page, id, rule, page.amount(id).words, &page.visible_text(id)));
        out.len() < MAX_REMOVALS
    });
    out
}

/// Visits each outermost subtree with text that the selection drops, with its rule, until `visit` returns
/// false.
fn left_out_each(
    page: &Page<'_>,
    selection: &Selection,
    marks: &FxHashMap<u32, &'static str>,
    mut visit: impl FnMut(u32, String) -> bool,
) {
    for &root in &selection.roots {
        let mut id = root;
        while id < page.dom.end(root) {
            if !selection.drop[id as usize] {
                id += 1;
                continue;
            }
            if page.is_visible(id) && page.amount(id).chars > 0 {
                let rule = marks.get(&id).map_or_else(|| names(page, id), |pass| (*pass).to_owned());
                if !visit(id, rule) {
                    return;
                }
            }
            id = page.dom.end(id);
        }
    }
}

/// Tag, role and names of an element in words.
fn names(page: &Page<'_>, id: u32) -> String {
    let mut facts = vec![format!("the element {}", page.dom.name(id))];
    if let Some(role) = page.dom.attr(id, &local_name!("role")) {
        facts.push(format!("role {role}"));
    }
    let roles = page.roles[id as usize].names();
    if !roles.is_empty() {
        facts.push(format!("names of {}", roles.join(", ")));
    }
    facts.join("; ")
}

/// The outermost elements that were removed as consent banners, each with its matching rule.
fn consent(page: &Page<'_>) -> Vec<Removal> {
    let mut out = Vec::new();
    let mut id = page.body;
    let end = page.dom.end(page.body);
    while id < end && out.len() < MAX_REMOVALS {
        if page.gone[id as usize] != HiddenReason::Consent {
            id += 1;
            continue;
        }
        let text = page.dom.raw_text(id);
        out.push(removal(page, id, consent_rule(page, id, &text), crate::words::count_words(&text), &text));
        id = page.dom.end(id);
    }
    out
}

fn consent_rule(page: &Page<'_>, id: u32, text: &str) -> String {
    let mut named = None;
    page.rules.selectors.for_matches(&page.dom, id, |hit| {
        if let Hit::Consent(rule) = hit {
            named = named.or(Some(rule));
        }
    });
    if let Some((name, selector)) = named.and_then(|rule| page.rules.consent.rule(rule)) {
        return format!("{name}: {selector}");
    }
    let attr = |name| page.dom.attr(id, &name).unwrap_or_default();
    let listed = page
        .lists()
        .and_then(|lists| lists.find(&page.dom, id, attr(local_name!("id")), attr(local_name!("class"))));
    if let Some((rule, lists)) = listed.zip(page.rules.lists.as_ref()) {
        return lists.place(rule);
    }
    let folded = text::fold_lower(text);
    match page.rules.sweep.find(&folded) {
        Some(found) => format!("keyword sweep: \"{}\"", &folded[found.range()]),
        None => "keyword sweep".to_owned(),
    }
}

fn removal(page: &Page<'_>, id: u32, rule: String, words: u32, text: &str) -> Removal {
    Removal {
        rule,
        element: described(page, id),
        words,
        starts: text::head(&text::fold(text::head(text, 8 * MAX_SHOWN_BYTES)), MAX_SHOWN_BYTES).to_owned(),
    }
}

/// `tag#id.class.class`, cut where it becomes long.
fn described(page: &Page<'_>, id: u32) -> String {
    let dom = &page.dom;
    if id == NONE || dom.tag(id) == Tag::Document {
        return "document".to_owned();
    }
    let mut out = dom.name(id).to_owned();
    if let Some(own) = dom.attr(id, &local_name!("id")).filter(|own| !own.is_empty()) {
        out.push('#');
        out.push_str(own);
    }
    let classes = dom.attr(id, &local_name!("class")).unwrap_or_default();
    for class in classes.split_ascii_whitespace().take(MAX_ELEMENTS) {
        out.push('.');
        out.push_str(class);
    }
    text::head(&out, MAX_SHOWN_BYTES).to_owned()
}
