//! Authors of a page.

use super::{
    Sources, bylines, jsonld, near, non_empty,
    sources::{Field, Rule},
    title::letters,
};
use crate::{dom::Tag, page::Page, rules::Part, text};
use html5ever::{LocalName, local_name};
use serde_json::Value;
use std::{cell::OnceCell, ops::Range};

/// Meta names of authors, best first.
const METAS: [&str; 14] = [
    "author",
    "article:author",
    "byl",
    "dc.creator",
    "dcterms.creator",
    "dc.contributor",
    "citation_author",
    "parsely-author",
    "sailthru.author",
    "article:author_name",
    "og:article:author",
    "cxenseparse:author",
    "article_author",
    "byline",
];
/// Nodes before and after the heading that are searched for a byline with more names than the data.
const BESIDE: u32 = 250;
const MAX_AUTHORS: usize = 20;
/// Maximum authors of a list in JSON-LD that are read.
const MAX_LISTED: usize = 5 * MAX_AUTHORS;

/// Names of the authors: from JSON-LD, then meta elements, then elements marked as author, then a byline near
/// the heading.
pub(super) fn find(s: &Sources<'_>) -> Vec<String> {
    let some = |names: Vec<String>| Some(names).filter(|names| !names.is_empty());
    let (metas, byline) = (OnceCell::new(), OnceCell::new());
    let in_metas = || metas.get_or_init(|| from_metas(s)).clone();
    let label = || written_by(s);
    let find_byline = || s.near().iter().map(|line| bylines::names(s, line)).find(|names| !names.is_empty());
    let line = || byline.get_or_init(find_byline).clone();
    let beside_date =
        || s.near().iter().find_map(|line| bylines::beside_date(s, line)).map(|name| vec![name]);
    let labelled = || some(bylines::labelled(s)).inspect(|_| s.by_label.set(true));
    let signature = || bylines::signature(s).map(|name| vec![name]);
    // A byline precedes the name of the site, or of an organization other than the author's.
    let person = |names: Vec<String>| names.iter().any(|name| !is_publisher(s, name)).then_some(names);
    // A single word beside an organization may as well be a place or an account.
    let full = |names: Vec<String>| names.iter().all(|name| is_full(name)).then(|| person(names)).flatten();
    let json = from_json(s);
    let if_listed = |names: &dyn Fn() -> Option<Vec<String>>| {
        if json.is_empty() { None } else { names().and_then(full) }
    };
    let everywhere = OnceCell::new();
    let marked = || everywhere.get_or_init(|| visible(s, s.page.body..s.page.dom.end(s.page.body))).clone();
    let beside_heading = || {
        let at = s.page.heading.unwrap_or(s.page.body);
        let to = s.page.dom.end(at).saturating_add(BESIDE).min(s.page.dom.end(s.page.body));
        visible(s, at.saturating_sub(BESIDE).max(s.page.body)..to)
    };
    let found = super::first(&[
        (Rule::JsonLd, &|| {
            let names = |list: &[(String, bool)]| list.iter().map(|(name, _)| name.clone()).collect();
            json.iter().any(|(_, org)| !org).then(|| person(names(&json))).flatten()
        }),
        (Rule::MetaForOrganization, &|| if_listed(&|| in_metas())),
        (Rule::MarkedForOrganization, &|| if_listed(&|| Some(marked()))),
        (Rule::BylineForOrganization, &|| {
            let byline = || line().and_then(full).or_else(|| signature().and_then(full));
            if json.is_empty() { None } else { byline() }
        }),
        (Rule::Organization, &|| some(json.iter().map(|(n, _)| n.clone()).collect())),
        (Rule::Meta, &|| in_metas().and_then(person)),
        (Rule::TwitterLabel, &label),
        (Rule::ThreadAuthor, &|| posted(s, true).map(|name| vec![name])),
        (Rule::MarkedAuthor, &|| person(marked())),
        (Rule::Byline, &line),
        (Rule::BesideDate, &beside_date),
        (Rule::LabelledAuthor, &labelled),
        (Rule::PostAuthor, &|| posted(s, false).map(|name| vec![name])),
        (Rule::Signature, &signature),
        (Rule::MarkedPublisher, &|| some(marked())),
        (Rule::MetaPublisher, &in_metas),
        (Rule::TwitterCreator, &|| creator(s).map(|name| vec![name])),
    ]);
    let Some((rule, names)) = found else { return Vec::new() };
    let is_whole = names.iter().all(|name| is_full(name));
    // The lines are expensive, and rarely add to a full name.
    let in_lines = || if is_whole { Vec::new() } else { line().or_else(label).unwrap_or_default() };
    let shown = beside_heading();
    let data = [json.iter().map(|(name, _)| name.clone()).collect(), in_metas().unwrap_or_default()];
    let places =
        data.iter().chain([&shown]).filter(|place| place.iter().any(|name| holds(&names, name))).count();
    s.note(Field::Authors, rule, places > 1 || (places == 1 && rule.is_of_text()));
    let names = more_of(names, &[&|| shown.clone(), &in_lines]);
    distinct(names)
}

