//! Authors of a page.

mod marked;
mod names;

use super::{
    Sources, bylines, jsonld, near,
    sources::{Field, Rule},
    title::letters,
};
use crate::{rules::Part, text};
pub(super) use marked::is_marked_link;
use marked::visible;
use names::split;
pub(super) use names::{clean, is_full};
use serde_json::Value;
use std::cell::OnceCell;

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
const NODES_AROUND_HEADING: u32 = 250;
const MAX_AUTHORS: usize = 20;
/// Maximum authors of a list that are read. Those of several places are compared with each other.
pub(super) const MAX_LISTED: usize = 5 * MAX_AUTHORS;

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
        let to = s.page.dom.end(at).saturating_add(NODES_AROUND_HEADING).min(s.page.dom.end(s.page.body));
        visible(s, at.saturating_sub(NODES_AROUND_HEADING).max(s.page.body)..to)
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
    let names = fuller_names(names, &[&|| shown.clone(), &in_lines]);
    distinct(names)
}

/// Authors in the first meta name that has any.
fn from_metas(s: &Sources<'_>) -> Option<Vec<String>> {
    METAS.iter().find_map(|name| {
        let names = s.metas.all(name).flat_map(split).filter_map(|n| clean(s, &n));
        let names: Vec<String> = names.take(MAX_LISTED).collect();
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
fn fuller_names(found: Vec<String>, shown: &[&dyn Fn() -> Vec<String>]) -> Vec<String> {
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
        let parts = name.iter().flat_map(|name| split(name)).filter_map(|n| clean(s, &n));
        names.extend(parts.map(|name| (name, org)).take(MAX_LISTED - names.len()));
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
