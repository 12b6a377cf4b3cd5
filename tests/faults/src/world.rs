//! World of one case: a folder, the servers of its site, and the commands that run in it.

use crate::{
    proxy::Proxy,
    run::{Ended, Running},
    scenario::{Format, Job, Scenario},
    shim::{self, Plan},
    site::{Night, Site},
};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tempfile::TempDir;

/// Names below the folder of the case.
pub const STATE: &str = "state";

/// See the module.
pub struct World {
    base: TempDir,
    site: Site,
    proxies: Vec<Proxy>,
    scenario: Scenario,
    binary: PathBuf,
    clock: Arc<Clock>,
}

/// The clock that the shim reads: it jumps at a request.
struct Clock {
    file: PathBuf,
    at_request: AtomicU64,
    offset: AtomicU64,
    set: AtomicBool,
}

impl Clock {
    fn on_request(&self, number: u64) {
        let at = self.at_request.load(Ordering::Acquire);
        if at != 0 && number >= at && !self.set.swap(true, Ordering::AcqRel) {
            let _ = write_clock(&self.file, self.offset.load(Ordering::Acquire).cast_signed());
        }
    }
}

/// Writes in place, since the shim has mapped the file.
fn write_clock(file: &Path, offset: i64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(file)?
        .write_all_at(&offset.to_ne_bytes(), 0)
}

/// Disturbances of a run of the world, in addition to its clock.
#[derive(Clone, Debug, Default)]
pub struct With<'a> {
    /// A fault at a system call.
    pub plan: Option<&'a Plan>,
    /// Operations go to the log.
    pub record: bool,
    /// True if counts go to the file of counts.
    pub count: bool,
    /// The clock of the world counts.
    pub clock: bool,
    /// More flags.
    pub flags: &'a [&'a str],
}

impl World {
    /// Creates a world in a folder of `parent`; `keep` leaves the folder there.
    ///
    /// # Errors
    /// When folder or servers cannot be created.
    pub fn new(scenario: Scenario, binary: &Path, parent: &Path, keep: bool) -> io::Result<Self> {
        let base =
            tempfile::Builder::new().prefix("crawl-faults-").disable_cleanup(keep).tempdir_in(parent)?;
        let clock = Arc::new(Clock {
            file: base.path().join("clock"),
            at_request: AtomicU64::new(0),
            offset: AtomicU64::new(0),
            set: AtomicBool::new(false),
        });
        let told = Arc::clone(&clock);
        let site = Site::start(move |number| told.on_request(number))?;
        let world = Self { base, site, proxies: Vec::new(), scenario, binary: binary.to_owned(), clock };
        write_clock(&world.clock.file, 0)?;
        fs::create_dir(world.case())?;
        for folder in ["tmp", "home"] {
            fs::create_dir_all(world.case().join(folder))?;
        }
        world.write_seeds(&world.site.ports())?;
        Ok(world)
    }

    fn write_seeds(&self, ports: &[u16]) -> io::Result<()> {
        let seeds: Vec<String> = ports.iter().map(|port| format!("http://127.0.0.1:{port}/\n")).collect();
        fs::write(self.base.path().join("seeds.txt"), seeds.concat())
    }

    /// Adds proxies before the site, which disturb answers.
    ///
    /// # Errors
    /// When no port is free.
    pub fn with_proxies(mut self, seed: u64) -> io::Result<Self> {
        let ports = self.site.ports();
        self.proxies = ports
            .iter()
            .zip(seed..)
            .map(|(port, seed)| Proxy::start(*port, seed))
            .collect::<io::Result<_>>()?;
        self.write_seeds(&self.ports())?;
        Ok(self)
    }

    /// Makes the proxies pass everything undisturbed from now on.
    pub fn calm(&self) {
        self.proxies.iter().for_each(Proxy::calm);
    }

    /// The scenario.
    #[must_use]
    pub const fn scenario(&self) -> Scenario {
        self.scenario
    }

