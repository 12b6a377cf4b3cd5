//! A second copy of the text on the same page, such as a copy for printing.

use super::{Pieces, REPEATED};
use crate::render::Kind;
use std::collections::{HashMap, hash_map::Entry};
use xxhash_rust::xxh3::xxh3_64;

/// Minimum bytes of the paragraphs of a copy.
const MIN_COPY: usize = 500;
/// Maximum pieces of the first text between two consecutive paragraphs of a copy.
const MAX_GAP: usize = 3;

/// Drops paragraphs that occur before in the same order and close together. A single paragraph of a text may
/// rightly occur twice.
pub(super) fn drop_copy(pieces: &mut Pieces<'_>) {
    let mut first: HashMap<u64, usize> = HashMap::new();
    let mut copies = vec![false; pieces.list.len()];
    let mut run = Run::default();
    for (at, piece) in pieces.list.iter().enumerate() {
        if piece.kind != Kind::Paragraph || piece.plain().len() < *REPEATED.start() {
            continue;
        }
        match first.entry(xxh3_64(piece.bare().as_bytes())) {
            Entry::Vacant(entry) => {
                entry.insert(at);
                run.end(&mut copies);
            }
            Entry::Occupied(entry) => {
                let before = *entry.get();
                if !run.last.is_some_and(|last| (last + 1..=last + MAX_GAP).contains(&before)) {
                    run.end(&mut copies);
                }
                run.paragraphs.push(at);
                run.bytes += piece.plain().len();
                run.last = Some(before);
            }
        }
    }
    run.end(&mut copies);
    let mut at = 0..;
    pieces.keep("a second copy of the text", |_| !at.next().is_some_and(|at| copies[at]));
}

/// Consecutive paragraphs that occur before in the same order.
#[derive(Default)]
struct Run {
    paragraphs: Vec<usize>,
    bytes: usize,
    /// Position of the earlier occurrence of the last paragraph.
    last: Option<usize>,
}

impl Run {
    /// Marks the paragraphs of a copy, and begins a new run.
    fn end(&mut self, copies: &mut [bool]) {
        if self.paragraphs.len() > 1 && self.bytes >= MIN_COPY {
            self.paragraphs.iter().for_each(|at| copies[*at] = true);
        }
        *self = Self::default();
    }
}
