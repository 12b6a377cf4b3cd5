//! Why a page came out as it did: what `crawl extract --explain` tells.
//!
//! Steps write down what they did in a [`Trace`], which does nothing unless an explanation was asked for; what can be
//! seen from the page afterwards (consent banners, names that are boilerplate) is worked out here.

mod shown;

use crate::{
    content::Selection,
    dom::{NONE, Tag},
    page::{Gone, Page},
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

/// Why a page came out as it did. Which extractor was taken, and why, stands in the extraction itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// What speaks for the kind of page, in sentences.
    pub evidence: Vec<String>,
    /// The parts of the article score (heuristics reference §1), in points.
    pub score: Vec<Points>,
    /// What could have been the content, in the order in which it was tried.
    pub candidates: Vec<Candidate>,
    /// Consent banners that were removed before anything else.
    pub removed: Vec<Removal>,
    /// What was left out of the chosen part, and lines that the last passes dropped.
    pub dropped: Vec<Removal>,
    /// Where title, authors and dates come from.
    pub metadata: Vec<Source>,
    /// The source page's blocks in order, each with what became of it. Not among the fields for programs: it is as long as the page.
    #[serde(skip)]
    pub page: Vec<Shown>,
}

/// A part of the article score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Points {
    /// Points, possibly negative.
    pub points: i32,
    /// What they are for.
    pub signal: &'static str,
}

/// A part of the page that could have been its content, with the features it is judged by.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Which way of looking found it.
    pub name: String,
    /// Its elements, as `tag#id.class`; at most [`MAX_ELEMENTS`].
    pub elements: Vec<String>,
    /// Words that are left of it after pruning.
    pub words: u32,
    /// Characters, whitespace folded.
    pub characters: u32,
    /// Share of the characters that stand in long blocks outside of links, 0 to 1.
    pub prose: f32,
    /// Share of the characters that stand inside links, 0 to 1.
    pub link_density: f32,
    /// Commas and ends of sentences.
    pub marks: u32,
    /// Points that its way of looking gave it, where it gives any.
    pub score: Option<f32>,
    /// The content comes from it.
    pub taken: bool,
}

/// Something that was taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// The rule that did it.
    pub rule: String,
    /// The element, as `tag#id.class`, or what kind of line it was.
    pub element: String,
    /// Its words.
    pub words: u32,
    /// How it begins.
    pub starts: String,
}

/// Where a field of the metadata comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// `title`, `authors`, `published`, `modified`.
    pub field: &'static str,
    /// What said so.
    pub source: &'static str,
}

/// Elements of a candidate that are named.
pub const MAX_ELEMENTS: usize = 5;
/// How much of what was taken out is shown (bytes).
const STARTS: usize = 80;
/// Removals of one kind that are told; a page may have as many as it has lines.
const MAX_REMOVALS: usize = 200;

/// Takes notes if an explanation was asked for.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Box<RefCell<Notes>>>);

#[derive(Debug, Default)]
struct Notes {
    explanation: Explanation,
    /// By node: the pass that left it out of one of the candidates.
    marks: FxHashMap<u32, &'static str>,
    /// By text node: the pass that dropped the line it stands in.
    lines: FxHashMap<u32, &'static str>,
}

impl Trace {
    /// A trace that takes notes; the default takes none.
    pub(crate) fn on() -> Self {
        Self(Some(Box::default()))
    }

