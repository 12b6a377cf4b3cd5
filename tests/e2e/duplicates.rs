//! `crawl duplicates`, by the binary.

use crate::run::{Sandbox, run};
use serde_json::{Value, json};
use std::process::Command;

const STORY: &str = "The old ferry leaves the harbour every morning and comes back in the evening with the tide. \
    The captain has a lantern, a rope, and a bell that can be heard on the island when there is fog. On market days \
    the deck is full of baskets, and nobody asks for a ticket until the last of them is ashore.";

fn line(id: &str, text: &str) -> String {
    json!({"id": id, "url": format!("https://a.test/{id}"), "text": text, "metadata": {"title": format!("About {id}")}}).to_string()
}

/// Five documents: two near duplicates and a broken line as JSONL, a page as WARC, texts as CSV, and a file
/// that is no input.
fn corpus(sandbox: &Sandbox) {
    let near = STORY.replace("lantern", "torch");
    let other = "Nothing of this has to do with ships: it is a recipe for bread, flour and water and a long night of waiting for it to rise.";
    sandbox.write("a.jsonl", [line("one", STORY), "{broken".into(), line("two", &near)].join("\n"));
    let paragraphs: String = STORY.split_inclusive(". ").map(|s| format!("<p>{s}</p>")).collect();
    let page = format!(
        "<html><head><title>Ferry</title></head><body><article><h1>Ferry</h1>{paragraphs}</article></body></html>"
    );
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}");
    sandbox.write(
        "b.warc",
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://b.test/\r\nWARC-Record-ID: <urn:uuid:1>\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\nrubbish",
            block.len()
        ),
    );
    sandbox.write(
        "c.csv",
        format!("id,url,text\nthree,http://c.test/,\"{STORY}\"\nfour,http://c.test/4,\"{other}\"\n"),
    );
}

fn duplicates(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.bare();
    command.arg("duplicates").args(["*.jsonl", "*.warc", "c.csv"].map(|name| sandbox.path(name)));
    command.env("SOURCE_DATE_EPOCH", "86400");
    // a corpus of five cannot have terms in three documents
    command.args(["--min-df", "1", "--jaccard", "0.7", "--cosine", "0.7"]);
    command
}

#[test]
fn duplicate_groups_span_files_of_several_formats() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    let out = |name: &str| sandbox.path(name);
    let done = run(duplicates(&sandbox)
        .arg("--report")
        .arg(out("r.json"))
        .arg("--table")
        .arg(out("t.csv"))
        .arg("--parquet")
        .arg("--html")
        .arg(out("r.html"))
        .arg("--bands")
        .arg(out("b.parquet"))
        .arg("--terms")
        .arg(out("t.tsv")))
    .expect(0);
    assert_eq!(done.stdout, "");
    for said in [
        "record 2: not JSON",
        "no WARC record begins here: \"rubbish\"",
        "5 documents",
        "2 records unreadable",
    ] {
        assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
    }
    let report: Value = serde_json::from_str(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["meta"]["timestamp"], "1970-01-02T00:00:00Z");
    assert_eq!(report["meta"]["inputs"][0]["unreadable"], json!({"not_json": 1}));
    let group = &report["near_duplicate_groups"][0];
    assert_eq!(group["members"], json!([0, 1, 2, 3]), "{report:#}");
    assert_eq!(report["documents"][2]["id"], "urn:uuid:1");
    assert_eq!(report["documents"][2]["title"], "Ferry");
    assert_eq!(report["documents"][4]["dup_group_size"], 1);
    assert_eq!(report["exact_duplicate_groups"][0]["members"][0], 0);
    let table = sandbox.read("t.csv");
    assert!(
        table.starts_with("id,url,warc_date,content_type,title,text,len_text,languages,text_src,"),
        "{table}"
    );
    assert!(
        sandbox.read("r.html").contains("\"id\":\"four\"")
            || sandbox.read("r.html").contains("\"id\":\"one\"")
    );
    assert!(sandbox.read("t.tsv").starts_with("term\tcount\tdocuments\tidf\n"));
    assert!(std::fs::read(out("b.parquet")).unwrap().starts_with(b"PAR1"));

    // the table is a corpus again, and has the same groups
    run(sandbox
        .bare()
        .arg("duplicates")
        .arg(out("t.parquet"))
        .arg("--report")
        .arg(out("again.json"))
        .args(["--min-df", "1", "--jaccard", "0.7", "--cosine", "0.7"]))
    .expect(0);
    let again: Value = serde_json::from_str(&sandbox.read("again.json")).unwrap();
    assert_eq!(again["near_duplicate_groups"][0], *group);
}

