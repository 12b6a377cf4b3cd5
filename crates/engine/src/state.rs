//! The state directory of a run: its path, its lock, and its notes about the outputs.

mod entry;
pub mod first_round;
mod outputs;
mod paths;
mod shared;
mod wanted;

pub use outputs::{
    damage, forget_damage, is_log_of_earlier_round, note_damage, note_file, note_opened, note_pattern,
    output_closed, replace_by_nothing,
};
pub use paths::{base, default_dir};
pub use shared::{SharedCrawl, WORKER_FILE, refuse_worker};
pub use wanted::Wanted;

use crate::{
    config::{Config, Emit},
    exit::{Exit, Failure},
    rules_version,
    scratch::Scratch,
    seeds,
    stats::Stats,
};
use crawl_model::{Frontier, FrontierCounts, RequestId, RulesVersion, RunStore, StoreError};
use crawl_projects::DEFAULT_PROJECT;
use crawl_store::{StateLock, StateStore, private};
use entry::Entry;
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A state directory that this process holds.
pub struct State {
    /// Path of the directory.
    pub dir: PathBuf,
    /// The store in it.
    pub store: Arc<dyn StateStore>,
    /// True if this run starts a round; otherwise it continues one.
    pub new_round: bool,
    /// Number of the round.
    pub round: u32,
    /// True if earlier pages of the round were read by other rules.
    pub other_rules: bool,
    /// Links were followed by other settings.
    pub other_links: bool,
    /// The directory is removed after the run.
    pub is_temporary: bool,
    /// Counts of earlier sessions of this process.
    pub earlier: Option<Stats>,
    /// Every page of the round becomes a record with its text, changed or not.
    pub writes_all: bool,
    /// The records of the round have other fields than those of the output, so none of the earlier ones stays.
    pub replaces_records: bool,
    _lock: StateLock,
}

/// The state directory of a crawl: the named one, or that of its seeds.
///
/// # Errors
/// When neither is given, or [`default_dir`] fails.
pub fn dir(config: &Config, seeds: &[PathBuf]) -> Result<PathBuf, Failure> {
    if let Some(dir) = shared::dir_of_store(config)? {
        check_is_directory(&dir)?;
        return Ok(dir);
    }
    match (config.state.dir.as_str(), seeds) {
        ("", [_, ..]) => default_dir(seeds),
        ("", []) => Err(Failure::usage("which crawl? Name its seeds with --seed, or its --state-dir")),
        (dir, _) => {
            check_is_directory(Path::new(dir))?;
            Ok(PathBuf::from(dir))
        }
    }
}

/// The state directory of a crawl that a command reads, as [`dir`] finds it.
///
/// # Errors
/// As [`dir`]. When there is no such directory and a seed file is missing (exit 2): the state of a crawl outlives
/// its file.
pub fn dir_to_read(config: &Config, seeds: &[PathBuf]) -> Result<PathBuf, Failure> {
    let dir = dir(config, seeds)?;
    if !dir.exists() {
        seeds::check_present(seeds)?;
    }
    Ok(dir)
}

/// Checks that a run of these settings can continue the current round, and changes nothing.
///
/// # Errors
/// When the output or the text settings are new to the state (exit 2), or storage fails.
pub fn check_settings(store: &dyn StateStore, dir: &Path, config: &Config) -> Result<(), Failure> {
    match store.round()? {
        0 => Ok(()),
        round => Wanted::of(config).admit(store, dir, Some(round)).map(|_| ()),
    }
}

/// Returns true if a crawl has a temporary state: its records go only to standard output, and no state directory is
/// named.
#[must_use]
pub fn is_temporary(config: &Config) -> bool {
    let is_kept = !config.state.dir.is_empty()
        || !config.archive.dir.is_empty()
        || config.crawl.project != DEFAULT_PROJECT;
    !is_kept && config.output.path().is_none()
}

/// Makes a state directory that is removed when it is dropped.
///
/// # Errors
/// When none can be made.
pub fn temporary() -> Result<Scratch, Failure> {
    // a folder for temporary files may lie in memory
    let base =
        base().ok().filter(|base| private::create_dir_all(base).is_ok()).unwrap_or_else(std::env::temp_dir);
    Scratch::new(&base, TEMPORARY).map_err(|e| {
        let folder = base.display();
        let message = format!(
            "{folder}: no temporary state can be made; name a folder with TMPDIR, or a state with --state-dir: {e}"
        );
        Failure::new(Exit::Storage, message)
    })
}

