//! Pruning of the content: boilerplate by name, and by its composition.

use super::{
    PruneSettings, captions, footer, layout,
    notes::is_note,
    opening::{introduces, wraps_heading},
    teasers,
    terms::{is_in_sentence, is_word_of_paragraph},
};
pub(super) use crate::selection::{kept, kept_in};
use crate::{
    dom::{NONE, Tag},
    options::{Favor, Options},
    page::{Amount, Page},
    rules::Roles,
    selection::Selection,
};
use html5ever::local_name;
use std::ops::Range;

/// Names of boilerplate at any position.
pub(crate) const BOILERPLATE_ROLES: Roles = Roles::NAVIGATION
    .and(Roles::FOOTER)
    .and(Roles::SIDEBAR)
    .and(Roles::WIDGET)
    .and(Roles::ADVERTISEMENT)
    .and(Roles::RELATED)
    .and(Roles::SOCIAL)
    .and(Roles::NEWSLETTER)
    .and(Roles::OVERLAY)
    .and(Roles::FORM);

/// Names of elements after or beside an article's text. On other pages related links may be content.
const BEHIND_ARTICLE: Roles = Roles::FOOTER.and(Roles::SIDEBAR).and(Roles::RELATED);

/// Minimum characters of prose in a wrapper, even on a page with little text.
const WRAPPER_PROSE: f32 = 300.0;

/// Maximum characters of an element named like a byline or a list of tags.
const MAX_META: u32 = 200;

/// Boilerplate subtrees by node: by tag, role or names.
///
/// A name that would remove much of the page's prose does not count on this page, since page builders call
/// every paragraph a widget. A name of advertising that would remove many words does not count either, since designers
/// call sections "promo" or "banner". With few words left the second try decides.
pub(super) fn boilerplate(page: &Page<'_>, options: &Options, how: PruneSettings) -> Vec<bool> {
    let mut unwanted = if how.article { BOILERPLATE_ROLES.and(Roles::CALL) } else { BOILERPLATE_ROLES };
    if how.declared && !how.product {
        unwanted = unwanted.and(Roles::UNSEEN);
    }
    loop {
        let (mut mask, taken) = mask(page, options, unwanted, how);
        let whole = page.amount(page.body).prose as f32;
        let limit = (whole * page.rules.extraction.prune.prose_share).max(WRAPPER_PROSE);
        let left = kept(page, page.body, &mask).words;
        let most = if left < page.rules.extraction.words.thin {
            f32::INFINITY
        } else {
            left as f32 * page.rules.extraction.prune.advertisement_ratio
        };
        let is_believed = |taken: &&Taken| {
            taken.prose as f32 <= limit && !(taken.role == Roles::ADVERTISEMENT && taken.words as f32 > most)
        };
        let next = taken.iter().filter(is_believed).fold(Roles::NONE, |all, taken| all.and(taken.role));
        if next == unwanted {
            if how.article && !options.images && options.favor != Favor::Recall {
                captions::mask(page, &mut mask);
            }
            return mask;
        }
        unwanted = next;
    }
}

/// Text that the names of one role remove.
struct Taken {
    role: Roles,
    prose: u32,
    words: u32,
}

/// Mask by tags and these names, and the text that each name removes.
fn mask(page: &Page<'_>, options: &Options, unwanted: Roles, how: PruneSettings) -> (Vec<bool>, Vec<Taken>) {
    let dom = &page.dom;
    let mut mask = vec![false; dom.len() as usize];
    let mut taken: Vec<Taken> = unwanted.each().map(|role| Taken { role, prose: 0, words: 0 }).collect();
    let whole = page.amount(page.body);
    let mut id = page.body + 1;
    while id < dom.end(page.body) && !page.budget.is_over() {
        let tag = dom.tag(id);
        if tag == Tag::Pre || tag == Tag::Code {
            // Highlighters name parts of code comments, tags and titles.
            id = dom.end(id);
            continue;
        }
        let found = tag != Tag::Text
            && page.is_visible(id)
            && is_boilerplate(page, id, options, unwanted)
            && !is_wrapper(page, id, tag, whole, how);
        if !found {
            id += 1;
            continue;
        }
        if !matches!(tag, Tag::Nav | Tag::Footer | Tag::Aside) && !is_behind_text(page, id, how) {
            let amount = page.amount(id);
            for named in taken.iter_mut().filter(|taken| page.roles[id as usize].has(taken.role)) {
                named.prose += amount.prose;
                named.words += amount.words;
            }
        }
        mask[id as usize] = true;
        id = dom.end(id);
    }
    (mask, taken)
}

