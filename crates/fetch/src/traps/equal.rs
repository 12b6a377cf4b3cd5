//! Variants of a URL that servers redirect to one another.

use crate::url::normalized;
use url::Url;

/// Names of index pages without their extension.
const INDEX: [&str; 2] = ["index", "default"];
/// Extensions that an index page may have.
const EXTENSIONS: [&str; 7] = ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp"];

/// Returns true if two URLs differ only by scheme, leading `www.`, letter case, percent-encoding, repeated or
/// trailing slashes, or an index page's name. A redirect between them stays on the same page.
#[must_use]
pub fn same_page(one: &Url, other: &Url) -> bool {
    host(one) == host(other) && path(one) == path(other) && query(one) == query(other)
}

/// The host without `www.`, and the port unless it is the scheme's default.
fn host(url: &Url) -> (&str, Option<u16>) {
    let host = url.host_str().unwrap_or_default();
    (host.strip_prefix("www.").unwrap_or(host), url.port())
}

fn path(url: &Url) -> String {
    let plain = normalized(url.path()).to_lowercase();
    let mut segments: Vec<&str> = plain.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments.last().is_some_and(|last| is_index(last)) {
        segments.pop();
    }
    segments.join("/")
}

fn is_index(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(stem, extension)| INDEX.contains(&stem) && EXTENSIONS.contains(&extension))
}

fn query(url: &Url) -> String {
    normalized(url.query().unwrap_or_default()).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_variants_of_one_page_are_equal() {
        let same = |one: &str, other: &str| same_page(&one.parse().unwrap(), &other.parse().unwrap());
        for (one, other) in [
            ("http://h/item/17", "http://h/item/17/"),
            ("http://h/item/17", "https://www.h/Item/17/"),
            ("http://h/a/", "http://h/a/index.html"),
            ("http://h/a", "http://h/a/Default.aspx"),
            ("http://h/caf%C3%A9", "http://h/caf%c3%a9/"),
            ("http://h/%61", "http://h/a"),
            ("http://h//a//b", "http://h/a/b"),
            ("http://h/a?", "http://h/a"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("http://h/item/17", "http://h/item/18"),
            ("http://h/item/17", "http://h/login"),
            ("http://h/item/17", "http://g/item/17"),
            ("http://h/item/17", "http://h:8080/item/17"),
            ("http://h/item?id=17", "http://h/item?id=18"),
            ("http://h/item?id=17", "http://h/item"),
            ("http://h/a/b", "http://h/ab"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }
}
