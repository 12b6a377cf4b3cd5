use super::*;
use crate::state::tests::{lease, open, url};
use crawl_model::{Outcome, PageHistory, Record, Settlement};
use crawl_output::{FileOutput, Output};
use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

/// A record with an `id` of the test's choice.
fn record(id: &str) -> Record {
    let mut record: Record =
        serde_json::from_str(include_str!("../../../../output/tests/record.json")).unwrap();
    id.clone_into(&mut record.id);
    record
}

/// Opens an output as a run does.
fn opened(state: &State, place: &Place) -> Opened {
    let opened = place.open(state.before(place, &place.path, false).unwrap(), None).unwrap();
    state.output_opened(place, opened.offset, opened.stale).unwrap();
    state.store.sync().unwrap();
    opened
}

/// Writes two settled bytes and one that is not into `out.jsonl`, as a run that is killed leaves it.
fn killed(dir: &Path) {
    let state = open(&dir.join("state"));
    let place = Place::of(&dir.join("out.jsonl"));
    let mut file = FileOutput::open(&place.path, state.before(&place, &place.path, true).unwrap()).unwrap();
    state.output_opened(&place, 0, false).unwrap();
    file.write(b"a\n").unwrap();
    state.store.settle(&[], &[OutputMark { name: place.name(), offset: 2 }]).unwrap();
    file.write(b"b").unwrap();
}

fn before(dir: &Path, name: &str, replace: bool) -> Before {
    let path = dir.join(name);
    open(&dir.join("state")).before(&Place::of(&path), &path, replace).unwrap()
}

#[test]
fn output_is_recognised_by_any_path_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir.path()).unwrap();
    killed(&dir);
    symlink("out.jsonl", dir.join("link.jsonl")).unwrap();
    fs::create_dir(dir.join("sub")).unwrap();
    for name in ["out.jsonl", "link.jsonl", "sub/../out.jsonl"] {
        for replace in [false, true] {
            assert_eq!(before(&dir, name, replace), Before::CutOff(2), "{name} {replace}");
        }
    }
}

#[test]
fn output_moved_with_its_state_is_recognised() {
    for replace in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(dir.join("old")).unwrap();
        killed(&dir.join("old"));
        fs::rename(dir.join("old"), dir.join("new")).unwrap();
        assert_eq!(before(&dir.join("new"), "out.jsonl", replace), Before::CutOff(2));
        assert_eq!(before(&dir.join("new"), "out.jsonl", replace), Before::CutOff(2), "and again");
        // another file is another output, even under the name of this one
        fs::rename(dir.join("new/out.jsonl"), dir.join("new/kept")).unwrap();
        fs::write(dir.join("new/other.jsonl"), "mine\n").unwrap();
        let other = if replace { Before::Replace } else { Before::Unknown };
        assert_eq!(before(&dir.join("new"), "other.jsonl", replace), other);
        // nor is one that may have got the inode of the output
        fs::remove_file(dir.join("new/kept")).unwrap();
        fs::write(dir.join("new/next.jsonl"), "mine\n").unwrap();
        assert_eq!(before(&dir.join("new"), "next.jsonl", replace), other);
    }
}

#[test]
fn output_names_of_earlier_versions_are_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(dir.join("real")).unwrap();
    symlink("real", dir.join("link")).unwrap();
    fs::write(dir.join("real/out.jsonl"), "a\nb").unwrap();
    let state = open(&dir.join("state"));
    let name = dir.join("link/out.jsonl").to_string_lossy().into_owned();
    state.store.settle(&[], &[OutputMark { name: name.clone(), offset: 2 }]).unwrap();
    state.store.put(&open_key(&name), "1").unwrap();
    state.store.put(&round_key(&name), "1").unwrap();
    drop(state);
    for name in ["link/out.jsonl", "real/out.jsonl"] {
        assert_eq!(before(&dir, name, true), Before::CutOff(2), "{name}");
    }
}

