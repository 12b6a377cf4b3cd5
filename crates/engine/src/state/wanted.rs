//! Output and text settings of a run, compared with those that a state knows.

use super::{ERROR_LOG, outputs};
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
const WHOLE_KEY: &str = "writes_all";
/// Name in the store of the last round whose records have other fields than the earlier ones of its output.
const REPLACES_KEY: &str = "replaces_records";
/// Name in the store of output and text settings of the last round that writes every page, as JSON.
const WHOLE_AS_KEY: &str = "writes_all_as";
/// The setting of the fields of records.
const FIELDS: &str = "output.fields";
/// Name of the setting that records have six fields.
const LEAN: &str = "output.lean";

/// Difference of a run to the state in words, and the option or setting that goes on with the state.
type News = (String, String);

/// Output and text settings of a round that writes every page. The settings of the state are those of the round before until
/// the round has begun.
#[derive(Serialize, Deserialize)]
struct WholeRound {
    /// Absolute name of the output; empty for standard output.
    output: String,
    text: BTreeMap<String, String>,
}

/// Output and text settings of a run. The default one accepts any state.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The output; `None` for standard output.
    output: Option<PathBuf>,
    /// Setting → value, of all settings that decide the text of a record.
    text: BTreeMap<String, String>,
    emit: Emit,
    /// True for `--recrawl all --emit all`.
    is_whole: bool,
    /// The round replaces the output, so that the texts of earlier records would be lost.
    replaces: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { output: None, text: BTreeMap::new(), emit: Emit::Changes, is_whole: false, replaces: false }
    }
}

