//! The state directory of a run: which one, who holds it, and what it knows of the output.

use crate::{
    config::Config,
    exit::{Exit, Failure},
    output::{self, Before, Kind, absolute},
    seeds,
    store::Store,
};
use crawl_model::{Frontier, OutputMark, RulesVersion, RunStore, StoreError, UrlKey};
use crawl_store::{SqliteStore, StateLock};
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use url::Url;

/// A state directory that this process holds.
pub struct State {
    /// Where it is.
    pub dir: PathBuf,
    /// The store in it.
    pub store: std::sync::Arc<SqliteStore>,
    /// This run starts a round; otherwise it goes on with one.
    pub new_round: bool,
    /// Number of the round.
    pub round: u32,
    /// Earlier pages of it were read by other rules than those of now.
    pub other_rules: bool,
    /// Links were followed by other settings.
    pub other_links: bool,
    _lock: StateLock,
}

/// The directory for a seed file where none was named: one for each seed file, and each URL in place of one, under
/// `$XDG_STATE_HOME/crawl`. Seeds from standard input share one for each working directory.
///
/// # Errors
/// When neither `XDG_STATE_HOME` nor a home directory is known.
pub fn default_dir(seed: &Path) -> Result<PathBuf, Failure> {
    let base = base()?;
    let (stem, identity) = match seeds::as_url(seed).map(Url::parse) {
        Some(Ok(url)) => (url.host_str().unwrap_or_default().to_owned(), url.to_string()),
        _ => {
            let seed = if seed.as_os_str() == "-" { absolute(Path::new("stdin")) } else { absolute(seed) };
            let stem = seed.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
            (stem, seed.to_string_lossy().into_owned())
        }
    };
    let hash = UrlKey::of(&identity).to_string();
    Ok(base.join(format!("{stem}-{}", &hash[..8])))
}

/// Where state directories are that nobody has named: `$XDG_STATE_HOME/crawl`.
///
/// # Errors
/// When neither `XDG_STATE_HOME` nor a home directory is known.
pub fn base() -> Result<PathBuf, Failure> {
    std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().filter(|h| h.is_absolute()).map(|home| home.join(".local/state")))
        .map(|base| base.join("crawl"))
        .ok_or_else(|| Failure::usage("no home directory is known: name one for the state with --state-dir"))
}

/// The state directory of a crawl: the one that is named, or the one of its seeds.
///
/// # Errors
/// When neither is given, or [`default_dir`] fails.
pub fn dir(config: &Config, seed: Option<&Path>) -> Result<PathBuf, Failure> {
    match (config.state.dir.as_str(), seed) {
        ("", Some(seed)) => default_dir(seed),
        ("", None) => Err(Failure::usage("which crawl? Name its seeds with --seed, or its --state-dir")),
        (dir, _) => Ok(PathBuf::from(dir)),
    }
}
/// Name in the store of the rules that pages were read by.
const RULES_KEY: &str = "rules";

impl State {
    /// Takes a state directory, creating it; `fresh` forgets what it holds. A finished round is followed by one over what is
    /// known, an unfinished one is gone on with. What sites repeat is learnt anew if `rules` are others than those of before.
    ///
    /// # Errors
    /// When it cannot be written (exit 3) or another run holds it (exit 6).
    pub fn open(
        dir: &Path,
        fresh: bool,
        (project, source_group): (&str, Option<&str>),
        rules: RulesVersion,
    ) -> Result<Self, Failure> {
        let at = |error: &dyn std::fmt::Display| {
            Failure::new(Exit::Storage, format!("{}: {error}", dir.display()))
        };
        std::fs::create_dir_all(dir).map_err(|e| at(&e))?;
        let lock = StateLock::acquire(dir)?;
        if fresh {
            SqliteStore::remove(dir)?;
        }
        let store = SqliteStore::open(dir)?;
        store.set_project(project, source_group)?;
        store.expire_leases(i64::MAX)?;
        let (round, counts) = (store.round()?, store.counts()?);
        let finished = store.drained()? && counts.held == 0;
        let new_round = round == 0 || finished;
        let before = rules_of(&store)?;
        let other_rules = round > 0 && !before.is_some_and(|before| before.reads_as(rules));
        let other_links = !other_rules && before.is_some_and(|before| !before.follows_as(rules));
        let round = match (new_round, round) {
            (false, round) => round,
            (true, 0) => store.begin_round()?,
            (true, _) => store.begin_recrawl(!other_rules)?,
        };
        store.put(RULES_KEY, &rules.0.to_string())?;
        let (dir, store) = (dir.to_owned(), std::sync::Arc::new(store));
        Ok(Self { dir, store, new_round, round, other_rules, other_links, _lock: lock })
    }

