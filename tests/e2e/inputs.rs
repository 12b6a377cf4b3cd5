//! Names and inputs that are easily mistaken: what is refused, and with which words.

use crate::run::{Sandbox, lines, run};
use std::{fs, io::Write, net::TcpListener, os::unix::fs::symlink};

const RECORDS: &str = "{\"id\":\"1\",\"url\":\"https://a.example/1\",\"text\":\"One text.\"}\n\
    {\"id\":\"2\",\"url\":\"https://a.example/2\",\"text\":\"Another text.\"}\n";
const PAGE: &str = "<!doctype html><title>A page</title><main><p>Words of a page that say something.</main>";

/// Standard error of a command that is refused.
fn refused(sandbox: &Sandbox, words: &[&str]) -> String {
    run(sandbox.bare().args(words)).expect(2).stderr
}

fn gzip(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

#[test]
fn no_output_replaces_an_input() {
    let sandbox = Sandbox::new();
    sandbox.write("in.jsonl", RECORDS);
    sandbox.write("in.parquet", RECORDS);
    sandbox.write("seeds.txt", "https://a.example/\n");
    symlink(sandbox.path("in.jsonl"), sandbox.path("link")).unwrap();
    fs::create_dir(sandbox.path("pages")).unwrap();
    for (command, flags) in [
        ("dedup", &["--stats", "--html"][..]),
        ("duplicates", &["--report", "--table", "--html", "--bands", "--terms"]),
        ("quality", &["-o", "--stats", "--html"]),
    ] {
        for (flag, name) in
            flags.iter().flat_map(|flag| ["in.jsonl", "./in.jsonl", "link"].map(|name| (flag, name)))
        {
            let said = refused(&sandbox, &[command, "in.jsonl", flag, name]);
            assert!(said.contains(&format!("{flag} {name}: this file is an input")), "{command}: {said}");
            assert_eq!(sandbox.read("in.jsonl"), RECORDS, "{command} {flag} {name}");
        }
    }
    let beside =
        refused(&sandbox, &["duplicates", "in.parquet", "in.jsonl", "--table", "in.csv", "--parquet"]);
    assert!(beside.contains("--parquet in.parquet: this file is an input"), "{beside}");
    let crawl = refused(&sandbox, &["seeds.txt", "-o", "x.jsonl", "--metrics-textfile", "./seeds.txt"]);
    assert!(crawl.contains("--metrics-textfile ./seeds.txt: this file is an input"), "{crawl}");
    let replaced = refused(&sandbox, &["seeds.txt", "-O", "./seeds.txt"]);
    assert!(
        replaced.contains("-O seeds.txt: this file is an input")
            || replaced.contains("-O ./seeds.txt: this file is an input")
    );
    let replay = refused(&sandbox, &["replay", "pages", "-o", "./pages/"]);
    assert!(replay.contains("-o ./pages/: this file is an input"), "{replay}");
    let both = refused(&sandbox, &["quality", "in.jsonl", "--stats", "new", "--html", "./new"]);
    assert!(both.contains("this file is also the file of --html"), "{both}");
    assert!(!sandbox.path("new").exists());
    // the records of dedup may replace their input, and a device is no input
    run(sandbox.bare().args(["dedup", "in.jsonl", "-o", "in.jsonl"])).expect(0);
    run(sandbox.bare().args(["quality", "in.jsonl", "--stats", "/dev/null", "--html", "/dev/null"]))
        .expect(0);
}

/// The records of one crawl may be the seeds of the next.
#[test]
fn records_may_be_appended_to_the_seeds() {
    let sandbox = Sandbox::new();
    sandbox.write("seeds.jsonl", "{\"url\":\"http://127.0.0.1:1/\"}\n");
    let words = ["--seed", "seeds.jsonl", "-o", "seeds.jsonl", "--allow-address", "127.0.0.1/32", "-q"];
    let done = run(sandbox.bare().args(words).args(["--state-dir", "state"]));
    assert!(!done.stderr.contains("is an input"), "{}", done.stderr);
    assert_eq!(lines(&sandbox.read("seeds.jsonl")).len(), 1);
}

#[test]
fn the_report_of_a_run_replaces_no_file_of_its_state() {
    let sandbox = Sandbox::new();
    run(&mut sandbox.crawl(&["http://127.0.0.1:1/".to_owned()], &["-q"])).expect(4);
    for name in ["state/errors.jsonl", "state/crawl.sqlite"] {
        let said = refused(&sandbox, &["report", "--state-dir", "state", "-o", name]);
        assert!(said.contains("is an input"), "{said}");
    }
    run(sandbox.bare().args(["report", "--state-dir", "state", "-o", "state/report.html"])).expect(0);
    sandbox.write("in.jsonl", RECORDS);
    let said = refused(&sandbox, &["report", "--state-dir", "state", "-o", "in.jsonl"]);
    assert!(said.contains("in.jsonl: not overwritten, since it is no HTML page"), "{said}");
    assert_eq!(sandbox.read("in.jsonl"), RECORDS);
}

#[test]
fn an_input_without_records_empties_no_output() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.jsonl", "\n");
    sandbox.write("clean.jsonl", RECORDS);
    let said = refused(&sandbox, &["dedup", "empty.jsonl", "-o", "clean.jsonl"]);
    assert!(said.contains("empty.jsonl: has no record; clean.jsonl was not overwritten"), "{said}");
    assert_eq!(sandbox.read("clean.jsonl"), RECORDS);
    let done = run(sandbox.bare().args(["dedup", "empty.jsonl", "-o", "new.jsonl"])).expect(0);
    assert!(done.stderr.contains("empty.jsonl: has no record\n"), "{}", done.stderr);
    assert_eq!(sandbox.read("new.jsonl"), "");
    run(sandbox.bare().args(["dedup", "empty.jsonl", "-o", "empty.jsonl"])).expect(0);
}

