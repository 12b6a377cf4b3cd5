//! One test per exit code that cron can see, so that a script can distinguish them.

use crate::{
    run::{self, PATIENCE, Run, Sandbox, eventually, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use std::{fs, net::TcpListener, time::Duration};

const HANG: Duration = Duration::from_secs(60);

/// A port of this machine without a listener.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn completed_crawl_exits_with_0() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, Tree::of(7).targets().iter().map(|t| (server.url(t), 1)).collect());
}

#[test]
fn some_failed_pages_exit_with_0() {
    let handler = |request: &Request| match request.path() {
        "/" => Response::html(page("start", &["/gone.html".into(), "/there.html".into()])),
        "/there.html" => Response::html(page("there", &[])),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 2);
    assert_eq!(sandbox.errors().len(), 1);
    // the bytes of the output are those of the records
    let again = ["-O", "again.jsonl", "--fresh", "--log-format", "json"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &again)).expect(0);
    let summary = run::lines(&done.stderr).into_iter().find(|line| line["message"] == "summary").unwrap();
    assert_eq!(summary["bytesWritten"], sandbox.read("again.jsonl").len(), "{summary}");
}

/// An unreadable state gives 7, with the way to continue.
#[test]
fn damaged_state_exits_with_7_and_fresh_starts_over() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let crawl = |more: &[&str]| sandbox.crawl(&[server.url("/")], &[&["-O", "out.jsonl"], more].concat());
    fs::create_dir(sandbox.path("state")).unwrap();
    sandbox.write("state/crawl.sqlite", "this is no database, ".repeat(500));
    let failed = run(&mut crawl(&[])).expect(7);
    for part in ["damaged", "crawl.sqlite", "crawl state repair --state-dir", "--fresh"] {
        assert!(failed.stderr.contains(part), "{part} is missing: {}", failed.stderr);
    }
    let state = sandbox.path("state");
    let status = run(sandbox.bare().arg("status").arg("--state-dir").arg(&state)).expect(7);
    assert!(status.stderr.contains("crawl state repair"), "{}", status.stderr);
    for job in ["check", "repair"] {
        let done = run(sandbox.bare().args(["state", job, "--state-dir"]).arg(&state)).expect(7);
        assert!(done.stderr.contains("--fresh"), "{job}: {}", done.stderr);
    }
    run(&mut crawl(&["--fresh"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 3);
}

/// A too small address space is reported at the start; otherwise the process would abort.
#[test]
fn small_address_space_exits_with_2() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]);
    let told = run(&mut sandbox.shell("ulimit -v 524288; exec \"$@\"", &crawl)).expect(2);
    assert!(told.stderr.contains("512.0 MiB (ulimit -v)"), "{}", told.stderr);
    assert!(!sandbox.path("state").exists() && server.requests().is_empty());
}

#[test]
fn state_of_a_newer_version_exits_with_2() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    fs::create_dir(sandbox.path("state")).unwrap();
    let database = rusqlite::Connection::open(sandbox.path("state/crawl.sqlite")).unwrap();
    database.execute_batch("CREATE TABLE later (id INTEGER); PRAGMA user_version = 99").unwrap();
    drop(database);
    let newer = run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"])).expect(2);
    assert!(newer.stderr.contains("99"), "{}", newer.stderr);
}

/// Names of hosts of one server, and the settings that resolve them.
fn hosts(server: &Server, count: usize) -> (Vec<String>, String) {
    let port = server.address().port();
    let seeds = (0..count).map(|n| format!("http://h{n}.test:{port}/")).collect();
    let rules: Vec<String> = (0..count).map(|n| format!("\"h{n}.test:{port}:127.0.0.1\"")).collect();
    (seeds, format!("[{}]", rules.join(",")))
}

