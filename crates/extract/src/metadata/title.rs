//! Title of a page, without the name of its site.

use super::{
    Sources,
    address::{self, Slug},
    bracket,
    headings::{Heading, MAX_NAME, agreeing, headings, part_of, program_title, seen, shared, words},
    jsonld, non_empty, own_feed,
    sources::{Field, Rule},
    start_links::links_above,
    start_page,
};
use crate::{dom::Tag, text};

/// Separators between a title and the site's name.
pub(super) const SEPARATORS: [&str; 12] =
    [" | ", " - ", " – ", " — ", " :: ", " » ", " « ", " · ", " • ", " / ", " > ", " ~ "];

/// The separator that is no sign of prose.
const BAR: &str = " | ";

/// Further separators before a known name of the site; they also occur within titles.
const MORE_SEPARATORS: [&str; 4] = [" : ", ": ", " _ ", "｜"];

pub(super) fn site_separators() -> impl Iterator<Item = &'static str> {
    SEPARATORS.into_iter().chain(MORE_SEPARATORS)
}

/// Meta names of titles, best first.
const DECLARED: [&str; 6] =
    ["og:title", "twitter:title", "dc.title", "citation_title", "parsely-title", "sailthru.title"];

/// The title: the heading that agrees with the page's own data, else the declared name.
pub(super) fn find(s: &Sources<'_>, site: Option<&str>) -> Option<String> {
    let declared = s.metas.first(&DECLARED);
    let headline = s.main.and_then(|main| main.get("headline").and_then(jsonld::text));
    let element = title_element(s);
    let mut named: Vec<String> =
        headline.into_iter().chain(declared).chain(element.as_deref()).filter_map(plain).collect();
    let known: Vec<String> = site.map(str::to_owned).into_iter().collect();
    let mut sites = known.clone();
    let seen = seen(s);
    sites.extend(element.as_deref().and_then(|element| site_in_title(s, element, &named, &seen, &known)));
    sites.extend(seen.iter().filter(|heading| heading.names_site).map(|heading| heading.text.clone()));
    let sites = sites.as_slice();
    // A name of the page that equals the site's is dropped if there is another one.
    let says_more = |name: &String| !is_site(name, sites, s);
    if named.iter().any(says_more) {
        named.retain(says_more);
    }
    // In "| Example" and "Example -" the name of the page is empty.
    let ends_open = |name: &str| SEPARATORS.iter().any(|sep| name.ends_with(sep.trim_end()));
    let is_filled = |name: &String| !name.starts_with(['|', '–', '—', '»', '·', '•']) && !ends_open(name);
    if !seen.is_empty() {
        named.retain(is_filled);
    }
    let data = match (headline, declared) {
        (Some(_), _) => Rule::Headline,
        (None, Some(_)) => Rule::DeclaredTitle,
        (None, None) => Rule::TitleElement,
    };
    if let Some(name) = own_feed::shown_name(s, &seen) {
        return Some(noted(s, name, Rule::OwnFeed, &named));
    }
    if let Some(name) = start_page::title(s, element.as_deref(), sites) {
        return Some(noted(s, name, Rule::TitleElement, &named));
    }
    if let Some(name) = program_title(s, &seen) {
        return Some(noted(s, name.to_owned(), Rule::FirstHeading, &named));
    }
    let headings = headings(s, &seen, sites);
    let names = Names {
        named: &named,
        sites,
        element: element.as_deref(),
        declared: declared.or(headline).is_some(),
        data,
    };
    let (chosen, rule) = chosen(s, &seen, &headings, &names)?;
    let (title, rule) = addressed(s, &chosen, &headings, &names).unwrap_or((chosen, rule));
    let title = if is_data(rule) { part_in_path(s, &title).unwrap_or(title) } else { title };
    Some(noted(s, title, rule, &named))
}

/// Names in the data of a page.
struct Names<'a> {
    /// Names of the page, best first.
    named: &'a [String],
    /// Names of the site.
    sites: &'a [String],
    element: Option<&'a str>,
    /// True if data other than the title element names the page.
    declared: bool,
    /// The rule of the first name.
    data: Rule,
}

