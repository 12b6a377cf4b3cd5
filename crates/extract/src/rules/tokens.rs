//! Words of class and id attributes, and what they say about an element.

use rustc_hash::{FxHashMap, FxHashSet};

/// What an element's names say about it: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles(u32);

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $bit:literal),+ $(,)?) => {
        impl Roles {
            $($(#[$doc])* pub(crate) const $name: Self = Self(1 << $bit);)+

            /// The names of the roles in the set, in lower case.
            pub(crate) fn names(self) -> Vec<String> {
                let all = [$((Self::$name, stringify!($name))),+];
                all.iter().filter(|(role, _)| self.has(*role)).map(|(_, name)| name.to_ascii_lowercase()).collect()
            }
        }
    };
}

roles! {
    /// Menus and other ways through the site.
    NAVIGATION = 0,
    /// The bottom of the page.
    FOOTER = 1,
    /// The top of the page.
    HEADER = 2,
    /// Beside the content.
    SIDEBAR = 3,
    /// Readers' comments.
    COMMENTS = 4,
    /// Advertisement.
    ADVERTISEMENT = 5,
    /// More of the site.
    RELATED = 6,
    /// Sharing and following.
    SOCIAL = 7,
    /// Requests for an address.
    NEWSLETTER = 8,
    /// Things laid over the page.
    OVERLAY = 9,
    /// About the author.
    AUTHOR = 10,
    /// Dates, categories, counters.
    META = 11,
    /// Logins, baskets, searches.
    FORM = 12,
    /// The content itself.
    CONTENT = 13,
    /// Names of a consent banner: a candidate for the keyword sweep.
    CONSENT = 14,
    /// Parts of a page builder, or boxes beside the content.
    WIDGET = 15,
    /// Parts of the content that open on a click: hidden, but content.
    FOLDED = 16,
    /// Below a picture: what it shows and who made it.
    CAPTION = 17,
    /// The first paragraph, set apart.
    LEAD = 18,
    /// Asks for something: boilerplate in articles.
    CALL = 19,
}

impl Roles {
    /// No role.
    pub(crate) const NONE: Self = Self(0);

    /// Both sets.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set less the roles of another.
    #[must_use]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Each role of the set by itself.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        (0..32).map(|bit| Self(1 << bit)).filter(move |role| self.has(*role))
    }

    /// At least one role in common.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Entries of one word or several, and their roles.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenTable {
    words: FxHashMap<String, Entry>,
    /// Beginnings of words, by their first byte.
    prefixes: FxHashMap<u8, Vec<(String, Roles)>>,
    compounds: Compounds,
    /// Words after which the rest of a name says nothing about the element.
    qualifiers: FxHashSet<String>,
}

/// What a word says by itself, and what it begins.
#[derive(Clone, Debug, Default)]
struct Entry {
    roles: Roles,
    /// The words that have to follow.
    phrases: Vec<(Vec<String>, Roles)>,
}

impl TokenTable {
    /// Adds an entry: words separated by spaces, or one word with a star at its end.
    pub(crate) fn add(&mut self, entry: &str, roles: Roles) {
        let mut words = entry.split_whitespace().map(str::to_lowercase);
        let Some(first) = words.next() else { return };
        let rest: Vec<String> = words.collect();
        if let Some(prefix) = first.strip_suffix('*') {
            // A star alone begins every word, which no entry means.
            if let Some(byte) = prefix.bytes().next() {
                self.prefixes.entry(byte).or_default().push((prefix.to_owned(), roles));
            }
        } else if rest.is_empty() {
            let entry = self.words.entry(first).or_default();
            entry.roles = entry.roles.and(roles);
        } else {
            self.words.entry(first).or_default().phrases.push((rest, roles));
        }
    }

    /// Has compounds split into the words of the table and these others, which have no role.
    pub(crate) fn split_compounds(&mut self, others: &[String]) {
        let alone = self.words.iter().filter(|(_, entry)| entry.roles != Roles::NONE).map(|(word, _)| word);
        self.compounds = Compounds::of(alone.chain(others));
    }

