//! Invariants of every simulated crawl.

use super::{
    faults::Fault,
    network::Request,
    plan::{NEVER, Plan},
    play::{End, Life, Played},
};
use crawl_archive::{Body, Item, ReadOptions, read_file};
use crawl_engine::{config::Limit, exit::Exit};
use crawl_output::is_folder;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

/// URL and text of each record, sorted.
pub type Records = Vec<(String, String)>;
/// URL and kind of each line of the error log, sorted.
pub type Errors = Vec<(String, String)>;

/// Timers are a millisecond fine.
const GRAIN: Duration = Duration::from_millis(2);

/// Records of an output, all of which must be readable.
pub fn records(path: &Path) -> Result<Records, String> {
    let mut records = match () {
        () if is_folder(path) => folder(path)?,
        () if !path.exists() => Vec::new(),
        () => table(path)?,
    };
    records.sort();
    Ok(records)
}

fn table(path: &Path) -> Result<Records, String> {
    let mut records = Vec::new();
    let mut wrong = None;
    let options = ReadOptions { max_record: 8 << 20, keep_lines: false };
    let read = read_file(path, &options, &mut |item| {
        match item {
            Item::Document(document) => {
                let text = match document.body {
                    Body::Text(text) => text,
                    Body::Html(html) => String::from_utf8_lossy(&html).into_owned(),
                };
                records.push((document.url, text));
            }
            Item::Skipped => {}
            Item::Unreadable { number, error } => wrong = Some(format!("record {number}: {error:?}")),
        }
        ControlFlow::Continue(())
    });
    match (read, wrong) {
        (Ok(()), None) => Ok(records),
        (Err(error), _) => Err(format!("{}: {error}", path.display())),
        (Ok(()), Some(wrong)) => Err(format!("{}: unreadable: {wrong}", path.display())),
    }
}

/// Pages of a folder, by the last line of each existing file: the index is tidied at the end of a round.
fn folder(path: &Path) -> Result<Records, String> {
    let mut records = Vec::new();
    let last: BTreeMap<String, Value> = lines(&path.join("index.jsonl"))?
        .into_iter()
        .map(|line| (line["path"].as_str().unwrap_or_default().to_owned(), line))
        .collect();
    for (name, line) in last {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let file = path.join(name);
        if !file.exists() {
            continue;
        }
        let page = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let body = page.split_once("\n---\n\n").map(|(_, body)| body.to_owned());
        records.push((text("url"), body.ok_or_else(|| format!("{} is torn", file.display()))?));
    }
    Ok(records)
}

fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(Vec::new()) };
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(format!("{}: the last line is torn", path.display()));
    }
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|e| format!("{}: {e}: {line}", path.display())))
        .collect()
}

/// Fails unless each record of the output is in the archive, and the whole archive is readable.
pub fn archive(folder: &Path, records: &Records) -> Result<(), String> {
    let mut archived: BTreeSet<String> = BTreeSet::new();
    for file in files(folder)? {
        archived.extend(table(&file)?.into_iter().map(|(url, _)| url));
    }
    // a page that is gone has no text
    let lacking = records.iter().find(|(url, text)| !text.is_empty() && !archived.contains(url));
    lacking.map_or(Ok(()), |(url, _)| Err(format!("{url} is not in the archive")))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(entries.map(|entry| entry.unwrap().path()).collect())
}

/// Checks that the index of a folder has one line per file after its round.
fn tidy_index(index: &Path) -> Result<(), String> {
    let mut paths: Vec<String> =
        lines(index)?.iter().map(|line| line["path"].as_str().unwrap_or_default().to_owned()).collect();
    paths.sort();
    if let Some(pair) = paths.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("{}: {} stands twice", index.display(), pair[0]));
    }
    match paths.iter().find(|path| !index.with_file_name(path).exists()) {
        Some(path) => Err(format!("{}: {path} does not exist", index.display())),
        None => Ok(()),
    }
}

