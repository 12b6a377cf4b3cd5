//! Runs the binary in a separate folder and waits for events: never for a fixed time, always with a generous
//! limit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails the test that uses it")]
#![allow(dead_code, reason = "every test file uses a part of the module")]

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Time limit of any wait in a test; far beyond the need of a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Separate folder of a test, with the state directory and the outputs in it.
pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("crawl-e2e-").tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The binary with an empty environment.
    pub fn bare(&self) -> Command {
        self.clean(env!("CARGO_BIN_EXE_crawl"))
    }

    /// The main job for tests: no delay, loopback allowed, fast retries, seeds in a file, state in `state`.
    pub fn crawl(&self, seeds: &[String], flags: &[&str]) -> Command {
        let seeds = self.write("seeds.txt", seeds.join("\n") + "\n");
        let mut command = self.bare();
        command.arg("--seed").arg(seeds).arg("--state-dir").arg(self.path("state"));
        command.args(["--delay", "0s", "--allow-address", "127.0.0.0/8"]).args(flags);
        command.env("CRAWL_FETCH_BACKOFF", "20ms");
        // these make further requests, which each count would have to exclude; tests/e2e/web.rs enables them
        command.env("CRAWL_CRAWL_SOFT404", "false").env("CRAWL_CRAWL_AI_OPTOUT_FILES", "false");
        command
    }

    /// A shell that runs `script` with the words of `command` as its arguments: `exec "$@"` becomes the
    /// command.
    pub fn shell(&self, script: &str, command: &Command) -> Command {
        let mut shell = self.clean("sh");
        shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        shell
    }

    fn clean(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.dir.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Records of a JSONL file; checks that every line is whole and valid under the schema.
    pub fn records(&self, name: &str) -> Vec<Value> {
        let records = lines(&self.read(name));
        records.iter().for_each(is_record);
        records
    }

    /// Lines of the error log.
    pub fn errors(&self) -> Vec<Value> {
        lines(&fs::read_to_string(self.path("state/errors.jsonl")).unwrap_or_default())
    }
}

/// Fails the test unless a value is valid under `schema/record.schema.json`.
#[track_caller]
pub fn is_record(value: &Value) {
    static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        let text = include_str!("../../schema/record.schema.json");
        jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
    });
    let faults: Vec<String> =
        schema.iter_errors(value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{}\n{}", faults.join("\n"), shorten(&value.to_string()));
}

/// JSON lines; checks that all are whole, including the last.
pub fn lines(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is broken: {:?}", text.lines().last());
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l:?}"))).collect()
}

/// Occurrences of each URL in the records.
pub fn url_counts(records: &[Value]) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for record in records {
        *out.entry(record["url"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    out
}

/// The record of a URL.
pub fn record<'a>(records: &'a [Value], url: &str) -> &'a Value {
    records.iter().find(|r| r["url"] == url).unwrap_or_else(|| panic!("no record of {url}"))
}

/// The content of a record before cleaning; it is null where it equals the text.
pub fn content(record: &Value) -> &str {
    record["content"].as_str().unwrap_or_else(|| record["text"].as_str().unwrap())
}

/// End of a run.
#[derive(Debug)]
pub struct Done {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Done {
    /// Exit code; a run that a signal killed has none and fails the test.
    pub fn code(&self) -> i32 {
        assert!(!self.stderr.contains("panicked"), "the program panicked:\n{}", self.stderr);
        self.status.code().unwrap_or_else(|| {
            panic!("killed by signal {:?}; stderr:\n{}", self.status.signal(), self.stderr)
        })
    }

    /// Fails the test with all output unless the exit code is `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "stderr:\n{}\nstdout:\n{}", self.stderr, shorten(&self.stdout));
        self
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(2000).collect()
}

/// A run that is on.
pub struct Run {
    child: Child,
    started: Instant,
    stdout: Pipe,
    stderr: Pipe,
}

struct Pipe {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Pipe {
    fn read(source: Option<impl Read + Send + 'static>) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&text);
        let reader = source.map(|source| {
            thread::Builder::new()
                .spawn(move || {
                    let mut source = BufReader::new(source);
                    let mut line = Vec::new();
                    while source.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                        let mut text = into.lock().unwrap_or_else(PoisonError::into_inner);
                        text.push_str(&String::from_utf8_lossy(&line));
                        line.clear();
                    }
                })
                .unwrap()
        });
        Self { text, reader }
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn finish(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.so_far()
    }
}

impl Run {
    /// Starts a command; reads stdout and stderr continuously, unless the caller redirected them.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (Pipe::read(child.stdout.take()), Pipe::read(child.stderr.take()));
        Self { child, started: Instant::now(), stdout, stderr }
    }

    /// Starts a command whose stdout the test reads, or drops, itself.
    pub fn start_reading(command: &mut Command) -> (Self, impl BufRead + use<>) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let reader = BufReader::new(child.stdout.take().unwrap());
        let stderr = Pipe::read(child.stderr.take());
        let stdout = Pipe { text: Arc::default(), reader: None };
        (Self { child, started: Instant::now(), stdout, stderr }, reader)
    }

    /// Sends a signal by its name, such as INT or TERM.
    pub fn signal(&self, name: &str) {
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status();
        assert!(status.unwrap().success());
    }

    /// Sends SIGKILL, and waits for the end.
    pub fn kill(mut self) -> Done {
        self.child.kill().unwrap();
        self.wait()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn is_on(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn stderr_so_far(&self) -> String {
        self.stderr.so_far()
    }

    /// Waits for the end; a run that takes longer than [`PATIENCE`] is killed and fails the test.
    pub fn wait(mut self) -> Done {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!("no end after {PATIENCE:?}; stderr so far:\n{}", self.stderr.so_far());
            }
            pause();
        };
        let took = self.started.elapsed();
        Done { status, stdout: self.stdout.finish(), stderr: self.stderr.finish(), took }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // a test that fails midway must not leave its crawl behind
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Done {
    Run::start(command).wait()
}

/// Polls until `done` returns true; fails the test after [`PATIENCE`].
#[track_caller]
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "processes and files of others send no event; they are polled")]
fn pause() {
    thread::sleep(Duration::from_millis(10));
}
