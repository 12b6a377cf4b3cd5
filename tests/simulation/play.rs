//! Plays a crawl: one process after the other over the same state directory, until each round has ended.

use super::{
    check::{self, Errors, Records},
    faults::{Fault, Probe, Watched},
    network::{Network, Request, Wire},
    plan::Plan,
    site::Site,
    world::{Seen, World},
};
use crawl::{
    report::{Named, Samples},
    run,
};
use crawl_engine::{
    exit::Exit,
    platform::Platform,
    session::{Session, open_state},
    threads::Threading,
};
use crawl_extract::Rules;
use crawl_fetch::{Seed, parse_seed_line};
use crawl_model::Store;
use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, OnceLock, atomic::Ordering::Relaxed},
    time::Duration,
};

/// Simulated time limit of a process.
const ENDLESS: Duration = Duration::from_secs(200 * 3_600);
/// Time between two rounds.
const NIGHT: Duration = Duration::from_secs(30 * 3_600);

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Died,
    Exited(Exit),
}

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub fault: Fault,
    pub struck: bool,
    pub end: End,
    pub calls: u64,
    pub time_ms: u64,
    /// Number of written records that the process reports.
    pub records: u64,
}

/// The remains of a round.
#[derive(Debug)]
pub struct Round {
    pub records: Records,
    pub errors: Errors,
    pub lives: Vec<Life>,
}

pub struct Played {
    pub rounds: Vec<Round>,
    pub log: Vec<Request>,
}

/// Reason for ending a play early.
#[derive(Debug)]
pub struct Stop(pub String);

pub struct Stage<'a> {
    plan: &'a Plan,
    dir: PathBuf,
    world: Arc<World>,
    network: Arc<Network>,
    seeds: Vec<Seed>,
    lives: usize,
}

fn rules() -> Arc<Rules> {
    static RULES: OnceLock<Arc<Rules>> = OnceLock::new();
    Arc::clone(RULES.get_or_init(|| Arc::new(Rules::load(None).unwrap())))
}

impl<'a> Stage<'a> {
    /// Creates a player in a directory, which must be empty.
    pub fn new(plan: &'a Plan, site: &Site, dir: &Path) -> Self {
        let world = World::new(plan.seed);
        let network = Network::new(Arc::clone(&world), site.clone(), plan.seed, Duration::from_secs(3));
        let seeds = site.seeds.iter().map(|seed| parse_seed_line(seed).unwrap()).collect();
        Self { plan, dir: dir.to_owned(), world, network, seeds, lives: 0 }
    }

    /// Plays all rounds; `faults` are those of a round's processes.
    pub fn play(mut self, faults: impl Fn(u32) -> Vec<Fault>) -> Result<Played, Stop> {
        let mut rounds = Vec::new();
        for round in 1..=self.plan.rounds {
            if round > 1 {
                self.world.pass(NIGHT);
            }
            self.network.round.store(round, Relaxed);
            rounds.push(self.round(faults(round))?);
        }
        Ok(Played { rounds, log: self.network.log() })
    }

    fn round(&mut self, faults: Vec<Fault>) -> Result<Round, Stop> {
        let mut lives: Vec<Life> = Vec::new();
        for fault in faults.into_iter().chain([Fault::Nothing; 3]) {
            let life = self.life(fault)?;
            lives.push(life);
            let records = check::records(&self.output()).map_err(Stop)?;
            check::exit(&life).map_err(Stop)?;
            let ended = matches!(life.end, End::Exited(Exit::Done | Exit::NoSeed));
            if ended || (life.end == End::Died && self.has_ended()?) {
                if ended {
                    check::leftovers(&self.dir).map_err(Stop)?;
                    if self.plan.archive {
                        check::archive(&self.dir.join("warc"), &records).map_err(Stop)?;
                    }
                }
                let errors = check::errors(&self.dir.join("state/errors.jsonl")).map_err(Stop)?;
                return Ok(Round { records, errors, lives });
            }
        }
        Err(Stop(format!("the round does not end: {lives:?}")))
    }

    fn output(&self) -> PathBuf {
        self.dir.join(self.plan.output)
    }

