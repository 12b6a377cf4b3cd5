//! CPU time that near duplicates cost, step by step, on texts that are cleaned already, in one thread: shingles and signatures, bands
//! and candidates, exact verification. `benches/near_duplicates.py` runs it beside other programs on the same file.
//!
//! Lines {"text"} in; on standard output a line of figures, and with `--pairs FILE` the pairs.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints, and ends where its input is unusable"
)]

use cpu_time::ProcessTime;
use crawl_corpus::{Banding, MinHash, jaccard, shingles};
use std::{
    collections::HashMap,
    fmt::Write,
    io::{BufRead, BufReader},
};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let file = std::fs::File::open(&arguments[1]).unwrap();
    let texts: Vec<String> = BufReader::new(file)
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap()["text"]
                .as_str()
                .unwrap()
                .into()
        })
        .collect();
    let (hash, banding) = (MinHash::new(128, 42), Banding::for_threshold(128, 0.85));
    let start = ProcessTime::now();
    let sets: Vec<Vec<u64>> = texts.iter().map(|text| shingles(text, 5)).collect();
    let shingled = start.elapsed();
    let signatures: Vec<Vec<u32>> = sets.iter().map(|set| hash.signature(set)).collect();
    let signed = start.elapsed();
    let mut buckets: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, signature) in signatures.iter().enumerate() {
        banding.hashes(signature).for_each(|band| buckets.entry(band).or_default().push(number));
    }
    let mut candidates: Vec<(usize, usize)> = buckets
        .values()
        .flat_map(|all| all.iter().enumerate().flat_map(|(at, b)| all[..at].iter().map(|a| (*a, *b))))
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    let banded = start.elapsed();
    let pairs: Vec<_> =
        candidates.iter().filter(|(a, b)| jaccard(&sets[*a], &sets[*b], 0.85).is_some()).collect();
    let all = start.elapsed();
    println!(
        "{} documents, {} candidates, {} pairs; shingles {:.3} s, signatures {:.3}, bands {:.3}, verification {:.3}; \
         {:.0} documents a CPU second",
        texts.len(),
        candidates.len(),
        pairs.len(),
        shingled.as_secs_f64(),
        (signed - shingled).as_secs_f64(),
        (banded - signed).as_secs_f64(),
        (all - banded).as_secs_f64(),
        texts.len() as f64 / all.as_secs_f64(),
    );
    if let Some(file) = arguments.get(2).filter(|a| *a == "--pairs").and(arguments.get(3)) {
        let mut out = String::new();
        pairs.iter().for_each(|(a, b)| writeln!(out, "{a}\t{b}").unwrap());
        std::fs::write(file, out).unwrap();
    }
}
