//! Notes with superscript numbers instead of links.

use super::{Found, MAX_AROUND, MAX_BACKLINK_ANCESTORS, MAX_NODES, marker_of};
use crate::{
    dom::{Dom, Tag},
    page::Page,
    selection::Selection,
};
use html5ever::local_name;
use rustc_hash::{FxHashMap, FxHashSet};

/// Finds references without links: superscript numbers in the text, and paragraphs at its end that begin with
/// the same numbers, from 1 on.
pub(super) fn find(page: &Page<'_>, selection: &Selection) -> Vec<Found> {
    let dom = &page.dom;
    let mut raised: Vec<(u32, String)> = Vec::new();
    for &root in &selection.roots {
        let sups = dom.find_all(root..dom.end(root), Tag::Sup).filter(|id| page.is_visible(*id));
        raised.extend(sups.filter(|id| !selection.drop[*id as usize]).filter_map(|id| {
            let marker = marker_of(&dom.raw_text(id));
            (!marker.is_empty() && marker.len() <= 3 && marker.bytes().all(|b| b.is_ascii_digit()))
                .then_some((id, marker))
        }));
    }
    let starts = |id: u32| {
        let parent = dom.parent(id);
        let before =
            id - parent <= MAX_AROUND && (parent + 1..id).all(|node| dom.text(node).trim().is_empty());
        let fits = dom.end(parent) - parent <= MAX_NODES;
        (before && fits && matches!(dom.tag(parent), Tag::P | Tag::Li | Tag::Div)).then_some(parent)
    };
    let mut bodies: Vec<(u32, &String)> =
        raised.iter().filter_map(|(id, marker)| Some((starts(*id)?, marker))).collect();
    if bodies.is_empty() {
        bodies = named_bodies(page, &raised);
    }
    if bodies.is_empty() {
        bodies = bold_bodies(page, selection, &raised);
    }
    let in_order = bodies.iter().zip(1..).all(|((_, marker), number)| **marker == number.to_string());
    if bodies.is_empty() || !in_order {
        return Vec::new();
    }
    let Some(first) = bodies.first().map(|(id, _)| *id) else { return Vec::new() };
    // Each number has one note, since the notes are in order.
    let notes: FxHashMap<&str, u32> = bodies.iter().map(|(body, own)| (own.as_str(), *body)).collect();
    let found: Vec<Found> = raised
        .iter()
        .filter_map(|(id, marker)| {
            let body = notes.get(marker.as_str()).filter(|body| *id < **body || *id < first)?;
            Some(Found { reference: *id, body: *body, label: None, marker: marker.clone() })
        })
        .collect();
    // Each note has a reference, and exponents of units are not all notes.
    let noted: FxHashSet<u32> = found.iter().map(|one| one.body).collect();
    let all = bodies.iter().all(|(body, _)| noted.contains(body));
    if all { found } else { Vec::new() }
}

/// Paragraphs after a rule below the last reference that begin with a bold number.
fn bold_bodies<'a>(
    page: &Page<'_>,
    selection: &Selection,
    raised: &'a [(u32, String)],
) -> Vec<(u32, &'a String)> {
    let dom = &page.dom;
    let Some((last, _)) = raised.last() else { return Vec::new() };
    let root = selection.roots.iter().find(|root| (**root..dom.end(**root)).contains(last));
    let end = root.map_or(*last, |root| dom.end(*root));
    let Some(rule) = dom.find(*last..end, Tag::Hr) else { return Vec::new() };
    let markers: FxHashMap<&str, &String> =
        raised.iter().map(|(_, marker)| (marker.as_str(), marker)).collect();
    dom.find_all(rule..end, Tag::P)
        .filter(|id| dom.end(*id) - *id <= MAX_NODES && page.is_visible(*id))
        .filter_map(|id| {
            let first = (id..dom.end(id)).find(|node| !dom.text(*node).trim().is_empty())?;
            let bold = matches!(dom.tag(dom.parent(first)), Tag::B | Tag::Strong);
            markers.get(dom.text(first).trim()).filter(|_| bold).map(|marker| (id, *marker))
        })
        .collect()
}

/// Number of an item in a numbered list, behind `before` others.
fn list_number(dom: &Dom, item: u32, before: usize) -> Option<usize> {
    let list = dom.parent(item);
    if dom.tag(list) != Tag::Ol {
        return None;
    }
    let start: usize =
        dom.attr(list, &local_name!("start")).map_or(Some(1), |start| start.trim().parse().ok())?;
    start.checked_add(before)
}

/// Items after the references, with the number of the list in an element beside the text. Their ids may also
/// be a name of notes with the numbers in the text.
fn named_bodies<'a>(page: &Page<'_>, raised: &'a [(u32, String)]) -> Vec<(u32, &'a String)> {
    let dom = &page.dom;
    let Some((first, _)) = raised.first() else { return Vec::new() };
    let names = &page.rules.extraction.markdown.notes;
    let markers: FxHashMap<&str, &String> =
        raised.iter().map(|(_, marker)| (marker.as_str(), marker)).collect();
    // Items of each list so far.
    let mut items: FxHashMap<u32, usize> = FxHashMap::default();
    let numbered = dom.find_all(0..dom.len(), Tag::Li).map(|id| {
        let count = items.entry(dom.parent(id)).or_default();
        *count += 1;
        (id, *count - 1)
    });
    numbered
        .filter(|(id, _)| *id >= *first && dom.end(*id) - *id <= MAX_NODES && page.is_visible(*id))
        .filter_map(|(id, before)| {
            let aside = dom.ancestors(id).take(MAX_BACKLINK_ANCESTORS).any(|up| dom.tag(up) == Tag::Aside);
            let Some(own) = dom.attr(id, &local_name!("id")).filter(|_| !aside) else {
                let number = aside.then(|| list_number(dom, id, before))??;
                return markers.get(number.to_string().as_str()).map(|marker| (id, *marker));
            };
            let number = own.trim_start_matches(|c: char| !c.is_ascii_digit());
            let named = names.iter().any(|name| own.contains(name.as_str()));
            markers.get(number).filter(|_| named).map(|marker| (id, *marker))
        })
        .collect()
}