    /// How an output file has to be opened.
    ///
    /// # Errors
    /// When storage fails.
    pub fn before(&self, path: &Path, replace: bool) -> Result<Before, StoreError> {
        let name = absolute(path).to_string_lossy().into_owned();
        let mark = self.store.output_mark(&name)?;
        // not whether this process began the round: the one that did may not have come as far as the output
        let of_this_round = self.store.get(&round_key(&name))? == Some(self.round.to_string());
        let untouched = mark == Some(0) && is_untouched(&*self.store, path)?;
        if replace && (untouched || !(of_this_round && mark.is_some())) {
            return Ok(Before::Replace);
        }
        Ok(match mark {
            Some(settled) if is_open(&*self.store, &name)? => Before::CutOff(settled),
            _ => Before::Unknown,
        })
    }

    /// Notes that an output is being written from `offset` on in this round: should this process be killed, the next one
    /// cuts the file back to what was settled. `stale` is its path where it still holds what an earlier round wrote, which
    /// must not be taken for lines of this one.
    ///
    /// # Errors
    /// When storage fails.
    pub fn output_opened(&self, name: &str, offset: u64, stale: Option<&Path>) -> Result<(), StoreError> {
        self.store.put(&stale_key(name), &stale.and_then(identity).unwrap_or_default())?;
        self.store.settle(&[], &[OutputMark { name: name.to_owned(), offset }])?;
        self.store.put(&open_key(name), "1")?;
        self.store.put(&round_key(name), &self.round.to_string())
    }
}

/// The rules that the last run of a state read pages by.
///
/// # Errors
/// When storage fails.
pub fn rules_of(store: &dyn RunStore) -> Result<Option<RulesVersion>, StoreError> {
    Ok(store.get(RULES_KEY)?.and_then(|number| number.parse().ok()).map(RulesVersion))
}

fn round_key(name: &str) -> String {
    format!("round:{name}")
}

fn stale_key(name: &str) -> String {
    format!("stale:{name}")
}

/// What tells a file from what it becomes when it is written to.
fn identity(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let changed = (found.mtime(), found.mtime_nsec());
    Some(format!("{}:{}:{}:{}.{:09}", found.dev(), found.ino(), found.len(), changed.0, changed.1))
}

/// Whether a file that is to be replaced is still as it was when the round began.
fn is_untouched(store: &dyn Store, path: &Path) -> Result<bool, StoreError> {
    let noted = store.get(&stale_key(&absolute(path).to_string_lossy()))?.filter(|noted| !noted.is_empty());
    Ok(noted.is_some() && noted == identity(path))
}

/// Empties a file that a round replaces and for which it has brought no record, though it came to its end.
///
/// # Errors
/// When storage fails, or the file cannot be written.
pub fn replace_by_nothing(store: &dyn Store, path: &Path) -> Result<(), Failure> {
    if is_untouched(store, &Kind::of(path).marked(path))? {
        output::replace_by_nothing(path)?;
    }
    Ok(())
}

fn open_key(name: &str) -> String {
    format!("open:{name}")
}

fn is_open(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    Ok(store.get(&open_key(name))?.as_deref() == Some("1"))
}

/// Notes that an output was left whole: whatever is appended to it from now on is not ours to cut off.
///
/// # Errors
/// When storage fails.
pub fn output_closed(store: &dyn Store, name: &str) -> Result<(), StoreError> {
    store.put(&open_key(name), "0")
}
