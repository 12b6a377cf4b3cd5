//! The contract of the storage traits: every test runs on every backend.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod alike;
mod frontier;
mod random;
mod recrawl;
mod rounds;
mod strategies;
mod texts;

#[path = "../support/postgres.rs"]
mod server;

use alike::*;
use crawl_model::{
    CachedRobots, ContentHash, CrawlRequest, Discovery, DomainStore, Enqueued, Frontier, FrontierCounts,
    HostBound, HostBounds, HostKey, HostLoad, Lane, LeaseRef, LeaseToken, NewUrl, Origin, Outcome,
    OutputMark, PageHistory, ReadyHost, Refused, RequestId, RunStore, Settlement, Strategy, TextIndex,
    UrlKey,
};
use crawl_store::{MemoryStore, PgStore, SqliteStore};
use frontier::*;
use random::*;
use recrawl::*;
use rounds::*;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use strategies::*;
use texts::*;
use url::Url;

/// Traits that the suite needs of a backend.
trait Store: Frontier + DomainStore + RunStore + TextIndex {
    fn history_of(&self, url: &str) -> Option<PageHistory>;
    fn set(&self, project: &str, source_group: Option<&str>);
}

impl Store for MemoryStore {
    fn history_of(&self, url: &str) -> Option<PageHistory> {
        self.history(UrlKey::of(url)).unwrap()
    }
    fn set(&self, project: &str, source_group: Option<&str>) {
        self.set_project(project, source_group).unwrap();
    }
}

impl Store for SqliteStore {
    fn history_of(&self, url: &str) -> Option<PageHistory> {
        self.history(UrlKey::of(url)).unwrap()
    }
    fn set(&self, project: &str, source_group: Option<&str>) {
        self.set_project(project, source_group).unwrap();
    }
}

impl Store for PgStore {
    fn history_of(&self, url: &str) -> Option<PageHistory> {
        self.history(UrlKey::of(url)).unwrap()
    }
    fn set(&self, project: &str, source_group: Option<&str>) {
        self.set_project(project, source_group).unwrap();
    }
}

macro_rules! conformance {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[test] fn $name() { super::$name(&super::MemoryStore::new()); })+
        }
        mod sqlite {
            $(#[test] fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(&super::SqliteStore::open(dir.path()).unwrap());
            })+
        }
        /// Every test on one server, each in a schema of its own.
        #[test]
        #[ignore = "needs PostgreSQL"]
        fn postgres_keeps_the_contract() {
            let server = server::Server::start();
            let tests: &[(&str, fn(&PgStore))] = &[$((stringify!($name), $name)),+];
            let failed: Vec<&str> = tests
                .iter()
                .filter(|(name, test)| {
                    let store = PgStore::open(&server.options(&name[..name.len().min(48)], "w")).unwrap();
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&store))).is_err()
                })
                .map(|(name, _)| *name)
                .collect();
            assert_eq!(failed, [""; 0], "{} of {} tests failed", failed.len(), tests.len());
        }
    };
}

