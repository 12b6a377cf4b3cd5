//! Unmarked lines and signatures that name the author of a page.

use super::{
    Sources,
    authors::{clean, is_full},
    dates, near,
};
use crate::{
    dom::Tag,
    page::Page,
    rules::{Roles, is_label},
    text,
};
use html5ever::local_name;

/// Authors in a line: "By Ada Holm and Ivo Rask on 2 March".
pub(super) fn names(s: &Sources<'_>, line: &str) -> Vec<String> {
    pieces(line).map(|piece| after_word(s, piece, false)).find(|names| !names.is_empty()).unwrap_or_default()
}

fn pieces(line: &str) -> impl Iterator<Item = &str> {
    line.split(['|', '·', '•', '–', '—', '/']).map(str::trim).filter(|piece| !piece.is_empty())
}

/// Names after a word such as "by"; `strong` excludes prepositions, which begin other lines as well.
fn after_word(s: &Sources<'_>, line: &str, strong: bool) -> Vec<String> {
    let mut words = s.page.rules.boilerplate.author_words.all.matches(line);
    let found = words.find(|(word, _)| !strong || is_label(word));
    found.map(|(_, rest)| list(s, rest.trim_start_matches([':', '：', ' ']))).unwrap_or_default()
}

/// Names of a list, up to the first part that is none.
fn list(s: &Sources<'_>, text: &str) -> Vec<String> {
    let Some(text) = text.split(['(', '|']).next() else { return Vec::new() };
    let parts = text.split([',', ';', '&']).flat_map(|part| CONJUNCTIONS.iter().fold(vec![part], split_all));
    let mut names: Vec<String> = Vec::new();
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let name = may_be_name(s, part).then(|| clean(s, part)).flatten();
        match name {
            Some(name) if names.is_empty() || is_full(&name) && names.iter().all(|name| is_full(name)) => {
                names.push(name);
            }
            _ => break,
        }
    }
    names
}

fn split_all<'a>(parts: Vec<&'a str>, word: &&'static str) -> Vec<&'a str> {
    parts.into_iter().flat_map(|part| part.split(*word)).collect()
}

/// Words between the names of a list.
const CONJUNCTIONS: [&str; 6] = [" and ", " und ", " et ", " y ", " og ", " och "];

/// Returns true for at most five words, half of them with a capital or in a script without capitals. A clause
/// is no name.
fn may_be_name(s: &Sources<'_>, text: &str) -> bool {
    let name = text.split(" on ").next().unwrap_or_default();
    // The words of a date after the name do not count.
    let name =
        name.split(|c: char| c.is_ascii_digit()).next().filter(|name| !name.is_empty()).unwrap_or(name);
    let capital = |word: &&str| word.chars().next().is_some_and(|c| c.is_uppercase() || !c.is_lowercase());
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_clause = words.len() > 1
        && s.page.rules.boilerplate.clause_starts.iter().any(|start| words[0].eq_ignore_ascii_case(start));
    !is_clause
        && (1..=5).contains(&words.len())
        && words.iter().filter(|word| capital(word)).count() * 2 >= words.len()
}

/// Full name in a line that has a date and few parts: "21 Jan 2022 // Ada Holm".
pub(super) fn beside_date(s: &Sources<'_>, line: &str) -> Option<String> {
    let rules = &s.page.rules.dates;
    let is_date = |piece: &str| dates::has_digit(piece) && dates::is_bare_date(rules, &piece.to_lowercase());
    if pieces(line).count() > MAX_PARTS || !pieces(line).any(is_date) {
        return None;
    }
    let first = pieces(line).find(|piece| !is_date(piece) && !piece.contains(|c: char| c.is_ascii_digit()));
    clean(s, first?).filter(|name| is_name(s, name))
}

/// Returns true for a full name by its words: no sign of a heading, and no phrase of templates.
fn is_name(s: &Sources<'_>, name: &str) -> bool {
    let lower = name.to_lowercase();
    let rules = &s.page.rules.boilerplate;
    let is_phrase = || {
        rules.call_starts.begin(&lower)
            || rules.end_headings.iter().any(|phrase| lower.starts_with(phrase.as_str()))
    };
    is_full(name) && !name.contains(NO_NAME) && !is_phrase()
}

/// Maximum parts of a line with a date and a name.
const MAX_PARTS: usize = 5;
/// Signs of headings that names do not have.
const NO_NAME: [char; 6] = [':', '?', '!', ',', '&', '+'];

