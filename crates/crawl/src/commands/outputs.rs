//! `crawl outputs`: the files that the workers of a crawl have written.

use super::{write_json, write_text};
use crate::cli::StoreArgs;
use crawl_engine::{
    config,
    exit::{Exit, Failure},
    state::SharedCrawl,
};
use crawl_store::{OutputPart, StateStore};
use serde::Serialize;
use std::{fmt::Write as _, sync::Arc};

pub fn run(args: &StoreArgs) -> Result<Exit, Failure> {
    let mut parts = open(args)?.outputs()?;
    parts.retain(|part| part.bytes > 0);
    if args.json { print(&parts) } else { write_text(&in_words(&parts)).map(|()| Exit::Done) }
}

/// Opens the crawl that the flags name, for reading.
pub(super) fn open(args: &StoreArgs) -> Result<Arc<dyn StateStore>, Failure> {
    let settings = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    let shared = SharedCrawl::of(&settings)?;
    let shared = shared.ok_or_else(|| Failure::usage("which crawl? Name its --store and --crawl"))?;
    shared.read()
}

/// Prints a value as JSON.
pub(super) fn print(value: &impl Serialize) -> Result<Exit, Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    write_json((text + "\n").as_bytes())?;
    Ok(Exit::Done)
}

fn in_words(parts: &[OutputPart]) -> String {
    let mut out = String::new();
    for part in parts {
        let state = if part.is_complete { "complete" } else { "open" };
        let _ = writeln!(out, "{}\t{}\tround {}\t{state}", part.path, part.bytes, part.round);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_part_is_listed_on_one_line() {
        let part = OutputPart {
            path: "/out/part-a-1-0.jsonl".into(),
            bytes: 7,
            is_complete: false,
            worker: "a".into(),
            epoch: 1,
            seq: 0,
            round: 2,
            mark: String::new(),
        };
        assert_eq!(in_words(&[part]), "/out/part-a-1-0.jsonl\t7\tround 2\topen\n");
    }
}