#[test]
fn csv_formula_cells_are_quoted_and_read_back() {
    let sandbox = Sandbox::new();
    let texts = ["=cmd|' /C calc'!A0", "- an item", "\t=1", "'@quoted"];
    let lines: Vec<String> = texts.iter().map(|text| line(text, &format!("{text} {STORY}"))).collect();
    sandbox.write("a.jsonl", lines.join("\n"));
    let table = |from: &str, to: &str| {
        let mut command = sandbox.bare();
        command.arg("duplicates").arg(sandbox.path(from)).arg("--table").arg(sandbox.path(to));
        run(command.args(["--min-df", "1"])).expect(0);
        sandbox.read(to)
    };
    let first = table("a.jsonl", "t.csv");
    for text in texts {
        assert!(first.contains(&format!("'{text} The old ferry")), "{first}");
    }
    let again = table("t.csv", "again.csv");
    for text in texts {
        let cell = format!("'{text} The old ferry");
        assert!(again.contains(&cell) && !again.contains(&format!("'{cell}")), "{again}");
    }
}

#[test]
fn removed_duplicate_flags_name_the_current_limit() {
    let sandbox = Sandbox::new();
    for (flag, says) in [
        ("--max-record", "--max-record was removed: a record of an input has at most 8 MiB"),
        ("--pairs-per-group", "--pairs-per-group was removed: a group lists at most 10,000 pairs"),
    ] {
        let done = run(sandbox.bare().args(["duplicates", "a.jsonl", flag, "7"])).expect(2);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
    let other = run(sandbox.bare().args(["duplicates", "a.jsonl", "--max-recard", "7"])).expect(2);
    assert!(!other.stderr.contains("was removed"), "{}", other.stderr);
}

/// A record of 9 MiB is left out, one of 7 MiB is read.
#[test]
fn oversized_records_are_skipped() {
    let sandbox = Sandbox::new();
    let text = |megabytes: usize| "Nine boats lie in the harbour. ".repeat((megabytes << 20) / 31);
    sandbox.write("a.jsonl", [line("seven", &text(7)), line("nine", &text(9))].join("\n"));
    let mut command = sandbox.bare();
    command.args(["duplicates", "a.jsonl", "--no-tfidf", "--report", "r.json"]);
    let done = run(&mut command).expect(0);
    assert!(
        done.stderr.contains("1 document,") && done.stderr.contains("1 record unreadable"),
        "{}",
        done.stderr
    );
}

#[test]
fn flags_apply_and_are_reported() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    let report = |flags: &[&str]| -> Value {
        run(duplicates(&sandbox).arg("--report").arg(sandbox.path("r.json")).args(flags)).expect(0);
        serde_json::from_str(&sandbox.read("r.json")).unwrap()
    };
    let plain = report(&["--no-tfidf", "--shingle-words", "3", "--permutations", "64", "--seed", "7"]);
    assert_eq!(plain["meta"]["params"]["tfidf"], Value::Null);
    assert_eq!(plain["meta"]["params"]["shingle_words"], 3);
    assert_eq!(plain["near_duplicate_pairs"][0]["tfidf_cosine"], Value::Null);
    assert_eq!(plain["topic_clusters"], json!([]));
    let words = report(&["--ngrams", "1,1"]);
    let pairs = report(&["--ngrams", "1,2"]);
    assert_eq!(words["meta"]["params"]["tfidf"]["ngrams"], json!([1, 1]));
    let terms = |report: &Value| report["meta"]["tfidf_vocabulary_size"].as_u64().unwrap();
    assert!(terms(&words) < terms(&pairs));
    let small = report(&["--run-records", "1024"]);
    assert_eq!(small["meta"]["params"]["run_records"], 1024);
    let clusters = report(&["--clusters", "2", "--cluster-algorithm", "mini-batch"]);
    assert_eq!(
        clusters["meta"]["params"]["tfidf"]["clusters"],
        json!({"algorithm": "mini-batch", "number": 2})
    );
    assert_eq!(clusters["topic_clusters"].as_array().unwrap().len(), 2);
}

