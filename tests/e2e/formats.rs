//! Outputs other than JSON lines: compressed, Parquet, folders of Markdown, selected fields. Each holds every
//! page once after any kill.

use crate::{
    kills::kill_after,
    run::{Sandbox, is_record, lines, run},
    support::{made::Tree, server::Server, site::Site},
};
use crawl_archive::{Item, ReadOptions, read_file};
use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lines of a compressed file, to its last byte.
fn unpacked(path: &Path) -> String {
    let (file, mut text) = (fs::File::open(path).unwrap(), String::new());
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        zstd::stream::read::Decoder::new(file).unwrap().read_to_string(&mut text).unwrap();
    }
    text
}

/// Occurrences of each URL in the output, in any format.
fn urls(path: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |url: String| *counts.entry(url).or_default() += 1;
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz" | "zst") => {
            for record in lines(&unpacked(path)) {
                is_record(&record);
                count(record["url"].as_str().unwrap().to_owned());
            }
        }
        Some("parquet") => {
            read_file(path, &ReadOptions { max_record: 1 << 24, keep_lines: false }, &mut |item| {
                let Item::Document(document) = item else { panic!("a row cannot be read") };
                count(document.url);
                ControlFlow::Continue(())
            })
            .unwrap();
        }
        _ => {
            for entry in lines(&fs::read_to_string(path.join("index.jsonl")).unwrap()) {
                let page = fs::read_to_string(path.join(entry["path"].as_str().unwrap())).unwrap();
                assert!(page.starts_with("---\nid: \"") && page.contains("\n---\n\n"), "{page}");
                count(entry["url"].as_str().unwrap().to_owned());
            }
        }
    }
    counts
}

fn markdown_files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                markdown_files(&path)
            } else {
                usize::from(path.extension().is_some_and(|e| e == "md"))
            }
        })
        .sum()
}

