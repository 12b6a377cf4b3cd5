//! Name of a page in the title of its own feed: that of its comments, or of its category's entries.
//!
//! Such a feed has a URL below that of the page. Its title consists of the names of site and page, and words
//! for the feed (`Example » On ferries Comments Feed`). The title element, in contrast, may be written for
//! search engines, or be the same on all pages.

use super::{Sources, headings::Heading, title::letters};
use crate::{dom::Tag, text};
use html5ever::local_name;
use url::Url;

/// Separator between the names of site and page.
const SEPARATOR: char = '»';
/// Minimum letters of a page's name.
const MIN_LETTERS: usize = 4;
/// Maximum letters of the words for the feed after the page's name.
const MAX_SUFFIX: usize = 24;
/// Maximum bytes of a page's name.
const MAX_TEXT: usize = 250;
/// Maximum bytes of a feed's title. A longer one is no name, and has too many separators to try all.
const MAX_TITLE: usize = 4 * MAX_TEXT;

/// Heading that the page's own feed names, else such a line. No line is used if headings of level one have
/// other names.
pub(super) fn shown_name(s: &Sources<'_>, seen: &[Heading]) -> Option<String> {
    let feed = own_feed(s)?;
    // A title may contain the separator too.
    let names: Vec<String> = feed.match_indices(SEPARATOR).map(|(at, _)| letters(&feed[at..])).collect();
    let is_named = |text: &str| {
        let text = letters(text);
        text.len() >= MIN_LETTERS
            && names.iter().any(|name| {
                name.strip_prefix(text.as_str())
                    .is_some_and(|suffix| (1..=MAX_SUFFIX).contains(&suffix.chars().count()))
            })
    };
    // A list of entries may truncate the title.
    let named = seen.iter().map(|heading| heading.text.as_str()).filter(|text| is_named(text));
    let longer = |best, next| if letters(next).len() > letters(best).len() { next } else { best };
    if let Some(heading) = named.reduce(longer) {
        return Some(heading.to_owned());
    }
    if seen.iter().any(|heading| heading.level == 1) {
        return None;
    }
    let (page, dom) = (s.page, &s.page.dom);
    let texts = (page.body..dom.end(page.body))
        .filter(|id| dom.tag(*id) == Tag::Text && page.is_visible(*id))
        .map(|id| dom.text(id))
        .filter(|text| text.len() <= MAX_TEXT && is_named(text));
    texts.max_by_key(|text| letters(text).len()).map(text::fold)
}

/// Title of the feed whose URL is below that of the page.
fn own_feed<'a>(s: &Sources<'a>) -> Option<&'a str> {
    let (page, dom) = (s.page, &s.page.dom);
    let own = page.url.filter(|url| url.path() != "/" || url.query().is_some())?;
    let links = dom.find_all(0..dom.len(), Tag::Link);
    links
        .filter(|id| {
            let kind = dom.attr(*id, &local_name!("type")).unwrap_or_default();
            matches!(kind.trim(), "application/rss+xml" | "application/atom+xml")
        })
        .find_map(|id| {
            let title = dom.attr(id, &local_name!("title")).filter(|title| title.len() <= MAX_TITLE)?;
            let target = page.resolve(dom.attr(id, &local_name!("href"))?)?;
            is_below(&Url::parse(&target).ok()?, own).then_some(title)
        })
}

/// Returns true if the path of a URL, or its query, extends that of the page.
fn is_below(target: &Url, own: &Url) -> bool {
    let (path, below) = (own.path().trim_end_matches('/'), target.path());
    let by_path = !path.is_empty()
        && below.strip_prefix(path).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1);
    let by_query = || {
        let mut parts = own.query().into_iter().flat_map(|query| query.split('&'));
        let of_target = target.query().unwrap_or_default();
        target.path() == own.path()
            && of_target != own.query().unwrap_or_default()
            && own.query().is_some()
            && parts.all(|part| of_target.split('&').any(|other| other == part))
    };
    target.host_str() == own.host_str() && (by_path || by_query())
}
