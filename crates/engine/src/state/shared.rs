//! States in a database that several workers share. Each worker has a directory of its own, for its lock, its error log
//! and its waiting pages.

use super::{ERROR_LOG, State, Wanted, base, check_is_directory};
use crate::{
    config::Config,
    exit::{Exit, Failure},
    rules_version,
};
use crawl_model::{StoreError, UrlKey};
use crawl_store::{
    Agreement, CopyReport, Database, RULES_KEYS, RoundSettings, SettingDifference, SharedWorker, StateLock,
    StateStore, StoreUrl, VERSION_OF_PROGRAM, private,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Name of the file in the directory of a worker that names the worker and its crawl.
pub const WORKER_FILE: &str = "worker.json";

/// Attempts to join a crawl whose round another worker begins.
const MOST_ATTEMPTS: usize = 5;

/// Workers of one crawl that one machine gives directories to.
const MOST_WORKERS: usize = 1_000;

/// Longest value of a setting in a message, in characters.
const LONGEST_VALUE: usize = 80;

/// Characters of a long value that are shown before its first difference.
const BEFORE_DIFFERENCE: usize = 20;

/// A crawl in a database, as the settings name it.
pub struct SharedCrawl {
    database: Arc<dyn Database>,
    crawl: String,
    /// Directory of this worker; `None` for the first free one of the user.
    dir: Option<PathBuf>,
    /// True once this process has joined the crawl.
    joined: bool,
    /// Name of this worker if its directory is new. All attempts to join have the same one, since an attempt that
    /// another worker interrupts leaves its row.
    new_name: String,
}

/// The settings that all workers of a round share, with checksums of their rules.
pub(super) fn settings(config: &Config) -> BTreeMap<String, String> {
    let mut settings = config.shared.clone();
    settings.extend(rules_version::checksums(config));
    settings
}

/// Joins a round of a crawl, if this worker has its settings.
///
/// # Errors
/// When the settings differ from those of the round (exit 2), or storage fails.
pub(super) fn agree(
    store: &dyn StateStore,
    settings: &RoundSettings,
    (crawl, round): (&str, u32),
) -> Result<(), Failure> {
    let Agreement::Differs(differences) = store.agree(settings)? else { return Ok(()) };
    let ways = if differences.iter().all(SettingDifference::is_of_program) {
        "end the workers of the other program; the round then continues with the rules of this one"
    } else {
        "use those of the round, or start another --crawl; settings can change once the round has ended, or before its first \
         page once no worker is on"
    };
    Err(other_settings((crawl, round), &differences, ways))
}

/// Error of a worker whose settings differ from those of its round.
fn other_settings((crawl, round): (&str, u32), differences: &[SettingDifference], ways: &str) -> Failure {
    let shown: Vec<String> = differences.iter().map(shown_difference).collect();
    let shown = shown.join("; ");
    Failure::usage(format!("round {round} of the crawl \"{crawl}\" has other settings: {shown}; {ways}"))
}

fn shown_difference(difference: &SettingDifference) -> String {
    let SettingDifference { key, own, of_round } = difference;
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let (own, of_round) = shown_both(&value(own), &value(of_round));
    match key.strip_prefix(RULES_KEYS) {
        Some(VERSION_OF_PROGRAM) => format!("version of the program is {own} here, {of_round} in the round"),
        Some(file) => format!("checksum of the rules {file} is {own} here, {of_round} in the round"),
        None if key == "rules" => format!("version of the rules is {own} here, {of_round} in the round"),
        None => format!("{key} = {own} here, {of_round} in the round"),
    }
}

/// Two values of a setting in a message. Long ones begin shortly before their first difference.
pub(super) fn shown_both(a: &str, b: &str) -> (String, String) {
    let (a, b) = (on_one_line(a), on_one_line(b));
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longest = a.chars().count().max(b.chars().count());
    let start = if longest > LONGEST_VALUE { common.saturating_sub(BEFORE_DIFFERENCE) } else { 0 };
    (cut(&a, start), cut(&b, start))
}

fn on_one_line(value: &str) -> String {
    value.trim().replace('\n', " ")
}

/// At most [`LONGEST_VALUE`] characters of a value, from a given one on.
fn cut(value: &str, start: usize) -> String {
    let part: String = value.chars().skip(start).take(LONGEST_VALUE).collect();
    let before = if start > 0 { "…" } else { "" };
    let behind = if value.chars().count() > start + LONGEST_VALUE { "…" } else { "" };
    format!("{before}{part}{behind}")
}

/// The worker of a directory.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Worker {
    name: String,
    crawl: String,
    store: String,
}

