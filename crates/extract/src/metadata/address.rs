//! Titles that the address of a page repeats.

use url::Url;

/// The name that the last part of an address was made from, if it holds clearly more of its words than the chosen title.
///
/// Programs make the address of a page from its title. Where heading and data disagree, the address names the title.
pub(super) fn better<'a>(url: Option<&Url>, chosen: &str, names: &[&'a str]) -> Option<&'a str> {
    let slug = slug(url?)?;
    let best = names.iter().map(|name| (shared(&slug, name), *name));
    // Among equals the first.
    let (share, name) = best.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (share >= shared(&slug, chosen) + CLEARLY).then_some(name)
}

/// A name holds clearly more words of an address from this share on.
const CLEARLY: f32 = 0.25;
/// An address of fewer words says too little.
const MIN_WORDS: usize = 4;
/// The parts of a path, from its end, that are looked at.
const PARTS: usize = 2;
/// Shorter words count less (characters).
const LONG: usize = 4;

/// The words of the last parts of a path, of the part with the most; without numbers.
fn slug(url: &Url) -> Option<Vec<String>> {
    let parts = url.path_segments()?.rev().filter(|part| !part.is_empty()).take(PARTS);
    let words = |part: &str| -> Vec<String> {
        let part = percent_encoding::percent_decode_str(part).decode_utf8_lossy();
        let name =
            part.rsplit_once('.').filter(|(_, end)| end.len() <= MAX_ENDING).map_or(&*part, |(name, _)| name);
        words(name).filter(|word| !word.bytes().all(|byte| byte.is_ascii_digit())).collect()
    };
    let longest = parts.map(words).reduce(|best, next| if next.len() > best.len() { next } else { best })?;
    (longest.len() >= MIN_WORDS).then_some(longest)
}

/// A longer end behind a full stop is no ending of a file (bytes).
const MAX_ENDING: usize = 5;

/// Share of the words of an address that stand in a name.
fn shared(slug: &[String], name: &str) -> f32 {
    let name: Vec<String> = words(name).collect();
    let weight = |word: &String| if word.chars().count() >= LONG { 1.0 } else { 0.3 };
    let all: f32 = slug.iter().map(weight).sum();
    slug.iter().filter(|word| name.contains(word)).map(weight).sum::<f32>() / all
}

/// The words of a text, as addresses write them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let text: String = text.chars().filter(|c| !matches!(c, '\'' | '’' | '\u{ad}')).collect();
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().flat_map(char::to_lowercase).map(plain).collect::<String>())
        // "für" is "fuer" or "fur": both are one word here.
        .map(|word| DIGRAPHS.iter().fold(word, |word, (two, one)| word.replace(two, one)))
        .collect();
    words.into_iter()
}

const DIGRAPHS: [(&str, &str); 5] = [("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"), ("ss", "s")];

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
    fn the_address_chooses_between_names() {
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
            assert_eq!(better(Some(&url(path)), chosen, &names), want, "{path}");
        }
        assert_eq!(better(None, "No boats from November", &names), None);
    }
}
