//! Links of a page and its own robots directives.

mod header;
mod refresh;
mod relations;
mod scripts;

pub use header::{HeaderLinks, of_header};
pub use refresh::target as refresh_target;

use crate::{
    dom::Tag,
    page::{LinkUrls, Page},
    text::{has_token, tokens},
};
use crawl_model::{Directives, Link, LinkKind};
use html5ever::local_name;
use std::collections::{HashMap, HashSet, hash_map::Entry};
use url::{Position, Url};

/// Result of [`collect`].
pub(crate) struct Links {
    /// Each URL once, in document order.
    pub(crate) distinct: Vec<Link>,
    /// Link elements (`a`, `area`) that lead to another host. Elements count, so a repeated URL counts each
    /// time.
    pub(crate) outbound: usize,
    /// The same, each URL once.
    pub(crate) outbound_distinct: usize,
    /// The URL of each `a` element.
    pub(crate) urls: LinkUrls,
}

/// Maximum links for which memory is reserved. A page of megabytes may have empty `a` elements only.
const MAX_RESERVED: usize = 8192;

/// Links of a page, including those in consent banners and templates, since they are URLs of the site. A
/// page's own URL is no link.
pub(crate) fn collect(page: &Page<'_>) -> Links {
    let dom = &page.dom;
    let host = page.url.and_then(Url::host_str);
    let origin = page.url.map(|url| &url[..Position::BeforePath]);
    // Most links lead to the page's own origin.
    let is_own_origin = |url: &str| {
        origin
            .and_then(|own| url.strip_prefix(own))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let traits = PageTraits {
        is_bare: refresh::is_bare(page),
        may_navigate: scripts::may_navigate(dom),
        language: relations::language(page),
    };
    let (mut outbound, mut outbound_distinct) = (0, 0);
    let mut links: Vec<Link> = Vec::new();
    let mut urls = LinkUrls::default();
    // With a hash that is known in advance, a page could let all of its URLs collide.
    let anchors = dom.find_all(0..dom.len(), Tag::A).count();
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(anchors.min(MAX_RESERVED));
    for id in 0..dom.len() {
        if page.budget.is_over() {
            break;
        }
        let Some((kind, url)) = link(page, id, traits) else { continue };
        if kind == LinkKind::Anchor {
            urls.add(id, &url);
        }
        let is_outbound = matches!(kind, LinkKind::Anchor | LinkKind::Area)
            && !is_own_origin(&url)
            && host.is_some_and(|own| host_of(&url).is_some_and(|other| other != own));
        outbound += usize::from(is_outbound);
        let nofollow = dom
            .attr(id, &local_name!("rel"))
            .is_some_and(|rel| has_token(rel, &["nofollow", "ugc", "sponsored"]));
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
    // before a limit of pages the site comes first, then its translations
    links.sort_by_key(|link| link.kind == LinkKind::Translation);
    Links { distinct: links, outbound, outbound_distinct, urls }
}

/// Properties of a page that decide on its links.
#[derive(Clone, Copy)]
struct PageTraits<'a> {
    /// The page has hardly any text, so its script may lead to another one.
    is_bare: bool,
    /// Attributes may hold scripts that lead to other pages.
    may_navigate: bool,
    /// Declared language.
    language: &'a str,
}

/// Kind and URL of the link of an element.
fn link(page: &Page<'_>, id: u32, traits: PageTraits<'_>) -> Option<(LinkKind, String)> {
    let dom = &page.dom;
    let (kind, address) = match dom.tag(id) {
        Tag::Text => return None,
        Tag::A => (LinkKind::Anchor, dom.attr(id, &local_name!("href"))),
        Tag::Area => (LinkKind::Area, dom.attr(id, &local_name!("href"))),
        Tag::Frame | Tag::Iframe => (LinkKind::Frame, dom.attr(id, &local_name!("src"))),
        Tag::Meta => (LinkKind::Refresh, refresh::target_of(page, id)),
        Tag::Script if traits.is_bare => (LinkKind::Script, refresh::target_of_script(page, id)),
        Tag::Link => relations::of_element(page, id, traits.language),
        // of an SVG image
        Tag::Other if dom.name(id) == "a" => (LinkKind::Area, dom.attr(id, &local_name!("href"))),
        _ => (LinkKind::Script, None),
    };
    let url = address.and_then(|address| page.resolve(address));
    let is_idle = |address: &str| matches!(address.trim_ascii_start().as_bytes(), [] | [b'#', ..]);
    if traits.may_navigate
        && (url.is_none() || address.is_none_or(is_idle))
        && let Some(url) = scripts::target(page, id)
    {
        return Some((LinkKind::Click, url));
    }
    Some((kind, url?))
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

/// Feeds that the page names: `<link rel=alternate>` with the type of RSS, Atom or JSON Feed (HTML standard, "Link type
/// alternate").
pub(crate) fn feeds(page: &Page<'_>) -> Vec<String> {
    let dom = &page.dom;
    let mut feeds = Vec::new();
    let mut seen = HashSet::new();
    for id in dom.find_all(0..dom.len(), Tag::Link) {
        let media = dom.attr(id, &local_name!("type")).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        let rel = dom.attr(id, &local_name!("rel")).unwrap_or_default();
        if !relations::is_feed(media) || !has_token(rel, &["alternate"]) {
            continue;
        }
        let Some(address) = dom.attr(id, &local_name!("href")) else { continue };
        if let Some(url) = page.resolve(address).filter(|url| seen.insert(url.clone())) {
            feeds.push(url);
        }
    }
    feeds
}

/// Directives of `<meta name="robots">`, of a meta element with our own name and of `tdm-reservation`. All
/// apply; the strictest wins.
pub(crate) fn directives(page: &Page<'_>, product_token: &str) -> Directives {
    let dom = &page.dom;
    let mut all = Directives::default();
    for id in dom.find_all(0..dom.len(), Tag::Meta) {
        let Some(name) = dom.attr(id, &local_name!("name")).map(str::trim) else { continue };
        if name.eq_ignore_ascii_case("tdm-reservation") {
            let content = dom.attr(id, &local_name!("content")).unwrap_or_default();
            all.tdm_reserved |= content.trim() == "1";
            continue;
        }
        let ours = !product_token.is_empty() && name.eq_ignore_ascii_case(product_token);
        if !ours && !name.eq_ignore_ascii_case("robots") {
            continue;
        }
        for token in tokens(dom.attr(id, &local_name!("content")).unwrap_or_default()) {
            match token.to_ascii_lowercase().as_str() {
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
    use crate::{Input, Options, PageExtractor};
    use crawl_model::{Link, LinkKind};

    fn links(html: &str) -> Vec<Link> {
        let url = url::Url::parse("https://a.test/b/c").unwrap();
        let extractor = PageExtractor::new(Options::default()).unwrap();
        extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html")).links
    }

    #[test]
    fn refresh_is_a_link() {
        let found = links("<meta http-equiv=Refresh content='0; URL=d'><a href=/e>e</a>");
        let found: Vec<_> = found.iter().map(|link| (link.url.as_str(), link.kind)).collect();
        let want = [("https://a.test/b/d", LinkKind::Refresh), ("https://a.test/e", LinkKind::Anchor)];
        assert_eq!(found, want);
        let refresh = "<meta http-equiv=refresh content='0; url=/d'>";
        for html in [
            format!("<noscript>{refresh}</noscript>"),
            format!("<template>{refresh}</template>"),
            refresh.replace("refresh", "other"),
        ] {
            assert!(links(&html).is_empty(), "{html}");
        }
    }

    #[test]
    fn next_and_previous_pages_are_links() {
        let found = links("<link rel=next href=2><link rel='prev x' href=0><link rel=stylesheet href=s>");
        let found: Vec<_> = found.iter().map(|link| (link.url.as_str(), link.kind)).collect();
        assert_eq!(
            found,
            [("https://a.test/b/2", LinkKind::Paging), ("https://a.test/b/0", LinkKind::Paging)]
        );
    }

    #[test]
    fn links_of_svg_languages_and_clicks_are_links() {
        for (html, url, kind) in [
            ("<svg><a href=/d><text>d</text></a></svg>", "https://a.test/d", LinkKind::Area),
            ("<svg><a xlink:href=d><path></a></svg>", "https://a.test/b/d", LinkKind::Area),
            ("<link rel=alternate hreflang=de href=/de>", "https://a.test/de", LinkKind::Translation),
            ("<table><tr onclick=\"location.href='/d'\"><td>d</table>", "https://a.test/d", LinkKind::Click),
            (
                "<html lang=en><link rel=alternate hreflang=de-AT href=/de>",
                "https://a.test/de",
                LinkKind::Translation,
            ),
            ("<a href=# onclick=\"window.open('/d')\">", "https://a.test/d", LinkKind::Click),
            ("<a href=\"JavaScript:location='/d'\">", "https://a.test/d", LinkKind::Click),
            ("<a href=/d onclick=\"location='/e'\">", "https://a.test/d", LinkKind::Anchor),
        ] {
            let found: Vec<_> = links(html).into_iter().map(|link| (link.url, link.kind)).collect();
            assert_eq!(found, [(url.to_owned(), kind)], "{html}");
        }
        for html in [
            "<svg><use xlink:href='/s.svg#x'></svg>",
            "<link rel='alternate stylesheet' hreflang=de href=/s>",
            "<link rel=alternate media=print hreflang=de href=/s>",
            "<link rel=alternate type=application/pdf hreflang=de href=/s>",
            "<link rel=alternate href=/s>",
            "<html lang=en-GB><link rel=alternate hreflang=en-US href=/us>",
            "<link rel=alternate hreflang=x-default href=/x>",
            "<a href='javascript:void(0)' title=location>",
            "<button onclick=\"location='/d'\">",
            "<form><div onclick=\"location='/d'\"></form>",
            "<div role=button onclick=\"location='/d'\">",
            "<td onclick=\"location='/d?sort=x'\">",
            "<a onclick=\"window.open('/d', 'w', 'width=9')\">",
            "<a onclick=\"location='tel:1'\">",
        ] {
            assert_eq!(links(html), [], "{html}");
        }
    }

    /// A limit of pages is used up by the site, not by translations of its first page.
    #[test]
    fn translations_stand_behind_other_links() {
        let found = links("<link rel=alternate hreflang=de href=/de><link rel=next href=2><a href=/d>d</a>");
        let found: Vec<_> = found.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(found, ["https://a.test/b/2", "https://a.test/d", "https://a.test/de"]);
    }

    #[test]
    fn script_of_a_page_without_text_gives_a_link() {
        let script = "<script>window.location.replace('/d')</script>";
        let found = links(&format!("<title>t</title>{script}<body><p>Redirecting</p>"));
        assert_eq!((found[0].url.as_str(), found[0].kind), ("https://a.test/d", LinkKind::Script));
        let text = "<p>A page with a text of its own may offer a script.</p>".repeat(3);
        assert!(links(&format!("{script}{text}")).is_empty());
        assert!(links(&format!("{script}<script src=app.js></script><div id=app></div>")).is_empty());
    }

    #[test]
    fn base_without_paths_is_ignored() {
        for base in ["javascript:void(0)", "data:text/html,x", "mailto:a@b.test", "https://[", ""] {
            let found = links(&format!("<base href='{base}'><a href=d>d</a>"));
            assert_eq!(found[0].url, "https://a.test/b/d", "{base}");
        }
        assert_eq!(links("<base target=_top><base href=/x/><a href=d>d</a>")[0].url, "https://a.test/x/d");
    }
}
