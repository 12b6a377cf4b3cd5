//! Signals that end a crawl: the state is saved, and the same command goes on.

use crate::{
    run::{PATIENCE, Run, Sandbox, eventually, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use std::{fs, time::Duration};

const HANG: Duration = Duration::from_secs(60);

#[test]
fn interrupt_exits_with_130_and_the_same_command_resumes() {
    let tree = Tree { delay: Duration::from_millis(30), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--host-concurrency", "2"]);
    for signal in ["INT", "TERM"] {
        let before = server.requests().len();
        let running = Run::start(&mut crawl());
        assert!(server.wait(PATIENCE, |requests| requests.len() > before + 5), "{}", running.stderr_so_far());
        running.signal(signal);
        let said = running.wait().expect(130).stderr;
        let order = [said.find("stopping:"), said.find("interrupted, state saved")];
        assert!(order[0].is_some() && order[0] < order[1], "{said}");
    }
    run(&mut crawl()).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

/// `timeout` signals the process and its group, and a closed terminal sends SIGHUP.
#[test]
fn double_signal_or_hangup_saves_the_state() {
    let tree = Tree { delay: Duration::from_millis(200), ..Tree::of(60) };
    let ignored = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    let is_ignored = u64::from_str_radix(ignored, 16).unwrap() & 1 == 1;
    for (signals, code) in [(&["TERM", "TERM"][..], 130), (&["HUP"], if is_ignored { 0 } else { 130 })] {
        let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
        let running = Run::start(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]));
        assert!(server.wait(PATIENCE, |requests| requests.len() > 5), "{}", running.stderr_so_far());
        signals.iter().for_each(|signal| running.signal(signal));
        let said = running.wait().expect(code).stderr;
        assert!(code == 0 || said.contains("interrupted, state saved"), "{signals:?}: {said}");
    }
}

/// Held pages of an interrupted run become records of the next one, and count for its limit.
#[test]
fn held_pages_of_an_interrupted_run_count_for_the_limit() {
    let tree = Tree { delay: Duration::from_millis(20), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = |flags: &[&str]| {
        let mut crawl = sandbox.crawl(&[server.url("/")], flags);
        crawl.env("CRAWL_DEDUP_RELEASE", "settled");
        crawl
    };
    let running = Run::start(&mut crawl(&["-O", "out.jsonl"]));
    assert!(server.wait(PATIENCE, |requests| requests.len() > 10), "{}", running.stderr_so_far());
    running.signal("INT");
    running.wait().expect(130);
    assert!(sandbox.records("out.jsonl").is_empty(), "all are held: their host is not settled");
    run(&mut crawl(&["-O", "out.jsonl", "--limit", "40"])).expect(5);
    assert_eq!(sandbox.records("out.jsonl").len(), 40);
    assert!(server.targets().len() < 50, "fewer than 40 were fetched: {}", server.targets().len());
}

/// Missing answers do not delay the exit: the state is saved within 5 s of the signal. The bound here is
/// twice that for a busy machine, and a fraction of the server's silence.
#[test]
fn interrupts_do_not_wait_for_silent_servers() {
    let handler = |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        "/" => Response::html(page("start", &["/a.html".into(), "/b.html".into()])),
        _ => Response::html(page("late", &[])).after(HANG),
    };
    for signal in ["INT", "TERM"] {
        let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
        let running = Run::start(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]));
        assert!(server.wait(PATIENCE, |r| r.iter().any(|r| r.path() != "/" && r.path() != "/robots.txt")));
        let sent = std::time::Instant::now();
        running.signal(signal);
        running.wait().expect(130);
        assert!(sent.elapsed() < Duration::from_secs(10), "{signal}: {:?}", sent.elapsed());
    }
}

#[test]
fn a_repeated_interrupt_ends_the_run_and_keeps_the_state() {
    let tree = Tree { delay: HANG, ..Tree::of(3) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let running = Run::start(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]));
    assert!(server.wait(PATIENCE, |requests| !requests.is_empty()));
    running.signal("INT");
    eventually("the first signal is noticed", || !running.stderr_so_far().is_empty());
    running.signal("INT");
    let done = running.wait();
    assert!(!done.status.success());
    assert!(done.took < HANG);
    assert!(fs::metadata(sandbox.path("state")).is_ok());
}
