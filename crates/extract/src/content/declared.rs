//! Texts that the page's own data declares as its content: ingredients, steps, answers. If the selection
//! lacks them, the smallest part of the page with most of them is added, since declared data overrides names
//! and ratios.

use super::prune;
use crate::{
    dom::{Tag, decode_references},
    metadata::{JsonLd, types},
    page::Page,
    selection::Selection,
};
use html5ever::local_name;
use memchr::memmem;
use serde_json::Value;
use std::ops::Range;

/// Maximum texts of a property that are searched for.
const MAX_TEXTS: usize = 200;
/// Maximum occurrences of one text.
const MAX_PLACES: usize = 16;
/// Maximum depth of nested objects.
const MAX_DEPTH: usize = 5;
/// Minimum bytes of a text, folded; a shorter one occurs by chance.
const MIN_TEXT: usize = 3;
/// Maximum bytes of a text that is searched as a whole; a longer one is searched by sentence.
const MAX_WHOLE: usize = 160;
/// Minimum bytes of a single missing text, folded.
const MIN_SINGLE: usize = 24;
/// Maximum elements selected for one property: beyond it the text is scattered.
const MAX_TARGETS: usize = 1000;
/// Keys with the text of an object.
const TEXT_KEYS: [&str; 6] = ["text", "name", "itemListElement", "steps", "step", "acceptedAnswer"];

/// Adds texts that the page declares and shows, but the selection lacks.
pub(crate) fn add(page: &Page<'_>, json: &JsonLd, selection: &mut Selection) {
    if selection.roots.is_empty() {
        return;
    }
    let groups = groups(page, json);
    if groups.is_empty() {
        return;
    }
    let shown = Shown::of(page);
    for (property, texts) in groups {
        let kept = shown.kept(page, selection);
        let Some(part) = missing(page, &shown, &kept, &texts) else { continue };
        page.trace.evidence(|| {
            format!("the page's data declare {property}: {} places of such texts are added", part.hits.len())
        });
        select_part(page, selection, &shown, &part);
        selection.words =
            selection.roots.iter().map(|root| prune::kept(page, *root, &selection.drop).words).sum();
    }
}

/// Texts of each declared property, folded.
fn groups<'r>(page: &Page<'r>, json: &JsonLd) -> Vec<(&'r str, Vec<String>)> {
    let properties = &page.rules.extraction.declared.properties;
    let mut groups: Vec<(&str, Vec<String>)> = properties.iter().map(|p| (p.as_str(), Vec::new())).collect();
    let nodes = json.nodes();
    for node in nodes.iter().filter(|node| !types(node).is_empty()) {
        for (property, texts) in &mut groups {
            if let Some(value) = node.get(*property) {
                collect(value, texts, 0);
            }
        }
    }
    let body = page.within_body();
    let marked = page.dom.with_attr(local_name!("itemprop"));
    for (id, named) in marked.filter(|(id, _)| body.contains(id) && page.is_visible(*id)) {
        // With a scope it is an object, which holds more than a text.
        if page.dom.attr(id, &local_name!("itemscope")).is_some() {
            continue;
        }
        if page.budget.is_over() {
            break;
        }
        let is_named = |property: &str| named.split_ascii_whitespace().any(|name| name == property);
        if let Some((_, texts)) = groups.iter_mut().find(|(property, _)| is_named(property)) {
            push(&page.visible_text(id), texts);
        }
    }
    groups.retain(|(_, texts)| !texts.is_empty());
    groups
}

/// Collects the texts of a value: strings, lists, and texts of objects.
fn collect(value: &Value, texts: &mut Vec<String>, depth: usize) {
    match value {
        Value::String(text) => push(text, texts),
        Value::Array(list) if depth < MAX_DEPTH => {
            list.iter().for_each(|inner| collect(inner, texts, depth + 1));
        }
        Value::Object(map) if depth < MAX_DEPTH => {
            TEXT_KEYS
                .iter()
                .filter_map(|key| map.get(*key))
                .for_each(|inner| collect(inner, texts, depth + 1));
        }
        _ => {}
    }
}

/// Adds a text for the search; a long one by sentence.
fn push(text: &str, texts: &mut Vec<String>) {
    if texts.len() >= MAX_TEXTS {
        return;
    }
    let plain = without_tags(&decode_references(text));
    let long = plain.len() > MAX_WHOLE;
    let ends = |c: char| c == '\n' || long && matches!(c, '.' | '!' | '?' | '。' | '！' | '？');
    for sentence in plain.split(ends) {
        let folded = folded(sentence);
        if folded.len() >= MIN_TEXT && texts.len() < MAX_TEXTS && !texts.contains(&folded) {
            texts.push(folded);
        }
    }
}

