//! Section of a page within its site, by the pattern of its URL.

use super::words::mix;
use xxhash_rust::xxh3::xxh3_64;

/// Hash of the URL parts that pages of one template share. These are the parent folders with digits masked,
/// the language in the name (`page.fr.html`), and the names of query parameters.
pub(super) fn section(url: &str) -> u64 {
    let (path, query) = path_and_query(url);
    let path = path.trim_end_matches('/');
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut hash = xxh3_64(masked(folder).as_bytes());
    for part in name.split('.').skip(1).filter(|part| is_language(part)) {
        hash = mix(hash, xxh3_64(part.as_bytes()));
    }
    let mut names: Vec<&str> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
    names.sort_unstable();
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        hash = mix(hash, xxh3_64(name.as_bytes()));
    }
    hash
}

/// Last part of the path, whose words often state the subject of the page.
pub(super) fn file_name(url: &str) -> &str {
    let path = path_and_query(url).0.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

fn path_and_query(url: &str) -> (&str, &str) {
    let url = url.split('#').next().unwrap_or(url);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    path.split_once('?').unwrap_or((path, ""))
}

/// `fr`, `pt-br`.
fn is_language(part: &str) -> bool {
    let letters = |s: &str| s.len() == 2 && s.bytes().all(|byte| byte.is_ascii_alphabetic());
    part.split_once(['-', '_']).map_or_else(|| letters(part), |(a, b)| letters(a) && letters(b))
}

fn masked(folder: &str) -> String {
    let mut out = String::with_capacity(folder.len());
    for c in folder.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if !(c == '0' && out.ends_with('0')) {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        section(&format!("https://h.example{a}")) == section(&format!("https://h.example{b}"))
    }

    #[test]
    fn pages_of_one_section_share_a_url_pattern() {
        assert!(same("/blog/one/", "/blog/two/"));
        assert!(same("/2024/05/a.html", "/2023/12/b.html"));
        assert!(same("/show?id=1&lang=a", "/show?lang=b&id=2#top"));
        assert!(same("/", ""));
        assert!(!same("/blog/one", "/shop/one"));
        assert!(!same("/a.en.html", "/a.fr.html") && !same("/a.html.en", "/a.html.pt-br"));
        assert!(!same("/show?id=1", "/show"));
    }

    #[test]
    fn file_name_is_the_last_path_segment() {
        assert_eq!(file_name("https://h.example/a/red-shoes.html?x=1"), "red-shoes.html");
        assert_eq!(file_name("https://h.example/a/red-shoes/"), "red-shoes");
        assert_eq!(file_name("https://h.example"), "");
    }
}
