//! Boxes outside of the article, recognised by their title: links to other news, requests to share, readers'
//! comments. Class names differ from site to site, while the visible titles are few in each language.

use super::prune;
use crate::{
    dom::{NONE, Tag},
    page::Page,
    rules::Boilerplate,
};
use html5ever::local_name;
use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
    ops::{Range, RangeInclusive},
};
use url::Url;

/// Length of a title (characters).
const TITLE: RangeInclusive<u32> = 2..=50;
/// Maximum characters besides the title in an element that is the title alone.
const MAX_BESIDE: u32 = 8;
/// Maximum share of the page's prose in a box.
const MAX_SHARE: f32 = 0.5;
/// Maximum share of readers' comments, which may be longer than the article.
const MAX_COMMENTS: f32 = 0.8;
/// Minimum remaining prose (characters).
const MIN_LEFT: u32 = 250;
/// Minimum share of links in text that leads elsewhere.
const LINKED: f32 = 0.5;
/// Maximum siblings that are read behind all titles of a page, as a multiple of its nodes. A page may have thousands of titles,
/// and each would read all that follows.
const MAX_SIBLINGS: u32 = 4;
/// Maximum characters of a teaser besides its link.
const MAX_TEASER: u32 = 300;
/// Minimum characters of an independent text without links.
const MIN_PROSE_CHARS: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Links to other pages, or a request to share.
    Aside,
    /// Title of readers' comments.
    Comments,
}

/// Masks such boxes and returns them.
pub(super) fn mask(page: &Page<'_>, mask: &mut [bool], comments: bool) -> Vec<u32> {
    let dom = &page.dom;
    let mut found = Vec::new();
    let mut whole = None;
    let own_links = OwnLinks::default();
    let siblings = Cell::new(dom.len().saturating_mul(MAX_SIBLINGS));
    let mut link_end = 0;
    let mut buffer = String::new();
    let mut id = page.body + 1;
    while id < dom.end(page.body) && !page.budget.is_over() {
        if mask[id as usize] || !page.is_visible(id) {
            id = dom.end(id);
            continue;
        }
        let tag = dom.tag(id);
        if tag == Tag::A {
            link_end = dom.end(id);
        } else if tag == Tag::Text
            && id >= link_end
            && TITLE.contains(&page.amount(id).chars)
            && let Some(kind) = kind(dom.text(id), &page.rules.boilerplate, &mut buffer)
            && (kind == Kind::Aside || !comments)
        {
            let whole = *whole.get_or_insert_with(|| prune::kept(page, page.body, mask).prose);
            for id in boxes(page, mask, id, (kind, whole), (&own_links, &siblings)) {
                mask[id as usize] = true;
                page.trace.mark(id, "a box whose title leads away from the article");
                found.push(id);
            }
            // titles within a masked box need no check
            if let Some(last) = found.last().filter(|last| dom.end(**last) > id) {
                id = dom.end(*last);
                continue;
            }
        }
        id += 1;
    }
    found
}

/// Kind of box with this title. The buffer is reused.
fn kind(text: &str, rules: &Boilerplate, buffer: &mut String) -> Option<Kind> {
    let text = text.trim_matches(|c: char| !c.is_alphabetic());
    // Few texts begin and end like a title.
    if !rules.may_be_title(text.chars().next()?, text.chars().next_back()?) {
        return None;
    }
    buffer.clear();
    for word in text.split_whitespace() {
        if !buffer.is_empty() {
            buffer.push(' ');
        }
        buffer.extend(word.chars().flat_map(char::to_lowercase));
    }
    if rules.aside_titles.contains(buffer.as_str()) {
        return Some(Kind::Aside);
    }
    rules.comment_titles.contains(buffer.as_str()).then_some(Kind::Comments)
}

/// The box that begins with a title of a kind, and its parts after it. `whole` is the prose of the page. `siblings` counts the
/// siblings that may still be read.
fn boxes(
    page: &Page<'_>,
    mask: &[bool],
    text: u32,
    (kind, whole): (Kind, u32),
    (own_links, siblings): (&OwnLinks, &Cell<u32>),
) -> Vec<u32> {
    let dom = &page.dom;
    let share = if kind == Kind::Comments { MAX_COMMENTS } else { MAX_SHARE };
    let most = ((whole as f32 * share) as u32).min(whole.saturating_sub(MIN_LEFT));
    let (found, prose) = largest(page, mask, text, kind, most);
    let is_section = kind == Kind::Comments && is_one_of_many(page, text);
    if is_section || !dom.tag(found).is_block() && !is_on_own_line(page, found) {
        return Vec::new();
    }
    let mut boxes = vec![found];
    if page.amount(found).chars <= page.amount(text).chars + MAX_BESIDE {
        add_siblings(page, mask, &mut boxes, (kind, most.saturating_sub(prose)), siblings);
        // A title without a box is left to the last pass, which knows the text below it.
        if boxes.len() == 1 {
            return Vec::new();
        }
    }
    let nodes = found..boxes.last().map_or(found, |last| dom.end(*last));
    let leads_out =
        kind == Kind::Aside && page.amount_in(nodes.clone()).links > 0 && !own_links.any_in(page, nodes);
    if leads_out { Vec::new() } else { boxes }
}

