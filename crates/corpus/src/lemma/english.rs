//! Base forms of English words by WordNet's dictionary, its lists of irregular forms and its suffix rules
//! ("morphy").

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// See `data/english.py`.
const DICTIONARY: &str = include_str!("../../data/english.txt");

const NOUN: u8 = 1;
const VERB: u8 = 2;
const ADJECTIVE: u8 = 4;

/// Suffix and its replacement in the base form, in WordNet's order.
type Rules = &'static [(&'static str, &'static str)];

const NOUN_RULES: Rules = &[
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
];
const VERB_RULES: Rules =
    &[("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")];
const ADJECTIVE_RULES: Rules = &[("er", ""), ("est", ""), ("er", "e"), ("est", "e")];

/// Forms of auxiliary verbs, which WordNet lists only in part.
const AUXILIARIES: [(&str, &str); 13] = [
    ("am", "be"),
    ("are", "be"),
    ("been", "be"),
    ("being", "be"),
    ("did", "do"),
    ("does", "do"),
    ("doing", "do"),
    ("done", "do"),
    ("had", "have"),
    ("has", "have"),
    ("is", "be"),
    ("was", "be"),
    ("were", "be"),
];

/// Function words that look like inflected forms: they are their own base forms. Sorted.
const GRAMMAR: [&str; 22] = [
    "as",
    "during",
    "every",
    "further",
    "her",
    "his",
    "its",
    "less",
    "nothing",
    "other",
    "others",
    "ours",
    "rather",
    "something",
    "theirs",
    "this",
    "thus",
    "unless",
    "us",
    "whether",
    "yes",
    "yours",
];

struct Dictionary {
    bases: FxHashMap<&'static str, u8>,
    irregular: FxHashMap<&'static str, (&'static str, u8)>,
}

static LOADED: LazyLock<Dictionary> = LazyLock::new(|| {
    let mut dictionary = Dictionary { bases: FxHashMap::default(), irregular: FxHashMap::default() };
    for (entry, parts) in DICTIONARY.lines().filter_map(|line| line.split_once(' ')) {
        let parts = parts.bytes().fold(0, |all, b| {
            all | match b {
                b'n' => NOUN,
                b'v' => VERB,
                b'a' => ADJECTIVE,
                _ => 0,
            }
        });
        match entry.split_once('=') {
            None => {
                dictionary.bases.insert(entry, parts);
            }
            // of two bases (`axes`: axe, axis) that of a verb comes first, as below, then the first by the
            // alphabet
            Some((form, base)) => {
                let known =
                    dictionary.irregular.get(form).is_some_and(|(_, p)| p & VERB != 0 || parts & VERB == 0);
                if !known {
                    dictionary.irregular.insert(form, (base, parts));
                }
            }
        }
    }
    dictionary.irregular.extend(AUXILIARIES.map(|(form, base)| (form, (base, VERB))));
    dictionary
});

/// Base form of a lower-case word; the word itself if the dictionary knows none.
///
/// Without a tagger, the first applicable rule decides. The rules are irregular forms of verbs and nouns;
/// `-ing` and `-ed` of verbs; `-s` of nouns, then of verbs; comparison. Dictionary words in `-ss`, `-us` or
/// `-is`, or of three letters, are no plurals (`class`, `gas`). Comparison does not apply to nouns and verbs
/// (`better`, `number`).
pub(super) fn lemma(word: &str) -> &str {
    if word.len() < 2 || !word.is_ascii() || GRAMMAR.binary_search(&word).is_ok() {
        return word;
    }
    let dictionary = &*LOADED;
    let itself = dictionary.bases.get(word).copied().unwrap_or(0);
    if let Some((base, parts)) = dictionary.irregular.get(word)
        && (parts & (NOUN | VERB) != 0 || itself & (NOUN | VERB) == 0)
    {
        return base;
    }
    let by = |part: u8, rules: Rules| dictionary.by_rules(word, part, rules);
    let found = match word.as_bytes().last() {
        Some(b'g' | b'd') if itself & VERB == 0 => by(VERB, VERB_RULES),
        Some(b's') if itself == 0 || may_be_plural(word) => {
            by(NOUN, NOUN_RULES).or_else(|| by(VERB, VERB_RULES))
        }
        Some(b'n') if itself == 0 => by(NOUN, NOUN_RULES),
        Some(b'r' | b't') if itself & (NOUN | VERB) == 0 => by(ADJECTIVE, ADJECTIVE_RULES),
        _ => None,
    };
    found.unwrap_or(word)
}

/// Returns true if a dictionary word with `-s` (`times`) may be the plural of another.
fn may_be_plural(word: &str) -> bool {
    word.len() > 3 && !["ss", "us", "is"].iter().any(|end| word.ends_with(end))
}

impl Dictionary {
    /// The first base form of a part of speech that a rule yields.
    fn by_rules(&self, word: &str, part: u8, rules: Rules) -> Option<&'static str> {
        let mut longer = String::new();
        rules.iter().find_map(|(suffix, instead)| {
            let stem = word.strip_suffix(suffix).filter(|stem| stem.len() > 1)?;
            let base = if instead.is_empty() {
                stem
            } else {
                longer.clear();
                longer.extend([stem, instead]);
                &longer
            };
            let (known, parts) = self.bases.get_key_value(base)?;
            (parts & part != 0).then_some(*known)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_words_reduce_to_their_base_form() {
        assert!(GRAMMAR.is_sorted());
        for (word, base) in [
            ("running", "run"),
            ("houses", "house"),
            ("cities", "city"),
            ("boxes", "box"),
            ("women", "woman"),
            ("was", "be"),
            ("does", "do"),
            ("left", "leave"),
            ("data", "datum"),
            ("news", "news"),
            ("series", "series"),
            ("times", "time"),
            ("class", "class"),
            ("gas", "gas"),
            ("status", "status"),
            ("means", "mean"),
            ("implementing", "implement"),
            ("used", "use"),
            ("goes", "go"),
            ("string", "string"),
            ("king", "king"),
            ("number", "number"),
            ("faster", "fast"),
            ("better", "better"),
            ("this", "this"),
            ("as", "as"),
            ("a", "a"),
            ("utf8", "utf8"),
            ("frobnicates", "frobnicates"),
            ("über", "über"),
        ] {
            assert_eq!(lemma(word), base, "{word}");
        }
    }
}
