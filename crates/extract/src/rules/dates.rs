//! Names and words of dates, from `dates.toml`.

use super::{Prefixes, Roles, TokenTable};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

/// Order of a numeric date that is ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// 5/4 is the fifth of April.
    DayFirst,
    /// 5/4 is the fourth of May, as in the United States.
    MonthFirst,
    /// 5/4 is the fifth of April, and the Croatian names of months come before those of other languages.
    Croatian,
}

/// `dates.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DateFile {
    months: Vec<String>,
    weekdays: Vec<String>,
    published: Vec<String>,
    modified: Vec<String>,
    names: Vec<String>,
    published_words: Prefixes,
    modified_words: Prefixes,
    reviewed_words: Prefixes,
    #[serde(default)]
    croatian_months: FxHashMap<String, i8>,
    #[serde(default)]
    published_sentences: Prefixes,
    #[serde(default)]
    script_keys: Vec<String>,
    #[serde(default)]
    member_words: Prefixes,
    #[serde(default)]
    published_or_modified: Vec<String>,
    #[serde(default)]
    byline_words: Prefixes,
    #[serde(default)]
    published_suffixes: Vec<String>,
}

/// The same, compiled.
#[derive(Debug)]
pub(crate) struct DateRules {
    months: FxHashMap<String, i8>,
    /// Names that mean another month in Croatian than in other languages.
    croatian_months: FxHashMap<String, i8>,
    weekdays: FxHashSet<String>,
    /// Meta names, best first.
    pub(crate) published: Vec<String>,
    /// Meta names, best first.
    pub(crate) modified: Vec<String>,
    /// Words of class and id.
    pub(crate) names: TokenTable,
    pub(crate) published_words: Prefixes,
    pub(crate) modified_words: Prefixes,
    pub(crate) reviewed_words: Prefixes,
    /// Starts of sentences.
    pub(crate) published_sentences: Prefixes,
    /// Keys of data in scripts.
    pub(crate) script_keys: Vec<String>,
    /// Words before the day on which a person joined.
    pub(crate) member_words: Prefixes,
    /// Entries of `published` in which many programs write the date of the last change.
    pub(crate) published_or_modified: Vec<String>,
    /// Starts of lines that name an author and a date.
    pub(crate) byline_words: Prefixes,
    /// Suffixes of meta names after a prefix of the site.
    pub(crate) published_suffixes: Vec<String>,
}

impl DateRules {
    pub(crate) fn compile(file: DateFile) -> Result<Self, (&'static str, String)> {
        if file.months.len() != 12 {
            return Err(("months", format!("has {} entries, not 12", file.months.len())));
        }
        let mut months = FxHashMap::default();
        for (month, names) in (1i8..).zip(&file.months) {
            for name in names.split_whitespace() {
                months.insert(name.to_owned(), month);
            }
        }
        let mut names = TokenTable::default();
        file.names.iter().for_each(|name| names.add(name, Roles::META));
        Ok(Self {
            months,
            croatian_months: file.croatian_months,
            weekdays: file.weekdays.into_iter().collect(),
            published: file.published,
            modified: file.modified,
            names,
            published_words: file.published_words,
            modified_words: file.modified_words,
            reviewed_words: file.reviewed_words,
            published_sentences: file.published_sentences,
            script_keys: file.script_keys,
            member_words: file.member_words,
            published_or_modified: file.published_or_modified,
            byline_words: file.byline_words,
            published_suffixes: file.published_suffixes,
        })
    }
}

impl DateRules {
    /// Returns true for the name or abbreviation of a month, in lower case.
    pub(crate) fn is_month(&self, word: &str) -> bool {
        self.months.contains_key(word)
    }

    /// Number of a month by its name or abbreviation, in lower case.
    pub(crate) fn month(&self, word: &str, order: Order) -> Option<i16> {
        let croatian = (order == Order::Croatian).then(|| self.croatian_months.get(word)).flatten();
        croatian.or_else(|| self.months.get(word)).map(|month| i16::from(*month))
    }

    /// Returns true for the name of a weekday, in lower case.
    pub(crate) fn is_weekday(&self, word: &str) -> bool {
        self.weekdays.contains(word)
    }
}
