//! Reading of one rules file: the built-in one merged with the user's, with file, line and key for every
//! fault.

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use std::path::Path;
use toml::{
    Table, Value,
    de::{DeTable, DeValue},
};

/// Element of a user's list that inserts the built-in list.
const BUILT_IN: &str = "...";
/// Maximum reported faults of one file.
const MAX_FAULTS: usize = 50;

/// A rules file: the built-in entries, merged with the user's.
pub(super) struct Source {
    /// Name of the file, or path of the user's.
    place: String,
    /// Text for line numbers.
    text: String,
    built_in: Table,
    merged: Table,
    /// Invalid list elements that were removed, by their written position.
    taken: Vec<Vec<Step>>,
}

impl Source {
    /// Reads the user's file of a name, if there is one.
    pub(super) fn read(
        (name, embedded): (&str, &str),
        overlay: Option<&Path>,
        problems: &mut Vec<String>,
    ) -> Option<Self> {
        let built_in = parse(name, embedded, problems)?;
        let mut source = Self {
            place: name.to_owned(),
            text: embedded.to_owned(),
            merged: built_in.clone(),
            built_in,
            taken: Vec::new(),
        };
        let Some(path) = overlay.map(|dir| dir.join(name)).filter(|path| path.exists()) else {
            return Some(source);
        };
        let place = path.display().to_string();
        // If the user's file is unreadable, the built-in one replaces it, to find faults in the others.
        match std::fs::read_to_string(&path) {
            Err(error) => problems.push(format!("{place}: {error}")),
            Ok(text) => {
                if let Some(own) = parse(&place, &text, problems) {
                    merge_tables(&mut source.merged, own);
                    source.place = place;
                    source.text = text;
                }
            }
        }
        Some(source)
    }

    /// Deserialises the rules and reports every fault. Each invalid entry is removed and the rest read again.
    /// So there may be rules as well as faults; they only serve to find more faults.
    pub(super) fn rules<T: DeserializeOwned>(&mut self, problems: &mut Vec<String>) -> Option<T> {
        let mut table = self.merged.clone();
        let mut faults = 0;
        loop {
            let read = serde_path_to_error::deserialize(Value::Table(table.clone()));
            let error = match read {
                Ok(rules) => return Some(rules),
                Err(error) => error,
            };
            let mut steps: Vec<Step> = error.path().iter().map(Step::of).collect();
            let problem = error.inner().message().to_owned();
            let unknown = quoted(&problem, "unknown field `").map(|name| Step::Key(name.to_owned()));
            if let Some(key) = unknown.filter(|key| steps.last() != Some(key)) {
                steps.push(key);
            }
            problems.push(format!("{}: {problem}", self.at(&steps)));
            faults += 1;
            match self.remove_invalid(&mut table, &steps, &problem) {
                Some(entry) if faults < MAX_FAULTS => {
                    let entry = entry.map(|steps| as_written(&steps, &self.taken));
                    self.taken.extend(entry);
                }
                _ => return None,
            }
        }
    }

    /// Position as `file:line: key`, if the key is in the file.
    pub(super) fn at(&self, steps: &[Step]) -> String {
        let steps = &as_written(steps, &self.taken);
        let key = steps.iter().fold(String::new(), |mut key, step| {
            match step {
                Step::Key(name) if key.is_empty() => key.push_str(name),
                Step::Key(name) => key = format!("{key}.{name}"),
                Step::Index(index) => key = format!("{key}[{index}]"),
            }
            key
        });
        let line = self.offset(steps).map(|at| self.text[..at].matches('\n').count() + 1);
        match (line, key.is_empty()) {
            (Some(line), false) => format!("{}:{line}: {key}", self.place),
            (_, true) => self.place.clone(),
            (None, false) => format!("{}: {key}", self.place),
        }
    }

    /// Start of the key, or of its innermost existing parent.
    fn offset(&self, steps: &[Step]) -> Option<usize> {
        let (document, _) = DeTable::parse_recoverable(&self.text);
        let mut found = None;
        let mut table = Some(document.get_ref());
        let mut value: Option<&DeValue<'_>> = None;
        for step in steps {
            let inside = match step {
                Step::Key(name) => {
                    let inside = table.take().or_else(|| value.and_then(DeValue::as_table));
                    let entry = inside.and_then(|t| t.iter().find(|(key, _)| key.get_ref() == name.as_str()));
                    entry.map(|(key, value)| (key.span().start, value.get_ref()))
                }
                Step::Index(index) => value
                    .and_then(DeValue::as_array)
                    .and_then(|list| list.get(*index))
                    .map(|item| (item.span().start, item.get_ref())),
            };
            let Some((at, inner)) = inside else { break };
            found = Some(at.min(self.text.len()));
            value = Some(inner);
        }
        found
    }

    /// Replaces an invalid value by the built-in one, or removes it; none if that is impossible. Returns the
    /// removed list element, if any.
    fn remove_invalid(&self, table: &mut Table, steps: &[Step], problem: &str) -> Option<Option<Vec<Step>>> {
        let missing = quoted(problem, "missing field `");
        let mut steps = steps.to_vec();
        if let Some(name) = missing {
            steps.push(Step::Key(name.to_owned()));
        }
        let (last, above) = steps.split_last()?;
        let built_in = lookup(&self.built_in, &steps).cloned();
        match (last, lookup_mut(table, above)) {
            (Step::Key(name), Some(Nested::Table(inside))) => {
                let now = inside.get(name).cloned();
                match built_in {
                    Some(value) if now.as_ref() != Some(&value) => {
                        inside.insert(name.clone(), value);
                        Some(None)
                    }
                    _ if now.is_some() => inside.remove(name).map(|_| None),
                    // A required key is missing and has no default: the entry is removed.
                    _ => remove_element(table, above).map(Some),
                }
            }
            _ => remove_element(table, &steps).map(Some),
        }
    }
}

