//! Codes of languages.

/// The ISO 639-1 code for an ISO 639-3 one, of the languages that detection knows; another code stays as it is.
#[must_use]
pub fn short_language(code: &str) -> &str {
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

/// The ISO 639-1 code of a language tag that a page or record declares: `en` of `en-GB`, of `EN_us`, of `eng` and of the list
/// `en, fr`. None where the tag names no language that is known here: `und`, `mul`, `utf-8`, `x-default`.
#[must_use]
pub fn declared_language(tag: &str) -> Option<&'static str> {
    let first = tag.split([',', ';']).next().unwrap_or_default().trim();
    let code = first.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    let pair =
        |all: &'static [(&str, &str)]| all.iter().find(|(other, _)| *other == code).map(|(_, short)| *short);
    let renamed = || pair(&RENAMED).or_else(|| pair(&TWO_LETTERS).filter(|short| short.len() == 2));
    renamed().or_else(|| ISO_639_1.split(' ').find(|known| *known == code))
}

/// Codes of ISO 639-1.
const ISO_639_1: &str = "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee \
    el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv \
    ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl \
    nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta \
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

/// Other codes of languages in ISO 639-1: withdrawn ones, bibliographic ones, and ISO 639-3 codes that detection never gives.
const RENAMED: [(&str, &str); 41] = [
    ("iw", "he"),
    ("in", "id"),
    ("ji", "yi"),
    ("mo", "ro"),
    ("sh", "sr"),
    ("fil", "tl"),
    ("alb", "sq"),
    ("arm", "hy"),
    ("baq", "eu"),
    ("bur", "my"),
    ("chi", "zh"),
    ("zho", "zh"),
    ("cze", "cs"),
    ("dut", "nl"),
    ("fre", "fr"),
    ("geo", "ka"),
    ("ger", "de"),
    ("gre", "el"),
    ("ice", "is"),
    ("mac", "mk"),
    ("may", "ms"),
    ("per", "fa"),
    ("fas", "fa"),
    ("rum", "ro"),
    ("slo", "sk"),
    ("wel", "cy"),
    ("bos", "bs"),
    ("bre", "br"),
    ("cym", "cy"),
    ("eus", "eu"),
    ("gle", "ga"),
    ("glg", "gl"),
    ("hau", "ha"),
    ("isl", "is"),
    ("kur", "ku"),
    ("msa", "ms"),
    ("nno", "nn"),
    ("nor", "no"),
    ("sqi", "sq"),
    ("swa", "sw"),
    ("yor", "yo"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_shortened_where_there_is_a_short_one() {
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
            ("english", None),
            ("", None),
        ] {
            assert_eq!(declared_language(tag), code, "{tag}");
        }
    }
}
