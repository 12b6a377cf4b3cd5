//! The article score (heuristics reference §1): points for what the URL and the page look like.

use crate::{dom::Tag, links::tokens, page::Page, rules::Score};
use crawl_model::{Link, PageMetadata};
use html5ever::local_name;
use url::Url;

/// The score of a page. `words` are those outside of nav, header and footer.
pub(crate) fn score(page: &Page<'_>, metadata: &PageMetadata, links: &[Link], words: u32) -> i32 {
    let rules = &page.rules.score;
    page.url.map_or(0, |url| url_score(rules, url)) + content_score(page, metadata, links, words)
}

fn url_score(rules: &Score, url: &Url) -> i32 {
    let rules = &rules.url;
    let path = url.path();
    let lower = path.to_ascii_lowercase();
    let depth = path.split('/').filter(|segment| !segment.is_empty()).count();
    let mut score = 0;
    if rules.article_segments.iter().any(|segment| lower.contains(segment.as_str())) {
        score += rules.article_segment;
    }
    if has_date(path) {
        score += rules.date;
    }
    if depth >= 4 {
        score += rules.long_slug;
    }
    if depth <= 1 {
        score += rules.single_segment;
    }
    if rules.excluded_segments.iter().any(|segment| lower.contains(segment.as_str())) {
        score += rules.excluded;
    }
    if is_paginated(url) {
        score += rules.paginated;
    }
    if is_author_listing(&lower) {
        score += rules.author_listing;
    }
    score
}

/// Four digits, a slash, two digits.
fn has_date(path: &str) -> bool {
    path.as_bytes().windows(7).any(|w| {
        w[..4].iter().all(u8::is_ascii_digit) && w[4] == b'/' && w[5..].iter().all(u8::is_ascii_digit)
    })
}

fn is_paginated(url: &Url) -> bool {
    let mut segments = url.path().trim_end_matches('/').rsplit('/');
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let in_path = segments.next().is_some_and(number) && segments.next() == Some("page");
    in_path || url.query_pairs().any(|(name, value)| name == "page" && number(&value))
}

/// `/author/` and at most the author's own name behind it.
fn is_author_listing(path: &str) -> bool {
    path.split_once("/author/").is_some_and(|(_, rest)| !rest.trim_end_matches('/').contains('/'))
}

fn content_score(page: &Page<'_>, metadata: &PageMetadata, links: &[Link], words: u32) -> i32 {
    let rules = &page.rules.score.content;
    let dom = &page.dom;
    let mut score = 0;
    if words > rules.words_many {
        score += rules.words_many_points;
    } else if words >= rules.words_some {
        score += rules.words_some_points;
    }
    if words < rules.words_few {
        score += rules.words_few_points;
    }
    let all = || page.body..dom.end(page.body);
    if all().filter(|id| dom.tag(*id) == Tag::H1).count() == 1 {
        score += rules.one_h1;
    }
    if !metadata.authors.is_empty() {
        score += rules.author;
    }
    if metadata.published.is_some() {
        score += rules.published;
    }
    if metadata.json_ld_types.iter().any(|t| rules.json_ld_types.contains(t)) {
        score += rules.json_ld;
    }
    if metadata.og_type.as_deref() == Some("article") {
        score += rules.og_article;
    }
    let paragraphs =
        all().filter(|id| dom.tag(*id) == Tag::P && page.amount(*id).chars >= rules.paragraph_chars);
    if paragraphs.count() as u32 > rules.paragraphs_over {
        score += rules.paragraphs;
    }
    if outbound(page, links) > rules.outbound_over {
        score += rules.outbound;
    }
    if has_pagination(page) {
        score += rules.pagination;
    }
    score
}

/// Links to other hosts.
fn outbound(page: &Page<'_>, links: &[Link]) -> usize {
    let Some(host) = page.url.and_then(Url::host_str) else { return 0 };
    let host_of = |url: &'_ str| -> Option<String> {
        let rest = url.split_once("://")?.1;
        let authority = rest.split(['/', '?', '#']).next()?;
        Some(authority.rsplit('@').next()?.split(':').next()?.to_owned())
    };
    links.iter().filter(|link| host_of(&link.url).is_some_and(|h| h != host)).count()
}

fn has_pagination(page: &Page<'_>) -> bool {
    let dom = &page.dom;
    (0..dom.len()).filter(|id| matches!(dom.tag(*id), Tag::Link | Tag::A)).any(|id| {
        dom.attr(id, &local_name!("rel")).is_some_and(|rel| tokens(rel).any(|t| t == "next" || t == "prev"))
    })
}
