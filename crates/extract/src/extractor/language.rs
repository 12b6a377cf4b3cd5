//! Language of a text.

use crate::text;
use std::borrow::Cow;

/// Maximum bytes of the content for language identification.
const LANGUAGE_SAMPLE: usize = 2048;

/// Language of a text by its letters, if the identification is reliable.
pub(super) fn detect_language(content: &str) -> Option<String> {
    let sample = text::head(content, LANGUAGE_SAMPLE);
    let sample = own_letters(sample);
    let info = whatlang::detect(&sample).filter(whatlang::Info::is_reliable)?;
    let code = info.lang().code();
    // whatlang returns ISO 639-3; ISO 639-1 is used if available.
    Some(crawl_model::short_language(code).to_owned())
}

/// Divisor of a text's letters: with more than this part in another script, the language is one of that
/// script.
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
