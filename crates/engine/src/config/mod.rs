//! Settings: one file holds every default, and a value comes from the last of default, file, environment, flag.
//!
//! The sources are merged as TOML tables and deserialised once. There is no default in code: if the file and
//! the types differ, the first start fails (and the tests).

mod ages;
mod auth;
mod builder;
mod effective;
mod error;
mod http;
mod moved;
mod nearest;
mod notify;
mod output;
mod quality;
mod sections;
mod shared;
mod site;
mod site_tables;
mod traps;
mod values;

pub use auth::AuthEntry;
pub(crate) use auth::is_pipe;
pub use builder::ConfigBuilder;
pub use effective::{Effective, SettingValue};
pub use error::{ConfigError, ConfigErrors};
pub use moved::is_former_key;
pub use nearest::{is_misspelled, nearest};
pub use notify::{NotifyEvent, NotifySection};
pub use sections::*;
pub use site::{IS_RECORD, SiteSection, parse_seed_object};
pub use values::Limit;

use crate::text_file;
use std::{collections::BTreeMap, io::Read, path::Path};
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

/// The text of `config/crawl.toml`.
pub const DEFAULTS: &str = include_str!("../../../../config/crawl.toml");

/// Bytes of a settings file.
const MAX_FILE: u64 = 4 << 20;

/// A setting given by a flag. It may be a secret, and cannot be printed.
#[derive(Clone)]
#[non_exhaustive]
pub struct Override {
    /// The flag as typed, for messages.
    pub flag: &'static str,
    /// `section.key`.
    pub key: &'static str,
    /// The value.
    pub value: Value,
}

impl Override {
    /// Setting `section.key` from a flag. Messages name the flag.
    #[must_use]
    pub fn new(flag: &'static str, key: &'static str, value: impl Into<Value>) -> Self {
        Self { flag, key, value: value.into() }
    }
}

impl Config {
    /// Builder of settings that differ from the defaults.
    #[must_use]
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// The defaults of `config/crawl.toml`.
    ///
    /// # Errors
    /// When the file is broken, which the tests of this crate rule out.
    pub fn defaults() -> Result<Self, ConfigErrors> {
        load(None, std::iter::empty(), Vec::new())
    }
}

/// Merges defaults, the file, `CRAWL_*` variables and flags.
///
/// # Errors
/// Every unknown or ill-typed key, each with its place.
pub fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    flags: Vec<Override>,
) -> Result<Config, ConfigErrors> {
    load_with_sources(file, environment, flags).map(|effective| effective.config)
}

/// Merges defaults, the file, `CRAWL_*` variables and flags, and keeps the source of each value.
///
/// # Errors
/// Every unknown or ill-typed key, each with its place.
pub fn load_with_sources(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    flags: Vec<Override>,
) -> Result<Effective, ConfigErrors> {
    let defaults: Table =
        DEFAULTS.parse().map_err(|e| ConfigErrors::one(broken_defaults(&format!("{e}"))))?;
    let mut merge = Merge {
        merged: defaults.clone(),
        defaults,
        sites: None,
        places: BTreeMap::new(),
        faults: ConfigErrors::default(),
    };
    if let Some(path) = file {
        merge.file(path);
    }
    let mut variables: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    variables.sort();
    for (name, text) in variables {
        match variable_key(&merge.defaults, &name) {
            Ok((section, key, default)) => {
                let value = parse_like(&default, &text);
                merge.set(&section, &key, value, &name);
            }
            Err(fault) => merge.faults.add(|| fault),
        }
    }
    for Override { flag, key, value } in flags {
        match (moved::place_of(key), key.rsplit_once('.')) {
            (Some(now), _) => merge.faults.add(|| fault(flag, key, now.problem())),
            (None, Some((section, key))) => merge.flag(section, key, value, flag),
            (None, None) => merge.faults.add(|| fault(flag, key, "unknown key".into())),
        }
    }
    if let Some(tables) = merge.sites {
        merge.merged.insert(SITES.to_owned(), tables);
    }
    let shared = shared::of(&merge.merged);
    if ages::is_one_given(&merge.places)
        && let Ok(config) = read(merge.merged.clone(), "settings")
    {
        ages::follow(&config, &merge.places, &mut merge.merged);
    }
    let config = read(merge.merged.clone(), "settings").map(|config| Config { shared, ..config });
    if let (Ok(config), true) = (&config, merge.faults.shown.is_empty()) {
        ages::check(config, &merge.places, &merge.merged, &mut merge.faults);
    }
    match config {
        Ok(config) if merge.faults.shown.is_empty() => Ok(Effective {
            config,
            values: effective::values(&merge.merged, &merge.places),
            sites: effective::sites(&merge.merged, &merge.places),
        }),
        Ok(_) => Err(merge.faults),
        Err(fault) => {
            merge.faults.add(|| fault);
            Err(merge.faults)
        }
    }
}

