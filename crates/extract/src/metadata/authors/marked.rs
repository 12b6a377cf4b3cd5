//! Elements that are marked as authors.

use super::{
    super::{Sources, near, non_empty},
    names::{clean, is_full, split},
};
use crate::{dom::Tag, page::Page};
use html5ever::{LocalName, local_name};
use std::ops::Range;

/// Rank of an element's attributes as marks of an author, best first.
fn author_rank(page: &Page<'_>, id: u32) -> Option<u8> {
    let is = |word: &str, names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    let ranked = |(name, value): (&LocalName, &str)| match *name {
        local_name!("itemprop") => {
            value.split_ascii_whitespace().any(|word| is(word, &["author"])).then_some(0)
        }
        local_name!("rel") => value.split_ascii_whitespace().any(|word| is(word, &["author"])).then_some(1),
        local_name!("class") if may_name_author(value) => {
            let mut words = value.split(|c: char| !c.is_alphanumeric()).map(end_of_camel_case);
            words.any(|word| is(word, &["byline", "author", "authors", "authorname"])).then_some(2)
        }
        local_name!("href") => is_profile(page, value).then_some(3),
        _ => None,
    };
    page.dom.attrs(id).filter_map(ranked).min()
}

/// Ancestors of a link that may mark it as the author.
const MAX_ANCESTORS: usize = 2;

/// Returns true if the link, or a close ancestor, is marked as the author.
pub(in crate::metadata) fn is_marked_link(s: &Sources<'_>, id: u32) -> bool {
    let marked = |id: &u32| author_rank(s.page, *id).is_some();
    marked(&id) || s.page.dom.ancestors(id).take(MAX_ANCESTORS).any(|up| marked(&up))
}

/// Returns true if the value contains "author" or "byline", in any case.
fn may_name_author(value: &str) -> bool {
    let bytes = value.as_bytes();
    // A byte in six is enough: no letter occurs twice in these words, so it says where the word begins.
    (5..bytes.len()).step_by(6).any(|at| {
        let (word, offset) = match bytes[at] | 0x20 {
            b'a' => (b"author", 0),
            b'u' => (b"author", 1),
            b't' => (b"author", 2),
            b'h' => (b"author", 3),
            b'o' => (b"author", 4),
            b'r' => (b"author", 5),
            b'b' => (b"byline", 0),
            b'y' => (b"byline", 1),
            b'l' => (b"byline", 2),
            b'i' => (b"byline", 3),
            b'n' => (b"byline", 4),
            b'e' => (b"byline", 5),
            _ => return false,
        };
        let start = at - offset;
        bytes.get(start..start + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word))
    })
}

/// Last word of a name such as `documentAuthor`; the last two of `postAuthorName`.
fn end_of_camel_case(name: &str) -> &str {
    let starts = |(at, c): &(usize, char)| c.is_uppercase() && name[..*at].ends_with(char::is_lowercase);
    let last = |name: &str| name.char_indices().rfind(starts).map_or(0, |(at, _)| at);
    let at = last(name);
    if name[at..].eq_ignore_ascii_case("name") { &name[last(&name[..at])..] } else { &name[at..] }
}

/// Returns true if a link leads to an author's page: `/author/jane-holm`.
fn is_profile(page: &Page<'_>, href: &str) -> bool {
    let end = memchr::memchr2(b'?', b'#', href.as_bytes()).unwrap_or(href.len());
    let path = href[..end].trim_end_matches('/');
    let words = &page.rules.boilerplate.author_paths;
    let is_word = |part: &str| words.candidates(part).any(|word| part.eq_ignore_ascii_case(word));
    let mut slashes = memchr::memrchr_iter(b'/', path.as_bytes());
    let Some(mut end) = slashes.next() else { return false };
    slashes.map(Some).chain([None]).take(FOLDERS).any(|slash| {
        let folder = &path[slash.map_or(0, |at| at + 1)..end];
        end = slash.unwrap_or_default();
        is_word(folder)
    })
}

/// Folders around an author's page whose names are read.
const FOLDERS: usize = 2;

/// Maximum characters of an element that names only the authors.
const MAX_BYLINE: u32 = 100;

