//! `crawl quality`, and `quality` in the records of a crawl, by the binary.

use crate::{
    quality_texts::*,
    run::{Done, Sandbox, lines, run},
    support::server::{Request, Response, Server},
};
use serde_json::{Value, json};

fn quality(sandbox: &Sandbox, arguments: &[&str]) -> Done {
    run(sandbox.bare().arg("quality").args(arguments))
}

fn ids(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["id"].as_str().unwrap()).collect()
}

#[test]
fn documents_of_all_formats_are_annotated_and_none_is_dropped() {
    let sandbox = Sandbox::new();
    mixed(&sandbox);
    sandbox.write("broken.jsonl", "{broken\n");
    let paragraphs: String = GOOD.split_inclusive(". ").map(|s| format!("<p>{s}</p>")).collect();
    let page = format!(
        "<html><head><title>Pier</title></head><body><article><h1>Pier</h1>{paragraphs}</article></body></html>"
    );
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}");
    sandbox.write(
        "b.warc",
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://c.test/pier\r\nWARC-Record-ID: <urn:uuid:1>\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        ),
    );
    sandbox.write("c.csv", format!("id,url,text\nrow,http://d.test/,\"{GOOD}\"\n"));
    let done = quality(&sandbox, &["*.jsonl", "b.warc", "c.csv", "-o", "out.jsonl", "--stats", "stats.json"])
        .expect(0);
    assert!(
        done.stderr.contains("not JSON")
            && done.stderr.contains("7 documents, 3 fail the set text; 1 record unreadable"),
        "{}",
        done.stderr
    );
    assert!(
        done.stdout.contains("text.word_repetition_ratio") && done.stdout.contains("a.test"),
        "{}",
        done.stdout
    );

    // annotated documents need not be records of a crawl
    let records = lines(&sandbox.read("out.jsonl"));
    assert_eq!(ids(&records), ["good-1", "spam", "terms", "framed", "short", "urn:uuid:1", "row"]);
    let first = sandbox.read("out.jsonl").lines().next().unwrap().to_owned();
    // the fields of a record are unchanged
    assert!(
        first.contains(r#""extra":{"kept":[1.5,null]}"#) && first.contains(r#","quality":{"language":"en""#),
        "{first}"
    );
    let failed = |n: usize| records[n]["quality"]["failed"].as_array().unwrap().clone();
    assert_eq!(failed(0), Vec::<Value>::new(), "{:#}", records[0]["quality"]);
    assert!(failed(1).contains(&json!("text.ngram_repetition")));
    assert!(failed(2).contains(&json!("text.word_repetition_ratio")));
    assert_eq!(records[2]["quality"]["reason"], "term");
    assert_eq!(records[4]["quality"]["skipped"], "short_text");
    assert_eq!(records[4]["quality"]["reason"], "too_few_content_words");
    let scores: Value = serde_json::from_str(records[4]["quality"]["scores"].as_str().unwrap()).unwrap();
    assert_eq!(scores["text.word_repetition_ratio"], 0.0);
    // the page of the WARC is extracted and assessed as text
    assert!(records[5]["text"].as_str().unwrap().contains("Every morning") && failed(5).is_empty());

    let stats: Value = serde_json::from_str(&sandbox.read("stats.json")).unwrap();
    assert_eq!(stats["all"]["documents"], 7);
    assert_eq!(stats["domains"][0]["domain"], "b.test");
    assert_eq!(stats["domains"][0]["failedBySet"]["text"], 3);

    // annotated again, nothing changes
    quality(&sandbox, &["out.jsonl", "-o", "again.jsonl"]).expect(0);
    assert_eq!(sandbox.read("again.jsonl"), sandbox.read("out.jsonl"));
}

