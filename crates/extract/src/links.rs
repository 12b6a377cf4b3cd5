//! Links of a page and its own robots directives.

mod refresh;

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
    let is_bare = refresh::is_bare(page);
    let (mut outbound, mut outbound_distinct) = (0, 0);
    let mut links: Vec<Link> = Vec::new();
    let mut urls = LinkUrls::default();
    // With a hash that is known in advance, a page could let all of its URLs collide.
    let mut seen: HashMap<String, usize> = HashMap::new();
    for id in 0..dom.len() {
        if page.budget.is_over() {
            break;
        }
        let (kind, address) = match dom.tag(id) {
            Tag::A => (LinkKind::Anchor, dom.attr(id, &local_name!("href"))),
            Tag::Area => (LinkKind::Area, dom.attr(id, &local_name!("href"))),
            Tag::Frame | Tag::Iframe => (LinkKind::Frame, dom.attr(id, &local_name!("src"))),
            Tag::Meta => (LinkKind::Refresh, refresh::target_of(page, id)),
            Tag::Script if is_bare => (LinkKind::Script, refresh::target_of_script(page, id)),
            Tag::Link => (LinkKind::Paging, paging(page, id)),
            _ => continue,
        };
        let Some(address) = address else { continue };
        let Some(url) = page.resolve(address) else { continue };
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
    Links { distinct: links, outbound, outbound_distinct, urls }
}

/// URL of a `link` element that leads to the next or the previous page of a series (HTML standard, "Sequential link types").
fn paging<'a>(page: &'a Page<'_>, id: u32) -> Option<&'a str> {
    let rel = page.dom.attr(id, &local_name!("rel"))?;
    has_token(rel, &["next", "prev"]).then(|| page.dom.attr(id, &local_name!("href")))?
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
    for id in dom.find_all(0..dom.len(), Tag::Link) {
        let media = dom.attr(id, &local_name!("type")).unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        let is_feed =
            ["application/rss+xml", "application/atom+xml"].iter().any(|t| media.eq_ignore_ascii_case(t));
        let rel = dom.attr(id, &local_name!("rel")).unwrap_or_default();
        if !is_feed || !has_token(rel, &["alternate"]) {
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
    fn script_of_a_page_without_text_leads_on() {
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
