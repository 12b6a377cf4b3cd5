//! Names of persons in texts.

use super::super::{Sources, non_empty, title::plain};
use crate::{rules::behind, text};

/// Returns true for a first and a last name: two to four words with capitals.
pub(in crate::metadata) fn is_full(name: &str) -> bool {
    let mut words = name.split_whitespace();
    (2..=4).contains(&name.split_whitespace().count())
        && !name.contains(|c: char| c.is_ascii_digit() || c == ':')
        && words.all(|word| !word.starts_with(char::is_lowercase))
}

/// Several names in one string.
pub(super) fn split(text: &str) -> Vec<String> {
    // The URL of a profile is not a name.
    if text.contains("://") {
        return Vec::new();
    }
    // A character reference ends with the sign that separates names.
    let plain = plain(text).unwrap_or_default();
    let parts: Vec<String> = plain
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
        .collect();
    with_remarks(&parts)
}

/// Joins the parts of a remark in brackets: "Ada Holm (Reuters, Oslo)".
fn with_remarks(parts: &[String]) -> Vec<String> {
    let is_open = |part: &str| part.rfind('(').is_some_and(|open| !part[open..].contains(')'));
    let mut out = Vec::with_capacity(parts.len());
    let mut rest = parts;
    while let [first, behind @ ..] = rest {
        let closing = behind.iter().take(MAX_REMARK).position(|part| part.contains(')'));
        let len = closing.filter(|_| is_open(first)).map_or(1, |at| at + 2);
        let (name, next) = rest.split_at(len);
        out.push(name.join(", "));
        rest = next;
    }
    out
}

/// Maximum further parts of a remark.
const MAX_REMARK: usize = 4;

/// Cleans a name for a record; returns none if it is no name.
pub(in crate::metadata) fn clean(s: &Sources<'_>, name: &str) -> Option<String> {
    let folded = text::fold(text::head(name, MAX_TEXT));
    let mut name = folded.as_str();
    for prefix in s.page.rules.boilerplate.author_words.all.iter() {
        if let Some(rest) = behind(name, prefix) {
            name = rest.trim_start_matches([':', '：', ' ']);
        }
    }
    // "Name on 5 March", "Name5/3/2024": the name ends where the date begins.
    let name = name.split(" on ").next().unwrap_or(name);
    let is_date_word = |word: &str| begins_date(s, word);
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
        && is_date_word(last.trim_end_matches(':'))
    {
        name = head.trim_end();
    }
    // The account behind a name.
    let name = without_edges(behind_label(s, name)).split(" <").next().unwrap_or_default().to_owned();
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
    let words_alone = &s.page.rules.boilerplate.author_words.all;
    let bad = name.is_empty()
        || words_alone.iter().any(|word| word.trim_end_matches([':', ' ']) == lower)
        || name.chars().count() > 60
        || words > 6
        || name.contains("://")
        || name.contains("www.")
        || name.contains('@')
        || name.contains('.') && !name.contains(' ') && name.matches('.').count() > 1
        || !name.chars().any(char::is_alphabetic)
        || is_code(&name)
        || s.page.rules.boilerplate.author_paths.candidates(&lower).any(|word| lower == *word)
        || s.page.rules.boilerplate.no_names.contains(&lower);
    (!bad).then_some(name)
}

/// Bytes of a text in which a name stands; the steps take more than linear time.
const MAX_TEXT: usize = 500;

/// The name without signs around it. A remark in brackets after the name ("Ada Holm (hol)") stays if it is whole, and
/// goes if the split of a list cut it.
fn without_edges(name: &str) -> &str {
    let start = name.len() - name.trim_start_matches(is_edge).len();
    let bare = name.trim_matches(is_edge);
    let end = start + bare.len();
    match bare.rfind('(') {
        Some(open) if !bare[open..].contains(')') => match name[end..].starts_with(')') {
            true => &name[start..=end],
            false => bare[..open].trim_end(),
        },
        _ => bare,
    }
}

/// The full name behind the label of a text: "Text and interview: Ada Holm". Pictures have other authors.
fn behind_label<'a>(s: &Sources<'_>, name: &'a str) -> &'a str {
    let Some((label, behind)) = name.split_once(": ") else { return name };
    let lower = label.to_lowercase();
    let is_text = |word: &str| s.page.rules.boilerplate.text_words.iter().any(|text| text == word);
    let is_label = lower.split(' ').count() <= MAX_LABEL && lower.split(' ').any(is_text);
    if is_label && is_full(behind.trim()) { behind.trim() } else { name }
}

/// Maximum words of a label in front of a name.
const MAX_LABEL: usize = 3;
/// Returns true for signs around a name.
const fn is_edge(c: char) -> bool {
    matches!(c, ',' | '.' | ':' | '-' | '–' | '—' | '|' | '●' | '@' | '"' | ' ' | '(' | ')' | '<' | '>')
}

/// Words of unfilled fields for a name.
const FIELD_WORDS: [&str; 7] = ["family", "given", "first", "last", "name", "your", "author"];

/// Returns true for code, an unfilled field ("[Family Given]"), and a heading with its number ("2.5. Reporters").
fn is_code(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or_default();
    // "50. Ada Holm" is a rank.
    let is_number = first.matches('.').count() > 1 && first.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_field = || name.to_lowercase().split([' ', '[', ']']).any(|word| FIELD_WORDS.contains(&word));
    name.contains(['=', '{', '}', '\\']) || name.starts_with('[') && is_field() || is_number
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

/// Returns true for a word between a name and a date, the label of a date, and a month.
fn begins_date(s: &Sources<'_>, word: &str) -> bool {
    let lower = word.to_lowercase();
    DATE_WORDS.contains(&word)
        || s.page.rules.boilerplate.date_labels.contains(&lower)
        || s.page.rules.dates.is_month(&lower)
}

/// Words between a name and a date.
const DATE_WORDS: [&str; 12] = ["am", "on", "at", "le", "el", "il", "op", "um", "vom", "den", "em", "dnia"];