#[test]
fn documents_are_dropped_only_on_request() {
    let sandbox = Sandbox::new();
    mixed(&sandbox);
    let kept = |drop: &str| {
        let done = quality(&sandbox, &["in.jsonl", "-o", "-", drop]).expect(0);
        lines(&done.stdout).iter().map(|record| record["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kept("--drop"), ["good-1", "short"]);
    assert_eq!(kept("--drop=gopher_quality"), ["good-1", "framed"]);
    assert_eq!(kept("--drop=all"), ["good-1"]);
    let refused = |arguments: &[&str], why: &str| {
        let done = quality(&sandbox, arguments).expect(2);
        assert!(done.stderr.contains(why), "{}", done.stderr);
    };
    refused(&["in.jsonl", "-o", "x", "--drop=gofer"], "\"gofer\" is none of text, gopher_repetition");
    refused(&["in.jsonl", "--drop"], "--output");
    sandbox.write("few.toml", "[quality]\nsets = [\"text\"]\n");
    refused(&["in.jsonl", "-o", "x", "--drop=c4", "--config", "few.toml"], "c4 is not among quality.sets");
    refused(&["nothing.jsonl"], "nothing.jsonl");
}

#[test]
fn thresholds_come_from_the_rules() {
    let sandbox = Sandbox::new();
    mixed(&sandbox);
    let drop = |config: &str| {
        sandbox.write("c.toml", config);
        let done = quality(&sandbox, &["in.jsonl", "-o", "-", "--drop", "--config", "c.toml"]).expect(0);
        lines(&done.stdout).len()
    };
    assert_eq!(drop(""), 2);
    // the remedies of the specification: a higher threshold, and removal of the frame
    sandbox.write("terms.toml", "[text]\nmax_term_repetition_ratio = 0.6\n");
    assert_eq!(drop("[quality]\nrules = \"terms.toml\"\n"), 3);
    assert_eq!(drop("[quality]\nrules = \"terms.toml\"\nremove_boilerplate = true\n"), 4);
    sandbox.write("mine.toml", "[boilerplate]\nphrases = [\"buy cheap\", \"...\"]\nmax_words = 1000\n");
    assert_eq!(drop("[quality]\nrules = \"mine.toml\"\nremove_boilerplate = true\n"), 4);
    assert_eq!(drop("[quality]\ndrop = []\n"), 5);
    // a directory of rules has them too, below the file
    std::fs::create_dir(sandbox.path("own")).unwrap();
    sandbox.write("own/quality.toml", "[text]\nmax_term_repetition_ratio = 0.6\nchar_run = 5\n");
    assert_eq!(drop("[extract]\nrules = \"own\"\n"), 3);
    sandbox.write("own/stop_words.toml", "[stop_words]\nen = [\"...\", \"not\"]\n");
    let checked = run(sandbox.bare().args(["check", "rules", "own"])).expect(0);
    assert_eq!(checked.stdout, "own: no errors\n");
    sandbox.write("file.toml", "[text]\nmax_word_repetition_ratio = 0.3\n");
    sandbox.write("c.toml", "[quality]\nrules = \"file.toml\"\n");
    let shown =
        quality(&sandbox, &["--show-config", "--config", "c.toml", "--rules", "own"]).expect(0).stdout;
    for line in [
        "[text]",
        "max_term_repetition_ratio = 0.6",
        "char_run = 5",
        "max_word_repetition_ratio = 0.3",
        "max_char_repetition_ratio = 0.2",
        "dup_line_frac = 0.3",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    // the shown text is a file of rules
    sandbox.write("shown.toml", &shown);
    sandbox.write("c.toml", "[quality]\nrules = \"shown.toml\"\n");
    assert_eq!(quality(&sandbox, &["--show-config", "--config", "c.toml"]).expect(0).stdout, shown);
    sandbox.write("shown.toml", "\n[text]\nmax_word_repetition_ratio = 3\n");
    let done = quality(&sandbox, &["--show-config", "--config", "c.toml"]).expect(2);
    let says = "shown.toml:3: quality.text.max_word_repetition_ratio is 3: it must be 0 to 1";
    assert!(done.stderr.contains(says), "{}", done.stderr);
    sandbox.write("own/quality.toml", "[text]\nmin_wrods = 7\n");
    let done = run(sandbox.bare().args(["check", "rules", "own"])).expect(2);
    assert!(done.stderr.contains("own/quality.toml:2: text.min_wrods: unknown field"), "{}", done.stderr);
}

#[test]
fn an_explanation_names_words_places_cause_and_remedy() {
    let sandbox = Sandbox::new();
    mixed(&sandbox);
    let explain = |id: &str| quality(&sandbox, &["in.jsonl", "--explain", id]).expect(0).stdout;
    let said = |id: &str, all: &[&str]| {
        let text = explain(id);
        for part in all {
            assert!(text.contains(part), "{id}: {part} is not in\n{text}");
        }
    };
    said(
        "spam",
        &[
            "buy cheap stain remover now [buy] cheap",
            "text.ngram_repetition 0.9",
            "FAILS",
            "cause: repeated passages",
            "remedy: none",
        ],
    );
    said(
        "https://b.test/terms",
        &[
            "stain",
            "term: its neighbours differ",
            "stain alpha [stain] bravo",
            "cause: terms of the field",
            "fix 1, raise the threshold",
        ],
    );
    said(
        "framed",
        &[
            "lines of boilerplate: 180",
            "Subscribe to our newsletter (60 times)",
            "cause: boilerplate",
            "fix 3",
            "fix 4, --remove-boilerplate",
        ],
    );
    said("good-1", &["all ratios are within their thresholds", "stop word, left out"]);
    said("short", &["too_few_content_words", "not judged", "cause: short text"]);
    let done = quality(&sandbox, &["in.jsonl", "--explain", "nobody"]).expect(2);
    assert!(done.stderr.contains("no document has the id or URL nobody"), "{}", done.stderr);
}

#[test]
fn three_failing_documents_are_explained_in_detail() {
    let sandbox = Sandbox::new();
    let all: String =
        (0..5).map(|n| format!("{}\n{}\n", document(&format!("spam-{n}"), &spam()), good(n))).collect();
    sandbox.write("in.jsonl", all);
    let text = quality(&sandbox, &["in.jsonl", "--failed"]).expect(0).stdout;
    assert_eq!(text.matches("  cause: repeated passages").count(), 3, "{text}");
    assert!(
        text.contains("https://b.test/spam-4 (spam-4): repeated passages; text.ngram_repetition"),
        "{text}"
    );
    assert!(text.contains("5 documents fail; causes of the repetition: repeated passages 5"), "{text}");
    assert!(!text.contains("good-"), "{text}");
    sandbox.write("in.jsonl", format!("{}\n", good(1)));
    assert_eq!(
        quality(&sandbox, &["in.jsonl", "--failed"]).expect(0).stdout,
        "no document fails the set text; --drop=SET -o FILE judges by another set\n"
    );
}

#[test]
fn quality_report_is_self_contained() {
    let sandbox = Sandbox::new();
    mixed(&sandbox);
    let tag = document("</script><b>", &spam()).to_string() + "\n";
    sandbox.write("more.jsonl", tag);
    quality(&sandbox, &["in.jsonl", "more.jsonl", "--html", "r.html"]).expect(0);
    let page = sandbox.read("r.html");
    let (_, data) = page.split_once("const data = ").unwrap();
    let data: Value = serde_json::from_str(data.lines().next().unwrap().trim_end_matches(';')).unwrap();
    assert_eq!(data["distribution"]["all"]["documents"], 6);
    assert_eq!(data["listed"].as_array().unwrap().iter().filter(|one| one["fails"] == true).count(), 4);
    assert_eq!(page.matches("</script>").count(), 1, "a document ends the script");
    for place in ["/*STYLE*/", "/*HELPERS*/", "/*DATA*/", "src=", "@import"] {
        assert!(!page.contains(place), "{place}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("function plot("));
}

/// An English checklist under a Romanian heading, which makes the whole be identified as Romanian.
fn mixed_languages() -> String {
    let heading = "Lista verificărilor pentru comisia portuară din Constanța și Mangalia, aprobată de căpitănia portului împreună cu \
        societatea de salvare pe mare și cu primăria orașului, pentru toate ambarcațiunile care pleacă din port în această vară. ";
    let items = "rope oar bell lamp anchor compass bucket whistle flare radio pump raft chart knife torch mast sail hook net line \
        buoy fender ladder winch cleat keel hull deck hatch cabin stove kettle bunk locker engine filter valve hose clamp gauge";
    let check = |item: &str| format!("You can, and you can, and you can: {item}. ");
    heading.repeat(3) + &items.split_whitespace().map(check).collect::<String>()
}

/// Documents that declare their language in each way, and some that declare none.
fn declaring(sandbox: &Sandbox) {
    let text = mixed_languages();
    let records = [
        json!({"id": "own", "language": "en", "text": text}),
        json!({"id": "said", "metadata": {"language": "EN_us"}, "text": text}),
        json!({"id": "page", "html": format!("<html lang=en-GB><title>x</title><body><article><p>{text}</article></html>")}),
        json!({"id": "nothing", "text": text}),
        json!({"id": "no-language", "language": "utf-8", "text": GOOD}),
        json!({"id": "short", "text": "Nothing at all."}),
        json!({"id": "unsure", "text": "x9 foo.bar(qux) -> lib_z; ".repeat(20)}),
    ];
    sandbox.write("in.jsonl", records.map(|one| format!("{one}\n")).concat());
    sandbox.write("in.csv", format!("id,lang,text\nrow,en,\"{text}\"\n"));
    sandbox.write(
        "in.wet",
        format!(
            "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <wet>\r\nWARC-Identified-Content-Language: eng,ron\r\n\
             Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}\r\n\r\n",
            text.len()
        ),
    );
}

#[test]
fn declared_language_precedes_the_detected_one() {
    let sandbox = Sandbox::new();
    declaring(&sandbox);
    let judged = |arguments: &[&str]| {
        let done =
            quality(&sandbox, &[&["in.jsonl", "in.csv", "in.wet", "-o", "-"], arguments].concat()).expect(0);
        lines(&done.stdout)
    };
    let all: Vec<(String, String, String)> = judged(&[])
        .iter()
        .map(|record| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (
                text(&record["id"]),
                text(&record["quality"]["language"]),
                text(&record["quality"]["languageSource"]),
            )
        })
        .collect();
    let all: Vec<_> =
        all.iter().map(|(id, language, source)| (id.as_str(), language.as_str(), source.as_str())).collect();
    assert_eq!(
        all,
        [
            ("own", "en", "declared"),
            ("said", "en", "declared"),
            ("page", "en", "declared"),
            ("nothing", "ro", "detected"),
            ("no-language", "en", "detected"),
            ("short", "und", "none"),
            ("unsure", "und", "none"),
            ("row", "en", "declared"),
            ("wet", "en", "declared"),
        ]
    );
    // without the right stop words the text fails, and is dropped
    let kept = judged(&["--drop"]);
    assert_eq!(ids(&kept), ["own", "said", "page", "no-language", "short", "row", "wet"]);
    let forced = judged(&["--language", "ro"]);
    assert!(forced.iter().all(|record| record["quality"]["languageSource"] == "setting"));
    let shown = quality(&sandbox, &["in.jsonl", "--explain", "own", "--explain", "nothing"]).expect(0).stdout;
    assert!(
        shown.contains("language en (declared), ") && shown.contains("language ro (detected), "),
        "{shown}"
    );
    assert!(shown.contains("cause: common words"), "{shown}");
}

#[test]
fn an_explanation_shows_a_sample_of_the_text() {
    let sandbox = Sandbox::new();
    let text: String = (1..=20).map(|n| format!("This is line {n} of it.\n\n")).collect();
    sandbox.write("in.jsonl", format!("{}\n", document("lines", &text)));
    let shown = quality(&sandbox, &["in.jsonl", "--explain", "lines"]).expect(0).stdout;
    let sample = "      This is line 1 of it.\n      This is line 2 of it.\n      This is line 3 of it.\n      \
        This is line 4 of it.\n      … 14 more lines\n      This is line 19 of it.\n      This is line 20 of it.\n";
    assert!(shown.contains("  sample of the text, ") && shown.contains(sample), "{shown}");
}

fn site(request: &Request) -> Response {
    let paragraphs =
        |text: &str| text.split_inclusive(". ").map(|s| format!("<p>{s}</p>")).collect::<String>();
    let page = |text: &str| {
        Response::html(format!(
            "<html><head><title>Pier</title></head><body><main><h1>Pier</h1>{}</main></body></html>",
            paragraphs(text)
        ))
    };
    match request.path() {
        "/good" => page(GOOD),
        "/spam" => page(&spam().replace("now ", "now. ")),
        "/terms" => page(&terms()),
        "/framed" => Response::html(format!("<html lang=en><title>x</title><body><main><pre>{}</pre></main>", framed())),
        "/runs" => page(&format!("{GOOD} {}", "=".repeat(400))),
        "/german" => Response::html(format!(
            "<html lang=en><head><title>x</title></head><body><main><p>{}</main></body></html>",
            "Leine Lampe Gabel Nadel Feder Kanne Bank Tür Wand Bahn Burg Stadt Post Uhr See Hand Kiste Pfanne Decke Karte"
                .split(' ')
                .map(|noun| format!("mit der {noun} und "))
                .collect::<String>()
        )),
        _ => Response::status(404),
    }
}

#[test]
fn quality_fetches_and_explains_a_url() {
    let server = Server::start(0, site).unwrap();
    let sandbox = Sandbox::new();
    let fetch = |path: &str| {
        let mut command = sandbox.bare();
        command
            .args(["quality", "--url", &server.url(path)])
            .env("CRAWL_FETCH_ALLOW_ADDRESSES", "127.0.0.0/8");
        command
            .env("CRAWL_POLITENESS_DELAY", "0s")
            .env("CRAWL_FETCH_BACKOFF", "20ms")
            .env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        run(&mut command)
    };
    let text = fetch("/good").expect(0).stdout;
    assert!(
        text.starts_with(&server.url("/good")) && text.contains("all ratios are within their thresholds"),
        "{text}"
    );
    let text = fetch("/spam").expect(0).stdout;
    assert!(text.contains("text.ngram_repetition") && text.contains("cause: repeated passages"), "{text}");
    let done = fetch("/gone").expect(4);
    assert!(done.stderr.contains("404"), "{}", done.stderr);
    assert!(server.requests().iter().any(|request| request.target == "/robots.txt"));
}

#[test]
fn crawl_annotates_its_records_if_enabled() {
    let server = Server::start(0, site).unwrap();
    let crawl = |enabled: &str| {
        let sandbox = Sandbox::new();
        let seeds = [server.url("/good"), server.url("/spam")];
        run(sandbox.crawl(&seeds, &["-O", "out.jsonl"]).env("CRAWL_QUALITY_ENABLED", enabled)).expect(0);
        let mut records = sandbox.records("out.jsonl");
        records.sort_by_key(|record| record["url"].as_str().unwrap().to_owned());
        (sandbox, records)
    };
    let (_, plain) = crawl("false");
    assert!(plain.len() == 2 && plain.iter().all(|record| record["quality"].is_null()));
    let (sandbox, records) = crawl("true");
    assert_eq!(records.len(), 2, "nothing is dropped");
    let failed = |n: usize| records[n]["quality"]["failed"].as_array().unwrap().clone();
    assert!(!failed(0).iter().any(|rule| rule.as_str().unwrap().starts_with("text.")), "{:?}", failed(0));
    assert!(failed(1).contains(&json!("text.ngram_repetition")), "{:?}", failed(1));
    // the command gives the same for the same file
    quality(&sandbox, &["out.jsonl", "-o", "again.jsonl"]).expect(0);
    let mut again = sandbox.records("again.jsonl");
    again.sort_by_key(|record| record["url"].as_str().unwrap().to_owned());
    assert_eq!(again, records);
}

/// Flags of a command line in a text.
fn flags(text: &str) -> Vec<&str> {
    let is_flag = |word: &&str| word.len() > 2 && word.starts_with("--");
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(is_flag).collect()
}

#[test]
fn remedy_for_a_fetched_page_names_valid_flags() {
    let server = Server::start(0, site).unwrap();
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("rules")).unwrap();
    sandbox.write("rules/extraction.toml", "");
    sandbox.write("c.toml", "");
    let fetch = |path: &str, more: &[&str]| {
        let mut command = sandbox.bare();
        command.args(["quality", "--url", &server.url(path)]).args(more);
        command.env("CRAWL_FETCH_ALLOW_ADDRESSES", "127.0.0.0/8").env("CRAWL_POLITENESS_DELAY", "0s");
        command.env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        run(&mut command)
    };
    let mut causes = Vec::new();
    for path in ["/good", "/spam", "/terms", "/framed", "/runs", "/german"] {
        let text = fetch(path, &[]).expect(0).stdout;
        assert!(text.contains("  sample of the text, "), "{text}");
        let advice: String = text.lines().filter(|line| line.starts_with("  remedy: ")).collect();
        causes.extend(
            text.lines()
                .filter_map(|line| Some(line.strip_prefix("  cause: ")?.split(':').next()?.to_owned())),
        );
        assert!(!advice.contains('`'), "{advice} names another command");
        for flag in flags(&advice) {
            let value: &[&str] = match flag {
                "--config" => &["c.toml"],
                "--rules" => &["rules"],
                "--favor" => &["precision"],
                "--language" => &["de"],
                "--remove-boilerplate" => &[],
                other => panic!("{other} is advised: {advice}"),
            };
            fetch(path, &[&[flag], value].concat()).expect(0);
        }
    }
    causes.sort_unstable();
    assert_eq!(
        causes,
        ["boilerplate", "common words", "repeated passages", "runs of characters", "terms of the field"]
    );
    // user rules apply to the page, too
    sandbox.write("rules/extraction.toml", "no_such_key = 1\n");
    fetch("/good", &["--rules", "rules"]).expect(2);
}
