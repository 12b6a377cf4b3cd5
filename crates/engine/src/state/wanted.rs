//! Output and text settings of a run, compared with those that a state knows.

use super::{ERROR_LOG, outputs};
use crate::{
    config::{Config, Emit, RecrawlMode},
    exit::Failure,
};
use crawl_model::{Store, StoreError};
use crawl_output::{Place, absolute};
use crawl_store::StateStore;
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
/// Name in the store of the output of the last round that writes every page: its absolute name, empty for standard output.
const WHOLE_OUTPUT_KEY: &str = "writes_all_to";
/// The setting of the fields of records.
const FIELDS: &str = "output.fields";

/// Difference of a run to the state in words, and the option or setting that goes on with the state.
type News = (String, String);

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
        let replaces_records = match unfinished {
            None => self.has_other_fields(store)?,
            Some(_) => noted_round(store, REPLACES_KEY)? == unfinished,
        };
        let admitted = |writes_all| Admitted { writes_all, replaces_records: writes_all && replaces_records };
        if unfinished.is_some() && noted_round(store, WHOLE_KEY)? == unfinished {
            return match self.news_for_whole_round(store, dir)? {
                Some(news) => Err(refusal(news, unfinished)),
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
        self.other_text(store, dir)
    }

    /// The news for an unfinished round that writes every page. Its output may not be in the state yet.
    fn news_for_whole_round(&self, store: &dyn StateStore, dir: &Path) -> Result<Option<News>, StoreError> {
        if self.emit == Emit::Changes {
            let news =
                format!("the round in {} that was interrupted writes unchanged pages too", dir.display());
            return Ok(Some((news, "--emit all".to_owned())));
        }
        // earlier versions did not note it
        if let Some(noted) = store.get(WHOLE_OUTPUT_KEY)?.filter(|noted| *noted != self.output_name()) {
            return Ok(Some(self.other_output(dir, Some(noted).filter(|noted| !noted.is_empty()))));
        }
        self.other_text(store, dir)
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

    /// The news that the records of the state have other text settings.
    fn other_text(&self, store: &dyn Store, dir: &Path) -> Result<Option<News>, StoreError> {
        let known = known_text_settings(store)?;
        let other: Vec<&str> = self
            .text
            .iter()
            .filter(|(key, value)| known.get(*key).is_some_and(|before| before != *value))
            .map(|(key, _)| key.as_str())
            .collect();
        Ok((!other.is_empty()).then(|| {
            let news =
                format!("the records of the crawl in {} have another {}", dir.display(), other.join(", "));
            (news, "the earlier settings".to_owned())
        }))
    }

    /// The absolute name of the output; empty for standard output.
    fn output_name(&self) -> String {
        self.output.as_ref().map_or_else(String::new, |path| absolute(path).to_string_lossy().into_owned())
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
        Ok(known.get(FIELDS).is_some_and(|before| self.text.get(FIELDS).is_some_and(|now| now != before)))
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
            store.put(WHOLE_OUTPUT_KEY, &self.output_name())?;
        }
        store.put(WHOLE_KEY, &number_if(admitted.writes_all))?;
        store.put(REPLACES_KEY, &number_if(admitted.replaces_records))
    }

    /// Notes the settings of a run that begins.
    pub(super) fn note(&self, store: &dyn Store) -> Result<(), StoreError> {
        if self.output.is_none() {
            store.put(STDOUT_KEY, "1")?;
        }
        let text = serde_json::to_string(&self.text).map_err(|e| StoreError::Other(e.to_string()))?;
        store.put(TEXT_KEY, &text)
    }
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
    let changes = if way == "--emit all" { "" } else { ", --emit changes writes only new and changed pages" };
    Failure::usage(format!(
        "{news}, so this run would write only a part of the pages: continue with {way}; or {whole}\
         --fresh starts over, another --state-dir starts beside it{changes}"
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
    let shown: [(&str, &dyn std::fmt::Debug); 13] = [
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
        ("output.links", &output.links),
    ];
    shown.into_iter().map(|(key, value)| (key.to_owned(), format!("{value:?}"))).collect()
}