/// Text in backticks after a prefix in a message.
fn quoted<'a>(problem: &'a str, start: &str) -> Option<&'a str> {
    problem.strip_prefix(start)?.split('`').next()
}

/// Path with list positions before elements were removed.
fn as_written(steps: &[Step], taken: &[Vec<Step>]) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    for step in steps {
        let Step::Index(mut index) = *step else {
            out.push(step.clone());
            continue;
        };
        let gone = |index: usize| {
            taken
                .iter()
                .any(|t| t.split_last().is_some_and(|(at, list)| *at == Step::Index(index) && *list == *out))
        };
        // The position counts remaining elements; each earlier removed one increases it.
        let mut left = index;
        index = 0;
        loop {
            if !gone(index) {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            index += 1;
        }
        out.push(Step::Index(index));
    }
    out
}

/// Removes the innermost list element on a path, and returns its path.
fn remove_element(table: &mut Table, steps: &[Step]) -> Option<Vec<Step>> {
    let at = steps.iter().rposition(|step| matches!(step, Step::Index(_)))?;
    match (&steps[at], lookup_mut(table, &steps[..at])) {
        (Step::Index(index), Some(Nested::List(list))) if *index < list.len() => {
            list.remove(*index);
            Some(steps[..=at].to_vec())
        }
        _ => None,
    }
}

/// A step of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A key of a table.
    Key(String),
    /// An index in a list, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Step {
    fn of(segment: &Segment) -> Self {
        match segment {
            Segment::Seq { index } => Self::Index(*index),
            Segment::Map { key } => Self::Key(key.clone()),
            Segment::Enum { variant } => Self::Key(variant.clone()),
            Segment::Unknown => Self::Key("?".to_owned()),
        }
    }
}

/// A value that has values of its own.
enum Nested<'a> {
    Table(&'a mut Table),
    List(&'a mut Vec<Value>),
}

fn lookup_mut<'a>(table: &'a mut Table, steps: &[Step]) -> Option<Nested<'a>> {
    let mut place = Nested::Table(table);
    for step in steps {
        let value = match (place, step) {
            (Nested::Table(table), Step::Key(name)) => table.get_mut(name)?,
            (Nested::List(list), Step::Index(index)) => list.get_mut(*index)?,
            _ => return None,
        };
        place = match value {
            Value::Table(table) => Nested::Table(table),
            Value::Array(list) => Nested::List(list),
            _ => return None,
        };
    }
    Some(place)
}

fn lookup<'a>(table: &'a Table, steps: &[Step]) -> Option<&'a Value> {
    let (first, rest) = steps.split_first()?;
    let Step::Key(name) = first else { return None };
    rest.iter().try_fold(table.get(name)?, |value, step| match step {
        Step::Key(name) => value.get(name),
        Step::Index(index) => value.get(*index),
    })
}

/// Reports unknown files in a rules directory: a misspelt name would otherwise be ignored silently.
pub(super) fn report_unknown_files(dir: &Path, known: &[&str], problems: &mut Vec<String>) {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            let remedy = match error.kind() {
                std::io::ErrorKind::NotADirectory => "; name the directory of the file",
                std::io::ErrorKind::NotFound => "; there is no directory of rules",
                _ => "",
            };
            return problems.push(format!("{}: {error}{remedy}", dir.display()));
        }
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let is_rules = |name: &String| {
        Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
            && !known.contains(&name.as_str())
    };
    for name in names.into_iter().filter(is_rules) {
        let path = dir.join(name);
        problems.push(format!("{}: no file of this name is read; {} are", path.display(), known.join(", ")));
    }
}

/// Parses a document; reports every syntax fault.
fn parse(place: &str, text: &str, problems: &mut Vec<String>) -> Option<Table> {
    let (_, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map_or_else(String::new, |line| format!("{line}:"));
        problems.push(format!("{place}:{line} {}", error.message()));
    }
    if errors.is_empty() { text.parse().ok() } else { None }
}

/// Merges the user's table into the built-in one. Values and lists replace the built-in ones; tables are
/// merged key by key. In lists of named entries the user's come first and replace those of the same name. In
/// a list of texts `"..."` inserts the built-in ones.
fn merge_tables(built_in: &mut Table, own: Table) {
    for (key, value) in own {
        match (built_in.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge_tables(below, above),
            (Some(Value::Array(below)), Value::Array(above)) => {
                let merged = merge(below, above);
                *below = merged;
            }
            (_, value) => {
                built_in.insert(key, value);
            }
        }
    }
}

fn merge(built_in: &[Value], own: Vec<Value>) -> Vec<Value> {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    if built_in.iter().all(|entry| name(entry).is_some()) && !built_in.is_empty() {
        let names: Vec<Option<String>> = own.iter().map(name).collect();
        let kept = built_in.iter().filter(|entry| !names.contains(&name(entry)));
        return own.iter().chain(kept).cloned().collect();
    }
    let of = |value: Value| if value.as_str() == Some(BUILT_IN) { built_in.to_vec() } else { vec![value] };
    own.into_iter().flat_map(of).collect()
}
