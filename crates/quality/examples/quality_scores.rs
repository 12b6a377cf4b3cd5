//! Scores texts for a comparison with another implementation. Reads lines of `{"id", "text", "language"}` and
//! writes a line each. A line has the scores and the input of the rules: words, sentences of the lines that
//! C4 keeps, stop words. `benches/quality_rules.py` passes them to datatrove. Thresholds are the defaults.

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
