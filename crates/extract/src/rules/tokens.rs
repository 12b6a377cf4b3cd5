//! Words of class and id attributes, and the roles that they give an element.

mod compounds;
mod memo;
mod split;

use super::Roles;
use compounds::{Compounds, Index};
use rustc_hash::{FxHashMap, FxHasher};
use split::Split;
use std::hash::Hasher;

/// Entries of one or several words, and their roles.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenTable {
    /// Position of each word's entry.
    words: FxHashMap<String, u32>,
    entries: Vec<Entry>,
    prefixes: Index<Roles>,
    compounds: Compounds,
    /// Classes that hide an element.
    hidden: Vec<String>,
    /// Values of classes that show an element on some screen width.
    shown: Vec<String>,
    /// Number of the cache of words; 0 while entries are added.
    memo: u64,
}

/// Names of screen widths in Bootstrap, Tailwind and Foundation.
const WIDTHS: [&str; 9] = ["xs", "sm", "md", "lg", "xl", "2xl", "xxl", "medium", "large"];

/// Roles of a word alone, and of names that begin with it.
#[derive(Clone, Debug, Default)]
struct Entry {
    roles: Roles,
    /// True if the rest of a name after the word is irrelevant.
    is_qualifier: bool,
    /// Words that must follow.
    phrases: Vec<(Vec<String>, Roles)>,
}

impl TokenTable {
    /// Adds an entry: words separated by spaces, or one word with a final star.
    pub(crate) fn add(&mut self, entry: &str, roles: Roles) {
        let mut words = entry.split_whitespace().map(str::to_lowercase);
        let Some(first) = words.next() else { return };
        let rest: Vec<String> = words.collect();
        if let Some(prefix) = first.strip_suffix('*') {
            // A star alone would match every word, which no entry means.
            if !prefix.is_empty() {
                self.prefixes.add(prefix, roles);
            }
        } else if rest.is_empty() {
            let entry = self.entry(first);
            entry.roles = entry.roles.and(roles);
        } else {
            self.entry(first).phrases.push((rest, roles));
        }
    }

    /// Entry of a word, which is added if missing.
    fn entry(&mut self, word: String) -> &mut Entry {
        let next = self.entries.len();
        // a table has some thousand entries
        let at = *self.words.entry(word).or_insert(next as u32) as usize;
        if at == next {
            self.entries.push(Entry::default());
        }
        &mut self.entries[at]
    }

    /// Enables the splitting of compounds into the words of the table and these others, which have no role.
    pub(crate) fn split_compounds(&mut self, others: &[String]) {
        let has_roles = |at: u32| self.entries[at as usize].roles != Roles::NONE;
        let alone = self.words.iter().filter(|(_, at)| has_roles(**at)).map(|(word, _)| word);
        self.compounds = Compounds::of(alone.chain(others));
    }

    /// Adds classes that hide an element on every screen, and the values by which another class shows it on
    /// some width.
    pub(crate) fn hidden_names(&mut self, names: &[String], shown: &[String]) {
        self.hidden.extend_from_slice(names);
        self.shown.extend_from_slice(shown);
    }

    /// Returns true if a class hides the element and no other class shows it on some screen width: `md:flex`,
    /// `d-lg-block`, `visible-xs`.
    fn hides(&self, classes: &str) -> bool {
        let is_hidden = |name: &str| self.hidden.iter().any(|hidden| hidden == name);
        let shows = |name: &str| {
            let mut parts = name.split([':', '-', '@']);
            let value = parts.next_back().unwrap_or_default();
            let is_value = |part: &str| self.shown.iter().any(|shown| shown == part);
            let on_some_width = parts.clone().any(|part| WIDTHS.contains(&part));
            on_some_width && is_value(value) || WIDTHS.contains(&value) && parts.any(is_value)
        };
        let mut classes = classes.split_ascii_whitespace();
        classes.clone().any(is_hidden) && !classes.any(shows)
    }

    /// Adds a word after which the rest of a name is irrelevant: `no-sidebar`, `has-sidebar`.
    pub(crate) fn add_qualifier(&mut self, word: &str) {
        self.entry(word.to_lowercase()).is_qualifier = true;
    }

    /// Completes the table: from here on its words are cached.
    pub(crate) fn complete(&mut self) {
        self.memo = memo::new_table();
    }

    /// The roles of a class attribute.
    pub(crate) fn roles(&self, classes: &str) -> Roles {
        let hidden = if self.hides(classes) { Roles::UNSEEN } else { Roles::NONE };
        hidden.and(self.roles_of_id(classes))
    }

    /// Roles of an id, which hides no element.
    pub(crate) fn roles_of_id(&self, names: &str) -> Roles {
        if self.memo == 0 {
            return self.found(names, &mut memo::Words::default());
        }
        memo::with_words(self.memo, |memo| match memo.roles(names) {
            Some(known) => known,
            None => {
                let found = self.found(names, memo);
                memo.set_roles(names, found);
                found
            }
        })
    }

    fn found(&self, names: &str, memo: &mut memo::Words) -> Roles {
        let Spare { mut split, mut words } = std::mem::take(&mut memo.spare);
        split.read(names);
        words.clear();
        self.add_words(&split, memo, &mut words);
        let mut roles = Roles::NONE;
        for (at, word) in words.iter().enumerate() {
            roles = roles.and(word.begun);
            let Some(entry) = word.entry.map(|at| &self.entries[at as usize]) else { continue };
            roles = roles.and(entry.roles);
            for (tail, found) in &entry.phrases {
                let mut after = words[at + 1..].iter().map(|word| split.part(word.start, word.end));
                if tail.iter().all(|word| after.next().is_some_and(|next| next == word)) {
                    roles = roles.and(*found);
                }
            }
        }
        if names.len() <= MAX_SPARE {
            memo.spare = Spare { split, words };
        }
        roles
    }

