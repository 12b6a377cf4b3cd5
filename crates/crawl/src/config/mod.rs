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
/// The first unknown or ill-typed key, with its place.
pub fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    flags: Vec<Override>,
) -> Result<Config, ConfigError> {
    let defaults: Table = DEFAULTS.parse().map_err(|e| broken_defaults(&format!("{e}")))?;
    let mut merged = defaults.clone();
    if let Some(path) = file {
        merge_file(&mut merged, &defaults, path)?;
    }
    let mut variables: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    variables.sort();
    for (name, text) in variables {
        let (section, key) = variable_key(&defaults, &name)?;
        let value = parse_like(&defaults[&section][&key], &text);
        set(&mut merged, &section, &key, value, &name)?;
    }
    for Override { flag, key, value } in flags {
        let (section, key) = key.split_once('.').ok_or_else(|| broken_defaults(key))?;
        set(&mut merged, section, key, value, flag)?;
    }
    read(merged, "settings")
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

/// Sets one key and reads the whole once, so that an ill-typed value is reported with the place it came from.
fn set(merged: &mut Table, section: &str, key: &str, value: Value, place: &str) -> Result<(), ConfigError> {
    if let Some(Value::Table(table)) = merged.get_mut(section) {
        table.insert(key.to_owned(), value);
    }
    read(merged.clone(), place).map(drop)
}

fn merge_file(merged: &mut Table, defaults: &Table, path: &Path) -> Result<(), ConfigError> {
    let at = |line: Option<usize>| match line {
        Some(line) => format!("{}:{line}", path.display()),
        None => path.display().to_string(),
    };
    let fail = |line, key: &str, problem: String, nearest| ConfigError {
        place: at(line),
        key: key.to_owned(),
        problem,
        nearest,
    };
    let text =
        std::fs::read_to_string(path).map_err(|e| fail(None, "", format!("cannot be read: {e}"), None))?;
    let line_of = |offset: usize| Some(text[..offset.min(text.len())].matches('\n').count() + 1);
    let document = DeTable::parse(&text)
        .map_err(|e| fail(e.span().and_then(|s| line_of(s.start)), "", e.message().to_owned(), None))?;
    let values: Table = text.parse().map_err(|e| fail(None, "", format!("{e}"), None))?;
    for (section, body) in document.get_ref() {
        let (name, line) = (section.get_ref().as_ref(), line_of(section.span().start));
        let Some(Value::Table(known)) = defaults.get(name) else {
            let nearest = nearest(name, defaults.keys());
            return Err(fail(line, name, "unknown section".into(), nearest));
        };
        let Some(keys) = body.get_ref().as_table() else {
            return Err(fail(line, name, "is a section, not a value".into(), None));
        };
        for key in keys.keys() {
            let line = line_of(key.span().start);
            let key = key.get_ref().as_ref();
            let dotted = format!("{name}.{key}");
            if !known.contains_key(key) {
                return Err(fail(line, &dotted, "unknown key".into(), nearest(key, known.keys())));
            }
            set(merged, name, key, values[name][key].clone(), &at(line))?;
        }
    }
    Ok(())
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