/// Text with a line break for each tag.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        rest = after;
        if !is_tag {
            out.push('<');
            continue;
        }
        // without an end there is no later tag either
        let Some((_, behind)) = after.split_once('>') else {
            out.push('<');
            break;
        };
        out.push('\n');
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Letters and digits alone, in lower case, which data and page share.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

fn fold_into(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if c.is_ascii() => {}
            '½' => out.push_str("12"),
            '¼' => out.push_str("14"),
            '¾' => out.push_str("34"),
            '⅓' => out.push_str("13"),
            '⅔' => out.push_str("23"),
            '⅛' => out.push_str("18"),
            _ if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            _ => {}
        }
    }
}

/// Visible text, folded, with the node of each part.
struct Shown {
    text: String,
    /// Start of each node's text, and the node.
    starts: Vec<(usize, u32)>,
}

impl Shown {
    fn of(page: &Page<'_>) -> Self {
        let (mut text, mut starts) = (String::new(), Vec::new());
        for id in page.body..page.dom.end(page.body) {
            if page.dom.tag(id) == Tag::Text && page.is_visible(id) {
                let from = text.len();
                fold_into(page.dom.text(id), &mut text);
                if text.len() > from {
                    starts.push((from, id));
                }
            }
        }
        Self { text, starts }
    }

    /// Kept nodes of the selection, by index in `starts`.
    fn kept(&self, page: &Page<'_>, selection: &Selection) -> Vec<bool> {
        let mut has = vec![false; page.dom.len() as usize];
        for &root in &selection.roots {
            let mut id = root;
            while id < page.dom.end(root) {
                let dropped = selection.drop[id as usize];
                has[id as usize] = !dropped;
                id = if dropped { page.dom.end(id) } else { id + 1 };
            }
        }
        self.starts.iter().map(|(_, id)| has[*id as usize]).collect()
    }

    /// Nodes, by index in `starts`, of a range of the text.
    fn nodes(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.starts.partition_point(|(from, _)| *from <= range.start) - 1;
        let end = self.starts.partition_point(|(from, _)| *from < range.end);
        first..end
    }
}

/// A part of the page that shows declared texts: their positions, in order.
struct Part {
    hits: Vec<Range<usize>>,
}

/// The smallest part with most of the missing texts, if enough are missing and it holds little else.
fn missing(page: &Page<'_>, shown: &Shown, kept: &[bool], texts: &[String]) -> Option<Part> {
    let (mut seen, mut lost, mut lost_len) = (0u32, 0u32, 0);
    let mut places: Vec<(Range<usize>, usize)> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        if page.budget.is_over() {
            return None;
        }
        let mut has = false;
        let before = places.len();
        let found: Vec<usize> = memmem::find_iter(shown.text.as_bytes(), text).take(MAX_PLACES).collect();
        for at in &found {
            let range = *at..at + text.len();
            if kept[shown.nodes(&range)].iter().all(|kept| *kept) {
                has = true;
            } else {
                places.push((range, index));
            }
        }
        seen += u32::from(!found.is_empty());
        if !has && places.len() > before {
            lost += 1;
            lost_len += text.len();
        }
    }
    if lost == 0 || 4 * lost < seen || lost == 1 && lost_len < MIN_SINGLE {
        return None;
    }
    places.sort_unstable_by_key(|(range, index)| (range.start, *index));
    let wanted = distinct(&places, texts.len());
    (wanted.div_ceil(2).max(1)..=wanted).rev().find_map(|count| densest(&places, texts, count))
}

fn distinct(places: &[(Range<usize>, usize)], texts: usize) -> usize {
    let mut seen = vec![false; texts];
    places.iter().filter(|(_, index)| !std::mem::replace(&mut seen[*index], true)).count()
}

