//! Sibling boxes with a time each: readers' comments, reviews, lists of further news. An article has one
//! date.

use super::{PruneSettings, prune, teasers};
use crate::{dom::Tag, page::Page, rules::PruneRules};
use html5ever::local_name;
use std::ops::Range;

/// Minimum boxes of a list.
const MIN_BOXES: usize = 3;
/// Maximum bytes of a text that is a time.
const MAX_STAMP: usize = 60;
/// Minimum words of a box; a shorter one is a row of dates.
const MIN_WORDS: u32 = 5;
/// Maximum nodes of a box; a larger one is a part of the page.
const MAX_NODES: u32 = 400;
/// Minimum characters of an article's prose outside of the boxes.
const ARTICLE_PROSE: u32 = 250;
/// Minimum characters of a product's prose outside of the boxes.
pub(super) const PRODUCT_PROSE: u32 = 80;

/// Masks such boxes, unless the page consists of them.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool], how: PruneSettings) {
    let found = find(page, mask);
    if found.is_empty() {
        return;
    }
    let rules = &page.rules.extraction.prune;
    let whole = prune::kept(page, page.body, mask);
    let (mut prose, mut listed) = (0, 0);
    for id in &found {
        let kept = prune::kept(page, *id, mask);
        prose += kept.prose;
        if (*id..page.dom.end(*id)).any(|node| teasers::target(page, node).is_some()) {
            listed += kept.words;
        }
    }
    let least = if how.article { ARTICLE_PROSE } else { PRODUCT_PROSE };
    if whole.prose.saturating_sub(prose) < least || listed as f32 > rules.stamped_share * whole.words as f32 {
        return;
    }
    for id in found {
        mask[id as usize] = true;
        page.trace.mark(id, "one of several boxes with a time each");
    }
}

/// The boxes of all lists of the page.
fn find(page: &Page<'_>, mask: &[bool]) -> Vec<u32> {
    let dom = &page.dom;
    let Some(stamps) = Stamps::of(page) else { return Vec::new() };
    let mut found: Vec<u32> = Vec::new();
    let mut id = page.body;
    while id < dom.end(page.body) && !page.budget.is_over() {
        // each box of a list has its own time
        if mask[id as usize] || !page.is_visible(id) || stamps.times_in(id..dom.end(id)) < MIN_BOXES {
            id = dom.end(id);
            continue;
        }
        let boxes = boxes(page, id, mask, &stamps);
        if boxes.len() >= MIN_BOXES {
            found.extend(boxes);
            id = dom.end(id);
        } else {
            id += 1;
        }
    }
    found
}

/// Cumulative visible texts and times by node, so that a box is checked in one step, however many boxes
/// surround it.
struct Stamps {
    texts: Vec<u32>,
    times: Vec<u32>,
}

impl Stamps {
    /// Returns `None` if fewer than [`MIN_BOXES`] texts of the page hold a time.
    fn of(page: &Page<'_>) -> Option<Self> {
        let (dom, rules) = (&page.dom, &page.rules.extraction.prune);
        let is_text = |node: u32| dom.tag(node) == Tag::Text && page.is_visible(node);
        let is_stamp = |node: &u32| {
            // the page's own counts are checked first
            dom.tag(*node) == Tag::Text && (1..=MAX_STAMP as u32).contains(&page.amount(*node).chars) && {
                let text = dom.text(*node);
                text.bytes().any(|byte| byte.is_ascii_digit())
                    && is_text(*node)
                    && !page.budget.is_over()
                    && {
                        let text = text.trim();
                        text.len() <= MAX_STAMP && has_time(text, rules)
                    }
            }
        };
        let stamps: Vec<u32> = (0..dom.len()).filter(is_stamp).collect();
        if stamps.len() < MIN_BOXES {
            return None;
        }
        let size = dom.len() as usize + 1;
        let (mut texts, mut times) = (Vec::with_capacity(size), Vec::with_capacity(size));
        let (mut text_count, mut time_count) = (0, 0);
        for node in 0..dom.len() {
            texts.push(text_count);
            times.push(time_count);
            text_count += u32::from(is_text(node) && !dom.text(node).trim().is_empty());
            time_count += u32::from(stamps.get(time_count as usize) == Some(&node));
        }
        texts.push(text_count);
        times.push(time_count);
        Some(Self { texts, times })
    }

    /// Number of short texts with a time.
    fn times_in(&self, nodes: Range<u32>) -> usize {
        (self.times[nodes.end as usize] - self.times[nodes.start as usize]) as usize
    }

    /// Returns true if the box has a short text with a time, and other text.
    fn has(&self, nodes: Range<u32>) -> bool {
        let texts = self.texts[nodes.end as usize] - self.texts[nodes.start as usize];
        texts >= 2 && self.times_in(nodes) > 0
    }
}