    /// Whether notes are taken.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn note(&self, take: impl FnOnce(&mut Notes)) {
        if let Some(mut notes) = self.0.as_ref().and_then(|notes| notes.try_borrow_mut().ok()) {
            take(&mut notes);
        }
    }

    /// Something that speaks for the kind of page.
    pub(crate) fn evidence(&self, tell: impl FnOnce() -> String) {
        self.note(|notes| notes.explanation.evidence.push(tell()));
    }

    /// A part of the article score.
    pub(crate) fn points(&self, points: i32, signal: &'static str) {
        self.note(|notes| notes.explanation.score.push(Points { points, signal }));
    }

    /// A candidate, whether it is taken or not.
    pub(crate) fn candidate(&self, page: &Page<'_>, name: &str, selection: &Selection) {
        self.note(|notes| notes.explanation.candidates.push(candidate(page, name, selection)));
    }

    /// The points of the candidate that was noted last.
    pub(crate) fn score(&self, score: f32) {
        self.note(|notes| {
            if let Some(last) = notes.explanation.candidates.last_mut() {
                last.score = Some(score);
            }
        });
    }

    /// A pass leaves a subtree out of a candidate.
    pub(crate) fn mark(&self, id: u32, pass: &'static str) {
        self.note(|notes| {
            notes.marks.entry(id).or_insert(pass);
        });
    }

    /// A pass leaves a line out of the content.
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

    /// A field of the metadata has been found.
    pub(crate) fn source(&self, field: &'static str, source: &'static str) {
        self.note(|notes| notes.explanation.metadata.push(Source { field, source }));
    }

    /// What the chosen part has been cut down by. To be called before lines are dropped, so that the order is kept.
    pub(crate) fn chosen(&self, page: &Page<'_>, selection: &Selection, extractor: Extractor) {
        self.note(|notes| {
            let found = left_out(page, selection, &notes.marks);
            notes.explanation.dropped.extend(found);
            let elements = elements(page, selection);
            let same = notes.explanation.candidates.iter_mut().rev().filter(|c| c.elements == elements);
            // Two ways of looking may find the same elements: then the extractor's name tells them apart.
            let other = |c: &Candidate| !called(extractor).contains(&c.name.as_str());
            if let Some(taken) = same.min_by_key(|c| (other(c), c.words.abs_diff(selection.words))) {
                taken.taken = true;
            }
        });
    }

    /// Notes for each block of the page if it was kept, or why it was dropped. Call it when the text is written.
    pub(crate) fn written(&self, page: &Page<'_>, selection: &Selection, in_content: &[bool]) {
        self.note(|notes| {
            let fates = shown::Fates { marks: &notes.marks, lines: &notes.lines };
            notes.explanation.page = shown::blocks(page, selection, in_content, &fates);
        });
    }

    /// The explanation, if one was asked for.
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

/// The names of the candidates that an extractor takes its content from.
const fn called(extractor: Extractor) -> &'static [&'static str] {
    match extractor {
        Extractor::Readability => &["readability"],
        Extractor::Trafilatura => &["trafilatura"],
        Extractor::BodyFallback => &["whole body", "second try"],
        Extractor::PageType => &["platform", "documentation"],
        Extractor::PrioritySelector | Extractor::DomDensity => &["dom heuristic"],
        _ => &[],
    }
}

fn elements(page: &Page<'_>, selection: &Selection) -> Vec<String> {
    selection.roots.iter().take(MAX_ELEMENTS).map(|root| described(page, *root)).collect()
}

/// The outermost subtrees that the selection leaves out.
fn left_out(page: &Page<'_>, selection: &Selection, marks: &FxHashMap<u32, &'static str>) -> Vec<Removal> {
    let mut out = Vec::new();
    left_out_each(page, selection, marks, |id, rule| {
        out.push(removal(page, id, rule, page.amount(id).words, &page.visible_text(id)));
        out.len() < MAX_REMOVALS
    });
    out
}

/// Tells each outermost subtree with text that the selection leaves out, with its rule, until `tell` says no.
fn left_out_each(
    page: &Page<'_>,
    selection: &Selection,
    marks: &FxHashMap<u32, &'static str>,
    mut tell: impl FnMut(u32, String) -> bool,
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
                if !tell(id, rule) {
                    return;
                }
            }
            id = page.dom.end(id);
        }
    }
}

/// What the element's tag, role and names say.
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

/// The outermost elements that were removed as consent banners, each with the rule that matches it.
fn consent(page: &Page<'_>) -> Vec<Removal> {
    let mut out = Vec::new();
    let mut id = page.body;
    let end = page.dom.end(page.body);
    while id < end && out.len() < MAX_REMOVALS {
        if page.gone[id as usize] != Gone::Consent {
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
