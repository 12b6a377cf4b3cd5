//! Titles that the URL of a page repeats.

use super::{
    headings::{MAX_NAME, share},
    title::letters,
};
use crate::text;
use std::borrow::Cow;
use url::Url;

/// Words of a path's last parts, of the part with the most; without numbers.
pub(super) struct Slug(Vec<String>);

impl Slug {
    /// Words of a URL that has enough of them.
    pub(super) fn of(url: &Url) -> Option<Self> {
        let parts = url.path_segments()?.rev().filter(|part| !part.is_empty()).take(MAX_PATH_PARTS);
        let longest = parts
            .map(words_of_part)
            .reduce(|best, next| if next.len() > best.len() { next } else { best })?;
        (longest.len() >= MIN_WORDS).then_some(Self(longest))
    }

    /// The name with the most words of the URL, if it has clearly more than the chosen title.
    ///
    /// Programs derive the URL of a page from its title. So if heading and data disagree, the URL decides.
    pub(super) fn better<'a>(&self, chosen: &str, names: &[&'a str]) -> Option<&'a str> {
        let best = names.iter().map(|name| (self.share_in(name), *name));
        // Among equals the first.
        let (share, name) = best.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        (share >= self.share_in(chosen) + MIN_LEAD).then_some(name)
    }

    /// Share of the URL's words in a name.
    fn share_in(&self, name: &str) -> f32 {
        share(self.0.iter(), &words(text::head(name, MAX_NAME)).collect())
    }
}

/// Letters and digits of the last part of a path that is not empty, in lower case; `None` without one.
pub(super) fn last_part(url: &Url) -> Option<String> {
    let part = url.path_segments()?.rfind(|part| !part.is_empty())?;
    Some(letters(without_ending(&decoded(part)))).filter(|part| !part.is_empty())
}

fn decoded(part: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(part).decode_utf8_lossy()
}

/// A part of a path without its file extension.
fn without_ending(part: &str) -> &str {
    part.rsplit_once('.').filter(|(_, end)| end.len() <= MAX_ENDING).map_or(part, |(name, _)| name)
}

/// Words of a part of a path, without numbers and file extension.
fn words_of_part(part: &str) -> Vec<String> {
    let part = decoded(part);
    let name = without_ending(&part);
    let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
    words(text::head(name, MAX_NAME)).filter(|word| !is_number(word)).take(MAX_WORDS).collect()
}

/// Minimum lead of a name in its share of the URL's words.
const MIN_LEAD: f32 = 0.25;
/// Minimum words of a URL that is used.
const MIN_WORDS: usize = 4;
/// Maximum words of a URL that are compared.
const MAX_WORDS: usize = 40;
/// Parts of a path, from its end, that are used.
const MAX_PATH_PARTS: usize = 2;
/// Maximum bytes of a file extension.
const MAX_ENDING: usize = 5;

/// Words of a text, as URLs write them.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && !is_in_word(c)).map(folded).filter(|word| !word.is_empty())
}

/// Returns true for a sign that URLs drop from a word.
const fn is_in_word(c: char) -> bool {
    matches!(c, '\'' | '’' | '\u{ad}')
}

/// Folds a word to lower case without accents. "für" is "fuer" or "fur": both become one word here.
fn folded(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut last = None;
    for c in word.chars().filter(|c| !is_in_word(*c)).flat_map(char::to_lowercase).map(plain) {
        if last.is_none_or(|last| !DIGRAPHS.contains(&(last, c))) {
            out.push(c);
            last = Some(c);
        }
    }
    out
}

/// Pairs of letters that are written for the first of them.
const DIGRAPHS: [(char, char); 5] = [('a', 'e'), ('o', 'e'), ('u', 'e'), ('a', 'a'), ('s', 's')];

/// A lower-case letter without its accents.
const fn plain(c: char) -> char {
    match c {
        'à'..='æ' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ğ' | 'ģ' => 'g',
        'ì'..='ï' | 'ī' | 'į' | 'ı' => 'i',
        'ķ' => 'k',
        'ł' | 'ļ' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ő' | 'œ' => 'o',
        'ř' => 'r',
        'ß' | 'ś' | 'š' | 'ş' | 'ș' => 's',
        'ť' | 'ţ' | 'ț' => 't',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_path_selects_among_titles() {
        let url = |path: &str| Url::parse(&format!("https://aldermere.example{path}")).unwrap();
        let names = ["Ferry stops for the winter", "Söskende går på ski för nöje"];
        for (path, chosen, want) in [
            ("/news/ferry-stops-for-the-winter-4711.html", "No boats from November", Some(names[0])),
            ("/news/ferry-stops-for-the-winter/", "No boats from November", Some(names[0])),
            ("/a/soeskende-gaar-paa-ski-for-noeje", "På ski", Some(names[1])),
            ("/news/ferry-stops-for-the-winter", "The ferry stops for winter", None),
            ("/ferry-stops", "No boats from November", None),
            ("/?p=4711", "No boats from November", None),
            ("/news/autumn-storms-close-the-harbour", "No boats from November", None),
        ] {
            let better = Slug::of(&url(path)).and_then(|slug| slug.better(chosen, &names));
            assert_eq!(better, want, "{path}");
        }
    }
}