#[test]
fn packed_lines_are_unpacked_and_other_formats_named() {
    let sandbox = Sandbox::new();
    let plain = sandbox.write("in.jsonl", RECORDS);
    let want = run(sandbox.bare().args(["dedup"]).arg(plain)).expect(0).stdout;
    // the content decides, not the name
    sandbox.write("gzip", gzip(RECORDS));
    sandbox.write("zstd", zstd::encode_all(RECORDS.as_bytes(), 1).unwrap());
    for name in ["gzip", "zstd"] {
        assert_eq!(run(sandbox.bare().args(["dedup", name])).expect(0).stdout, want, "{name}");
        let piped = fs::File::open(sandbox.path(name)).unwrap();
        assert_eq!(run(sandbox.bare().arg("dedup").stdin(piped)).expect(0).stdout, want, "{name}");
    }
    let line = format!("{}\n", serde_json::json!({"url": "https://a.example/", "html": PAGE}));
    sandbox.write("pages", gzip(&line));
    for flags in [&["--jsonl"][..], &["--jsonl", "--by-site"]] {
        let done = run(sandbox.bare().args(["extract", "pages"]).args(flags)).expect(0);
        assert_eq!(lines(&done.stdout).len(), 1, "{flags:?}");
    }
    for (head, name) in
        [(&b"PAR1\x15\x04\xff\n\n"[..], "Parquet"), (b"WARC/1.1\r\n", "WARC"), (b"%PDF-1.7\n", "PDF")]
    {
        sandbox.write("other", head);
        for words in
            [&["dedup", "other"][..], &["extract", "--jsonl", "other"], &["classify", "--jsonl", "other"]]
        {
            let said = refused(&sandbox, words);
            assert_eq!(
                said,
                format!("crawl: other: this is {name}, but the input must be JSON lines\n"),
                "{words:?}"
            );
        }
    }
}

