//! URLs of a page, resolved against its base.

use crawl_model::strip_userinfo;
use memchr::{memchr, memrchr};
use url::Url;

/// Maximum bytes of a URL: the minimum that servers should accept (RFC 9110 §4.1), and in practice the
/// maximum.
const MAX_URL_BYTES: usize = 8_000;

/// Resolves a URL of a page. `None` if it is neither http nor https, too long, or invalid. Drops the
/// fragment, user name and password.
pub(crate) fn resolve(base: Option<&Url>, address: &str) -> Option<String> {
    let address = address.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control());
    let address = &address[..memchr(b'#', address.as_bytes()).unwrap_or(address.len())];
    if address.len() > MAX_URL_BYTES {
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
            return Some([origin, address].concat());
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
    if !starts
        || memchr(b':', below.as_bytes()).is_some()
        || !is_plain(below)
        || !matches!(base.scheme(), "http" | "https")
    {
        return None;
    }
    let up = |path: &str| memrchr(b'/', path.as_bytes());
    let mut folder = base.path();
    folder = &folder[..up(folder)?];
    for _ in 0..(address.len() - below.len()) / 3 {
        folder = up(folder).map_or("", |end| &folder[..end]);
    }
    let origin = &base[..url::Position::BeforePath];
    let mut url = String::with_capacity(origin.len() + folder.len() + 1 + below.len());
    [origin, folder, "/", below].into_iter().for_each(|part| url.push_str(part));
    Some(url)
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
        && !host.as_bytes().windows(4).any(|part| part == b"xn--")
        && is_plain(&rest[slash..])
}

/// Returns true for a path and query that parsing leaves unchanged, without dot segments.
fn is_plain(address: &str) -> bool {
    let bytes = address.as_bytes();
    let (path, query) = bytes.split_at(memchr(b'?', bytes).unwrap_or(bytes.len()));
    let is_plain = |byte: &u8| PLAIN[usize::from(*byte)];
    let dot = |three: &[u8]| three.eq_ignore_ascii_case(b"%2e");
    let mut before = 0;
    let path_is_plain = path.iter().all(|byte| {
        let is_dot_segment = *byte == b'.' && before == b'/';
        before = *byte;
        is_plain(byte) && !is_dot_segment
    });
    path_is_plain && query.iter().all(is_plain) && (memchr(b'%', path).is_none() || !path.windows(3).any(dot))
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
