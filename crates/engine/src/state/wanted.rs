//! Comparison of a run's output and text settings with those stored in its state.

use super::{ERROR_LOG, outputs, shared::shown_both};
use crate::{
    config::{Config, Emit, RecrawlMode},
    exit::Failure,
};
use crawl_model::{RunStore, Store, StoreError};
use crawl_output::{Place, absolute};
use crawl_store::StateStore;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Name in the store of the text settings of the last run, as one JSON object.
const TEXT_KEY: &str = "text_settings";
/// Name in the store of the note that records went to standard output.
const STDOUT_KEY: &str = "stdout";
/// Name in the store of the last round that writes every page with its text.
const WHOLE_ROUND_KEY: &str = "writes_all";
/// Name in the store of the last round whose records have other fields than the earlier ones of its output.
const REPLACES_KEY: &str = "replaces_records";
/// Name in the store of output and text settings of the last round that writes every page, as JSON.
const WHOLE_ROUND_SETTINGS_KEY: &str = "writes_all_as";
/// The setting of the fields of records.
const FIELDS: &str = "output.fields";
/// The flag for records of new, changed and gone pages alone.
const ONLY_CHANGES: &str = "--emit changes";
/// Name of the setting that records have six fields.
const LEAN: &str = "output.lean";

/// Difference between a run and the state in words, and the flag or setting that continues with the state.
type Mismatch = (String, String);

/// Output and text settings of a round that writes every page. The settings of the state are those of the round before until
/// the round has begun.
#[derive(Serialize, Deserialize)]
struct WholeRound {
    /// Absolute name of the output; empty for standard output.
    output: String,
    text: BTreeMap<String, String>,
}

/// Output and text settings of a run.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The output; `None` for standard output, and for a shared crawl.
    output: Option<PathBuf>,
    /// The crawl in a database that workers share. Each worker has an output of its own, so the crawl knows none.
    shared: Option<SharedText>,
    /// Setting → value, of all settings that decide the text of a record.
    text: BTreeMap<String, String>,
    emit: Emit,
    /// True for `--recrawl all --emit all`.
    is_whole: bool,
    /// The round replaces the output, so that the texts of earlier records would be lost.
    replaces: bool,
}

/// Text settings of a shared crawl.
#[derive(Clone, Debug)]
struct SharedText {
    crawl: String,
    /// Setting → value, as the settings of a round have it.
    text: BTreeMap<String, String>,
}

/// Name and value of a note.
pub(super) type Note = (String, String);