/// The largest element whose first text is the title, and its prose.
fn largest(page: &Page<'_>, mask: &[bool], text: u32, kind: Kind, most: u32) -> (u32, u32) {
    let dom = &page.dom;
    let (mut found, mut found_prose) = (text, 0);
    let mut up = dom.parent(text);
    while up != NONE && up > page.body {
        let is_content = matches!(dom.tag(up), Tag::Main | Tag::Article | Tag::H1);
        if is_content || page.amount_in(up..text).chars > 0 || holds_heading(page, up) {
            break;
        }
        let prose = prune::kept(page, up, mask).prose;
        let says_more = kind == Kind::Aside
            && (has_running_text(page, up, text)
                || !leads_elsewhere(page, text + 1..dom.end(up))
                || page.amount(found).links > 0 && !adds_only_teasers(page, dom.end(found)..dom.end(up)));
        if prose > most || says_more {
            break;
        }
        (found, found_prose) = (up, prose);
        up = dom.parent(up);
    }
    (found, found_prose)
}

/// Adds the siblings after the title, up to a heading or an element outside of the box.
fn add_siblings(
    page: &Page<'_>,
    mask: &[bool],
    boxes: &mut Vec<u32>,
    (kind, mut most): (Kind, u32),
    left: &Cell<u32>,
) {
    let dom = &page.dom;
    let Some(&title) = boxes.first() else { return };
    for next in dom.siblings_after(title) {
        if left.get() == 0 {
            break;
        }
        left.set(left.get() - 1);
        if mask[next as usize] || !page.is_visible(next) {
            continue;
        }
        let says_more =
            kind == Kind::Aside && page.amount(next).chars > 0 && !leads_elsewhere(page, next..dom.end(next));
        let prose = prune::kept(page, next, mask).prose;
        if dom.tag(next).heading_level().is_some() || holds_heading(page, next) || says_more || prose > most {
            break;
        }
        most -= prose;
        boxes.push(next);
    }
}

fn holds_heading(page: &Page<'_>, id: u32) -> bool {
    page.heading.is_some_and(|heading| (id..page.dom.end(id)).contains(&heading))
}

/// Returns true for an inline element on its own line, or before a link.
fn is_on_own_line(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let is_border = |node: u32| dom.tag(node) == Tag::Br || dom.tag(node).is_block();
    let says = |node: &u32| page.amount(*node).chars > 0 || is_border(*node);
    let before = dom.siblings_before(id).find(says);
    let behind = dom.siblings_after(id).find(says);
    before.is_none_or(is_border)
        && behind.is_none_or(|next| is_border(next) || page.amount(next).link_density() > LINKED)
}

/// Returns true for a line that continues after the title with more than links.
fn has_running_text(page: &Page<'_>, id: u32, title: u32) -> bool {
    let amount = page.amount(id);
    let has_block = (id + 1..page.dom.end(id)).any(|down| page.dom.tag(down).is_block());
    !has_block && amount.chars > amount.link_chars + page.amount(title).chars + MIN_PROSE_CHARS
}

/// Returns true if the nodes lead to other pages: they begin with a link, consist of links, or have little
/// text.
fn leads_elsewhere(page: &Page<'_>, nodes: Range<u32>) -> bool {
    let amount = page.amount_in(nodes.clone());
    if amount.links == 0 {
        return amount.prose == 0 && amount.chars < MIN_PROSE_CHARS;
    }
    let begins_with_link = || {
        let is_text = |node: &u32| page.dom.tag(*node) == Tag::Text && page.amount(*node).words > 0;
        nodes.clone().find(is_text).is_some_and(|first| page.amount(first).link_chars > 0)
    };
    amount.link_density() >= LINKED || begins_with_link()
}

/// Returns true if the nodes behind a line with a link hold no text, or lead elsewhere too. Teasers have a link and a
/// sentence or two each.
fn adds_only_teasers(page: &Page<'_>, nodes: Range<u32>) -> bool {
    let amount = page.amount_in(nodes.clone());
    let unlinked = amount.chars.saturating_sub(amount.link_chars);
    amount.chars == 0 || unlinked <= amount.links.saturating_mul(MAX_TEASER) || leads_elsewhere(page, nodes)
}

/// Links that lead to another page of the site, in order; read on first use. Links to other sites below a title of a
/// box are references of the text.
#[derive(Default)]
struct OwnLinks(OnceCell<Vec<u32>>);

impl OwnLinks {
    /// Returns true if there is one among the nodes, or the site is unknown.
    fn any_in(&self, page: &Page<'_>, nodes: Range<u32>) -> bool {
        let Some(own) = page.url.and_then(Url::host_str) else { return true };
        let links = self.0.get_or_init(|| own_links(page, own));
        links.get(links.partition_point(|link| *link < nodes.start)).is_some_and(|link| *link < nodes.end)
    }
}

/// Links with text to the site of a host.
fn own_links(page: &Page<'_>, own: &str) -> Vec<u32> {
    let own = registrable_domain(own);
    let leads_within = |link: &u32| {
        let resolved = || page.resolve(page.dom.attr(*link, &local_name!("href"))?).map(Cow::Owned);
        let address = page.link_urls.get(*link).map(Cow::Borrowed).or_else(resolved);
        let host = address.as_deref().and_then(|address| address.split('/').nth(2));
        host.is_some_and(|host| registrable_domain(host) == own)
    };
    let links = page.dom.find_all(page.within_body(), Tag::A).filter(|link| page.amount(*link).chars > 0);
    links.take_while(|_| !page.budget.is_over()).filter(leads_within).collect()
}

/// Registrable domain of a host; a public suffix or an address is returned unchanged.
fn registrable_domain(host: &str) -> &str {
    crawl_model::registrable_domain(host).unwrap_or(host)
}

/// Returns true if the title is a heading followed by others of its level: one section of the text.
fn is_one_of_many(page: &Page<'_>, text: u32) -> bool {
    let dom = &page.dom;
    let heading = dom.ancestors(text).take(3).find(|up| dom.tag(*up).heading_level().is_some());
    heading.is_some_and(|heading| dom.siblings_after(heading).any(|next| dom.tag(next) == dom.tag(heading)))
}