/// Mask with the elements that heuristics reference §5 removes first: forms and buttons, headers at any
/// position, and elements called cookie. Elements with much of the prose stay.
pub(super) fn decomposed(page: &Page<'_>, mask: &[bool], how: PruneSettings) -> Vec<bool> {
    let dom = &page.dom;
    let whole = page.amount(page.body);
    let mut out = mask.to_vec();
    let mut id = page.body + 1;
    while id < dom.end(page.body) && !page.budget.is_over() {
        let tag = dom.tag(id);
        let removed = match tag {
            Tag::Aside if is_note(page, id) => false,
            Tag::Nav | Tag::Footer | Tag::Aside | Tag::Form | Tag::Button => true,
            // The title of the text is in a separate header; without it a short text is lost
            // (docs/design/deviations.md).
            Tag::Header => !in_content(page, id) || !has_any_heading(page, id),
            Tag::Text | Tag::Body | Tag::Main | Tag::Article => false,
            _ => how.favor != Favor::Recall && page.roles[id as usize].has(Roles::CONSENT),
        };
        if out[id as usize] || removed && page.is_visible(id) && !is_wrapper(page, id, tag, whole, how) {
            out[id as usize] = true;
            id = dom.end(id);
        } else {
            id += 1;
        }
    }
    out
}

/// Returns true for an element that is named like boilerplate but holds much of the page's prose: a misnamed
/// wrapper, or an unclosed element.
fn is_wrapper(page: &Page<'_>, id: u32, tag: Tag, whole: Amount, how: PruneSettings) -> bool {
    let rules = &page.rules.extraction.prune;
    let amount = page.amount(id);
    if amount.link_density() > rules.link_density {
        return false;
    }
    if is_behind_text(page, id, how) {
        return false;
    }
    let by_tag = matches!(tag, Tag::Nav | Tag::Footer | Tag::Aside);
    let strong = by_tag || page.roles[id as usize].has(Roles::COMMENTS);
    let share = if strong { rules.wrapper_share } else { rules.prose_share };
    let by_prose = amount.prose as f32 > (whole.prose as f32 * share).max(WRAPPER_PROSE);
    by_prose || !by_tag && amount.words as f32 > whole.words as f32 * rules.wrapper_share
}

/// Returns true for a part after the text, which may be longer than much of a short text.
///
/// The part is the page's footer. Or it has a name of such parts, and more prose precedes it than is in it and after
/// it.
fn is_behind_text(page: &Page<'_>, id: u32, how: PruneSettings) -> bool {
    let prose = |nodes: Range<u32>| page.amount_in(nodes).prose;
    page.roles[id as usize].has(if how.article && !how.product { BEHIND_ARTICLE } else { Roles::FOOTER })
        && prose(page.body..id) > prose(id..page.dom.end(page.body))
        || footer::is_of_page(page, id, how.text_end)
}

/// Drops forms that ask for input from an article's content. On other pages a form may frame a product or the
/// whole page. Forms that hold most of the content stay. The choice between candidates is not affected.
pub(super) fn drop_forms(page: &Page<'_>, selection: &mut Selection) {
    let dom = &page.dom;
    let (mut forms, mut words) = (Vec::new(), 0);
    for &root in &selection.roots {
        let mut id = root + 1;
        while id < dom.end(root) && !page.budget.is_over() {
            let is_form = dom.tag(id) == Tag::Form && page.is_visible(id) && is_asking(page, id);
            if is_form && !selection.drop[id as usize] {
                words += kept(page, id, &selection.drop).words;
                forms.push(id);
            }
            id = if is_form || selection.drop[id as usize] { dom.end(id) } else { id + 1 };
        }
    }
    if 2 * words > selection.words {
        return;
    }
    for id in forms {
        selection.drop[id as usize] = true;
        page.trace.mark(id, "a form in an article");
    }
    selection.words -= words;
}

/// Returns true for a form that asks the reader for input: it has a field, little prose, and no heading of
/// the page.
fn is_asking(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let is_field = |down: u32| match dom.tag(down) {
        Tag::Textarea | Tag::Select => true,
        Tag::Input => !dom.attr(down, &local_name!("type")).is_some_and(|kind| {
            let kind = kind.trim().to_ascii_lowercase();
            matches!(kind.as_str(), "hidden" | "submit" | "button" | "image" | "reset")
        }),
        _ => false,
    };
    page.amount(id).prose <= MAX_FORM_PROSE && (id..dom.end(id)).any(is_field) && !has_heading(page, id)
}

