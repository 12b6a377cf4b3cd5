//! Settings that all workers of a round share.

use crate::*;
use crawl_model::{RulesVersion, RunStore};
use crawl_store::{Agreement, RoundSettings, SettingDifference, Upkeep};

/// Settings with a delay and a checksum of rules, and a note about the delay.
fn settings(delay: &str, checksum: &str) -> RoundSettings {
    let settings = [("delay", delay), ("rules:score.toml", checksum)];
    RoundSettings {
        settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        rules: RulesVersion(7),
        notes: vec![("noted".to_owned(), delay.to_owned())],
    }
}

fn difference(key: &str, own: &str, of_round: &str) -> SettingDifference {
    let (own, of_round) = (Some(own.to_owned()), Some(of_round.to_owned()));
    SettingDifference { key: key.to_owned(), own, of_round }
}

/// Enters the next round as a worker does that found the current one ended.
fn begin(store: &PgStore, settings: &RoundSettings) -> Agreement {
    store.propose(settings.clone()).unwrap();
    store.begin_recrawl(true).unwrap();
    store.agree(settings).unwrap()
}

fn visit(store: &PgStore, url: &str) {
    store.revisit(&urls(&[url])).unwrap();
    let host = new_url(url).host.to_string();
    assert_eq!(store.settle(&records(&lease(store, &host, 9)), &[]).unwrap(), 0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn round_has_the_settings_of_its_first_worker() {
    let server = Server::start();
    let (one, other) = (settings("1s", "a"), settings("2s", "b"));
    let first = open(&server, "first");
    assert_eq!(first.settings_of_round().unwrap(), None);
    assert_eq!(begin(&first, &one), Agreement::Same);
    visit(&first, "https://a/1");
    let second = open(&server, "second");
    let differ = vec![difference("delay", "2s", "1s"), difference("rules:score.toml", "b", "a")];
    assert_eq!(second.agree(&other).unwrap(), Agreement::Differs(differ));
    assert_eq!(second.agree(&one).unwrap(), Agreement::Same);
    assert_eq!(second.get("noted").unwrap().as_deref(), Some("1s"));

    // both found the round ended; the one that comes second is told, and its notes are not stored
    assert_eq!(begin(&second, &other), Agreement::Same);
    assert_eq!(second.settings_of_round().unwrap().unwrap(), other.settings);
    assert!(matches!(begin(&first, &one), Agreement::Differs(_)));
    assert_eq!(second.get("noted").unwrap().as_deref(), Some("2s"));
    assert_eq!(first.agree(&other).unwrap(), Agreement::Same);
    // a proposal that came second is not that of a later round
    first.begin_recrawl(true).unwrap();
    assert_eq!(first.settings_of_round().unwrap().unwrap(), other.settings);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_first_start_without_a_visit_fixes_no_settings() {
    let server = Server::start();
    let (one, other) = (settings("1s", "a"), settings("2s", "b"));
    let failed = open(&server, "failed");
    assert_eq!(begin(&failed, &one), Agreement::Same);
    failed.revisit(&urls(&["https://a/1"])).unwrap();
    let rival = open(&server, "rival");
    assert!(matches!(rival.agree(&other).unwrap(), Agreement::Differs(_)), "another worker is on");
    die(failed);
    expire(&server, "failed");
    // two that begin at the same moment with the same settings
    let next = open(&server, "next");
    assert_eq!(rival.agree(&other).unwrap(), Agreement::Same);
    assert_eq!(next.agree(&other).unwrap(), Agreement::Same);
    assert_eq!(next.get("noted").unwrap().as_deref(), Some("2s"));
    assert!(matches!(next.agree(&one).unwrap(), Agreement::Differs(_)));
    drop(next);
    visit(&rival, "https://a/1");
    drop(rival);
    let late = open(&server, "late");
    assert!(matches!(late.agree(&one).unwrap(), Agreement::Differs(_)), "a URL was visited");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_worker_whose_settings_were_replaced_settles_nothing() {
    let server = Server::start();
    let (one, other) = (settings("1s", "a"), settings("2s", "b"));
    let stopped = open(&server, "stopped");
    assert_eq!(begin(&stopped, &one), Agreement::Same);
    stopped.revisit(&urls(&["https://a/1"])).unwrap();
    let fetched = lease(&stopped, "a", 9);
    assert_eq!(fetched.len(), 1);
    let mut options = server.options("c", "next");
    // the hosts of the stopped worker rest for longer than this test
    options.pause = Duration::from_secs(600);
    let next = PgStore::open(&options).unwrap();
    expire(&server, "stopped");
    assert_eq!(next.agree(&other).unwrap(), Agreement::Same);
    let error = stopped.settle(&records(&fetched), &[mark("o", 1)]).unwrap_err();
    assert!(matches!(error, StoreError::Busy(_)), "{error}");
    let resting =
        "SELECT owner IS NULL AND not_before > clock_timestamp() + interval '500 s' FROM crawl_c.hosts";
    eventually(&server, resting);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn rounds_without_rule_checksums_compare_the_rules_version() {
    let server = Server::start();
    let store = open(&server, "a");
    let mut own = settings("1s", "a");
    begin(&store, &own);
    visit(&store, "https://a/1");
    server.client().execute("UPDATE crawl_c.crawls SET settings = '{\"delay\": \"1s\"}'", &[]).unwrap();
    assert_eq!(store.agree(&own).unwrap(), Agreement::Same);
    let other = open(&server, "b");
    own.rules = RulesVersion(8);
    let differs = difference("rules", "0000000000000008", "0000000000000007");
    assert_eq!(other.agree(&own).unwrap(), Agreement::Differs(vec![differs]));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn round_accepts_other_rules_after_its_workers_ended() {
    let server = Server::start();
    let of = |delay: &str, rules: &str| {
        let mut settings = settings(delay, "a");
        let program = [("rules:of the program", rules), ("rules:version", rules)];
        settings.settings.extend(program.map(|(key, value)| (key.to_owned(), value.to_owned())));
        settings
    };
    let (old, new) = (of("1s", "0.1"), of("1s", "0.2"));
    let earlier = open(&server, "earlier");
    assert_eq!(begin(&earlier, &old), Agreement::Same);
    visit(&earlier, "https://a/1");
    earlier.revisit(&urls(&["https://a/2"])).unwrap();
    let fetched = lease(&earlier, "a", 9);
    let later = open(&server, "later");
    let Agreement::Differs(differences) = later.agree(&new).unwrap() else { panic!("a worker is on") };
    assert!(differences.len() == 2 && differences.iter().all(SettingDifference::is_of_program));
    // a process that is only stopped settles nothing that the earlier rules have read
    expire(&server, "earlier");
    assert_ne!(later.compare(&of("2s", "0.2")).unwrap(), [], "the delay is no matter of the program");
    assert!(matches!(later.agree(&of("2s", "0.2")).unwrap(), Agreement::Differs(_)));
    assert_eq!(later.compare(&new).unwrap(), []);
    assert_eq!(later.agree(&new).unwrap(), Agreement::Same);
    assert_eq!(later.settings_of_round().unwrap().unwrap(), new.settings);
    assert!(matches!(earlier.settle(&records(&fetched), &[mark("o", 1)]), Err(StoreError::Busy(_))));
}
