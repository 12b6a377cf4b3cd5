//! Notes of the steps for an explanation. A [`Trace`] does nothing unless an explanation was requested.

use crate::{
    explanation::{Explanation, Points, Removal, Source},
    text,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Maximum bytes shown of a removed part.
pub(crate) const MAX_SHOWN_BYTES: usize = 80;
/// Maximum listed removals of one kind, since a page may have one per line.
pub(crate) const MAX_REMOVALS: usize = 200;

/// Notes for an explanation, if one was requested.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Box<RefCell<Notes>>>);

/// Explanation so far, and the dropped nodes.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) explanation: Explanation,
    /// Pass that dropped a node from a candidate.
    pub(crate) marks: FxHashMap<u32, &'static str>,
    /// Pass that dropped the line of a text node.
    pub(crate) lines: FxHashMap<u32, &'static str>,
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

    /// Changes the notes, if notes are taken.
    pub(crate) fn note(&self, take: impl FnOnce(&mut Notes)) {
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

    /// Notes a pass that drops a line from the content: its text nodes, kind and text.
    pub(crate) fn line(&self, nodes: &[u32], kind: &str, line: &str, pass: &'static str) {
        self.note(|notes| {
            notes.lines.extend(nodes.iter().map(|node| (*node, pass)));
            if notes.explanation.dropped.len() < MAX_REMOVALS {
                notes.explanation.dropped.push(Removal {
                    rule: pass.to_owned(),
                    element: kind.to_owned(),
                    words: crate::words::count_words(line),
                    starts: text::head(line, MAX_SHOWN_BYTES).to_owned(),
                });
            }
        });
    }

    /// Notes the source of a metadata field.
    pub(crate) fn source(&self, field: &'static str, source: &'static str) {
        self.note(|notes| notes.explanation.metadata.push(Source { field, source }));
    }

    /// The notes, if notes were taken.
    pub(crate) fn into_notes(self) -> Option<Notes> {
        self.0.map(|notes| notes.into_inner())
    }
}
