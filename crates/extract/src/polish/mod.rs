//! Last pass over the pieces: boilerplate by its text (html-cleaner-impact, step 4).

mod copies;
mod edges;
mod offers;
mod sections;

use crate::{
    metadata,
    page::Page,
    render::{self, Kind, Piece},
    rules::Rules,
    text,
    trace::Trace,
    words,
};
use std::collections::HashMap;

/// Status of a page as an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArticleStatus {
    /// The data of the page declare an article.
    Declared,
    /// The score of the page reaches that of an article.
    Scored,
    /// No article.
    None,
}

/// Maximum bytes of a boilerplate line.
const MAX_LINE: usize = 120;

/// Minimum consecutive headings that are a list.
const HEADING_LIST: usize = 3;

/// Extent of the last pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polish {
    /// No pass: the output of a known program holds only its content.
    Nothing,
    /// Lines with the date of a change, and the edges.
    Edges,
    /// Everything.
    Whole,
}

/// The last pass over a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    /// Its extent.
    pub(crate) polish: Polish,
    /// Status of the page as an article.
    pub(crate) status: ArticleStatus,
    /// True if the data of the page call it a product.
    pub(crate) is_product: bool,
}

/// Drops boilerplate lines: dates of changes at any position, buttons and the like at the edges, and trailing
/// headings without text.
pub(crate) fn pieces(mut pieces: Vec<Piece>, page: &Page<'_>, pass: Pass) -> Vec<Piece> {
    let (rules, trace) = (page.rules, &page.trace);
    if pass.polish == Polish::Nothing {
        return pieces;
    }
    let listed_before = is_heading_list(&pieces, rules);
    let mut all = Pieces { list: &mut pieces, trace };
    all.keep("a line that only says when the page was changed", |piece| !is_update_line(piece, rules));
    if pass.polish == Polish::Whole && !listed_before {
        drop_asides_and_sections(&mut all, page, pass);
    }
    let listed = is_heading_list(&pieces, rules);
    while pieces
        .last()
        .is_some_and(|piece| is_edge_line(piece, rules) || matches!(piece.kind, Kind::Heading(_)) && !listed)
    {
        let Some(piece) = pieces.pop() else { break };
        note_dropped(trace, &piece, "a line of boilerplate, or a bare heading, at the end");
    }
    let lead = pieces.iter().take_while(|piece| is_edge_line(piece, rules)).count();
    pieces.drain(..lead).for_each(|piece| note_dropped(trace, &piece, "a line of boilerplate at the start"));
    pieces
}

/// Returns true for a page of almost only headings, each with or without a date below it: the page is about
/// them.
fn is_heading_list(pieces: &[Piece], rules: &Rules) -> bool {
    let is_heading = |piece: &Piece| matches!(piece.kind, Kind::Heading(_));
    let is_date = |piece: &Piece| {
        key(piece).is_some_and(|key| {
            !key.is_empty() && (is_date(&key) || metadata::is_bare_date(&rules.dates, &key))
        })
    };
    let is_entry = |piece: &&Piece| is_heading(piece) || piece.text == render::RULE || is_date(piece);
    let behind = pieces.iter().rev().take_while(is_entry).count();
    let headings = pieces[pieces.len() - behind..].iter().filter(|piece| is_heading(piece)).count();
    let words = || {
        let others = pieces.iter().rev().skip(behind);
        others.map(|piece| words::count_words(piece.bare())).sum::<u32>()
    };
    headings > 0 && behind == pieces.len()
        || headings >= HEADING_LIST && words() < rules.extraction.words.trafilatura
}

/// Drops text that leads away from the content, and sections after it.
fn drop_asides_and_sections(all: &mut Pieces<'_>, page: &Page<'_>, pass: Pass) {
    let rules = page.rules;
    let article = pass.status != ArticleStatus::None;
    all.keep("a picture's credit, or a line that leads to another page", |piece| !is_aside(piece, rules));
    if article {
        all.keep("a line over links to other pages", |piece| !is_bare_lead(piece, rules));
        copies::drop_copy(all);
        drop_repeated(all, pass.is_product);
        if pass.status == ArticleStatus::Declared {
            drop_short_edge_lines(all);
        }
        edges::drop_opening(all, page);
    }
    if pass.is_product {
        offers::cut(all, page);
    }
    sections::cut(all, page);
    let max_share = if article { MAX_LINK_LINES_ARTICLE } else { MAX_LINK_LINES };
    let has_few = has_few_link_lines(all.list, max_share);
    let is_of_links = is_of_links(all.list, has_few);
    if has_few && !is_of_links {
        all.keep("a line that is no more than a link", |piece| !is_link_line(piece));
    }
    if article {
        edges::cut_closing(all, rules, !is_of_links && pass.status == ArticleStatus::Declared);
    }
}

