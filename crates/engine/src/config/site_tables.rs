//! Errors in the tables `[[site]]` of a settings file, each with its line.

use super::{
    ConfigError, SITES, SourceFile, nearest,
    site::{self, SiteSection},
};
use serde::Deserialize as _;
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

/// The errors of all tables, in the order of the file. Other values than tables have none here.
pub(super) fn faults(file: &SourceFile, body: &Spanned<DeValue<'_>>, values: &Value) -> Vec<ConfigError> {
    let (Some(tables), Value::Array(values)) = (body.get_ref().as_array(), values) else { return Vec::new() };
    let mut faults = Vec::new();
    for (table, values) in tables.iter().zip(values) {
        let (Some(keys), Some(values)) = (table.get_ref().as_table(), values.as_table()) else { continue };
        let before = faults.len();
        of_keys(file, keys, values, &mut faults);
        // keys that are right by themselves may contradict each other
        if faults.len() == before
            && let Err(error) = SiteSection::deserialize(Value::Table(values.clone()))
        {
            faults.push(file.fault(Some(table.span().start), SITES, error.message().to_owned(), None));
        }
    }
    faults
}

/// The errors of the keys of one table.
fn of_keys(file: &SourceFile, keys: &DeTable<'_>, values: &Table, faults: &mut Vec<ConfigError>) {
    let mut keys: Vec<_> = keys.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    for (key, _) in keys {
        let (name, at) = (key.get_ref().as_ref(), Some(key.span().start));
        let full = format!("{SITES}.{name}");
        let Some(value) = values.get(name) else { continue };
        if !site::is_key(name) {
            let meant = nearest(name, site::KEYS.iter().copied());
            faults.push(file.fault(at, &full, "unknown key".to_owned(), meant));
            continue;
        }
        let mut alone = Table::new();
        alone.insert("match".to_owned(), "*".into());
        alone.insert(name.to_owned(), value.clone());
        if let Err(error) = SiteSection::deserialize(Value::Table(alone)) {
            let problem = error.message().trim_start_matches(&format!("{name}: ")).to_owned();
            faults.push(file.fault(at, &full, problem, None));
        }
    }
}
