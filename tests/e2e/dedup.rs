//! `crawl dedup` as a whole: against the specification in Python, twice in a row, and its report.

use crate::{
    run::{self, Done, Sandbox, run},
    support::{server::Server, site::Site},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Whole-page text of sites, which belongs to their publishers and is not part of this repository.
const SITES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/bench/boilerplate/score.py");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn python(args: &[&Path]) -> Option<String> {
    let ran = Command::new("python3").args(args).stderr(Stdio::inherit()).output().ok()?;
    assert!(ran.status.success(), "{args:?}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// Compares the mode `exact` with the literal specification on one file: text, hashes and bytes.
fn compare_with_python(pages: &str) -> Option<usize> {
    let sandbox = Sandbox::new();
    sandbox.write("in.jsonl", pages);
    let script = root().join("tests/python/domain_dedup.py");
    let theirs = lines(&python(&[&script, &sandbox.path("in.jsonl")])?);
    let ours = lines(&run(sandbox.bare().args(["dedup", "--mode", "exact", "in.jsonl"])).expect(0).stdout);
    assert_eq!(ours.len(), theirs.len());
    let mut blocks = 0;
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let info = &ours["boilerplate"];
        let hashes: Vec<&Value> =
            info["removed"].as_array().into_iter().flatten().map(|span| &span["hash"]).collect();
        assert_eq!(json!(hashes), theirs["removed"], "{}", ours["url"]);
        assert_eq!(info["bytesRemoved"], theirs["bytesRemoved"], "{}", ours["url"]);
        assert_eq!(ours["text"], theirs["text"], "{}", ours["url"]);
        blocks += hashes.len();
    }
    Some(blocks)
}

/// Sites of an invented publisher: a banner, a section with its own header, a footer, pages with nothing
/// else.
fn invented() -> String {
    let banner =
        "We keep small files on your machine, so that the lamp in the window knows you when you come again.";
    let notice = "All rights are with the keepers of the lamp,\nwho answer letters on working days between nine and noon.";
    let mut out = String::new();
    for n in 0..40_u32 {
        let own = format!(
            "On day {n} of the long winter the keeper wrote down {} boats, {} of them with a Σ on the sail, and what each of \
             them had brought: salt, rope, oranges once, and letters for people who had moved away.\n\n\nShort.\n\n\
             In the evening of day {n} there was a wind from the south which nobody had foretold, and the glass fell by {} \
             before the lamp was lit, as an older keeper had seen it do only once in all his years.",
            n * 7,
            n % 5,
            n * 3
        );
        let content = match n {
            7 => format!("{banner}\n\n{notice}"),
            n if n % 4 == 0 => format!("  {banner}\r\n \n{own}\n\n\n\n{}\n", notice.to_uppercase()),
            _ => format!("{banner}\n\nLetters\n\n{own}\n\n{notice}"),
        };
        let host = if n % 9 == 8 { "few.example" } else { "lamp.example" };
        let url = format!("https://{host}/{}/{n}", if n % 2 == 0 { "letters" } else { "boats" });
        writeln!(out, "{}", json!({"id": n, "url": url, "content": content, "kept": [1.50, {"a": null}]}))
            .unwrap();
    }
    out
}

#[test]
#[ignore = "needs Python"]
fn exact_mode_equals_the_reference_implementation() {
    match compare_with_python(&invented()) {
        Some(blocks) => assert!(blocks > 60, "{blocks}"),
        None => panic!("there is no python3 to compare with"),
    }
}

/// Compares the mode `exact` with the literal specification on real sites.
#[test]
#[ignore = "needs the benchmark suites"]
fn exact_mode_equals_the_reference_on_real_sites() {
    assert!(Path::new(SITES).is_file(), "{SITES} is not here");
    let Some(pages) = python(&[Path::new(SITES), Path::new("input")]) else {
        panic!("there is no python3 to compare with");
    };
    let blocks = compare_with_python(&pages).unwrap();
    println!("{} pages, {blocks} blocks removed: the same", pages.lines().count());
    assert!(blocks > 0);
}

/// A run over its own output changes no byte.
#[test]
fn a_second_run_changes_nothing() {
    for mode in ["exact", "site"] {
        let sandbox = Sandbox::new();
        sandbox.write("in.jsonl", invented());
        let once = run(sandbox.bare().args(["dedup", "--mode", mode, "in.jsonl"])).expect(0).stdout;
        assert!(once.contains("\"reason\""), "something goes");
        assert!(once.contains(r#""kept":[1.5,{"a":null}]"#), "the rest stays as it stood");
        sandbox.write("again.jsonl", &once);
        let twice = run(sandbox.bare().args(["dedup", "--mode", mode, "again.jsonl"])).expect(0).stdout;
        assert_eq!(twice, once, "{mode}");
    }
}

/// The last pass of a crawl runs here too, as far as the record names the extractor of its text.
#[test]
fn dedup_removes_tracking_pixels_and_keeps_cleaned_text() {
    let pixel = "![](https://www.facebook.com/tr?id=7&ev=PageView)";
    let line = |n: usize, extractor: Option<&str>| {
        let own = format!(
            "The keeper of sheet {n} wrote down {} boats and what each of them had brought that day.",
            n * 7
        );
        json!({"url": format!("https://h.example/{n}"), "content": format!("{own}\n\n{pixel}\n\n{own} Twice."),
            "metadata": {"extractor": extractor}})
        .to_string()
    };
    let sandbox = Sandbox::new();
    let extractors = [Some("readability"), Some("page_type"), None, Some("plain_text")];
    let pages: Vec<String> = (0..8).map(|n| line(n, extractors[n % 4])).collect();
    sandbox.write("in.jsonl", pages.join("\n"));
    let dedup = |args: &[&str]| run(sandbox.bare().arg("dedup").args(args)).expect(0);
    for mode in ["exact", "site"] {
        let done = dedup(&["--mode", mode, "in.jsonl"]).stdout;
        for (n, record) in lines(&done).iter().enumerate() {
            let has_pixel = record["text"].as_str().unwrap().contains("facebook");
            assert_eq!(has_pixel, extractors[n % 4] == Some("plain_text"), "{mode}: {record}");
        }
        let explained = dedup(&["--mode", mode, "--explain", "in.jsonl"]).stdout;
        assert!(
            explained.contains(&format!(
                "  last pass: bare links, bare headings, addresses and tracking pixels\n  - {pixel}"
            )),
            "{explained}"
        );
        // more pages required than there are: cleaned text stays unchanged, with a message
        sandbox.write("cleaned.jsonl", &done);
        let again = dedup(&["--mode", mode, "--min-pages", "50", "--stats", "s.json", "cleaned.jsonl"]);
        assert_eq!(again.stdout, done);
        assert!(
            again.stderr.contains("8 records keep the text and boilerplate of an earlier run"),
            "{}",
            again.stderr
        );
        let stats: Value = serde_json::from_str(&sandbox.read("s.json")).unwrap();
        assert!(
            stats["domain_results"][0]["warning"]
                .as_str()
                .unwrap()
                .contains("8 pages, fewer than min_pages (50)"),
            "{stats}"
        );
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Content of a record without its removed parts; `exact` and `site` differ in blank lines.
fn without_removed(record: &Value) -> String {
    let content = run::content(record);
    let (mut left, mut from) = (String::new(), 0);
    for span in record["boilerplate"]["removed"].as_array().into_iter().flatten() {
        let (start, end) = (number(&span["start"]), number(&span["end"]));
        assert!(from <= start && start < end, "in order: {span}");
        left.push_str(&content[from..start]);
        from = end;
    }
    left + &content[from..]
}

/// Words of a text: only whitespace between the parts changes.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// `text` and the removed parts restore `content`, for each record of either mode.
#[test]
fn removed_parts_restore_the_record() {
    for mode in ["exact", "site"] {
        let sandbox = Sandbox::new();
        sandbox.write("in.jsonl", invented());
        let done = run(sandbox.bare().args(["dedup", "--mode", mode, "in.jsonl"])).expect(0).stdout;
        let mut removed = 0;
        for record in lines(&done) {
            assert_eq!(
                words(&without_removed(&record)),
                words(record["text"].as_str().unwrap()),
                "{mode}: {record}"
            );
            assert!(!record["text"].as_str().unwrap().trim().is_empty(), "no page is emptied");
            let info = &record["boilerplate"];
            let spans = info["removed"].as_array().map_or(&[][..], |spans| spans);
            let bytes: usize = spans.iter().map(|span| number(&span["end"]) - number(&span["start"])).sum();
            assert_eq!((number(&info["blocksRemoved"]), number(&info["bytesRemoved"])), (spans.len(), bytes));
            removed += spans.len();
        }
        assert!(removed > 60, "{mode}: {removed}");
    }
}

/// Lines that a page has beyond another's, in order; none if the other has lines of its own.
fn more_lines<'a>(longer: &'a str, shorter: &str) -> Option<Vec<&'a str>> {
    let mut rest = shorter.lines().filter(|line| !line.trim().is_empty()).peekable();
    let mut more = Vec::new();
    for line in longer.lines().filter(|line| !line.trim().is_empty()) {
        if rest.peek().is_some_and(|next| next.trim() == line.trim()) {
            rest.next();
        } else {
            more.push(line);
        }
    }
    rest.peek().is_none().then_some(more)
}

/// A crawl of the fixture site with these flags.
fn crawled(flags: &[&str]) -> (Server, Vec<Value>) {
    let site = Site::open(&root().join("fixtures/sites/harbour")).unwrap();
    let server = Server::start(0, site).unwrap();
    let sandbox = Sandbox::new();
    let flags = [&["-O", "out.jsonl", "--depth", "6"], flags].concat();
    run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    let records = sandbox.records("out.jsonl");
    assert!(records.len() > 60);
    (server, records)
}

/// The removed parts of a crawl's record, and what the last pass drops (links and pictures), are the only
/// differences to `content`.
#[test]
fn crawl_content_is_text_plus_removed_parts() {
    let (_server, records) = crawled(&[]);
    let (mut removed, mut same) = (0, 0);
    for record in &records {
        let left = without_removed(record);
        let text = record["text"].as_str().unwrap();
        let dropped = more_lines(&left, text).unwrap_or_else(|| panic!("more than its content: {record}"));
        assert!(dropped.iter().all(|line| line.contains("](")), "{dropped:?}");
        removed += number(&record["boilerplate"]["blocksRemoved"]);
        same += usize::from(dropped.is_empty());
    }
    assert!(removed > 20 && same * 10 > records.len() * 8, "{removed} {same} of {}", records.len());
}

#[test]
fn no_dedup_changes_only_text_and_boilerplate() {
    let (on_server, on) = crawled(&[]);
    let (off_server, off) = crawled(&["--no-dedup"]);
    let by_path = |server: &Server, records: Vec<Value>| -> BTreeMap<String, Value> {
        let path = |record: &Value| record["url"].as_str().unwrap().replace(&server.url("/"), "/");
        records.into_iter().map(|record| (path(&record), record)).collect()
    };
    let (on, off) = (by_path(&on_server, on), by_path(&off_server, off));
    assert_eq!(on.keys().collect::<Vec<_>>(), off.keys().collect::<Vec<_>>());
    for (path, record) in &off {
        assert_eq!(record["content"], Value::Null, "{path}");
        assert_eq!(record["boilerplate"]["status"], "off");
        // links are absolute, and the servers differ
        let place = |server: &Server, record: &Value| run::content(record).replace(&server.url("/"), "/");
        assert_eq!(place(&off_server, record), place(&on_server, &on[path]));
        for key in ["title", "language", "pageType", "extractor", "statusCode", "isArticle"] {
            assert_eq!(record["metadata"][key], on[path]["metadata"][key], "{path} {key}");
        }
    }
    assert!(on.values().any(|record| record["content"].is_string()));
}

/// The figures of the report are those of `--stats`, its pages are correct, and it loads no external
/// resource.
#[test]
fn dedup_report_matches_the_statistics() {
    for mode in ["exact", "site"] {
        let sandbox = Sandbox::new();
        sandbox.write("in.jsonl", invented().replace("Short.", "</script><b>Short</b>."));
        let flags = ["--mode", mode, "--html", "report.html", "--stats", "stats.json", "in.jsonl"];
        let Done { stdout, .. } = run(sandbox.bare().arg("dedup").args(flags)).expect(0);
        let stats: Value = serde_json::from_str(&sandbox.read("stats.json")).unwrap();
        let page = sandbox.read("report.html");
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let domains = data["domains"].as_array().unwrap();
        let shown: Vec<&Value> = domains.iter().map(|domain| &domain["stats"]).collect();
        assert_eq!(json!(shown), stats["domain_results"]);
        for domain in domains {
            let total = &domain["stats"]["bytes_removed_total"];
            let sum = |values: &[&Value]| values.iter().map(|value| value.as_u64().unwrap()).sum::<u64>();
            let rows = domain["rows"].as_array().unwrap();
            assert_eq!(sum(&rows.iter().map(|row| &row[2]).collect::<Vec<_>>()), *total);
            assert_eq!(sum(&domain["reasons"].as_object().unwrap().values().collect::<Vec<_>>()), *total);
            let blocks = domain["blocks"].as_array().unwrap();
            assert_eq!(sum(&blocks.iter().map(|block| &block["bytes"]).collect::<Vec<_>>()), *total);
            assert_eq!(json!(rows.len()), domain["stats"]["pages_analyzed"]);
        }
        let rows: BTreeMap<&str, &Value> = domains
            .iter()
            .flat_map(|domain| domain["rows"].as_array().unwrap())
            .map(|row| (row[0].as_str().unwrap(), row))
            .collect();
        for record in lines(&stdout) {
            let parts = rows[record["url"].as_str().unwrap()][4].as_array().unwrap();
            let kept: String = parts.iter().filter_map(Value::as_str).collect();
            assert_eq!(words(&kept), words(record["text"].as_str().unwrap()));
            let all = parts.iter().map(|part| part.as_str().unwrap_or_else(|| part[0].as_str().unwrap()));
            assert_eq!(all.collect::<String>(), run::content(&record));
        }
        let frame = page.replace(&data.to_string(), "");
        assert!(frame.contains("default-src 'none'"), "its own policy lets it load nothing");
        for loads in [" src=", "@import", "url(", "fetch(", "<link rel=\"stylesheet"] {
            assert!(!frame.split_once("<script type").unwrap().0.contains(loads), "{loads}");
        }
    }
}

/// The batch algorithm: blocks on most pages of a domain are removed, the rest stays byte for byte, and a
/// second pass changes nothing.
#[test]
fn dedup_removes_repeated_blocks_and_is_idempotent() {
    let sandbox = Sandbox::new();
    let strip = "The tide bulletin comes by post card every Monday and costs nothing but a stamp; leave your address with the watch.";
    let mut input = String::new();
    for n in 0..8 {
        let own = format!(
            "Page {n} of the almanac tells of tide number {n}, of the wind on that day and of what the watch had for supper."
        );
        input += &json!({"id": n, "url": format!("https://h.example/{n}"), "content": format!("{own}\n\n{strip}")}).to_string();
        input.push('\n');
    }
    sandbox.write("in.jsonl", input);
    let first = run(sandbox.bare().args(["dedup", "in.jsonl"])).expect(0).stdout;
    let records = lines(&first);
    assert_eq!(records.len(), 8);
    for (n, record) in records.iter().enumerate() {
        let text = record["text"].as_str().unwrap();
        assert!(text.contains(&format!("tide number {n}")) && !text.contains("tide bulletin"), "{record}");
        assert!(record["content"].as_str().unwrap().contains(strip), "content is never modified");
    }
    sandbox.write("again.jsonl", &first);
    let second = run(sandbox.bare().args(["dedup", "again.jsonl"])).expect(0).stdout;
    assert_eq!(lines(&second), records);
    // every removed line is reported with its reason, and its position in the record is correct
    let told = run(sandbox.bare().args(["dedup", "--explain", "in.jsonl"])).expect(0).stdout;
    assert_eq!(told.matches(&format!("  - {strip}\n")).count(), 8, "{told}");
    assert!(told.contains("https://h.example/3\n") && told.contains("8 of 8 pages"), "{told}");
    let span = &records[3]["boilerplate"]["removed"][0];
    let place = |key: &str| usize::try_from(span[key].as_u64().unwrap()).unwrap();
    assert_eq!(&records[3]["content"].as_str().unwrap()[place("start")..place("end")], strip);
    let exact = run(sandbox.bare().args(["dedup", "--mode", "exact", "in.jsonl"])).expect(0).stdout;
    assert_eq!(lines(&exact)[3]["boilerplate"]["removed"][0]["reason"], "block");
    run(sandbox.bare().args(["dedup", "--threshold-pct", "0.05", "in.jsonl"])).expect(2);
    // the output may be the input
    run(sandbox.bare().args(["dedup", "in.jsonl", "-o", "in.jsonl"])).expect(0);
    assert_eq!(fs::read_to_string(sandbox.path("in.jsonl")).unwrap(), first);
    run(sandbox.bare().args(["dedup", "in.jsonl", "-o", "/dev/full"])).expect(3);
    // what would lose records, or hold another format than its name says
    for words in [&["-o", "in.jsonl", "--explain"][..], &["-o", "out.parquet"], &["-o", "out.jsonl.gz"]] {
        run(sandbox.bare().args(["dedup", "in.jsonl"]).args(words)).expect(2);
    }
    let broken = format!("{first}not json\n");
    sandbox.write("broken.jsonl", &broken);
    let refused = run(sandbox.bare().args(["dedup", "broken.jsonl", "-o", "broken.jsonl"])).expect(2);
    assert!(refused.stderr.contains("broken.jsonl: not overwritten"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(sandbox.path("broken.jsonl")).unwrap(), broken);
}