/// Maximum characters of prose in a form.
const MAX_FORM_PROSE: u32 = 160;

fn is_boilerplate(page: &Page<'_>, id: u32, options: &Options, unwanted: Roles) -> bool {
    let dom = &page.dom;
    let (tag, roles) = (dom.tag(id), page.roles[id as usize]);
    match tag {
        // Names are read on notes of the text, as on other boxes.
        Tag::Aside if is_note(page, id) => {}
        // The footer of a quotation names its source.
        Tag::Footer if dom.tag(dom.parent(id)) == Tag::Blockquote => return false,
        Tag::Nav | Tag::Footer | Tag::Aside | Tag::Dialog | Tag::Menu | Tag::Label => return true,
        Tag::Header => return !in_content(page, id) && !has_heading(page, id) && !introduces(page, id),
        Tag::Body | Tag::Html | Tag::Main | Tag::Article => return false,
        // Names are read on tables that arrange the page, as on other boxes.
        Tag::Table | Tag::Td if roles != Roles::NONE && layout::is_part(page, id) => {}
        Tag::H1 | Tag::Pre | Tag::Code | Tag::Table | Tag::Tbody | Tag::Tr | Tag::Td | Tag::Th | Tag::A => {
            return false;
        }
        _ => {}
    }
    if let Some(role) = dom.attr(id, &local_name!("role")) {
        match role {
            "navigation" | "contentinfo" | "search" | "menu" | "menubar" | "dialog" | "alertdialog"
            | "complementary" | "tablist" | "toolbar" => return true,
            "banner" => return !has_heading(page, id),
            "main" | "article" => return false,
            _ => {}
        }
    }
    if roles.has(Roles::CONTENT) {
        return false;
    }
    // Dates, tags and counters around the text; the metadata names the author.
    let small = page.amount(id).chars <= MAX_META;
    if small && roles.has(Roles::META) && !has_heading(page, id)
        || roles.has(Roles::AUTHOR) && !has_heading(page, id)
    {
        return true;
    }
    if tag == Tag::Button
        && page.amount(id).words < 5
        && !dom.ancestors(id).any(|up| dom.tag(up).heading_level().is_some())
        && !is_word_of_paragraph(page, id)
    {
        return true;
    }
    if roles.has(Roles::COMMENTS) && !options.comments {
        return true;
    }
    // An embedded post of a social network is quoted in the text.
    let quoted = roles.has(Roles::SOCIAL) && (id..dom.end(id)).any(|down| dom.tag(down) == Tag::Blockquote);
    let unwanted = if quoted { unwanted.without(Roles::SOCIAL) } else { unwanted };
    let unwanted = if wraps_heading(page, id) { unwanted.without(Roles::FOOTER) } else { unwanted };
    let unwanted = if is_text_named_menu(page, id) { unwanted.without(Roles::NAVIGATION) } else { unwanted };
    // Parts of a note repeat its name ("aside__content").
    let of_note = [id, dom.parent(id)].into_iter().any(|id| is_note(page, id));
    let unwanted = if of_note { unwanted.without(Roles::SIDEBAR) } else { unwanted };
    // An overlay's opening word is part of its sentence.
    let unwanted = if is_in_sentence(page, id) { unwanted.without(Roles::OVERLAY) } else { unwanted };
    if tag.is_block() || matches!(tag, Tag::Span | Tag::Other | Tag::Button) {
        return roles.has(unwanted) || roles.has(Roles::HEADER) && !has_heading(page, id);
    }
    false
}

/// Returns true for headings and several paragraphs without links. Navigation has links, so its name says
/// something else here.
fn is_text_named_menu(page: &Page<'_>, id: u32) -> bool {
    let nodes = || id..page.dom.end(id);
    let says = |node: &u32| page.is_visible(*node) && page.amount(*node).chars > 0;
    page.roles[id as usize].has(Roles::NAVIGATION)
        && page.amount(id).links == 0
        && page.dom.find_all(nodes(), Tag::P).filter(says).nth(1).is_some()
        && page.dom.find(nodes(), Tag::Button).is_none()
        && has_any_heading(page, id)
}

