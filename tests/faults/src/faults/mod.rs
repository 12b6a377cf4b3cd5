//! Kinds of faults, and the verdict on a case.

mod clock;
mod damage;
mod disk;
mod kills;
mod network;
mod power;
mod syscalls;

use crate::{
    campaign::Campaign,
    outcome::{Difference, Outcome, last_line},
    random::Random,
    run::Ended,
    scenario::{Format, Job, Scenario},
    world::{With, World},
};
use std::{fs, io, path::Path};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// kill -9.
    Kills,
    /// One system call fails, or is the last one.
    Syscalls,
    /// A loss of power: unsynced bytes are lost.
    Power,
    /// A file is damaged.
    Damage,
    /// The disk is full.
    Disk,
    /// The clock jumps.
    Clock,
    /// Connections break.
    Network,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Kills, Self::Syscalls, Self::Power, Self::Damage, Self::Disk, Self::Clock, Self::Network];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kills => "kills",
            Self::Syscalls => "syscalls",
            Self::Power => "power",
            Self::Damage => "damage",
            Self::Disk => "disk",
            Self::Clock => "clock",
            Self::Network => "network",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Cases of the long campaign.
    #[must_use]
    pub const fn cases(self) -> u64 {
        match self {
            Self::Kills => 500,
            Self::Syscalls => 1000,
            Self::Power => 200,
            Self::Damage => 300,
            Self::Disk => 50,
            Self::Clock => 30,
            Self::Network => 100,
        }
    }
}

/// Verdict on a case. All flags but `refused` and `told` are failures.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Scenario and fault in words.
    pub story: String,
    /// A documented exit code, a message with the file, and a remedy that restores all records.
    pub refused: bool,
    /// Records are missing or changed, and the program reported it.
    pub told: bool,
    /// Records that are missing.
    pub lost: usize,
    /// Records that occur more than once.
    pub doubled: usize,
    /// Records are missing, doubled or changed at exit code 0, without a report.
    pub silent: bool,
    /// The message of a refusal names no file.
    pub vague: bool,
    /// Broken promises, in words.
    pub failures: Vec<String>,
}

impl Verdict {
    /// Returns true if nothing failed.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.failures.is_empty() && !self.silent && (self.told || (self.lost == 0 && self.doubled == 0))
    }

    /// Adds a failure.
    pub fn fail(&mut self, failure: impl Into<String>) {
        self.failures.push(failure.into());
    }

    /// Counts differences, and marks them as silent if the program reported none.
    pub fn count(&mut self, difference: &Difference) {
        (self.lost, self.doubled) = (difference.lost.len(), difference.doubled.len());
        for (what, names) in [
            ("lost", &difference.lost),
            ("doubled", &difference.doubled),
            ("changed", &difference.changed),
            ("error lines", &difference.errors),
        ] {
            if let Some(first) = names.first() {
                self.fail(format!("{what}: {} ({first}, …)", names.len()));
            }
        }
    }
}

/// Temporary files that may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// The last run ended by itself.
    Nothing,
    /// The last run was killed, and no run followed.
    OfKilled,
}

/// A case that is being run.
pub struct Case<'a> {
    /// The parts that cases share.
    pub campaign: &'a Campaign,
    /// Its numbers.
    pub random: Random,
    /// Its seed.
    pub seed: u64,
    /// Verdict so far.
    pub verdict: Verdict,
}