/// Fails if the path of a state directory is a file.
fn check_is_directory(dir: &Path) -> Result<(), Failure> {
    if dir.is_dir() || !dir.exists() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--state-dir {}: it is a file; name a directory, which is made if it does not exist",
        dir.display()
    )))
}

/// Name in the store of the rules that pages were read by.
const RULES_KEY: &str = "rules";
/// Name in the store of the last round that ended: all is settled, and its outputs are closed.
const ENDED_KEY: &str = "ended";
/// Name in the store of the first round whose end is noted. Earlier versions noted none.
const ENDS_FROM_KEY: &str = "ends_from";
/// Name in the store of the last round whose unchanged pages are records (`--emit all`).
const EMITS_ALL_KEY: &str = "emits_all";
/// Start of the names of temporary state directories.
const TEMPORARY: &str = "temporary-";
/// Name of the error log in the state directory.
pub const ERROR_LOG: &str = "errors.jsonl";

/// Returns true if the current round has ended. A run that died between its last settlement and the end of
/// its outputs, or before its seeds were planted, has not ended it.
///
/// # Errors
/// When storage fails.
pub fn is_finished<S: Frontier + RunStore + ?Sized>(store: &S) -> Result<bool, StoreError> {
    let round = store.round()?;
    if round == 0 || !store.drained()? || store.counts()?.held > 0 {
        return Ok(false);
    }
    if number(store.get(ENDS_FROM_KEY)?).is_some_and(|first| first <= round) {
        return Ok(number(store.get(ENDED_KEY)?) == Some(round));
    }
    // of an earlier version: an output that a run left open in this round tells that the run was killed
    for (key, value) in store.entries("open:")? {
        let name = key.trim_start_matches("open:");
        if value == "1" && number(store.get(&outputs::round_key(name))?) == Some(round) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Notes the end of the current round, if nothing of it is left, and makes it durable. The outputs are closed.
///
/// # Errors
/// When storage fails.
pub fn note_end<S: Frontier + RunStore + ?Sized>(store: &S) -> Result<bool, StoreError> {
    let ended = store.put_at_end(ENDED_KEY, &store.round()?.to_string())?;
    if ended {
        wanted::end_round(store)?;
    }
    // the round has ended: an error from here on must not call for the same command again, which begins another round
    if let Err(error) = store.sync() {
        tracing::warn!(%error, "the end of the round may be lost in a power loss");
    }
    Ok(ended)
}

/// Notes if a run writes unchanged pages of its round as records.
///
/// # Errors
/// When storage fails.
pub fn note_emit<S: Frontier + RunStore + ?Sized>(store: &S, emit: Emit) -> Result<(), StoreError> {
    let round = if emit == Emit::All { store.round()? } else { 0 };
    store.put(EMITS_ALL_KEY, &round.to_string())
}

/// Counts the records of the current round: new and changed pages, gone ones, and with `--emit all` unchanged ones.
///
/// # Errors
/// When storage fails.
pub fn records_of_round<S: Frontier + RunStore + ?Sized>(store: &S) -> Result<u64, StoreError> {
    let FrontierCounts { records, unchanged, gone, .. } = store.counts()?;
    let emits_all = number(store.get(EMITS_ALL_KEY)?) == Some(store.round()?);
    Ok(records + gone + if emits_all { unchanged } else { 0 })
}

/// Returns true if an earlier round has made a record of a page that the state knows.
///
/// # Errors
/// When storage fails.
pub fn has_records(store: &dyn StateStore) -> Result<bool, StoreError> {
    const BATCH: usize = 1_000;
    let mut after = RequestId(0);
    loop {
        let known = store.known_next(after, BATCH)?;
        let Some(last) = known.last() else { return Ok(false) };
        after = last.id;
        if known.iter().any(|known| known.history.content_hash.is_some()) {
            return Ok(true);
        }
    }
}

fn number(text: Option<String>) -> Option<u32> {
    text?.parse().ok()
}

impl State {
    /// Takes a state directory, creating it; `fresh` forgets its contents. An unfinished round resumes; after
    /// a finished one a round over known URLs starts. Repeated blocks of sites are relearned if `rules`
    /// have changed.
    ///
    /// # Errors
    /// When the output or text settings are new to it (exit 2), or it cannot be written (exit 3). Also when another run
    /// holds it (exit 6), or its database was removed (exit 7).
    pub fn open(dir: &Path, fresh: bool, config: &Config) -> Result<Self, Failure> {
        check_is_directory(dir)?;
        private::create_dir_all(dir).map_err(|e| {
            let advice = "name another state directory with --state-dir";
            Failure::new(Exit::Storage, format!("{}: cannot be made: {e}; {advice}", dir.display()))
        })?;
        // an earlier version made the folder above it with the mode of the umask
        if let Some(base) = base().ok().filter(|base| dir.parent() == Some(base)) {
            private::tighten(&base);
        }
        let lock = StateLock::acquire(dir)?;
        refuse_worker(dir)?;
        if fresh {
            forget(dir)?;
        }
        require_database(dir)?;
        warn_of_damaged_log(dir);
        let store = crawl_store::open(dir)?;
        Self::begin(dir, lock, store, config)
    }

    /// Takes up the round of a store, or begins the next one.
    fn begin(
        dir: &Path,
        lock: StateLock,
        store: Arc<dyn StateStore>,
        config: &Config,
    ) -> Result<Self, Failure> {
        let group = Some(config.crawl.source_group.as_str()).filter(|group| !group.is_empty());
        let rules = rules_version::of(config);
        store.expire_leases(i64::MAX)?;
        let round = store.round()?;
        let new_round = round == 0 || is_finished(&*store)?;
        let before = rules_of(&*store)?;
        let other_rules = round > 0 && !before.is_some_and(|before| before.reads_as(rules));
        let other_links = !other_rules && before.is_some_and(|before| !before.follows_as(rules));
        let keeps_sites = !other_rules;
        let entry = Entry { store: &*store, dir, config, rules, round, new_round, keeps_sites };
        let (round, admitted) = entry.enter()?;
        store.set_project(&config.crawl.project, group)?;
        // the database is there before anything else that a run leaves
        store.sync()?;
        for folder in [Some(dir), dir.parent()].into_iter().flatten().filter(|f| !f.as_os_str().is_empty()) {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| in_dir(dir, &e))?;
        }
        let dir = dir.to_owned();
        Ok(Self {
            dir,
            store,
            new_round,
            round,
            other_rules,
            other_links,
            writes_all: admitted.writes_all,
            replaces_records: admitted.replaces_records,
            is_temporary: false,
            earlier: None,
            _lock: lock,
        })
    }
}

fn in_dir(dir: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Storage, format!("{}: {error}", dir.display()))
}

