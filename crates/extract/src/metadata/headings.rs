//! Headings of a page that may be its title.

use super::{
    Sources, non_empty,
    start_links::leads_up,
    title::{MAX_CUTS, SEPARATORS, is_site, letters, without_site},
};
use crate::{dom::Tag, page::Page, text};
use rustc_hash::FxHashSet;

/// Longer headings are no titles (bytes).
const MAX_HEADING: usize = 250;

/// Maximum headings of level one that are read.
const MAX_HEADINGS: usize = 12;

/// A visible heading of levels one to three.
pub(super) struct Heading {
    pub(super) id: u32,
    pub(super) level: u8,
    pub(super) text: String,
    /// Letters and digits of the text, in lower case.
    pub(super) letters: String,
    pub(super) names_site: bool,
}

/// Visible headings of the first three levels, level one first.
pub(super) fn seen(s: &Sources<'_>) -> Vec<Heading> {
    let dom = &s.page.dom;
    let mut out: Vec<Heading> = Vec::new();
    let of_level = |tag| dom.find_all(s.page.within_body(), tag).filter(|id| s.page.is_visible(*id));
    let first: Vec<u32> = s.page.documentation_titles().into_iter().chain(of_level(Tag::H1)).collect();
    let lower = [(2, of_level(Tag::H2).collect()), (3, of_level(Tag::H3).collect())];
    for (level, all) in [(1, first)].into_iter().chain(lower) {
        let all = all.into_iter().take(MAX_HEADINGS);
        for (id, heading) in all.filter_map(|id| Some((id, non_empty(&s.page.visible_text(id))?))) {
            let text = without_marks(s.page, id, &heading).to_owned();
            if text.len() <= MAX_HEADING && !text.is_empty() {
                let (letters, names_site) = (letters(&text), level == 1 && leads_up(s, id));
                out.push(Heading { id, level, text, letters, names_site });
            }
        }
    }
    out
}

/// Text of a heading without glyphs of icons and marks of links to itself at its ends. A sign that no space and no link
/// separates belongs to the last word ("C#").
pub(crate) fn without_marks<'t>(page: &Page<'_>, id: u32, text: &'t str) -> &'t str {
    let text = text.trim_start_matches("# ").trim_start_matches(is_glyph);
    let text = text.trim_end_matches(|c| is_glyph(c) || c == '¶');
    let is_mark = |link: u32| page.visible_text(link).trim() == "#";
    let is_link = || page.dom.find_all(id..page.dom.end(id), Tag::A).take(MAX_MARKS).any(is_mark);
    if text.ends_with(" #") || text.ends_with('#') && is_link() {
        return text.trim_end_matches(|c| is_glyph(c) || c == '#');
    }
    text
}

/// Maximum links of a heading that are read.
const MAX_MARKS: usize = 8;

/// Returns true for spaces and for the glyphs of fonts with icons, which are in the area for private use.
const fn is_glyph(c: char) -> bool {
    matches!(c, ' ' | '\u{e000}'..='\u{f8ff}')
}

/// The first-level heading that a recognised program writes as the title: the `title` of its entry selects an h1. Other
/// headings of this level are in its frame.
pub(super) fn program_title<'a>(s: &Sources<'_>, seen: &'a [Heading]) -> Option<&'a str> {
    let titles = s.page.documentation_titles();
    let title = titles.into_iter().find(|id| s.page.dom.tag(*id) == Tag::H1)?;
    seen.iter().find(|heading| heading.id == title).map(|heading| heading.text.as_str())
}

/// Headings of level one that are not the site's name.
pub(super) fn headings(s: &Sources<'_>, seen: &[Heading], sites: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for heading in seen.iter().filter(|heading| heading.level == 1 && !heading.names_site) {
        if !is_site(&heading.text, sites, s) && !out.contains(&heading.text) {
            out.push(heading.text.clone());
        }
    }
    out
}

