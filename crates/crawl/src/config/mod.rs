//! Settings: one file holds every default, and a value comes from the last of default, file, environment, flag.
//!
//! The sources are merged as TOML tables and deserialised once; there is no default in code, so the file and the
//! types cannot drift apart without an error at the first start (and in the tests).

mod http;
mod sections;
mod values;

pub use http::AuthEntry;
pub use sections::*;
pub use values::{Limit, Secret};

use std::{
    fmt::{self, Display},
    path::Path,
};
use toml::{Table, Value, de::DeTable};

/// The text of `config/crawl.toml`.
pub const DEFAULTS: &str = include_str!("../../../../config/crawl.toml");

/// What is wrong with the settings: where, which key, why, and what was perhaps meant.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// File with line, variable or flag.
    pub place: String,
    /// `section.key`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// The nearest known key.
    pub nearest: Option<String>,
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is wrong with the settings, one line each; never empty.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            let gap = if number == 0 { "" } else { "\n" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// A setting given by a flag.
#[derive(Clone, Debug)]
pub struct Override {
    /// The flag as typed, for messages.
    pub flag: &'static str,
    /// `section.key`.
    pub key: &'static str,
    /// The value.
    pub value: Value,
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
    let defaults: Table =
        DEFAULTS.parse().map_err(|e| ConfigErrors(vec![broken_defaults(&format!("{e}"))]))?;
    let mut merge = Merge { merged: defaults.clone(), defaults, faults: Vec::new() };
    if let Some(path) = file {
        merge.file(path);
    }
    let mut variables: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    variables.sort();
    for (name, text) in variables {
        match variable_key(&merge.defaults, &name) {
            Ok((section, key)) => {
                let value = parse_like(&merge.defaults[&section][&key], &text);
                merge.set(&section, &key, value, &name);
            }
            Err(fault) => merge.faults.push(fault),
        }
    }
    for Override { flag, key, value } in flags {
        match key.split_once('.') {
            Some((section, key)) => merge.set(section, key, value, flag),
            None => merge.faults.push(broken_defaults(key)),
        }
    }
    let config = read(merge.merged, "settings");
    match config {
        Ok(config) if merge.faults.is_empty() => Ok(config),
        Ok(_) => Err(ConfigErrors(merge.faults)),
        Err(fault) => {
            merge.faults.push(fault);
            Err(ConfigErrors(merge.faults))
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
            let (place, problem) = ("environment".into(), "is not valid UTF-8".into());
            return Err(ConfigError { place, key: name, problem, nearest: None });
        };
        found.push((name, value));
    }
    Ok(found.into_iter())
}

const PREFIX: &str = "CRAWL_";

fn broken_defaults(problem: &str) -> ConfigError {
    ConfigError {
        place: "config/crawl.toml".into(),
        key: String::new(),
        problem: problem.to_owned(),
        nearest: None,
    }
}

fn read(table: Table, place: &str) -> Result<Config, ConfigError> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|e| ConfigError {
        place: place.to_owned(),
        key: e.path().to_string(),
        problem: without_path(&e.inner().to_string()),
        nearest: None,
    })
}

/// What the parser says, less the line in which it names the key once more.
fn without_path(problem: &str) -> String {
    let lines: Vec<&str> = problem.trim().lines().filter(|line| !line.starts_with("in `")).collect();
    lines.join("\n")
}

/// The settings while sources are laid over each other, and what was wrong with them. What is faulty is left as it was, so
/// that one run tells all.
struct Merge {
    defaults: Table,
    merged: Table,
    faults: Vec<ConfigError>,
}

impl Merge {
    /// Sets one key and reads the whole once, so that an ill-typed value is reported with the place it came from.
    fn set(&mut self, section: &str, key: &str, value: Value, place: &str) {
        let Some(Value::Table(table)) = self.merged.get_mut(section) else { return };
        let before = table.insert(key.to_owned(), value);
        let Err(fault) = read(self.merged.clone(), place) else { return };
        self.faults.push(fault);
        if let (Some(Value::Table(table)), Some(before)) = (self.merged.get_mut(section), before) {
            table.insert(key.to_owned(), before);
        }
    }

    /// Lays a file over what there is.
    fn file(&mut self, path: &Path) {
        let shown = path.display();
        let fault = |line: Option<usize>, key: &str, problem: String, nearest| ConfigError {
            place: line.map_or_else(|| shown.to_string(), |line| format!("{shown}:{line}")),
            key: key.to_owned(),
            problem,
            nearest,
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) => return self.faults.push(fault(None, "", format!("cannot be read: {e}"), None)),
        };
        let line_of = |offset: usize| Some(text[..offset.min(text.len())].matches('\n').count() + 1);
        let (document, values) = match (DeTable::parse(&text), text.parse::<Table>()) {
            (Ok(document), Ok(values)) => (document, values),
            (Err(e), _) => {
                let line = e.span().and_then(|span| line_of(span.start));
                return self.faults.push(fault(line, "", e.message().to_owned(), None));
            }
            (_, Err(e)) => return self.faults.push(fault(None, "", format!("{e}"), None)),
        };
        // in the order of the file, which a table does not keep
        let mut sections: Vec<_> = document.get_ref().iter().collect();
        sections.sort_by_key(|(name, _)| name.span().start);
        for (section, body) in sections {
            let (name, line) = (section.get_ref().as_ref(), line_of(section.span().start));
            let Some(Value::Table(known)) = self.defaults.get(name) else {
                let nearest = nearest(name, self.defaults.keys());
                self.faults.push(fault(line, name, "unknown section".into(), nearest));
                continue;
            };
            let Some(keys) = body.get_ref().as_table() else {
                self.faults.push(fault(line, name, "is a section, not a value".into(), None));
                continue;
            };
            let known: Vec<String> = known.keys().cloned().collect();
            let mut keys: Vec<_> = keys.keys().collect();
            keys.sort_by_key(|key| key.span().start);
            for key in keys {
                let line = line_of(key.span().start);
                let key = key.get_ref().as_ref();
                if known.iter().any(|name| name == key) {
                    let place = fault(line, "", String::new(), None).place;
                    self.set(name, key, values[name][key].clone(), &place);
                } else {
                    let nearest = nearest(key, known.iter());
                    self.faults.push(fault(line, &format!("{name}.{key}"), "unknown key".into(), nearest));
                }
            }
        }
    }
}

fn variable_key(defaults: &Table, name: &str) -> Result<(String, String), ConfigError> {
    let all: Vec<(String, String, String)> = defaults
        .iter()
        .filter_map(|(section, body)| body.as_table().map(|t| (section, t)))
        .flat_map(|(section, table)| {
            table.keys().map(move |key| {
                (
                    format!("{PREFIX}{}_{}", section.to_uppercase(), key.to_uppercase()),
                    section.clone(),
                    key.clone(),
                )
            })
        })
        .collect();
    match all.iter().find(|(variable, ..)| variable == name) {
        Some((_, section, key)) => Ok((section.clone(), key.clone())),
        None => Err(ConfigError {
            place: "environment".into(),
            key: name.to_owned(),
            problem: "unknown variable".into(),
            nearest: nearest(name, all.iter().map(|(variable, ..)| variable)),
        }),
    }
}

/// A variable's text as the type that the default has; lists are written as in TOML, or separated by commas.
fn parse_like(default: &Value, text: &str) -> Value {
    let as_toml = || format!("v = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("v"));
    match default {
        // numbers, or a word that says there is no limit
        Value::Array(items) if items.iter().any(Value::is_integer) => {
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

fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    known
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests;