/// More hosts than descriptors: connections are closed in time, and no host pays for a limit of this machine.
#[test]
fn more_hosts_than_descriptors_are_all_fetched() {
    let handler = |request: &Request| {
        Response::html(page(request.header("host").unwrap_or_default(), &[])).after(Duration::from_millis(20))
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let (seeds, resolve) = hosts(&server, 200);
    let mut crawl = sandbox.crawl(&seeds, &["-O", "out.jsonl", "--concurrency", "64"]);
    crawl.env("CRAWL_FETCH_RESOLVE", resolve).env("CRAWL_POLITENESS_ADDRESS_SHARE", "0");
    let done = run(&mut sandbox.shell("ulimit -n 64; exec \"$@\"", &crawl)).expect(0);
    assert!(sandbox.errors().is_empty(), "{:?}", sandbox.errors());
    assert_eq!(sandbox.records("out.jsonl").len(), 200);
    assert!(done.stderr.contains("the limit of open files (64)"), "{}", done.stderr);
}

/// A run that cannot open its own files does not begin, and the number in its message suffices.
#[test]
fn too_few_descriptors_exit_with_3_and_name_the_minimum() {
    let handler = |request: &Request| Response::html(page(request.header("host").unwrap_or_default(), &[]));
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    let (seeds, resolve) = hosts(&server, 30);
    let mut crawl = sandbox.crawl(&seeds, &["-O", "out.parquet", "--warc", "warc"]);
    crawl.env("CRAWL_FETCH_RESOLVE", resolve);
    let few = run(&mut sandbox.shell("ulimit -n 20; exec \"$@\"", &crawl)).expect(3);
    assert!(server.requests().is_empty() && !sandbox.path("state").exists());
    let needed = few.stderr.split("ulimit -n ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let enough = format!("ulimit -n {}; exec \"$@\"", needed.unwrap());
    let done = run(&mut sandbox.shell(&enough, &crawl)).expect(0);
    assert!(sandbox.errors().is_empty(), "{:?}\n{}", sandbox.errors(), done.stderr);
    assert!(done.stderr.contains("30 records"), "{}", done.stderr);
}

#[test]
fn usage_errors_exit_with_2() {
    let sandbox = Sandbox::new();
    let flag = run(sandbox.bare().args(["--sed", "urls.txt"])).expect(2);
    assert!(
        flag.stderr.contains("--sed") && flag.stderr.contains("--seed"),
        "names the nearest:\n{}",
        flag.stderr
    );
    let none = run(&mut sandbox.bare()).expect(2);
    assert!(none.stderr.contains("--seed"), "{}", none.stderr);
    let missing = run(sandbox.bare().args(["--seed", "nowhere.txt", "--state-dir", "state"])).expect(2);
    assert!(missing.stderr.contains("nowhere.txt"), "{}", missing.stderr);
}

#[test]
fn file_as_state_directory_exits_with_2() {
    let sandbox = Sandbox::new();
    sandbox.write("state", "notes");
    sandbox.write("seeds.txt", "http://127.0.0.1:9/\n");
    for job in [&[][..], &["status"], &["retry-errors"], &["report"], &["state", "check"]] {
        let flags = ["--seed", "seeds.txt", "--state-dir", "state"];
        let done = run(sandbox.bare().args(job).args(flags)).expect(2);
        assert!(done.stderr.contains("--state-dir state: it is a file"), "{job:?}: {}", done.stderr);
    }
    assert_eq!(sandbox.read("state"), "notes");
}

/// A browser that is named, and needed for every page, has to be there.
#[test]
fn missing_required_browser_exits_with_2() {
    let (server, sandbox) = (Server::start(0, Tree::of(1).handler()).unwrap(), Sandbox::new());
    let crawl = |flags: &[&str]| run(&mut sandbox.crawl(&[server.url("/")], flags));
    let done = crawl(&["--strategy", "chrome", "--chrome", "/nope"]).expect(2);
    assert!(done.stderr.contains("--chrome: /nope"), "{}", done.stderr);
    assert!(server.targets().is_empty() && !sandbox.path("state").exists(), "nothing was begun");
    crawl(&["--chrome", "/nope"]).expect(0);
}

#[test]
fn seeds_without_a_usable_line_exit_with_2() {
    let sandbox = Sandbox::new();
    let done = run(&mut sandbox.crawl(&["# nothing".into(), "mailto:x@y.z".into()], &[])).expect(2);
    assert!(done.stderr.contains("line 2") || done.stderr.contains(":2"), "names the line:\n{}", done.stderr);
}

#[test]
fn configuration_errors_exit_with_2_and_name_the_key() {
    let sandbox = Sandbox::new();
    let seeds = ["http://127.0.0.1:9/".to_owned()];
    sandbox.write("typo.toml", "[politeness]\ndelai = \"1s\"\n");
    let typo = run(&mut sandbox.crawl(&seeds, &["--config", "typo.toml"])).expect(2);
    for part in ["typo.toml", "delai", "delay"] {
        assert!(typo.stderr.contains(part), "{part} is not named:\n{}", typo.stderr);
    }
    sandbox.write("old.toml", "[crawl]\ndepth = 1\n\n[fetch]\ndelay = \"1s\"\n[channels]\nfetched = 3\n");
    let old = run(&mut sandbox.crawl(&seeds, &["--config", "old.toml"])).expect(2);
    for line in [
        "old.toml:5: fetch.delay: moved to politeness.delay",
        "old.toml:7: channels.fetched: removed: the value is always 8",
    ] {
        assert!(old.stderr.contains(line), "{line} is not in:\n{}", old.stderr);
    }
    let old = run(sandbox.crawl(&seeds, &[]).env("CRAWL_FETCH_DELAY", "1s")).expect(2);
    assert!(old.stderr.contains("CRAWL_FETCH_DELAY: moved to CRAWL_POLITENESS_DELAY"), "{}", old.stderr);
    sandbox.write("type.toml", "[fetch]\nretries = \"many\"\n");
    let ill = run(&mut sandbox.crawl(&seeds, &["--config", "type.toml"])).expect(2);
    assert!(ill.stderr.contains("type.toml") && ill.stderr.contains("retries"), "{}", ill.stderr);
    let value = run(&mut sandbox.crawl(&seeds, &["--scope", "planet"])).expect(2);
    assert!(value.stderr.contains("--scope") && value.stderr.contains("planet"), "{}", value.stderr);
    let regex = run(&mut sandbox.crawl(&seeds, &["--include", "("])).expect(2);
    assert!(regex.stderr.contains("--include"), "{}", regex.stderr);
    let environment = run(sandbox.crawl(&seeds, &[]).env("CRAWL_POLITENESS_DELAI", "1s")).expect(2);
    assert!(environment.stderr.contains("CRAWL_POLITENESS_DELAI"), "{}", environment.stderr);
    assert!(!sandbox.path("state").exists(), "a usage error leaves nothing behind");
}

#[test]
fn full_disk_under_the_output_exits_with_3() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    let done = run(&mut sandbox.crawl(&[server.url("/")], &["-O", "/dev/full"])).expect(3);
    assert!(done.stderr.contains("/dev/full"), "names what is full:\n{}", done.stderr);
}

