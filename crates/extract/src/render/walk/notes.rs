//! Footnotes: links to notes of the page, and the positions of the notes.

mod numbered;
mod skipped;

use super::sidenotes;
use crate::{
    dom::{Dom, NONE, Tag},
    page::Page,
    selection::Selection,
    text,
};
use html5ever::local_name;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum characters of a note's number.
pub(super) const MAX_MARKER: usize = 5;
/// Maximum characters of one note.
const MAX_NOTE: u32 = 6_000;
/// More nodes are not one note.
const MAX_NODES: u32 = 500;
/// Maximum links with a number; a page with more is no text with notes.
const MAX_TRIES: usize = 5_000;
/// Maximum nodes of a link with its brackets.
const MAX_AROUND: u32 = 50;
/// Ancestors of a reference to which a note may link back.
const MAX_BACKLINK_ANCESTORS: usize = 3;

/// The footnotes of a selection.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Label of the note of each reference element.
    pub(super) references: FxHashMap<u32, String>,
    /// Label of each note's block.
    pub(super) bodies: FxHashMap<u32, String>,
    /// Links from a note back to its references, and the note's own number.
    pub(super) skipped: FxHashSet<u32>,
    /// Bytes of a note's own number, by its first text.
    pub(super) numbers: FxHashMap<u32, usize>,
    /// Notes outside of the selection, or within a paragraph, in the order of their references.
    pub(super) apart: Vec<u32>,
}

/// A reference and its note.
struct Found {
    reference: u32,
    body: u32,
    /// The author's own label, if the note's name contains it.
    label: Option<String>,
    marker: String,
}

impl Notes {
    pub(super) fn of(page: &Page<'_>, selection: &Selection) -> Self {
        let mut finder = Finder { page, selection, targets: None, links: None, tries: 0 };
        let mut notes = Self::default();
        let mut found: Vec<Found> = Vec::new();
        for &root in &selection.roots {
            let mut id = root;
            while id < page.dom.end(root) && !page.budget.is_over() {
                if selection.drop[id as usize] || !page.is_visible(id) {
                    id = page.dom.end(id);
                    continue;
                }
                match page.dom.tag(id) {
                    Tag::A => found.extend(finder.by_link(id)),
                    Tag::Pre => id = page.dom.end(id) - 1,
                    _ => {}
                }
                id += 1;
            }
        }
        if found.is_empty() {
            found = numbered::find(page, selection);
        }
        let beside = sidenotes::find(page, selection);
        let mut number = 0;
        found.extend(beside.iter().map(|(reference, body)| {
            number += 1;
            Found { reference: *reference, body: *body, label: None, marker: number.to_string() }
        }));
        found.sort_by_key(|one| one.reference);
        notes.settle(page, selection, found);
        notes
    }

    /// Labels the notes, and finds their backlinks.
    fn settle(&mut self, page: &Page<'_>, selection: &Selection, found: Vec<Found>) {
        let mut taken: FxHashSet<String> = FxHashSet::default();
        let mut back: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let bodies: FxHashSet<u32> = found.iter().map(|one| one.body).collect();
        for one in found {
            // A note's own number that links back is no reference.
            let own_number = page.dom.ancestors(one.reference).any(|up| up == one.body);
            // Nor is the backlink of a note with several references, if the paragraph of a reference looks like a
            // note.
            let inside = page.dom.ancestors(one.reference).find_map(|up| back.get(&up));
            let is_backlink = inside.is_some_and(|references| {
                references.iter().any(|reference| (one.body..page.dom.end(one.body)).contains(reference))
            });
            if self.skipped.contains(&one.reference)
                || own_number
                || is_backlink
                || one.reference != one.body && bodies.contains(&one.reference)
            {
                continue;
            }
            let label = match self.bodies.get(&one.body) {
                Some(label) => label.clone(),
                None => {
                    let mut label = one.label.clone().unwrap_or_else(|| one.marker.clone());
                    let mut next = taken.len() + 1;
                    while !taken.insert(label.clone()) {
                        label = next.to_string();
                        next += 1;
                    }
                    self.bodies.insert(one.body, label.clone());
                    let inside = (one.reference..page.dom.end(one.reference)).contains(&one.body);
                    if inside || !is_written(page, selection, one.body) {
                        self.apart.push(one.body);
                    }
                    self.skip_number(page, one.body, &one.marker);
                    label
                }
            };
            back.entry(one.body).or_default().push(one.reference);
            self.references.insert(one.reference, label);
        }
        for (body, references) in back {
            self.skip_back(page, body, &references);
        }
    }
}

fn names_of(dom: &Dom, id: u32) -> impl Iterator<Item = &str> {
    [dom.attr(id, &local_name!("id")), dom.attr(id, &local_name!("name"))].into_iter().flatten()
}

/// Number without its brackets.
pub(super) fn marker_of(text: &str) -> String {
    let folded = text::fold(text);
    folded.trim_matches(|c: char| is_bracket(c) || c == ' ').to_owned()
}