    /// Adds a word after which the rest of a name says nothing about the element: `no-sidebar`, `has-sidebar`.
    pub(crate) fn add_qualifier(&mut self, word: &str) {
        self.qualifiers.insert(word.to_lowercase());
    }

    /// The roles of a class or id attribute.
    pub(crate) fn roles(&self, names: &str) -> Roles {
        let mut lower = String::with_capacity(names.len() + 8);
        for name in names.split_whitespace() {
            self.write_words(name, &mut lower);
        }
        let mut roles = Roles::NONE;
        let mut rest = lower.as_str();
        while !rest.is_empty() {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            if let Some(entry) = self.words.get(word) {
                roles = roles.and(entry.roles);
                for (tail, found) in &entry.phrases {
                    let mut words = after.split(' ');
                    if tail.iter().all(|t| words.next() == Some(t)) {
                        roles = roles.and(*found);
                    }
                }
            }
            roles = roles.and(self.begun(word));
            rest = after;
        }
        roles
    }

    /// The roles of the entries with a star that begin the word.
    fn begun(&self, word: &str) -> Roles {
        let first = word.as_bytes().first().and_then(|byte| self.prefixes.get(byte));
        let begin = first.into_iter().flatten().filter(|(prefix, _)| word.starts_with(prefix.as_str()));
        begin.fold(Roles::NONE, |all, (_, roles)| all.and(*roles))
    }

    /// Writes the words of a name up to a qualifier, a space in front of each; compounds as the words that they consist of.
    fn write_words(&self, name: &str, out: &mut String) {
        let start = out.len();
        split_words(name, out);
        let mut at = start;
        while at < out.len() {
            let end = out[at..].find(' ').map_or(out.len(), |space| at + space);
            let word = &out[at..end];
            if self.qualifiers.contains(word) {
                out.truncate(at.saturating_sub(1).max(start));
                return;
            }
            let known = self.words.contains_key(word) || self.begun(word) != Roles::NONE;
            match if known { None } else { self.compounds.split(word) } {
                Some(parts) => {
                    out.replace_range(at..end, &parts);
                    at += parts.len() + 1;
                }
                None => at = end + 1,
            }
        }
    }
}

/// Words that compounds are split into: `mainfooter` is `main` and `footer`.
#[derive(Clone, Debug, Default)]
struct Compounds {
    /// By their first two bytes, longest first.
    words: FxHashMap<[u8; 2], Vec<String>>,
}

/// Bytes of a compound: a shorter name is a word by itself, a longer one is generated.
const COMPOUND: std::ops::RangeInclusive<usize> = 5..=40;

impl Compounds {
    fn of<'a>(all: impl Iterator<Item = &'a String>) -> Self {
        let mut words: FxHashMap<[u8; 2], Vec<String>> = FxHashMap::default();
        for word in all.filter(|word| word.is_ascii()) {
            if let [first, second, ..] = *word.as_bytes() {
                words.entry([first, second]).or_default().push(word.to_lowercase());
            }
        }
        for list in words.values_mut() {
            list.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
            list.dedup();
        }
        Self { words }
    }

    /// The words that a name consists of, separated by spaces: the whole name, longest words first. Digits may stand behind
    /// a word. `None` if part of the name is no known word, or if there are not two words.
    fn split(&self, name: &str) -> Option<String> {
        if !COMPOUND.contains(&name.len()) || !name.is_ascii() {
            return None;
        }
        let mut dead = 0u64;
        let mut parts = Vec::new();
        let whole = self.parts(name, 0, &mut dead, &mut parts);
        let words = parts.iter().filter(|part| !part.starts_with(|c: char| c.is_ascii_digit())).count();
        (whole && words > 1).then(|| parts.join(" "))
    }

    /// Splits the rest of a name from a byte on. `dead` holds the bytes from which that fails.
    fn parts<'a>(&'a self, name: &'a str, at: usize, dead: &mut u64, parts: &mut Vec<&'a str>) -> bool {
        let rest = &name[at..];
        if rest.is_empty() {
            return true;
        }
        if *dead & (1 << at) != 0 {
            return false;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && at > 0 {
            parts.push(&rest[..digits]);
            if self.parts(name, at + digits, dead, parts) {
                return true;
            }
            parts.pop();
        }
        if let [first, second, ..] = *rest.as_bytes() {
            for word in
                self.words.get(&[first, second]).into_iter().flatten().filter(|word| rest.starts_with(*word))
            {
                parts.push(word);
                if self.parts(name, at + word.len(), dead, parts) {
                    return true;
                }
                parts.pop();
            }
        }
        *dead |= 1 << at;
        false
    }
}

