//! Cache of looked-up words and of the roles of whole names: a site uses the same few thousand on all of its pages.

use super::{Known, Roles, Spare};
use rustc_hash::FxHashMap;
use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

/// Maximum words per thread; beyond it they are forgotten. With names and [`MAX_WORD`] less than 1.5 megabytes.
const MAX_WORDS: usize = 8192;
/// Maximum names per thread; beyond it they are forgotten.
const MAX_NAMES: usize = 4096;
/// Longer words and names are not remembered (bytes).
const MAX_WORD: usize = 40;

/// Number of the next table; 0 is no table.
static TABLES: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static MEMO: RefCell<(u64, Words)> = RefCell::default();
}

/// Words of one table, and the roles of whole names.
#[derive(Default)]
pub(super) struct Words {
    words: FxHashMap<Box<str>, Known>,
    names: FxHashMap<Box<str>, Roles>,
    /// Memory for the words of the next names.
    pub(super) spare: Spare,
}

impl Words {
    /// Roles of a name, if they are known.
    pub(super) fn roles(&self, name: &str) -> Option<Roles> {
        self.names.get(name).copied()
    }

    pub(super) fn set_roles(&mut self, name: &str, roles: Roles) {
        if name.len() <= MAX_WORD {
            if self.names.len() >= MAX_NAMES {
                self.names.clear();
            }
            self.names.insert(name.into(), roles);
        }
    }

    /// Entry of a word, computed on first use.
    pub(super) fn get(&mut self, word: &str, find: impl FnOnce() -> Known) -> Known {
        if let Some(known) = self.words.get(word) {
            return *known;
        }
        let known = find();
        if word.len() <= MAX_WORD {
            if self.words.len() >= MAX_WORDS {
                self.words.clear();
            }
            self.words.insert(word.into(), known);
        }
        known
    }
}

/// A number that no other table of the process has.
pub(super) fn new_table() -> u64 {
    TABLES.fetch_add(1, Ordering::Relaxed)
}

/// Calls a function with this thread's cached words of a table.
pub(super) fn with_words<R>(table: u64, use_words: impl FnOnce(&mut Words) -> R) -> R {
    if table == 0 {
        return use_words(&mut Words::default());
    }
    MEMO.with_borrow_mut(|(of, words)| {
        if *of != table {
            *of = table;
            *words = Words::default();
        }
        use_words(words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memo_of_words_and_names_is_bounded() {
        with_words(new_table(), |words| {
            for n in 0..3 * MAX_WORDS {
                let name = format!("name-{n}");
                words.set_roles(&name, Roles::FOOTER);
                words.get(&name, || Known { entry: None, begun: Roles::NONE, cuts: 0 });
                assert_eq!(words.roles(&name), Some(Roles::FOOTER));
                assert!(words.names.len() <= MAX_NAMES && words.words.len() <= MAX_WORDS);
            }
            let long = "n".repeat(MAX_WORD + 1);
            words.set_roles(&long, Roles::FOOTER);
            assert_eq!(words.roles(&long), None, "a long name is not remembered");
        });
    }
}
