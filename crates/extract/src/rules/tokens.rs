//! Words of class and id attributes, and what they say about an element.

use rustc_hash::FxHashMap;

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

    /// The roles of a class or id attribute.
    pub(crate) fn roles(&self, names: &str) -> Roles {
        let mut lower = String::with_capacity(names.len() + 8);
        split_words(names, &mut lower);
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
            let first = word.as_bytes().first().and_then(|byte| self.prefixes.get(byte));
            for (prefix, found) in first.into_iter().flatten() {
                if word.starts_with(prefix.as_str()) {
                    roles = roles.and(*found);
                }
            }
            rest = after;
        }
        roles
    }
}

/// Words in lower case, one space between two: split at what is no letter or digit, and before a capital that follows
/// a small letter.
fn split_words(names: &str, out: &mut String) {
    let mut last_lower = false;
    let mut gap = false;
    for c in names.chars() {
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
}