/// Pieces, with notes of dropped ones.
pub(crate) struct Pieces<'a> {
    pub(crate) list: &'a mut Vec<Piece>,
    pub(crate) trace: &'a Trace,
}

impl Pieces<'_> {
    /// Keeps the pieces for which `keep` returns true.
    pub(crate) fn keep(&mut self, pass: &'static str, mut keep: impl FnMut(&Piece) -> bool) {
        self.list.retain(|piece| {
            let kept = keep(piece);
            if !kept {
                note_dropped(self.trace, piece, pass);
            }
            kept
        });
    }
}

/// Notes a dropped piece.
fn note_dropped(trace: &Trace, piece: &Piece, pass: &'static str) {
    trace.line(&piece.nodes, piece.kind.name(), &piece.text, pass);
}

/// Returns true for a line above links to other pages ("Related articles") that is no heading.
fn is_bare_lead(piece: &Piece, rules: &Rules) -> bool {
    matches!(piece.kind, Kind::Paragraph | Kind::Item)
        && key(piece).is_some_and(|key| rules.boilerplate.ends_content(&key))
}

/// Returns true for a picture credit, or a line that leads to another page.
fn is_aside(piece: &Piece, rules: &Rules) -> bool {
    if piece.kind != Kind::Paragraph || piece.chars > MAX_LINK_LINE {
        return false;
    }
    let text = text::fold_lower(piece.bare());
    text.len() <= MAX_CREDIT && rules.boilerplate.credits.begin(&text)
        || piece.link_density() >= MIN_LINKED_LEAD && rules.boilerplate.leads.begin(&text)
}

/// Maximum bytes of a credit.
const MAX_CREDIT: usize = 100;
/// Minimum share of a lead line inside a link.
const MIN_LINKED_LEAD: f32 = 0.5;
/// Maximum characters of a line of links.
const MAX_LINK_LINE: u32 = 200;
/// Minimum share of a line of links inside of them.
const LINK_LINE: f32 = 0.8;
/// Maximum share of the content in lines of links that are dropped.
const MAX_LINK_LINES: f32 = 0.1;
/// The same for an article.
const MAX_LINK_LINES_ARTICLE: f32 = 0.3;

/// Minimum share of a text inside links that makes it a list of links.
const LINKED_TEXT: f32 = 0.5;

/// Returns true for a text that consists of links, in paragraphs or items. Links are its content.
///
/// Lines of links do not count if they may be cut, since they would prevent their own removal.
fn is_of_links(pieces: &[Piece], without_link_lines: bool) -> bool {
    let sum = |count: fn(&Piece) -> u32| {
        let is_line = |piece: &&Piece| {
            matches!(piece.kind, Kind::Paragraph | Kind::Item) && !(without_link_lines && is_link_line(piece))
        };
        pieces.iter().filter(is_line).map(count).sum::<u32>() as f32
    };
    sum(|piece| piece.link_chars) > sum(|piece| piece.chars) * LINKED_TEXT
}

/// Returns true for a line that is only a link: to read more, to see also, to share.
fn is_link_line(piece: &Piece) -> bool {
    piece.kind == Kind::Paragraph && piece.chars <= MAX_LINK_LINE && piece.link_density() >= LINK_LINE
}

/// Returns true if lines that are only a link are so little of the content that they are cut. They stay if they are a
/// large part of it, as in a list of articles.
fn has_few_link_lines(pieces: &[Piece], max_share: f32) -> bool {
    let total: u32 = pieces.iter().map(|piece| piece.chars).sum();
    let links: u32 = pieces.iter().filter(|piece| is_link_line(piece)).map(|piece| piece.chars).sum();
    links as f32 <= total as f32 * max_share
}

/// Bytes of a repeated paragraph: a shorter one may occur twice, and a longer one is no caption.
const REPEATED: std::ops::RangeInclusive<usize> = 60..=300;

/// Number of occurrences from which a paragraph may rightly repeat, such as the entry of a plan or a table of
/// days.
const RIGHTLY_REPEATED: u32 = 3;

/// Occurrences of a paragraph.
#[derive(Default)]
struct Occurrences {
    /// Number of all occurrences.
    count: u32,
    /// Number of occurrences so far.
    passed: u32,
    /// Pieces of their own text up to the last one.
    own_before: u32,
}