impl Wanted {
    /// Output and text settings of a configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let (emit, text, is_shared) = (config.output.emit, text_settings(config), config.state.is_shared());
        let shared = is_shared.then(|| SharedText {
            crawl: config.state.crawl.clone(),
            text: config.shared.iter().filter(|(key, _)| text.contains_key(*key)).map(owned).collect(),
        });
        Self {
            output: config.output.path().filter(|_| !is_shared).map(Path::to_owned),
            shared,
            text,
            emit,
            replaces: !is_shared && !config.output.replace.is_empty(),
            is_whole: config.recrawl.mode == RecrawlMode::All && emit == Emit::All,
        }
    }

    /// Decides if a run may begin. The round has to write every page with its text if the output or a text setting is
    /// new to the state. So does a whole round for an output of `-O`. `unfinished` is the number of a round that
    /// resumes: a round that writes every page continues to do so, regardless of flags.
    ///
    /// # Errors
    /// When the run would write only a part of the pages without the consent of the user (exit 2).
    pub(super) fn admit(
        &self,
        store: &dyn StateStore,
        dir: &Path,
        unfinished: Option<u32>,
    ) -> Result<Admitted, Failure> {
        let replaces_records = match unfinished {
            None => self.has_other_fields(store)?,
            Some(_) => noted_round(store, REPLACES_KEY)? == unfinished,
        };
        let admitted = |writes_all| Admitted { writes_all, replaces_records: writes_all && replaces_records };
        if unfinished.is_some() && noted_round(store, WHOLE_ROUND_KEY)? == unfinished {
            return match self.mismatch_with_whole_round(store, dir)? {
                Some((mismatch, way)) => Err(Failure::usage(format!(
                    "{mismatch}, and the interrupted round writes every page: continue with {way}; or use --fresh to start \
                     over, or another --state-dir for a separate crawl"
                ))),
                None => Ok(admitted(true)),
            };
        }
        if self.emit == Emit::Changes || !super::has_records(store)? {
            return Ok(admitted(false));
        }
        let missing = if unfinished.is_none() { self.missing_output(store, dir)? } else { None };
        let Some(mismatch) =
            missing.map_or_else(|| self.mismatch(store, dir), |mismatch| Ok(Some(mismatch)))?
        else {
            return Ok(admitted(self.is_whole && self.replaces && unfinished.is_none()));
        };
        if self.is_whole && unfinished.is_none() {
            return Ok(admitted(true));
        }
        Err(self.refusal(mismatch, unfinished))
    }

    /// The difference to the state, with the remedy.
    fn mismatch(&self, store: &dyn StateStore, dir: &Path) -> Result<Option<Mismatch>, StoreError> {
        if let Some(shared) = &self.shared {
            return self.other_shared_text(store, shared);
        }
        if !self.knows_output(store, dir)? {
            return Ok(Some(self.other_output(dir, known_output(store, dir)?)));
        }
        Ok(self.other_text(dir, &known_text_settings(store)?))
    }

    /// The difference to an unfinished round that writes every page.
    fn mismatch_with_whole_round(
        &self,
        store: &dyn StateStore,
        dir: &Path,
    ) -> Result<Option<Mismatch>, StoreError> {
        if self.emit == Emit::Changes {
            return Ok(Some((
                "--emit changes leaves unchanged pages out".to_owned(),
                "--emit all".to_owned(),
            )));
        }
        let noted = store
            .get(WHOLE_ROUND_SETTINGS_KEY)?
            .and_then(|text| serde_json::from_str::<WholeRound>(&text).ok());
        let Some(WholeRound { output, text }) = noted else {
            // a state of an earlier version, whose output may not be in the state yet
            return if self.is_whole { Ok(None) } else { self.mismatch(store, dir) };
        };
        if self.shared.is_none() && !self.is_output(store, &output)? {
            return Ok(Some(self.other_output(dir, Some(output).filter(|name| !name.is_empty()))));
        }
        Ok(self.other_text(dir, &text))
    }

    /// Returns true if the output has an absolute name, or had it before it was moved.
    fn is_output(&self, store: &dyn StateStore, name: &str) -> Result<bool, StoreError> {
        let Some(path) = &self.output else { return Ok(name.is_empty()) };
        if absolute(path) == Path::new(name) {
            return Ok(true);
        }
        let known = outputs::known_name(store, &Place::of(path), path)?;
        Ok(known.is_some_and(|(known, _)| known == Place::of(Path::new(name)).name()))
    }

    /// The difference that records went to `before`, or to standard output.
    fn other_output(&self, dir: &Path, before: Option<String>) -> Mismatch {
        let shown = before.as_ref().map_or_else(|| "standard output".to_owned(), |name| quoted(name));
        let wanted = self
            .output
            .as_ref()
            .map_or_else(|| "standard output".to_owned(), |path| quoted(&path.to_string_lossy()));
        let flag = if self.replaces { "-O" } else { "-o" };
        let way = before.map_or_else(|| "-o -".to_owned(), |name| format!("{flag} {name}"));
        (format!("the crawl in {} has written to {shown} and not to {wanted}", dir.display()), way)
    }

    /// The difference that records have other text settings.
    fn other_text(&self, dir: &Path, known: &BTreeMap<String, String>) -> Option<Mismatch> {
        let other: Vec<(&str, &str)> = self
            .text
            .iter()
            .filter_map(|(key, value)| {
                let before = known.get(key).filter(|before| *before != value)?;
                Some((key.as_str(), before.as_str()))
            })
            .collect();
        let mismatch = match other.as_slice() {
            [] => return None,
            [(LEAN, "true")] => "were written with --lean".to_owned(),
            [(LEAN, _)] => "were written without --lean".to_owned(),
            other => {
                let keys: Vec<&str> = other.iter().map(|(key, _)| *key).collect();
                format!("were written with another {}", keys.join(", "))
            }
        };
        let mismatch = format!("the records of the crawl in {} {mismatch}", dir.display());
        Some((mismatch, "the earlier settings".to_owned()))
    }

    /// The difference that records of a shared crawl have other text settings. A crawl that was copied from a directory has them as a
    /// note, until a worker has stored its own.
    fn other_shared_text(
        &self,
        store: &dyn StateStore,
        shared: &SharedText,
    ) -> Result<Option<Mismatch>, StoreError> {
        let (own, known) = match store.settings_of_round()? {
            Some(known) => (&shared.text, known),
            None => (&self.text, known_text_settings(store)?),
        };
        let other: Vec<String> = own
            .iter()
            .filter_map(|(key, value)| {
                let before = known.get(key).filter(|before| *before != value)?;
                let (value, before) = shown_both(value, before);
                Some(format!("{key} = {value} here, {before} in its records"))
            })
            .collect();
        let way = "the earlier settings".to_owned();
        let mismatch =
            || format!("the crawl \"{}\" has records of other settings ({})", shared.crawl, other.join("; "));
        Ok((!other.is_empty()).then(|| (mismatch(), way)))
    }

    /// The difference that an output of `-O` was removed or shortened, or has only the changes of a round. Its records of
    /// unchanged pages would be missing.
    fn missing_output(&self, store: &dyn StateStore, dir: &Path) -> Result<Option<Mismatch>, StoreError> {
        let Some(path) = self.output.as_ref().filter(|_| self.replaces) else { return Ok(None) };
        let place = Place::of(path);
        let Some((name, settled)) = outputs::known_name(store, &place, path)? else { return Ok(None) };
        let (shown, dir) = (path.display(), dir.display());
        if outputs::is_partial(store, &name)? {
            let mismatch = format!("\"{shown}\" has only the changes of a round of the crawl in {dir}");
            return Ok(Some((mismatch, ONLY_CHANGES.to_owned())));
        }
        if !outputs::is_shortened(&place, settled) {
            return Ok(None);
        }
        let what = if place.marked().exists() { "lacks records now" } else { "is missing" };
        let mismatch = format!("the crawl in {dir} has written to \"{shown}\", which {what}");
        Ok(Some((mismatch, format!("{shown} back in its place"))))
    }

    fn knows_output(&self, store: &dyn StateStore, dir: &Path) -> Result<bool, StoreError> {
        match &self.output {
            Some(path) if outputs::knows_pattern(store, path)? => Ok(true),
            Some(path) => Ok(outputs::known_name(store, &Place::of(path), path)?.is_some()),
            // earlier versions did not note standard output
            None => Ok(store.get(STDOUT_KEY)?.is_some() || known_output(store, dir)?.is_none()),
        }
    }

    /// Returns true if the records of the state have other fields.
    fn has_other_fields(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let known = known_text_settings(store)?;
        let is_other = |key: &str| {
            known.get(key).is_some_and(|before| self.text.get(key).is_some_and(|now| now != before))
        };
        Ok(is_other(FIELDS) || is_other(LEAN))
    }

    /// Notes about the way in which a round writes known pages, for the run that resumes it. A run that was killed before its
    /// round began may have noted otherwise.
    pub(super) fn notes_of_round(&self, round: u32, admitted: Admitted) -> Result<Vec<Note>, StoreError> {
        let number_if = |holds: bool| if holds { round.to_string() } else { String::new() };
        let mut notes = Vec::new();
        if admitted.writes_all {
            let output = self.output.as_deref().map(absolute).unwrap_or_default();
            let whole = WholeRound { output: output.to_string_lossy().into_owned(), text: self.text.clone() };
            notes.push((WHOLE_ROUND_SETTINGS_KEY.to_owned(), json(&whole)?));
        }
        notes.push((WHOLE_ROUND_KEY.to_owned(), number_if(admitted.writes_all)));
        notes.push((REPLACES_KEY.to_owned(), number_if(admitted.replaces_records)));
        Ok(notes)
    }

    /// Notes about the settings of a run that begins.
    pub(super) fn notes(&self) -> Result<Vec<Note>, StoreError> {
        let mut notes = vec![(TEXT_KEY.to_owned(), json(&self.text)?)];
        if self.output.is_none() && self.shared.is_none() {
            notes.push((STDOUT_KEY.to_owned(), "1".to_owned()));
        }
        Ok(notes)
    }

    /// The error of a run that would write only a part of the pages.
    fn refusal(&self, (mismatch, way): Mismatch, unfinished: Option<u32>) -> Failure {
        let mut ways = vec![format!("continue with {way}")];
        if unfinished.is_none() {
            ways.push("write all pages again: --recrawl all --emit all".to_owned());
        }
        if !ways[0].ends_with(ONLY_CHANGES) {
            ways.push(format!("write only new and changed pages: {ONLY_CHANGES}"));
        }
        match &self.shared {
            Some(_) => ways.push("begin a separate crawl: another --crawl".to_owned()),
            None => ways.extend(
                ["start over: --fresh", "begin a separate crawl: another --state-dir"].map(str::to_owned),
            ),
        }
        Failure::usage(format!(
            "{mismatch}, so this run would write only a part of the pages; choose one:\n  - {}",
            ways.join("\n  - ")
        ))
    }
}

