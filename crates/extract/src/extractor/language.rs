//! Language of a text.

use crate::text;
use std::borrow::Cow;

/// Maximum bytes of the content for language identification.
const LANGUAGE_SAMPLE: usize = 2048;

/// Language of a text by its letters, if the identification is reliable.
pub(super) fn detect_language(content: &str) -> Option<String> {
    let sample = prose(content);
    if is_english(&sample) {
        return Some("en".to_owned());
    }
    let sample = own_letters(&sample);
    let info = whatlang::detect(&sample).filter(whatlang::Info::is_reliable)?;
    let code = info.lang().code();
    // whatlang returns ISO 639-3; ISO 639-1 is used if available.
    Some(crawl_model::short_language(code).to_owned())
}

/// Start of a content without code and targets of links, which are of no language.
fn prose(content: &str) -> String {
    let mut out = String::with_capacity(LANGUAGE_SAMPLE);
    let mut rest = content;
    while let Some(at) = memchr::memchr3(b'`', b']', b'<', rest.as_bytes()) {
        push_head(&mut out, &rest[..at]);
        if out.len() >= LANGUAGE_SAMPLE {
            return out;
        }
        rest = behind_markup(&rest[at..]);
        out.push(' ');
    }
    push_head(&mut out, rest);
    out
}

/// Adds the start of a text, up to the length of a sample.
fn push_head(out: &mut String, text: &str) {
    out.push_str(text::head(text, LANGUAGE_SAMPLE - out.len().min(LANGUAGE_SAMPLE)));
}

/// Rest of a text after a leading code, URL or link target. A text that begins with none of them loses one character.
fn behind_markup(text: &str) -> &str {
    let behind = |from: usize, end: u8| {
        let at = memchr::memchr2(end, b'\n', &text.as_bytes()[from..]);
        at.map_or("", |at| &text[from + at + 1..])
    };
    if text.starts_with("](") {
        return behind("](".len(), b')');
    }
    if text.starts_with("<http") {
        return behind(1, b'>');
    }
    let fence = text.bytes().take_while(|byte| *byte == b'`').count();
    if fence == 0 {
        return &text[1..];
    }
    let (fence, code) = text.split_at(fence);
    let end = if fence.len() < BLOCK_FENCE {
        // Code within a line ends in its paragraph.
        memchr::memchr2_iter(b'`', b'\n', code.as_bytes())
            .take_while(|at| !code[*at..].starts_with("\n\n"))
            .find(|at| code[*at..].starts_with(fence))
    } else {
        memchr::memmem::find(code.as_bytes(), fence.as_bytes())
    };
    end.map_or(code, |end| &code[end + fence.len()..])
}

/// Minimum backticks around a block of code.
const BLOCK_FENCE: usize = 3;

/// Function words of English. Texts of other languages in Latin letters have few of these words. In English prose
/// they are a seventh of all words.
const ENGLISH_WORDS: [&str; 10] =
    ["the", "and", "with", "this", "that", "from", "which", "are", "have", "you"];
/// Minimum share of those words in an English text: one in this many.
const ENGLISH_DIVISOR: usize = 14;
/// Minimum number of those words.
const MIN_ENGLISH_WORDS: usize = 6;
/// Maximum share of bytes outside ASCII in an English text: one in this many.
const NON_ASCII_DIVISOR: usize = 32;

/// Returns true for a text with the function words of English. The comparison of trigrams looks up 13,500 trigrams
/// for any length of text. Half of the pages of the web are English, so this test precedes it.
fn is_english(sample: &str) -> bool {
    let ascii = sample.bytes().filter(u8::is_ascii).count();
    if (sample.len() - ascii) * NON_ASCII_DIVISOR > sample.len() {
        return false;
    }
    let (mut words, mut known) = (0, 0);
    for word in sample.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        words += 1;
        let may_be = (3..=5).contains(&word.len());
        known += usize::from(may_be && ENGLISH_WORDS.iter().any(|own| word.eq_ignore_ascii_case(own)));
    }
    known >= MIN_ENGLISH_WORDS && known * ENGLISH_DIVISOR >= words
}

/// Divisor of a text's letters: with a larger part in another script, the language uses that script.
const FOREIGN_SCRIPT_DIVISOR: usize = 5;

/// Sample for language identification: without Latin letters if a fifth of all is of another script. Manuals
/// in any language are full of commands and names in Latin letters.
fn own_letters(sample: &str) -> Cow<'_, str> {
    let is_latin = |c: char| c <= '\u{24f}';
    let (mut latin, mut other) = (0, 0);
    for c in sample.chars().filter(|c| c.is_alphabetic()) {
        if is_latin(c) { latin += 1 } else { other += 1 }
    }
    if latin == 0 || other * FOREIGN_SCRIPT_DIVISOR < latin + other {
        return Cow::Borrowed(sample);
    }
    Cow::Owned(sample.chars().filter(|c| !(c.is_alphabetic() && is_latin(*c))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: &str = "git log git commit git push origin main checkout branch rebase";

    #[test]
    fn code_and_urls_are_excluded_from_language_detection() {
        let url = "https://docs.example.org/which/are/the/and/with/this/that/from/have/you/";
        for (content, text) in [
            (format!("Die [Fähre]({url}) legt ab."), "Die [Fähre  legt ab."),
            (format!("Die Fähre: <{url}>"), "Die Fähre:  "),
            (format!("Mit `{COMMANDS}` dann\n\n```sh\n{COMMANDS}\n```\nzurück"), "Mit   dann\n\n \nzurück"),
            ("ein ` bleibt\n\nund `Code` nicht".to_owned(), "ein   bleibt\n\nund   nicht"),
            ("offen ` a [b] <c".to_owned(), "offen   a [b   c"),
            ("[ohne Ende](https://a.test".to_owned(), "[ohne Ende "),
        ] {
            assert_eq!(prose(&content), text, "{content}");
        }
        let long = prose(&"é".repeat(LANGUAGE_SAMPLE));
        assert_eq!(long.len(), LANGUAGE_SAMPLE);
    }

    #[test]
    fn english_is_recognised_by_function_words() {
        let english =
            "The ferry that leaves the harbour is the one from which you see the island and the reefs.";
        assert!(is_english(english) && !is_english(&english[..40]), "too short");
        for other in [
            "De veerboot die de haven verlaat is die waarvan je het eiland en de riffen kunt zien, met de kust.",
            "Die Fähre, die den Hafen verlässt, ist die, von der man die Insel und die Riffe sieht.",
            &format!("{english} {}", "Die Fähre verlässt den Hafen am Morgen. ".repeat(20)),
            &format!("{english} 渡轮每天早晨离开旧港口"),
        ] {
            assert!(!is_english(other), "{other}");
        }
        assert_eq!(detect_language(english).as_deref(), Some("en"));
    }

    #[test]
    fn commands_and_links_do_not_affect_the_language() {
        let line = format!("[Fähre](https://docs.example.org/{}) `{COMMANDS}` ", COMMANDS.replace(' ', "/"));
        let content = format!("{}Die Fähre legt jeden Morgen ab und kommt am Abend zurück.", line.repeat(30));
        assert_eq!(detect_language(&content).as_deref(), Some("de"));
    }
}
