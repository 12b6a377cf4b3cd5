//! Links of `Link` headers (RFC 8288).

use super::relations::Relation;
use crawl_model::{Link, LinkKind};
use url::Url;

/// Links and feeds that headers name, absolute and without fragments.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HeaderLinks {
    /// Links to pages, in order.
    pub links: Vec<Link>,
    /// Feeds of the page.
    pub feeds: Vec<String>,
}

/// Maximum links of one header field.
const MAX_LINKS: usize = 1_000;

/// Reads a `Link` header of a page in `language`, if that is known. Its URLs are relative to the URL of the response,
/// regardless of a base element.
#[must_use]
pub fn of_header(value: &str, base: &Url, language: Option<&str>) -> HeaderLinks {
    let mut found = HeaderLinks::default();
    let mut rest = value;
    for _ in 0..MAX_LINKS {
        let Some((_, link)) = rest.split_once('<') else { break };
        let Some((address, parameters)) = link.split_once('>') else { break };
        let end = end_of_link(parameters);
        add(address, &parameters[..end], (base, language.unwrap_or_default()), &mut found);
        rest = &parameters[end..];
    }
    found
}

fn add(address: &str, parameters: &str, (base, language): (&Url, &str), found: &mut HeaderLinks) {
    let value = |name: &str| parameter(parameters, name).unwrap_or_default();
    // such a link belongs to another page (RFC 8288 §3.2)
    if parameter(parameters, "anchor").is_some() {
        return;
    }
    let relation = Relation {
        rel: value("rel"),
        hreflang: value("hreflang"),
        media: value("media"),
        kind: value("type"),
    };
    let kind = relation.link(language);
    if kind.is_none() && !relation.names_feed() {
        return;
    }
    let Ok(mut url) = base.join(address.trim()) else { return };
    url.set_fragment(None);
    if !matches!(url.scheme(), "http" | "https") || url == *base {
        return;
    }
    match kind {
        Some(kind) => found.links.push(link(url, kind)),
        None => found.feeds.push(url.into()),
    }
}

fn link(url: Url, kind: LinkKind) -> Link {
    Link { url: url.into(), kind, nofollow: false }
}

/// End of the parameters of a link: the comma outside of quotes.
fn end_of_link(parameters: &str) -> usize {
    let mut is_quoted = false;
    let end = parameters.find(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    end.unwrap_or(parameters.len())
}

/// Value of the first parameter of a name, without its quotes.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = parameters;
    loop {
        rest = rest.split_once(';')?.1;
        let (key, value) = match rest.find(['=', ';']) {
            Some(at) if rest[at..].starts_with('=') => (&rest[..at], rest[at + 1..].trim_ascii_start()),
            _ => continue,
        };
        let (value, behind) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_at(value.find(';').unwrap_or(value.len())),
        };
        if key.trim().eq_ignore_ascii_case(name) {
            return Some(value.trim());
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_headers_name_pages_and_feeds() {
        let base = Url::parse("https://a.test/b/c").unwrap();
        for (value, want, feeds) in [
            ("<2>; rel=next", vec![("https://a.test/b/2", LinkKind::Paging)], vec![]),
            (
                "</s.css>; rel=preload; as=style, </0#x>; title=\"a, b; rel=x\"; REL = \"start prev\"",
                vec![("https://a.test/0", LinkKind::Paging)],
                vec![],
            ),
            (
                "<//b.test/de>;rel=alternate;hreflang=de,<https://a.test/b/c>; rel=alternate; hreflang=en-US, </x>; rel=alternate; hreflang=x-default",
                vec![("https://b.test/de", LinkKind::Translation)],
                vec![],
            ),
            (
                "</f>; rel=\"alternate\"; type=\"application/feed+json; charset=utf-8\"",
                vec![],
                vec!["https://a.test/f"],
            ),
            ("</m>; rel=alternate; hreflang=de; media=\"print\"", vec![], vec![]),
            ("</p>; rel=alternate; hreflang=de; type=application/pdf", vec![], vec![]),
            ("</x>; rel=next; anchor=\"/y\"", vec![], vec![]),
            ("</wp-json/>; rel=\"https://api.w.org/\"", vec![], vec![]),
            ("<mailto:a@b.test>; rel=next", vec![], vec![]),
            ("</x; rel=next", vec![], vec![]),
            ("</x>; rel=\"next", vec![("https://a.test/x", LinkKind::Paging)], vec![]),
            ("rel=next; </x>", vec![], vec![]),
            (";;=,<>;=;\"", vec![], vec![]),
            ("", vec![], vec![]),
        ] {
            let found = of_header(value, &base, Some("en-GB"));
            let links: Vec<_> = found.links.iter().map(|link| (link.url.as_str(), link.kind)).collect();
            assert_eq!(
                (links, found.feeds),
                (want, feeds.into_iter().map(String::from).collect()),
                "{value}"
            );
        }
    }
}
