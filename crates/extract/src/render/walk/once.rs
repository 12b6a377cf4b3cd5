//! URLs that the style `once` omits, and the form of the others.

use super::Walk;
use crate::{dom::Tag, page::Page, rules::MarkdownRules, text};
use html5ever::local_name;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::{borrow::Cow, hash::Hasher};
use url::Position;

/// Number of targets from which a link text names none of them.
const LABEL_PLACES: usize = 3;
/// Longest text of a control, in characters.
const MAX_LABEL: u32 = 40;
/// Most nodes of a control.
const MAX_LABEL_NODES: u32 = 20;
/// Longest text that is compared with its URL, in characters.
const MAX_NAME: u32 = 200;
/// Maximum nodes of a link whose text is compared with its URL.
const MAX_NAME_NODES: u32 = 40;
/// Longest extension of a file name, in bytes.
const MAX_EXTENSION: usize = 5;

/// Texts with several targets: "Read more" names none of them.
pub(super) fn labels(page: &Page<'_>) -> FxHashSet<String> {
    let dom = &page.dom;
    let mut places: FxHashMap<String, FxHashSet<&str>> = FxHashMap::default();
    for id in links_with_repeated_texts(page) {
        let Some(href) = dom.attr(id, &local_name!("href")) else { continue };
        let hrefs = places.entry(text::fold(&dom.raw_text(id))).or_default();
        if hrefs.len() < LABEL_PLACES {
            hrefs.insert(without_fragment(href));
        }
    }
    let several = places.into_iter().filter(|(_, hrefs)| hrefs.len() >= LABEL_PLACES);
    several.map(|(label, _)| label).collect()
}

/// Short links whose text has several targets, by the hash of its words. Only these texts are copied.
fn links_with_repeated_texts(page: &Page<'_>) -> Vec<u32> {
    let dom = &page.dom;
    let mut links: Vec<(u64, u32)> = Vec::new();
    for id in dom.find_all(page.body..dom.end(page.body), Tag::A) {
        if !(1..=MAX_LABEL).contains(&page.amount(id).chars)
            || dom.end(id) - id > MAX_LABEL_NODES
            || dom.attr(id, &local_name!("href")).is_none()
        {
            continue;
        }
        let mut hasher = FxHasher::default();
        // Words may continue in the next node, so only their characters count.
        for text in (id..dom.end(id)).map(|node| dom.text(node)) {
            if text.is_ascii() {
                let letters = text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'..=b'\r'));
                letters.for_each(|byte| hasher.write_u8(byte));
            } else {
                text.split_whitespace().flat_map(str::bytes).for_each(|byte| hasher.write_u8(byte));
            }
        }
        links.push((hasher.finish(), id));
    }
    links.sort_unstable();
    let alike = links.chunk_by(|(a, _), (b, _)| a == b).filter(|alike| has_several_targets(page, alike));
    alike.flatten().map(|(_, id)| *id).collect()
}

fn has_several_targets(page: &Page<'_>, links: &[(u64, u32)]) -> bool {
    let mut targets: [&str; LABEL_PLACES] = [""; LABEL_PLACES];
    let mut count = 0;
    for (_, id) in links {
        let href = without_fragment(page.dom.attr(*id, &local_name!("href")).unwrap_or_default());
        if !targets[..count].contains(&href) {
            targets[count] = href;
            count += 1;
        }
        if count == LABEL_PLACES {
            return true;
        }
    }
    false
}

/// Folders of archives with links to two targets: a single link may lead to a page of that name in a manual.
fn archives(page: &Page<'_>) -> FxHashSet<String> {
    let dom = &page.dom;
    let mut found: FxHashMap<&str, (&str, bool)> = FxHashMap::default();
    for id in dom.find_all(page.body..dom.end(page.body), Tag::A) {
        let Some(href) = dom.attr(id, &local_name!("href")) else { continue };
        if let Some(folder) = archive_folder(href, &page.rules.extraction.markdown) {
            let target = without_fragment(href);
            let (first, has_two) = found.entry(folder).or_insert((target, false));
            *has_two |= *first != target;
        }
    }
    found.into_iter().filter(|(_, (_, has_two))| *has_two).map(|(folder, _)| folder.to_owned()).collect()
}

