//! Sections after the content, recognised by their headings ("Related articles").

use super::{LINKED, Pieces, RUNNING_TEXT, key};
use crate::{
    dom::Tag,
    page::Page,
    render::{Kind, Piece},
};
use html5ever::local_name;
use std::collections::HashMap;
use xxhash_rust::xxh3::Xxh3;

/// Paragraphs behind a heading of which one may belong to the article.
const MAX_BEHIND: usize = 64;
/// Ancestors of a paragraph that are compared.
const MAX_AROUND: usize = 12;

/// A section that is being dropped.
#[derive(Clone, Copy)]
struct Section {
    level: u8,
    /// Node at which it ends at the latest.
    end: u32,
}

/// Drops sections after the content, recognised by their headings, in its second half.
///
/// A section ends at the next heading of its level. A section that a box holds ends with the box, if the article goes
/// on behind it.
pub(super) fn cut(pieces: &mut Pieces<'_>, page: &Page<'_>) {
    let total: u32 = pieces.list.iter().map(|piece| piece.chars).sum();
    let with_code = with_code(pieces.list);
    let mut article = None;
    let (mut before, mut open) = (0, None::<Section>);
    let mut dropped = vec![false; pieces.list.len()];
    for (at, piece) in pieces.list.iter().enumerate() {
        let level = match piece.kind {
            Kind::Heading(level) => Some(level),
            _ => None,
        };
        let first = piece.nodes.first().copied();
        let is_over = |section: &Section| {
            level.is_some_and(|level| level <= section.level) || first.is_some_and(|node| node >= section.end)
        };
        open = open.filter(|section| !is_over(section));
        let may_end = open.is_none() && !with_code[at] && before * 2 >= total;
        if let Some(level) = level.filter(|_| may_end)
            && key(piece).is_some_and(|key| page.rules.boilerplate.ends_content(&key))
        {
            let article = article.get_or_insert_with(|| Running::of(page, pieces.list));
            let end = first.and_then(|first| article.end_of_box(page, first));
            open = Some(Section { level, end: end.unwrap_or(u32::MAX) });
        }
        before += piece.chars;
        dropped[at] = open.is_some();
    }
    let mut at = 0..;
    pieces.keep("a section that follows the content, by its heading", |_| {
        !at.next().is_some_and(|at| dropped[at])
    });
}

/// Paragraphs of running text, in order.
struct Running {
    /// The first text node of each, and that of the first paragraph in like elements.
    paragraphs: Vec<(u32, u32)>,
}

impl Running {
    fn of(page: &Page<'_>, pieces: &[Piece]) -> Self {
        let is_running = |piece: &&Piece| {
            piece.kind == Kind::Paragraph && piece.chars >= RUNNING_TEXT && piece.link_density() < LINKED
        };
        let mut nodes: Vec<u32> =
            pieces.iter().filter(is_running).filter_map(|piece| piece.nodes.first().copied()).collect();
        nodes.sort_unstable();
        let mut firsts: HashMap<u64, u32> = HashMap::new();
        let first = |node| (node, *firsts.entry(around(page, node)).or_insert(node));
        Self { paragraphs: nodes.into_iter().map(first).collect() }
    }

    /// End of the box of a heading, if the article goes on behind it. The box is the largest element around the
    /// heading without a paragraph of the article. The article has paragraphs in like elements before the heading and behind the box.
    fn end_of_box(&self, page: &Page<'_>, heading: u32) -> Option<u32> {
        let dom = &page.dom;
        let (before, behind) =
            self.paragraphs.split_at(self.paragraphs.partition_point(|(node, _)| *node < heading));
        let (last, _) = before.last()?;
        let (next, _) = behind.iter().take(MAX_BEHIND).find(|(_, first)| *first < heading)?;
        let around = dom.ancestors(heading).take_while(|up| up > last && dom.end(*up) <= *next);
        let found = around.last()?;
        let own = dom.ancestors(heading).find(|up| dom.tag(*up).heading_level().is_some())?;
        let end = dom.end(found);
        let is_field = |id: u32| matches!(dom.tag(id), Tag::Input | Tag::Textarea | Tag::Form | Tag::Button);
        (page.chars(found) > page.chars(own) || (found..end).any(is_field)).then_some(end)
    }
}

/// Hash of the blocks around a node: their tags, and the classes of those around the innermost. Words with a digit are
/// left out of classes, since page builders number each box.
fn around(page: &Page<'_>, node: u32) -> u64 {
    let dom = &page.dom;
    let mut hash = Xxh3::new();
    let blocks = dom.ancestors(node).filter(|up| dom.tag(*up).is_block()).take(MAX_AROUND);
    for (at, up) in blocks.enumerate() {
        hash.update(dom.name(up).as_bytes());
        let class = if at == 0 { None } else { dom.attr(up, &local_name!("class")) };
        let words = class.unwrap_or_default().split_ascii_whitespace();
        for word in words.filter(|word| !word.contains(|c: char| c.is_ascii_digit())) {
            hash.update(b".");
            hash.update(word.as_bytes());
        }
        hash.update(b"/");
    }
    hash.digest()
}

/// Headings above code, by piece. Sections after an article have no code; "Comments" of a manual are about
/// it.
fn with_code(pieces: &[Piece]) -> Vec<bool> {
    let mut found = vec![false; pieces.len()];
    let mut code = false;
    for (at, piece) in pieces.iter().enumerate().rev() {
        match piece.kind {
            Kind::Heading(_) => found[at] = std::mem::take(&mut code),
            Kind::Code => code = true,
            _ => {}
        }
    }
    found
}