#[test]
fn an_address_without_a_scheme_is_answered_with_the_whole_one() {
    let sandbox = Sandbox::new();
    sandbox.write("page.html", PAGE);
    sandbox.write("robots.txt", "User-agent: *\n");
    for (words, whole) in [
        (["extract", "page.html", "--url", "localhost:8080/a"], "http://localhost:8080/a"),
        (["check", "robots", "robots.txt", "--url=a.example/b"], "https://a.example/b"),
        (["check", "sitemap", "robots.txt", "--url=a.example:80/b"], "http://a.example/b"),
    ] {
        let said = refused(&sandbox, &words);
        assert!(said.contains(&format!("no scheme; write {whole}\n")), "{said}");
    }
    for what in ["robots", "sitemap"] {
        let said = refused(&sandbox, &["check", what, "a.example"]);
        assert!(
            said.contains(
                "a.example: this is a URL; save the file first (curl -o FILE URL), then name FILE, and"
            ),
            "{said}"
        );
    }
    let page = |url: &str| format!("{}\n", serde_json::json!({"id": url, "url": url, "html": PAGE}));
    let names = ["a.example/x", "localhost:80/x", "https://a.example/", "doc:123", ""];
    sandbox.write("pages.jsonl", names.map(page).concat() + &page("b.example").repeat(30));
    let done = run(sandbox.bare().args(["extract", "--jsonl", "pages.jsonl"])).expect(0);
    let urls: Vec<_> =
        lines(&done.stdout).iter().map(|record| record["url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(urls[..5], ["", "", "https://a.example/", "doc:123", ""]);
    for said in [
        "pages.jsonl: line 1: the page is read without its url \"a.example/x\": no scheme; write https://a.example/x\n",
        "pages.jsonl: line 2: the page is read without its url \"localhost:80/x\": no scheme; write http://localhost/x\n",
        "pages.jsonl: 12 more lines have an invalid url\n",
    ] {
        assert!(done.stderr.contains(said), "{}", done.stderr);
    }
    assert_eq!(done.stderr.lines().count(), 21);
}

#[test]
fn folders_are_read_or_their_files_asked_for() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("a.example/sub")).unwrap();
    fs::create_dir(sandbox.path("site")).unwrap();
    for n in 0..8 {
        let page = format!(
            "<title>{n}</title><nav>Menu of the site</nav><main><p>Text {n} alone has {n} words.</main>"
        );
        sandbox.write(&format!("a.example/sub/{n}.html"), &page);
        sandbox.write(&format!("site/{n}.html"), &page);
    }
    let host = |words: &[&str]| {
        let shown = run(sandbox.bare().args(["site", "--json"]).args(words)).expect(0).stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        format!("{} {}", shown[0]["host"].as_str().unwrap(), shown[0]["pages"])
    };
    assert_eq!(host(&["a.example"]), "a.example 8");
    assert_eq!(host(&["site", "--url", "https://b.example/"]), "b.example 8");
    assert!(refused(&sandbox, &["site", "site"]).contains("site: no page of HTML with a known URL"));
    for command in ["duplicates", "quality"] {
        let said = refused(&sandbox, &[command, "site/"]);
        assert!(said.contains("site: a folder; name its files, such as 'site/*.jsonl'"), "{said}");
    }
    let said = refused(&sandbox, &["check", "rules", "site"]);
    assert!(said.contains("site: nothing to check: it contains no rules file"), "{said}");
}

#[test]
fn a_long_word_is_not_repeated_as_a_whole() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(10_000);
    for words in [
        &[long.as_str()][..],
        &["extract", &long],
        &["https://a.example/", "--scope", &long],
        &["projects", "show", &long, "--database", "projects.sqlite"],
        &["duplicates", &long],
    ] {
        let said = refused(&sandbox, words);
        assert!(said.len() < 1_200 && said.contains("xxx…xxx"), "{:?}: {}", &words[0][..3], said.len());
    }
}

#[test]
fn messages_name_the_place_and_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.write("in.jsonl", RECORDS);
    sandbox.write("seeds.txt", "foo bar\n/path\n<html>\n");
    let seeds = refused(&sandbox, &["seeds.txt"]);
    for said in [
        "line 1: \"foo bar\": neither a URL nor a host;",
        "line 2: \"/path\": there is no host;",
        "line 3: \"<html>\": neither a URL nor a host;",
    ] {
        assert!(seeds.contains(said), "{seeds}");
    }
    let state =
        run(sandbox.bare().args(["https://a.example/", "--state-dir", "in.jsonl/state"])).expect(3).stderr;
    assert!(state.contains("in.jsonl/state: cannot be made: ") && state.contains("--state-dir"), "{state}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = (taken.local_addr().unwrap().to_string(), taken);
    let said = refused(&sandbox, &["serve", "--listen", &taken.0]);
    assert!(said.contains("name another address with --listen"), "{said}");
    for (address, advice) in [
        ("8080", "127.0.0.1:8080\n"),
        ("localhost:8080", "127.0.0.1:8080\n"),
        ("0.0.0.0", "0.0.0.0:8620\n"),
        ("::1", "[::1]:8620\n"),
        ("a.example:70000", "ADDRESS:PORT, such as 127.0.0.1:8620"),
    ] {
        let said = refused(&sandbox, &["serve", "--listen", address]);
        assert!(said.contains(&format!("write {advice}")), "{said}");
    }
    for flag in ["--report", "--html"] {
        let said = run(sandbox.bare().args(["duplicates", "in.jsonl", flag, "/dev/full"])).expect(3).stderr;
        assert!(said.starts_with("crawl: /dev/full: ") && said.matches("No space").count() == 1, "{said}");
    }
}

/// A server in plain text at the port of an `https://` address.
#[test]
fn a_server_without_tls_is_named_as_such() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let answer = move || {
        for mut stream in server.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    };
    std::thread::Builder::new().name("plain-text".into()).spawn(answer).unwrap();
    let sandbox = Sandbox::new();
    let done = run(&mut sandbox.crawl(&[format!("https://{address}/")], &[])).expect(4);
    assert!(done.stderr.contains("the server speaks no TLS at this port; write http://"), "{}", done.stderr);
}