/// Children of an element with one tag, one class and a time each, if they are most of its boxes with text.
fn boxes(page: &Page<'_>, parent: u32, mask: &[bool], stamps: &Stamps) -> Vec<u32> {
    let dom = &page.dom;
    let mut out: Vec<u32> = Vec::new();
    let mut kind: Option<(Tag, &str)> = None;
    let mut others = 0;
    for child in dom.children(parent) {
        let tag = dom.tag(child);
        let is_empty = page.amount(child).words == 0
            && !(child..dom.end(child))
                .any(|id| matches!(dom.tag(id), Tag::Img | Tag::Picture | Tag::Video | Tag::Iframe));
        if mask[child as usize] || !is_box(tag) || is_empty || !page.is_visible(child) {
            continue;
        }
        let class = dom.attr(child, &local_name!("class")).unwrap_or_default();
        let own = (tag, class.split_ascii_whitespace().next().unwrap_or_default());
        if is_stamped(page, child, stamps) && *kind.get_or_insert(own) == own {
            out.push(child);
        } else {
            others += 1;
        }
    }
    if others > out.len() {
        out.clear();
    }
    out
}

const fn is_box(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Div
            | Tag::CustomBlock
            | Tag::Li
            | Tag::Article
            | Tag::Section
            | Tag::Dd
            | Tag::P
            | Tag::Dl
            | Tag::Table
            | Tag::Tr
    )
}

/// Returns true for a box with a time and other text. A table row needs prose, which timetables lack.
fn is_stamped(page: &Page<'_>, id: u32, stamps: &Stamps) -> bool {
    let end = page.dom.end(id);
    let amount = page.amount(id);
    let row = matches!(page.dom.tag(id), Tag::Table | Tag::Tr);
    amount.words >= MIN_WORDS && end - id <= MAX_NODES && !(row && amount.prose == 0) && stamps.has(id..end)
}

/// Returns true if the text holds a time of day (`19:23`), a day in digits (`10.04.2013`, `2013-04-10`,
/// `5/4/13`), or a relative time.
fn has_time(text: &str, rules: &PruneRules) -> bool {
    if !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let lower = text.to_lowercase();
    let runs = || text.split(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.' | '-' | '/'));
    rules.ago_ends.iter().any(|ago| lower.ends_with(ago.as_str()))
        || rules.ago_starts.iter().any(|ago| lower.starts_with(ago.as_str()))
        || runs().map(|run| run.trim_matches(|c: char| !c.is_ascii_digit())).any(is_time)
}

/// Returns true if digits with marks between them are a time of day or a day.
fn is_time(run: &str) -> bool {
    // most runs are a number alone
    let Some(first) = run.bytes().find(|byte| !byte.is_ascii_digit()) else { return false };
    is_clock(run) || matches!(first, b'.' | b'-' | b'/') && is_day(run, first as char)
}

/// Returns true for hours and minutes, with or without seconds.
fn is_clock(run: &str) -> bool {
    let Some((hours, rest)) = run.split_once(':') else { return false };
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, ""));
    hours.len() <= 2
        && is_below(hours, 24)
        && minutes.len() == 2
        && is_below(minutes, 60)
        && !seconds.contains(':')
}

/// Returns true for three numbers between two marks that can be day, month and year in a common order.
fn is_day(run: &str, mark: char) -> bool {
    let small = |text: &str| text.len() <= 2 && is_below(text, 32);
    let year = |text: &str| text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    let mut parts = run.split(mark);
    let (Some(first), Some(month), Some(last), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    if small(first) && last.len() == 2 {
        // Dots with one digit make a version (3.2.25).
        return small(month) && (mark != '.' || first.len() == 2 && month.len() == 2);
    }
    small(month) && (small(first) && year(last) || year(first) && small(last))
}

fn is_below(text: &str, end: u32) -> bool {
    text.parse::<u32>().is_ok_and(|number| number < end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    #[test]
    fn timestamps_are_distinguished_from_other_numbers() {
        let rules = Rules::embedded().unwrap();
        let is = |text: &str| has_time(text, &rules.extraction.prune);
        for time in [
            "[2012-01-24 19:23]",
            "26.11.2011",
            "Сегодня, 7:37",
            "5/4/13",
            "5 months ago",
            "vor 3 Tagen",
            "3天前",
        ] {
            assert!(is(time), "{time}");
        }
        for other in [
            "3.2.25.1",
            "v1.2",
            "99:99",
            "25:10",
            "a year ago",
            "12-34",
            "1.2.11",
            "3.2.25",
            "555-12-3456",
            "no time",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}
