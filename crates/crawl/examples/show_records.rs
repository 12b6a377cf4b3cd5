//! Prints records for a person: `show_records FILE.jsonl [PART-OF-URL ...]`. Without parts, the first five.

use serde_json::Value;
use std::{
    env,
    error::Error,
    fs::File,
    io::{self, BufRead, BufReader, Write},
};

/// Lines of a record's text that are shown, and characters of each.
const LINES: usize = 8;
const WIDTH: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let file = File::open(args.next().ok_or("usage: show_records FILE.jsonl [PART-OF-URL ...]")?)?;
    let parts: Vec<String> = args.collect();
    let mut records = Vec::new();
    for line in BufReader::new(file).lines() {
        records.push(serde_json::from_str::<Value>(&line?)?);
    }
    let mut out = io::stdout().lock();
    if parts.is_empty() {
        return Ok(records.iter().take(5).try_for_each(|record| show(&mut out, record))?);
    }
    for part in &parts {
        match records.iter().find(|r| r["url"].as_str().is_some_and(|url| url.contains(part.as_str()))) {
            Some(record) => show(&mut out, record)?,
            None => writeln!(out, "\n(no record has \"{part}\" in its url)")?,
        }
    }
    Ok(())
}

fn show(out: &mut impl Write, record: &Value) -> io::Result<()> {
    let (meta, boilerplate) = (&record["metadata"], &record["boilerplate"]);
    writeln!(out, "\n{}", record["url"].as_str().unwrap_or_default())?;
    for (name, value) in [
        ("title", &meta["title"]),
        ("author", &meta["author"]),
        ("published", &meta["published"]),
        ("language", &meta["language"]),
        ("words", &meta["wordCount"]),
        ("duplicate of", &meta["duplicateOf"]),
        ("bytes removed that the site repeats", &boilerplate["bytesRemoved"]),
    ] {
        match value {
            Value::Null => {}
            Value::String(text) => writeln!(out, "  {name}: {text}")?,
            other => writeln!(out, "  {name}: {other}")?,
        }
    }
    let lines: Vec<&str> = record["text"].as_str().unwrap_or_default().lines().collect();
    for line in lines.iter().take(LINES) {
        let short: String = line.chars().take(WIDTH).collect();
        let more = if line.chars().count() > WIDTH { " …" } else { "" };
        writeln!(out, "  | {short}{more}")?;
    }
    if lines.len() > LINES {
        writeln!(out, "  | … {} more lines", lines.len() - LINES)?;
    }
    Ok(())
}