/// The shortest range with occurrences of `count` texts, if most of it is declared.
fn densest(places: &[(Range<usize>, usize)], texts: &[String], count: usize) -> Option<Part> {
    let mut times = vec![0u32; texts.len()];
    let (mut have, mut declared, mut from) = (0, 0, 0);
    let mut best: Option<(usize, usize, usize, usize)> = None;
    for (to, (range, index)) in places.iter().enumerate() {
        times[*index] += 1;
        if times[*index] == 1 {
            have += 1;
            declared += texts[*index].len();
        }
        while have >= count {
            let length = range.end.saturating_sub(places[from].0.start);
            if best.is_none_or(|(shortest, ..)| length < shortest) {
                best = Some((length, declared, from, to));
            }
            let out = places[from].1;
            times[out] -= 1;
            if times[out] == 0 {
                have -= 1;
                declared -= texts[out].len();
            }
            from += 1;
        }
    }
    let (length, declared, from, to) = best?;
    let dense = length <= 2 * declared + 16 * count;
    dense.then(|| Part { hits: places[from..=to].iter().map(|(range, _)| range.clone()).collect() })
}

/// Selects the part's elements, and their texts that were left out.
fn select_part(page: &Page<'_>, selection: &mut Selection, shown: &Shown, part: &Part) {
    let mut nodes: Vec<u32> =
        part.hits.iter().flat_map(|range| shown.nodes(range)).map(|index| shown.starts[index].1).collect();
    nodes.sort_unstable();
    let (Some(&first), Some(&last)) = (nodes.first(), nodes.last()) else { return };
    for target in targets(page, selection, first, last) {
        unmask(page, selection, target, &nodes);
        let dom = &page.dom;
        let Some(root) = selection.roots.iter().copied().find(|r| *r <= target && target < dom.end(*r))
        else {
            let at = selection.roots.partition_point(|root| *root < target);
            selection.roots.insert(at, target);
            continue;
        };
        let path: Vec<u32> =
            std::iter::once(target).chain(dom.ancestors(target)).take_while(|up| *up >= root).collect();
        for pair in path.windows(2).rev() {
            let (inner, outer) = (pair[0], pair[1]);
            if std::mem::replace(&mut selection.drop[outer as usize], false) {
                dom.children(outer)
                    .filter(|child| *child != inner)
                    .for_each(|child| selection.drop[child as usize] = true);
            }
        }
        selection.drop[target as usize] = false;
    }
}

/// The element around the part if it holds little else; else the largest elements that hold nothing else.
fn targets(page: &Page<'_>, selection: &Selection, first: u32, last: u32) -> Vec<u32> {
    let dom = &page.dom;
    let chars = page.amount_in(first..last + 1).chars;
    let fits = |id: u32| {
        let roots_inside = selection.roots.iter().any(|root| id < *root && *root < dom.end(id));
        page.amount(id).chars <= chars + chars / 4 + 40 && id > page.body && !roots_inside
    };
    let mut around = dom.ancestors(first).filter(|up| last < dom.end(*up));
    if let Some(common) = around.next().filter(|id| fits(*id)) {
        let widest = around.take_while(|up| fits(*up)).last();
        return vec![widest.unwrap_or(common)];
    }
    let mut out = Vec::new();
    let mut id = first;
    while id <= last && out.len() < MAX_TARGETS {
        if !page.is_visible(id) || page.amount(id).chars == 0 {
            id += 1;
            continue;
        }
        let within = |up: &u32| {
            page.amount_in((*up).min(first)..first).chars == 0
                && page.amount_in(last + 1..dom.end(*up).max(last + 1)).chars == 0
                && *up > page.body
        };
        let top = dom.ancestors(id).take_while(within).last().unwrap_or(id);
        let overlaps = selection.roots.iter().any(|root| top <= *root && *root < dom.end(top));
        if !overlaps {
            out.push(top);
        }
        id = dom.end(top).max(id + 1);
    }
    out
}

/// Unmasks the texts below an element, and their siblings of the same kind.
fn unmask(page: &Page<'_>, selection: &mut Selection, target: u32, nodes: &[u32]) {
    let dom = &page.dom;
    let mut likes: Vec<(Tag, Option<&str>)> = Vec::new();
    let from = nodes.partition_point(|node| *node < target);
    for &node in nodes[from..].iter().take_while(|node| **node < dom.end(target)) {
        for id in std::iter::once(node).chain(dom.ancestors(node)).take_while(|up| *up >= target) {
            if std::mem::replace(&mut selection.drop[id as usize], false) {
                let like = (dom.tag(id), dom.attr(id, &local_name!("class")));
                if !likes.contains(&like) {
                    likes.push(like);
                }
            }
        }
    }
    for id in target..dom.end(target) {
        let dropped = &mut selection.drop[id as usize];
        *dropped = *dropped && !likes.contains(&(dom.tag(id), dom.attr(id, &local_name!("class"))));
    }
}