/// The `CRAWL_*` variables of the process.
///
/// # Errors
/// When one of them is not text.
pub fn environment() -> Result<impl Iterator<Item = (String, String)>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)).map(str::to_owned) else {
            continue;
        };
        let Ok(value) = value.into_string() else {
            return Err(fault("environment", &name, "is not valid UTF-8".into()));
        };
        found.push((name, value));
    }
    Ok(found.into_iter())
}

/// Name of the tables of sites.
const SITES: &str = "site";

const PREFIX: &str = "CRAWL_";

fn broken_defaults(problem: &str) -> ConfigError {
    fault("config/crawl.toml", "", problem.to_owned())
}

/// A fault without a nearest name.
fn fault(place: &str, key: &str, problem: String) -> ConfigError {
    ConfigError { place: place.to_owned(), key: key.to_owned(), problem, nearest: None }
}

fn read(table: Table, place: &str) -> Result<Config, ConfigError> {
    #[cfg(test)]
    tests::note_read(&table);
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|e| {
        let problem = without_path(&e.inner().to_string());
        let (problem, nearest) = nearest::of_unknown_word(&problem).unwrap_or((problem, None));
        ConfigError { place: place.to_owned(), key: e.path().to_string(), problem, nearest }
    })
}

/// Returns the parser's message without the line that names the key again.
fn without_path(problem: &str) -> String {
    let lines: Vec<&str> = problem.trim().lines().filter(|line| !line.starts_with("in `")).collect();
    lines.join("\n")
}

/// The settings while sources are merged, and their faults. A faulty value is left as it was, so that one run
/// reports all.
struct Merge {
    defaults: Table,
    /// All settings but the tables of sites.
    merged: Table,
    /// The tables of sites. There may be thousands, and each key that is set is checked by reading `merged`.
    sites: Option<Value>,
    /// Source of each setting that is not the default.
    places: BTreeMap<String, String>,
    faults: ConfigErrors,
}

impl Merge {
    /// Sets one key and reads the whole once, so that an ill-typed value is reported with the place it came from.
    fn set(&mut self, section: &str, key: &str, value: Value, place: &str) {
        let Some(table) = section_mut(&mut self.merged, section) else { return };
        let before = table.insert(key.to_owned(), value);
        let Err(fault) = read(self.merged.clone(), place) else {
            self.places.insert(format!("{section}.{key}"), place.to_owned());
            return;
        };
        self.faults.add(|| fault);
        if let (Some(table), Some(before)) = (section_mut(&mut self.merged, section), before) {
            table.insert(key.to_owned(), before);
        }
    }

    /// Sets the key that a flag or a program names.
    fn flag(&mut self, section: &str, key: &str, value: Value, place: &str) {
        let known = section_of(&self.defaults, section);
        if known.is_some_and(|known| known.contains_key(key)) {
            return self.set(section, key, value, place);
        }
        let nearest =
            known.map_or_else(|| nearest(section, self.defaults.keys()), |known| nearest(key, known.keys()));
        self.faults.add(|| ConfigError {
            nearest,
            ..fault(place, &format!("{section}.{key}"), "unknown key".into())
        });
    }

