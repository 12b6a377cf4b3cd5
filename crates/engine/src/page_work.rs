//! The work of a stage on one page. If a page makes it panic, this page fails and the run continues.

use crate::{
    cpu::{Panicked, words_of},
    failed_page::failed_page,
    finished::Finished,
    soft404,
};
use crawl_model::{CrawlRequest, PageHistory, Stage};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the work of a stage on a page. The caller handles partial changes after a panic.
///
/// # Errors
/// When the work panicked.
pub fn guarded<T>(stage: Stage, request: &CrawlRequest, work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        injected::perhaps_panic(stage, request.url.as_str());
        work()
    }));
    outcome.map_err(|panic| {
        let panicked = Panicked(words_of(&*panic));
        tracing::error!(url = %request.url, ?stage, %panicked, "a page cannot be processed");
        panicked
    })
}

/// The end of a page whose work panicked: a line of the error log.
#[must_use]
pub fn ended(stage: Stage, request: &CrawlRequest, status: Option<u16>, panicked: &Panicked) -> Finished {
    if soft404::is_probe(request) {
        return soft404::end(request, status);
    }
    let message = format!("the page cannot be processed, please report it: {panicked}");
    failed(stage, request, "internal", status, message)
}

/// The end of a page that failed behind the network.
#[must_use]
pub fn failed(
    stage: Stage,
    request: &CrawlRequest,
    kind: &'static str,
    status: Option<u16>,
    message: String,
) -> Finished {
    let failed = failed_page(request, stage, kind, status, message);
    let history = PageHistory { status, ..PageHistory::default() };
    Finished::Failed(Box::new(failed), Box::new(history))
}

/// Panics for tests: the work of a stage on pages whose URL has a part.
#[cfg(test)]
pub mod injected {
    use crawl_model::Stage;
    use std::cell::RefCell;

    thread_local! {
        static PART: RefCell<Option<(Stage, String)>> = const { RefCell::new(None) };
    }

    /// Makes the work of `stage` panic on this thread for URLs with `part`.
    pub fn panic_for(stage: Stage, part: &str) {
        PART.set(Some((stage, part.to_owned())));
    }

    pub(super) fn perhaps_panic(stage: Stage, url: &str) {
        let hit = PART
            .with_borrow(|part| part.as_ref().is_some_and(|(at, part)| *at == stage && url.contains(part)));
        assert!(!hit, "injected panic");
    }
}