/// A crawl of six URLs in batches of two that loses power at one of its steps. The database is as at its
/// last sync, the output as it was. Returns how often each URL is in the output once the next run has
/// ended.
fn crawl_without_power(name: &str, steps: usize, synced: bool) -> BTreeMap<String, usize> {
    let dir = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir.path()).unwrap();
    let (state_dir, place) = (dir.join("state"), Place::of(&dir.join(name)));
    let database = state_dir.join("crawl.sqlite");
    let mut left = steps;
    let mut durable = Vec::new();
    let mut step = || {
        left -= usize::from(left > 0);
        // without its log the database is as at the last sync
        durable = fs::read(&database).unwrap();
        left > 0
    };
    run_steps(&state_dir, &place, synced, &mut step);
    fs::write(&database, durable).unwrap();
    run_steps(&state_dir, &place, synced, &mut || true);
    let mut counts = BTreeMap::new();
    for url in urls_of(&place) {
        *counts.entry(url).or_default() += 1;
    }
    counts
}

/// The steps of a run, until `step` says that it is over; `synced` as the sink is, before it finishes the output.
fn run_steps(state_dir: &Path, place: &Place, synced: bool, step: &mut dyn FnMut() -> bool) {
    let state = open(state_dir);
    if state.new_round {
        assert_eq!(state.round, 1, "no round begins before the first has ended");
    }
    state.store.enqueue(&[1, 2, 3, 4, 5, 6].map(url)).unwrap();
    let mut output = opened(&state, place).output;
    if !step() {
        return;
    }
    loop {
        let leased = lease(&*state.store, 2);
        if leased.is_empty() {
            break;
        }
        let mut ended = Vec::new();
        for (lease, url) in leased {
            let mut page = record("1");
            page.url = url;
            output.push(&page).unwrap();
            ended.push(Settlement { lease, outcome: Outcome::Record, history: PageHistory::default() });
        }
        let offset = output.commit().unwrap().unwrap();
        let mark = OutputMark { name: output.name().to_owned(), offset };
        if !step() {
            return;
        }
        state.store.settle(&ended, &[mark]).unwrap();
        if !step() {
            return;
        }
    }
    if synced {
        state.store.sync().unwrap();
    }
    let offset = output.finish().unwrap().unwrap();
    if !step() {
        return;
    }
    let mark = OutputMark { name: output.name().to_owned(), offset };
    state.store.settle(&[], &[mark]).unwrap();
    drop(output);
    output_closed(&*state.store, &place.name()).unwrap();
    if !step() {
        return;
    }
    place
        .tidy(&mut |offset| {
            let mark = OutputMark { name: place.name(), offset };
            Ok(state.store.settle(&[], &[mark]).map(|_| ())?)
        })
        .unwrap();
    assert!(crate::state::note_end(&*state.store).unwrap());
    step();
}

fn urls_of(place: &Place) -> Vec<String> {
    if place.path != place.marked() {
        let index = fs::read_to_string(place.marked()).unwrap();
        let url = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].clone();
        return index.lines().map(|line| url(line).as_str().unwrap().to_owned()).collect();
    }
    let options = crawl_archive::ReadOptions { max_record: 1 << 20, keep_lines: false };
    let mut urls = Vec::new();
    crawl_archive::read_file(&place.path, &options, &mut |item| {
        let crawl_archive::Item::Document(document) = item else { panic!("unreadable") };
        urls.push(document.url);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    urls
}

#[test]
fn power_loss_neither_loses_nor_duplicates_records() {
    let expected: BTreeMap<String, usize> = (1..=6).map(|n| (url(n).url, 1)).collect();
    for name in ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet", "pages/"] {
        // the tenth ends the round
        for steps in 1..=9 {
            assert_eq!(crawl_without_power(name, steps, true), expected, "{name}, step {steps}");
        }
    }
}

#[test]
fn simulation_detects_a_missing_sync() {
    let counts = crawl_without_power("out.parquet", 8, false);
    assert_eq!(counts.values().sum::<usize>(), 12, "each row is in the table twice: {counts:?}");
}