/// Roles of elements in which a line names the author of another text.
const FOREIGN_ROLES: Roles = Roles::COMMENTS
    .and(Roles::RELATED)
    .and(Roles::SIDEBAR)
    .and(Roles::NAVIGATION)
    .and(Roles::OVERLAY)
    .and(Roles::ADVERTISEMENT);

/// Names in a short line that begins with a label ("Author:", "written by"), or in the text after such a
/// label.
pub(super) fn labelled(s: &Sources<'_>) -> Vec<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let labels = &page.rules.boilerplate.author_words.labels;
    let lines = s.short_texts(MIN_LABEL..=MAX_LINE).take_while(|_| !page.budget.is_over());
    let mut found = lines.filter(|id| labels.begin(text::trim_start(dom.text(*id)))).filter_map(|id| {
        let names = after_word(s, &line_of(page, id), true);
        (!names.is_empty() && !near::is_inside_role(page, id, FOREIGN_ROLES)).then_some(names)
    });
    found.next().unwrap_or_default()
}

/// Shorter texts are no label (characters).
const MIN_LABEL: u32 = 4;
/// Maximum characters of a line that names the author.
const MAX_LINE: u32 = 100;

/// Text of the block around a text, if it is short; with the next text if the block is only a label.
fn line_of(page: &Page<'_>, id: u32) -> String {
    let dom = &page.dom;
    let block = dom.ancestors(id).find(|up| dom.tag(*up).is_block());
    // The line begins with the label, so earlier text of the block is left out.
    let end = block.filter(|up| page.amount(*up).chars <= MAX_LINE).map_or(id + 1, |up| dom.end(up));
    let is_text = |id: &u32| dom.tag(*id) == Tag::Text && page.is_visible(*id);
    let mut line = String::new();
    for id in id..end {
        if dom.tag(id) == Tag::Br && !ends_in_colon(&line) {
            break;
        }
        if is_text(&id) {
            line.push_str(dom.text(id));
        }
    }
    if ends_in_colon(&line) {
        let mut behind =
            (end..dom.end(page.body).min(end + MAX_STEPS)).filter(is_text).map(|id| dom.text(id));
        line.push_str(behind.find(|text| !text.trim().is_empty()).unwrap_or_default());
    }
    text::fold(&line)
}

fn ends_in_colon(line: &str) -> bool {
    line.trim_end().ends_with([':', '：'])
}

/// Nodes after a label that are searched for its value.
const MAX_STEPS: u32 = 12;

/// A full name alone in the last paragraph of a text, distinguished by type or position: the signature of
/// blogs and agencies.
pub(super) fn signature(s: &Sources<'_>) -> Option<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let is_prose = |id: u32| dom.tag(id) == Tag::P && page.amount(id).chars >= MIN_PROSE;
    let signs = |id: &u32| {
        (MIN_NAME..=MAX_NAME).contains(&page.chars(*id))
            && (2..=4).contains(&page.amount(*id).words)
            && is_set_apart(page, *id)
            && page.is_visible(*id)
    };
    let mut paragraphs = dom.find_all(page.within_body(), Tag::P).filter(signs);
    paragraphs.find_map(|id| {
        let before = dom.siblings_before(id).find(|id| dom.tag(*id) != Tag::Text);
        let closes = before.is_some_and(is_prose) && !dom.siblings_after(id).any(is_prose);
        let name = closes.then(|| clean(s, &page.visible_text(id)))??;
        (is_name(s, &name) && !near::is_inside_role(page, id, FOREIGN_ROLES)).then_some(name)
    })
}

/// Minimum characters of the paragraph before a signature.
const MIN_PROSE: u32 = 80;
const MIN_NAME: u32 = 6;
/// Longer text is no name (characters).
const MAX_NAME: u32 = 40;

/// Returns true if all text of the paragraph is emphasized or in brackets, or the paragraph is right-aligned.
fn is_set_apart(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let is_emphasis = |down: u32| {
        matches!(dom.tag(down), Tag::Strong | Tag::B | Tag::Em | Tag::I)
            && page.amount(down).chars >= page.amount(id).chars
    };
    let at_right =
        |name| dom.attr(id, &name).is_some_and(|value: &str| value.to_ascii_lowercase().contains("right"));
    (id + 1..dom.end(id)).any(is_emphasis)
        || at_right(local_name!("style"))
        || at_right(local_name!("align"))
        || dom.raw_text(id).trim().starts_with('(')
}
