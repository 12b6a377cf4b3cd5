//! Results of the visits to a URL, and their update after another visit.

use crawl_model::{Before, Outcome, PageHistory, Visits};

/// Results of the visits to a URL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visited {
    /// Results of the last visit.
    pub(crate) history: PageHistory,
    /// Time at which the hashed body was fetched.
    pub(crate) read_at: Option<i64>,
    /// Time of the last visit that found the page.
    pub(crate) seen_at: Option<i64>,
    /// Number of visits and changes.
    pub(crate) visits: Visits,
}

impl Visited {
    /// State of a page for its next visit; none for a URL that was no page.
    pub(crate) fn before(&self) -> Option<Before> {
        let PageHistory { content_hash, text_hash, body_hash, rules, strategy, status, .. } = self.history;
        let (read_at_ms, seen_at_ms) = (self.read_at, self.seen_at);
        let content_hash = content_hash?;
        Some(Before { content_hash, text_hash, body_hash, rules, strategy, status, read_at_ms, seen_at_ms })
    }

    /// Returns true if times and numbers of visits follow from a first visit at the time of the last one.
    pub(crate) fn is_first_visit(&self) -> bool {
        let at = self.history.fetched_at_ms;
        let read_at = at.filter(|_| self.history.content_hash.is_some());
        let visits = Visits { first_ms: at, changed_ms: at, visits: 0, changes: 0 };
        (self.read_at, self.seen_at) == (read_at, read_at) && self.visits == visits
    }

    /// Adds the results of a visit; one without a time made no request and does not count.
    pub(crate) fn learn(&mut self, outcome: Outcome, history: &PageHistory) {
        let at = history.fetched_at_ms;
        let seen = history.content_hash.is_some();
        let changed = outcome == Outcome::Gone || (seen && outcome == Outcome::Record);
        if at.is_some() {
            self.count(at, changed);
        }
        if outcome == Outcome::Gone {
            self.history = PageHistory {
                status: history.status,
                sitemap_lastmod: self.history.sitemap_lastmod.take(),
                fetched_at_ms: at,
                rules: self.history.rules,
                strategy: self.history.strategy,
                ..PageHistory::default()
            };
            return;
        }
        if seen || outcome == Outcome::Unchanged {
            self.seen_at = at;
        }
        if seen {
            self.read_at = at;
            self.history = history.clone();
            return;
        }
        let known = &mut self.history;
        known.status = history.status.or(known.status);
        known.fetched_at_ms = at.or(known.fetched_at_ms);
        known.etag = history.etag.clone().or_else(|| known.etag.take());
        known.last_modified = history.last_modified.clone().or_else(|| known.last_modified.take());
        known.sitemap_lastmod = history.sitemap_lastmod.clone().or_else(|| known.sitemap_lastmod.take());
        known.text_hash = history.text_hash.or(known.text_hash);
        known.body_hash = history.body_hash.or(known.body_hash);
        known.rules = history.rules.or(known.rules);
        known.strategy = history.strategy.or(known.strategy);
    }

    /// Counts a visit. Stored times after the visit come from a wrong clock, and are replaced by its time.
    fn count(&mut self, at: Option<i64>, changed: bool) {
        let visits = &mut self.visits;
        if visits.first_ms.is_some() {
            visits.visits += 1;
            visits.changes += u32::from(changed);
        }
        let is_later = |time: Option<i64>| time.zip(at).is_some_and(|(time, at)| time > at);
        if changed || visits.changed_ms.is_none() || is_later(visits.changed_ms) {
            visits.changed_ms = at;
        }
        if visits.first_ms.is_none() || is_later(visits.first_ms) {
            visits.first_ms = at;
        }
    }
}