const fn is_bracket(c: char) -> bool {
    matches!(c, '[' | ']' | '(' | ')' | '.' | '^')
}

/// Returns true if the text of a link is longer than a number without its brackets.
fn is_too_long(dom: &Dom, link: u32) -> bool {
    let inner = |c: &char| !is_bracket(*c) && !c.is_whitespace();
    (link..dom.end(link)).flat_map(|node| dom.text(node).chars()).filter(inner).nth(MAX_MARKER).is_some()
}

fn is_marker(marker: &str, raised: bool) -> bool {
    let count = marker.chars().count();
    let number = marker.bytes().all(|b| b.is_ascii_digit());
    let signs = marker.chars().all(|c| matches!(c, '*' | '†' | '‡' | '§' | '¶' | '※'));
    (1..=MAX_MARKER).contains(&count)
        && (number || signs || raised && marker.chars().all(char::is_alphanumeric))
}

struct Finder<'a, 'b> {
    page: &'a Page<'b>,
    selection: &'a Selection,
    /// Elements by id or name.
    targets: Option<FxHashMap<&'a str, u32>>,
    /// The last link to each fragment.
    links: Option<FxHashMap<&'a str, u32>>,
    /// Links that were looked at.
    tries: usize,
}

impl<'a> Finder<'a, '_> {
    fn by_link(&mut self, link: u32) -> Option<Found> {
        let dom = &self.page.dom;
        let href = dom.attr(link, &local_name!("href"))?.trim();
        let raised =
            std::iter::once(dom.parent(link)).chain(dom.children(link)).any(|node| dom.tag(node) == Tag::Sup);
        // Most links are too long for a number, and the names are expensive.
        if is_too_long(dom, link) {
            return None;
        }
        let marker = marker_of(&dom.raw_text(link));
        if !(1..=MAX_MARKER).contains(&marker.chars().take(MAX_MARKER + 1).count()) {
            return None;
        }
        let named = self.is_named(link) || self.is_named(dom.parent(link));
        if !is_marker(&marker, raised || named) {
            return None;
        }
        self.tries += 1;
        if self.tries > MAX_TRIES {
            return None;
        }
        let (name, target) = self.note_target(link, href)?;
        let body = self.body(target).filter(|body| !(*body..dom.end(*body)).contains(&link))?;
        let back = (body..dom.end(body)).filter(|node| dom.tag(*node) == Tag::A).any(|node| {
            let href = dom.attr(node, &local_name!("href")).and_then(|href| href.rsplit_once('#'));
            let Some((_, name)) = href else { return false };
            let near = |id: u32| names_of(dom, id).any(|own| own == name);
            near(link) || dom.ancestors(link).take(MAX_BACKLINK_ANCESTORS).any(near) || name.contains("ref")
        });
        let starts = marker_starts(dom, body, &marker);
        let is_note = back || self.is_note(body, &name) && (raised || named || starts);
        // Outside of the content there are lists of other things, too.
        if !is_written(self.page, self.selection, body) && !(self.is_note(body, &name) && (raised || named)) {
            return None;
        }
        is_note.then(|| Found { reference: self.whole(link), body, label: label_of(&name), marker })
    }

    /// Target of a link within the page, and its name. The URL identifies it. For a script, the link's own name does,
    /// which is the note's name with `ref` in it.
    fn note_target(&mut self, link: u32, href: &str) -> Option<(String, u32)> {
        let dom = &self.page.dom;
        if let Some((file, name)) = href.split_once('#').filter(|(_, name)| !name.is_empty()) {
            let own = || self.page.url?.path().rsplit('/').next().filter(|own| !own.is_empty());
            let target = self.target(name).or_else(|| self.backlink_target(link, name))?;
            let is_own = file.is_empty() || file.rsplit('/').next() == own();
            // A copy of a page has the URLs of the original.
            let is_copy = || marker_starts(dom, target, &marker_of(&dom.raw_text(link)));
            return (is_own || is_copy()).then(|| (name.to_owned(), target));
        }
        let own = names_of(dom, link).chain(names_of(dom, dom.parent(link)));
        let names: Vec<String> =
            own.filter(|own| own.contains("ref")).map(|own| own.replacen("ref", "", 1)).collect();
        names.into_iter().find_map(|name| self.target(&name).map(|target| (name, target)))
    }

    /// A later link to the reference, if the note's own name was lost.
    fn backlink_target(&mut self, link: u32, name: &str) -> Option<u32> {
        let dom = &self.page.dom;
        let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        if number.is_empty() || number.len() == name.len() {
            return None;
        }
        let links = self.links.get_or_insert_with(|| {
            let links = (0..dom.len()).filter(|node| dom.tag(*node) == Tag::A);
            let fragment =
                |link: u32| dom.attr(link, &local_name!("href"))?.rsplit_once('#').map(|(_, name)| name);
            links.filter_map(|link| Some((fragment(link)?, link))).collect()
        });
        let back = format!("{}ref{number}", &name[..name.len() - number.len()]);
        links.get(back.as_str()).copied().filter(|back| *back > link)
    }

    /// Reference with its brackets and superscript.
    fn whole(&self, link: u32) -> u32 {
        let dom = &self.page.dom;
        let parent = dom.parent(link);
        if dom.end(parent) - parent > MAX_AROUND {
            return link;
        }
        let alone = marker_of(&dom.raw_text(parent)) == marker_of(&dom.raw_text(link));
        let inline = !dom.tag(parent).is_block() && dom.tag(parent) != Tag::Document;
        if alone && inline { parent } else { link }
    }

    fn target(&mut self, name: &str) -> Option<u32> {
        let dom = &self.page.dom;
        let targets = self.targets.get_or_insert_with(|| {
            let mut targets = FxHashMap::default();
            for id in (0..dom.len()).filter(|id| dom.tag(*id) != Tag::Text) {
                names_of(dom, id).for_each(|name| {
                    targets.entry(name).or_insert(id);
                });
            }
            targets
        });
        targets.get(name).copied().or_else(|| {
            // Percent signs in the link, letters in the id.
            let decoded = name.replace("%3A", ":").replace("%20", " ");
            targets.get(decoded.as_str()).copied()
        })
    }

    /// Block of a target, if it is written: a paragraph, an item, or a box of some.
    fn body(&self, target: u32) -> Option<u32> {
        let dom = &self.page.dom;
        let mut body = target;
        while !dom.tag(body).is_block() {
            body = dom.parent(body);
            if body == NONE {
                return None;
            }
        }
        let item = dom.ancestors(body).take(2).find(|up| dom.tag(*up) == Tag::Li);
        if let Some(item) = item.filter(|item| first_block(dom, *item) == body) {
            body = item;
        }
        let fits = matches!(dom.tag(body), Tag::Li | Tag::P | Tag::Div | Tag::Aside | Tag::Dd | Tag::Section);
        if !fits || dom.end(body) - body > MAX_NODES {
            return None;
        }
        let amount = self.page.amount(body);
        let heading = (body..dom.end(body)).any(|node| dom.tag(node).heading_level().is_some());
        (!heading && (1..=MAX_NOTE).contains(&amount.chars)).then_some(body)
    }

    fn is_named(&self, id: u32) -> bool {
        let names = &self.page.rules.extraction.markdown.notes;
        self.page.dom.attrs(id).any(|(name, value)| {
            let is_hint = matches!(&**name, "class" | "role" | "id" | "epub:type" | "rel" | "data-type");
            is_hint && names.iter().any(|note| value.contains(note.as_str()))
        })
    }

    /// Returns true if the element, its name or its surroundings are called a note.
    fn is_note(&self, body: u32, name: &str) -> bool {
        let names = &self.page.rules.extraction.markdown.notes;
        names.iter().any(|note| name.contains(note.as_str()))
            || self.is_named(body)
            || self.page.dom.ancestors(body).take(MAX_BACKLINK_ANCESTORS).any(|up| self.is_named(up))
            || name.starts_with("fn")
    }
}

