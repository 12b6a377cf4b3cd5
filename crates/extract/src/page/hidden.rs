//! Nodes that a reader does not see, and elements that a click opens.

use super::Page;
use crate::{
    dom::{Dom, Tag},
    rules::Roles,
    visibility::Seen,
};
use html5ever::local_name;
use std::{cell::OnceCell, collections::HashSet};

/// Reason why a reader does not see a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenReason {
    /// The node is visible.
    No,
    /// Scripts, styles, form fields and the like.
    Silent,
    /// Hidden by attribute or style, until a click or a script shows it.
    Hidden,
    /// Hidden permanently by a style.
    Unreadable,
    /// A consent banner.
    Consent,
}

impl HiddenReason {
    /// The reason, combined with that of the styles.
    pub(super) fn with_style(self, style: Option<Seen>) -> Self {
        match (style, self) {
            (Some(Seen::Closed), Self::No) => Self::Hidden,
            (Some(Seen::Never), gone) if gone != Self::Silent => Self::Unreadable,
            (_, gone) => gone,
        }
    }
}

impl Page<'_> {
    /// Returns true if a reader opens the hidden element with a click, and its text is content. Its names,
    /// its role, or a control that names it decide.
    pub(crate) fn is_opened_by_a_click(&self, id: u32, controlled: &Controlled) -> bool {
        let roles = self.roles[id as usize];
        let by_role = || {
            let role = self.dom.attr(id, &local_name!("role"));
            role.is_some_and(|role| matches!(role, "tabpanel" | "region"))
        };
        let by_control = || {
            let own_id = self.dom.attr(id, &local_name!("id")).filter(|own_id| !own_id.is_empty());
            !roles.has(OVERLAY_ROLES) && own_id.is_some_and(|own_id| controlled.has(&self.dom, own_id))
        };
        roles.has(Roles::FOLDED) || by_role() || by_control()
    }
}

/// Visibility of an element by its tag and attributes, with its class and its id.
pub(super) fn by_attributes(dom: &Dom, id: u32) -> (HiddenReason, &str, &str) {
    let (mut class, mut own_id) = ("", "");
    let mut gone =
        if dom.tag(id).is_silent() && !is_shadow(dom, id) { HiddenReason::Silent } else { HiddenReason::No };
    for (name, value) in dom.attrs(id) {
        match *name {
            local_name!("class") => class = value,
            local_name!("id") => own_id = value,
            local_name!("hidden") if !value.eq_ignore_ascii_case("until-found") => {
                gone = HiddenReason::Hidden;
            }
            local_name!("aria-hidden") if value == "true" => gone = HiddenReason::Hidden,
            // the length is compared first, since it differs for most names
            _ if name.len() == 7 && &**name == "popover" => gone = HiddenReason::Hidden,
            _ => {}
        }
    }
    (gone, class, own_id)
}

/// Roles of parts that open on a click and are no content: menus, dialogs, searches.
const OVERLAY_ROLES: Roles = Roles::OVERLAY.and(Roles::NAVIGATION).and(Roles::FORM).and(Roles::SIDEBAR);

/// Hides the children of a shadow host that have no slot in its shadow root. Of several roots the first one counts.
pub(super) fn hide_behind_shadow(dom: &Dom, root: u32, gone: &mut [HiddenReason]) {
    if dom.siblings_before(root).any(|before| is_shadow(dom, before)) {
        return;
    }
    if dom.find(root..dom.end(root), Tag::Slot).is_some() {
        return;
    }
    for child in dom.children(dom.parent(root)).filter(|child| *child != root) {
        let nodes = &mut gone[child as usize..dom.end(child) as usize];
        nodes
            .iter_mut()
            .filter(|gone| **gone == HiddenReason::No)
            .for_each(|gone| *gone = HiddenReason::Unreadable);
    }
}

/// Ids of elements that controls of a page open; read on first use.
#[derive(Default)]
pub(crate) struct Controlled(OnceCell<HashSet<String>>);

impl Controlled {
    fn has(&self, dom: &Dom, id: &str) -> bool {
        self.0.get_or_init(|| controlled_ids(dom)).contains(id)
    }
}

/// Ids of elements that buttons, tabs, labels and links in the page open.
fn controlled_ids(dom: &Dom) -> HashSet<String> {
    let mut ids = HashSet::new();
    let mut add = |id: &str| {
        ids.insert(id.to_owned());
    };
    for id in dom.of_kind(|tag| tag != Tag::Text) {
        // An invisible control opens nothing. Few elements are controls, so the other ones are not examined.
        let is_visible = || by_attributes(dom, id).0 != HiddenReason::Hidden;
        for (name, value) in dom.attrs(id) {
            match *name {
                local_name!("aria-controls") if is_visible() => {
                    value.split_ascii_whitespace().for_each(&mut add);
                }
                local_name!("for") if is_visible() => add(value),
                local_name!("href") if value.len() > 1 && value.starts_with('#') && is_visible() => {
                    add(&value[1..]);
                }
                _ if OPENERS.contains(&&**name) && is_visible() => add(value.trim_start_matches('#')),
                _ => {}
            }
        }
    }
    ids
}

/// Attributes of controls that name the opened element.
const OPENERS: [&str; 5] =
    ["data-target", "data-bs-target", "popovertarget", "commandfor", "data-toggle-target"];

/// Returns true for a declarative shadow root: a template whose contents are shown.
pub(crate) fn is_shadow(dom: &Dom, id: u32) -> bool {
    dom.tag(id) == Tag::Template && dom.attrs(id).any(|(name, _)| &**name == "shadowrootmode")
}