#[test]
fn full_disk_under_standard_output_exits_with_3() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    let crawl = sandbox.crawl(&[server.url("/")], &[]);
    run(&mut sandbox.shell("exec \"$@\" >/dev/full", &crawl)).expect(3);
}

#[test]
fn uncreatable_output_exits_with_3() {
    let (server, sandbox) = (Server::start(0, Tree::of(7).handler()).unwrap(), Sandbox::new());
    sandbox.write("file", "");
    let done = run(&mut sandbox.crawl(&[server.url("/")], &["-O", "file/out.jsonl"])).expect(3);
    assert!(done.stderr.contains("file/out.jsonl"), "{}", done.stderr);
    let state =
        run(sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl"]).args(["--state-dir", "file/state"]));
    // the flag given twice is a usage error, so only the environment names the directory
    assert_eq!(state.code(), 2);
    let seeds = sandbox.path("seeds.txt");
    let unwritable =
        run(sandbox.bare().arg("--seed").arg(seeds).env("CRAWL_STATE_DIR", "file/state")).expect(3);
    assert!(unwritable.stderr.contains("file/state"), "{}", unwritable.stderr);
}

/// The disk fills up during a run: complete lines stay whole, and the run continues once there is space.
#[test]
fn disk_that_fills_up_exits_with_3_and_resumes() {
    let tree = Tree { pages: 60, delay: Duration::ZERO, filler: 6000 };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-dedup"]);
    // 1 MiB (2 MiB if the shell counts in kilobytes), a part of the output; the signal is ignored, so that
    // writing fails
    run(&mut sandbox.shell("trap '' XFSZ; ulimit -f 2048; exec \"$@\"", &crawl)).expect(3);
    let cut_off = fs::read(sandbox.path("out.jsonl")).unwrap();
    assert!(
        cut_off.ends_with(b"\n"),
        "no broken line: {:?}",
        String::from_utf8_lossy(&cut_off[cut_off.len() - 90..])
    );
    let whole = sandbox.records("out.jsonl").len();
    assert!((1..60).contains(&whole), "{whole} records fit");
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--no-dedup"])).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

#[test]
fn unfetchable_seeds_exit_with_4() {
    let sandbox = Sandbox::new();
    let dead = format!("http://127.0.0.1:{}/", closed_port());
    run(&mut sandbox.crawl(std::slice::from_ref(&dead), &["-O", "out.jsonl"])).expect(4);
    assert_eq!(sandbox.records("out.jsonl").len(), 0);
    let errors = sandbox.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["url"], dead);
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.contains("refused"), "says why the host could not be reached: {message}");
    // cron mails standard error, so `--quiet` does not suppress the reason
    let quiet = run(&mut sandbox.crawl(&[dead], &["-O", "out.jsonl", "--fresh", "--quiet"])).expect(4);
    assert!(
        quiet.stderr.contains("no seed could be fetched") && quiet.stderr.contains("refused"),
        "{}",
        quiet.stderr
    );
    let hint = errors[0]["hint"].as_str().unwrap();
    assert!(quiet.stderr.contains(hint), "and what can be done: {}", quiet.stderr);
}