/// Label that an author of Markdown gave a note: the text after `fn-` or `fn:`.
fn label_of(name: &str) -> Option<String> {
    let name = name.strip_prefix("user-content-").unwrap_or(name);
    let label = name.strip_prefix("fn-").or_else(|| name.strip_prefix("fn:"))?;
    let plain = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    (plain && (1..=MAX_LABEL).contains(&label.len())).then(|| label.to_owned())
}

/// Maximum bytes of a text node that are read for a marker.
const MAX_START: usize = 200;
/// Maximum bytes of a label; a longer name is generated.
const MAX_LABEL: usize = 20;

fn first_block(dom: &Dom, id: u32) -> u32 {
    dom.children(id).find(|child| dom.tag(*child).is_block()).unwrap_or(id)
}

fn marker_starts(dom: &Dom, body: u32, marker: &str) -> bool {
    // A target may be the whole page: only its first words are read.
    let end = dom.end(body).min(body + MAX_NODES);
    let mut start = String::new();
    for node in body..end {
        if start.len() > MAX_LABEL + marker.len() {
            break;
        }
        start.push_str(text::head(dom.text(node), MAX_START).trim_start());
    }
    let text = text::fold(&start);
    let text = text.trim_start_matches(['[', '(']);
    text.strip_prefix(marker).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns true if a note is in the selection, and not dropped from it.
fn is_written(page: &Page<'_>, selection: &Selection, body: u32) -> bool {
    let dom = &page.dom;
    let kept = dom.ancestors(body).chain([body]).all(|up| !selection.drop[up as usize]);
    kept && selection.roots.iter().any(|root| (*root..dom.end(*root)).contains(&body))
}
