//! Mark of threads that run asynchronous tasks. Calls that block on a disk or a database must not run there.
//!
//! A runtime sets the mark, and storage checks it. Release builds check nothing.

use std::{cell::Cell, marker::PhantomData};

thread_local! {
    static ASYNC: Cell<bool> = const { Cell::new(false) };
}

/// Mark of the current thread; the earlier mark returns on drop.
#[derive(Debug)]
#[must_use = "the mark ends when it is dropped"]
pub struct AsyncMark {
    earlier: bool,
    /// The mark belongs to its thread.
    not_send: PhantomData<*const ()>,
}

/// Marks the current thread as one that runs asynchronous tasks.
pub fn mark_async() -> AsyncMark {
    AsyncMark { earlier: ASYNC.replace(true), not_send: PhantomData }
}

impl Drop for AsyncMark {
    fn drop(&mut self) {
        ASYNC.set(self.earlier);
    }
}

/// Marks the current thread until it ends.
pub fn mark_async_thread() {
    ASYNC.set(true);
}

/// Checks in debug builds that the current thread may block; `what` names the call.
///
/// # Panics
/// In debug builds, on a thread that runs asynchronous tasks.
pub fn assert_may_block(what: &str) {
    debug_assert!(!ASYNC.get(), "{what} on a thread of asynchronous tasks: call it through `AsyncStore`");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a test on a thread of asynchronous tasks")]
    fn async_thread_must_not_block() {
        let _mark = mark_async();
        assert_may_block("a test");
    }

    #[test]
    fn async_mark_ends_with_its_guard() {
        drop(mark_async());
        assert_may_block("a test");
        let outer = mark_async();
        drop(mark_async());
        assert!(ASYNC.get(), "the outer mark is still there");
        drop(outer);
        assert_may_block("a test");
    }
}
