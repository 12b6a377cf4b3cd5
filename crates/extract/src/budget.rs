//! What one page may cost: a moment at which its time is up, and the bytes that its addresses may come to.
//!
//! Every step is linear in the page, and depth, attributes and nodes are capped; the deadline is for the page on which
//! that is not enough. Extraction holds a thread of a pool and cannot be stopped from outside, so its loops ask.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Calls of [`Budget::is_over`] between two looks at the clock: a look costs about as much as that many calls.
const PATIENCE: u32 = 64;

/// Bytes by which the resolved addresses of any page may be longer than those that it writes.
const ADDRESSES: usize = 1 << 20;
/// And bytes for each byte of the page: a hundred links of a short page are a few times as long with their host.
const ADDRESSES_PER_BYTE: usize = 8;

/// When a page's time is up.
#[derive(Clone, Copy, Debug)]
enum End {
    Never,
    At(Instant),
    /// After that many looks at the clock, for tests that stop at every place there is.
    #[cfg(test)]
    After(u32),
}

/// The budget of one page. Once it is over it stays so.
#[derive(Debug)]
pub(crate) struct Budget {
    end: End,
    patience: Cell<u32>,
    looks: Cell<u32>,
    over: Cell<bool>,
    addresses: Cell<usize>,
}

impl Budget {
    /// A budget that begins now, for a page of that many bytes.
    pub(crate) fn new(deadline: Option<Duration>, bytes: usize) -> Self {
        let end = deadline.and_then(|time| Instant::now().checked_add(time)).map_or(End::Never, End::At);
        Self::until(end, bytes)
    }

    /// A budget without end.
    pub(crate) fn unlimited() -> Self {
        Self::until(End::Never, usize::MAX / ADDRESSES_PER_BYTE - ADDRESSES)
    }

    /// One that is over at that look at the clock.
    #[cfg(test)]
    pub(crate) fn of_looks(looks: u32, bytes: usize) -> Self {
        Self::until(End::After(looks), bytes)
    }

    const fn until(end: End, bytes: usize) -> Self {
        Self {
            end,
            patience: Cell::new(PATIENCE),
            looks: Cell::new(0),
            over: Cell::new(false),
            addresses: Cell::new(ADDRESSES + bytes.saturating_mul(ADDRESSES_PER_BYTE)),
        }
    }

    /// Whether the time is up, as of the last look at the clock; every so often there is a new one. For the head of a
    /// loop: no content comes of a loop that was left early, since the next [`Budget::go_on`] ends the page; of links and
    /// metadata what it had found by then stays.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        match self.patience.get().checked_sub(1) {
            Some(left) => {
                self.patience.set(left);
                self.over.get()
            }
            None => self.look(),
        }
    }

    /// `None` if the time is up: for the border of two steps.
    pub(crate) fn go_on(&self) -> Option<()> {
        (!self.look()).then_some(())
    }

    #[cold]
    fn look(&self) -> bool {
        self.patience.set(PATIENCE);
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

    /// Whether the page may have an address that is so much longer than it was written. A base of a few kilobytes and a
    /// hundred thousand links of a few bytes would come to hundreds of megabytes.
    pub(crate) fn affords(&self, longer: usize) -> bool {
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
    use crate::{Input, Options, PageExtractor, explain::Trace};
    use crawl_model::{Extractor, Warning};

    #[test]
    fn time_that_is_up_stays_so() {
        let budget = Budget::new(Some(Duration::ZERO), 0);
        assert!(!budget.is_over(), "not yet looked at");
        assert!(budget.go_on().is_none());
        assert!(budget.is_over() && budget.is_over());
        let none = Budget::new(None, 0);
        assert!((0..1000).all(|_| !none.is_over()) && none.go_on().is_some());
        let third = Budget::of_looks(3, 0);
        assert!(third.go_on().is_some() && third.go_on().is_some() && third.go_on().is_none());
    }

    /// A page that takes every way there is: posts in a noscript, embedded data, tables, links, dates.
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
    fn a_page_may_end_at_any_look_at_the_clock() {
        let extractor = PageExtractor::new(Options::default()).unwrap();
        let html = page();
        let input = Input { bytes: html.as_bytes(), url: None, content_type: Some("text/html") };
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
        let options = Options { deadline: Some(Duration::from_millis(20)), ..Options::default() };
        let extractor = PageExtractor::new(options).unwrap();
        let started = cpu_time::ThreadTime::now();
        let input = Input { bytes: html.as_bytes(), url: None, content_type: Some("text/html") };
        let cut = extractor.extract(&input);
        assert!(cut.warnings.contains(&Warning::DeadlineExceeded));
        // Without a deadline a build with debug information takes seconds for these 4 MB.
        assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    }

    #[test]
    fn addresses_run_out() {
        let budget = Budget::new(None, 100);
        assert!(budget.affords(ADDRESSES + 799) && !budget.ran_out_of_addresses());
        assert!(!budget.affords(2) && budget.ran_out_of_addresses());
        assert!(budget.affords(0));
    }
}