fn without_fragment(href: &str) -> &str {
    memchr::memchr(b'#', href.as_bytes()).map_or(href, |at| &href[..at]).trim()
}

impl Walk<'_> {
    /// Returns true if the URL of a link does not help a reader of the text. It belongs to a control, or to
    /// the same site: to an archive, or to a page named like the link's text.
    pub(super) fn is_unspelled(&self, id: u32, url: &str) -> bool {
        if self.is_label(id) {
            return true;
        }
        let Some(path) = self.page.url.and_then(|page| url.strip_prefix(&page[..Position::BeforePath]))
        else {
            return false;
        };
        self.is_unvouched(id) || self.is_filed(id) || self.is_named(id, path)
    }

    /// Returns true if the text of a link leads to several targets.
    fn is_label(&self, id: u32) -> bool {
        !self.links.labels.is_empty()
            && self.page.amount(id).chars <= MAX_LABEL
            && self.links.labels.contains(&text::fold(&self.page.dom.raw_text(id)))
    }

    /// Returns true if the site does not vouch for its own link: it fills a basket, sorts, or replies.
    fn is_unvouched(&self, id: u32) -> bool {
        let button = self
            .page
            .dom
            .attr(id, &local_name!("role"))
            .is_some_and(|role| role.eq_ignore_ascii_case("button"));
        button || self.has_rel(id, &self.page.rules.extraction.markdown.unvouched_rels)
    }

    /// Returns true if a link leads to the archive of a tag, category or author, or to the profile of a user.
    /// Its `rel` says so, or the page links to two targets in the same folder with such a name.
    fn is_filed(&self, id: u32) -> bool {
        let rules = &self.page.rules.extraction.markdown;
        let is_archive = |folder| self.links.archives.get_or_init(|| archives(self.page)).contains(folder);
        self.has_rel(id, &rules.archive_rels)
            || self
                .page
                .dom
                .attr(id, &local_name!("href"))
                .and_then(|href| archive_folder(href, rules))
                .is_some_and(is_archive)
    }

    fn has_rel(&self, id: u32, names: &[String]) -> bool {
        self.page.dom.attr(id, &local_name!("rel")).is_some_and(|rel| {
            rel.split_ascii_whitespace().any(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)))
        })
    }

    /// Returns true if the text of a link is the name of the page at the path's end.
    fn is_named(&self, id: u32, path: &str) -> bool {
        let dom = &self.page.dom;
        (1..=MAX_NAME).contains(&self.page.amount(id).chars)
            && dom.end(id) - id <= MAX_NAME_NODES
            && ends_with_name(path, &dom.raw_text(id), &self.page.rules.extraction.markdown.index_files)
    }
}

/// Part of a URL up to the name of an archive: its last folder, or the file before the query.
fn archive_folder<'h>(href: &'h str, rules: &MarkdownRules) -> Option<&'h str> {
    let href = without_fragment(href);
    let (path, has_query) =
        memchr::memchr(b'?', href.as_bytes()).map_or((href, false), |at| (&href[..at], true));
    let mut path = path.trim_end_matches('/');
    if let Some((folder, file)) = split_last(path)
        && is_index(file, &rules.index_files)
    {
        path = folder.trim_end_matches('/');
    }
    let is_known = |name: &str| rules.archives.iter().any(|archive| archive.eq_ignore_ascii_case(name));
    let (folder, last) = split_last(path).unwrap_or(("", path));
    // A copy of a site holds the query in the file name.
    let is_mark = |at: &usize| matches!(last.as_bytes().get(*at + 1..*at + 3), Some(b"3F" | b"3f"));
    let encoded = memchr::memchr_iter(b'%', last.as_bytes()).find(is_mark);
    let file = &last[..encoded.unwrap_or(last.len())];
    if (has_query || encoded.is_some()) && is_known(file.rsplit_once('.').map_or(file, |(stem, _)| stem)) {
        return Some(&path[..path.len() - last.len() + file.len()]);
    }
    let folder = folder.trim_end_matches('/');
    // Two slashes precede a host.
    let (before, name) = split_last(folder).unwrap_or(("", folder));
    (!last.is_empty() && !before.ends_with('/') && is_known(name)).then_some(folder)
}