/// Adds words in lower case, a space in front of each but the first of all: split at what is no letter or digit, and before
/// a capital that follows a small letter.
fn split_words(name: &str, out: &mut String) {
    let mut last_lower = false;
    let mut gap = !out.is_empty();
    for c in name.chars() {
        if !c.is_alphanumeric() {
            gap = !out.is_empty();
            last_lower = false;
            continue;
        }
        if gap || last_lower && c.is_uppercase() {
            out.push(' ');
            gap = false;
        }
        last_lower = c.is_lowercase();
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else {
            out.extend(c.to_lowercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_phrases_and_prefixes() {
        let mut table = TokenTable::default();
        table.add("nav*", Roles::NAVIGATION);
        table.add("ad", Roles::ADVERTISEMENT);
        table.add("post content", Roles::CONTENT);
        for (names, roles) in [
            ("top-navbar", Roles::NAVIGATION),
            ("siteNav", Roles::NAVIGATION),
            ("ad_slot", Roles::ADVERTISEMENT),
            ("header download", Roles::NONE),
            ("td_postContent x", Roles::CONTENT),
            ("post my content", Roles::NONE),
        ] {
            assert_eq!(table.roles(names), roles, "{names}");
        }
    }

    #[test]
    fn compounds_are_split_at_known_words_alone() {
        let rules = crate::rules::Rules::embedded().unwrap();
        let roles = |name| rules.tokens.roles(name);
        for (name, role) in [
            ("mainfooter", Roles::FOOTER),
            ("socialmedia", Roles::SOCIAL),
            ("cookienotice", Roles::OVERLAY),
            ("modalwindow", Roles::OVERLAY),
            ("topnavigation", Roles::NAVIGATION),
            ("footerlinks", Roles::FOOTER),
            ("adsbox", Roles::ADVERTISEMENT),
            ("loginmodal", Roles::OVERLAY),
            ("navbarcollapse", Roles::NAVIGATION),
            ("MAINFOOTER2", Roles::FOOTER),
            ("x leftsidebar", Roles::SIDEBAR),
        ] {
            assert!(roles(name).has(role), "{name}");
            assert!(!roles(name).has(Roles::CONTENT), "{name}");
        }
        for name in [
            "xsidebary",
            "nodesponsor",
            "no-sidebar",
            "noSidebar",
            "page-no-sidebar",
            "has-sidebar",
            "shareholder",
            "footnote",
            "football",
            "download",
            "railway",
            "commentary",
            "loads",
            "additem2x",
            "header",
            "maintext",
            "address",
        ] {
            assert_eq!(roles(name), Roles::NONE, "{name}");
        }
        // A qualifier speaks of the name that it stands in alone.
        assert!(roles("no-sidebar footer").has(Roles::FOOTER));
    }

    #[test]
    fn a_name_of_one_repeated_word_costs_no_more_than_its_length() {
        let mut table = TokenTable::default();
        ["aa", "aaa", "aaaa"].iter().for_each(|word| table.add(word, Roles::FOOTER));
        table.split_compounds(&[]);
        assert_eq!(table.roles(&format!("{}b", "a".repeat(39))), Roles::NONE);
        assert_eq!(table.roles(&"a".repeat(40)), Roles::FOOTER);
    }
}
