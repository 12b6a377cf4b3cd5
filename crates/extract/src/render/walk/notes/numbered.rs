//! Notes with superscript numbers instead of links.

use super::{Found, MAX_AROUND, MAX_BACKLINK_ANCESTORS, MAX_NODES, MAX_TRIES, marker_of};
use crate::{
    dom::{Dom, Tag},
    page::Page,
    selection::Selection,
};
use html5ever::local_name;
use rustc_hash::FxHashMap;

/// Finds references without links: superscript numbers in the text, and paragraphs at its end that begin with
/// the same numbers, from 1 on.
pub(super) fn find(page: &Page<'_>, selection: &Selection) -> Vec<Found> {
    let dom = &page.dom;
    let mut raised: Vec<(u32, String)> = Vec::new();
    for &root in &selection.roots {
        let sups = (root..dom.end(root)).filter(|id| dom.tag(*id) == Tag::Sup && page.is_visible(*id));
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
    let references = raised.iter().filter(|(id, marker)| {
        let body = bodies.iter().find(|(_, own)| *own == marker);
        body.is_some_and(|(body, _)| *id < *body) || *id < first
    });
    let found: Vec<Found> = references
        .filter_map(|(id, marker)| {
            let (body, _) = bodies.iter().find(|(_, own)| *own == marker)?;
            Some(Found { reference: *id, body: *body, label: None, marker: marker.clone() })
        })
        .collect();
    // Each note has a reference, and exponents of units are not all notes.
    let all = bodies.iter().all(|(body, _)| found.iter().any(|one| one.body == *body));
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
    (rule..end)
        .filter(|id| dom.tag(*id) == Tag::P && dom.end(*id) - *id <= MAX_NODES && page.is_visible(*id))
        .filter_map(|id| {
            let first = (id..dom.end(id)).find(|node| !dom.text(*node).trim().is_empty())?;
            let bold = matches!(dom.tag(dom.parent(first)), Tag::B | Tag::Strong);
            markers.get(dom.text(first).trim()).filter(|_| bold).map(|marker| (id, *marker))
        })
        .collect()
}

/// Number of an item in a numbered list.
fn list_number(dom: &Dom, item: u32) -> Option<usize> {
    let list = dom.parent(item);
    if dom.tag(list) != Tag::Ol {
        return None;
    }
    let start: usize =
        dom.attr(list, &local_name!("start")).map_or(Some(1), |start| start.trim().parse().ok())?;
    let before = dom
        .children(list)
        .take(MAX_TRIES)
        .take_while(|node| *node < item)
        .filter(|node| dom.tag(*node) == Tag::Li);
    let before = before.count();
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
    let items = (*first..dom.len())
        .filter(|id| dom.tag(*id) == Tag::Li && dom.end(*id) - *id <= MAX_NODES && page.is_visible(*id));
    items
        .filter_map(|id| {
            let aside = dom.ancestors(id).take(MAX_BACKLINK_ANCESTORS).any(|up| dom.tag(up) == Tag::Aside);
            let Some(own) = dom.attr(id, &local_name!("id")).filter(|_| !aside) else {
                let number = aside.then(|| list_number(dom, id))??;
                return markers.get(number.to_string().as_str()).map(|marker| (id, *marker));
            };
            let number = own.trim_start_matches(|c: char| !c.is_ascii_digit());
            let named = names.iter().any(|name| own.contains(name.as_str()));
            markers.get(number).filter(|_| named).map(|marker| (id, *marker))
        })
        .collect()
}
