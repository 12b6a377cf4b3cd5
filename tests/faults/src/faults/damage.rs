//! Damaged files: bits flipped, blocks zeroed, ends cut, files removed or replaced.

use super::{Case, names};
use crate::{
    outcome::{Difference, Outcome, last_line},
    random::Random,
    run::Ended,
    scenario::{Format, Job, Scenario},
    shim::{KINDS, Plan},
    world::{With, World},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Results of commands that read a whole output and found damage in it.
const TOLD: [&str; 2] = ["replay of the archive: exit Some(7)", "check of the projects: exit Some(7)"];

/// Words of a message that describe the remedy.
const WAYS_OUT: [&str; 9] = [
    "--fresh",
    "repair",
    "remove",
    "move",
    "room",
    "replace it with -o",
    "name another",
    "free ",
    "name the folder",
];

pub(super) fn run(case: &mut Case<'_>) -> io::Result<()> {
    let job = *case.random.pick(&[Job::First, Job::First, Job::First, Job::Night, Job::Night, Job::Replay]);
    let scenario = Scenario::of(job, &mut case.random);
    case.tell(scenario.to_string());
    let world = match job {
        Job::First => killed(case, scenario)?,
        _ => case.world(scenario)?,
    };
    let Some(file) = target(&world, job, &mut case.random) else { return case.finish(&world) };
    let what = damage(&file, &mut case.random)?;
    case.tell(format!("{what} {}", file.strip_prefix(world.case()).unwrap_or(&file).display()));
    let ended = world.run(&With::default())?;
    judge(case, &world, &file, &ended)
}

/// A world whose first round was killed before its end. After the end the same command would begin another
/// round, with records that depend on its settings.
fn killed(case: &mut Case<'_>, scenario: Scenario) -> io::Result<World> {
    let expected = case.campaign.expected(scenario)?;
    let total: u64 = expected.counts.iter().sum();
    let mut n = total / 5 + case.random.part(total * 4 / 5);
    loop {
        let world = case.world(scenario)?;
        let plan = Plan { kinds: KINDS.to_vec(), n, action: "kill-after", ..Plan::default() };
        world.run(&With { plan: Some(&plan), ..With::default() })?;
        if n < 2 || !case.is_complete(&world, &expected.outcome) {
            case.tell(format!("killed at call {n}"));
            return Ok(world);
        }
        n /= 2;
    }
}

fn judge(case: &mut Case<'_>, world: &World, file: &Path, ended: &Ended) -> io::Result<()> {
    let expected = case.campaign.expected(world.scenario())?;
    let named = names_file(&ended.stderr, file);
    case.check_end(ended);
    if ended.code != Some(0) {
        // an archive without a file is a usage error of a replay, and so is a file of `-O` without all its records
        let is_usage = match world.scenario().job {
            Job::Replay => !file.exists(),
            Job::Night => ended.stderr.contains("would write only a part of the pages"),
            _ => false,
        };
        let usage = if is_usage { 2 } else { 3 };
        case.check_refusal(world, ended, &[3, 6, 7, usage]);
        if file.is_dir() {
            case.tell("the folder is removed");
            fs::remove_dir(file)?;
        }
        case.verdict.refused = true;
        return remedy(case, world, ended);
    }
    let difference = match read(case, world) {
        Ok((_, told)) if told => {
            case.verdict.told = true;
            Difference::default()
        }
        Ok((found, _)) => found.difference(&expected.outcome),
        Err(error) => {
            if named {
                case.verdict.told = true;
            } else {
                case.verdict.silent = true;
                case.verdict.fail(error);
            }
            Difference::default()
        }
    };
    if file.ends_with("errors.jsonl") && difference.is_whole() {
        return Ok(());
    }
    if !difference.is_none() && named {
        (case.verdict.lost, case.verdict.doubled) = (difference.lost.len(), difference.doubled.len());
        case.verdict.told = true;
    } else {
        case.verdict.count(&difference);
        case.verdict.silent |= !difference.is_whole();
    }
    case.check_left(world);
    Ok(())
}

/// Contents of the outputs; true if a command that reads a whole output reported damage.
fn read(case: &Case<'_>, world: &World) -> Result<(Outcome, bool), String> {
    match case.found(world) {
        Ok(found) => Ok((found, false)),
        Err(error) if TOLD.iter().any(|told| error.starts_with(told)) => Ok((Outcome::default(), true)),
        Err(error) => Err(error),
    }
}

fn names_file(message: &str, file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches("-wal").trim_end_matches(".part").trim_end_matches(".open");
    message.contains(name)
}

/// Remedy after a refusal: `--fresh -O` over a damaged state or output restores all records.
fn remedy(case: &mut Case<'_>, world: &World, ended: &Ended) -> io::Result<()> {
    if !world.scenario().is_crawl() {
        return Ok(());
    }
    let mut arguments = world.arguments(&["--fresh"]);
    for argument in arguments.iter_mut().filter(|argument| *argument == "-o") {
        "-O".clone_into(argument);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let projects = world.case().join("projects.sqlite");
    if ended.code == Some(7) && ended.stderr.contains("projects.sqlite") {
        // as the message advises
        for name in ["projects.sqlite", "projects.sqlite-wal", "projects.sqlite-shm"] {
            let _ = fs::remove_file(projects.with_file_name(name));
        }
    }
    let again = world.run_other(&arguments)?;
    if again.code != Some(0) {
        let message = last_line(&again.stderr);
        case.verdict.fail(format!("no way out: --fresh -O ends with exit {:?}: {message}", again.code));
        return Ok(());
    }
    let words = ended.stderr.to_lowercase();
    if !WAYS_OUT.iter().any(|word| words.contains(word)) {
        case.verdict.fail(format!("the message names no way out: {}", last_line(&ended.stderr)));
    }
    if world.scenario().job == Job::First
        && !matches!(world.scenario().format, Format::Warc | Format::Project)
    {
        let expected = case.campaign.expected(Scenario { replace: true, ..world.scenario() })?;
        match Outcome::read(world, false) {
            Ok(found) => {
                let difference = found.difference(&expected.outcome);
                case.verdict.count(&difference);
            }
            Err(error) => case.verdict.fail(error),
        }
    }
    Ok(())
}

/// A file of the case that the next run reads or continues.
fn target(world: &World, job: Job, random: &mut Random) -> Option<PathBuf> {
    let case = world.case();
    let mut weighted: Vec<(PathBuf, u64)> = Vec::new();
    let mut add = |folder: PathBuf, weight: &dyn Fn(&str) -> u64| {
        for name in names(&folder) {
            let path = folder.join(&name);
            if path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0) {
                weighted.push((path, weight(&name)));
            }
        }
    };
    if job != Job::Replay {
        add(case.join("state"), &|name| match name {
            "crawl.sqlite" => 6,
            "crawl.sqlite-wal" => 6,
            "errors.jsonl" | "lock" => 1,
            _ => 0,
        });
        add(case.clone(), &|name| match name {
            "seeds.txt" | "crawled.jsonl" => 0,
            name if name.ends_with("-shm") => 0,
            _ => 4,
        });
        add(case.join("out"), &|_| 2);
    }
    add(case.join("warc"), &|_| 6);
    let total: u64 = weighted.iter().map(|(_, weight)| weight).sum();
    let mut left = random.below(total);
    for (path, weight) in weighted {
        if left < weight {
            return Some(path);
        }
        left -= weight;
    }
    None
}

/// Returns true if the program reads the bytes of a file back. Of other files only the length matters.
fn is_read_back(file: &Path) -> bool {
    let name = file.to_string_lossy();
    [".sqlite", "-wal", ".part", ".warc.gz", ".open", ".parquet"].iter().any(|ending| name.ends_with(ending))
}

/// Returns true if the absence of a file is damage. Closed archives and projects belong to the user, who may
/// remove or empty them.
fn is_needed(file: &Path) -> bool {
    let name = file.to_string_lossy();
    !name.ends_with(".warc.gz") && !name.contains("projects.sqlite")
}

fn damage(file: &Path, random: &mut Random) -> io::Result<&'static str> {
    let mut bytes = fs::read(file)?;
    let length = bytes.len();
    let at = random.index(length);
    let roll = random.below(100);
    let what = match if is_needed(file) { roll } else { roll % 75 } {
        0..35 if is_read_back(file) => {
            bytes[at] ^= 1 << random.below(8);
            "a bit flipped in"
        }
        35..50 if is_read_back(file) => {
            let from = at / 4096 * 4096;
            bytes[from..(from + 4096).min(length)].fill(0);
            "a block zeroed in"
        }
        50..60 if is_read_back(file) => {
            for byte in &mut bytes[at..(at + 512).min(length)] {
                *byte = random.number().to_le_bytes()[0];
            }
            "garbage in"
        }
        0..75 => {
            bytes.truncate(at);
            "cut:"
        }
        75..85 => {
            bytes.clear();
            "emptied:"
        }
        85..97 => {
            fs::remove_file(file)?;
            return Ok("removed:");
        }
        _ => {
            fs::remove_file(file)?;
            fs::create_dir(file)?;
            return Ok("replaced by a folder:");
        }
    };
    fs::write(file, bytes)?;
    Ok(what)
}