#[test]
fn one_fetchable_seed_of_two_exits_with_0() {
    let (server, sandbox) = (Server::start(0, Tree::of(1).handler()).unwrap(), Sandbox::new());
    let dead = format!("http://127.0.0.1:{}/", closed_port());
    run(&mut sandbox.crawl(&[dead, server.url("/")], &["-O", "out.jsonl"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 1);
}

#[test]
fn reached_limit_exits_with_5() {
    let (server, sandbox) = (Server::start(0, Tree::of(40).handler()).unwrap(), Sandbox::new());
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--limit", "10"])).expect(5);
    assert_eq!(sandbox.records("out.jsonl").len(), 10);
}

#[test]
fn state_directory_in_use_exits_with_6_and_names_its_holder() {
    let tree = Tree { delay: HANG, ..Tree::of(3) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let first = Run::start(&mut sandbox.crawl(&[server.url("/")], &["-O", "first.jsonl"]));
    assert!(server.wait(PATIENCE, |requests| !requests.is_empty()), "{}", first.stderr_so_far());
    let second = run(&mut sandbox.crawl(&[server.url("/")], &["-O", "second.jsonl"])).expect(6);
    assert!(second.stderr.contains(&first.id().to_string()), "names the holder:\n{}", second.stderr);
    assert!(!sandbox.path("second.jsonl").exists(), "the second run leaves no trace");
    first.kill();
    // the lock ends with its holder in any case: the next run starts and can be interrupted in turn
    let third = Run::start(&mut sandbox.crawl(&[server.url("/")], &["-O", "first.jsonl"]));
    let before = server.requests().len();
    assert!(server.wait(PATIENCE, |requests| requests.len() > before), "{}", third.stderr_so_far());
    third.signal("TERM");
    third.wait().expect(130);
}

/// A crawl that writes small batches slowly and has settled some; a batch has three records of 1.8 KB.
fn writing(server: &Server, sandbox: &Sandbox) -> Run {
    let running = Run::start(&mut small_batches(server, sandbox));
    eventually("some records are written", || {
        fs::metadata(sandbox.path("out.jsonl")).is_ok_and(|found| found.len() > 12_000)
    });
    running
}

fn small_batches(server: &Server, sandbox: &Sandbox) -> std::process::Command {
    let mut command = sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl", "--no-dedup"]);
    command.env("CRAWL_OUTPUT_BATCH", "3");
    command
}

fn slow() -> (Tree, Server, Sandbox) {
    let tree = Tree { delay: Duration::from_millis(30), ..Tree::of(60) };
    (tree, Server::start(0, tree.handler()).unwrap(), Sandbox::new())
}

#[test]
fn output_in_use_exits_with_6_and_names_its_holder() {
    let (_, server, sandbox) = slow();
    let first = writing(&server, &sandbox);
    let (other, path) = (Sandbox::new(), sandbox.path("out.jsonl"));
    let flags = ["-O", path.to_str().unwrap()];
    // without its owner the file is free for another crawl
    let give_up = || fs::remove_file(sandbox.path(".out.jsonl.crawl")).unwrap();
    give_up();
    let second = run(&mut other.crawl(&[server.url("/")], &flags)).expect(6);
    assert!(second.stderr.contains(&format!("process {}", first.id())), "{}", second.stderr);
    first.wait().expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 60, "the first is not disturbed");
    run(&mut other.crawl(&[server.url("/")], &flags)).expect(0);
}

/// The settled records are lost with the file. The run and the resuming run report it at once; `--fresh`
/// fetches them again.
#[test]
fn output_removed_during_a_run_exits_with_3_then_7() {
    let (tree, server, sandbox) = slow();
    let first = writing(&server, &sandbox);
    fs::remove_file(sandbox.path("out.jsonl")).unwrap();
    let done = first.wait().expect(3);
    assert!(done.stderr.contains("was removed or replaced during the run"), "{}", done.stderr);
    let second = run(&mut small_batches(&server, &sandbox)).expect(7);
    assert!(
        second.stderr.contains("bytes of records that were written are not there any more"),
        "{}",
        second.stderr
    );
    let left = url_counts(&sandbox.records("out.jsonl"));
    assert!(left.len() < 60 && left.values().all(|n| *n == 1), "{left:?}");
    fs::remove_file(sandbox.path("out.jsonl")).unwrap();
    run(small_batches(&server, &sandbox).arg("--fresh")).expect(0);
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, tree.targets().iter().map(|t| (server.url(t), 1)).collect());
}

#[test]
fn state_removed_during_a_run_exits_with_3() {
    let (_, server, sandbox) = slow();
    let first = writing(&server, &sandbox);
    fs::rename(sandbox.path("state"), sandbox.path("moved")).unwrap();
    let done = first.wait().expect(3);
    assert!(done.stderr.contains("crawl.sqlite was removed or replaced"), "{}", done.stderr);
}

#[test]
fn state_without_its_database_exits_with_7() {
    let (server, sandbox) = (Server::start(0, Tree::of(5).handler()).unwrap(), Sandbox::new());
    run(&mut small_batches(&server, &sandbox)).expect(0);
    fs::remove_file(sandbox.path("state/crawl.sqlite")).unwrap();
    let mut retry = sandbox.bare();
    retry.arg("retry-errors").args(small_batches(&server, &sandbox).get_args());
    run(&mut retry).expect(7);
    run(sandbox.bare().args(["state", "check", "--state-dir"]).arg(sandbox.path("state"))).expect(7);
    for _ in 0..2 {
        let refused = run(&mut small_batches(&server, &sandbox)).expect(7);
        assert!(
            refused.stderr.contains("crawl.sqlite") && refused.stderr.contains("--fresh"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(sandbox.records("out.jsonl").len(), 5, "nothing is written twice");
    run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--fresh"])).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 5);
}

/// The pipe is full without a reader: the signal still ends the run, and no record is lost.
#[test]
fn stalled_pipe_reader_does_not_delay_the_exit() {
    let tree = Tree { pages: 200, delay: Duration::ZERO, filler: 3000 };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || sandbox.crawl(&[server.url("/")], &["--no-dedup", "-c", "4"]);
    let (mut running, stdout) = Run::start_reading(&mut crawl());
    // as many as fit into pipe and channels are fetched
    let mut asked = 0;
    eventually("the run stands still", || {
        std::thread::park_timeout(Duration::from_millis(700));
        let before = std::mem::replace(&mut asked, server.requests().len());
        asked > 10 && asked == before
    });
    assert!(asked < 200 && running.is_on(), "{asked}");
    running.signal("TERM");
    running.wait().expect(130);
    drop(stdout);
    let rest = run(&mut crawl()).expect(0);
    assert!(run::lines(&rest.stdout).len() + asked > 200);
}

/// A document is no page, and no page of an earlier round is gone.
#[test]
fn seed_that_is_no_page_is_named_with_its_kind() {
    let handler = |request: &Request| match request.path() {
        "/paper" => Response::new(200, "application/pdf", "%PDF-1.7"),
        "/sitemap.xml" => Response::new(200, "application/xml", "<?xml version=\"1.0\"?><urlset></urlset>"),
        _ => Response::status(404),
    };
    let (server, sandbox) = (Server::start(0, handler).unwrap(), Sandbox::new());
    for (path, words) in [
        ("/paper", "no seed is HTML, plain text or Markdown (content_type)"),
        ("/sitemap.xml", "the sitemap or feed names no URL"),
    ] {
        let done = run(&mut sandbox.crawl(&[server.url(path)], &["-O", "out.jsonl", "--fresh"])).expect(4);
        assert!(done.stderr.contains(words), "{path}: {}", done.stderr);
    }
}
