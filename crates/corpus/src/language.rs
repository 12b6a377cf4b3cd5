//! The language of a document by its letters.

/// Characters that are looked at.
const SAMPLE: usize = 1000;

/// What a document is written in.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Language {
    /// ISO 639-1 where there is a code of two letters, else ISO 639-3; `und` where nothing could be said.
    pub code: &'static str,
    /// 0 to 1, by the identification's own reckoning.
    pub confidence: f64,
}

/// Identifies the language of a cleaned text from its first thousand characters (trigrams and scripts, crate `whatlang`).
#[must_use]
pub fn detect(cleaned: &str) -> Language {
    let sample = cleaned.char_indices().nth(SAMPLE).and_then(|(at, _)| cleaned.get(..at)).unwrap_or(cleaned);
    let sample = sample.replace(crate::NUMBER, " ");
    whatlang::detect(&sample).map_or(Language { code: "und", confidence: 0.0 }, |info| Language {
        code: short_code(info.lang()),
        confidence: info.confidence(),
    })
}

fn short_code(language: whatlang::Lang) -> &'static str {
    let code = language.code();
    TWO_LETTERS.iter().find(|(three, _)| *three == code).map_or(code, |(_, two)| two)
}

/// ISO 639-1 for the languages that `whatlang` knows.
const TWO_LETTERS: [(&str, &str); 69] = [
    ("epo", "eo"),
    ("eng", "en"),
    ("rus", "ru"),
    ("cmn", "zh"),
    ("spa", "es"),
    ("por", "pt"),
    ("ita", "it"),
    ("ben", "bn"),
    ("fra", "fr"),
    ("deu", "de"),
    ("ukr", "uk"),
    ("kat", "ka"),
    ("ara", "ar"),
    ("hin", "hi"),
    ("jpn", "ja"),
    ("heb", "he"),
    ("yid", "yi"),
    ("pol", "pl"),
    ("amh", "am"),
    ("jav", "jv"),
    ("kor", "ko"),
    ("nob", "nb"),
    ("dan", "da"),
    ("swe", "sv"),
    ("fin", "fi"),
    ("tur", "tr"),
    ("nld", "nl"),
    ("hun", "hu"),
    ("ces", "cs"),
    ("ell", "el"),
    ("bul", "bg"),
    ("bel", "be"),
    ("mar", "mr"),
    ("kan", "kn"),
    ("ron", "ro"),
    ("slv", "sl"),
    ("hrv", "hr"),
    ("srp", "sr"),
    ("mkd", "mk"),
    ("lit", "lt"),
    ("lav", "lv"),
    ("est", "et"),
    ("tam", "ta"),
    ("vie", "vi"),
    ("urd", "ur"),
    ("tha", "th"),
    ("guj", "gu"),
    ("uzb", "uz"),
    ("pan", "pa"),
    ("aze", "az"),
    ("ind", "id"),
    ("tel", "te"),
    ("pes", "fa"),
    ("mal", "ml"),
    ("ori", "or"),
    ("mya", "my"),
    ("nep", "ne"),
    ("sin", "si"),
    ("khm", "km"),
    ("tuk", "tk"),
    ("aka", "ak"),
    ("zul", "zu"),
    ("sna", "sn"),
    ("afr", "af"),
    ("lat", "la"),
    ("slk", "sk"),
    ("cat", "ca"),
    ("tgl", "tl"),
    ("hye", "hy"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_apart() {
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