/// The heading that agrees with a name of the page; of several the one most similar to a name.
///
/// `declared`: data other than the title element names the page.
pub(super) fn agreeing<'a>(headings: &'a [String], named: &[String], declared: bool) -> Option<&'a String> {
    let agrees = |heading: &str, name: &str| {
        let share = shared(heading, name);
        // A heading with few common words in both directions belongs to a section or an advertisement.
        share >= CLEAR_AGREEMENT
            || share >= MIN_AGREEMENT && (!declared || shared(name, heading) >= MIN_COVERAGE)
    };
    headings
        .iter()
        .filter(|heading| named.iter().any(|name| agrees(heading, name)))
        // Among equals the first.
        .reduce(|best, next| if mutual_share(named, next) > mutual_share(named, best) { next } else { best })
}

/// Minimum share of a heading's words in a name of the page for an agreement.
const MIN_AGREEMENT: f32 = 0.5;
/// Share from which a heading agrees, however little of the name it covers.
pub(super) const CLEAR_AGREEMENT: f32 = 0.6;
/// Below that, minimum share of a declared name's words in the heading.
const MIN_COVERAGE: f32 = 0.4;

/// A declared name of the page that an element of the heading ends with, or that starts after an element. The
/// rest of the heading is a kicker, a date or a subtitle.
pub(super) fn part_of(
    s: &Sources<'_>,
    heading: &Heading,
    named: &[String],
    sites: &[String],
) -> Option<String> {
    let whole = heading.letters.as_str();
    let is_shorter = |name: &String| {
        let name = letters(name);
        name.len() < whole.len()
            && name.len() >= MIN_PART
            && (whole.starts_with(&name) || whole.ends_with(&name))
    };
    let name = named.iter().map(|name| without_site(name, sites, s, true)).find(is_shorter);
    let name = name.or_else(|| named.iter().find_map(|name| behind_kicker(name, whole)))?;
    is_element(s, heading.id, whole, &letters(&name)).then_some(name)
}

/// The longer part of a name that a separator splits, if the heading shows the shorter part before it.
fn behind_kicker(name: &str, whole: &str) -> Option<String> {
    SEPARATORS.iter().flat_map(|sep| name.match_indices(sep)).take(MAX_CUTS).find_map(|(at, sep)| {
        let (head, tail) = (&name[..at], &name[at + sep.len()..]);
        [(head, tail), (tail, head)].into_iter().find_map(|(kicker, title)| {
            let (front, back) = (letters(kicker), letters(title));
            let is_shown =
                back.len() >= MIN_PART && front.len() < back.len() && format!("{front}{back}") == whole;
            is_shown.then(|| title.trim().to_owned())
        })
    })
}

/// Returns true if the part of the heading begins or ends with the text of an element.
fn is_element(s: &Sources<'_>, heading: u32, whole: &str, part: &str) -> bool {
    let (page, dom) = (s.page, &s.page.dom);
    let mut texts =
        (heading..dom.end(heading)).filter(|id| dom.tag(*id) == Tag::Text && page.is_visible(*id));
    let mut before = String::new();
    texts.any(|id| {
        let starts = whole.ends_with(part) && before.len() == whole.len() - part.len() && !before.is_empty();
        before.push_str(&letters(dom.text(id)));
        starts || whole.starts_with(part) && before.len() == part.len()
    })
}

/// Minimum bytes of a part of a heading that may be the title.
const MIN_PART: usize = 8;

/// Mutual share of words of a heading and the most similar name.
fn mutual_share(named: &[String], heading: &str) -> f32 {
    named.iter().map(|name| shared(heading, name) * shared(name, heading)).fold(0.0, f32::max)
}

/// Maximum bytes of a name that are compared.
pub(super) const MAX_NAME: usize = 4 * MAX_HEADING;

/// Share of the heading's words in the name.
pub(super) fn shared(heading: &str, name: &str) -> f32 {
    share(words(heading), &words(text::head(name, MAX_NAME)).collect())
}

/// Share of words in a name; short words have less weight.
pub(super) fn share(words: impl Iterator<Item = impl AsRef<str>>, name: &FxHashSet<String>) -> f32 {
    let (mut all, mut found) = (0.0, 0.0);
    for word in words {
        let word = word.as_ref();
        let weight = if word.chars().count() >= LONG_WORD { 1.0 } else { 0.3 };
        all += weight;
        if name.contains(word) {
            found += weight;
        }
    }
    if all == 0.0 { 0.0 } else { found / all }
}

/// Shorter words count less (characters).
const LONG_WORD: usize = 4;

pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase)
}
