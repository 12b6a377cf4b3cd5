//! Pages that lead to another page by a refresh.

use crate::{
    context::Context,
    links::{Discovered, new_url},
};
use crawl_extract::HeaderLinks;
use crawl_model::{CrawlRequest, Discovery, Extraction, FetchedPage, HostKey, Link, LinkKind};
use std::collections::HashSet;
use url::Url;

/// Maximum words of a page that only refers to another one. A longer page has a text of its own.
const MAX_WORDS: u32 = 50;

/// Adds the URL of a `Refresh` header, which browsers obey like the meta element.
pub(super) fn add(page: &FetchedPage, extraction: &mut Extraction) {
    let target = page.headers.get("refresh").and_then(crawl_extract::refresh_target);
    let Some(mut url) = target.and_then(|target| page.final_url.join(target).ok()) else { return };
    url.set_fragment(None);
    let is_web = matches!(url.scheme(), "http" | "https");
    if is_web && extraction.links.iter().all(|link| link.url != url.as_str()) {
        extraction.links.push(Link { url: url.into(), kind: LinkKind::Refresh, nofollow: false });
    }
}

/// Adds the pages and feeds of `Link` headers that the page itself does not name.
pub(super) fn add_header_links(page: &FetchedPage, extraction: &mut Extraction) {
    let mut found = HeaderLinks::default();
    for value in page.headers.all("link") {
        let of_field =
            crawl_extract::of_header(value, &page.final_url, extraction.metadata.language.as_deref());
        found.links.extend(of_field.links);
        found.feeds.extend(of_field.feeds);
    }
    if found == HeaderLinks::default() {
        return;
    }
    // a link may lead to a feed
    let mut links: HashSet<String> = extraction.links.iter().map(|link| link.url.clone()).collect();
    let mut feeds: HashSet<String> = extraction.feeds.iter().cloned().collect();
    extraction.links.extend(found.links.into_iter().filter(|link| links.insert(link.url.clone())));
    extraction.feeds.extend(found.feeds.into_iter().filter(|feed| feeds.insert(feed.clone())));
    extraction.links.sort_by_key(|link| link.kind == LinkKind::Translation);
}

/// Target of the refresh of a seed without a text of its own. Its host belongs to the scope, like the target of a
/// redirect.
pub(super) fn of_seed(request: &CrawlRequest, extraction: &Extraction) -> Option<Url> {
    if !request.discovery.is_seed() || extraction.word_count > MAX_WORDS {
        return None;
    }
    let target = extraction.links.iter().find(|link| link.kind == LinkKind::Refresh)?;
    Url::parse(&target.url).ok()
}

/// Gives the target of a seed's refresh the depth of the seed, like the target of a redirect. Targets of other pages
/// are one level deeper.
pub(super) fn keep_depth(context: &Context, request: &CrawlRequest, target: &Url, found: &mut Discovered) {
    let links = &context.admission.links;
    let target = links.canonical(target);
    if let Some(candidate) = found.candidates.iter_mut().find(|candidate| candidate.url == target.as_str()) {
        candidate.depth = request.depth;
        return;
    }
    let is_deepest = u64::from(request.depth) >= links.depth_of(&request.url);
    if let Some(host) = HostKey::of(&target)
        && is_deepest
        && links.admits(&target)
        && links.trap(&target).is_none()
    {
        found.candidates.push(new_url(target, host, request.depth, Discovery::Link));
    }
}

/// Removes the validators of a seed whose refresh targets another host, and returns true for it. Each round must read
/// the page to extend its scope, so it must not be answered with 304.
pub(super) fn forget_validators(page: &mut FetchedPage, extraction: &Extraction) -> bool {
    let target = of_seed(&page.request, extraction);
    let leads_out = target.is_some_and(|target| target.host_str() != page.final_url.host_str());
    if leads_out {
        page.headers.0.retain(|(name, _)| !matches!(name.as_str(), "etag" | "last-modified"));
    }
    leads_out
}

#[cfg(test)]
mod tests {
    use super::{super::tests::fetched, *};
    use crate::{config, session};
    use crawl_model::{Directives, Frontier, Store};
    use crawl_store::MemoryStore;
    use std::sync::Arc;

