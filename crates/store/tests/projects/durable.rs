//! A database that is reopened, written by two processes, or whose writer is killed.

use super::*;
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Set in a child of the kill test: the database that it analyses until it is killed.
const CHILD: &str = "CRAWL_TEST_ANALYSIS_OF";
const PAGES: usize = 400;

#[test]
fn project_data_survive_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.sqlite");
    let store = SqliteProjects::open(&path).unwrap();
    let id = project(&store, "p");
    save(&store, id, &[page("a.example/1", Some("g"), "nul \0 and ü")]);
    assert!(analyse(&store, id, &[], Some("clean"), 6));
    let (sources, rows) = (all(&store, id), store.boilerplate(id, None).unwrap());
    drop(store);
    let store = SqliteProjects::open(&path).unwrap();
    assert_eq!((all(&store, id), store.boilerplate(id, None).unwrap()), (sources, rows));
}

#[test]
fn crawl_may_write_during_an_analysis() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.sqlite");
    let (server, crawl) = (SqliteProjects::open(&path).unwrap(), SqliteProjects::open(&path).unwrap());
    let id = project(&server, "p");
    save(&server, id, &[page("a.example/1", None, "one")]);
    let mut analysis = server.begin_analysis(id, &[]).unwrap();
    let pages = analysis.pages("a.example", 0).unwrap();
    analysis.put_page(&pages[0], Some("clean")).unwrap();
    save(&crawl, id, &[page("a.example/2", None, "two")]);
    assert!(analysis.commit(6).unwrap());
    assert_eq!(all(&crawl, id).iter().filter(|s| s.page.cleaned_content.is_some()).count(), 1);
}

/// Child that the kill test starts repeatedly and kills; not a test of its own.
#[test]
fn child_process_of_the_analysis_kill_test() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = SqliteProjects::open(Path::new(&path)).unwrap();
    let id = store.project_named("p").unwrap().unwrap().id;
    for run in 0.. {
        println!("run");
        assert!(analyse(&store, id, &[], Some(&format!("run {run} {}", "x".repeat(4_000))), run));
    }
}

/// Content of every page and row of an analysis; all must agree.
fn results(store: &SqliteProjects, id: ProjectId) -> (Vec<String>, Vec<i64>) {
    let mut pages: Vec<String> = all(store, id)
        .into_iter()
        .map(|s| s.page.cleaned_content.map_or_else(String::new, |c| c.split('x').next().unwrap().to_owned()))
        .collect();
    pages.dedup();
    let mut rows: Vec<i64> =
        store.boilerplate(id, None).unwrap().into_iter().map(|row| row.updated_at_ms).collect();
    rows.dedup();
    (pages, rows)
}

#[test]
fn killed_analysis_leaves_the_old_or_new_result() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.sqlite");
    let store = SqliteProjects::open(&path).unwrap();
    let id = project(&store, "p");
    let pages: Vec<_> =
        (0..PAGES).map(|n| page(&format!("{}.example/{n}", n % 7), None, &"y".repeat(3_000))).collect();
    save(&store, id, &pages);
    assert!(analyse(&store, id, &[], Some("before x"), -1));
    drop(store);
    let log = dir.path().join("p.sqlite-wal");
    let mut in_the_middle = 0;
    for round in 0..12 {
        // the log is empty while no process has the database open, so later content is the child's
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "durable::child_process_of_the_analysis_kill_test", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("run")), "the child has begun");
        // killed once this much of a commit of about 2 MB is in the log
        let begun = Instant::now();
        let wanted = 50_000 + round * 150_000;
        while fs::metadata(&log).map_or(0, |found| found.len()) < wanted {
            assert!(child.try_wait().unwrap().is_none(), "the child has ended by itself");
            assert!(begun.elapsed() < Duration::from_secs(60), "the child writes nothing");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let store = SqliteProjects::open(&path).unwrap();
        let (pages, rows) = results(&store, id);
        assert_eq!((pages.len(), rows.len()), (1, 1), "a mixture: {pages:?} {rows:?}");
        let of_pages = if pages[0] == "before " { -1 } else { pages[0][4..].trim().parse::<i64>().unwrap() };
        assert_eq!(of_pages, rows[0], "pages and statistics are of one analysis");
        in_the_middle += usize::from(of_pages == -1);
        // for the next round
        assert!(analyse(&store, id, &[], Some("before x"), -1));
    }
    assert!(in_the_middle > 0, "no child was killed before its first commit had ended");
}