/// Kills a crawl several times, then lets it end.
fn killed_and_resumed(output: &str) {
    let tree = Tree { delay: Duration::from_millis(10), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || {
        let mut command =
            sandbox.crawl(&[server.url("/")], &["-o", output, "--host-concurrency", "3", "--no-dedup"]);
        command.env("CRAWL_OUTPUT_BATCH", "3");
        command
    };
    for more in [4, 8, 12, 9] {
        kill_after(&server, &mut crawl(), more);
    }
    run(&mut crawl()).expect(0);
    let expected: BTreeMap<String, usize> = tree.targets().iter().map(|t| (server.url(t), 1)).collect();
    let path = sandbox.path(output);
    assert_eq!(urls(&path), expected);
    if path.is_dir() {
        assert_eq!(markdown_files(&path), 60);
    }
    assert!(!sandbox.path("out.parquet.part").exists(), "a finished table has no journal");
    // the next round is appended; a folder has one file per page, and lists it once
    run(crawl().args(["--recrawl", "all", "--emit", "all"])).expect(0);
    let times = if path.is_dir() { 1 } else { 2 };
    assert_eq!(urls(&path).len(), 60);
    assert!(urls(&path).values().all(|n| *n == times), "{:?}", urls(&path));
    if path.is_dir() {
        assert_eq!(markdown_files(&path), 60, "an unchanged page keeps its file");
    }
}

#[test]
fn gzip_survives_kills() {
    killed_and_resumed("out.jsonl.gz");
}

#[test]
fn zstd_survives_kills() {
    killed_and_resumed("out.jsonl.zst");
}

#[test]
fn parquet_survives_kills() {
    killed_and_resumed("out.parquet");
}

#[test]
fn markdown_folder_survives_kills() {
    killed_and_resumed("pages/");
}

/// A run settles its last batch but cannot write its table: the round has not ended, so the same command ends
/// it.
#[test]
fn failed_table_is_written_by_the_next_run() {
    let (server, sandbox) = (Server::start(0, Tree::of(20).handler()).unwrap(), Sandbox::new());
    // the second round replaces an existing table
    for _ in 0..2 {
        let crawl = || sandbox.crawl(&[server.url("/")], &["-O", "out.parquet"]);
        fs::create_dir(sandbox.path("out.parquet.new")).unwrap();
        let failed = run(crawl().arg("--fresh")).expect(3);
        assert!(failed.stderr.contains("out.parquet"), "{}", failed.stderr);
        fs::remove_dir(sandbox.path("out.parquet.new")).unwrap();
        let asked = server.targets().len();
        run(&mut crawl()).expect(0);
        assert_eq!(urls(&sandbox.path("out.parquet")).len(), 20);
        assert!(urls(&sandbox.path("out.parquet")).values().all(|n| *n == 1));
        assert_eq!(server.targets().len(), asked, "nothing had to be fetched again");
    }
}

/// A journal torn between two runs: readable parts are kept, the exit code reports the rest once, and -O
/// always recovers.
#[test]
fn torn_journal_is_reported_and_recovered() {
    let tree = Tree { delay: Duration::from_millis(10), ..Tree::of(60) };
    let (server, sandbox) = (Server::start(0, tree.handler()).unwrap(), Sandbox::new());
    let crawl = || {
        let mut command = sandbox.crawl(&[server.url("/")], &["-O", "out.parquet", "--no-dedup"]);
        command.env("CRAWL_OUTPUT_BATCH", "3");
        command
    };
    let torn = |flags: &[&str]| {
        kill_after(&server, crawl().args(flags), 30);
        let part = fs::read(sandbox.path("out.parquet.part")).unwrap();
        assert!(part.len() > 2000, "{} bytes are settled", part.len());
        let middle = part.len() / 2;
        let holed = [&part[..middle], &[0; 40], &part[middle + 40..]].concat();
        sandbox.write("out.parquet.part", holed);
    };
    torn(&[]);
    let told = run(&mut crawl()).expect(7);
    assert!(
        told.stderr.contains("out.parquet.part:") && told.stderr.contains(".part.damaged-1"),
        "{}",
        told.stderr
    );
    let rows = urls(&sandbox.path("out.parquet"));
    assert!((50..60).contains(&rows.len()) && rows.values().all(|n| *n == 1), "{rows:?}");
    run(&mut crawl()).expect(0);
    assert_eq!(urls(&sandbox.path("out.parquet")), rows);
    torn(&["--fresh"]);
    run(crawl().arg("--fresh")).expect(0);
    assert_eq!(urls(&sandbox.path("out.parquet")).len(), 60);
}

/// With -O the output of the last round stays until this one has a record, in any format.
#[test]
fn round_replaces_the_output_of_the_last_one() {
    for output in ["out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"] {
        let (server, sandbox) = (Server::start(0, Tree::of(9).handler()).unwrap(), Sandbox::new());
        let crawl = |seed: String, flags: &[&str]| {
            run(&mut sandbox.crawl(&[seed], &[&["-O", output], flags].concat()))
        };
        crawl(server.url("/"), &[]).expect(0);
        assert_eq!(urls(&sandbox.path(output)).len(), 9, "{output}");
        crawl(server.url("/p/3.html"), &["--depth", "1", "--fresh"]).expect(0);
        let expected: BTreeMap<String, usize> = [3, 6, 7].map(|n| (server.url(&Tree::target(n)), 1)).into();
        assert_eq!(urls(&sandbox.path(output)), expected, "{output}");
        if output == "pages/" {
            assert_eq!(markdown_files(&sandbox.path(output)), 3);
        }
        // no seed can be fetched: the old output stays
        crawl("http://127.0.0.1:9/".into(), &[]).expect(4);
        assert_eq!(urls(&sandbox.path(output)), expected, "{output}");
    }
}

#[test]
fn fields_are_selected_and_wrong_names_refused() {
    let (server, sandbox) = (Server::start(0, Tree::of(2).handler()).unwrap(), Sandbox::new());
    let crawl =
        |fields: &str| run(&mut sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--fields", fields]));
    crawl("url,metadata.title,boilerplate.status").expect(0);
    let first = lines(&sandbox.read("out.jsonl")).into_iter().find(|r| r["url"] == server.url("/")).unwrap();
    let expected = serde_json::json!({"url": server.url("/"), "metadata": {"title": "page number 1"}, "boilerplate": {"status": "too_few_pages"}});
    assert_eq!(first, expected);
    let refused = crawl("url,metadata.titel").expect(2);
    assert!(refused.stderr.contains("did you mean \"metadata.title\"?"), "{}", refused.stderr);
}

#[test]
fn the_schema_is_printed() {
    let sandbox = Sandbox::new();
    let printed = run(sandbox.bare().arg("schema")).expect(0);
    let file = fs::read_to_string(root().join("schema/record.schema.json")).unwrap();
    assert_eq!(printed.stdout, file, "make it anew: crawl schema > schema/record.schema.json");
}

/// Loads the outputs with common libraries: `datasets`, pandas, DuckDB, datatrove, PyYAML.
/// `CRAWL_TEST_PYTHON` names a Python that has them (tests/python/requirements-data.txt).
#[test]
#[ignore = "needs the Python packages of tests/python/requirements-data.txt"]
fn python_loads_every_output() {
    let python = std::env::var("CRAWL_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = root().join("tests/python/load_outputs.py");
    let has = Command::new(&python)
        .arg(&script)
        .arg("--check")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(
        has.is_ok_and(|status| status.success()),
        "{python} lacks packages of tests/python/requirements-data.txt"
    );
    let server = Server::start(0, Site::open(&root().join("fixtures/sites/harbour")).unwrap()).unwrap();
    let sandbox = Sandbox::new();
    for output in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"] {
        run(&mut sandbox.crawl(&[server.url("/")], &["-O", output, "--depth", "6", "--fresh"])).expect(0);
    }
    let loaded =
        Command::new(&python).arg(&script).arg(sandbox.path("")).env("HF_HUB_OFFLINE", "1").output().unwrap();
    let said = String::from_utf8_lossy(&loaded.stdout);
    assert!(loaded.status.success(), "{said}\n{}", String::from_utf8_lossy(&loaded.stderr));
    println!("{said}");
}