    /// The target of a seed is no deeper than the seed, also beyond the limit of the depth. That of other pages is a link.
    #[test]
    fn target_of_a_seed_has_its_depth() {
        for (limit, discovery, want) in [
            ("9", Discovery::Seed, vec![("/home", 0)]),
            ("0", Discovery::Seed, vec![("/home", 0)]),
            ("9", Discovery::Link, vec![("/home", 1)]),
            ("0", Discovery::Link, vec![]),
        ] {
            let settings = [("CRAWL_CRAWL_DEPTH".to_owned(), limit.to_owned())];
            let config = config::load(None, settings.into_iter(), Vec::new()).unwrap();
            let store = Arc::new(MemoryStore::new());
            store.begin_round().unwrap();
            let context = session::context(config, Arc::clone(&store) as Arc<dyn Store>).unwrap();
            let url = Url::parse("https://a.test/").unwrap();
            context.admission.links.extend_scope(&url);
            store.enqueue(&[new_url(url.clone(), HostKey::of(&url).unwrap(), 0, discovery)]).unwrap();
            let mut page = fetched(&context, &url, String::new());
            page.headers.0.push(("refresh".into(), "0; url=/home".into()));
            let mut extraction = Extraction::without_content("");
            add(&page, &mut extraction);
            let found =
                super::super::follow(&context, &page.request, &extraction, Directives::default()).unwrap();
            let found: Vec<_> =
                found.candidates.iter().map(|url| (&url.url["https://a.test".len()..], url.depth)).collect();
            assert_eq!(found, want, "{limit} {discovery:?}");
        }
    }

    #[test]
    fn link_headers_are_links_and_feeds() {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = session::context(config, Arc::clone(&store) as Arc<dyn Store>).unwrap();
        let url = Url::parse("https://a.test/").unwrap();
        store.enqueue(&[new_url(url.clone(), HostKey::of(&url).unwrap(), 0, Discovery::Seed)]).unwrap();
        let mut page = fetched(&context, &url, String::new());
        for value in
            ["</2>; rel=next, </s>; rel=preload", "</f>; rel=alternate; type=\"application/rss+xml\""]
        {
            page.headers.0.push(("link".into(), value.into()));
        }
        let mut extraction = Extraction::without_content("");
        add_header_links(&page, &mut extraction);
        add_header_links(&page, &mut extraction);
        assert_eq!((extraction.links.len(), extraction.links[0].url.as_str()), (1, "https://a.test/2"));
        assert_eq!(extraction.feeds, ["https://a.test/f"]);
    }

    /// Such a page is fetched whole in the next round, which has no scope of the round before.
    #[test]
    fn seed_without_text_that_leads_to_another_host_keeps_no_validators() {
        let config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        let store = Arc::new(MemoryStore::new());
        store.begin_round().unwrap();
        let context = session::context(config, Arc::clone(&store) as Arc<dyn Store>).unwrap();
        for (discovery, words, delay, target, forgets) in [
            (Discovery::Seed, 1, 0, "https://new.test/home", true),
            (Discovery::Seed, 1, 0, "/home", false),
            (Discovery::Seed, MAX_WORDS + 1, 0, "https://new.test/home", false),
            (Discovery::Seed, 1, 11, "https://new.test/home", false),
            (Discovery::Link, 1, 0, "https://new.test/home", false),
        ] {
            let name = format!("{discovery:?}-{words}-{delay}-{}", target.len()).to_lowercase();
            let url = Url::parse(&format!("https://{name}.test/")).unwrap();
            store.enqueue(&[new_url(url.clone(), HostKey::of(&url).unwrap(), 0, discovery)]).unwrap();
            let mut page = fetched(&context, &url, String::new());
            page.headers.0.push(("etag".into(), "x".into()));
            page.headers.0.push(("refresh".into(), format!("{delay}; url={target}#a")));
            let mut extraction = Extraction::without_content("");
            extraction.word_count = words;
            add(&page, &mut extraction);
            add(&page, &mut extraction);
            assert_eq!(extraction.links.len(), usize::from(delay == 0), "{name}");
            assert_eq!(forget_validators(&mut page, &extraction), forgets, "{name}");
            assert_eq!(page.headers.get("etag").is_none(), forgets, "{name}");
        }
    }
}