    /// Returns true if the process died when its round was complete.
    fn has_ended(&self) -> Result<bool, Stop> {
        let fail = |e: crawl_model::StoreError| Stop(e.to_string());
        let store = crawl_store::open(&self.dir.join("state")).map_err(fail)?;
        crawl_engine::state::is_finished(&*store).map_err(fail)
    }

    /// Runs one process to its end or death.
    fn life(&mut self, fault: Fault) -> Result<Life, Stop> {
        self.network.life.store(self.lives, Relaxed);
        self.lives += 1;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let probe = Probe::new(fault);
        let result = runtime.block_on(async {
            self.world.begin();
            let guard = crawl_model::simulate(Rc::new(Seen(Arc::clone(&self.world))));
            let begun = self.world.now();
            let result = self.process(fault, &probe).await;
            let time = self.world.now() - begun;
            self.world.end();
            drop(guard);
            result.map(|(end, records)| (end, records, time))
        });
        drop(runtime);
        // the next process cannot start at the same time
        self.world.pass(Duration::from_secs(1));
        let (end, records, time) = result?;
        Ok(Life {
            fault,
            struck: probe.struck.load(Relaxed),
            end,
            calls: probe.calls.load(Relaxed),
            time_ms: u64::try_from(time.as_millis()).unwrap(),
            records,
        })
    }

    async fn process(&self, fault: Fault, probe: &Arc<Probe>) -> Result<(End, u64), Stop> {
        let (config, channels) = self.plan.settings(&self.dir, fault);
        let state = match open_state(&config, &self.dir.join("state"), false) {
            Ok(state) => state,
            Err(failure) => return Err(Stop(format!("the state cannot be opened: {failure:?}"))),
        };
        let watched = {
            let (probe, state) = (Arc::clone(probe), Arc::clone(&state.store));
            move |store: Arc<dyn Store>| -> Arc<dyn Store> {
                Arc::new(Watched { store, state: Arc::clone(&state), probe: Arc::clone(&probe) })
            }
        };
        let platform = Platform::default()
            .with_transport(Arc::new(Wire(Arc::clone(&self.network))))
            .with_threading(Threading::Inline)
            .with_rules(rules())
            .with_wrap(Arc::new(watched))
            .with_channels(channels)
            // a slow machine never truncates a page
            .with_page_deadline(Duration::from_secs(600));
        let work = async {
            let session = Session::open(config, &self.seeds, &state, &platform, |_| {})?;
            let context = Arc::clone(&session.context);
            let (output, errors) = session.names();
            let named = Named { output, errors, ..Named::default() };
            self.disturb(fault, probe, context.control.cancel.clone());
            let outcome = session.run().await;
            let exit = run::finish((&context, &Samples::default()), &state, &named, outcome, true);
            exit.map(|exit| (exit, context.stats.records.get()))
        };
        let death = if let Fault::KillAtTime(ms) = fault { Duration::from_millis(ms) } else { ENDLESS };
        let end = tokio::select! {
            biased;
            () = probe.death.notified() => (End::Died, 0),
            done = work => match done {
                _ if probe.dead.load(Relaxed) => (End::Died, 0),
                Ok((exit, records)) => (End::Exited(exit), records),
                Err(failure) => (End::Exited(failure.exit), 0),
            },
            () = tokio::time::sleep(death) => {
                if death == ENDLESS {
                    return Err(Stop("a process hangs".into()));
                }
                probe.struck.store(true, Relaxed);
                state.store.abandon(&crawl_model::StoreError::Other("killed".into()));
                (End::Died, 0)
            }
        };
        Ok(end)
    }

    /// Applies external faults at their time.
    fn disturb(&self, fault: Fault, probe: &Arc<Probe>, cancel: tokio_util::sync::CancellationToken) {
        let (world, probe) = (Arc::clone(&self.world), Arc::clone(probe));
        let (Fault::Interrupt(at_ms) | Fault::ClockJumps { at_ms, .. }) = fault else { return };
        drop(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(at_ms)).await;
            probe.struck.store(true, Relaxed);
            match fault {
                Fault::ClockJumps { by_ms, .. } => world.jump(by_ms),
                _ => cancel.cancel(),
            }
        }));
    }
}
