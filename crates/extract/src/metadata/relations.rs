//! Relations that `rel` declares on links and `link` elements.

use super::{MAX_LIST, Sources, language::in_case, non_empty};
use crate::{dom::Tag, page::Page, text::has_token};
use crawl_model::{Hreflang, PageMetadata};
use html5ever::local_name;

/// Reads `link` elements, the licence in an anchor, and the tags of a page whose data has no keywords.
pub(super) fn read(s: &Sources<'_>, metadata: &mut PageMetadata) {
    let (page, dom) = (s.page, &s.page.dom);
    let mut tagged: Vec<String> = Vec::new();
    for &id in &s.marks.rel {
        let tag = dom.tag(id);
        let rel = dom.attr(id, &local_name!("rel")).unwrap_or_default();
        let has = |name: &str| has_token(rel, &[name]);
        // Most are "nofollow" and the like.
        if !has_token(rel, &["canonical", "license", "tag", "alternate"]) {
            continue;
        }
        let Some(url) = dom.attr(id, &local_name!("href")).and_then(|href| page.resolve(href)) else {
            continue;
        };
        if has("canonical") && tag == Tag::Link && metadata.canonical.is_none() {
            metadata.canonical = Some(url.clone());
        }
        if has("license") && metadata.licence.is_none() {
            metadata.licence = Some(url.clone());
        }
        if has("tag") && !has("category") && tag == Tag::A {
            let word = non_empty(&page.visible_text(id));
            tagged.extend(word.filter(|word| tagged.len() < MAX_LIST && !tagged.contains(word)));
        }
        if has("alternate") && tag == Tag::Link {
            alternate(page, id, url, metadata);
        }
    }
    if metadata.keywords.is_empty() {
        metadata.keywords = tagged;
    }
}

fn alternate(page: &Page<'_>, id: u32, url: String, metadata: &mut PageMetadata) {
    let lang =
        page.dom.attr(id, &local_name!("hreflang")).map(|lang| in_case(&lang.trim().replace('_', "-")));
    let media = page.dom.attr(id, &local_name!("type")).unwrap_or_default().trim().to_ascii_lowercase();
    let is_feed =
        matches!(media.as_str(), "application/rss+xml" | "application/atom+xml" | "application/feed+json");
    if is_feed && metadata.feeds.len() < MAX_LIST {
        metadata.feeds.push(url);
    } else if let Some(lang) = lang.filter(|lang| !lang.is_empty())
        && metadata.hreflang.len() < 4 * MAX_LIST
    {
        metadata.hreflang.push(Hreflang { lang, url });
    }
}
