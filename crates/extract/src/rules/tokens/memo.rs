//! Roles of names that earlier pages had: a site says the same few thousand on all of its pages.

use super::Roles;
use rustc_hash::FxHashMap;
use std::{
    cell::RefCell,
    sync::atomic::{AtomicU64, Ordering},
};

/// Names that a thread remembers; at more it begins anew. With [`MAX_NAME`] less than a megabyte.
const MAX_NAMES: usize = 4096;
/// Longer names are not remembered (bytes).
const MAX_NAME: usize = 128;

/// Which table a memory belongs to. The first is none.
static TABLES: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static MEMO: RefCell<Memo> = RefCell::default();
}

#[derive(Default)]
struct Memo {
    table: u64,
    roles: FxHashMap<Box<str>, Roles>,
}

/// A number that no other table of the process has.
pub(super) fn new_table() -> u64 {
    TABLES.fetch_add(1, Ordering::Relaxed)
}

/// The roles of names in a table, which are found once a thread.
pub(super) fn roles(table: u64, names: &str, find: impl FnOnce() -> Roles) -> Roles {
    if table == 0 || names.len() > MAX_NAME {
        return find();
    }
    MEMO.with_borrow_mut(|memo| {
        if memo.table != table || memo.roles.len() >= MAX_NAMES {
            memo.table = table;
            memo.roles.clear();
        }
        if let Some(roles) = memo.roles.get(names) {
            return *roles;
        }
        let roles = find();
        memo.roles.insert(names.into(), roles);
        roles
    })
}
