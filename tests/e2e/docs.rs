//! Runs every command of the documents as a new user does: the lines are copied one by one into a shell in an
//! empty directory. URLs of example.org are served by this test.
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

use crate::{
    run::{Sandbox, run},
    support::{
        server::{Handler, Request, Response, Server},
        site::Site,
    },
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Commands that only a person runs: they install software, make a release, fetch a database, or are the
/// tests themselves.
const NOT_RUN: [&str; 9] = [
    "./",
    "cargo install ",
    "sudo ",
    "systemctl ",
    "cargo run --locked -p crawl-supply ",
    "(cd dist && sha256sum ",
    "git clone --depth 1 https://github.com/RustSec/",
    "ADVISORY_DB=",
    "CRAWL_PROFILE=",
];

/// Version folder of the documentation on a site of the examples.
const VERSION: &str = "/en/latest/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Lines of the shell command blocks, with continued ones joined.
fn commands(document: &str) -> Vec<String> {
    let (mut out, mut pending, mut inside) = (Vec::new(), String::new(), false);
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            inside = line.trim() == "```sh";
        } else if inside {
            match line.strip_suffix('\\') {
                Some(start) => pending.push_str(start),
                None => out.push(std::mem::take(&mut pending) + line),
            }
        }
    }
    out.retain(|line| !line.trim().is_empty() && !NOT_RUN.iter().any(|start| line.starts_with(start)));
    out
}

fn harbour() -> PathBuf {
    root().join("fixtures/sites/harbour")
}

fn site() -> Server {
    let site = Site::open(&harbour()).unwrap();
    let handler = move |request: &Request| {
        if request.target == "/feed.xml" {
            let host = request.header("host").unwrap();
            let item = format!("<item><link>http://{host}/news/dredging-starts.html</link></item>");
            let feed = format!("<rss version=\"2.0\"><channel>{item}</channel></rss>");
            return Response::new(200, "application/rss+xml", feed);
        }
        let mut request = request.clone();
        if let Some(rest) = request.target.strip_prefix(VERSION) {
            request.target = format!("/docs/{rest}");
        }
        site.answer(&request)
    };
    Server::start(0, handler).unwrap()
}