/// With the defaults: two pages that differ in a word, alone and among unrelated pages.
#[test]
fn a_small_corpus_has_its_near_duplicates() {
    let sandbox = Sandbox::new();
    let story = [STORY, STORY.replace("ferry", "barge").replace("harbour", "basin").as_str()].concat();
    let mut lines = vec![line("one", &story), line("two", &story.replacen("lantern", "torch", 1))];
    for others in [0, 20] {
        lines.extend((0..others).map(|n| line(&format!("other{n}"), &format!("w{n} ").repeat(40))));
        sandbox.write("a.jsonl", lines.join("\n"));
        let done = run(sandbox.bare().args(["duplicates", "a.jsonl", "--report", "r.json"])).expect(0);
        assert!(done.stderr.contains("1 group of duplicates with 1 document"), "{}", done.stderr);
        let report: Value = serde_json::from_str(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["near_duplicate_pairs"][0]["cosine_terms"], "shared");
    }
}

#[test]
fn languages_are_requested_by_code_tag_or_name() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", line("one", STORY));
    for command in ["duplicates", "quality"] {
        let ask = |language: &str, code: i32| {
            run(sandbox.bare().args([command, "a.jsonl", "--language", language])).expect(code)
        };
        let plain = ask("en", 0);
        for language in ["english", "EN", "en-US", "en_GB", "eng"] {
            let done = ask(language, 0);
            assert_eq!(
                (done.stdout, done.stderr),
                (plain.stdout.clone(), plain.stderr.clone()),
                "{command} {language}"
            );
        }
        assert!(plain.stderr.contains("1 document,"), "{}", plain.stderr);
        for language in ["xx", "klingon", "en--US", ""] {
            let problem = format!("{command}.language: \"{language}\" is no language");
            assert!(ask(language, 2).stderr.contains(&problem), "{command} {language}");
        }
    }
    let basque = run(sandbox.bare().args(["duplicates", "a.jsonl", "--language", "basque"])).expect(2);
    assert!(basque.stderr.contains("cannot be identified"), "{}", basque.stderr);
}

#[test]
fn latin_1_table_is_decoded_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", b"id,text,date\none,Le caf\xe9 du port,2025-01-02 03:04:05\n");
    let done =
        run(sandbox.bare().args(["duplicates", "a.csv", "--table", "t.csv", "--report", "r.json"])).expect(0);
    assert!(done.stderr.contains("a.csv: \"one\" is not UTF-8: read as windows-1252"), "{}", done.stderr);
    assert!(
        sandbox.read("t.csv").contains("2025-01-02T03:04:05Z,,,Le café du port,"),
        "{}",
        sandbox.read("t.csv")
    );
    let report: Value = serde_json::from_str(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["meta"]["inputs"][0]["not_utf8"], 1);
}

#[test]
fn unusable_inputs_are_named() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    let fails = |arguments: &[&str], code: i32, why: &str| {
        let done =
            run(sandbox.bare().arg("duplicates").arg(sandbox.path("a.jsonl")).args(arguments)).expect(code);
        assert!(done.stderr.contains(why), "{arguments:?}: {}", done.stderr);
    };
    fails(&["nowhere-*.jsonl"], 2, "nowhere-*.jsonl: no such file");
    fails(&["--jaccard", "2"], 2, "jaccard is 2");
    fails(&["--ngrams", "2,1"], 2, "ngrams is 2");
    fails(&["--ngrams", "1,9"], 2, "ngrams is 9");
    fails(&["--cluster-algorithm", "guess"], 2, "duplicates.cluster_algorithm");
    fails(&["--report", "/nowhere/r.json"], 3, "/nowhere/r.json");
    let empty = sandbox.write("empty.jsonl", "");
    let done = run(sandbox.bare().arg("duplicates").arg(empty)).expect(2);
    assert!(done.stderr.contains("no document could be read"), "{}", done.stderr);
}