    /// Folder with state, outputs, archive and temporary files, to which faults apply.
    #[must_use]
    pub fn case(&self) -> PathBuf {
        self.base.path().join("case")
    }

    /// A file beside the case, which no fault affects.
    #[must_use]
    pub fn own(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// The state directory.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.case().join(STATE)
    }

    /// The output of the disturbed command.
    #[must_use]
    pub fn output(&self) -> PathBuf {
        self.case().join(self.scenario.format.file())
    }

    fn ports(&self) -> Vec<u16> {
        if self.proxies.is_empty() {
            self.site.ports()
        } else {
            self.proxies.iter().map(Proxy::port).collect()
        }
    }

    /// A text with the addresses of hosts replaced by their names.
    #[must_use]
    pub fn named(&self, text: &str) -> String {
        self.ports().iter().enumerate().fold(text.to_owned(), |text, (host, port)| {
            text.replace(&format!("127.0.0.1:{port}"), &format!("host{host}"))
                .replace(&format!("127.0.0.1+{port}"), &format!("host{host}"))
        })
    }

    /// Sets the night of the site.
    pub fn set(&self, night: Night) {
        self.site.set(night);
    }

    /// Makes the clock jump by `seconds` at a request from now on; 0 jumps at once.
    ///
    /// # Errors
    /// When the file of the clock cannot be written.
    pub fn jump(&self, seconds: i64, at_request: u64) -> io::Result<()> {
        self.clock.offset.store(seconds.cast_unsigned(), Ordering::Release);
        self.clock.set.store(false, Ordering::Release);
        self.clock.at_request.store(at_request, Ordering::Release);
        write_clock(&self.clock.file, if at_request == 0 { seconds } else { 0 })
    }

    /// Runs the commands before the disturbed one.
    ///
    /// # Errors
    /// When that fails.
    pub fn prepare(&self) -> io::Result<()> {
        let crawled = self.case().join("crawled.jsonl");
        let crawled = crawled.to_string_lossy();
        let archive = self.case().join("warc");
        let archive = archive.to_string_lossy();
        let before: Vec<String> = match self.scenario.job {
            Job::First => return Ok(()),
            Job::Night => self.arguments(&["--recrawl", "all"]),
            Job::Retry => {
                self.set(Night::Broken);
                let mut arguments = self.arguments(&[]);
                arguments.remove(0);
                arguments
            }
            Job::Replay => self.crawl_to(&["-O", &crawled, "--warc", &archive]),
            Job::Quality | Job::Duplicates => self.crawl_to(&["-O", &crawled]),
        };
        let ended = Running::start(&mut self.command(&before), &self.own("stderr"))?.wait();
        if ended.code != Some(0) {
            return Err(io::Error::other(format!(
                "the run before failed: {:?}\n{}",
                ended.code, ended.stderr
            )));
        }
        self.set(if self.scenario.job == Job::Night { Night::Second } else { Night::First });
        Ok(())
    }