/// Drops later occurrences of a paragraph: captions of a gallery, or copies for other screen widths.
///
/// From three occurrences on, one with text of its own between it and the one before stays: the entry of a
/// plan. On the page of a product all go, since its shop writes such copies for each variant.
fn drop_repeated(pieces: &mut Pieces<'_>, is_product: bool) {
    let is_paragraph = |piece: &&Piece| piece.kind == Kind::Paragraph;
    let is_caption_length = |piece: &Piece| REPEATED.contains(&piece.plain().len());
    let folded: Vec<String> =
        pieces.list.iter().filter(is_paragraph).map(|piece| text::fold_lower(piece.bare())).collect();
    let mut paragraphs: HashMap<&str, Occurrences> = HashMap::with_capacity(folded.len());
    for text in &folded {
        paragraphs.entry(text).or_default().count += 1;
    }
    if paragraphs.len() == folded.len() {
        return;
    }
    let (mut own, mut folded) = (0, folded.iter());
    pieces.keep("a paragraph that stood before", |piece| {
        let text = if is_paragraph(&piece) { folded.next() } else { None };
        let Some(text) = text else {
            own += 1;
            return true;
        };
        let known = paragraphs.entry(text).or_default();
        if known.count == 1 {
            own += u32::from(has_words(piece));
            return true;
        }
        let is_apart = !is_product && known.count >= RIGHTLY_REPEATED && own > known.own_before;
        known.passed += 1;
        known.own_before = own;
        known.passed == 1 || is_apart || !is_caption_length(piece)
    });
}

/// Returns true for a piece with letters, other than a picture.
fn has_words(piece: &Piece) -> bool {
    piece.chars > 0 && piece.bare().contains(char::is_alphabetic)
}

/// Minimum words of an independent line (html-cleaner-impact, step 4).
const MIN_WORDS: u32 = 3;

/// Minimum characters of running text.
const RUNNING_TEXT: u32 = 100;
/// Minimum share of links in a paragraph that is no running text.
const LINKED: f32 = 0.5;

/// Drops lines of one or two words before an article's first paragraph and after its last one: labels of
/// buttons, counters and names of sections. Between paragraphs such a line is an unmarked heading, so it
/// stays. Headings, lists, tables, code, quotations, and lines with a sentence end stay as well.
fn drop_short_edge_lines(pieces: &mut Pieces<'_>) {
    let running = |piece: &Piece| piece.kind == Kind::Paragraph && piece.chars >= RUNNING_TEXT;
    let (Some(first), Some(last)) =
        (pieces.list.iter().position(running), pieces.list.iter().rposition(running))
    else {
        return;
    };
    let mut at = 0..;
    pieces.keep("a line of one or two words at an edge", |piece| {
        at.next().is_some_and(|at| (first..=last).contains(&at))
            || piece.kind != Kind::Paragraph
            || piece.text.starts_with('>')
            || piece
                .plain()
                .trim_end()
                .ends_with(['.', '!', '?', ':', '…', '。', '！', '？', '"', '”', '»', ')'])
            || words::count_words(piece.plain()) >= MIN_WORDS
    });
}

/// Lower case, without punctuation at the ends.
fn key(piece: &Piece) -> Option<String> {
    if piece.plain().len() > MAX_LINE || matches!(piece.kind, Kind::Code | Kind::Table) {
        return None;
    }
    let folded = text::fold_lower(piece.bare());
    Some(folded.trim_matches(|c: char| !c.is_alphanumeric() && c != '©').to_owned())
}

fn is_edge_line(piece: &Piece, rules: &Rules) -> bool {
    if matches!(piece.kind, Kind::Heading(_)) {
        return false;
    }
    let Some(key) = key(piece) else { return false };
    key.is_empty()
        || is_date(&key)
        || rules.boilerplate.lines.contains(&key)
        || rules.boilerplate.leads.begin(&key)
        || rules.boilerplate.line_starts.begin(&key)
}

/// Returns true for numbers and signs alone: a date, a time, a counter.
fn is_date(key: &str) -> bool {
    let signs = ['/', '.', '-', ':', ',', ' ', '年', '月', '日', '년', '월', '일'];
    key.len() <= 30 && key.chars().all(|c| c.is_ascii_digit() || signs.contains(&c))
}

/// Returns true for a known start with only a date after it: "Last updated: 2025-04-10".
fn is_update_line(piece: &Piece, rules: &Rules) -> bool {
    if piece.kind != Kind::Paragraph && piece.kind != Kind::Item {
        return false;
    }
    let Some(key) = key(piece) else { return false };
    is_dated(&key, rules)
        || rules.boilerplate.update_starts.matches_with_rest(&key).any(|(_, rest)| {
            let date = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
            let words = date.split_whitespace().count();
            date.bytes().any(|b| b.is_ascii_digit()) && words <= 8 || rest.is_empty()
        })
}

/// Returns true for a common word with only a date after it: "Updated: April 10, 2025".
fn is_dated(key: &str, rules: &Rules) -> bool {
    rules.boilerplate.date_starts.matches_with_rest(key).any(|(start, rest)| {
        let date = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let apart = date.len() < rest.len() || start.chars().next_back().is_some_and(|c| !c.is_ascii());
        apart && metadata::is_bare_date(&rules.dates, date)
    })
}