/// The heading that agrees with a name of the page, else the first name.
fn chosen(
    s: &Sources<'_>,
    seen: &[Heading],
    headings: &[String],
    names: &Names<'_>,
) -> Option<(String, Rule)> {
    let Names { named, sites, element, declared, data } = *names;
    if let Some(heading) = agreeing(headings, named, declared) {
        let within = seen.iter().find(|h| h.text == *heading).and_then(|h| part_of(s, h, named, sites));
        return Some(match within {
            Some(part) => (part, Rule::PartOfHeading),
            None => (heading.clone(), Rule::AgreeingHeading),
        });
    }
    if let Some(heading) = element.filter(|_| !declared).and_then(|element| bracket::heading(seen, element)) {
        return Some((heading.text.clone(), Rule::AgreeingHeading));
    }
    // By convention only the title element includes the site's name; other data does so if it repeats the
    // element.
    let may_hold_site = |full: &str| sites.is_empty() || element == Some(full);
    let full = named.first().map(|full| without_site(full, sites, s, may_hold_site(full)));
    match (full, headings) {
        (None, [first, ..]) => Some((first.clone(), Rule::FirstHeading)),
        // The data gives the site's name; the only heading says more.
        (Some(full), [only])
            if is_site(&full, sites, s) || shared(only, &full) > 0.55 && words(only).count() > 2 =>
        {
            Some((only.clone(), Rule::OnlyHeading))
        }
        (Some(full), _) => Some((full, data)),
        (None, []) => {
            let first = seen.iter().find(|heading| !is_site(&heading.text, sites, s))?;
            Some((first.text.clone(), Rule::LowerHeading))
        }
    }
}

/// A heading, or a name in OpenGraph, that the URL of the page repeats and the chosen title does not.
fn addressed(
    s: &Sources<'_>,
    chosen: &str,
    headings: &[String],
    names: &Names<'_>,
) -> Option<(String, Rule)> {
    let Names { sites, element, .. } = *names;
    let may_hold_site = |full: &str| sites.is_empty() || element == Some(full);
    let slug = Slug::of(s.page.url?)?;
    let contents = s.metas.all(DECLARED[0]).take(MAX_CONTENTS);
    let named: Vec<String> = contents
        .filter_map(|content| plain(text::head(content, MAX_NAME)))
        .map(|full| without_site(&full, sites, s, may_hold_site(&full)))
        .collect();
    let all: Vec<&str> = headings.iter().chain(&named).map(String::as_str).collect();
    let better = slug.better(chosen, &all)?;
    let is_heading = headings.iter().any(|heading| heading == better);
    let rule = if is_heading { Rule::HeadingOfAddress } else { Rule::NameOfAddress };
    Some((better.to_owned(), rule))
}

/// The part of a title that equals the last part of the URL's path: `/in-the-news/` in "In the news - Example".
/// One word counts only at the front, since a model often follows the name of its maker.
fn part_in_path(s: &Sources<'_>, title: &str) -> Option<String> {
    let path = address::last_part(s.page.url.filter(|url| url.query().is_none())?)?;
    let cuts = SEPARATORS.iter().flat_map(|sep| title.match_indices(sep)).take(MAX_CUTS);
    let mut parts = cuts.flat_map(|(at, sep)| [(&title[..at], true), (&title[at + sep.len()..], false)]);
    let is_named =
        |part: &str, in_front: bool| letters(part) == path && (in_front || words(part).nth(1).is_some());
    parts.find(|(part, in_front)| is_named(part, *in_front)).map(|(part, _)| part.trim().to_owned())
}

/// Maximum contents of `og:title` that are compared with the URL.
const MAX_CONTENTS: usize = 4;

/// Returns the title after noting its rule. An equal name in the data confirms a heading, and another equal
/// name confirms such a name.
fn noted(s: &Sources<'_>, title: String, rule: Rule, named: &[String]) -> String {
    let same = named.iter().filter(|name| letters(name) == letters(&title)).count();
    s.note(Field::Title, rule, same > usize::from(is_data(rule)));
    title
}

