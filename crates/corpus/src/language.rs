//! Language identification of a document by its letters.

/// Maximum characters that are read.
const SAMPLE: usize = 1000;

/// Language of a document.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Language {
    /// ISO 639-1 if there is a code of two letters, else ISO 639-3; `und` if unknown.
    pub code: &'static str,
    /// Confidence of the identification, 0 to 1.
    pub confidence: f64,
}

/// Identifies the language of a cleaned text from its first thousand characters (trigrams and scripts, crate
/// `whatlang`).
#[must_use]
pub fn detect(cleaned: &str) -> Language {
    let sample = cleaned.char_indices().nth(SAMPLE).and_then(|(at, _)| cleaned.get(..at)).unwrap_or(cleaned);
    let sample = sample.replace(crate::NUMBER, " ");
    whatlang::detect(&sample).map_or(Language { code: "und", confidence: 0.0 }, |info| Language {
        code: crawl_model::short_language(info.lang().code()),
        confidence: info.confidence(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each identified language can be requested by its code and its name.
    #[test]
    fn each_language_has_its_code_and_name() {
        for language in whatlang::Lang::all() {
            let code = crawl_model::short_language(language.code());
            for asked in [language.code(), language.eng_name(), language.name()] {
                assert_eq!(crawl_model::language_code(asked), Some(code), "{asked}");
            }
            assert!(crawl_model::is_detected(code));
        }
    }

    #[test]
    fn languages_are_detected() {
        for (text, code) in [
            ("the ferry to the island leaves every morning from the old harbour", "en"),
            ("die fähre zur insel fährt jeden morgen vom alten hafen ab und kommt am abend zurück", "de"),
            ("паром на остров отправляется каждое утро из старой гавани", "ru"),
            ("", "und"),
        ] {
            let found = detect(text);
            assert_eq!(found.code, code, "{text}");
            assert!((0.0..=1.0).contains(&found.confidence));
        }
    }
}
