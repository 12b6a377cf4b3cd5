//! Trafilatura-style candidate: a container by its name, else the body, and in it every block outside of
//! boilerplate. After Barbaresi's trafilatura (ACL 2021), as described in heuristics reference §4.

use super::{PruneSettings, prune};
use crate::{dom::Tag, page::Page, selection::Selection};
use html5ever::local_name;

/// All blocks of the container that are neither boilerplate by name nor consist of links.
pub(super) fn candidate(page: &Page<'_>, mask: &[bool], how: PruneSettings) -> Option<Selection> {
    let root = container(page, mask).unwrap_or(page.body);
    let mut drop = mask.to_vec();
    let roots = vec![root];
    prune::drop_link_lists(page, &roots, &mut drop, how);
    Some(Selection::new(page, roots, drop))
}

/// The container that a known program or the HTML standard marks as the content. With several articles it is
/// their common container.
pub(super) fn container(page: &Page<'_>, mask: &[bool]) -> Option<u32> {
    let dom = &page.dom;
    let least = page.rules.extraction.words.trafilatura;
    let usable = |id: u32| !prune::is_masked(page, id, mask) && page.amount(id).words >= least;
    let mut named: Vec<(u16, u32)> = page.containers.iter().copied().filter(|(_, id)| usable(*id)).collect();
    named.sort_unstable();
    if let Some((_, id)) = named.first() {
        return Some(*id);
    }
    let body = page.within_body();
    let mut articles = dom.find_all(body.clone(), Tag::Article).filter(|id| usable(*id));
    if let (Some(article), None) = (articles.next(), articles.next()) {
        return Some(article);
    }
    let is_main = |id: u32| dom.tag(id) == Tag::Main || dom.attr(id, &local_name!("role")) == Some("main");
    body.into_iter().find(|id| is_main(*id) && usable(*id))
}
