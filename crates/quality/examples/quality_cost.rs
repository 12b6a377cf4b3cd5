//! CPU time of assessing in one thread: `quality_cost FILE.jsonl [ROUNDS]`, lines with `text`. Each round
//! assesses all texts, and the fastest counts.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example fails where it stands")]

mod support;

use cpu_time::ThreadTime;
use crawl_quality::{Checker, LineRules, RuleSet};
use serde_json::Value;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let input = std::fs::read_to_string(arguments.next().unwrap()).unwrap();
    let rounds = arguments.next().map_or(5, |n| n.parse::<usize>().unwrap());
    let text = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["text"].as_str().unwrap().to_owned()
    };
    let texts: Vec<String> = input.lines().map(text).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let cost = |sets: &[RuleSet]| {
        let mut settings = support::settings();
        settings.sets = sets.to_vec();
        let checker = Checker::new(settings, LineRules::built_in().unwrap()).unwrap();
        let round = |_| {
            let start = ThreadTime::now();
            let failed: usize = texts.iter().map(|text| checker.assess(text, "en").failed.len()).sum();
            (start.elapsed().as_secs_f64(), failed)
        };
        (0..rounds).map(round).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    };
    println!("{} documents, {bytes} bytes", texts.len());
    for sets in [&RuleSet::ALL[..]].into_iter().chain(RuleSet::ALL.chunks(1)) {
        let (seconds, failed) = cost(sets);
        let names: Vec<&str> = sets.iter().map(|set| set.name()).collect();
        #[expect(clippy::cast_precision_loss, reason = "counts lie far below 2^53")]
        let (documents, megabytes) = (texts.len() as f64 / seconds, bytes as f64 / seconds / 1e6);
        println!(
            "{}: {seconds:.3} CPU s, {documents:.0} documents and {megabytes:.1} MB a CPU second; {failed} failures",
            names.join(" ")
        );
    }
}