conformance!(
    a_url_is_visited_once_a_round,
    batch_may_repeat_a_url,
    urls_with_equal_key_prefixes_stay_distinct,
    pending_urls_per_host_are_limited,
    bytes_of_pending_urls_per_host_are_limited,
    requeued_urls_count_for_the_host_limit,
    pending_url_takes_the_smaller_depth,
    pending_link_becomes_a_sitemap_file_when_named,
    urls_are_leased_by_depth_then_discovery,
    late_url_is_leased_in_depth_order,
    deeper_levels_wait_for_shallower_urls,
    lease_has_the_enqueued_values,
    lease_has_the_project,
    only_urls_of_the_requested_host_are_leased,
    hosts_take_turns,
    suspended_hosts_are_skipped_until_resumed,
    hosts_waiting_for_a_level_are_skipped_until_progress,
    drained_hosts_are_reported,
    lease_is_current_until_it_ends_or_expires,
    lease_tokens_grow_and_old_tokens_are_ignored,
    leases_expire_at_their_deadline,
    all_leases_can_be_revoked,
    a_requeued_url_waits_for_its_time,
    url_that_waits_too_long_is_rescheduled,
    a_requeued_url_keeps_attempt_and_strategy,
    drained_waits_for_leases_and_retries_not_held_pages,
    held_pages_are_listed_in_order_with_paging,
    a_page_can_be_held_for_another_host,
    settling_ends_leases_and_held_pages,
    settling_skips_requests_that_are_not_held,
    settling_marks_outputs_even_alone,
    outcomes_are_counted,
    a_new_round_visits_again_and_keeps_the_history,
    lastmod_is_kept_per_round_and_per_visit,
    new_round_drops_active_requests,
    a_lease_of_an_earlier_round_cannot_be_settled,
    new_content_replaces_history_and_other_outcomes_merge,
    url_counts_as_a_page_when_held_or_recorded,
    content_claims_return_the_first_claimant,
    host_states_are_kept_for_a_round,
    settings_and_robots_are_kept,
    end_value_is_stored_only_when_the_round_ended,
    urls_are_leased_per_lane,
    depth_levels_span_both_lanes,
    shorter_path_to_a_url_keeps_its_lane,
    partial_result_is_kept_until_the_url_ends,
    an_unreadable_held_page_is_fetched_again_once,
    the_state_of_an_unsettled_host_lasts_until_it_settles,
    lessons_survive_a_new_round,
    texts_are_found_by_content_and_bands,
    a_page_has_one_text_and_may_keep_its_place,
    texts_survive_rounds_but_not_their_pages,
    texts_made_with_other_settings_are_dropped,
    known_urls_rest_until_revisited,
    known_urls_are_listed_with_paging_and_by_url,
    visits_and_changes_are_counted,
    gone_page_is_new_when_it_returns,
    resting_and_unchanged_urls_count_as_pages,
    recrawl_keeps_host_state_and_claims_on_request,
    unknown_requests_and_hosts_have_no_effect,
    many_threads_share_the_work,
    any_sequence_of_calls_agrees_with_a_simple_model,
    recrawls_and_suspensions_agree_with_a_simple_model,
);

fn host(name: &str) -> HostKey {
    HostKey::from_stored(name)
}

fn new_url(url: &str, depth: u32) -> NewUrl {
    NewUrl {
        key: UrlKey::of(url),
        url: url.to_owned(),
        host: HostKey::of(&Url::parse(url).unwrap()).unwrap(),
        depth,
        discovery: Discovery::Link,
        redirects: Vec::new(),
        sitemap_lastmod: None,
    }
}

/// Result of a call with these numbers of new and known URLs.
fn added(new: usize, known: usize) -> Enqueued {
    Enqueued { new, known, ..Enqueued::default() }
}

fn enqueue(store: &impl Store, urls: &[&str]) -> Enqueued {
    store.enqueue(&urls.iter().map(|url| new_url(url, 0)).collect::<Vec<_>>()).unwrap()
}

/// Leases at time 0 until 100.
fn lease(store: &impl Store, name: &str, max: usize) -> Vec<CrawlRequest> {
    store.lease(&host(name), Lane::Plain, max, "w", 0, 100).unwrap()
}

fn one(store: &impl Store, name: &str) -> CrawlRequest {
    let mut leased = lease(store, name, 1);
    assert_eq!(leased.len(), 1, "{name} has something to lease");
    leased.remove(0)
}

/// A leased page of another host.
fn other_page(store: &impl Store) -> LeaseRef {
    static PAGES: AtomicU32 = AtomicU32::new(0);
    enqueue(store, &[&format!("https://other/{}", PAGES.fetch_add(1, Relaxed))]);
    (&one(store, "other")).into()
}

fn paths(requests: &[CrawlRequest]) -> Vec<&str> {
    requests.iter().map(|r| r.url.path()).collect()
}

fn settlement(lease: LeaseRef, outcome: Outcome) -> Settlement {
    Settlement { lease, outcome, history: PageHistory::default() }
}

fn settle(store: &impl Store, requests: &[CrawlRequest], outcome: Outcome) -> usize {
    let batch: Vec<_> = requests.iter().map(|r| settlement(r.into(), outcome)).collect();
    store.settle(&batch, &[]).unwrap()
}

/// A host that has not begun.
fn new_host(name: &str, pending: usize) -> ReadyHost {
    ReadyHost { host: host(name), pending, begun: false }
}

/// A host within its first leases.
fn begun(name: &str, pending: usize) -> ReadyHost {
    ReadyHost { host: host(name), pending, begun: true }
}

fn load(name: &str, pending: usize) -> HostLoad {
    HostLoad { host: host(name), pending }
}
