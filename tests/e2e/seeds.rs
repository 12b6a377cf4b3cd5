//! Forms of a seed file.

use crate::{
    run::{self, Run, Sandbox, run, url_counts},
    support::{
        made::{Tree, page},
        server::{Request, Response, Server},
    },
};
use flate2::{Compression, write::GzEncoder};
use std::{
    io::Write,
    process::{Command, Stdio},
};

fn server() -> Server {
    Server::start(0, |request: &Request| match request.path() {
        "/robots.txt" => Response::status(404),
        path => Response::html(page(&format!("the page {path}"), &[])),
    })
    .unwrap()
}

/// The main job on an existing seed file.
fn crawl(sandbox: &Sandbox, seed: &str) -> Command {
    let mut command = sandbox.bare();
    command.args(["--seed", seed, "--state-dir", "state", "-O", "out.jsonl", "--delay", "0s"]);
    command.args(["--allow-address", "127.0.0.0/8"]);
    command
}

#[test]
fn bad_lines_are_named_by_number_and_skipped() {
    let (server, sandbox) = (server(), Sandbox::new());
    let lines = [
        "\u{feff}".to_owned() + &server.url("/one"),
        String::new(),
        "# a comment".into(),
        "ht tp://not a url".into(),
        "  ".to_owned() + &server.url("/two") + "  ",
        "mailto:watch@harbour.example".into(),
        server.url("/one"),
        "ftp://files.example/".into(),
    ];
    sandbox.write("seeds.txt", lines.join("\r\n"));
    let done = run(&mut crawl(&sandbox, "seeds.txt")).expect(0);
    for number in [4, 6, 8] {
        assert!(
            done.stderr.contains(&format!("line {number}")),
            "line {number} is not named:\n{}",
            done.stderr
        );
    }
    for number in [1, 2, 3, 5, 7] {
        assert!(!done.stderr.contains(&format!("line {number}:")), "line {number} is fine:\n{}", done.stderr);
    }
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert_eq!(counts, [(server.url("/one"), 1), (server.url("/two"), 1)].into());
}

#[test]
fn gzip_seed_file_is_detected_by_its_bytes() {
    let (server, sandbox) = (server(), Sandbox::new());
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    writeln!(gz, "{}\n{}", server.url("/a"), server.url("/b")).unwrap();
    sandbox.write("seeds.list", gz.finish().unwrap());
    run(&mut crawl(&sandbox, "seeds.list")).expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 2);
}

#[test]
fn dash_reads_seeds_from_standard_input() {
    let (server, sandbox) = (server(), Sandbox::new());
    sandbox.write("list", server.url("/from-stdin") + "\n");
    let mut command = crawl(&sandbox, "-");
    command.stdin(std::fs::File::open(sandbox.path("list")).unwrap());
    run(&mut command).expect(0);
    assert_eq!(url_counts(&sandbox.records("out.jsonl")), [(server.url("/from-stdin"), 1)].into());
}

#[test]
fn seeds_may_arrive_late_on_standard_input() {
    let (server, sandbox) = (server(), Sandbox::new());
    let line = server.url("/piece");
    let (head, tail) = line.split_at(12);
    let script = format!("( printf %s '{head}'; sleep 0.3; echo '{tail}' ) | \"$@\"");
    let mut shell = sandbox.shell(&script, &crawl(&sandbox, "-"));
    Run::start(shell.stdin(Stdio::null())).wait().expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 1);
}

/// A bare host is tried as https first, then as http.
#[test]
fn a_bare_host_falls_back_to_http() {
    let (server, sandbox) = (server(), Sandbox::new());
    sandbox.write("seeds.txt", format!("{}\n", server.address()));
    let mut command = crawl(&sandbox, "seeds.txt");
    command.env("CRAWL_FETCH_BACKOFF", "20ms");
    run(&mut command).expect(0);
    assert_eq!(url_counts(&sandbox.records("out.jsonl")), [(server.url("/"), 1)].into());
}

