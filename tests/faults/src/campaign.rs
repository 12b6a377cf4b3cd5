//! Shared parts of all cases: the binary, the folder of their worlds, and the results of undisturbed runs.

use crate::{
    faults::{Case, Kind, Verdict},
    outcome::Outcome,
    scenario::{Format, Scenario},
    shim::KINDS,
    world::{With, World},
};
use std::{
    collections::HashMap,
    env, fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Result of an undisturbed run of a scenario.
#[derive(Debug)]
pub struct Expected {
    /// Records and error lines.
    pub outcome: Outcome,
    /// Its system calls, by kind.
    pub counts: Vec<u64>,
    /// Duration of the run.
    pub took: Duration,
}

/// See the module.
pub struct Campaign {
    binary: PathBuf,
    parent: PathBuf,
    keep: bool,
    known: Mutex<HashMap<Scenario, Arc<Expected>>>,
}

/// A case with its verdict.
#[derive(Clone, Debug)]
pub struct Done {
    /// The kind of fault.
    pub kind: Kind,
    /// The seed of the case.
    pub seed: u64,
    /// Verdict on the case.
    pub verdict: Verdict,
    /// Duration of the case.
    pub took: Duration,
}

impl Campaign {
    /// Creates a campaign over a binary. Worlds are in memory if the system has a folder for that.
    #[must_use]
    pub fn new(binary: &Path) -> Self {
        let memory = Path::new("/dev/shm");
        let writable = tempfile::tempdir_in(memory).is_ok();
        let parent = if writable { memory.to_owned() } else { env::temp_dir() };
        Self { binary: binary.to_owned(), parent, keep: false, known: Mutex::default() }
    }

    /// Keeps the folders of all worlds, to examine a case.
    #[must_use]
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// The binary `crawl` beside the running program, or the one in `CRAWL_BINARY`.
    ///
    /// # Errors
    /// When there is none.
    pub fn binary() -> io::Result<PathBuf> {
        if let Some(named) = env::var_os("CRAWL_BINARY") {
            return fs::canonicalize(named);
        }
        let program = env::current_exe()?;
        let found = program
            .ancestors()
            .skip(1)
            .take(2)
            .map(|folder| folder.join("crawl"))
            .find(|path| path.is_file());
        found.ok_or_else(|| {
            io::Error::other(
                "no binary crawl: build it with cargo build -p crawl, or name one in CRAWL_BINARY",
            )
        })
    }

    /// A new world.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn world(&self, scenario: Scenario) -> io::Result<World> {
        World::new(scenario, &self.binary, &self.parent, self.keep)
    }

    /// Result of an undisturbed run of a scenario, which the first use runs.
    ///
    /// # Errors
    /// When it fails.
    pub fn expected(&self, scenario: Scenario) -> io::Result<Arc<Expected>> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&scenario) {
            return Ok(Arc::clone(known));
        }
        let expected = Arc::new(self.undisturbed(scenario)?);
        lock().insert(scenario, Arc::clone(&expected));
        Ok(expected)
    }

    fn undisturbed(&self, scenario: Scenario) -> io::Result<Expected> {
        let world = self.world(scenario)?;
        world.prepare()?;
        let ended = world.run(&With { count: true, ..With::default() })?;
        let fail = |error: String| io::Error::other(format!("undisturbed {scenario}: {error}"));
        if ended.code != Some(0) {
            return Err(fail(format!("exit {:?}\n{}", ended.code, ended.stderr)));
        }
        let mut outcome = Outcome::read(&world, false).map_err(fail)?;
        if scenario.format == Format::Warc && scenario.is_crawl() {
            outcome.replayed(&world).map_err(fail)?;
        }
        if outcome.len() < 5 || (scenario.is_crawl() && outcome.errors() == 0) {
            return Err(fail(format!("{} records only\n{}", outcome.len(), ended.stderr)));
        }
        let text = fs::read_to_string(world.own("count"))?;
        let count = |kind: &&str| {
            text.lines().find_map(|line| line.strip_prefix(*kind)?.trim().parse().ok()).unwrap_or(0)
        };
        let counts: Vec<u64> = KINDS.iter().map(count).collect();
        if counts[1] == 0 || (scenario.is_crawl() && counts[2] == 0) {
            return Err(fail("the shim has seen no write and no sync".into()));
        }
        Ok(Expected { outcome, counts, took: ended.took })
    }

    /// Runs one case.
    #[must_use]
    pub fn case(&self, kind: Kind, seed: u64) -> Done {
        let started = Instant::now();
        let verdict = Case::run(self, kind, seed).unwrap_or_else(|error| {
            let mut verdict = Verdict::default();
            verdict.fail(format!("the case cannot be run: {error}"));
            verdict
        });
        Done { kind, seed, verdict, took: started.elapsed() }
    }

    /// Runs cases on several threads; `each` gets each result.
    ///
    /// # Panics
    /// When no thread can be started.
    pub fn run(&self, cases: &[(Kind, u64)], threads: usize, each: impl Fn(&Done) + Sync) -> Vec<Done> {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some((kind, seed)) = cases.get(next.fetch_add(1, Ordering::AcqRel)) {
                let case = self.case(*kind, *seed);
                each(&case);
                done.lock().unwrap_or_else(PoisonError::into_inner).push(case);
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                thread::Builder::new().name("cases".into()).spawn_scoped(scope, work).unwrap();
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|case: &Done| (case.kind, case.seed));
        done
    }
}
