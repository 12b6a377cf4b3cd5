//! URL pattern: the part that a URL shares with its siblings.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use url::Url;

/// The path with numbers and identifiers replaced, and the names of the parameters. `None` for a URL without
/// variable parts, which is unique.
pub(super) fn of(url: &Url) -> Option<String> {
    let path = url.path();
    let query = url.query().filter(|query| !query.is_empty());
    let mut out = String::with_capacity(path.len() + 16);
    let mut varies = query.is_some();
    for segment in path.split('/').skip(1) {
        out.push('/');
        varies |= push_segment(segment, &mut out);
    }
    if query.is_some() {
        // parameter names are dropped: facets come in every combination
        out.push_str("?*");
    }
    varies.then_some(out)
}

/// Folder of a URL whose last segment is a name, with a slot for the name. `None` at the top, and if the
/// segment has variable numbers. Error pages can link to endless names.
pub(super) fn of_names(url: &Url) -> Option<String> {
    let (folder, name) = url.path().strip_prefix('/')?.rsplit_once('/')?;
    let mut out = String::with_capacity(folder.len() + 16);
    if name.is_empty() || push_segment(name, &mut out) {
        return None;
    }
    out.clear();
    for segment in folder.split('/') {
        out.push('/');
        push_segment(segment, &mut out);
    }
    out.push_str("/{name}");
    Some(out)
}

/// Pattern that every URL has: its common part, with slots for numbers, identifiers, the name in the last
/// segment, and parameters. Pages of one pattern usually come from one program.
#[must_use]
pub fn of_any(url: &Url) -> String {
    of(url).or_else(|| of_names(url)).unwrap_or_else(|| match url.path() {
        "/" => "/".to_owned(),
        _ => "/{name}".to_owned(),
    })
}

pub(super) fn hash(template: &str) -> u64 {
    let mut hasher = FxHasher::default();
    template.hash(&mut hasher);
    // 0 is the account that patterns beyond the limit share
    hasher.finish().max(1)
}

/// Appends a segment in its general form; returns true if a part of it varies.
fn push_segment(segment: &str, out: &mut String) -> bool {
    if is_identifier(segment) {
        out.push_str("{id}");
        return true;
    }
    let mut varies = false;
    let mut rest = segment;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..start]);
        out.push_str("{n}");
        let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
        rest = &rest[start + digits..];
        varies = true;
    }
    out.push_str(rest);
    varies
}

/// Returns true for letters and digits mixed without separators, as generators produce them: hashes, base 62,
/// UUIDs.
fn is_identifier(segment: &str) -> bool {
    /// Shorter ones are versions, sizes, chapters.
    const SHORTEST: usize = 6;
    let name = segment.split('.').next().unwrap_or_default();
    let plain = || name.bytes().filter(|b| *b != b'-');
    let digits = plain().filter(u8::is_ascii_digit).count();
    let letters = plain().filter(u8::is_ascii_alphabetic).count();
    if name.len() < SHORTEST || digits + letters != plain().count() || digits == 0 || letters == 0 {
        return false;
    }
    // a name switches once or twice between words and numbers, an identifier much more often
    let kinds: Vec<bool> = plain().map(|b| b.is_ascii_digit()).collect();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let hex = plain().all(|b| b.is_ascii_hexdigit());
    changes >= 3 || (hex && name.len() >= SHORTEST && changes >= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_siblings_share_a_url_pattern() {
        for (path, expected) in [
            ("/about", None),
            ("/tags/", None),
            ("/tags/5", None),
            ("/tags/red", Some("/tags/{name}")),
            ("/v2/tags/red?page=3", Some("/v{n}/tags/{name}")),
        ] {
            let url = Url::parse(&format!("http://h{path}")).unwrap();
            assert_eq!(of_names(&url).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn every_url_has_a_pattern() {
        for (path, expected) in [
            ("/", "/"),
            ("/about", "/{name}"),
            ("/docs/intro", "/docs/{name}"),
            ("/item/17", "/item/{n}"),
            ("/a/", "/{name}"),
        ] {
            assert_eq!(of_any(&Url::parse(&format!("http://h{path}")).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn numbered_siblings_share_a_url_pattern() {
        for (path, expected) in [
            ("/", None),
            ("/about/team", None),
            ("/blog/my-first-post", None),
            ("/news/2024/05/17", Some("/news/{n}/{n}/{n}")),
            ("/page/2", Some("/page/{n}")),
            ("/item-12.html", Some("/item-{n}.html")),
            ("/trap/3f9a1c77d2", Some("/trap/{id}")),
            ("/watch/a8Xk29Qz", Some("/watch/{id}")),
            ("/x/123e4567-e89b-12d3-a456-426614174000", Some("/x/{id}")),
            ("/python3/tutorial", Some("/python{n}/tutorial")),
            ("/shop?size=1&color=2", Some("/shop?*")),
            ("/shop?color=3", Some("/shop?*")),
        ] {
            let url = Url::parse(&format!("http://h{path}")).unwrap();
            assert_eq!(of(&url).as_deref(), expected, "{path}");
        }
    }
}