/// Returns true for rules that take a name from the data of the page, not from a heading.
const fn is_data(rule: Rule) -> bool {
    matches!(rule, Rule::Headline | Rule::DeclaredTitle | Rule::TitleElement | Rule::NameOfAddress)
}

/// Site's name in the title element, by evidence of the page. Either one end of the title is a declared name
/// or a heading, or the other end is a link text to a start page.
fn site_in_title(
    s: &Sources<'_>,
    element: &str,
    named: &[String],
    seen: &[Heading],
    known: &[String],
) -> Option<String> {
    let element = plain(element)?;
    // A colon occurs within titles too: it counts if a declared name or the first heading follows it.
    let in_data_of = |element: &str, sep: &str| {
        element.split_once(sep).is_some_and(|(_, tail)| {
            let tail = letters(tail);
            named.iter().any(|name| letters(name) == tail)
                || seen.iter().any(|h| h.level == 1 && h.letters == tail)
        })
    };
    let cuts: Vec<(usize, usize)> = site_separators()
        .filter(|sep| !sep.contains(':') || in_data_of(&element, sep))
        .flat_map(|sep| element.match_indices(sep))
        .map(|(at, sep)| (at, sep.len()))
        .collect();
    let cuts = || cuts.iter().take(MAX_CUTS).map(|(at, len)| (&element[..*at], &element[at + len..]));
    let seen_with = |part: &str, accept: &dyn Fn(&Heading, &str) -> bool| {
        let part = letters(part);
        seen.iter().any(|h| accept(h, &part))
    };
    let names: Vec<String> = named.iter().map(|name| letters(name)).collect();
    let is_first_level =
        |part: &str| seen_with(part, &|h, part| h.level == 1 && !h.names_site && h.letters == part);
    let starts_with_first =
        |part: &str| seen_with(part, &|h, part| h.level == 1 && part.starts_with(&h.letters));
    let in_data = |part: &str| names.contains(&letters(part));
    let is_lower = |part: &str| seen_with(part, &|h, part| h.level > 1 && h.letters == part);
    // A heading of level one says more than the rest of the title, which is then a section.
    let holds_more = |site: &str, page: &str| {
        let (site, page) = (letters(site), letters(page));
        seen.iter()
            .filter(|h| h.level == 1 && !h.names_site)
            .any(|h| h.letters.len() > page.len() && site.contains(&h.letters) && site != h.letters)
    };
    let ends = || cuts().flat_map(|(head, tail)| [(head, tail, false), (tail, head, true)]);
    // At the front the site's name counts only if it is the page's first heading, since a lower heading may
    // repeat the site's name.
    let is_beside = |page: &str, site: &str, in_front: bool| {
        let evident = in_data(page) || is_lower(page) && (!in_front || starts_with_first(site));
        evident && !in_data(site) && !is_lower(site) && !letters(site).is_empty() && !holds_more(site, page)
    };
    let named_beside =
        ends().find(|(page, site, in_front)| is_beside(page, site, *in_front) && !is_site(page, known, s));
    let first_level = || {
        ends().find(|(page, site, in_front)| {
            !in_front
                && is_first_level(page)
                && !in_data(site)
                && !is_lower(site)
                && !is_site(page, known, s)
                && !holds_more(site, page)
        })
    };
    let linked = || {
        let links = links_above(s, &element);
        ends().find(|(page, site, _)| {
            let is_page = in_data(site) || is_first_level(site) || is_site(page, known, s);
            links.contains(&letters(site)) && !links.contains(&letters(page)) && !is_page
        })
    };
    named_beside.or_else(first_level).or_else(linked).map(|(_, site, _)| site.trim().to_owned())
}

/// Maximum splits of a title in the search for the site's name.
pub(super) const MAX_CUTS: usize = 8;

/// Letters and digits of a text, in lower case.
pub(super) fn letters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_letters(text, &mut out);
    out
}