    /// Adds the words of names for the table: compounds in parts, without the parts after a qualifier.
    fn add_words(&self, split: &Split, memo: &mut memo::Words, words: &mut Vec<Word>) {
        let mut qualified = None;
        for (text, start, name) in split.words() {
            if qualified == Some(name) {
                continue;
            }
            let known = memo.get(text, || self.look_up(text));
            if known.entry.is_some_and(|at| self.entries[at as usize].is_qualifier) {
                qualified = Some(name);
            } else if known.cuts == 0 {
                words.push(Word::new(start, text, known));
            } else {
                let mut start = start;
                for part in compounds::parts(text, known.cuts) {
                    words.push(Word::new(start, part, memo.get(part, || self.look_up(part))));
                    start += part.len() as u32;
                }
            }
        }
    }

    fn look_up(&self, word: &str) -> Known {
        let entry = self.words.get(word).copied();
        let begun = self.prefixes.beginning(word).fold(Roles::NONE, |all, (_, roles)| all.and(*roles));
        let is_known = entry.is_some() || begun != Roles::NONE;
        Known { entry, begun, cuts: if is_known { 0 } else { self.compounds.split(word) } }
    }
}

/// Cache of the roles of a page's attributes, with one slot per hash: colliding attributes are looked up
/// again.
#[derive(Default)]
pub(crate) struct KnownNames<'a>(Vec<(&'a str, Roles)>);

/// Slots of the cache.
const SLOTS: usize = 1024;

impl<'a> KnownNames<'a> {
    /// [`TokenTable::roles`] through the cache; always pass the same table.
    pub(crate) fn roles(&mut self, table: &TokenTable, names: &'a str) -> Roles {
        if self.0.is_empty() {
            self.0 = vec![("", Roles::NONE); SLOTS];
        }
        let mut hasher = FxHasher::default();
        hasher.write(names.as_bytes());
        let slot = &mut self.0[(hasher.finish() % SLOTS as u64) as usize];
        if slot.0 != names {
            *slot = (names, table.roles(names));
        }
        slot.1
    }
}

/// A word of a name with its entry.
struct Word {
    /// Start and end in the split names.
    start: u32,
    end: u32,
    /// The place of its entry.
    entry: Option<u32>,
    /// Roles of the entries with a star that begin it.
    begun: Roles,
}

impl Word {
    fn new(start: u32, text: &str, known: Known) -> Self {
        Self { start, end: start + text.len() as u32, entry: known.entry, begun: known.begun }
    }
}

/// Memory for the words of names, which each page has some hundred of.
#[derive(Default)]
struct Spare {
    split: Split,
    words: Vec<Word>,
}

/// Maximum bytes of names whose memory is kept.
const MAX_SPARE: usize = 4096;

/// Result of looking up a word in a table.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The place of its entry.
    entry: Option<u32>,
    /// Roles of the entries with a star that begin it.
    begun: Roles,
    /// Ends of its parts as bits if it is a compound; else 0.
    cuts: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_table_matches_words_phrases_and_prefixes() {
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
    fn classes_that_hide_on_every_screen_are_recognised() {
        let rules = crate::rules::Rules::embedded().unwrap();
        let is_hidden = |classes: &str| rules.tokens.roles(classes).has(Roles::UNSEEN);
        for classes in
            ["hidden", "text-sm hidden", "hidden hover:underline", "btn-sm d-none", "hidden invisible"]
        {
            assert!(is_hidden(classes), "{classes}");
        }
        for classes in [
            "hidden md:block",
            "d-none d-lg-inline-block",
            "hidden visible-xs",
            "hidden lg:inline-flex",
            "text-sm",
        ] {
            assert!(!is_hidden(classes), "{classes}");
        }
        assert!(!rules.tokens.roles_of_id("hidden").has(Roles::UNSEEN));
    }

    #[test]
    fn cached_roles_belong_to_one_token_table() {
        let table = |roles: Roles| {
            let mut table = TokenTable::default();
            table.add("slot", roles);
            table.complete();
            table
        };
        let (first, second) = (table(Roles::ADVERTISEMENT), table(Roles::NAVIGATION));
        for _ in 0..2 {
            assert_eq!(KnownNames::default().roles(&first, "top slot"), Roles::ADVERTISEMENT);
            assert_eq!(KnownNames::default().roles(&second, "top slot"), Roles::NAVIGATION);
        }
        // more names than are remembered
        for n in 0..10_000 {
            let name = format!("slot n{n}");
            assert_eq!(KnownNames::default().roles(&first, &name), Roles::ADVERTISEMENT);
        }
    }

    #[test]
    fn compound_names_split_only_at_known_words() {
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
        // A qualifier only affects the name that contains it.
        assert!(roles("no-sidebar footer").has(Roles::FOOTER));
    }

    #[test]
    fn name_of_repeated_words_splits_in_linear_time() {
        let mut table = TokenTable::default();
        ["aa", "aaa", "aaaa"].iter().for_each(|word| table.add(word, Roles::FOOTER));
        table.split_compounds(&[]);
        assert_eq!(table.roles(&format!("{}b", "a".repeat(39))), Roles::NONE);
        assert_eq!(table.roles(&"a".repeat(40)), Roles::FOOTER);
    }
}