/// Authors in the first meta name that has any.
fn from_metas(s: &Sources<'_>) -> Option<Vec<String>> {
    METAS.iter().find_map(|name| {
        let names: Vec<String> = s.metas.all(name).flat_map(split).filter_map(|n| clean(s, &n)).collect();
        (!names.is_empty()).then_some(names)
    })
}

/// Returns true if the list has the name, ignoring case and punctuation.
fn holds(names: &[String], name: &str) -> bool {
    names.iter().any(|other| letters(other) == letters(name))
}

/// Author in the page's previews.
fn written_by(s: &Sources<'_>) -> Option<Vec<String>> {
    let label = s.metas.get("twitter:label1")?;
    let named = text::fold_lower(label).starts_with("written by").then(|| s.metas.get("twitter:data1"))??;
    clean(s, named).map(|name| vec![name])
}

/// Each name once, at most [`MAX_AUTHORS`].
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in names {
        if !out.iter().any(|n| n.eq_ignore_ascii_case(&name)) && out.len() < MAX_AUTHORS {
            out.push(name);
        }
    }
    out
}

/// Visible names, if they include all those found and add further names, the family name, or the name of a
/// person for an account.
fn more_of(found: Vec<String>, shown: &[&dyn Fn() -> Vec<String>]) -> Vec<String> {
    if found.is_empty() {
        return found;
    }
    let says_more = |shown: &Vec<String>| {
        let holds = |name: &String| {
            let folded = letters(name);
            shown.iter().any(|other| letters(other) == folded || name.len() > 1 && is_short_for(name, other))
        };
        shown.iter().all(|name| is_full(name)) && found.iter().all(holds) && *shown != found
    };
    shown.iter().map(|names| names()).find(|names| !names.is_empty() && says_more(names)).unwrap_or(found)
}

/// Returns true for "Ada" and "Ada Holm", and for the account "ada.holm".
fn is_short_for(name: &str, full: &str) -> bool {
    let first = full.split(' ').next().unwrap_or_default();
    let account = letters(name);
    let is_account = || letters(full).len() > MIN_ACCOUNT && account.contains(&letters(full));
    !name.contains(' ') && (letters(first) == account || is_account())
}

/// Minimum bytes of a name in an account; a shorter one occurs by chance.
const MIN_ACCOUNT: usize = 6;

