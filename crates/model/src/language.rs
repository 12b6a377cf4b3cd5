//! Codes of languages.

/// ISO 639-1 code for an ISO 639-3 code of a language that detection knows. Other codes are returned
/// unchanged.
#[must_use]
pub fn short_language(code: &str) -> &str {
    TWO_LETTERS.iter().find(|(three, _)| *three == code).map_or(code, |(_, two)| two)
}

/// Languages that a user can request; one per line.
const LANGUAGES: &str = include_str!("languages.tsv");

/// ISO 639-1 code of a requested language. It accepts a code (`en`, `eng`, `ger`), a BCP 47 tag (`en-US`,
/// `zh-Hans`; `_` may replace `-`), and the English or own name (`english`, `Deutsch`). Case does not matter.
/// `und` is the undetermined language.
#[must_use]
pub fn language_code(asked: &str) -> Option<&'static str> {
    let asked = asked.trim().to_lowercase();
    let primary = primary_subtag(&asked);
    if primary == Some("und") {
        return Some("und");
    }
    let rows = || LANGUAGES.lines().skip(1).filter_map(|line| line.split_once('\t'));
    let is_asked = |code: &str, rest: &str| {
        let (codes, names) = rest.split_once('\t').unwrap_or((rest, ""));
        primary.is_some_and(|p| p == code || codes.split(',').any(|other| other == p))
            || names.split('|').any(|name| name.to_lowercase() == asked)
    };
    rows().find(|(code, rest)| is_asked(code, rest)).map(|(code, _)| code)
}

/// Returns true if detection can find the language of an ISO 639-1 code.
#[must_use]
pub fn is_detected(code: &str) -> bool {
    code == "und" || TWO_LETTERS.iter().any(|(_, two)| *two == code)
}

/// Language of a well-formed tag in lower case (RFC 5646 §2.1). Script, region, variants and extensions may
/// follow, in this order.
fn primary_subtag(tag: &str) -> Option<&str> {
    let mut subtags = tag.split(['-', '_']).peekable();
    let primary = subtags.next().filter(|p| matches!(p.len(), 2 | 3) && is_alpha(p))?;
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let variant =
        |s: &str| (5..=8).contains(&s.len()) || s.len() == 4 && s.starts_with(|c: char| c.is_ascii_digit());
    let mut extended = 0;
    while extended < 3 && subtags.next_if(|s| s.len() == 3 && is_alpha(s)).is_some() {
        extended += 1;
    }
    subtags.next_if(|s| s.len() == 4 && is_alpha(s));
    subtags.next_if(|s| s.len() == 2 && is_alpha(s) || s.len() == 3 && digits(s));
    let mut rest = subtags.skip_while(|s| variant(s) && is_alphanumeric(s)).peekable();
    // extensions and private use begin with a single letter or digit and have at least one subtag
    if let Some(singleton) = rest.next() {
        let mut follows = false;
        for subtag in rest {
            follows = subtag.len() > 1 || singleton == "x";
            if !(1..=8).contains(&subtag.len()) || !is_alphanumeric(subtag) {
                return None;
            }
        }
        if singleton.len() != 1 || !is_alphanumeric(singleton) || !follows {
            return None;
        }
    }
    Some(primary)
}

fn is_alpha(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphabetic())
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// ISO 639-1 codes of the languages that `whatlang` knows.
const TWO_LETTERS: [(&str, &str); 70] = [
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
    ("cym", "cy"),
];

/// ISO 639-1 code of a language tag that a page or record declares: `en` for `en-GB`, `EN_us`, `eng` and the
/// list `en, fr`. None if the tag names no known language: `und`, `mul`, `utf-8`, `x-default`.
#[must_use]
pub fn declared_language(tag: &str) -> Option<&'static str> {
    let first = tag.split([',', ';']).next().unwrap_or_default();
    language_code(first).filter(|code| *code != "und")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_letter_codes_are_shortened_if_possible() {
        assert_eq!(
            [short_language("deu"), short_language("cmn"), short_language("xyz")],
            ["de", "zh", "xyz"]
        );
    }

    #[test]
    fn a_declared_tag_gives_a_code_of_two_letters() {
        for (tag, code) in [
            ("en", Some("en")),
            ("EN_us", Some("en")),
            ("zh-Hant-TW", Some("zh")),
            ("eng", Some("en")),
            ("ger", Some("de")),
            ("iw", Some("he")),
            (" en , fr", Some("en")),
            ("pes", Some("fa")),
            ("is", Some("is")),
            ("utf-8", None),
            ("x-default", None),
            ("und", None),
            ("mul", None),
            ("xx", None),
            ("English", Some("en")),
            ("", None),
        ] {
            assert_eq!(declared_language(tag), code, "{tag}");
        }
    }

    #[test]
    fn languages_are_understood_by_code_tag_and_name() {
        for (asked, code) in [
            ("en", "en"),
            ("EN", "en"),
            (" en-US ", "en"),
            ("en_gb", "en"),
            ("eng", "en"),
            ("english", "en"),
            ("Deutsch", "de"),
            ("ger", "de"),
            ("de-CH-1996", "de"),
            ("zh-Hans-CN", "zh"),
            ("zh-cmn-Hant", "zh"),
            ("es-419", "es"),
            ("sr-Latn-RS-u-co-phonebk", "sr"),
            ("en-x-a", "en"),
            ("Français", "fr"),
            ("no", "nb"),
            ("iw", "he"),
            ("und", "und"),
            ("basque", "eu"),
        ] {
            assert_eq!(language_code(asked), Some(code), "{asked}");
        }
        for asked in [
            "",
            "xx",
            "xyz",
            "all",
            "auto",
            "klingon",
            "en-",
            "en--US",
            "en-USA1-x",
            "en-u",
            "e",
            "en US",
            "en-US.UTF-8",
            "1",
        ] {
            assert_eq!(language_code(asked), None, "{asked}");
        }
    }

    #[test]
    fn each_detected_language_can_be_requested() {
        for (three, two) in TWO_LETTERS {
            assert_eq!([language_code(three), language_code(two)], [Some(two), Some(two)]);
            assert!(is_detected(two));
        }
        assert!(!is_detected("eu") && is_detected("und"));
    }

    #[test]
    fn language_codes_and_names_are_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for line in LANGUAGES.lines().skip(1) {
            let (codes, names) = line.rsplit_once('\t').unwrap();
            let names = codes.split(['\t', ',']).chain(names.split('|')).map(str::to_lowercase);
            for name in names.collect::<std::collections::BTreeSet<_>>() {
                assert!(seen.insert(name.clone()), "{name}");
            }
        }
    }
}
