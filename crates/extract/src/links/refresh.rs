//! Pages that lead to another page by a meta element, a header or a script.

use crate::{dom::Tag, page::Page, text};
use html5ever::local_name;

/// Maximum delay in seconds. A page that stays longer has a text of its own, as an advertisement before a portal.
const MAX_DELAY: u32 = 10;

/// Returns the URL to which a meta refresh leads within [`MAX_DELAY`] seconds.
pub(super) fn target_of<'a>(page: &'a Page<'_>, id: u32) -> Option<&'a str> {
    let dom = &page.dom;
    let kind = dom.attr(id, &local_name!("http-equiv"))?;
    if !kind.trim().eq_ignore_ascii_case("refresh") {
        return None;
    }
    // in `noscript` it leads to a form of the page without scripts
    if dom.ancestors(id).any(|up| matches!(dom.tag(up), Tag::Noscript | Tag::Template)) {
        return None;
    }
    target(dom.attr(id, &local_name!("content"))?)
}

/// Maximum words of a page that exists only for its script.
const MAX_WORDS: u32 = 20;

/// Returns true for a page with hardly any text and without external scripts, whose inline script may navigate to the
/// real page. The shell of an application loads scripts. Its own one may lead browsers that it does not support to a
/// notice.
pub(super) fn is_bare(page: &Page<'_>) -> bool {
    let mut scripts = page.dom.find_all(0..page.dom.len(), Tag::Script);
    page.amount(page.body).words <= MAX_WORDS
        && scripts.all(|id| page.dom.attr(id, &local_name!("src")).is_none())
}

/// URL that an inline script assigns to the location of the page, as text without a variable.
pub(super) fn target_of_script<'a>(page: &'a Page<'_>, id: u32) -> Option<&'a str> {
    let texts = (id + 1..page.dom.end(id)).map(|text| page.dom.text(text));
    let mut heads = texts.map(|code| text::head(code, MAX_SCRIPT));
    heads.find_map(location)
}

/// Maximum bytes of a script that are searched: such scripts are short.
const MAX_SCRIPT: usize = 4096;

/// The text that code assigns to `location`, `location.href`, or passes to `location.replace` or `location.assign`.
pub(super) fn location(code: &str) -> Option<&str> {
    code.match_indices("location").find_map(|(at, name)| {
        let before = code[..at].trim_end_matches(is_of_name);
        let object = &code[before.len()..at];
        if !matches!(object, "" | "window." | "document." | "self." | "top." | "parent." | "window.top.") {
            return None;
        }
        let rest = &code[at + name.len()..];
        let called = rest.strip_prefix(".replace").or_else(|| rest.strip_prefix(".assign"));
        let value = match called {
            Some(rest) => rest.trim_ascii_start().strip_prefix('(')?,
            None => rest.strip_prefix(".href").unwrap_or(rest).trim_ascii_start().strip_prefix('=')?,
        };
        let value = value.trim_ascii_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (url, behind) = value[1..].split_once(quote)?;
        // What is added to the text is not known.
        let is_whole = !behind.trim_ascii_start().starts_with(['+', '.', ',']);
        (is_whole && !url.is_empty() && !url.contains(['\\', '\n'])).then_some(url)
    })
}

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')
}

/// URL of a declarative refresh in a meta element or a `Refresh` header, unless it is later than 10 s. After the HTML standard,
/// "shared declarative refresh steps".
#[must_use]
pub fn target(content: &str) -> Option<&str> {
    let content = content.trim_ascii_start();
    let seconds = content.len() - content.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if !content.starts_with('.') && content[..seconds].parse::<u32>().ok()? > MAX_DELAY {
        return None;
    }
    let rest = content[seconds..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_mark = |c: char| c == ';' || c == ',' || c.is_ascii_whitespace();
    if !rest.starts_with(is_mark) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let url = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_ascii_start();
    let named = url.get(..3).filter(|name| name.eq_ignore_ascii_case("url"));
    let value = named.and_then(|_| url[3..].trim_ascii_start().strip_prefix('='));
    let url = value.unwrap_or(url).trim_ascii();
    let quoted = url.strip_prefix(['"', '\'']).and_then(|inner| inner.split(&url[..1]).next());
    Some(quoted.unwrap_or(url)).filter(|url| !url.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_of_a_script_is_a_text() {
        for (code, want) in [
            ("window.location = \"/a\";", Some("/a")),
            ("location.href='/a'", Some("/a")),
            ("if (top == self) { top.location.replace ( '/a' ) }", Some("/a")),
            ("document.location.assign(\"/a\")", Some("/a")),
            ("var x = location; location = '/b'", Some("/b")),
            ("location = '/a' + x", None),
            ("location = base + '/a'", None),
            ("location == '/a'", None),
            ("mylocation = '/a'", None),
            ("x.location = '/a'", None),
            ("location.hash = '#a'", None),
            ("location = ''", None),
            ("location.href = 'é\\u0020'", None),
            ("location", None),
        ] {
            assert_eq!(location(code), want, "{code}");
        }
    }

    #[test]
    fn refresh_url_is_read_as_browsers_do() {
        for (content, want) in [
            ("0; url=/a", Some("/a")),
            ("0;URL='/a b'x", Some("/a b")),
            (" 5.5 , url = \"/a\"", Some("/a")),
            ("0 /a", Some("/a")),
            (".5;urls", Some("urls")),
            ("0;url=", None),
            ("0", None),
            ("10;url=/a", Some("/a")),
            ("11;url=/a", None),
            ("99999999999;url=/a", None),
            ("url=/a", None),
            ("0x;url=/a", None),
            ("", None),
            ("0;url=é", Some("é")),
            ("0;é", Some("é")),
        ] {
            assert_eq!(target(content), want, "{content}");
        }
    }
}
