//! Article score (heuristics reference §1): points for features of URL and page.

use crate::{dom::Tag, metadata::IN_SCRIPT, page::Page, rules::Score, text::has_token, trace::Trace};
use crawl_model::PageMetadata;
use html5ever::local_name;
use url::Url;

/// Counts of earlier steps for the score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// True if a meta element, or `datePublished` in JSON-LD, holds a date.
    pub(crate) dated: bool,
    /// True if the data, a mark or a byline names an author.
    pub(crate) credited: bool,
    /// Link elements to other hosts.
    pub(crate) outbound: usize,
    /// The same, each URL once.
    pub(crate) outbound_distinct: usize,
    /// Words outside of nav, header and footer.
    pub(crate) words: u32,
}

/// The score of a page.
pub(crate) fn score(page: &Page<'_>, metadata: &PageMetadata, counted: Counted) -> i32 {
    let mut sum = Sum { points: 0, trace: &page.trace };
    if let Some(url) = page.url {
        url_score(&page.rules.score, url, &mut sum);
    }
    content_score(page, metadata, counted, &mut sum);
    sum.points
}

/// Similarity of a page to an article, for the choice of its content. It is the score, but a publication date
/// counts anywhere outside of scripts, and a repeated link target counts once. The detection by §1 alone
/// costs text there (docs/design/deviations.md).
pub(crate) fn likeness(page: &Page<'_>, metadata: &PageMetadata, score: i32, counted: Counted) -> i32 {
    let rules = &page.rules.score.content;
    let in_script = metadata.sources.published.as_deref() == Some(IN_SCRIPT);
    let shown = !counted.dated && metadata.published.is_some() && !in_script;
    let repeated = counted.outbound > rules.outbound_over && counted.outbound_distinct <= rules.outbound_over;
    score + if shown { rules.published } else { 0 } - if repeated { rules.outbound } else { 0 }
}

/// Returns true if the score reaches the threshold and the content is no list of other pages. At most a share
/// of its words may be in boxes that lead elsewhere. The signals of §1 alone call a listing of ten teasers an
/// article.
pub(crate) fn is_article(rules: &Score, score: i32, listed: f32) -> bool {
    score >= rules.threshold && listed <= rules.max_listed
}

/// Points so far.
struct Sum<'a> {
    points: i32,
    trace: &'a Trace,
}

impl Sum<'_> {
    /// Counts a signal if it is present.
    fn add(&mut self, seen: bool, points: i32, signal: &'static str) {
        if seen {
            self.points += points;
            self.trace.points(points, signal);
        }
    }
}

fn url_score(rules: &Score, url: &Url, sum: &mut Sum<'_>) {
    let rules = &rules.url;
    let path = url.path();
    let lower = path.to_ascii_lowercase();
    let depth = path.split('/').filter(|segment| !segment.is_empty()).count();
    let among = |list: &[String]| list.iter().any(|segment| lower.contains(segment.as_str()));
    sum.add(among(&rules.article_segments), rules.article_segment, "a path segment of articles");
    sum.add(has_date(path), rules.date, "a date in the path");
    sum.add(depth >= 4, rules.long_slug, "four path segments and more");
    sum.add(depth <= 1, rules.single_segment, "one path segment or none");
    sum.add(among(&rules.excluded_segments), rules.excluded, "a path segment of listings and service pages");
    sum.add(is_paginated(url), rules.paginated, "a paginated URL");
    sum.add(is_author_listing(&lower), rules.author_listing, "an author's list");
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

/// Returns true for `/author/` with at most the author's name after it.
fn is_author_listing(path: &str) -> bool {
    path.split_once("/author/").is_some_and(|(_, rest)| !rest.trim_end_matches('/').contains('/'))
}

fn content_score(page: &Page<'_>, metadata: &PageMetadata, counted: Counted, sum: &mut Sum<'_>) {
    let Counted { dated, credited, outbound, words, .. } = counted;
    let rules = &page.rules.score.content;
    let dom = &page.dom;
    let many = words > rules.words_many;
    sum.add(many, rules.words_many_points, "many words");
    sum.add(!many && words >= rules.words_some, rules.words_some_points, "some words");
    sum.add(words < rules.words_few, rules.words_few_points, "few words");
    let all = || page.body..dom.end(page.body);
    sum.add(dom.find_all(all(), Tag::H1).count() == 1, rules.one_h1, "exactly one h1");
    sum.add(credited, rules.author, "an author");
    sum.add(dated, rules.published, "a date in a meta element, or datePublished in JSON-LD");
    let typed = metadata.json_ld_types.iter().any(|t| rules.json_ld_types.contains(t));
    sum.add(typed, rules.json_ld, "a JSON-LD type of articles");
    sum.add(metadata.og_type.as_deref() == Some("article"), rules.og_article, "og:type article");
    let paragraphs = dom.find_all(all(), Tag::P).filter(|id| page.amount(*id).chars >= rules.paragraph_chars);
    sum.add(paragraphs.count() as u32 > rules.paragraphs_over, rules.paragraphs, "paragraphs");
    sum.add(outbound > rules.outbound_over, rules.outbound, "many links to other hosts");
    sum.add(has_pagination(page), rules.pagination, "rel=next or rel=prev");
}

fn has_pagination(page: &Page<'_>) -> bool {
    let dom = &page.dom;
    (0..dom.len())
        .filter(|id| matches!(dom.tag(*id), Tag::Link | Tag::A))
        .any(|id| dom.attr(id, &local_name!("rel")).is_some_and(|rel| has_token(rel, &["next", "prev"])))
}
