//! Scripts of a page, which may show what its styles hide.

use super::{is_external_sheet, sheets_of};
use crate::dom::{Dom, Tag};
use html5ever::local_name;

/// Returns true if a page runs no script and loads no style sheet. Only a click can show its hidden text.
pub(crate) fn is_static(dom: &Dom) -> bool {
    !has_external_sheets(dom) && !runs_scripts(dom)
}

/// Returns true if a page runs a script: an element, a handler of events, or a `javascript:` URL.
pub(super) fn runs_scripts(dom: &Dom) -> bool {
    (1..dom.len()).any(|id| match dom.tag(id) {
        Tag::Text => false,
        Tag::Script => is_run(dom, id),
        _ => dom.attrs(id).any(|(name, value)| name.starts_with("on") || is_script_url(value)),
    })
}

/// Returns true for a script element that is code and not data.
fn is_run(dom: &Dom, id: u32) -> bool {
    dom.attr(id, &local_name!("type")).is_none_or(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        // other names of JavaScript, and marks such as `text/rocketscript` of tools that run the script later
        kind.is_empty() || kind.contains("script") || kind == "module"
    })
}

fn is_script_url(value: &str) -> bool {
    const SCHEME: &[u8] = b"javascript:";
    value.trim_start().as_bytes().get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
}

/// Returns true if a page loads a style sheet.
fn has_external_sheets(dom: &Dom) -> bool {
    dom.of_kind(|tag| tag == Tag::Link).any(|id| is_external_sheet(dom, id))
        || sheets_of(dom).into_iter().any(|id| {
            (id + 1..dom.end(id)).any(|text| dom.text(text).to_ascii_lowercase().contains("@import"))
        })
}