/// Removes the contents of a state directory. The error log is removed first, since it proves that there was a
/// database.
fn forget(dir: &Path) -> Result<(), Failure> {
    let log = dir.join(ERROR_LOG);
    match std::fs::remove_file(&log) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::new(Exit::Storage, format!("{}: {e}", log.display())));
        }
        _ => {}
    }
    Ok(crawl_store::state::remove(dir)?)
}

/// Fails if a state directory has lost its database: a new crawl would write all records again after those in the
/// output.
///
/// # Errors
/// When the error log of a crawl is there, and its database is missing or empty (exit 7). When the directory belongs
/// to a worker (exit 2).
pub fn require_database(dir: &Path) -> Result<(), Failure> {
    refuse_worker(dir)?;
    if crawl_store::state::exists(dir) || !dir.join(ERROR_LOG).exists() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Damaged,
        format!(
            "{} has lost its database crawl.sqlite (its {ERROR_LOG} is there), so it is unknown which records the output has; \
             --fresh crawls everything again, and with -O the output has each record once",
            dir.display()
        ),
    ))
}

/// Warns if the write-ahead log of a killed run is damaged: SQLite takes the state back to the damage without an error.
pub fn warn_of_damaged_log(dir: &Path) {
    let log = crawl_store::state::log(dir);
    match crawl_store::state::damage_of_log(dir) {
        Ok(None) => {}
        Ok(Some(offset)) => tracing::warn!(
            file = %log.display(),
            offset,
            "the write-ahead log is damaged: changes of the state after the damage are lost, and their pages are fetched again"
        ),
        Err(error) => {
            tracing::warn!(file = %log.display(), %error, "the write-ahead log was not checked for damage");
        }
    }
}

