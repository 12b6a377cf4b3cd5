//! Pages that lead to another page by a meta element.

use crate::{dom::Tag, page::Page};
use html5ever::local_name;

/// Maximum delay in seconds: a page that shows itself for longer is one of its own, as a ticker that loads itself again.
const MAX_DELAY: u32 = 30;

/// URL of a `meta` element to which a browser with scripts goes on at once, or after a note for the reader.
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

/// URL of a declarative refresh (HTML standard, "shared declarative refresh steps").
fn target(content: &str) -> Option<&str> {
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
    fn refresh_url_is_read_as_browsers_do() {
        for (content, want) in [
            ("0; url=/a", Some("/a")),
            ("0;URL='/a b'x", Some("/a b")),
            (" 5.5 , url = \"/a\"", Some("/a")),
            ("0 /a", Some("/a")),
            (".5;urls", Some("urls")),
            ("0;url=", None),
            ("0", None),
            ("600;url=/a", None),
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