/// A single site needs no seed file; its state has a directory of its own, by which the same command resumes.
#[test]
fn seed_argument_may_be_a_url() {
    let (server, sandbox) = (Server::start(0, Tree::of(5).handler()).unwrap(), Sandbox::new());
    let crawl = |seed: &str, limit: &str| {
        let mut command = sandbox.bare();
        command.args(["--seed", seed, "-O", "out.jsonl", "--delay", "0s", "--limit", limit]);
        command.args(["--allow-address", "127.0.0.0/8"]).env("CRAWL_CRAWL_SOFT404", "false");
        run(command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false"))
    };
    crawl(&server.url("/"), "2").expect(5);
    crawl(&server.url("/"), "9").expect(0);
    assert_eq!(sandbox.records("out.jsonl").len(), 5);
    assert_eq!(server.targets().len(), 5, "each page once: {:?}", server.targets());
    for (seed, told) in [("nowhere", "a URL such as https://"), ("https://", "--seed https://")] {
        let refused = crawl(seed, "9").expect(2);
        assert!(refused.stderr.contains(told), "{seed}: {}", refused.stderr);
    }
    let nothing = crawl(&server.url("/"), "0").expect(2);
    assert!(nothing.stderr.contains("--limit: crawl.limit: must be at least 1"), "{}", nothing.stderr);
}

/// URLs, hosts and files need no flag, and `-o -` is standard output.
#[test]
fn seeds_need_no_flag() {
    let (server, sandbox) = (server(), Sandbox::new());
    sandbox.write("urls.txt", server.url("/listed") + "\n");
    let crawl_into = |output: &str, seeds: &[&str]| {
        let mut command = sandbox.bare();
        command.args(seeds).args(["-o", output, "--delay", "0s", "--allow-address", "127.0.0.0/8"]);
        command.env("CRAWL_FETCH_BACKOFF", "20ms").env("CRAWL_CRAWL_SOFT404", "false");
        run(command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false"))
    };
    let crawl = |seeds: &[&str]| crawl_into("-", seeds);
    let bare = format!("{}/bare", server.address());
    for (seeds, paths) in [
        (&[&*server.url("/one")][..], &["/one"][..]),
        (&["urls.txt"], &["/listed"]),
        (
            &[&*server.url("/two"), "urls.txt", "--seed", &server.url("/three")],
            &["/listed", "/three", "/two"],
        ),
    ] {
        let done = crawl(seeds).expect(0);
        let expected = paths.iter().map(|path| (server.url(path), 1)).collect();
        assert_eq!(url_counts(&run::lines(&done.stdout)), expected, "{seeds:?}");
    }
    let done = crawl(&[&bare]).expect(0);
    assert_eq!(url_counts(&run::lines(&done.stdout)), [(server.url("/bare"), 1)].into(), "{}", done.stderr);
    assert!(!sandbox.path("-").exists());
    // the seeds name the state, in any order; a run to standard output keeps none
    crawl_into("kept.jsonl", &[&*server.url("/two"), "urls.txt", "--seed", &server.url("/three")]).expect(0);
    let status = run(sandbox.bare().args(["status", "--seed", "urls.txt", "--seed"]).args([
        server.url("/three"),
        "--seed".to_owned(),
        server.url("/two"),
    ]));
    assert!(status.expect(0).stdout.contains("round 1 is complete"));
    for wrong in ["extrakt", "nowhere.txt"] {
        let refused = crawl(&[wrong]).expect(2);
        assert!(refused.stderr.contains(wrong) && refused.stderr.contains("URL"), "{}", refused.stderr);
    }
}

#[test]
fn words_after_a_seed_url_are_a_bad_line() {
    let (server, sandbox) = (server(), Sandbox::new());
    sandbox.write("seeds.txt", format!("{} depth=2\n{}\n", server.url("/one"), server.url("/two")));
    let done = run(&mut crawl(&sandbox, "seeds.txt")).expect(0);
    assert!(done.stderr.contains("seeds.txt: line 1: "), "{}", done.stderr);
    assert!(done.stderr.contains("more words after the URL"), "{}", done.stderr);
    assert_eq!(url_counts(&sandbox.records("out.jsonl")), [(server.url("/two"), 1)].into());
}
