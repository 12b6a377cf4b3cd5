//! Cache of looked-up words: a site uses the same few thousand on all of its pages.

use super::Known;
use rustc_hash::FxHashMap;
use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

/// Maximum words per thread; beyond it the cache is cleared. With [`MAX_WORD`] less than a megabyte.
const MAX_WORDS: usize = 8192;
/// Longer words are not remembered (bytes).
const MAX_WORD: usize = 40;

/// Number of the next table; 0 is no table.
static TABLES: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static MEMO: RefCell<(u64, Words)> = RefCell::default();
}

/// Words of one table.
#[derive(Default)]
pub(super) struct Words(FxHashMap<Box<str>, Known>);

impl Words {
    /// Entry of a word, computed on first use.
    pub(super) fn get(&mut self, word: &str, find: impl FnOnce() -> Known) -> Known {
        if let Some(known) = self.0.get(word) {
            return *known;
        }
        let known = find();
        if word.len() <= MAX_WORD {
            if self.0.len() >= MAX_WORDS {
                self.0.clear();
            }
            self.0.insert(word.into(), known);
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
            words.0.clear();
        }
        use_words(words)
    })
}