    fn crawl_to(&self, output: &[&str]) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut out = vec!["--seed".to_owned(), path(&self.own("seeds.txt"))];
        out.extend(["--state-dir".to_owned(), path(&self.state())]);
        out.extend(output.iter().map(|flag| (*flag).to_owned()));
        let fixed = ["--delay", "0s", "--allow-address", "127.0.0.0/8", "--host-concurrency", "4"];
        out.extend(fixed.map(str::to_owned));
        out
    }

    /// Arguments of the disturbed command.
    #[must_use]
    pub fn arguments(&self, more: &[&str]) -> Vec<String> {
        let Scenario { job, format, replace, dedup } = self.scenario;
        let path = |name: &str| self.case().join(name).to_string_lossy().into_owned();
        let output = self.output().to_string_lossy().into_owned();
        let flag = if replace { "-O" } else { "-o" };
        let mut out = match job {
            Job::Replay => vec!["replay".into(), path("warc"), flag.into(), output],
            Job::Quality => vec!["quality".into(), path("crawled.jsonl"), "-o".into(), output],
            Job::Duplicates => {
                vec!["duplicates".into(), path("crawled.jsonl"), "--table".into(), path("out.csv")]
            }
            Job::First => self.crawl_to(&[flag, &output]),
            Job::Night => self.crawl_to(&[flag, &output, "--recrawl", "all"]),
            Job::Retry => [vec!["retry-errors".to_owned()], self.crawl_to(&[flag, &output])].concat(),
        };
        if self.scenario.is_crawl() {
            match format {
                Format::Warc => out.extend(["--warc".to_owned(), path("warc")]),
                Format::Project => {
                    out.extend(["--project", "faults", "--database"].map(str::to_owned));
                    out.push(path("projects.sqlite"));
                }
                _ => {}
            }
        }
        if !dedup && !matches!(job, Job::Quality | Job::Duplicates) {
            out.push("--no-dedup".into());
        }
        for flag in more.iter().filter(|flag| !out.iter().any(|given| given == *flag)).collect::<Vec<_>>() {
            out.push((*flag).to_owned());
        }
        out
    }

    /// The binary with these arguments, in its own environment.
    #[must_use]
    pub fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().current_dir(self.case()).args(arguments);
        command.env("HOME", self.case().join("home")).env("TMPDIR", self.case().join("tmp"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        for (name, value) in [
            ("CRAWL_FETCH_BACKOFF", "20ms"),
            ("CRAWL_FETCH_MAX_BACKOFF", "100ms"),
            ("CRAWL_FETCH_READ_TIMEOUT", "1s"),
            ("CRAWL_CRAWL_SOFT404", "false"),
            ("CRAWL_CRAWL_AI_OPTOUT_FILES", "false"),
            ("CRAWL_RECRAWL_CONFIRM_GONE", "20ms"),
            ("CRAWL_POLITENESS_MAX_SLOW_DELAY", "20ms"),
            ("CRAWL_POLITENESS_BREAK_FOR", "100ms"),
        ] {
            command.env(name, value);
        }
        command
    }

    /// Starts the disturbed command.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&self, with: &With<'_>) -> io::Result<Running> {
        let mut command = self.command(&self.arguments(with.flags));
        if with.plan.is_some() || with.record || with.count || with.clock {
            command.env("LD_PRELOAD", shim::library());
        }
        if with.plan.is_some() || with.record || with.count {
            command.env("FAULT_ROOT", self.case());
        }
        if let Some(plan) = with.plan {
            command.envs(plan.environment()).env("FAULT_HIT", self.own("hit"));
        }
        if with.record {
            command.env("FAULT_LOG", self.own("log"));
        }
        if with.count {
            command.env("FAULT_COUNT", self.own("count"));
        }
        if with.clock {
            command.env("FAULT_CLOCK", &self.clock.file);
        }
        Running::start(&mut command, &self.own("stderr"))
    }

    /// Runs the disturbed command to its end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&self, with: &With<'_>) -> io::Result<Ended> {
        Ok(self.start(with)?.wait())
    }

    /// Runs the binary with other arguments to its end, without faults; standard output is dropped.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run_other(&self, arguments: &[&str]) -> io::Result<Ended> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Ok(Running::start(&mut self.command(&arguments), &self.own("stderr-other"))?.wait())
    }

    fn has_open_outputs(&self) -> rusqlite::Result<bool> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.state().join("crawl.sqlite"), flags)?;
        let open = "SELECT count(*) FROM settings WHERE name LIKE 'open:%' AND value = '1'";
        Ok(connection.query_row(open, [], |row| row.get::<_, i64>(0))? > 0)
    }

    /// Returns true if the state says that its round is finished, and its outputs are closed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        if self.has_open_outputs().unwrap_or(true) {
            return false;
        }
        let state = self.state().to_string_lossy().into_owned();
        let arguments = ["status", "--state-dir", &state, "--json"].map(str::to_owned);
        let output = self.command(&arguments).output();
        let value = output.ok().and_then(|o| serde_json::from_slice::<serde_json::Value>(&o.stdout).ok());
        value.is_some_and(|value| value["finished"] == true)
    }
}
