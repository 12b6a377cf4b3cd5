//! Links that scripts of attributes lead to: `onclick="location.href='/a'"` and `href="javascript:location='/a'"`.

use super::refresh::location;
use crate::{
    dom::{Dom, Tag},
    page::Page,
};
use html5ever::local_name;

/// Maximum bytes of a script that are read.
const MAX_SCRIPT: usize = 1024;

/// Returns true if an attribute of the page may hold such a script.
pub(super) fn may_navigate(dom: &Dom) -> bool {
    ["location", "window.open"].iter().any(|name| dom.attrs_hold(name))
}

/// The resolved URL that the script of a link, of a row or of a box leads to. A button acts, as does an address with parameters: a
/// site does not expect a crawler there.
pub(super) fn target(page: &Page<'_>, id: u32) -> Option<String> {
    let dom = &page.dom;
    let is_of_links = matches!(
        dom.tag(id),
        Tag::A | Tag::Tr | Tag::Td | Tag::Li | Tag::Div | Tag::Article | Tag::Section | Tag::Figure
    );
    if !is_of_links {
        return None;
    }
    let clicked = dom.attrs(id).find(|(name, _)| &**name == "onclick").and_then(|(_, code)| leads_to(code));
    let linked = || {
        let href = dom.attr(id, &local_name!("href"))?.trim_start();
        let name = href.get(..SCHEME.len()).filter(|name| name.eq_ignore_ascii_case(SCHEME))?;
        leads_to(&href[name.len()..])
    };
    let address = clicked.or_else(linked)?;
    let acts = |id| {
        matches!(dom.tag(id), Tag::Form | Tag::Button)
            || dom
                .attr(id, &local_name!("role"))
                .is_some_and(|role| role.trim().eq_ignore_ascii_case("button"))
    };
    let is_link = !address.contains('?') && !acts(id) && !dom.ancestors(id).any(acts);
    is_link.then(|| page.resolve(address))?
}

const SCHEME: &str = "javascript:";

/// The address that a statement of the code always leads to. A condition, or an action that asks for confirmation, is no
/// link.
fn leads_to(code: &str) -> Option<&str> {
    if code.len() > MAX_SCRIPT || code.contains("confirm") {
        return None;
    }
    code.split(';').find_map(|statement| {
        let statement = statement.trim_ascii_start();
        let statement = statement.strip_prefix("return ").unwrap_or(statement).trim_ascii_start();
        match statement.strip_prefix("window.open") {
            Some(arguments) => opened(arguments),
            None => {
                OBJECTS.iter().any(|object| statement.starts_with(object)).then(|| location(statement))?
            }
        }
    })
}

/// Starts of a statement that sets the location.
const OBJECTS: [&str; 6] =
    ["location", "window.location", "document.location", "self.location", "top.location", "parent.location"];

/// The first argument of `window.open`, if it is a text. A third one makes a window beside the page, as for a print or a share.
fn opened(arguments: &str) -> Option<&str> {
    let value = arguments.trim_ascii_start().strip_prefix('(')?.trim_ascii_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (url, behind) = value[1..].split_once(quote)?;
    let behind = behind.trim_ascii_start();
    let is_page = behind.starts_with(')') || (behind.starts_with(',') && behind.matches(',').count() == 1);
    (is_page && !url.is_empty() && !url.contains('\\')).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_of_an_attribute_leads_to_a_fixed_address() {
        for (code, want) in [
            ("location.href='/a'", Some("/a")),
            ("window.location = \"/a\"; return false", Some("/a")),
            ("return window.open('/a', 'w')", Some("/a")),
            ("track('x');document.location='/a'", Some("/a")),
            ("window.open('/a')", Some("/a")),
            ("window.open('/a' + x)", None),
            ("window.open('/a', 'w', 'width=300')", None),
            ("window.open()", None),
            ("if (x) location='/a'", None),
            ("confirm('x') && 1; location='/a'", None),
            ("location='/a' + this.value", None),
            ("go('/a')", None),
            ("my.location='/a'", None),
            ("location.reload()", None),
            ("", None),
        ] {
            assert_eq!(leads_to(code), want, "{code}");
        }
    }
}