/// Name in `twitter:creator`: an unchanged handle (`@jane`), or a name. The account of the site is no author.
fn creator(s: &Sources<'_>) -> Option<String> {
    let named = s.metas.get("twitter:creator").map(text::fold)?;
    let bare = |name: &str| name.trim_start_matches('@').to_ascii_lowercase();
    let site = s.metas.get("twitter:site").map(|site| bare(site.trim()));
    let host = s.page.url.and_then(|url| url.host_str()).unwrap_or_default();
    let mut labels = host.split('.').filter(|label| label.len() >= MIN_LABEL);
    let account = bare(&named);
    let is_account = site.as_ref() == Some(&account) || labels.any(|label| account.contains(label));
    let is_handle = named.strip_prefix('@').is_some_and(|handle| {
        (1..=MAX_HANDLE).contains(&handle.len())
            && handle.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    match (is_account || PLACEHOLDERS.contains(&account.as_str()), is_handle) {
        (true, _) => None,
        (false, true) => Some(named),
        (false, false) => clean(s, &named),
    }
}

/// Minimum bytes of a part of a host's name that identifies an account.
const MIN_LABEL: usize = 4;
/// Handles of unfilled templates.
const PLACEHOLDERS: [&str; 5] = ["handle", "username", "yourhandle", "yourusername", "twitter"];

/// Longer names are no handles (bytes).
const MAX_HANDLE: usize = 15;

/// Author of a thread's first post, or of comments.
fn posted(s: &Sources<'_>, thread: bool) -> Option<String> {
    let authors = near::in_posts(s, Part::PostAuthor, thread);
    // The post may be in a noscript, so it need not be visible; an avatar's initial is no name.
    let mut names = authors.map(|id| text::fold(&s.page.dom.raw_text(id)));
    clean(s, &names.find(|name| name.chars().count() > 1)?)
}

/// Returns true for a first and a last name: two to four words with capitals.
pub(super) fn is_full(name: &str) -> bool {
    let mut words = name.split_whitespace();
    (2..=4).contains(&name.split_whitespace().count())
        && !name.contains(|c: char| c.is_ascii_digit() || c == ':')
        && words.all(|word| !word.starts_with(char::is_lowercase))
}

/// Returns true for the name of the site, the publisher or the host.
fn is_publisher(s: &Sources<'_>, name: &str) -> bool {
    let name = letters(name);
    let host = s.page.url.and_then(|url| url.host_str()).unwrap_or_default();
    let domain = host.rsplit('.').nth(1).map(letters);
    let host = letters(host.trim_start_matches("www."));
    super::site_name(s).is_some_and(|site| letters(&site) == name)
        || s.metas.get("copyright").is_some_and(|owner| letters(owner).contains(&name))
        || name.chars().count() > 3 && host.starts_with(&name)
        || domain.is_some_and(|label| label.len() >= MIN_LABEL && name.starts_with(&label))
}

/// Names in JSON-LD; true marks the name of an organization.
fn from_json(s: &Sources<'_>) -> Vec<(String, bool)> {
    let Some(author) = s.main.and_then(|main| main.get("author").or_else(|| main.get("creator"))) else {
        return Vec::new();
    };
    let list: Vec<&Value> = match author {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    };
    let mut names = Vec::new();
    // Each may need a search of all objects.
    for value in list.into_iter().take(MAX_LISTED) {
        let value = s.json.by_id(&s.nodes, value).unwrap_or(value);
        let org = jsonld::types(value).iter().any(|kind| kind.ends_with("Organization"));
        let name = match value {
            Value::String(text) => Some(text.clone()),
            Value::Object(map) => {
                map.get("name").and_then(jsonld::text).map(str::to_owned).or_else(|| full_name(map))
            }
            _ => None,
        };
        names.extend(
            name.iter().flat_map(|name| split(name)).filter_map(|n| clean(s, &n)).map(|name| (name, org)),
        );
    }
    names
}

/// Given and family name of a person as one name.
fn full_name(person: &serde_json::Map<String, Value>) -> Option<String> {
    let part = |key: &str| person.get(key).and_then(jsonld::text);
    let names: Vec<&str> =
        ["givenName", "additionalName", "familyName"].into_iter().filter_map(part).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Several names in one string.
fn split(text: &str) -> Vec<String> {
    // The URL of a profile is not a name.
    if text.contains("://") {
        return Vec::new();
    }
    // A character reference ends with the sign that separates names.
    let plain = super::title::plain(text).unwrap_or_default();
    plain
        .split([';', '|', '\n', '·', '•'])
        .flat_map(|part| match part.split_once('/') {
            // "dpa/kern" is one agency.
            Some((one, other)) if one.ends_with(' ') || is_full(one.trim()) && is_full(other.trim()) => {
                part.split('/').collect()
            }
            _ => vec![part],
        })
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| match part.split_once(" und ") {
            // "Institute of Forest und Wood" is one name.
            Some((one, other)) if is_full(one) && is_full(other) => vec![one, other],
            _ => vec![part],
        })
        .flat_map(|part| part.split(" & "))
        .flat_map(|part| part.split(", "))
        .filter_map(non_empty)
        .collect()
}

/// Cleans a name for a record; returns none if it is no name.
pub(super) fn clean(s: &Sources<'_>, name: &str) -> Option<String> {
    let folded = text::fold(name);
    let mut name = folded.as_str();
    for prefix in &s.page.rules.boilerplate.author_words {
        if let Some(rest) = bylines::behind(name, prefix) {
            name = rest.trim_start_matches([':', '：', ' ']);
        }
    }
    // "Name on 5 March", "Name5/3/2024": the name ends where the date begins.
    let name = name.split(" on ").next().unwrap_or(name);
    let is_date_word =
        |word: &str| DATE_WORDS.contains(&word) || s.page.rules.dates.is_month(&word.to_lowercase());
    let ends_in_date_word =
        |text: &str| text.trim_end().rsplit_once(' ').is_some_and(|(_, last)| is_date_word(last));
    let name = match name.find(|c: char| c.is_ascii_digit()) {
        // Digits alone at the end belong to a user's name. "2016: 3:42 PM" is a time.
        Some(0) if name.contains(':') || counts(s, name) => return None,
        Some(at)
            if at > 3
                && (ends_in_date_word(&name[..at])
                    || !name[at..].bytes().all(|b| b.is_ascii_alphanumeric())) =>
        {
            &name[..end_of_account(s, name, at).unwrap_or(at)]
        }
        _ => name,
    };
    let mut name = name.trim();
    // "Ada Holm am", "Ada Holm March": the date after it was cut off.
    while let Some((head, last)) = name.rsplit_once(' ')
        && name.len() < folded.len()
        && is_date_word(last)
    {
        name = head.trim_end();
    }
    let name = name
        .trim_matches(|c: char| {
            matches!(c, ',' | '.' | ':' | '-' | '–' | '|' | '●' | '@' | '"' | ' ' | '(' | ')')
        })
        .to_owned();
    // "Jan Koch", "April Ho": the name of a month alone, or with digits after it, is a date.
    let mut parts = name.split([' ', '.']).filter(|part| !part.is_empty());
    let month = parts.next().is_some_and(|word| s.page.rules.dates.is_month(&word.to_lowercase()));
    let is_name =
        |word: &str| word.chars().all(|c| !c.is_ascii_digit()) && word.starts_with(char::is_uppercase);
    if month && !parts.next().is_some_and(is_name) {
        return None;
    }
    let words = name.split(' ').count();
    let lower = name.to_lowercase();
    let words_alone = &s.page.rules.boilerplate.author_words;
    let bad = name.is_empty()
        || words_alone.iter().any(|word| word.trim_end_matches([':', ' ']) == lower)
        || name.chars().count() > 60
        || words > 6
        || name.contains("://")
        || name.contains("www.")
        || name.contains('@')
        || name.contains('.') && !name.contains(' ') && name.matches('.').count() > 1
        || !name.chars().any(char::is_alphabetic)
        || s.page.rules.boilerplate.no_names.contains(&lower);
    (!bad).then_some(name)
}

/// End of the digits at a position of a name, if they end an account before other text. That holds for
/// "Holm13 Member", but not for "Holm5/3/2024" or "Holm5 March".
fn end_of_account(s: &Sources<'_>, name: &str, at: usize) -> Option<usize> {
    let digits = name[at..].bytes().take_while(u8::is_ascii_digit).count();
    let behind = name[at + digits..].strip_prefix(' ')?;
    let next = behind.split(' ').next().unwrap_or_default().to_lowercase();
    let is_date = s.page.rules.dates.is_month(&next) || next.starts_with(|c: char| c.is_ascii_digit());
    (name[..at].ends_with(char::is_alphabetic) && !is_date).then_some(at + digits)
}

/// Returns true for counts such as "5 min read", "20 Dec" and "1 silver badge"; "98 Buck Social" is a name.
fn counts(s: &Sources<'_>, name: &str) -> bool {
    name.split_once(' ').is_some_and(|(number, rest)| {
        let word = rest.split(' ').next().unwrap_or_default();
        let is_unit = word.starts_with(char::is_lowercase) && word != "by";
        number.bytes().all(|b| b.is_ascii_digit())
            && (is_unit || s.page.rules.dates.is_month(&word.to_lowercase()))
    })
}

/// Words between a name and a date.
const DATE_WORDS: [&str; 12] = ["am", "on", "at", "le", "el", "il", "op", "um", "vom", "den", "em", "dnia"];

/// Rank of an element's attributes as marks of an author, best first.
fn author_rank(page: &Page<'_>, id: u32) -> Option<u8> {
    let is = |word: &str, names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    let ranked = |(name, value): (&LocalName, &str)| match *name {
        local_name!("itemprop") => {
            value.split_ascii_whitespace().any(|word| is(word, &["author"])).then_some(0)
        }
        local_name!("rel") => value.split_ascii_whitespace().any(|word| is(word, &["author"])).then_some(1),
        local_name!("class") if may_name_author(value) => {
            let mut words = value.split(|c: char| !c.is_alphanumeric()).map(end_of_camel_case);
            words.any(|word| is(word, &["byline", "author", "authors", "authorname"])).then_some(2)
        }
        local_name!("href") => is_profile(page, value).then_some(3),
        _ => None,
    };
    page.dom.attrs(id).filter_map(ranked).min()
}

/// Ancestors of a link that may mark it as the author.
const MARKED_ABOVE: usize = 2;

/// Returns true if the link, or a close ancestor, is marked as the author.
pub(super) fn is_marked_link(s: &Sources<'_>, id: u32) -> bool {
    let marked = |id: &u32| author_rank(s.page, *id).is_some();
    marked(&id) || s.page.dom.ancestors(id).take(MARKED_ABOVE).any(|up| marked(&up))
}

/// Returns true if the value contains the letters of "author" or "byline" after the first, in any case.
fn may_name_author(value: &str) -> bool {
    value.as_bytes().windows("uthor".len()).any(|part| match part[0] | 0x20 {
        b'u' => part.eq_ignore_ascii_case(b"uthor"),
        b'y' => part.eq_ignore_ascii_case(b"yline"),
        _ => false,
    })
}

/// Last word of a name such as `documentAuthor`; the last two of `postAuthorName`.
fn end_of_camel_case(name: &str) -> &str {
    let starts = |(at, c): &(usize, char)| c.is_uppercase() && name[..*at].ends_with(char::is_lowercase);
    let last = |name: &str| name.char_indices().rfind(starts).map_or(0, |(at, _)| at);
    let at = last(name);
    if name[at..].eq_ignore_ascii_case("name") { &name[last(&name[..at])..] } else { &name[at..] }
}

/// Returns true if a link leads to an author's page: `/author/jane-holm`.
fn is_profile(page: &Page<'_>, href: &str) -> bool {
    let end = href.bytes().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(href.len());
    let mut segments = href[..end].trim_end_matches('/').rsplit('/');
    let words = &page.rules.boilerplate.author_paths;
    let is_word = |part: &str| words.iter().any(|word| part.eq_ignore_ascii_case(word));
    segments.next().is_some_and(|name| !name.is_empty()) && segments.take(2).any(is_word)
}

/// Maximum characters of an element that names only the authors.
const MAX_BYLINE: u32 = 100;

/// Authors in `rel=author`, `itemprop=author`, classes that contain byline or author, and links to an
/// author's page.
fn visible(s: &Sources<'_>, range: Range<u32>) -> Vec<String> {
    let page = s.page;
    let dom = &page.dom;
    let mut best: Option<(u8, u32, Vec<String>)> = None;
    for id in range {
        if page.budget.is_over() {
            break;
        }
        if dom.tag(id) == Tag::Text || !(1..=MAX_BYLINE).contains(&page.amount(id).chars) {
            continue;
        }
        let Some(rank) = author_rank(page, id).filter(|_| page.is_visible(id)) else { continue };
        let goes_on = matches!(&best, Some((r, first, _)) if *r == rank && are_close(page, *first, id));
        let taken = best.as_ref().is_some_and(|(r, ..)| *r <= rank);
        if taken && !goes_on || near::is_elsewhere(page, id) || is_caption(page, id) {
            continue;
        }
        let names = names_in(s, id);
        match &mut best {
            Some((_, _, list)) if goes_on && list.iter().chain(&names).all(|name| is_full(name)) => {
                list.extend(names);
            }
            _ if !goes_on && !names.is_empty() => best = Some((rank, id, names)),
            _ => {}
        }
    }
    best.map(|(.., names)| names).unwrap_or_default()
}

/// Returns true for a byline in a figure or its caption, which names the picture's author.
fn is_caption(page: &Page<'_>, id: u32) -> bool {
    page.dom.ancestors(id).any(|up| matches!(page.dom.tag(up), Tag::Figure | Tag::Figcaption))
}

/// Returns true for two elements within one short element: they name the authors of one text.
fn are_close(page: &Page<'_>, first: u32, next: u32) -> bool {
    let around = page.dom.ancestors(first).find(|up| page.dom.end(*up) > next);
    let class = |id: u32| page.dom.attr(id, &local_name!("class"));
    let is_like = page.dom.tag(first) == page.dom.tag(next) && class(first) == class(next);
    is_like && around.is_some_and(|up| next >= page.dom.end(first) && page.amount(up).chars <= MAX_LIST)
}

/// Maximum characters of a list of authors.
const MAX_LIST: u32 = 160;

/// Names in an element that is marked as the author's.
fn names_in(s: &Sources<'_>, id: u32) -> Vec<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let named = (id..dom.end(id)).find(|down| {
        dom.attr(*down, &local_name!("itemprop")) == Some("name") && page.amount(*down).chars > 0
    });
    let mut names: Vec<String> = Vec::new();
    let mut goes_on = true;
    for phrase in phrases(page, named.unwrap_or(id)) {
        // An office or a date may follow a name; a sign or a word between two names leads to the next one.
        if names.is_empty() || goes_on || is_between(phrase.split(' ').next().unwrap_or_default()) {
            names.extend(split(&phrase).iter().filter_map(|name| clean(s, name)));
            goes_on = is_between(phrase.rsplit(' ').next().unwrap_or_default());
        } else {
            break;
        }
    }
    // Several full names are several authors; other text may follow a single partial name.
    let is_code = |name: &String| !name.contains(' ') && name.starts_with(char::is_lowercase);
    let full = names.iter().all(|name| is_full(name)) || names.iter().all(is_code);
    if full { names } else { names.into_iter().take(1).collect() }
}

/// Returns true for words between two names of a list.
fn is_between(word: &str) -> bool {
    word.ends_with([',', '&', '/', '|'])
        || matches!(word, "and" | "und" | "et" | "y" | "e" | "en" | "og" | "och" | "i")
}

/// Texts of an element, split where two elements meet without a space between them: "Ada Holm" and "2 March"
/// in two blocks or spans.
fn phrases(page: &Page<'_>, id: u32) -> Vec<String> {
    let dom = &page.dom;
    let texts = (id..dom.end(id)).filter(|down| dom.tag(*down) == Tag::Text && page.is_visible(*down));
    let mut out: Vec<String> = Vec::new();
    for text in texts.map(|down| dom.text(down)) {
        let meets = !text.starts_with(char::is_whitespace);
        match out.last_mut() {
            Some(last) if !meets || last.ends_with(char::is_whitespace) => last.push_str(text),
            _ => out.push(text.to_owned()),
        }
    }
    out.iter().filter_map(|text| non_empty(text)).collect()
}