/// Checks that a finished run leaves no internal files.
pub fn leftovers(dir: &Path) -> Result<(), String> {
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in files(&folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // the journal of a Parquet table keeps its name, in one frame
            let name_alone =
                name.ends_with(".part") && fs::metadata(&path).is_ok_and(|found| found.len() < 100);
            if [".part", ".tmp", ".open"].iter().any(|ending| name.ends_with(ending)) && !name_alone {
                return Err(format!("{} was left behind", path.display()));
            }
            if name == "index.jsonl" {
                tidy_index(&path)?;
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// The lines of the error log.
pub fn errors(path: &Path) -> Result<Errors, String> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let mut errors: Errors =
        lines(path)?.iter().map(|line| (text(line, "url"), text(line, "kind"))).collect();
    errors.sort();
    Ok(errors)
}

/// Checks that a process ends as its fault permits.
pub fn exit(life: &Life) -> Result<(), String> {
    use Exit as E;
    let done = matches!(life.end, End::Exited(E::Done | E::NoSeed));
    let allowed = match (life.fault, life.struck) {
        (Fault::KillAtCall { .. } | Fault::KillAtTime(_), true) => life.end == End::Died,
        // the last call makes the end of the round durable, which is already stored
        (Fault::StoreFails { call, .. }, true) if done => call + 1 == life.calls,
        (Fault::StoreFails { full: true, .. }, true) => life.end == End::Exited(E::Storage),
        (Fault::StoreFails { full: false, .. }, true) => life.end == End::Exited(E::Internal),
        (Fault::Interrupt(_), true) => done || life.end == End::Exited(E::Interrupted),
        (Fault::Limit(_), _) => done || life.end == End::Exited(E::Limit),
        _ => done,
    };
    if allowed { Ok(()) } else { Err(format!("ended otherwise than documented: {life:?}")) }
}

/// URLs of missing and additional records of a crawl.
#[derive(Debug, Default)]
pub struct Difference {
    pub lost: Vec<String>,
    pub doubled: Vec<String>,
    pub other: Vec<String>,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.doubled.is_empty() && self.other.is_empty()
    }
}

/// Compares a disturbed crawl with the undisturbed one. If fingerprints settle before the last page, texts
/// depend on the order of pages; then only URLs are compared.
pub fn compare(plan: &Plan, expected: &Played, found: &Played) -> Difference {
    let mut difference = Difference::default();
    // a host is crawled level by level, but a shorter path over another host may be found too late
    if plan.config(Path::new(""), Fault::Nothing).crawl.depth != Limit(None) && plan.site.hosts.len() > 1 {
        return difference;
    }
    let lives: Vec<&Life> = found.rounds.iter().flat_map(|round| &round.lives).collect();
    for (round, (expected, found)) in expected.rounds.iter().zip(&found.rounds).enumerate() {
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        found.records.iter().for_each(|(url, _)| *counts.entry(url).or_default() += 1);
        expected.records.iter().for_each(|(url, _)| *counts.entry(url).or_default() -= 1);
        for (url, count) in counts {
            let url = format!("round {}: {url}", round + 1);
            match count {
                0 => {}
                1.. => difference.doubled.push(url),
                _ => difference.lost.push(url),
            }
        }
        // a run that ends at its limit settles its pages
        let settles_late =
            plan.settle_pages == NEVER && !lives.iter().any(|life| life.end == End::Exited(Exit::Limit));
        if settles_late && difference.is_empty() && expected.records != found.records {
            let other = expected.records.iter().zip(&found.records).filter(|(a, b)| a != b);
            difference.other.extend(other.map(|(a, b)| format!("texts differ: {a:?} became {b:?}")));
        }
        if expected.errors != found.errors {
            let missing: Vec<_> =
                expected.errors.iter().filter(|line| !found.errors.contains(line)).collect();
            let more: Vec<_> = found.errors.iter().filter(|line| !expected.errors.contains(line)).collect();
            let counts = (expected.errors.len(), found.errors.len());
            difference.other.push(format!("error lines {counts:?}: missing {missing:?}, more {more:?}"));
        }
    }
    difference
}

/// Checks that an undisturbed process reports the number of its records.
pub fn counts(plan: &Plan, played: &Played) -> Result<(), String> {
    let mut before = 0;
    // a folder has no record of a page that is gone
    let told = if is_folder(Path::new(plan.output)) { 1 } else { played.rounds.len() };
    for round in &played.rounds[..told] {
        let (life, all) = (round.lives[0], round.records.len() as u64);
        // a round without records replaces the output by an empty one
        let written = if plan.replace { all } else { all - before };
        if life.records != written {
            return Err(format!("the summary counts {} records, the output has {written}", life.records));
        }
        before = all;
    }
    Ok(())
}

/// Checks gaps, slots, `Retry-After` and robots.txt, as the servers saw them.
pub fn politeness(plan: &Plan, log: &[Request]) -> Result<(), String> {
    for host in &plan.site.hosts {
        let requests: Vec<&Request> = log.iter().filter(|request| request.host == host.name).collect();
        let robots = requests
            .iter()
            .find(|request| request.path == "/robots.txt" && (200..500).contains(&request.status))
            .and_then(|request| request.end);
        for (index, request) in requests.iter().enumerate() {
            let told = |what: &str| {
                let (delay, before) = (host.crawl_delay_s, requests[..index].last());
                format!("{what}: {request:?} after {before:?}; Crawl-delay {delay} s")
            };
            if request.path != "/robots.txt" && robots.is_none_or(|known| request.start < known) {
                return Err(told("robots.txt was not asked first"));
            }
            if host.denies && request.path.starts_with("/private/") {
                return Err(told("disallowed"));
            }
            let earlier = || requests[..index].iter().filter(|before| before.life == request.life);
            let open = earlier().filter(|before| before.end.is_none_or(|end| end > request.start)).count();
            if open >= plan.host_concurrency {
                return Err(told("too many at once"));
            }
            if let Some(before) = earlier().next_back() {
                // a kill may roll back a robots.txt: until it is fetched again, its delay is unknown
                let again = request.path == "/robots.txt";
                let known = !again && robots.is_some_and(|known| known <= before.start);
                let asked = if known { Duration::from_secs(host.crawl_delay_s) } else { Duration::ZERO };
                let from = if plan.host_concurrency == 1 { before.end } else { Some(before.start) };
                let from = from.unwrap_or(before.start);
                if request.start + GRAIN < from + plan.delay.max(asked) {
                    return Err(told("too soon"));
                }
            }
            let waits = |before: &&&Request| {
                let end = before.end.filter(|end| *end < request.start);
                end.is_some_and(|end| request.start + GRAIN < end + Duration::from_secs(before.retry_after_s))
            };
            if earlier().any(|before| waits(&before)) {
                return Err(told("Retry-After was not kept"));
            }
        }
    }
    addresses(plan, log)?;
    let most = log.iter().map(|request| {
        let open = |other: &&Request| {
            other.life == request.life
                && other.start <= request.start
                && other.end.is_none_or(|end| end > request.start)
        };
        log.iter().filter(open).count()
    });
    match most.max() {
        Some(most) if most > plan.concurrency => Err(format!("{most} requests at once")),
        _ => Ok(()),
    }
}

/// Checks that hosts on one address share a limit there.
fn addresses(plan: &Plan, log: &[Request]) -> Result<(), String> {
    let pause = plan.delay.mul_f64(plan.address_share);
    for (index, request) in log.iter().enumerate() {
        let before = log[..index].iter().rev().find(|before| before.address == request.address);
        let before = before.filter(|before| before.life == request.life);
        if before.is_some_and(|before| request.start + GRAIN < before.start + pause) {
            return Err(format!("too soon for the address: {request:?} after {before:?}"));
        }
    }
    Ok(())
}
