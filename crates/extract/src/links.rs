//! Links of a page and its own robots directives.

use crate::{dom::Tag, page::Page};
use crawl_model::{Directives, Link, LinkKind, strip_userinfo};
use html5ever::local_name;
use memchr::memchr;
use std::collections::{HashMap, HashSet, hash_map::Entry};
use url::Url;

/// Maximum bytes of a URL: the minimum that servers should accept (RFC 9110 §4.1), and in practice the
/// maximum.
const LONGEST: usize = 8_000;

/// Resolves a URL of a page. `None` if it is neither http nor https, too long, or invalid. Drops the
/// fragment, user name and password.
pub(crate) fn resolve(base: Option<&Url>, address: &str) -> Option<String> {
    let address = address.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control());
    let address = &address[..memchr(b'#', address.as_bytes()).unwrap_or(address.len())];
    if address.len() > LONGEST {
        return None;
    }
    if is_plain_absolute(address) {
        return Some(address.to_owned());
    }
    let base = match base {
        Some(base) => base,
        None => return http(Url::parse(address).ok()?),
    };
    if address.starts_with('/') && !address.starts_with("//") && is_plain(address) {
        let origin = &base[..url::Position::BeforePath];
        if matches!(base.scheme(), "http" | "https") {
            return Some(format!("{origin}{address}"));
        }
    }
    relative(base, address).or_else(|| http(base.join(address).ok()?))
}

/// A relative URL below or beside the page, if all its characters are left unchanged by parsing.
fn relative(base: &Url, address: &str) -> Option<String> {
    let mut below = address;
    while let Some(rest) = below.strip_prefix("../") {
        below = rest;
    }
    let starts = below.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
    // A colon may end a scheme.
    if !starts || below.contains(':') || !is_plain(below) || !matches!(base.scheme(), "http" | "https") {
        return None;
    }
    let mut folder = base.path().rsplit_once('/')?.0;
    for _ in 0..(address.len() - below.len()) / 3 {
        folder = folder.rsplit_once('/').map_or("", |(up, _)| up);
    }
    let origin = &base[..url::Position::BeforePath];
    Some([origin, folder, "/", below].concat())
}

fn http(mut url: Url) -> Option<String> {
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return None;
    }
    url.set_fragment(None);
    strip_userinfo(&mut url);
    Some(url.into())
}

/// Returns true for an absolute URL that parsing would not change. Most URLs are like that, and parsing them
/// is the most expensive step of a page of links.
fn is_plain_absolute(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://")) else {
        return false;
    };
    let Some(slash) = rest.find('/') else { return false };
    let host = &rest[..slash];
    !host.is_empty()
        && host.bytes().all(|b| matches!(b, b'a'..=b'z' | b'-' | b'.' | b'0'..=b'9'))
        // A host that ends with a digit may be an address that parsing rewrites.
        && host.bytes().last().is_some_and(|b| b.is_ascii_lowercase())
        && !host.contains("xn--")
        && is_plain(&rest[slash..])
}

/// Returns true for a path and query that parsing leaves unchanged, without dot segments.
fn is_plain(address: &str) -> bool {
    let bytes = address.as_bytes();
    let path = &bytes[..memchr(b'?', bytes).unwrap_or(bytes.len())];
    let dot = |three: &[u8]| three.eq_ignore_ascii_case(b"%2e");
    bytes.iter().all(|byte| PLAIN[usize::from(*byte)])
        && !path.windows(2).any(|two| two == b"/.")
        && (memchr(b'%', path).is_none() || !path.windows(3).any(dot))
}

/// Bytes that parsing leaves unchanged in paths and queries.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        plain[byte as usize] = matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/'
            | b'?' | b'=' | b'&' | b'%' | b'+' | b':' | b'@' | b'!' | b'$' | b'(' | b')' | b'*' | b',' | b';');
        byte += 1;
    }
    plain
};

/// Result of [`collect`].
pub(crate) struct Links {
    /// Each URL once, in document order.
    pub(crate) distinct: Vec<Link>,
    /// Link elements (`a`, `area`) that lead to another host. Elements count, so a repeated URL counts each
    /// time.
    pub(crate) outbound: usize,
    /// The same, each URL once.
    pub(crate) outbound_distinct: usize,
}

