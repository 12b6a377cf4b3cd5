//! A PostgreSQL of a test's own: in a temporary directory, on a Unix socket, without TCP. It stops with the test.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "each test uses a part of it, and fails by panicking"
)]

use crawl_store::{PgOptions, PgUrl};
use postgres::{Client, NoTls};
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

pub struct Server {
    dir: tempfile::TempDir,
    child: Child,
    arguments: Vec<String>,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(&["-c", "fsync=off"])
    }

    /// Starts a server with further arguments.
    pub fn start_with(arguments: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("pg").tempdir().unwrap();
        let account = account();
        if let Some((uid, gid)) = account {
            chown(dir.path(), Some(uid), Some(gid)).unwrap();
        }
        let data = dir.path().join("data");
        let made = command("initdb", account)
            .args(["--auth=trust", "--username=crawl", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let child = spawn(dir.path(), account, &arguments).unwrap();
        Self { dir, child, arguments }
    }

    /// Kills the server as a loss of power does. Its other processes end by themselves.
    pub fn crash(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again after a crash.
    #[expect(clippy::disallowed_methods, reason = "a test waits for the processes of the killed server")]
    pub fn restart(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match spawn(self.dir.path(), account(), &self.arguments) {
                Ok(child) => return self.child = child,
                // processes of the killed server may still be there
                Err(log) => assert!(Instant::now() < until, "{log}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub fn url(&self) -> PgUrl {
        self.url_of("crawl")
    }

    pub fn url_of(&self, user: &str) -> PgUrl {
        self.text_url(user).parse().unwrap()
    }

    pub fn text_url(&self, user: &str) -> String {
        format!("postgres://{user}@/postgres?host={}", self.dir.path().display())
    }

    /// A worker of a crawl, which keeps its pages in memory.
    pub fn options(&self, crawl: &str, worker: &str) -> PgOptions {
        PgOptions {
            url: self.url(),
            crawl: crawl.to_owned(),
            worker: worker.to_owned(),
            spool: None,
            pause: Duration::ZERO,
            begins_run: true,
        }
    }

    /// A connection of the operator.
    pub fn client(&self) -> Client {
        let text = format!("host={} user=crawl dbname=postgres", self.dir.path().display());
        Client::connect(&text, NoTls).unwrap()
    }

    /// Size of the write-ahead log written so far, in bytes.
    pub fn log_bytes(&self) -> i64 {
        let text = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8";
        self.client().query_one(text, &[]).unwrap().get(0)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // an immediate shutdown: the directory is removed anyway
        let quit = Command::new("kill").args(["-QUIT", &self.child.id().to_string()]).status();
        if !quit.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn spawn(dir: &Path, account: Option<(u32, u32)>, arguments: &[String]) -> Result<Child, String> {
    let mut child = command("postgres", account)
        .arg("-D")
        .arg(dir.join("data"))
        .arg("-k")
        .arg(dir)
        .args(["-c", "listen_addresses=", "-c", "shared_buffers=64MB", "-c", "unix_socket_permissions=0777"])
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("ready to accept connections") {
        if log.read_line(&mut seen).unwrap() == 0 {
            child.wait().unwrap();
            return Err(format!("the server ended: {seen}"));
        }
    }
    // a full pipe would stop the server
    let drain = move || while log.read_line(&mut String::new()).is_ok_and(|n| n > 0) {};
    std::thread::Builder::new().name("postgres-log".into()).spawn(drain).unwrap();
    Ok(child)
}

/// The newest server of Debian, or one in the path.
fn command(program: &str, account: Option<(u32, u32)>) -> Command {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.max_by_key(|entry| entry.file_name().to_string_lossy().parse::<u32>().unwrap_or(0));
    let path = newest.map_or_else(|| PathBuf::from(program), |entry| entry.path().join("bin").join(program));
    let mut command = Command::new(path);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    if let Some((uid, gid)) = account {
        command.uid(uid).gid(gid);
    }
    command
}

/// Numbers of the user postgres, if this process is root: the server refuses to run as root.
fn account() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("there is no user postgres");
    let numbers: Vec<u32> = line.split(':').skip(2).take(2).map(|n| n.parse().unwrap()).collect();
    Some((numbers[0], numbers[1]))
}