pub(super) fn in_content(page: &Page<'_>, id: u32) -> bool {
    page.dom.ancestors(id).any(|up| matches!(page.dom.tag(up), Tag::Article | Tag::Main))
}

fn has_any_heading(page: &Page<'_>, id: u32) -> bool {
    (id..page.dom.end(id)).any(|down| page.dom.tag(down).heading_level().is_some())
}

fn has_heading(page: &Page<'_>, id: u32) -> bool {
    (id..page.dom.end(id)).any(|down| page.dom.tag(down) == Tag::H1)
}

/// Drops blocks below the roots that consist of links: menus, tag lists, teasers. If they are most of the
/// content, the page is a list of links, and they stay.
pub(super) fn drop_link_lists(page: &Page<'_>, roots: &[u32], drop: &mut [bool], how: PruneSettings) {
    let dom = &page.dom;
    let rules = &page.rules.extraction.prune;
    let density = match how.favor {
        Favor::Precision => rules.link_density * 0.8,
        Favor::Balanced => rules.link_density,
        Favor::Recall => rules.link_density.midpoint(1.0),
    };
    let link_chars = if how.article { rules.article_link_chars } else { rules.link_chars };
    let mut lists = Vec::new();
    let mut listed = 0;
    for &root in roots {
        let mut id = root + 1;
        while id < dom.end(root) && !page.budget.is_over() {
            if drop[id as usize] || !page.is_visible(id) {
                id = dom.end(id);
                continue;
            }
            if is_link_list(page, id, density, link_chars) && !is_reference_list(page, id, root, how) {
                listed += kept(page, id, drop).chars;
                lists.push(id);
                id = dom.end(id);
            } else {
                id += 1;
            }
        }
    }
    if lists.is_empty() {
        return;
    }
    let whole: u32 = roots.iter().map(|root| kept(page, *root, drop).chars).sum();
    let share = if how.article { rules.article_list_share } else { rules.list_share };
    if listed as f32 <= whole as f32 * share {
        for id in lists {
            drop[id as usize] = true;
            page.trace.mark(id, "a block of links");
        }
    }
}

fn is_link_list(page: &Page<'_>, id: u32, density: f32, link_chars: u32) -> bool {
    let block = matches!(
        page.dom.tag(id),
        Tag::Ul | Tag::Ol | Tag::Div | Tag::CustomBlock | Tag::Section | Tag::Table | Tag::P | Tag::Dl
    ) || page.dom.tag(id) == Tag::Td && layout::is_part(page, id);
    if !block {
        return false;
    }
    let amount = page.amount(id);
    amount.links > 2
        && amount.link_density() > density
        && amount.link_chars / amount.links < link_chars
        && amount.prose * 5 < amount.chars
}

/// Returns true for a list or a paragraph with links mostly to other sites, such as the sources of a text. Navigation
/// stays on its site. Behind the last paragraph of an article, a list of links to one other site is an offer.
fn is_reference_list(page: &Page<'_>, id: u32, root: u32, how: PruneSettings) -> bool {
    let dom = &page.dom;
    let is_list = matches!(dom.tag(id), Tag::Ul | Tag::Ol | Tag::Dl);
    if !is_list && dom.tag(id) != Tag::P {
        return false;
    }
    let all = page.amount(id).link_chars;
    let (mut outside, mut inside) = (0, 0);
    let (mut first, mut has_several) = (None, false);
    for link in dom.find_all(id..dom.end(id), Tag::A) {
        let chars = page.amount(link).chars;
        let Some(href) = dom.attr(link, &local_name!("href")).filter(|_| chars > 0) else { continue };
        let Some(site) = teasers::other_site(page, href.trim()) else {
            inside += chars;
            if 2 * inside >= all {
                return false;
            }
            continue;
        };
        outside += chars;
        has_several |= *first.get_or_insert_with(|| site.clone()) != site;
    }
    let is_behind_text = || page.amount_in(dom.end(id)..dom.end(root)).prose == 0;
    2 * outside > all && !(is_list && how.article && !has_several && is_behind_text())
}

/// Returns true if the element or one of its ancestors is masked.
pub(super) fn is_masked(page: &Page<'_>, id: u32, mask: &[bool]) -> bool {
    let mut at = id;
    while at != NONE {
        if mask[at as usize] {
            return true;
        }
        at = page.dom.parent(at);
    }
    false
}