/// The rules that the last run of a state read pages by.
///
/// # Errors
/// When storage fails.
pub fn rules_of(store: &dyn RunStore) -> Result<Option<RulesVersion>, StoreError> {
    Ok(store.get(RULES_KEY)?.and_then(|number| number.parse().ok()).map(RulesVersion))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::{
        Discovery, HostKey, Lane, LeaseRef, NewUrl, Outcome, OutputMark, PageHistory, Settlement, UrlKey,
    };
    use crawl_store::SqliteStore;

    pub(super) fn open(dir: &Path) -> State {
        State::open(dir, false, &Config::defaults().unwrap()).unwrap()
    }

    pub(super) fn url(n: usize) -> NewUrl {
        let url = format!("https://a.test/{n}");
        NewUrl {
            key: UrlKey::of(&url),
            url,
            host: HostKey::from_stored("a.test"),
            depth: 0,
            discovery: Discovery::Seed,
            redirects: Vec::new(),
            sitemap_lastmod: None,
        }
    }

    /// Leases of pending URLs, each with its URL.
    pub(super) fn lease(store: &dyn StateStore, most: usize) -> Vec<(LeaseRef, String)> {
        let host = HostKey::from_stored("a.test");
        let leased = store.lease(&host, Lane::Plain, most, "w", 0, i64::MAX).unwrap();
        leased.iter().map(|request| (request.into(), request.url.to_string())).collect()
    }

    fn settle_all(state: &State, outcome: Outcome) {
        for (lease, _) in lease(&*state.store, 99) {
            let ended = Settlement { lease, outcome, history: PageHistory::default() };
            state.store.settle(&[ended], &[]).unwrap();
        }
    }

    #[test]
    fn round_ends_only_with_its_end_mark() {
        let dir = tempfile::tempdir().unwrap();
        let of = |state: &State| (state.new_round, state.round);
        // killed before its seeds were planted
        assert_eq!(of(&open(dir.path())), (true, 1));
        let state = open(dir.path());
        assert_eq!(of(&state), (false, 1));
        state.store.enqueue(&[url(1), url(2)]).unwrap();
        settle_all(&state, Outcome::Record);
        drop(state);
        // killed after the last settlement
        let state = open(dir.path());
        assert_eq!(of(&state), (false, 1));
        assert!(note_end(&*state.store).unwrap());
        drop(state);
        let state = open(dir.path());
        assert_eq!(of(&state), (true, 2));
        state.store.revisit(&[url(1)]).unwrap();
        assert!(!note_end(&*state.store).unwrap(), "a URL is pending");
        settle_all(&state, Outcome::Failed);
        assert!(note_end(&*state.store).unwrap());
        assert!(is_finished(&*state.store).unwrap());
        drop(state);
        // what failed is put back, and the run that fetches it is killed after its last settlement
        assert_eq!(SqliteStore::open(dir.path()).unwrap().reopen_failed(&[url(1).key]).unwrap(), 1);
        let state = open(dir.path());
        assert_eq!(of(&state), (false, 2));
        settle_all(&state, Outcome::Record);
        drop(state);
        assert_eq!(of(&open(dir.path())), (false, 2));
    }

    #[test]
    fn round_of_an_earlier_state_ends_without_a_mark() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path()).unwrap();
        store.begin_round().unwrap();
        store.settle(&[], &[OutputMark { name: "/out".into(), offset: 7 }]).unwrap();
        store.put("round:/out", "1").unwrap();
        store.put("open:/out", "1").unwrap();
        assert!(!is_finished(&store).unwrap(), "its output was left open");
        store.put("round:/out", "0").unwrap();
        assert!(is_finished(&store).unwrap(), "that was another round");
        store.put("round:/out", "1").unwrap();
        store.put("open:/out", "0").unwrap();
        assert!(is_finished(&store).unwrap());
        drop(store);
        assert_eq!(open(dir.path()).round, 2);
    }

    #[test]
    fn state_without_its_database_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join(ERROR_LOG);
        drop(open(dir.path()));
        std::fs::write(&log, "").unwrap();
        drop(open(dir.path()));
        SqliteStore::remove(dir.path()).unwrap();
        let config = Config::defaults().unwrap();
        let refused = State::open(dir.path(), false, &config).err().unwrap();
        assert_eq!(refused.exit, Exit::Damaged);
        assert!(refused.error.to_string().contains("--fresh"), "{}", refused.error);
        assert!(!SqliteStore::exists(dir.path()), "the next run is refused too");
        State::open(dir.path(), true, &config).unwrap();
        open(dir.path());
    }
}