    /// Merges a file into the settings.
    fn file(&mut self, path: &Path) {
        let shown = path.display().to_string();
        let text = match read_file(path) {
            Ok(text) => text,
            Err(problem) => {
                let file = SourceFile { shown, text: String::new() };
                return self.faults.add(|| file.fault(None, "", problem, None));
            }
        };
        let file = SourceFile { shown, text };
        let (document, values) = match (DeTable::parse(&file.text), file.text.parse::<Table>()) {
            (Ok(document), Ok(values)) => (document, values),
            (Err(e), _) => {
                let at = e.span().map(|span| span.start);
                return self.faults.add(|| file.fault(at, "", text_file::toml_problem(e.message()), None));
            }
            (_, Err(e)) => return self.faults.add(|| file.fault(None, "", format!("{e}"), None)),
        };
        // in the order of the file, which a table does not keep
        let mut sections: Vec<_> = document.get_ref().iter().collect();
        sections.sort_by_key(|(name, _)| name.span().start);
        for (section, body) in sections {
            let (name, at) = (section.get_ref().as_ref(), Some(section.span().start));
            if name == SITES {
                if let Some(tables) = values.get(name) {
                    self.sites(&file, body, tables);
                }
                continue;
            }
            if moved::is_section(name) && !self.defaults.contains_key(name) {
                self.moved_section(&file, name, body, at);
                continue;
            }
            if !self.defaults.get(name).is_some_and(Value::is_table) {
                let section = self.section_of(name).filter(|_| body.get_ref().as_table().is_none());
                self.faults.add(|| match section {
                    Some(section) => {
                        let problem = format!("a key of the section [{section}]: write it below that line");
                        file.fault(at, name, problem, None)
                    }
                    None => {
                        file.fault(at, name, "unknown section".into(), nearest(name, self.defaults.keys()))
                    }
                });
                continue;
            }
            match (body.get_ref().as_table(), values.get(name).and_then(Value::as_table)) {
                (Some(keys), Some(values)) => self.section(&file, name, keys, values),
                _ => self.faults.add(|| file.fault(at, name, "is a section, not a value".into(), None)),
            }
        }
    }

    /// The section that has a key of this name, if it is the only one.
    fn section_of(&self, key: &str) -> Option<String> {
        let has = |section: &&String| {
            self.defaults
                .get(section.as_str())
                .and_then(Value::as_table)
                .is_some_and(|keys| keys.contains_key(key))
        };
        let mut sections = self.defaults.keys().filter(has);
        sections.next().filter(|_| sections.next().is_none()).cloned()
    }

    /// Takes the tables of sites, which have no defaults.
    fn sites(&mut self, file: &SourceFile, body: &Spanned<DeValue<'_>>, tables: &Value) {
        let faults = site_tables::faults(file, body, tables);
        if !faults.is_empty() {
            return faults.into_iter().for_each(|fault| self.faults.add(|| fault));
        }
        let place = file.place(Some(body.span().start));
        let mut all = self.merged.clone();
        all.insert(SITES.to_owned(), tables.clone());
        match read(all, &place) {
            Err(fault) => self.faults.add(|| fault),
            Ok(_) => {
                self.places.insert(SITES.to_owned(), place);
                self.sites = Some(tables.clone());
            }
        }
    }

    /// Merges a section of a file, and the sections in it.
    fn section(&mut self, file: &SourceFile, section: &str, keys: &DeTable<'_>, values: &Table) {
        let Some(known) = section_of(&self.defaults, section).cloned() else { return };
        let mut keys: Vec<_> = keys.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, body) in keys {
            let (name, at) = (key.get_ref().as_ref(), Some(key.span().start));
            let full = format!("{section}.{name}");
            match (known.get(name), values.get(name)) {
                (Some(Value::Table(_)), Some(Value::Table(values))) => {
                    if let Some(keys) = body.get_ref().as_table() {
                        self.section(file, &full, keys, values);
                    }
                }
                (Some(Value::Table(_)), _) => {
                    self.faults.add(|| file.fault(at, &full, "is a section, not a value".into(), None));
                }
                (Some(_), Some(value)) => self.set(section, name, value.clone(), &file.place(at)),
                _ if moved::is_section(&full) => self.moved_section(file, &full, body, at),
                _ => self.unknown_key(file, &full, at, &known),
            }
        }
    }

    /// Reports the keys of a section that the settings no longer have.
    fn moved_section(
        &mut self,
        file: &SourceFile,
        section: &str,
        body: &Spanned<DeValue<'_>>,
        at: Option<usize>,
    ) {
        let mut keys: Vec<_> = body.get_ref().as_table().into_iter().flat_map(DeTable::iter).collect();
        if keys.is_empty() {
            return self.faults.add(|| file.fault(at, section, "the section was removed".into(), None));
        }
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, _) in keys {
            let full = format!("{section}.{}", key.get_ref());
            self.unknown_key(file, &full, Some(key.span().start), &Table::new());
        }
    }

    /// Reports a key that is no setting: it was moved, or does not exist.
    fn unknown_key(&mut self, file: &SourceFile, full: &str, at: Option<usize>, known: &Table) {
        let name = full.rsplit('.').next().unwrap_or(full);
        let elsewhere = self.section_of(name).map(|section| format!("{section}.{name}"));
        self.faults.add(|| match moved::place_of(full) {
            Some(now) => file.fault(at, full, now.problem(), None),
            None => {
                let meant = nearest(name, known.keys()).or(elsewhere);
                file.fault(at, full, "unknown key".into(), meant)
            }
        });
    }
}

