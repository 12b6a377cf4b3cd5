//! Budget of one page: a deadline, and the bytes of its resolved URLs.
//!
//! Every step is linear in the page, and depth, attributes and nodes are capped; the deadline covers the
//! remaining cases. Extraction holds a thread of a pool and cannot be stopped from outside, so its loops
//! check the budget.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Calls of [`Budget::is_over`] between two clock reads: a read costs about as much as that many calls.
const CALLS_PER_CLOCK_READ: u32 = 64;

/// Bytes that the resolved URLs of any page may add.
const ADDRESSES: usize = 1 << 20;
/// Further bytes per byte of the page: a hundred links of a short page are several times as long with their
/// host.
const ADDRESSES_PER_BYTE: usize = 8;

/// End of a page's time.
#[derive(Clone, Copy, Debug)]
enum End {
    Never,
    At(Instant),
    /// Over after that many clock reads, for tests that stop at every possible point.
    #[cfg(test)]
    After(u32),
}

/// Budget of one page. Once over, it stays over.
#[derive(Debug)]
pub(crate) struct Budget {
    end: End,
    calls_left: Cell<u32>,
    looks: Cell<u32>,
    over: Cell<bool>,
    addresses: Cell<usize>,
}

impl Budget {
    /// Starts a budget for a page of `bytes`.
    pub(crate) fn new(deadline: Option<Duration>, bytes: usize) -> Self {
        let end = deadline.and_then(|time| Instant::now().checked_add(time)).map_or(End::Never, End::At);
        Self::until(end, bytes)
    }

    /// A budget without end.
    pub(crate) fn unlimited() -> Self {
        Self::until(End::Never, usize::MAX / ADDRESSES_PER_BYTE - ADDRESSES)
    }

    /// Creates a budget that is over at that clock read.
    #[cfg(test)]
    pub(crate) fn of_looks(looks: u32, bytes: usize) -> Self {
        Self::until(End::After(looks), bytes)
    }

    const fn until(end: End, bytes: usize) -> Self {
        Self {
            end,
            calls_left: Cell::new(CALLS_PER_CLOCK_READ),
            looks: Cell::new(0),
            over: Cell::new(false),
            addresses: Cell::new(ADDRESSES + bytes.saturating_mul(ADDRESSES_PER_BYTE)),
        }
    }

    /// Returns true if the time was up at the last clock read; reads the clock every [`CALLS_PER_CLOCK_READ`] calls.
    /// For loop heads: a loop that ended early yields no content, since the next [`Budget::check`] ends the page. The
    /// page keeps the links and metadata so far.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        match self.calls_left.get().checked_sub(1) {
            Some(left) => {
                self.calls_left.set(left);
                self.over.get()
            }
            None => self.look(),
        }
    }

    /// Returns `None` if the time is up; for the border of two steps.
    pub(crate) fn check(&self) -> Option<()> {
        (!self.look()).then_some(())
    }

    #[cold]
    fn look(&self) -> bool {
        self.calls_left.set(CALLS_PER_CLOCK_READ);
        self.looks.set(self.looks.get() + 1);
        let over = match self.end {
            End::Never => false,
            End::At(end) => Instant::now() >= end,
            #[cfg(test)]
            End::After(looks) => self.looks.get() >= looks,
        };
        self.over.set(self.over.get() || over);
        self.over.get()
    }

    /// Returns true if the page may have a URL that is `longer` bytes longer than written. A base of some
    /// kilobytes and a hundred thousand short links would make hundreds of megabytes.
    pub(crate) fn allows_growth(&self, longer: usize) -> bool {
        match self.addresses.get().checked_sub(longer) {
            Some(left) => {
                self.addresses.set(left);
                true
            }
            None => {
                self.addresses.set(0);
                false
            }
        }
    }

    /// Some addresses were left out.
    pub(crate) fn ran_out_of_addresses(&self) -> bool {
        self.addresses.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, Options, PageExtractor, trace::Trace};
    use crawl_model::{Extractor, Warning};

    #[test]
    fn expired_budget_stays_expired() {
        let budget = Budget::new(Some(Duration::ZERO), 0);
        assert!(!budget.is_over(), "not yet looked at");
        assert!(budget.check().is_none());
        assert!(budget.is_over() && budget.is_over());
        let none = Budget::new(None, 0);
        assert!((0..1000).all(|_| !none.is_over()) && none.check().is_some());
        let third = Budget::of_looks(3, 0);
        assert!(third.check().is_some() && third.check().is_some() && third.check().is_none());
    }

    /// A page that takes every code path: posts in a noscript, embedded data, tables, links, dates.
    fn page() -> String {
        let posts = "<div class=post><time>3 May 2021</time><p>Some words of a post, and a link: <a href=b>b</a>.</p></div>";
        let table = "<table><tr><th>a<th>b<tr><td>c<td>d</table>";
        let data = "<script type=application/json>{\"cooked\":\"words of a text in data\"}</script>";
        let head = "<title>Title</title><base href=/x/><meta name=author content='Ann Bell'>";
        format!(
            "{head}<h1>Title</h1><p>By Ann Bell</p>{}{table}{data}<noscript>x y</noscript>",
            posts.repeat(40)
        )
    }

    #[test]
    fn page_may_end_at_any_clock_check() {
        let extractor = PageExtractor::new(Options::default()).unwrap();
        let html = page();
        let input = Input::new(html.as_bytes()).with_content_type("text/html");
        let run = |budget: &Budget| {
            extractor.run_within(&input, Trace::default(), budget, &mut crate::site::SiteUse::None).0
        };
        let counted = Budget::new(None, html.len());
        let whole = run(&counted);
        assert!(!whole.content.is_empty() && !whole.warnings.contains(&Warning::DeadlineExceeded));
        let looks = counted.looks.get();
        assert!(looks > 20, "{looks} looks at the clock");
        for at in 1..=looks {
            let cut = run(&Budget::of_looks(at, html.len()));
            assert!(cut.warnings.contains(&Warning::DeadlineExceeded), "at look {at} of {looks}");
            assert!(cut.content.is_empty() && cut.extractor == Extractor::None, "at look {at} of {looks}");
        }
        let same = run(&Budget::of_looks(looks + 1, html.len()));
        assert_eq!(format!("{same:?}"), format!("{whole:?}"));
    }

    #[test]
    fn a_deadline_ends_a_large_page_soon() {
        let html = "<div><p>A paragraph, <b>with</b> <a href=/x>some words</a>.</p></div>".repeat(60_000);
        let options = Options::default().with_deadline(Some(Duration::from_millis(20)));
        let extractor = PageExtractor::new(options).unwrap();
        let started = cpu_time::ThreadTime::now();
        let input = Input::new(html.as_bytes()).with_content_type("text/html");
        let cut = extractor.extract(&input);
        assert!(cut.warnings.contains(&Warning::DeadlineExceeded));
        // Without a deadline a debug build takes seconds for these 4 MB.
        assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    }

    #[test]
    fn url_growth_is_limited() {
        let budget = Budget::new(None, 100);
        assert!(budget.allows_growth(ADDRESSES + 799) && !budget.ran_out_of_addresses());
        assert!(!budget.allows_growth(2) && budget.ran_out_of_addresses());
        assert!(budget.allows_growth(0));
    }
}
