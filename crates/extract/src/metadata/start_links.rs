//! Links to the start page of a site, whose text names it.

use super::{
    Sources,
    title::{letters, push_letters},
};
use crate::dom::Tag;
use html5ever::local_name;

/// Maximum links of a page that are searched for the site's name.
const MAX_LINKS: usize = 400;

/// Letters of the link texts to start pages of parent folders, if they occur in the title.
pub(super) fn links_above(s: &Sources<'_>, title: &str) -> Vec<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let title = letters(title);
    let Some(own) = page.url else { return Vec::new() };
    let links = dom.find_all(page.within_body(), Tag::A).take(MAX_LINKS);
    let mut text = String::new();
    let named = links.filter(|id| (1..=MAX_SITE).contains(&page.chars(*id))).filter_map(|id| {
        let href = dom.attr(id, &local_name!("href")).filter(|href| !names_file(href))?;
        text.clear();
        let texts = (id..dom.end(id)).filter(|id| dom.tag(*id) == Tag::Text && page.is_visible(*id));
        texts.for_each(|id| push_letters(dom.text(id), &mut text));
        let in_title = !text.is_empty() && title.contains(&text);
        let target = in_title.then(|| page.resolve(href))??;
        is_above(&target, own).then(|| text.clone())
    });
    named.collect()
}

/// Returns true for a link that certainly leads to a file other than an index. As written it has neither scheme,
/// host nor query, and no character that parsing would change. Most links are like that.
fn names_file(href: &str) -> bool {
    let path = &href[..memchr::memchr(b'#', href.as_bytes()).unwrap_or(href.len())];
    let file = memchr::memrchr(b'/', path.as_bytes()).map_or(path, |at| &path[at + 1..]);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    file.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !file.starts_with("index.")
        && path.bytes().all(is_plain)
        && !path.contains("//")
}

/// Returns true for the URL of a start page of a parent folder.
fn is_above(target: &str, own: &url::Url) -> bool {
    // Most links lead to other pages, and parsing is expensive.
    let is_start = |(_, file): (&str, &str)| file.is_empty() || file.starts_with("index.");
    if !target.rsplit_once('/').is_some_and(is_start) {
        return false;
    }
    let Ok(target) = url::Url::parse(target) else { return false };
    let (folder, file) = target.path().rsplit_once('/').unwrap_or_default();
    let below = own.path().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1);
    target.host_str() == own.host_str()
        && target.query().is_none()
        && is_start((folder, file))
        && if target.path() == own.path() { own.query().is_some() } else { below }
}

/// Returns true if the whole heading links to a start page above the page: it names the site or the manual.
pub(super) fn leads_up(s: &Sources<'_>, heading: u32) -> bool {
    let (page, dom) = (s.page, &s.page.dom);
    let Some(own) = page.url else { return false };
    let whole = page.amount(heading).chars;
    let around = dom.ancestors(heading).take(1);
    let mut links = (heading + 1..dom.end(heading)).chain(around).filter(|id| dom.tag(*id) == Tag::A);
    links.any(|id| {
        let target = dom.attr(id, &local_name!("href")).and_then(|href| page.resolve(href));
        page.amount(id).chars >= whole && target.is_some_and(|target| is_above(&target, own))
    })
}

/// Maximum characters of a link text that names a site.
const MAX_SITE: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_links_are_not_start_page_links() {
        let base = url::Url::parse("https://a.test/b/c/d.html").unwrap();
        for href in ["d.html", "../x/d.html#e", "/d", "./a/d.e", "x/../d-e_f"] {
            assert!(names_file(href) && !is_above(base.join(href).unwrap().as_str(), &base), "{href}");
        }
        for href in [
            "",
            ".",
            "..",
            "../",
            "/",
            "../index.html",
            "//a.test",
            "https://a.test",
            "x?y",
            "x:y",
            "\\a",
            "#x",
        ] {
            assert!(!names_file(href), "{href}");
        }
    }
}
