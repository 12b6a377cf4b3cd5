//! Lines `{"id", "text", "language"}` in; out a line each with what the rules say of the text and all that another
//! implementation needs to be asked the same: its words, the sentences of the lines that C4 keeps, the stop words.
//! `benches/quality_rules.py` gives them to datatrove. Thresholds are the defaults.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example fails where it stands")]

mod support;

use crawl_quality::{sentences, words};
use serde_json::{Map, Value, json};
use std::io::BufRead;

fn main() {
    let checker = support::checker();
    for line in std::io::stdin().lock().lines() {
        let document: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (text, language) = (document["text"].as_str().unwrap(), document["language"].as_str().unwrap());
        let assessment = checker.assess(text, language);
        let name = |at: &usize| checker.rules()[*at].name.clone();
        let values: Map<String, Value> = checker
            .rules()
            .iter()
            .zip(&assessment.values)
            .map(|(rule, value)| (rule.name.clone(), json!(value)))
            .collect();
        let counts: Map<String, Value> = checker
            .c4_lines(text)
            .iter()
            .map(|line| (line.to_string(), json!(sentences(line).count())))
            .collect();
        let stop_words = checker.gopher_stop_words(language).map(|list| {
            let mut list: Vec<_> = list.into_iter().collect();
            list.sort_unstable();
            list
        });
        let out = json!({
            "id": document["id"],
            "words": words(text).map(|(_, word)| word).collect::<Vec<_>>(),
            "sentences": counts,
            "stop_words": stop_words,
            "values": values,
            "failed": assessment.failed.iter().map(name).collect::<Vec<_>>(),
        });
        println!("{out}");
    }
}
