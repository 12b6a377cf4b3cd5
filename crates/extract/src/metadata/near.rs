//! Short lines around the heading of a page, where unmarked bylines and dates are.

use super::{Sources, types};
use crate::{
    dom::Tag,
    page::Page,
    rules::{Part, Roles},
    text,
};

/// Maximum lines before the heading, and after it.
const MAX_BEFORE: usize = 12;
const MAX_AFTER: usize = 24;
/// Lines after and before the heading that come first.
const NEAR_AFTER: usize = 6;
const NEAR_BEFORE: usize = 2;
/// Maximum characters of a line; a longer one is text of the page.
const MAX_CHARS: u32 = 120;

/// Maximum characters of long paragraphs between the heading and a near line.
const MAX_PROSE: u32 = 1500;

/// Maximum characters of a footer or an aside near the heading that names author and date.
const MAX_BESIDE: u32 = 200;

/// Roles of elements about other pages, or by other people.
const FOREIGN_ROLES: Roles = Roles::COMMENTS
    .and(Roles::RELATED)
    .and(Roles::SIDEBAR)
    .and(Roles::NAVIGATION)
    .and(Roles::FOOTER)
    .and(Roles::OVERLAY)
    .and(Roles::ADVERTISEMENT);

/// Returns true if the element is among comments, related pages, menus and the like, or in a listing.
pub(super) fn is_elsewhere(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    // An element with the heading, or with most of the page, is not beside the page.
    let most = page.amount(page.body).words / 2;
    let holds_heading = |up: u32| {
        page.heading.is_some_and(|heading| up <= heading && heading < dom.end(up))
            || page.amount(up).words > most
    };
    let beside = |up: u32| {
        let close = dom.ancestors(up).take(3).any(|over| over > page.body && holds_heading(over));
        page.amount(up).chars <= MAX_BESIDE && close
    };
    std::iter::once(id).chain(dom.ancestors(id)).take_while(|up| *up > page.body && !holds_heading(*up)).any(
        |up| {
            matches!(page.dom.tag(up), Tag::Nav | Tag::Pre | Tag::Code | Tag::Samp)
                || matches!(page.dom.tag(up), Tag::Footer | Tag::Aside) && !beside(up)
                || page.roles[up as usize].has(FOREIGN_ROLES)
        },
    )
}

/// Returns true if an ancestor other than the page itself has one of the roles.
pub(super) fn is_inside_role(page: &Page<'_>, id: u32, roles: Roles) -> bool {
    let most = page.amount(page.body).words / 2;
    let mut around =
        page.dom.ancestors(id).take_while(|up| *up > page.body && page.amount(*up).words <= most);
    around.any(|up| page.dom.tag(up) == Tag::Nav || page.roles[up as usize].has(roles))
}

/// Elements of a part of forum programs. In a thread these are the elements in a post of a program with
/// unique names. If the page's data or URL call it a thread, all elements count.
pub(super) fn in_posts<'a>(s: &'a Sources<'_>, wanted: Part, thread: bool) -> impl Iterator<Item = u32> + 'a {
    let page = s.page;
    let platforms = &page.rules.platforms;
    let is_thread = |kind: &&str| platforms.thread_types.iter().any(|t| t == kind);
    let is_called_thread = !thread
        || s.nodes.iter().any(|node| types(node).iter().any(is_thread))
        || page.url.is_some_and(|url| {
            let parts =
                url.host_str().unwrap_or_default().split('.').chain(url.path().split(['/', '.', '-', '_']));
            parts
                .into_iter()
                .any(|part| platforms.thread_words.iter().any(|word| word.eq_ignore_ascii_case(part)))
        });
    let in_post = move |index: u16, id: u32| {
        // The parts are in document order.
        let of = |up: u32| page.parts[page.parts.partition_point(|(.., at)| *at < up)..].iter();
        let is_post = |up: u32| {
            of(up).take_while(|(.., at)| *at == up).any(|(part, of, _)| *part == Part::Post && *of == index)
        };
        !platforms.forum[index as usize].generic && page.dom.ancestors(id).any(is_post)
    };
    let parts = page.parts.iter().filter(move |(part, ..)| *part == wanted).take(MAX_PARTS);
    parts.filter(move |(_, index, id)| is_called_thread || in_post(*index, *id)).map(|(.., id)| *id)
}

/// Maximum authors or dates of posts that are read.
const MAX_PARTS: usize = 200;

