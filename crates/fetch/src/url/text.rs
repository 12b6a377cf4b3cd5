//! Canonical form as text, also of URLs that are never fetched: for messages, and for comparing URLs in
//! files.

use super::Canonicalizer;
use std::net::Ipv6Addr;
use url::{Host, ParseError, Position, Url};

/// Form of an internationalised host name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdnForm {
    /// `xn--…`, the form of DNS and of [`Canonicalizer::canonical`].
    #[default]
    Ascii,
    /// Unicode, the form that people write.
    Unicode,
}

/// Placeholder for a host name that the parser refuses, while the rest of the URL is parsed.
const STAND_IN: &str = "host.invalid";

impl Canonicalizer {
    /// Canonical form of any URL; `None` if it is invalid. A missing scheme becomes http. Unlike
    /// [`Canonicalizer::parse`], it accepts other schemes, and names with undecodable `xn--` labels, since
    /// some are registered.
    #[must_use]
    pub fn canonical_text(&self, text: &str, idn: IdnForm) -> Option<String> {
        let text = text.trim();
        let absolute = if has_scheme(text) { text.to_owned() } else { format!("http://{text}") };
        match Url::parse(&absolute) {
            Ok(url) => Some(written(&self.canonical(&url), idn)),
            Err(ParseError::IdnaError) => self.with_odd_host(&absolute),
            Err(_) => None,
        }
    }

    fn with_odd_host(&self, absolute: &str) -> Option<String> {
        let start = absolute.find("://")? + 3;
        let length = absolute[start..].find([':', '/', '?', '#']).unwrap_or(absolute.len() - start);
        let host = &absolute[start..start + length];
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if host.is_empty() || !host.chars().all(is_name) {
            return None;
        }
        let stand_in = format!("{}{STAND_IN}{}", &absolute[..start], &absolute[start + length..]);
        let url = self.canonical(&Url::parse(&stand_in).ok()?);
        Some(written(&url, IdnForm::Ascii).replacen(STAND_IN, &host.to_ascii_lowercase(), 1))
    }
}

/// Returns true if the text has a scheme, or an authority without one.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-');
        scheme.chars().all(plain) && !rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn written(url: &Url, idn: IdnForm) -> String {
    let host = match url.host() {
        Some(Host::Ipv6(address)) => mixed(address),
        Some(Host::Domain(name)) if idn == IdnForm::Unicode => {
            let (unicode, result) = idna::domain_to_unicode(name);
            result.ok().map(|()| unicode)
        }
        // RFC 8089 §2: the minimal form of a file on this host
        None if url.scheme() == "file" => return format!("file:{}", url.path()),
        _ => None,
    };
    match host {
        Some(host) => format!("{}{host}{}", &url[..Position::BeforeHost], &url[Position::AfterHost..]),
        None => url.to_string(),
    }
}

/// An IPv6 address with an embedded IPv4 address in dotted form (RFC 5952 §5).
fn mixed(address: Ipv6Addr) -> Option<String> {
    address.to_ipv4_mapped().map(|v4| format!("[::ffff:{v4}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_are_never_fetched_have_a_canonical_text() {
        let text = |given: &str, idn| Canonicalizer::default().canonical_text(given, idn);
        for (given, expected) in [
            ("example.org/b?", Some("http://example.org/b")),
            ("example.org:8080/", Some("http://example.org:8080/")),
            ("file:///a//./b", Some("file:/a/b")),
            ("ftp://H/a/../b", Some("ftp://h/b")),
            ("http://XN--zzzzzz99999.test:80/a/../b", Some("http://xn--zzzzzz99999.test/b")),
            ("http://[::ffff:1.2.3.4]/", Some("http://[::ffff:1.2.3.4]/")),
            ("http://a b/", None),
            ("http://[::1]x/", None),
        ] {
            assert_eq!(text(given, IdnForm::Ascii).as_deref(), expected, "{given}");
        }
        let unicode = text("http://xn--bcher-kva.test:81/%7e", IdnForm::Unicode);
        assert_eq!(unicode.as_deref(), Some("http://bücher.test:81/~"));
    }
}