/// A store in a directory that `state.store` names; `None` for a database or without the setting.
///
/// # Errors
/// When the setting is unusable.
pub fn dir_of_store(config: &Config) -> Result<Option<PathBuf>, Failure> {
    match store_of(config)? {
        Some(StoreUrl::Directory(dir)) => Ok(Some(dir)),
        Some(StoreUrl::Database(database)) => Err(Failure::usage(format!(
            "the crawl is in a database (--store {database}): this command needs the directory of a crawl"
        ))),
        Some(StoreUrl::Memory) => {
            Err(Failure::usage("--store memory: is for programs; use sqlite: or a database"))
        }
        None => Ok(None),
    }
}

fn store_of(config: &Config) -> Result<Option<StoreUrl>, Failure> {
    let text = config.state.store.as_str();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(usage)
}

impl SharedCrawl {
    /// The crawl in a database that the settings name; `None` for a state in a directory.
    ///
    /// # Errors
    /// When `state.store` or `state.crawl` is unusable.
    pub fn of(config: &Config) -> Result<Option<Self>, Failure> {
        let crawl = config.state.crawl.as_str();
        let Some(StoreUrl::Database(database)) = store_of(config)? else {
            if crawl.is_empty() {
                return Ok(None);
            }
            return Err(Failure::usage(
                "--crawl names a crawl in a database: name the database with --store",
            ));
        };
        if crawl.is_empty() {
            return Err(Failure::usage(format!("which crawl of {database}? Name it with --crawl")));
        }
        let dir = Some(config.state.dir.as_str()).filter(|dir| !dir.is_empty());
        Ok(Some(Self { dir: dir.map(PathBuf::from), ..Self::named(database, crawl) }))
    }

    /// Opens the crawl as a worker, and begins its next round if the last one has ended.
    ///
    /// # Errors
    /// Exit 3 when the server cannot be used, and exit 6 when another process holds the directory. Exit 2 when
    /// the schema is newer, or when the settings differ from those of the other workers.
    pub fn open(&mut self, config: &Config) -> Result<State, Failure> {
        let mut attempts = 0;
        loop {
            let (dir, lock) = self.worker_dir()?;
            // another attempt of this process takes the same one
            self.dir = Some(dir.clone());
            attempts += 1;
            match self.open_in(&dir, lock, config) {
                // another worker began the round at the same moment
                Err(failure) if failure.exit == Exit::Held && attempts < MOST_ATTEMPTS => {}
                outcome => {
                    self.joined |= outcome.is_ok();
                    return outcome.map_err(|failure| self.in_store(failure));
                }
            }
        }
    }

    fn open_in(&self, dir: &Path, lock: StateLock, config: &Config) -> Result<State, Failure> {
        let known = self.worker(dir)?;
        let is_new = known.is_none();
        let worker = known.unwrap_or_else(|| self.new_worker());
        let shared = SharedWorker {
            crawl: self.crawl.clone(),
            worker: worker.name.clone(),
            spool: Some(dir.to_owned()),
            pause: config.politeness.delay,
            begins_run: !self.joined,
        };
        let store = self.database.open(&shared).map_err(usage)?;
        if is_new {
            worker.save(dir)?;
        }
        State::begin(dir, lock, store, config)
    }

    /// Opens the crawl for reading, beside its workers.
    ///
    /// # Errors
    /// When the server cannot be used (exit 3), or has no such crawl (exit 2).
    pub fn read(&self) -> Result<Arc<dyn StateStore>, Failure> {
        self.database.open_read_only(&self.crawl).map_err(usage).map_err(|e| self.in_store(e))
    }