/// Reads a settings file of bounded size.
fn read_file(path: &Path) -> Result<String, String> {
    let unread = |e: std::io::Error| format!("cannot be read: {e}");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unread)?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("is larger than {} MiB, too large for a settings file", MAX_FILE >> 20));
    }
    String::from_utf8(bytes).map_err(|e| text_file::wrong_encoding(e.as_bytes()).to_owned())
}

/// A settings file, for messages about it.
struct SourceFile {
    shown: String,
    text: String,
}

impl SourceFile {
    /// The file, with the line of a byte.
    fn place(&self, at: Option<usize>) -> String {
        let line = at.map(|at| self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1);
        line.map_or_else(|| self.shown.clone(), |line| format!("{}:{line}", self.shown))
    }

    fn fault(&self, at: Option<usize>, key: &str, problem: String, nearest: Option<String>) -> ConfigError {
        ConfigError { place: self.place(at), key: key.to_owned(), problem, nearest }
    }
}

/// A section by its name; that of a section in a section is `outer.inner`.
fn section_of<'t>(table: &'t Table, section: &str) -> Option<&'t Table> {
    section.split('.').try_fold(table, |table, name| table.get(name)?.as_table())
}

fn section_mut<'t>(table: &'t mut Table, section: &str) -> Option<&'t mut Table> {
    section.split('.').try_fold(table, |table, name| table.get_mut(name)?.as_table_mut())
}

/// Section, key and default of every setting below a section.
fn settings_of<'t>(table: &'t Table, section: &str, out: &mut Vec<(String, &'t str, &'t Value)>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) if section.is_empty() => settings_of(inner, key, out),
            Value::Table(inner) => settings_of(inner, &format!("{section}.{key}"), out),
            value => out.push((section.to_owned(), key, value)),
        }
    }
}

/// Name of the variable that sets a key.
fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_")).to_uppercase()
}

/// The section, key and default that a variable is about.
fn variable_key(defaults: &Table, name: &str) -> Result<(String, String, Value), ConfigError> {
    let mut settings = Vec::new();
    settings_of(defaults, "", &mut settings);
    let variable = |section: &str, key: &str| variable_of(&format!("{section}.{key}"));
    if let Some((section, key, default)) =
        settings.iter().find(|(section, key, _)| variable(section, key) == name)
    {
        return Ok((section.clone(), (*key).to_owned(), (*default).clone()));
    }
    if let Some((_, now)) = moved::key_of_variable(name) {
        return Err(fault("environment", name, now.problem_of_variable()));
    }
    let all: Vec<String> = settings.iter().map(|(section, key, _)| variable(section, key)).collect();
    Err(ConfigError {
        place: "environment".into(),
        key: name.to_owned(),
        problem: "unknown variable".into(),
        nearest: nearest(name, all.iter()).or_else(|| without_section(name, &settings)),
    })
}

/// The variable that was meant, if its section was left out and only one section has the key.
fn without_section(name: &str, settings: &[(String, &str, &Value)]) -> Option<String> {
    let given = name.strip_prefix(PREFIX)?;
    let mut meant = settings.iter().filter(|(_, key, _)| key.eq_ignore_ascii_case(given));
    let (section, key, _) = meant.next().filter(|_| meant.next().is_none())?;
    Some(variable_of(&format!("{section}.{key}")))
}

/// A variable's text as the type that the default has; lists are written as in TOML, or separated by commas.
fn parse_like(default: &Value, text: &str) -> Value {
    let as_toml = || format!("v = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("v"));
    match default {
        // a number, or the word for no limit
        Value::Array(items) if items.iter().any(|item| item.is_integer() || item.is_array()) => {
            as_toml().unwrap_or_else(|| text.into())
        }
        Value::Array(_) => as_toml().filter(Value::is_array).unwrap_or_else(|| {
            Value::Array(text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(Value::from).collect())
        }),
        // a limit's default is a word, its value usually a number
        Value::String(word) if word == "unlimited" => as_toml().unwrap_or_else(|| text.into()),
        Value::String(_) => text.into(),
        _ => as_toml().unwrap_or_else(|| text.into()),
    }
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