/// Splits a path at its last slash.
fn split_last(path: &str) -> Option<(&str, &str)> {
    memchr::memrchr(b'/', path.as_bytes()).map(|at| (&path[..at], &path[at + 1..]))
}

/// Returns true if a file is the index of its folder.
fn is_index(file: &str, index_files: &[String]) -> bool {
    file.split_once('.').is_some_and(|(stem, kind)| {
        !kind.is_empty()
            && kind.bytes().all(|b| b.is_ascii_alphanumeric())
            && index_files.iter().any(|name| name.eq_ignore_ascii_case(stem))
    })
}

/// Returns true if a path without a query ends with a name: its letters and digits, with any separators, from
/// a part's start. An index file, and the extension of a file, may follow.
fn ends_with_name(path: &str, name: &str, index_files: &[String]) -> bool {
    if path.contains('?') {
        return false;
    }
    let path = path.trim_end_matches('/');
    let path = match path.rsplit_once('/') {
        Some((folder, file)) if is_index(file, index_files) => folder.trim_end_matches('/'),
        _ => path,
    };
    let path = decoded(path);
    let without_extension = path.rsplit_once('.').filter(|(_, extension)| {
        (1..=MAX_EXTENSION).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    ends_with_letters(&path, name) || without_extension.is_some_and(|(path, _)| ends_with_letters(path, name))
}

/// Returns true if the letters and digits of a name end a path, from the start of a part. A number names no
/// page, but a day or a page of a list.
fn ends_with_letters(path: &str, name: &str) -> bool {
    let mut before = path.chars().rev();
    let mut some = false;
    for c in name.chars().rev().filter(|c| c.is_alphanumeric()) {
        some |= c.is_alphabetic();
        let other = before.by_ref().find(|c| c.is_alphanumeric());
        if !other.is_some_and(|other| other == c || other.to_lowercase().eq(c.to_lowercase())) {
            return false;
        }
    }
    some && before.next().is_none_or(|c| matches!(c, '/' | '.'))
}

/// Decodes a path's percent signs, if the result is UTF-8.
fn decoded(path: &str) -> Cow<'_, str> {
    if memchr::memchr(b'%', path.as_bytes()).is_none() {
        return Cow::Borrowed(path);
    }
    percent_encoding::percent_decode_str(path).decode_utf8().unwrap_or(Cow::Borrowed(path))
}

/// URL with percent-encoded letters beyond ASCII decoded. URL parsers encode them again.
pub(super) fn readable(url: &str) -> Cow<'_, str> {
    let Some(mut at) = url.find('%') else { return Cow::Borrowed(url) };
    let mut out = String::with_capacity(url.len());
    out.push_str(&url[..at]);
    while at < url.len() {
        let rest = &url[at..];
        let run = encoded_run(rest);
        if run == 0 {
            let next = rest[1..].find('%').map_or(rest.len(), |next| next + 1);
            out.push_str(&rest[..next]);
            at += next;
            continue;
        }
        push_letters(&mut out, &rest[..run]);
        at += run;
    }
    Cow::Owned(out)
}

/// Bytes of the percent-encoded run at the start of a text.
fn encoded_run(text: &str) -> usize {
    let is_encoded =
        |three: &&[u8]| matches!(three, [b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    3 * text.as_bytes().chunks(3).take_while(is_encoded).count()
}

/// Adds a run of encoded bytes: letters beyond ASCII decoded, the rest unchanged.
fn push_letters(out: &mut String, run: &str) {
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(run).collect();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if !c.is_ascii() && c.is_alphanumeric() {
                out.push(c);
            } else {
                out.push_str(&run[3 * at..3 * (at + c.len_utf8())]);
            }
            at += c.len_utf8();
        }
        out.push_str(&run[3 * at..3 * (at + chunk.invalid().len())]);
        at += chunk.invalid().len();
    }
}