    /// A crawl by its name.
    #[must_use]
    pub fn named(database: Arc<dyn Database>, crawl: &str) -> Self {
        Self { database, crawl: crawl.to_owned(), dir: None, joined: false, new_name: new_name() }
    }

    /// Copies the state of a directory into this crawl, which is new. Hold the lock of the directory.
    ///
    /// # Errors
    /// When the crawl exists or the directory has no state (exit 2). Those of both stores.
    pub fn copy_from(&self, dir: &Path) -> Result<CopyReport, Failure> {
        self.database.copy_from(&self.crawl, dir).map_err(usage).map_err(|e| self.if_unavailable(e))
    }

    /// Copies this crawl into a directory without a state. Hold the lock of the directory.
    ///
    /// # Errors
    /// When there is no such crawl or the directory has a state (exit 2), or a worker crawls (exit 6). Those of both
    /// stores.
    pub fn copy_to(&self, dir: &Path) -> Result<CopyReport, Failure> {
        self.database.copy_to(&self.crawl, dir).map_err(usage).map_err(|e| self.if_unavailable(e))
    }

    /// Brings the crawl up to date. Returns its version before and after.
    ///
    /// # Errors
    /// When there is no such crawl (exit 2), or a worker crawls (exit 6).
    pub fn upgrade(&self) -> Result<(u32, u32), Failure> {
        self.database.upgrade(&self.crawl).map_err(usage).map_err(|e| self.in_store(e))
    }

    /// Checks that a worker of these settings can continue the current round, and changes nothing. Returns the round.
    ///
    /// # Errors
    /// When it cannot (exit 2), or storage fails.
    pub fn check_settings(&self, store: &dyn StateStore, config: &Config) -> Result<u32, Failure> {
        let round = store.round()?;
        if round == 0 {
            return Ok(round);
        }
        if store.settings_of_round()?.is_none() {
            return Wanted::of(config).admit(store, &self.place(), Some(round)).map(|_| round);
        }
        let rules = rules_version::of(config);
        let settings = RoundSettings { settings: settings(config), rules, notes: Vec::new() };
        let differences = store.compare(&settings)?;
        if differences.is_empty() {
            return Ok(round);
        }
        let ways = "this command continues the round: use its settings; the next round can have others";
        Err(other_settings((&self.crawl, round), &differences, ways))
    }

    /// Requeues URLs that failed in a round: all of them, or those with the given keys. Returns their number.
    ///
    /// # Errors
    /// When the server cannot be used (exit 3), has no such crawl (exit 2), or another round has begun (exit 6).
    pub fn reopen_failed(&self, round: u32, urls: Option<&[UrlKey]>) -> Result<usize, Failure> {
        self.database.reopen_failed(&self.crawl, round, urls).map_err(usage).map_err(|e| self.in_store(e))
    }