impl Case<'_> {
    /// Runs the case of a kind and a seed.
    ///
    /// # Errors
    /// When its world cannot be created.
    pub fn run(campaign: &Campaign, kind: Kind, seed: u64) -> io::Result<Verdict> {
        let random = Random::of(seed, kind.name());
        let mut case = Case { campaign, random, seed, verdict: Verdict::default() };
        match kind {
            Kind::Kills => kills::run(&mut case)?,
            Kind::Syscalls => syscalls::run(&mut case)?,
            Kind::Power => power::run(&mut case)?,
            Kind::Damage => damage::run(&mut case)?,
            Kind::Disk => disk::run(&mut case)?,
            Kind::Clock => clock::run(&mut case)?,
            Kind::Network => network::run(&mut case)?,
        }
        Ok(case.verdict)
    }

    /// Creates a world of the scenario, in the state before the disturbed command.
    fn world(&mut self, scenario: Scenario) -> io::Result<World> {
        let world = self.campaign.world(scenario)?;
        world.prepare()?;
        Ok(world)
    }

    fn tell(&mut self, words: impl AsRef<str>) {
        if !self.verdict.story.is_empty() {
            self.verdict.story += "; ";
        }
        self.verdict.story += words.as_ref();
    }

    /// Checks the readable outputs directly after a run was cut off. A growing output may end within a line;
    /// one that is written at once is whole.
    fn check_torn(&mut self, world: &World) {
        let grows = world.scenario().is_crawl() || world.scenario().job == Job::Replay;
        if let Err(error) = Outcome::read(world, grows) {
            self.verdict.fail(format!("right after the fault: {error}"));
        }
    }

    /// Returns true if the round is done and closed: the same command would begin a new one.
    fn is_complete(&self, world: &World, expected: &Outcome) -> bool {
        let whole = Outcome::read(world, false).is_ok_and(|found| {
            let mut expected = expected.clone();
            expected.forget_replay();
            found.difference(&expected).is_none()
        });
        whole && (!world.scenario().is_crawl() || world.is_finished())
    }

    /// Runs the command undisturbed to its end, and compares the results with an undisturbed run.
    fn finish(&mut self, world: &World) -> io::Result<()> {
        let expected = self.campaign.expected(world.scenario())?;
        if self.is_complete(world, &expected.outcome) {
            return self.compare(world, Left::OfKilled);
        }
        let ended = world.run(&With::default())?;
        self.check_end(&ended);
        if ended.code != Some(0) {
            self.verdict.fail(format!("goes on with exit {:?}: {}", ended.code, last_line(&ended.stderr)));
        }
        self.compare(world, Left::Nothing)
    }

    /// Compares everything with an undisturbed run.
    fn compare(&mut self, world: &World, left: Left) -> io::Result<()> {
        let expected = self.campaign.expected(world.scenario())?;
        match self.found(world) {
            Ok(found) => {
                let difference = found.difference(&expected.outcome);
                self.verdict.count(&difference);
                self.verdict.silent |= !difference.is_whole();
            }
            Err(error) => self.verdict.fail(error),
        }
        if left == Left::Nothing {
            self.check_left(world);
        }
        Ok(())
    }

    fn found(&self, world: &World) -> Result<Outcome, String> {
        let mut found = Outcome::read(world, false)?;
        if world.scenario().format == Format::Warc && world.scenario().is_crawl() {
            found.replayed(world)?;
        }
        Ok(found)
    }

    /// Checks that hold for each end.
    fn check_end(&mut self, ended: &Ended) {
        if ended.hung {
            self.verdict.fail("hangs");
        } else if ended.code.is_none() {
            self.verdict.fail(format!("ended by a signal: {}", last_line(&ended.stderr)));
        }
        if ended.left_processes {
            self.verdict.fail("leaves a process behind");
        }
        if ended.stderr.contains("panicked") {
            self.verdict.fail(format!("panics: {}", last_line(&ended.stderr)));
        }
    }

    /// Checks that a failing run exits with one of `codes` and a message that names a path of the case.
    fn check_refusal(&mut self, world: &World, ended: &Ended, codes: &[i32]) {
        self.check_end(ended);
        if !ended.code.is_some_and(|code| codes.contains(&code)) {
            self.verdict.fail(format!(
                "exit {:?} is not documented here: {}",
                ended.code,
                last_line(&ended.stderr)
            ));
        }
        let case = world.case().to_string_lossy().into_owned();
        if !ended.hung && !ended.stderr.contains(&case) {
            self.verdict.vague = true;
            self.verdict.fail(format!("the message names no file: {}", last_line(&ended.stderr)));
        }
    }

    /// Checks that no temporary files remain.
    fn check_left(&mut self, world: &World) {
        // The next replay a minute later removes an empty folder of a replay that was killed before its lock
        // (docs/failures.md).
        let tmp = world.case().join("tmp");
        let mut left = names(&tmp);
        left.retain(|name| !(name.starts_with("crawl-replay-") && names(&tmp.join(name)).is_empty()));
        let temporary = |name: &String| {
            let name = name.as_str();
            // the owner of an output stays beside it (docs/outputs.md)
            let is_owner = name.starts_with('.') && name.ends_with(".crawl");
            name.starts_with('.') && !is_owner
                || [".new", ".tmp", ".open"].iter().any(|ending| name.ends_with(ending))
        };
        for folder in ["state", "warc", "out", "."] {
            left.extend(names(&world.case().join(folder)).into_iter().filter(temporary));
        }
        if !left.is_empty() {
            self.verdict.fail(format!("left behind: {}", left.join(", ")));
        }
    }
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
