//! Title of a start page.
//!
//! Other titles lose the name of their site. A start page is about the site, so its title names it: in front
//! (`Example - Boots for all weathers`), or behind a single word (`Home - Example`).

use super::{
    Sources,
    title::{is_site, plain, site_separators},
};
use crate::text;

/// Title element of the start page of a host (path `/`, no query), if the site's name is in front or follows a
/// single word.
pub(super) fn title(s: &Sources<'_>, element: Option<&str>, sites: &[String]) -> Option<String> {
    let url = s.page.url?;
    if url.path() != "/" || url.query().is_some() {
        return None;
    }
    let element = plain(element?)?;
    let cuts = || site_separators().flat_map(|sep| element.match_indices(sep));
    let (first, sep) = cuts().min_by_key(|(at, _)| *at)?;
    let words = |part: &str| text::measure(part).words;
    let is_in_front = || is_site(&element[..first], sites, s) && words(&element[first + sep.len()..]) > 0;
    let is_behind_word = || {
        cuts().max_by_key(|(at, _)| *at).is_some_and(|(at, sep)| {
            words(&element[..at]) == 1 && is_site(&element[at + sep.len()..], sites, s)
        })
    };
    (is_in_front() || is_behind_word()).then_some(element)
}
