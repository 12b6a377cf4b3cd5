//! Weaker second try if the rules leave little text: names and ratios rank, they do not remove a page's
//! content.

use super::{
    Chosen, PruneSettings,
    notes::is_note,
    opening::{introduces, wraps_heading},
};
use crate::{dom::Tag, explain, page::Page, polish::Polish, rules::Roles, selection::Selection};
use crawl_model::Extractor;
use html5ever::local_name;

/// Names of a page's frame, which count if the page has no main element.
const FRAME: Roles = Roles::NAVIGATION.and(Roles::FOOTER).and(Roles::SIDEBAR).and(Roles::OVERLAY);

/// Selects the main element or the body, without its frame. The chosen part must have few words, and this
/// selection several times as many.
pub(super) fn choose(page: &Page<'_>, chosen: Chosen, how: PruneSettings) -> Chosen {
    let rules = &page.rules.extraction;
    let words = chosen.selection.words;
    let few = words < rules.words.readability;
    if !few && (how.article || words >= rules.words.thin) {
        return chosen;
    }
    let root = root(page);
    let relaxed = Selection::new(page, vec![root], frame(page, root));
    explain::candidate(page, "second try", &relaxed);
    let amount = chosen.selection.amount(page);
    let factor = match (2 * amount.prose > amount.chars, few) {
        (true, _) => rules.choice.relaxed_prose,
        (false, true) => rules.choice.relaxed_few,
        (false, false) => rules.choice.relaxed_thin,
    };
    if relaxed.words < rules.words.trafilatura || (relaxed.words as f32) < factor * words as f32 {
        return chosen;
    }
    let reason = format!("the rules leave {words} words of {}: {}", relaxed.words, chosen.reason);
    Chosen { polish: Polish::Edges, ..Chosen::new(relaxed, Extractor::BodyFallback, reason) }
}

/// The first visible main element with text; else the body.
fn root(page: &Page<'_>) -> u32 {
    let dom = &page.dom;
    let is_main = |id: &u32| dom.tag(*id) == Tag::Main || dom.attr(*id, &local_name!("role")) == Some("main");
    let mut anchors = page.anchors.clone();
    anchors.sort_unstable();
    let mut mains = anchors.into_iter().map(|(_, id)| id).filter(is_main);
    mains.find(|id| page.is_visible(*id) && page.amount(*id).words > 0).unwrap_or(page.body)
}

/// Navigation, frame of the page and forms, by node. In the body names count as well, since it holds the
/// frame.
pub(super) fn frame(page: &Page<'_>, root: u32) -> Vec<bool> {
    let dom = &page.dom;
    let mut drop = vec![false; dom.len() as usize];
    let mut id = root + 1;
    while id < dom.end(root) && !page.budget.is_over() {
        let roles = page.roles[id as usize];
        let names = || if wraps_heading(page, id) { FRAME.without(Roles::FOOTER) } else { FRAME };
        let by_name = root == page.body && roles.has(FRAME) && roles.has(names());
        if by_name || is_frame(page, id, root) {
            drop[id as usize] = true;
            id = dom.end(id);
        } else {
            id += 1;
        }
    }
    drop
}

fn is_frame(page: &Page<'_>, id: u32, root: u32) -> bool {
    let dom = &page.dom;
    match dom.tag(id) {
        Tag::Text => return false,
        Tag::Aside if is_note(page, id) => return false,
        Tag::Nav
        | Tag::Footer
        | Tag::Aside
        | Tag::Dialog
        | Tag::Menu
        | Tag::Form
        | Tag::Button
        | Tag::Label => {
            return true;
        }
        Tag::Header if root == page.body => {
            return !(id..dom.end(id)).any(|down| dom.tag(down) == Tag::H1) && !introduces(page, id);
        }
        _ => {}
    }
    dom.attr(id, &local_name!("role")).is_some_and(|role| {
        matches!(
            role,
            "navigation"
                | "contentinfo"
                | "search"
                | "menu"
                | "menubar"
                | "dialog"
                | "alertdialog"
                | "complementary"
                | "tablist"
                | "toolbar"
        )
    })
}
