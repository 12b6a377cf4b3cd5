//! Pages that lead to another page by a refresh.

use crawl_model::{CrawlRequest, Extraction, FetchedPage, Link, LinkKind};
use url::Url;

/// Maximum words of a page that only leads to another one. A longer one has a text of its own.
const MAX_WORDS: u32 = 50;

/// Adds the URL of a `Refresh` header, which browsers obey as the meta element of that name.
pub(super) fn add(page: &FetchedPage, extraction: &mut Extraction) {
    let target = page.headers.get("refresh").and_then(crawl_extract::refresh_target);
    let Some(mut url) = target.and_then(|target| page.final_url.join(target).ok()) else { return };
    url.set_fragment(None);
    let is_web = matches!(url.scheme(), "http" | "https");
    if is_web && extraction.links.iter().all(|link| link.url != url.as_str()) {
        extraction.links.push(Link { url: url.into(), kind: LinkKind::Refresh, nofollow: false });
    }
}

/// URL to which a seed without a text of its own leads. Its host belongs to the scope, as that of a redirect.
pub(super) fn of_seed(request: &CrawlRequest, extraction: &Extraction) -> Option<Url> {
    if !request.discovery.is_seed() || extraction.word_count > MAX_WORDS {
        return None;
    }
    let target = extraction.links.iter().find(|link| link.kind == LinkKind::Refresh)?;
    Url::parse(&target.url).ok()
}

/// Removes the validators of a seed that leads to another host, and returns true for such a page. The scope is that of a
/// round: an answer that the page has not changed would not extend it.
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
    use crate::{config, links::new_url, session};
    use crawl_model::{Discovery, Frontier, HostKey, Store};
    use crawl_store::MemoryStore;
    use std::sync::Arc;

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
