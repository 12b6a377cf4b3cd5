//! Marks that Markdown cannot nest, or would not recognise at their position.

use super::{Part, is_emphasis, sort, trimmed, trimmed_of_spaces};
use crate::render::inline::Mark;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Splits marks that Markdown cannot nest. A mark within one of its kind is removed. Code holds no marks, and
/// is cut at the borders of links.
pub(super) fn nested<'a>(text: &str, parts: Vec<Part<'a>>) -> Vec<Part<'a>> {
    let mut out: Vec<Part<'a>> = Vec::with_capacity(parts.len());
    let mut open: Vec<Part<'a>> = Vec::new();
    let mut code: Option<Part<'a>> = None;
    let mut cut = false;
    let end_code = |code: Part<'a>, out: &mut Vec<Part<'a>>| {
        if let Some(range) = trimmed(text, code.range.clone()) {
            out.push(Part { range, ..code });
        }
    };
    for mut part in parts {
        while open.last().is_some_and(|last| last.range.end <= part.range.start) {
            open.pop();
        }
        if let Some(last) = open.last() {
            part.range.end = part.range.end.min(last.range.end);
        }
        if code.as_ref().is_some_and(|code| code.range.end <= part.range.start) {
            code.take().into_iter().for_each(|code| end_code(code, &mut out));
        }
        let same = |last: &Part<'_>| std::mem::discriminant(last.mark) == std::mem::discriminant(part.mark);
        let within = open.iter().filter(|last| same(last)).count();
        let accent = *part.mark == Mark::Em && within == 1 && is_apart(text, &part.range);
        if within > 0 && !accent || open.iter().any(|last| *last.mark == Mark::Raw) {
            continue;
        }
        let links = matches!(part.mark, Mark::Link { .. } | Mark::Raw);
        if let Some(whole) = &mut code {
            if !links {
                continue;
            }
            let rest = part.range.end.max(whole.range.start)..whole.range.end;
            let before = Part { range: whole.range.start..part.range.start, ..whole.clone() };
            // Now the link encloses the code.
            let within = Part { range: part.range.clone(), order: part.order, mark: whole.mark };
            part.order = whole.order;
            whole.range = rest;
            cut = true;
            end_code(before, &mut out);
            if *part.mark != Mark::Raw {
                end_code(within, &mut out);
            }
        } else if *part.mark == Mark::Code {
            code = Some(part);
            continue;
        }
        open.push(part.clone());
        out.push(part);
    }
    code.into_iter().for_each(|code| end_code(code, &mut out));
    out.retain(|part| part.range.start < part.range.end);
    if cut || !out.is_sorted_by_key(|part| part.range.start) {
        sort(&mut out);
    }
    out
}

/// Returns true if no letter touches a range, so that italics within italics can be marked.
fn is_apart(text: &str, range: &Range<usize>) -> bool {
    let outside = [text[..range.start].chars().next_back(), text[range.end..].chars().next()];
    outside.into_iter().flatten().all(|c| !c.is_alphanumeric() && c != '_')
}

/// Returns true for CommonMark's punctuation, which decides if a mark opens or closes: neither a letter, a
/// digit nor whitespace.
fn is_punctuation(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace()
}

/// Starts and ends of the marks that are punctuation themselves, in the order of their creation.
#[derive(Default)]
struct Borders {
    starts: FxHashMap<usize, (usize, usize)>,
    ends: FxHashMap<usize, (usize, usize)>,
    links: FxHashMap<Range<usize>, usize>,
}