/// Notes the end of a round: URLs of it that are visited again belong to no round that writes every page.
pub(super) fn end_round<S: RunStore + ?Sized>(store: &S) -> Result<(), StoreError> {
    store.put(WHOLE_ROUND_KEY, "")
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Other(e.to_string()))
}

/// The way in which an admitted run writes known pages.
#[derive(Clone, Copy)]
pub(super) struct Admitted {
    /// The round writes every page with its text.
    pub(super) writes_all: bool,
    /// The records of the round have other fields than the earlier ones.
    pub(super) replaces_records: bool,
}

impl Admitted {
    /// The way that is noted for a round.
    pub(super) fn noted(store: &dyn StateStore, round: u32) -> Result<Self, StoreError> {
        let writes_all = noted_round(store, WHOLE_ROUND_KEY)? == Some(round);
        let replaces_records = writes_all && noted_round(store, REPLACES_KEY)? == Some(round);
        Ok(Self { writes_all, replaces_records })
    }
}

/// The round that is noted under a name.
fn noted_round(store: &dyn Store, key: &str) -> Result<Option<u32>, StoreError> {
    Ok(super::number(store.get(key)?))
}

/// The text settings of the last run.
fn known_text_settings(store: &dyn Store) -> Result<BTreeMap<String, String>, StoreError> {
    Ok(store.get(TEXT_KEY)?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// The output of the latest round that the state knows, without the error log.
fn known_output(store: &dyn Store, dir: &Path) -> Result<Option<String>, StoreError> {
    let log = absolute(&dir.join(ERROR_LOG));
    let is_log = |name: &str| Path::new(name) == log || name.ends_with(&format!("/{ERROR_LOG}"));
    let rounds = store.entries(&outputs::round_key(""))?;
    let named = rounds.into_iter().filter_map(|(key, round)| {
        let name = key.strip_prefix(&outputs::round_key("")).filter(|name| !is_log(name))?;
        Some((round.parse::<u32>().ok()?, name.trim_end_matches("index.jsonl").to_owned()))
    });
    Ok(named.max().map(|(_, name)| name))
}

fn owned((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The settings that decide which text a record has, and which of its fields are written.
fn text_settings(config: &Config) -> BTreeMap<String, String> {
    let (extract, dedup, output) = (&config.extract, &config.dedup, &config.output);
    let shown: [(&str, &dyn std::fmt::Debug); 14] = [
        ("extract.favor", &extract.favor),
        ("extract.links", &extract.links),
        ("extract.images", &extract.images),
        ("extract.tables", &extract.tables),
        ("extract.comments", &extract.comments),
        ("extract.raw_metadata", &extract.raw_metadata),
        ("extract.rules", &extract.rules),
        ("dedup.enabled", &dedup.enabled),
        ("dedup.mode", &dedup.mode),
        ("dedup.threshold_pct", &dedup.threshold_pct),
        ("dedup.min_pages", &dedup.min_pages),
        (FIELDS, &output.fields),
        (LEAN, &output.lean),
        ("output.links", &output.links),
    ];
    shown.into_iter().map(|(key, value)| (key.to_owned(), format!("{value:?}"))).collect()
}
