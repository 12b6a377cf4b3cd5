//! Explanation of an extraction: the output of `crawl extract --explain`.
//!
//! Steps write notes to a [`Trace`], which does nothing unless an explanation was requested. Facts that the
//! final page shows (consent banners, names of boilerplate) are derived here.

mod shown;

use crate::{
    content::Selection,
    dom::{NONE, Tag},
    page::{HiddenReason, Page},
    render::{Kind, Piece},
    rules::Hit,
    text,
};
use crawl_model::Extractor;
use html5ever::local_name;
use rustc_hash::FxHashMap;
use serde::Serialize;
pub use shown::{Shown, Span};
use std::cell::RefCell;

/// Explanation of an extraction, which itself names the extractor and the reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Explanation {
    /// Evidence for the type of page, in sentences.
    pub evidence: Vec<String>,
    /// Parts of the article score (heuristics reference §1), in points.
    pub score: Vec<Points>,
    /// Candidates for the content, in the order of evaluation.
    pub candidates: Vec<Candidate>,
    /// Consent banners that were removed first.
    pub removed: Vec<Removal>,
    /// Dropped parts of the content, and lines that the last passes dropped.
    pub dropped: Vec<Removal>,
    /// Sources of title, authors and dates.
    pub metadata: Vec<Source>,
    /// Blocks of the source page in order, each with its fate. Not among the fields for programs, since it is
    /// as long as the page.
    #[serde(skip)]
    pub page: Vec<Shown>,
}

/// A part of the article score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Points {
    /// Points, possibly negative.
    pub points: i32,
    /// Signal of the points.
    pub signal: &'static str,
}

/// A candidate for the content, with the features that decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Candidate {
    /// Method that found it.
    pub name: String,
    /// Its elements, as `tag#id.class`; at most [`MAX_ELEMENTS`].
    pub elements: Vec<String>,
    /// Words after pruning.
    pub words: u32,
    /// Characters, whitespace folded.
    pub characters: u32,
    /// Share of the characters in long blocks outside of links, 0 to 1.
    pub prose: f32,
    /// Share of the characters inside links, 0 to 1.
    pub link_density: f32,
    /// Commas and ends of sentences.
    pub marks: u32,
    /// Points of its scoring method, if any.
    pub score: Option<f32>,
    /// True if it is the content.
    pub taken: bool,
}

/// Something that was taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Removal {
    /// The rule that did it.
    pub rule: String,
    /// The element, as `tag#id.class`, or the kind of line.
    pub element: String,
    /// Its words.
    pub words: u32,
    /// Its first words.
    pub starts: String,
}

/// Source of a field of the metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// `title`, `authors`, `published`, `modified`.
    pub field: &'static str,
    /// Name of the source.
    pub source: &'static str,
}

/// Maximum elements of a candidate that are listed.
pub const MAX_ELEMENTS: usize = 5;
/// Maximum bytes shown of a removed part.
const STARTS: usize = 80;
/// Maximum listed removals of one kind, since a page may have one per line.
const MAX_REMOVALS: usize = 200;

/// Notes for an explanation, if one was requested.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Box<RefCell<Notes>>>);

#[derive(Debug, Default)]
struct Notes {
    explanation: Explanation,
    /// Pass that dropped a node from a candidate.
    marks: FxHashMap<u32, &'static str>,
    /// Pass that dropped the line of a text node.
    lines: FxHashMap<u32, &'static str>,
}

impl Trace {
    /// Creates a trace that takes notes; the default takes none.
    pub(crate) fn on() -> Self {
        Self(Some(Box::default()))
    }

    /// Returns true if notes are taken.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn note(&self, take: impl FnOnce(&mut Notes)) {
        if let Some(mut notes) = self.0.as_ref().and_then(|notes| notes.try_borrow_mut().ok()) {
            take(&mut notes);
        }
    }

    /// Adds evidence for the type of page.
    pub(crate) fn evidence(&self, visit: impl FnOnce() -> String) {
        self.note(|notes| notes.explanation.evidence.push(visit()));
    }

    /// A part of the article score.
    pub(crate) fn points(&self, points: i32, signal: &'static str) {
        self.note(|notes| notes.explanation.score.push(Points { points, signal }));
    }

    /// Adds a candidate, chosen or not.
    pub(crate) fn candidate(&self, page: &Page<'_>, name: &str, selection: &Selection) {
        self.note(|notes| notes.explanation.candidates.push(candidate(page, name, selection)));
    }

    /// Sets the points of the last candidate.
    pub(crate) fn score(&self, score: f32) {
        self.note(|notes| {
            if let Some(last) = notes.explanation.candidates.last_mut() {
                last.score = Some(score);
            }
        });
    }

    /// Notes a pass that drops a subtree from a candidate.
    pub(crate) fn mark(&self, id: u32, pass: &'static str) {
        self.note(|notes| {
            notes.marks.entry(id).or_insert(pass);
        });
    }

    /// Notes a pass that drops a line from the content.
    pub(crate) fn line(&self, piece: &Piece, pass: &'static str) {
        self.note(|notes| {
            notes.lines.extend(piece.nodes.iter().map(|node| (*node, pass)));
            if notes.explanation.dropped.len() < MAX_REMOVALS {
                notes.explanation.dropped.push(Removal {
                    rule: pass.to_owned(),
                    element: kind_name(piece.kind).to_owned(),
                    words: crate::words::count_words(&piece.text),
                    starts: text::head(&piece.text, STARTS).to_owned(),
                });
            }
        });
    }

    /// Notes the source of a metadata field.
    pub(crate) fn source(&self, field: &'static str, source: &'static str) {
        self.note(|notes| notes.explanation.metadata.push(Source { field, source }));
    }

    /// Notes the reductions of the chosen part. Call it before lines are dropped, to keep the order.
    pub(crate) fn chosen(&self, page: &Page<'_>, selection: &Selection, extractor: Extractor) {
        self.note(|notes| {
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

    /// Notes the fate of each block of the page, with the reason of a drop. Call it after the text is
    /// written.
    pub(crate) fn written(&self, page: &Page<'_>, selection: &Selection, in_content: &[bool]) {
        self.note(|notes| {
            let dropped_nodes = shown::DroppedNodes { marks: &notes.marks, lines: &notes.lines };
            notes.explanation.page = shown::blocks(page, selection, in_content, &dropped_nodes);
        });
    }

    /// The explanation, if one was requested.
    pub(crate) fn finish(self, page: &Page<'_>) -> Option<Explanation> {
        let notes = self.0?.into_inner();
        Some(Explanation { removed: consent(page), ..notes.explanation })
    }
}

fn candidate(page: &Page<'_>, name: &str, selection: &Selection) -> Candidate {
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
        starts: text::head(&text::fold(text::head(text, 8 * STARTS)), STARTS).to_owned(),
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
    text::head(&out, STARTS).to_owned()
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Heading(_) => "heading",
        Kind::Paragraph => "paragraph",
        Kind::Item => "item",
        Kind::Code => "code",
        Kind::Table => "table",
    }
}