/// Part of a URL that names a page: without scheme, fragment, index name and final slash. A page that answers
/// at its folder and at the folder's index links to itself by both.
pub(super) fn place<'u>(url: &'u str, index_files: &[String]) -> &'u str {
    let url = url.split('#').next().unwrap_or(url);
    let url = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (folder, file) = url.rsplit_once('/').unwrap_or((url, ""));
    if file.is_empty() || is_index(file, index_files) { folder } else { url }
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    fn index_files() -> Vec<String> {
        vec!["index".to_owned(), "package-summary".to_owned()]
    }

    #[test]
    fn path_that_ends_with_the_link_text_is_recognised() {
        for (path, name) in [
            ("/wiki/Red_list_(species)", "Red list (species)"),
            ("/docs/struct.HashMap.html", "HashMap"),
            ("/api/a/b/Outer.Inner.html", "Outer.Inner"),
            ("/api/org/example/tools/package-summary.html", "org.example.tools"),
            ("/news/a-new-bridge/", "A new bridge!"),
            ("/news/a-new-bridge/index.html", "A new bridge"),
            ("/tag/%E7%94%B3%E8%AF%B7", "申请"),
            ("/releases/v1.2", "v1.2"),
        ] {
            assert!(ends_with_name(path, name, &index_files()), "{path} {name}");
        }
        for (path, name) in [
            ("/news/an-old-bridge", "bridge"),
            ("/news/bridge", "A new bridge"),
            ("/show?name=bridge", "bridge"),
            ("/123.html", "A new bridge"),
            ("/", "Home"),
            ("/x", "→"),
            ("/page/2/", "2"),
        ] {
            assert!(!ends_with_name(path, name, &index_files()), "{path} {name}");
        }
    }

    #[test]
    fn archive_page_is_recognised_by_its_last_folder() {
        let rules = crate::rules::Rules::embedded().unwrap();
        let rules = &rules.extraction.markdown;
        for (href, folder) in [
            ("/tags/iron/", "/tags"),
            ("https://a.test/blog/category/bridges/index.html#top", "https://a.test/blog/category"),
            ("../author/jane", "../author"),
            ("/forum/member.php?action=profile&uid=9", "/forum/member.php"),
            ("/forum/member.php%3faction=profile&uid=9.html", "/forum/member.php"),
        ] {
            assert_eq!(archive_folder(href, rules), Some(folder), "{href}");
        }
        for href in [
            "/tags/",
            "/docs/tags.html",
            "/category/bridges/iron-bridge",
            "/member.html",
            "/",
            "http://u/jane",
        ] {
            assert_eq!(archive_folder(href, rules), None, "{href}");
        }
    }

    #[test]
    fn percent_encoded_letters_are_decoded() {
        for (url, want) in [
            ("https://a.test/x", "https://a.test/x"),
            ("https://a.test/%E7%94%B3x%2F%e8%af%b7?q=%20%C3%A9", "https://a.test/申x%2F请?q=%20é"),
            ("https://a.test/%E7%94/%zz%", "https://a.test/%E7%94/%zz%"),
            // A mark that changes the direction of writing, and a space.
            ("https://a.test/%E2%80%AEx%E3%80%80", "https://a.test/%E2%80%AEx%E3%80%80"),
        ] {
            assert_eq!(readable(url), want);
            let parsed = |url: &str| Url::parse(url).map(String::from).unwrap().to_lowercase();
            assert_eq!(parsed(&readable(url)), parsed(url), "{url}");
        }
    }

    #[test]
    fn urls_of_a_folder_and_its_index_are_equal() {
        for url in
            ["http://a.test/x/", "https://a.test/x/index.html", "https://a.test/x", "https://a.test/x/#y"]
        {
            assert_eq!(place(url, &index_files()), "a.test/x", "{url}");
        }
        for url in [
            "https://a.test/x/indexes.html",
            "https://a.test/x/?page=2",
            "https://a.test/x/index.html?page=2",
        ] {
            assert_ne!(place(url, &index_files()), "a.test/x", "{url}");
        }
        assert_eq!(
            place("https://a.test/", &index_files()),
            place("https://a.test/index.php", &index_files())
        );
    }
}