/// Short lines by distance from the heading: those shortly after it, shortly before it, then the others.
pub(super) fn lines(page: &Page<'_>) -> Vec<String> {
    let dom = &page.dom;
    let lower = |tag| dom.find(page.body..dom.end(page.body), tag);
    let Some(heading) = page.heading.or_else(|| lower(Tag::H2)).or_else(|| lower(Tag::H3)) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut id = dom.end(heading);
    let mut prose = 0;
    while id < dom.end(page.body) && out.len() < MAX_AFTER && prose <= MAX_PROSE {
        if dom.tag(id) == Tag::P && page.is_visible(id) && page.amount(id).chars > MAX_CHARS {
            prose += page.amount(id).chars;
        }
        id = take(page, id, &mut out);
    }
    let mut out = with_labels(page, out);
    let mut before = lines_before(page, heading);
    // The lines next to the heading come first, on both sides of it.
    let far = out.split_off(out.len().min(NEAR_AFTER));
    let far_before = before.split_off(before.len().min(NEAR_BEFORE));
    out.extend(before);
    out.extend(far);
    out.extend(far_before);
    out
}

/// The last lines before the heading, nearest first.
fn lines_before(page: &Page<'_>, heading: u32) -> Vec<String> {
    let mut short = Vec::new();
    let mut id = page.body;
    while id < heading {
        let (line, next) = step(page, id);
        short.extend(line);
        id = next;
    }
    // A line is never joined with one before it that does not end like a label.
    let (mut lines, mut separate) = (Vec::new(), 0);
    for line in short.into_iter().rev().filter_map(|id| line_of(page, id)) {
        separate += usize::from(!line.ends_with(LABEL_ENDS) && !lines.is_empty());
        if separate >= MAX_BEFORE {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    with_labels(page, lines).into_iter().rev().take(MAX_BEFORE).collect()
}

/// Maximum bytes of a label.
const MAX_LABEL: usize = 2 * MAX_CHARS as usize;

/// Last characters of a label.
const LABEL_ENDS: [char; 2] = [':', '：'];

/// Maximum lines on a page without headings.
const MAX_WITHOUT_HEADING: usize = 60;

/// The first short lines of a page without headings, up to its first long paragraph.
pub(super) fn first_lines(page: &Page<'_>) -> Option<Vec<String>> {
    let dom = &page.dom;
    let is_heading = |id: u32| matches!(dom.tag(id), Tag::H1 | Tag::H2 | Tag::H3);
    if (page.body..dom.end(page.body)).any(|id| is_heading(id) && page.amount(id).chars > 0) {
        return None;
    }
    let (mut out, mut id) = (Vec::new(), page.body);
    while id < dom.end(page.body) && out.len() < MAX_WITHOUT_HEADING {
        if dom.tag(id) == Tag::P && page.amount(id).chars > MAX_CHARS {
            break;
        }
        id = take(page, id, &mut out);
    }
    Some(out)
}

/// Lines in document order, each with the preceding label ("Last reviewed:").
fn with_labels(page: &Page<'_>, lines: Vec<String>) -> Vec<String> {
    let rules = &page.rules.dates;
    let is_label = |line: &str| {
        let begins =
            |lower: &str| rules.modified_words.begin_lower(lower) || rules.published_words.begin_lower(lower);
        line.ends_with(LABEL_ENDS) && begins(&line.to_lowercase())
    };
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    for line in lines {
        match out.last_mut() {
            // labels may follow each other
            Some(label) if label.len() <= MAX_LABEL && is_label(label) => {
                label.push(' ');
                label.push_str(&line);
            }
            _ => out.push(line),
        }
    }
    out
}

/// Adds a block's text if it is a line, and returns the node after it.
fn take(page: &Page<'_>, id: u32, out: &mut Vec<String>) -> u32 {
    let (line, next) = step(page, id);
    out.extend(line.and_then(|id| line_of(page, id)));
    next
}

/// The node if it is a short block or text, and the node after it.
fn step(page: &Page<'_>, id: u32) -> (Option<u32>, u32) {
    let dom = &page.dom;
    if !page.is_visible(id) {
        return (None, dom.end(id));
    }
    let chars = page.chars(id);
    let whole = dom.tag(id) == Tag::Text || chars <= MAX_CHARS && !has_block(page, id);
    if !whole {
        return (None, id + 1);
    }
    ((1..=MAX_CHARS).contains(&chars).then_some(id), dom.end(id))
}

/// Text of a short block, unless it is about another page.
fn line_of(page: &Page<'_>, id: u32) -> Option<String> {
    (!is_elsewhere(page, id)).then(|| text::fold(&page.visible_text(id)))
}

fn has_block(page: &Page<'_>, id: u32) -> bool {
    (id + 1..page.dom.end(id)).any(|down| page.dom.tag(down).is_block())
}