/// Authors in `rel=author`, `itemprop=author`, classes that contain byline or author, and links to an
/// author's page.
pub(super) fn visible(s: &Sources<'_>, range: Range<u32>) -> Vec<String> {
    let page = s.page;
    let dom = &page.dom;
    let mut best: Option<(u8, u32, Vec<String>)> = None;
    let is_short = |id: &u32| dom.tag(*id) != Tag::Text && (1..=MAX_BYLINE).contains(&page.chars(*id));
    for id in range.filter(is_short).take_while(|_| !page.budget.is_over()) {
        let Some(rank) = author_rank(page, id).filter(|_| page.is_visible(id)) else { continue };
        let goes_on = matches!(&best, Some((r, first, _)) if *r == rank && are_close(page, *first, id));
        let taken = best.as_ref().is_some_and(|(r, ..)| *r <= rank);
        if taken && !goes_on || near::is_elsewhere(page, id) || is_caption(page, id) {
            continue;
        }
        let names = names_in(s, id);
        match &mut best {
            Some((_, _, list)) if goes_on && list.iter().chain(&names).all(|name| is_full(name)) => {
                list.extend(names);
            }
            _ if !goes_on && !names.is_empty() => best = Some((rank, id, names)),
            _ => {}
        }
    }
    best.map(|(.., names)| names).unwrap_or_default()
}

/// Returns true for a byline in a figure or its caption, which names the picture's author.
fn is_caption(page: &Page<'_>, id: u32) -> bool {
    page.dom.ancestors(id).any(|up| matches!(page.dom.tag(up), Tag::Figure | Tag::Figcaption))
}

/// Returns true for two elements within one short element: they name the authors of one text.
fn are_close(page: &Page<'_>, first: u32, next: u32) -> bool {
    let around = page.dom.ancestors(first).find(|up| page.dom.end(*up) > next);
    let class = |id: u32| page.dom.attr(id, &local_name!("class"));
    let is_like = page.dom.tag(first) == page.dom.tag(next) && class(first) == class(next);
    is_like && around.is_some_and(|up| next >= page.dom.end(first) && page.amount(up).chars <= MAX_LIST)
}

/// Maximum characters of a list of authors.
const MAX_LIST: u32 = 160;

/// Names in an element that is marked as the author's.
fn names_in(s: &Sources<'_>, id: u32) -> Vec<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let named = (id..dom.end(id)).find(|down| {
        dom.attr(*down, &local_name!("itemprop")) == Some("name") && page.amount(*down).chars > 0
    });
    let mut names: Vec<String> = Vec::new();
    let mut goes_on = true;
    for phrase in phrases(page, named.unwrap_or(id)) {
        // An office or a date may follow a name; a sign or a word between two names leads to the next one.
        if names.is_empty() || goes_on || is_between(phrase.split(' ').next().unwrap_or_default()) {
            names.extend(split(&phrase).iter().filter_map(|name| clean(s, name)));
            goes_on = is_between(phrase.rsplit(' ').next().unwrap_or_default());
        } else {
            break;
        }
    }
    // Several full names are several authors; other text may follow a single partial name.
    let is_code = |name: &String| !name.contains(' ') && name.starts_with(char::is_lowercase);
    let full = names.iter().all(|name| is_full(name)) || names.iter().all(is_code);
    if full { names } else { names.into_iter().take(1).collect() }
}

/// Returns true for words between two names of a list.
fn is_between(word: &str) -> bool {
    word.ends_with([',', '&', '/', '|'])
        || matches!(word, "and" | "und" | "et" | "y" | "e" | "en" | "og" | "och" | "i")
}

/// Texts of an element, split where two elements meet without a space between them: "Ada Holm" and "2 March"
/// in two blocks or spans.
fn phrases(page: &Page<'_>, id: u32) -> Vec<String> {
    let dom = &page.dom;
    let texts = (id..dom.end(id)).filter(|down| dom.tag(*down) == Tag::Text && page.is_visible(*down));
    let mut out: Vec<String> = Vec::new();
    for text in texts.map(|down| dom.text(down)) {
        let meets = !text.starts_with(char::is_whitespace);
        match out.last_mut() {
            Some(last) if !meets || last.ends_with(char::is_whitespace) => last.push_str(text),
            _ => out.push(text.to_owned()),
        }
    }
    out.iter().filter_map(|text| non_empty(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_and_byline_are_found_in_class_names() {
        for (words, holds) in
            [("author", true), ("BYLINE", true), ("buthor", false), ("autho", false), ("bylin", false)]
        {
            for before in 0..8 {
                let value = format!("{}{words}-é", "-".repeat(before));
                assert_eq!(may_name_author(&value), holds, "{value}");
            }
        }
        assert!(!may_name_author(""));
    }
}
