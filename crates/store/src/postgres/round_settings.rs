//! Settings that all workers of a round share. A round has one set of them, stored by the worker that begins the round. Each other
//! worker compares its own before it crawls, and then notes that it has joined.

use super::{
    Commit, PgStore,
    db::{Db, get},
    memory::Memory,
    run::put_note,
};
use crate::upkeep::{Agreement, RULES_KEYS, RoundSettings, SettingDifference};
use crawl_model::StoreError;
use std::collections::BTreeMap;

type Settings = BTreeMap<String, String>;

/// Name of the note of the start in which a worker has joined a round.
const JOINED: &str = "joined";

/// True if no other worker that has joined the round has a lease. Then, true if it is the first round without a visited URL.
const IS_LAST_WORKER: &str = "SELECT NOT EXISTS (SELECT 1 FROM workers w JOIN settings s ON s.name = 'worker ' || w.id || ' joined' \
                       WHERE w.id <> $1 AND w.lease_until > clock_timestamp() \
                       AND s.value = convert_to(w.epoch::text, 'UTF8')), \
                       round <= 1 AND NOT EXISTS (SELECT 1 FROM held) AND NOT EXISTS (SELECT 1 FROM tallies \
                       WHERE records + failed + skipped + redirected + unchanged + gone <> 0) FROM crawls";

/// Takes the hosts of all other workers: pages that they have fetched by other settings are not settled. Hosts of a
/// stopped worker stay paused after its lease, during which a request of it may still begin.
const REVOKE: &str = "UPDATE hosts SET owner = NULL, epoch = hosts.epoch + 1, \
                      not_before = greatest(not_before, least(w.lease_until, clock_timestamp()) \
                      + make_interval(secs => greatest($2, pause))) \
                      FROM workers w WHERE w.id = hosts.owner AND w.id <> $1";

impl PgStore {
    /// Settings of the current round; `None` before a worker has stored its own.
    ///
    /// # Errors
    /// When storage fails.
    pub fn round_settings(&self) -> Result<Option<Settings>, StoreError> {
        Ok(stored(&mut self.ready()?.db)?.map(|(settings, _)| settings))
    }

    /// Differences of settings to those of the current round, for which a worker could not join it. Changes nothing.
    ///
    /// # Errors
    /// When storage fails.
    pub fn compare_settings(&self, settings: &RoundSettings) -> Result<Vec<SettingDifference>, StoreError> {
        let mut inner = self.ready()?;
        let super::Inner { db, memory, .. } = &mut *inner;
        Ok(match OfRound::read(db, memory, settings)? {
            OfRound::Fixed(differences) => differences,
            OfRound::Missing | OfRound::Same | OfRound::Replaceable => Vec::new(),
        })
    }

    /// Settings that [`begin_round`](crawl_model::Frontier::begin_round) and
    /// [`begin_recrawl`](crawl_model::Frontier::begin_recrawl) store, if this worker begins the round.
    ///
    /// # Errors
    /// When storage fails.
    pub fn propose_settings(&self, settings: RoundSettings) -> Result<(), StoreError> {
        self.ready()?.proposed = Some(settings);
        Ok(())
    }

    /// Compares settings with those of the current round, and joins the round if they are the same. If no other worker is in
    /// the round, they replace those of a first round without a visited URL, and the rules of another program.
    ///
    /// # Errors
    /// When storage fails.
    pub fn agree_on(&self, settings: &RoundSettings) -> Result<Agreement, StoreError> {
        let mut inner = self.ready()?;
        let epoch = inner.start.as_ref().map_or(0, |start| start.epoch).to_string();
        let pause = inner.pause.as_secs_f64();
        inner.write(Commit::Now, &[], |db, memory, _| {
            // one worker at a time
            db.one("SELECT round FROM crawls FOR UPDATE", &[])?;
            match OfRound::read(db, memory, settings)? {
                OfRound::Same => {}
                OfRound::Missing => store(db, memory, settings)?,
                OfRound::Replaceable => {
                    db.execute(REVOKE, &[&memory.worker, &pause])?;
                    store(db, memory, settings)?;
                }
                OfRound::Fixed(differences) => return Ok(Agreement::Differs(differences)),
            }
            put_note(db, memory.worker, JOINED, &epoch)?;
            Ok(Agreement::Same)
        })
    }
}

/// Settings of the current round, compared with those of a worker.
enum OfRound {
    Missing,
    Same,
    /// Other settings, which those of the worker may replace.
    Replaceable,
    /// Other settings, which stay.
    Fixed(Vec<SettingDifference>),
}

impl OfRound {
    fn read(db: &mut Db, memory: &Memory, settings: &RoundSettings) -> Result<Self, StoreError> {
        let Some((of_round, rules)) = stored(db)? else { return Ok(Self::Missing) };
        let differences = differences(settings, &of_round, rules);
        if differences.is_empty() {
            return Ok(Self::Same);
        }
        let row = db.one(IS_LAST_WORKER, &[&memory.worker])?;
        let (is_left, is_unused): (bool, bool) = (get(&row, 0)?, get(&row, 1)?);
        // else a round that an upgrade of the program interrupts could never end
        let is_upgrade = differences.iter().all(SettingDifference::is_of_program);
        Ok(if is_left && (is_unused || is_upgrade) { Self::Replaceable } else { Self::Fixed(differences) })
    }
}

/// Stores the settings of the current round and their notes.
pub(super) fn store(db: &mut Db, memory: &Memory, settings: &RoundSettings) -> Result<(), StoreError> {
    let text = serde_json::to_string(&settings.settings).map_err(|e| StoreError::Other(e.to_string()))?;
    db.execute("UPDATE crawls SET settings = $1::text::jsonb, rules = $2", &[&text, &settings.rules.0])?;
    settings.notes.iter().try_for_each(|(name, value)| put_note(db, memory.worker, name, value))
}

/// Settings and version of the rules of the current round.
fn stored(db: &mut Db) -> Result<Option<(Settings, i64)>, StoreError> {
    let row = db.one("SELECT settings::text, coalesce(rules, 0) FROM crawls", &[])?;
    let Some(text) = get::<Option<&str>>(&row, 0)? else { return Ok(None) };
    let settings = serde_json::from_str(text)
        .map_err(|e| StoreError::Corrupt(format!("the settings of the crawl: {e}")))?;
    Ok(Some((settings, get(&row, 1)?)))
}

/// Settings of a worker that differ from those of its round.
fn differences(worker: &RoundSettings, of_round: &Settings, rules: i64) -> Vec<SettingDifference> {
    let own = &worker.settings;
    let is_of_rules = |key: &str| key.starts_with(RULES_KEYS);
    // an earlier program stored no checksums
    let has_checksums = of_round.keys().any(|key| is_of_rules(key));
    let keys = own.keys().chain(of_round.keys().filter(|key| !own.contains_key(*key)));
    let mut differences: Vec<SettingDifference> = keys
        .filter(|key| own.get(*key) != of_round.get(*key) && (has_checksums || !is_of_rules(key)))
        .map(|key| SettingDifference {
            key: key.clone(),
            own: own.get(key).cloned(),
            of_round: of_round.get(key).cloned(),
        })
        .collect();
    if !has_checksums && rules != worker.rules.0 {
        let shown = |rules: i64| Some(format!("{rules:016x}"));
        let (key, own, of_round) = ("rules".to_owned(), shown(worker.rules.0), shown(rules));
        differences.push(SettingDifference { key, own, of_round });
    }
    differences
}
