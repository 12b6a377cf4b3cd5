//! Several workers on one crawl in PostgreSQL: the URLs of a crawl by one process, each record once over all parts,
//! whatever dies.

use crate::{
    run::{PATIENCE, Run, eventually, lines, run},
    shared_crawl::{Crawl, harbour},
    support::{
        server::{Handler, Request, Response, Server},
        site::Site,
    },
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

/// The fixture site, whose first answer for robots.txt waits.
struct LateRobots {
    site: Site,
    is_first: AtomicBool,
    answers: Arc<AtomicBool>,
}

impl Handler for LateRobots {
    fn answer(&self, request: &Request) -> Response {
        if request.path() == "/robots.txt" && self.is_first.swap(false, SeqCst) {
            eventually("the answer may go", || self.answers.load(SeqCst));
        }
        self.site.answer(request).after(Duration::from_millis(50))
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_share_the_hosts_and_write_each_record_once() {
    let crawl = Crawl::new(4, ".jsonl.zst");
    // The crawl lasts until the second worker has its share, which can take some seconds.
    crawl.sites.set_answer_time(Duration::from_millis(500));
    let workers = ["a", "b"].map(|name| crawl.start(name));
    crawl.sites.wait_for(1);
    let owners = "SELECT count(DISTINCT owner) FROM @hosts WHERE active";
    eventually("both workers have hosts", || crawl.number(owners) == 2);
    crawl.sites.set_answer_time(Duration::from_millis(50));
    workers.into_iter().for_each(|worker| _ = worker.wait().expect(0));
    crawl.check();
    let parts = crawl.parts();
    assert!(parts.iter().all(|part| part["isComplete"] == true), "{parts:?}");
    let workers: Vec<&str> = parts.iter().map(|part| part["worker"].as_str().unwrap()).collect();
    assert_eq!(workers.len(), 2, "both have a share: {parts:?}");
    let manifest: Value = serde_json::from_str(&crawl.sandbox.read("out/manifest.json")).unwrap();
    assert_eq!(manifest["parts"], Value::from(parts.clone()));
    let length = |part: &Value| fs::metadata(part["path"].as_str().unwrap()).unwrap().len();
    assert!(parts.iter().all(|part| part["bytes"] == length(part)));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn output_parts_continue_in_new_parts_after_kills() {
    let crawl = Crawl::new(3, ".jsonl.zst");
    let start = |name: &str| Run::start(crawl.worker(name).env("CRAWL_OUTPUT_MAX_FILE", "6 KiB"));
    let (victim, other) = (start("a"), start("b"));
    crawl.sites.wait_for(60);
    victim.kill();
    let victim = start("a");
    crawl.sites.wait_for(40);
    victim.kill();
    [start("a"), other].into_iter().for_each(|worker| _ = worker.wait().expect(0));
    crawl.check();
    let parts = crawl.parts();
    let path = |part: &Value| part["path"].as_str().unwrap().to_owned();
    for part in &parts {
        assert_eq!(part["isComplete"], true, "{part}");
        assert!(path(part).ends_with(&format!("-{}-{}.jsonl.zst", part["epoch"], part["seq"])), "{part}");
    }
    assert!(parts.iter().filter(|part| part["seq"].as_u64() > Some(0)).count() >= 2, "{parts:?}");
    let names: BTreeSet<String> = parts.iter().map(path).collect();
    assert_eq!(names.len(), parts.len(), "a part is listed once");
    let folder = fs::read_dir(crawl.sandbox.path("out")).unwrap().map(|file| file.unwrap().path());
    let files: BTreeSet<String> = folder.map(|path| path.to_str().unwrap().to_owned()).collect();
    assert_eq!(files.len(), names.len() + 1, "the parts and the manifest: {files:?}");
    let manifest: Value = serde_json::from_str(&crawl.sandbox.read("out/manifest.json")).unwrap();
    assert_eq!(manifest["parts"], Value::from(parts.clone()));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn others_take_over_from_a_killed_worker() {
    let crawl = Crawl::new(3, ".jsonl");
    let (victim, other) = (crawl.start("a"), crawl.start("b"));
    crawl.sites.wait_for(60);
    victim.kill();
    let worker = crawl.expire("a");
    other.wait().expect(0);
    assert_eq!(crawl.hosts_of(worker), 0);
    crawl.check();
    // a restart of the victim has nothing left to do but to end its part
    run(&mut crawl.worker("a")).expect(0);
    crawl.check();
    assert!(crawl.parts().iter().all(|part| part["isComplete"] == true));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_stopped_beyond_its_lease_writes_nothing_of_lost_hosts() {
    let crawl = Crawl::new(3, ".jsonl");
    let (zombie, other) = (crawl.start("a"), crawl.start("b"));
    crawl.sites.wait_for(60);
    zombie.signal("STOP");
    let worker = crawl.expire("a");
    eventually("the hosts of the stopped worker are taken", || crawl.hosts_of(worker) == 0);
    zombie.signal("CONT");
    let done = zombie.wait().expect(0);
    assert!(!done.stderr.contains("stopped by an error"), "{}", done.stderr);
    assert_eq!(done.stderr.matches(" records from ").count(), 1, "one summary: {}", done.stderr);
    other.wait().expect(0);
    crawl.check();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_that_wakes_does_not_request_lost_hosts() {
    let mut crawl = Crawl::new(0, ".jsonl");
    let answers = Arc::new(AtomicBool::new(false));
    let (site, is_first) = (Site::open(&harbour()).unwrap(), AtomicBool::new(true));
    let late = LateRobots { site, is_first, answers: Arc::clone(&answers) };
    crawl.sites.servers.push(Server::start(0, late).unwrap());
    let store = crawl.database.text_url("crawl");
    let start =
        |name| Run::start(&mut crawl.changed(name, (store.as_str(), format!("{store}&lease=8").as_str())));
    let zombie = start("a");
    crawl.sites.wait_for(1);
    zombie.signal("STOP");
    let other = start("b");
    crawl.sites.wait_for(5);
    answers.store(true, SeqCst);
    zombie.signal("CONT");
    zombie.wait().expect(0);
    other.wait().expect(0);
    let asked = crawl.sites.servers[0].requests();
    let first_page = asked.iter().filter(|request| request.target == "/").count();
    assert_eq!(first_page, 1, "the second worker alone asks");
    crawl.check();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_survive_a_database_crash_and_lost_connections() {
    let mut crawl = Crawl::new(3, ".jsonl");
    let start = |name| Run::start(crawl.worker(name).args(["--log-format", "json"]));
    let workers = ["a", "b"].map(start);
    crawl.sites.wait_for(40);
    let terminate =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'crawl'";
    assert!(crawl.number(terminate) > 0);
    crawl.sites.wait_for(40);
    crawl.database.crash();
    crawl.database.restart();
    let (mut records, mut failures, mut written) = (0, 0, 0);
    for worker in workers {
        let done = worker.wait().expect(0);
        let log = lines(&done.stderr);
        let summaries: Vec<&Value> = log.iter().filter(|line| line["message"] == "summary").collect();
        let [summary] = summaries[..] else { panic!("one summary: {}", done.stderr) };
        assert!(done.stderr.contains("the database is reachable again"), "{}", done.stderr);
        let count = |name: &str| summary.pointer(name).unwrap().as_u64().unwrap();
        let strategies = summary["strategies"].as_object().unwrap().values();
        let by_strategy: u64 = strategies.map(|records| records.as_u64().unwrap()).sum();
        let in_full = (count("/records"), count("/records"));
        assert_eq!((count("/changes/new"), by_strategy), in_full, "a lost batch counts nowhere: {summary}");
        records += count("/records");
        failures += count("/errors");
        written += count("/bytesWritten");
    }
    crawl.check();
    // a worker does not count what it settled if the answer is lost: two batches at the most
    let all = crawl.records().len() as u64;
    assert!(
        records <= all && records + 2 * 2 * 4 >= all,
        "{records} of {all} since the start of the processes"
    );
    let in_parts: u64 = crawl.parts().iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
    assert!(written <= in_parts && written > in_parts / 2, "{written} of {in_parts} bytes");
    let failed = crawl.number("SELECT sum(failed)::int8 FROM @tallies");
    assert!(i64::try_from(failures).unwrap() <= failed, "{failures} of {failed} failures");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_worker_without_a_record_leaves_no_part() {
    for ending in [".jsonl.zst", ".jsonl.gz", ".parquet"] {
        let crawl = Crawl::new(1, ending);
        run(&mut crawl.worker("a")).expect(0);
        let parts = crawl.parts();
        // the next round has nothing to write
        let done = run(&mut crawl.worker("a")).expect(0);
        assert!(done.stderr.contains("none, since this worker wrote no record"), "{}", done.stderr);
        assert_eq!(crawl.parts(), parts, "{ending}");
        assert_eq!(fs::read_dir(crawl.sandbox.path("out")).unwrap().count(), 2, "a part and the manifest");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_terminated_worker_gives_its_hosts_back_within_5_s() {
    let crawl = Crawl::new(3, ".jsonl");
    let worker = crawl.start("a");
    crawl.sites.wait_for(30);
    let began = Instant::now();
    worker.signal("TERM");
    eventually("the hosts are free", || {
        crawl.number("SELECT count(*) FROM @hosts WHERE owner IS NOT NULL") == 0
    });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(worker.wait().code(), 130);
    assert!(began.elapsed() < PATIENCE);
    run(&mut crawl.worker("b")).expect(0);
    crawl.check();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn joining_worker_gets_a_host_with_held_pages() {
    let crawl = Crawl::new(2, ".jsonl");
    let start = |name: &str| {
        let mut command = crawl.changed(name, ("0s", "250ms"));
        command.env("CRAWL_DEDUP_SETTLE_PAGES", "1000").env("CRAWL_DEDUP_RELEASE", "settled");
        Run::start(&mut command)
    };
    let first = start("a");
    crawl.sites.wait_for(12);
    eventually("pages wait", || crawl.number("SELECT count(*) FROM @held") > 5);
    let second = start("b");
    let began = Instant::now();
    eventually("both have a host", || {
        crawl.number("SELECT count(DISTINCT owner) FROM @hosts WHERE active AND owner IS NOT NULL") == 2
    });
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    [first, second].into_iter().for_each(|worker| _ = worker.wait().expect(0));
    crawl.check();
    let parts = crawl.parts();
    assert_eq!(parts.len(), 2, "both wrote records: {parts:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn hosts_at_one_address_share_its_delay_across_workers() {
    let crawl = Crawl::new(12, ".jsonl");
    let start = |name: &str| {
        let mut command = crawl.changed(name, ("0s", "600ms"));
        command.args(["--limit", "14"]).env("CRAWL_POLITENESS_ADDRESS_SHARE", "0.5");
        Run::start(&mut command)
    };
    let workers = ["a", "b"].map(start);
    // the exit code of a limit
    workers.into_iter().for_each(|worker| _ = worker.wait().expect(5));
    let requests = crawl.sites.servers.iter().flat_map(Server::requests);
    let mut times: Vec<Instant> = requests.map(|request| request.at).collect();
    times.sort_unstable();
    assert!(times.len() >= 20, "a file and a page of each host: {}", times.len());
    // A server on a loaded machine notes a request late. Then the next gap is shorter, and ten gaps are not.
    let short = |n: usize, least: u64| {
        let spans = times.windows(n + 1).map(|span| span[n] - span[0]);
        spans.filter(|span| *span < Duration::from_millis(least)).collect::<Vec<_>>()
    };
    assert!(short(10, 3_000).is_empty(), "{:?} for ten gaps", short(10, 3_000));
    assert!(short(2, 300).is_empty(), "{:?} for two gaps", short(2, 300));
    assert!(short(1, 270).len() * 4 < times.len(), "{:?} of {} gaps", short(1, 270), times.len() - 1);
    assert_eq!(crawl.parts().len(), 2, "both workers asked");
    let whole = *times.last().unwrap() - times[0];
    // a request that is late for its turn takes another one
    let most = Duration::from_millis(3 * 300) * u32::try_from(times.len()).unwrap();
    assert!(whole < most, "{whole:?} for {} turns", times.len());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn workers_share_the_record_limit() {
    let crawl = Crawl::new(4, ".jsonl");
    let start = |name: &str| Run::start(crawl.worker(name).args(["--limit", "60"]));
    let first = start("a");
    crawl.sites.wait_for(3);
    // the run lasts until both have ended, however slow the second one starts
    crawl.number("INSERT INTO @workers (name, lease_until) VALUES ('w', clock_timestamp() + interval '1 h') RETURNING id::int8");
    let second = start("b");
    // the exit code of a limit
    [first, second].into_iter().for_each(|worker| _ = worker.wait().expect(5));
    let records = crawl.records().len();
    assert!((54..=60).contains(&records), "{records}");
    crawl.number("DELETE FROM @workers WHERE name = 'w' RETURNING id::int8");
    // the next run has the limit anew
    run(crawl.worker("a").args(["--limit", "7"])).expect(5);
    assert_eq!(crawl.records().len(), records + 7);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn output_folder_holds_parts_of_one_crawl() {
    let crawl = Crawl::new(1, ".jsonl");
    run(&mut crawl.worker("a")).expect(0);
    let before = crawl.sandbox.read("out/manifest.json");
    let ended = run(&mut crawl.changed("b", ("c", "d"))).expect(2);
    assert!(ended.stderr.contains("a part of another crawl"), "{}", ended.stderr);
    assert_eq!(crawl.sandbox.read("out/manifest.json"), before);
    assert_eq!(fs::read_dir(crawl.sandbox.path("out")).unwrap().count(), 2, "a part and the manifest");
    // the same crawl goes on
    run(&mut crawl.worker("a")).expect(0);
}