impl Borders {
    /// Borders of the parts that are not left out.
    fn of(parts: &[Part<'_>], left_out: &[&Mark]) -> Self {
        let mut borders = Self::default();
        for part in parts.iter().filter(|part| !left_out.contains(&part.mark)) {
            for (side, at) in [(&mut borders.starts, part.range.start), (&mut borders.ends, part.range.end)] {
                let (least, most) = side.entry(at).or_insert((part.order, part.order));
                *least = part.order.min(*least);
                *most = part.order.max(*most);
            }
            if matches!(part.mark, Mark::Link { .. }) {
                borders.links.insert(part.range.clone(), part.order);
            }
        }
        borders
    }
}

/// Moves marks of emphasis off punctuation where they would not be recognised (`a**「b」**c`), and drops those
/// that still would not. Returns true if a mark was moved or dropped.
pub(super) fn fit(text: &str, parts: &mut Vec<Part<'_>>, all: &Range<usize>) -> bool {
    if !parts.iter().any(|part| is_emphasis(part.mark)) {
        return false;
    }
    let mut changed = false;
    // Some libraries skip tildes, others treat them as punctuation.
    let stars = [&[&Mark::Strong, &Mark::Em, &Mark::Del][..], &[&Mark::Strong, &Mark::Em]];
    let before = |at: usize| text[all.start..at].chars().next_back();
    let after = |at: usize| text[at..all.end].chars().next();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    // The borders count only where a mark touches a word.
    let touches = |part: &Part<'_>| {
        is_emphasis(part.mark) && (is_word(before(part.range.start)) || is_word(after(part.range.end)))
    };
    let counted = if parts.iter().any(touches) { &parts[..] } else { &[] };
    let stars = stars.map(|left_out| Borders::of(counted, left_out));
    let waves = Borders::of(counted, &[&Mark::Del]);
    for part in parts.iter_mut().filter(|part| is_emphasis(part.mark)) {
        let order = part.order;
        let is_del = *part.mark == Mark::Del;
        let borders = if is_del { &waves } else { &stars[0] };
        let stands = |borders: &Borders, at: usize, starts: bool| {
            let (own, other) =
                if starts { (&borders.starts, &borders.ends) } else { (&borders.ends, &borders.starts) };
            let outer = own.get(&at).is_some_and(|(_, most)| *most > order);
            let inner = own.get(&at).is_some_and(|(least, _)| *least < order);
            (other.contains_key(&at) || outer, inner)
        };
        let Range { mut start, mut end } = part.range.clone();
        let mut stuck = false;
        for (at, starts) in [(start, true), (end, false)] {
            if !is_word(if starts { before(at) } else { after(at) }) {
                continue;
            }
            let (beside, holds) = stands(borders, at, starts);
            if !beside {
                stuck |= holds;
                let edge = if starts { after(at) } else { before(at) };
                let moved = edge.filter(|c| is_punctuation(*c)).map_or(0, char::len_utf8);
                if starts { start += moved } else { end -= moved }
            }
            let (beside, holds) = stands(&stars[1], at, starts);
            stuck |= !is_del && !beside && holds;
        }
        changed |= stuck || (start, end) != (part.range.start, part.range.end);
        if stuck {
            match borders.links.get(&part.range) {
                // Within the link's brackets the mark is recognised.
                Some(link) => part.order = link - 1,
                None => part.range = start..start,
            }
        } else {
            part.range = trimmed_of_spaces(text, start..end.max(start)).unwrap_or(start..start);
        }
    }
    parts.retain(|part| part.range.start < part.range.end);
    let before = parts.len();
    sort(parts);
    part_runs(text, parts);
    changed || parts.len() < before
}

/// Drops italics that touch bold text and contain some, or touch it at punctuation or at another mark. The
/// stars of both would form one run, with another meaning.
fn part_runs(text: &str, parts: &mut Vec<Part<'_>>) {
    if !parts.iter().any(|part| *part.mark == Mark::Em) {
        return;
    }
    let bold: Vec<Range<usize>> =
        parts.iter().filter(|part| *part.mark == Mark::Strong).map(|part| part.range.clone()).collect();
    if bold.is_empty() {
        return;
    }
    let starts: FxHashSet<usize> = bold.iter().map(|range| range.start).collect();
    let ends: FxHashSet<usize> = bold.iter().map(|range| range.end).collect();
    let mut borders: FxHashMap<usize, u32> = FxHashMap::default();
    for part in parts.iter() {
        *borders.entry(part.range.start).or_default() += 1;
        *borders.entry(part.range.end).or_default() += 1;
    }
    let is_plain = |at: usize| {
        let sides = [text[..at].chars().next_back(), text[at..].chars().next()];
        // One mark ends there, and one begins.
        borders.get(&at) == Some(&2) && sides.into_iter().all(|side| side.is_some_and(char::is_alphanumeric))
    };
    parts.retain(|part| {
        let Range { start, end } = part.range;
        // The parts are in order.
        let first = bold.partition_point(|range| range.start < start);
        let holds = bold.get(first).is_some_and(|range| range.start < end);
        let touches = |at: usize, side: &FxHashSet<usize>| side.contains(&at) && (holds || !is_plain(at));
        *part.mark != Mark::Em || !touches(start, &ends) && !touches(end, &starts)
    });
}