/// Links of a page, including those in consent banners and templates, since they are URLs of the site. A
/// page's own URL is no link.
pub(crate) fn collect(page: &Page<'_>) -> Links {
    let dom = &page.dom;
    let host = page.url.and_then(Url::host_str);
    let (mut outbound, mut outbound_distinct) = (0, 0);
    let mut links: Vec<Link> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for id in 0..dom.len() {
        if page.budget.is_over() {
            break;
        }
        let (kind, attribute) = match dom.tag(id) {
            Tag::A => (LinkKind::Anchor, local_name!("href")),
            Tag::Area => (LinkKind::Area, local_name!("href")),
            Tag::Frame | Tag::Iframe => (LinkKind::Frame, local_name!("src")),
            _ => continue,
        };
        let Some(address) = dom.attr(id, &attribute) else { continue };
        let Some(url) = page.resolve(address) else { continue };
        let is_outbound = kind != LinkKind::Frame
            && host.is_some_and(|own| host_of(&url).is_some_and(|other| other != own));
        outbound += usize::from(is_outbound);
        let nofollow = dom
            .attr(id, &local_name!("rel"))
            .is_some_and(|rel| tokens(rel).any(|t| matches!(t.as_str(), "nofollow" | "ugc" | "sponsored")));
        match seen.entry(url) {
            Entry::Vacant(new) => {
                outbound_distinct += usize::from(is_outbound);
                links.push(Link { url: new.key().clone(), kind, nofollow });
                new.insert(links.len() - 1);
            }
            // The same URL once with and once without `nofollow`: the page vouches for it.
            Entry::Occupied(known) => links[*known.get()].nofollow &= nofollow,
        }
    }
    Links { distinct: links, outbound, outbound_distinct }
}

/// Host of a resolved URL.
fn host_of(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    // The colons of an IPv6 address are in brackets.
    match host.find(']') {
        Some(end) => host.get(..=end),
        None => host.split(':').next(),
    }
}

/// Feeds that the page names: `<link rel=alternate>` with the type of RSS or Atom (HTML standard, "Link type
/// alternate").
pub(crate) fn feeds(page: &Page<'_>) -> Vec<String> {
    let dom = &page.dom;
    let mut feeds = Vec::new();
    let mut seen = HashSet::new();
    for id in (0..dom.len()).filter(|id| dom.tag(*id) == Tag::Link) {
        let media = dom.attr(id, &local_name!("type")).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        let is_feed =
            ["application/rss+xml", "application/atom+xml"].iter().any(|t| media.eq_ignore_ascii_case(t));
        let rel = dom.attr(id, &local_name!("rel")).unwrap_or_default();
        if !is_feed || !tokens(rel).any(|rel| rel == "alternate") {
            continue;
        }
        let Some(address) = dom.attr(id, &local_name!("href")) else { continue };
        if let Some(url) = page.resolve(address).filter(|url| seen.insert(url.clone())) {
            feeds.push(url);
        }
    }
    feeds
}

/// Lower-case words of a list attribute.
pub(crate) fn tokens(value: &str) -> impl Iterator<Item = String> {
    value
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|t| !t.is_empty())
        .map(str::to_ascii_lowercase)
}

/// Directives of `<meta name="robots">` and of a meta element with our own name. Both apply; the stricter
/// wins.
pub(crate) fn directives(page: &Page<'_>, product_token: &str) -> Directives {
    let dom = &page.dom;
    let mut all = Directives::default();
    for id in (0..dom.len()).filter(|id| dom.tag(*id) == Tag::Meta) {
        let Some(name) = dom.attr(id, &local_name!("name")).map(str::trim) else { continue };
        let ours = !product_token.is_empty() && name.eq_ignore_ascii_case(product_token);
        if !ours && !name.eq_ignore_ascii_case("robots") {
            continue;
        }
        for token in tokens(dom.attr(id, &local_name!("content")).unwrap_or_default()) {
            match token.as_str() {
                "noindex" => all.noindex = true,
                "nofollow" => all.nofollow = true,
                "none" => (all.noindex, all.nofollow) = (true, true),
                "noarchive" => all.noarchive = true,
                "noai" | "noimageai" => all.noai = true,
                _ => {}
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_and_passwords_are_dropped() {
        let base = Url::parse("https://example.org/a/b").unwrap();
        for address in
            ["https://u:s3cret@example.org/x", "//u:s3cret@example.org/x", "https://s3cret@example.org/x"]
        {
            assert_eq!(resolve(Some(&base), address).as_deref(), Some("https://example.org/x"));
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_parser() {
        let base = Url::parse("https://example.org/a/b?q").unwrap();
        for address in [
            "https://example.org/x/y?z=1&w=%20#f",
            "http://example.org",
            "HTTP://EXAMPLE.org/A",
            "/x/../y",
            "/x/./y",
            "/x/%2e%2E/y",
            "//other.org/x",
            "x",
            "?q=1",
            "#top",
            "",
            " /x \n",
            "/ü?ü",
            "https://1.2.3/x",
            "https://0x7f.1/",
            "mailto:a@b",
            "javascript:void(0)",
            "/a b",
            "/a|b",
            "/x'y",
            "/x?a='b'",
            "https://example.org:443/x",
            "/x\\y",
            "https:///x",
            "https://u@h.org/",
            "/x?a=/../b",
            "y/z.html?a=b/../c",
            "../y",
            "../../../y",
            "../../y/../z",
            "..",
            "../",
            "./y",
            "y:z",
            "y/.z",
            "y//z",
            "..y",
            "../?y",
        ] {
            let want = base.join(address).ok().and_then(http);
            assert_eq!(resolve(Some(&base), address), want, "{address}");
        }
    }
}