    /// Database and name of the crawl, for people.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        PathBuf::from(format!("{} {}", self.database, self.crawl))
    }

    /// Adds crawl and database to an error of the store, and the remedy.
    #[must_use]
    pub fn in_store(&self, failure: Failure) -> Failure {
        let place = format!("the crawl \"{}\" in {}", self.crawl, self.database);
        let words = match failure.error.downcast_ref::<StoreError>() {
            Some(StoreError::Full(_) | StoreError::Unavailable(_)) => {
                format!("{place} cannot be used now; run the same command again once the cause is fixed")
            }
            Some(StoreError::Busy(_)) => place,
            _ => return failure,
        };
        Failure { error: failure.error.context(words), ..failure }
    }

    /// The same for a database that cannot be used. Other errors of a copy may be those of a directory.
    fn if_unavailable(&self, failure: Failure) -> Failure {
        match failure.error.downcast_ref::<StoreError>() {
            Some(StoreError::Unavailable(_)) => self.in_store(failure),
            _ => failure,
        }
    }

    /// The directory of this worker and its lock: the one that is named, or the first free one.
    fn worker_dir(&self) -> Result<(PathBuf, StateLock), Failure> {
        if let Some(dir) = &self.dir {
            return locked(dir);
        }
        let base = base()?;
        let hash = UrlKey::of(&format!("{} {}", self.database.earlier_form(), self.crawl)).to_string();
        let mut busy = None;
        for n in 1..=MOST_WORKERS {
            let ending = if n == 1 { String::new() } else { format!("-{n}") };
            match locked(&base.join(format!("{}-{}{ending}", self.crawl, &hash[..8]))) {
                Err(failure) if failure.exit == Exit::Held => busy = Some(failure),
                found => return found,
            }
        }
        Err(busy.unwrap_or_else(|| Failure::usage("all directories are in use: name one with --state-dir")))
    }

    /// The worker of a directory; `None` for a new directory.
    fn worker(&self, dir: &Path) -> Result<Option<Worker>, Failure> {
        let path = dir.join(WORKER_FILE);
        let at = |e: &dyn std::fmt::Display| Failure::new(Exit::Storage, format!("{}: {e}", path.display()));
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if dir.join(ERROR_LOG).exists() || crawl_store::state::exists(dir) {
                    let dir = dir.display();
                    return Err(Failure::usage(format!(
                        "{dir} holds another crawl: name another --state-dir"
                    )));
                }
                return Ok(None);
            }
            Err(e) => return Err(at(&e)),
        };
        let worker: Worker = serde_json::from_slice(&text).map_err(|e| at(&e))?;
        if worker.crawl == self.crawl && self.is_named(&worker.store) {
            return Ok(Some(worker));
        }
        Err(Failure::usage(format!(
            "{} belongs to a worker of the crawl \"{}\" in {}: name another --state-dir",
            dir.display(),
            worker.crawl,
            worker.store
        )))
    }

    /// Checks that a directory does not belong to a worker of another crawl.
    ///
    /// # Errors
    /// When it does (exit 2), or cannot be read.
    pub fn check_dir(&self, dir: &Path) -> Result<(), Failure> {
        self.worker(dir).map(|_| ())
    }

    /// Returns true if a worker noted this database, also in the form of an earlier program.
    fn is_named(&self, store: &str) -> bool {
        store == self.database.to_string() || store == self.database.earlier_form()
    }

    fn new_worker(&self) -> Worker {
        let (name, store) = (self.new_name.clone(), self.database.to_string());
        Worker { name, crawl: self.crawl.clone(), store }
    }
}

impl Worker {
    /// Writes the name of the worker into its directory.
    fn save(&self, dir: &Path) -> Result<(), Failure> {
        let path = dir.join(WORKER_FILE);
        let saved =
            serde_json::to_vec(self).map_err(io::Error::from).and_then(|text| private::write(&path, &text));
        saved.map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", path.display())))
    }
}

/// A name that no other worker has: that of the machine and a random number.
fn new_name() -> String {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let mut host = host.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    host.truncate(24);
    format!("{host}-{:08x}", crawl_model::random() & u64::from(u32::MAX))
}

/// Refuses the directory of a worker where a command needs the state of a crawl.
///
/// # Errors
/// When the directory belongs to a worker and holds no state (exit 2).
pub fn refuse_worker(dir: &Path) -> Result<(), Failure> {
    if crawl_store::state::exists(dir) {
        return Ok(());
    }
    let Ok(text) = fs::read(dir.join(WORKER_FILE)) else { return Ok(()) };
    let Ok(Worker { crawl, store, .. }) = serde_json::from_slice(&text) else { return Ok(()) };
    Err(Failure::usage(format!(
        "{} belongs to a worker of the crawl \"{crawl}\" in {store}: name both, with --crawl and --store",
        dir.display()
    )))
}

fn locked(dir: &Path) -> Result<(PathBuf, StateLock), Failure> {
    check_is_directory(dir)?;
    let lock = StateLock::acquire(dir)?;
    Ok((dir.to_owned(), lock))
}

/// A fault of a URL, a name or a server's version is a mistake in the command.
fn usage(error: StoreError) -> Failure {
    match error {
        StoreError::Other(words) => Failure::usage(words),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests;