impl Wanted {
    /// Output and text settings of a configuration. The workers of a shared crawl have outputs of their own, and agree on
    /// their settings.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        if config.state.is_shared() {
            return Self::default();
        }
        let emit = config.output.emit;
        Self {
            output: config.output.path().map(Path::to_owned),
            text: text_settings(config),
            emit,
            replaces: !config.output.replace.is_empty(),
            is_whole: config.recrawl.mode == RecrawlMode::All && emit == Emit::All,
        }
    }

    /// Decides if a run may begin. The round has to write every page with its text if the output or a text setting is new to
    /// the state. So does a whole round for an output of `-O`. `unfinished` is the number of a round that resumes: one that
    /// writes every page goes on to do so, under whatever flags.
    ///
    /// # Errors
    /// When the run would write only a part of the pages without the consent of the user (exit 2).
    pub(super) fn admit(
        &self,
        store: &dyn StateStore,
        dir: &Path,
        unfinished: Option<u32>,
    ) -> Result<Admitted, Failure> {
        if self.text.is_empty() {
            return Ok(Admitted { writes_all: false, replaces_records: false });
        }
        let replaces_records = match unfinished {
            None => self.has_other_fields(store)?,
            Some(_) => noted_round(store, REPLACES_KEY)? == unfinished,
        };
        let admitted = |writes_all| Admitted { writes_all, replaces_records: writes_all && replaces_records };
        if unfinished.is_some() && noted_round(store, WHOLE_KEY)? == unfinished {
            return match self.news_for_whole_round(store, dir)? {
                Some((news, way)) => Err(Failure::usage(format!(
                    "{news}, and the round that was interrupted writes every page: continue with {way}; or --fresh starts \
                     over, another --state-dir starts beside it"
                ))),
                None => Ok(admitted(true)),
            };
        }
        if self.emit == Emit::Changes || !super::has_records(store)? {
            return Ok(admitted(false));
        }
        let missing = if unfinished.is_none() { self.missing_output(store, dir)? } else { None };
        let Some(news) = missing.map_or_else(|| self.news(store, dir), |news| Ok(Some(news)))? else {
            return Ok(admitted(self.is_whole && self.replaces && unfinished.is_none()));
        };
        if self.is_whole && unfinished.is_none() {
            return Ok(admitted(true));
        }
        Err(refusal(news, unfinished))
    }

    /// The news for the state.
    fn news(&self, store: &dyn StateStore, dir: &Path) -> Result<Option<News>, StoreError> {
        if !self.knows_output(store, dir)? {
            return Ok(Some(self.other_output(dir, known_output(store, dir)?)));
        }
        Ok(self.other_text(dir, &known_text_settings(store)?))
    }

    /// The news for an unfinished round that writes every page.
    fn news_for_whole_round(&self, store: &dyn StateStore, dir: &Path) -> Result<Option<News>, StoreError> {
        if self.emit == Emit::Changes {
            return Ok(Some((
                "--emit changes leaves unchanged pages out".to_owned(),
                "--emit all".to_owned(),
            )));
        }
        let noted = store.get(WHOLE_AS_KEY)?.and_then(|text| serde_json::from_str::<WholeRound>(&text).ok());
        let Some(WholeRound { output, text }) = noted else {
            // a state of an earlier version, whose output may not be in the state yet
            return if self.is_whole { Ok(None) } else { self.news(store, dir) };
        };
        if !self.is_output(store, &output)? {
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

    /// The news that records went to `before`, or to standard output.
    fn other_output(&self, dir: &Path, before: Option<String>) -> News {
        let shown = before.as_ref().map_or_else(|| "standard output".to_owned(), |name| quoted(name));
        let wanted = self
            .output
            .as_ref()
            .map_or_else(|| "standard output".to_owned(), |path| quoted(&path.to_string_lossy()));
        let flag = if self.replaces { "-O" } else { "-o" };
        let way = before.map_or_else(|| "-o -".to_owned(), |name| format!("{flag} {name}"));
        (format!("the crawl in {} has written to {shown} and not to {wanted}", dir.display()), way)
    }

    /// The news that records have other text settings.
    fn other_text(&self, dir: &Path, known: &BTreeMap<String, String>) -> Option<News> {
        let other: Vec<&str> = self
            .text
            .iter()
            .filter(|(key, value)| known.get(*key).is_some_and(|before| before != *value))
            .map(|(key, _)| key.as_str())
            .collect();
        (!other.is_empty()).then(|| {
            let news =
                format!("the records of the crawl in {} have another {}", dir.display(), other.join(", "));
            (news, "the earlier settings".to_owned())
        })
    }

    /// The news that an output of `-O` was removed: its records of unchanged pages would be missing.
    fn missing_output(&self, store: &dyn StateStore, dir: &Path) -> Result<Option<News>, StoreError> {
        let Some(path) = self.output.as_ref().filter(|_| self.replaces) else { return Ok(None) };
        let place = Place::of(path);
        if place.marked().exists() || outputs::known_name(store, &place, path)?.is_none() {
            return Ok(None);
        }
        let shown = path.display();
        let news = format!("the crawl in {} has written to \"{shown}\", which is missing", dir.display());
        Ok(Some((news, format!("{shown} back in its place"))))
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

    /// Notes how a round writes known pages before it begins, for the run that resumes it. A run that was killed before its
    /// round began may have noted otherwise.
    pub(super) fn note_round(
        &self,
        store: &dyn Store,
        round: u32,
        admitted: Admitted,
    ) -> Result<(), StoreError> {
        let number_if = |holds: bool| if holds { round.to_string() } else { String::new() };
        if admitted.writes_all {
            let output = self.output.as_deref().map(absolute).unwrap_or_default();
            let whole = WholeRound { output: output.to_string_lossy().into_owned(), text: self.text.clone() };
            store.put(WHOLE_AS_KEY, &json(&whole)?)?;
        }
        store.put(WHOLE_KEY, &number_if(admitted.writes_all))?;
        store.put(REPLACES_KEY, &number_if(admitted.replaces_records))
    }

    /// Notes the settings of a run that begins.
    pub(super) fn note(&self, store: &dyn Store) -> Result<(), StoreError> {
        if self.output.is_none() {
            store.put(STDOUT_KEY, "1")?;
        }
        store.put(TEXT_KEY, &json(&self.text)?)
    }
}

/// Notes the end of a round: URLs of it that are visited again belong to no round that writes every page.
pub(super) fn end_round<S: RunStore + ?Sized>(store: &S) -> Result<(), StoreError> {
    store.put(WHOLE_KEY, "")
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

/// The error of a run that would write only a part of the pages.
fn refusal((news, way): News, unfinished: Option<u32>) -> Failure {
    let whole = if unfinished.is_none() { "--recrawl all --emit all writes all pages anew, " } else { "" };
    Failure::usage(format!(
        "{news}, so this run would write only a part of the pages: continue with {way}; or {whole}\
         --fresh starts over, another --state-dir starts beside it, --emit changes writes only new and changed pages"
    ))
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