/// Adds the [`letters`] of a text.
pub(super) fn push_letters(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        text.split(|c: char| !c.is_ascii_alphanumeric()).for_each(|run| out.push_str(run));
        out[start..].make_ascii_lowercase();
        return;
    }
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !c.is_ascii() && c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        }
    }
}

/// Text of an attribute or of JSON that may hold doubly encoded character references.
pub(super) fn plain(text: &str) -> Option<String> {
    if text.contains('&') && text.contains(';') {
        let dom = crate::dom::parse(&text.replace('<', "&lt;"), &crate::dom::Limits::default()).dom;
        return non_empty(&dom.raw_text(0));
    }
    non_empty(text)
}

pub(super) fn title_element(s: &Sources<'_>) -> Option<String> {
    let dom = &s.page.dom;
    let id = dom.find(0..dom.len(), Tag::Title)?;
    non_empty(&dom.raw_text(id))
}

/// Returns true for the name of the site or its host.
pub(super) fn is_site(part: &str, sites: &[String], s: &Sources<'_>) -> bool {
    let host = s.page.url.and_then(|url| url.host_str()).unwrap_or_default();
    let part = letters(part);
    let domain = host;
    let host = letters(host.trim_start_matches("www."));
    let is = |site: &String| {
        let site = letters(site);
        site == part || site.contains(&part) && part.len() > 3
    };
    let is_start = s.page.url.is_some_and(|url| url.path() == "/");
    let is_domain = || !is_start && domain.rsplit('.').nth(1) == Some(part.as_str());
    let is_host = || host.starts_with(&part) || is_domain();
    !part.is_empty() && (sites.iter().any(is) || part.len() > 2 && is_host())
}

/// The name before the first bar of a title. A bar hardly ever occurs within a name: the site, its section or
/// a slogan follows. A site in front has a shorter name than the page.
fn before_bar(title: &str) -> Option<&str> {
    let (head, rest) = title.split_once(BAR)?;
    let next = rest.split_once(BAR).map_or(rest, |(next, _)| next);
    let count = |part: &str| part.split_whitespace().count();
    (count(head) >= 2 && count(next) < 2 * count(head) && bracket::is_closed(head)).then(|| head.trim())
}

/// Removes the site's name from either end of a title.
pub(super) fn without_site(title: &str, sites: &[String], s: &Sources<'_>, guess: bool) -> String {
    let is_site = |part: &str| is_site(part, sites, s);
    let is_whole = |part: &str| sites.iter().any(|site| letters(site) == letters(part));
    for sep in site_separators() {
        for (at, sep) in title.match_indices(sep).take(MAX_CUTS) {
            let (head, tail) = (title[..at].trim(), title[at + sep.len()..].trim());
            // The site's slogan may follow its name.
            let next = site_separators().filter_map(|sep| tail.find(sep)).min().unwrap_or(tail.len());
            if !head.is_empty() && (is_whole(tail) || is_whole(&tail[..next])) {
                return head.to_owned();
            }
            if !tail.is_empty() && is_whole(head) {
                return tail.to_owned();
            }
        }
    }
    let split = SEPARATORS.iter().filter_map(|sep| title.rfind(sep).map(|at| (at, sep.len()))).max();
    let Some((at, len)) = split else { return title.to_owned() };
    let (head, tail) = (&title[..at], &title[at + len..]);
    let first = SEPARATORS
        .iter()
        .filter_map(|sep| title.find(sep).map(|at| (at, sep.len())))
        .min()
        .unwrap_or((at, len));
    if is_site(&title[..first.0]) && !is_site(tail) {
        return title[first.0 + first.1..].trim().to_owned();
    }
    let count = |t: &str| t.split_whitespace().count();
    if let Some(head) = before_bar(title).filter(|head| !is_site(head)) {
        return head.to_owned();
    }
    // A short tail after a longer head is the site or a section of it.
    if bracket::is_closed(head) && (is_site(tail) || guess && count(tail) <= 3 && count(head) >= 3) {
        return head.trim().to_owned();
    }
    title.to_owned()
}