/// A directory with the files that the documents assume: seeds, sample pages, rules, and a crawl with its
/// archive.
fn sandbox(server: &Server) -> Sandbox {
    let sandbox = Sandbox::new();
    for seeds in ["urls.txt", "companies.txt", "manuals.txt", "blogs.txt"] {
        sandbox.write(seeds, server.url("/") + "\n");
    }
    for (name, page) in
        [("page.html", "index.html"), ("robots.txt", "robots.txt"), ("sitemap.xml", "sitemap.xml")]
    {
        fs::copy(harbour().join(page), sandbox.path(name)).unwrap();
    }
    for (name, archive) in [("foreign.warc.gz", "wget.warc.gz"), ("collection.wacz", "collection.wacz")] {
        fs::copy(root().join("fixtures/archives").join(archive), sandbox.path(name)).unwrap();
    }
    fs::create_dir(sandbox.path("mirror")).unwrap();
    fs::copy(harbour().join("about/index.html"), sandbox.path("mirror/index.html")).unwrap();
    sandbox.write("html.jsonl", "{\"url\":\"https://docs.example.org/\",\"html\":\"<p>Words of a page.\"}\n");
    sandbox.write("easylist-cookie.txt", "! a list\n##.cookie-banner\nexample.org###consent\n");
    sandbox.write("crawl.toml", "[crawl]\nscope = \"domain\"\n");
    fs::create_dir(sandbox.path("my-rules")).unwrap();
    fs::copy(root().join("config/rules/dates.toml"), sandbox.path("my-rules/dates.toml")).unwrap();
    // names of the binary in the documents
    fs::create_dir(sandbox.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_crawl"), sandbox.path("bin/crawl")).unwrap();
    sandbox
}

/// A shell in the sandbox; flags for a machine without network are settings of the environment.
fn shell(sandbox: &Sandbox, script: &str) -> Command {
    let mut shell = sandbox.shell("exec bash -eo pipefail -c \"$SCRIPT\"", &Command::new("true"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", sandbox.path("bin").display());
    // a machine without a pager
    let script = if has("less") { script.to_owned() } else { format!("less() {{ cat; }}\n{script}") };
    shell.env("SCRIPT", script).env("PATH", path);
    shell.env("CRAWL_POLITENESS_DELAY", "0s").env("CRAWL_FETCH_ALLOW_ADDRESSES", r#"["127.0.0.0/8"]"#);
    shell.env("CRAWL_CHROME_SANDBOX", "false").env("CRAWL_CRAWL_DEPTH", "2");
    shell
}

fn has(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

/// A line with the server of this test for the sites of the examples, and a record's id for its placeholder.
fn with_local_server(line: &str, server: &Server, sandbox: &Sandbox) -> String {
    let here = server.url("");
    let mut line = line.to_owned();
    for host in ["docs.example.org", "news.example.org"] {
        line = line.replace(&format!("https://{host}"), &here);
        line = line.replace(&format!("https://{}", host.replace('.', r"\.")), &here.replace('.', r"\."));
    }
    if line.contains("--explain ID") {
        let id = sandbox.records("pages.jsonl")[0]["id"].as_str().unwrap().to_owned();
        line = line.replace("--explain ID", &format!("--explain {id}"));
    }
    line
}

/// Runs the commands of a document; `before` are the commands that a reader has run before.
fn works(document: &str, before: &[&str]) {
    let (server, text) = (site(), fs::read_to_string(root().join(document)).unwrap());
    let sandbox = sandbox(&server);
    let lines = commands(&text);
    assert!(!lines.is_empty(), "{document} has no command");
    for line in before.iter().copied().map(str::to_owned).chain(lines) {
        let line = with_local_server(&line, &server, &sandbox);
        let done = run(&mut shell(&sandbox, &line));
        // 5: a limit in the line itself
        let code = done.code();
        assert!(
            code == 0 || (code == 5 && line.contains("--limit")),
            "{document}: {line}: {code}\n{}{}",
            done.stdout,
            done.stderr
        );
        for written in outputs(&line) {
            let path = written_file(&sandbox, &written);
            let size = fs::metadata(&path).map_or(0, |found| found.len());
            assert!(
                size > 0 || path.is_dir(),
                "{document}: {line}: {written} was not written\n{}",
                done.stderr
            );
        }
    }
}

/// The file that an output names. For a name with a date, it is the file with the same beginning.
fn written_file(sandbox: &Sandbox, name: &str) -> PathBuf {
    let Some((start, _)) = name.split_once('%') else { return sandbox.path(name) };
    let names = fs::read_dir(sandbox.path("")).unwrap().map(|entry| entry.unwrap().path());
    let is_named =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
    names.into_iter().find(is_named).unwrap_or_else(|| sandbox.path(name))
}

/// Files that a line writes.
fn outputs(line: &str) -> Vec<String> {
    let words: Vec<_> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    let flags = ["-o", "-O", "--output", "--html", "--report", "--table", "--warc", ">"];
    words
        .windows(2)
        .filter(|pair| flags.contains(&pair[0]) && !pair[1].starts_with("/dev/") && !pair[1].starts_with('~'))
        .map(|pair| pair[1].trim_matches('\'').to_owned())
        .collect()
}

const CRAWLED: [&str; 1] = ["crawl --seed urls.txt -o pages.jsonl --warc archive/"];

#[test]
fn readme() {
    works("README.md", &CRAWLED);
}

#[test]
#[ignore = "needs jq"]
fn getting_started() {
    works("docs/getting-started.md", &[]);
}

#[test]
fn recipes() {
    works("docs/recipes.md", &CRAWLED);
}

#[test]
fn commands_and_flags() {
    works("docs/commands.md", &CRAWLED);
}

#[test]
fn firecrawl() {
    works("docs/firecrawl.md", &CRAWLED);
}

#[test]
fn scrapy() {
    works("docs/scrapy.md", &CRAWLED);
}

#[test]
fn rag() {
    works("docs/rag.md", &[]);
}

#[test]
fn archive() {
    works("docs/archive.md", &[]);
}

#[test]
fn operation() {
    works("docs/operation.md", &["crawl --seed urls.txt -o pages.jsonl"]);
}

#[test]
fn duplicates_and_quality() {
    works("docs/duplicates.md", &CRAWLED);
    works("docs/quality.md", &CRAWLED);
}

#[test]
fn rules() {
    works("docs/rules.md", &[]);
}

/// Each document with commands is run.
#[test]
fn every_document_with_commands_is_run() {
    let own = include_str!("docs.rs");
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("docs/{}", path.file_name().unwrap().to_string_lossy());
        let text = fs::read_to_string(&path).unwrap_or_default();
        assert!(commands(&text).is_empty() || own.contains(&format!("works(\"{name}\"")), "{name}");
    }
}
