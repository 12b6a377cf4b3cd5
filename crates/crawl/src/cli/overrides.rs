//! Flags as settings.

use crawl_engine::config::Override;
use std::path::PathBuf;
use toml::Value;

/// Settings that flags give, in order.
pub(super) struct Overrides(pub(super) Vec<Override>);

impl Overrides {
    pub(super) fn set(&mut self, flag: &'static str, key: &'static str, value: impl Into<Value>) {
        self.0.push(Override::new(flag, key, value));
    }

    pub(super) fn text(&mut self, flag: &'static str, key: &'static str, value: Option<&String>) {
        if let Some(value) = value {
            self.set(flag, key, value.as_str());
        }
    }

    pub(super) fn path(&mut self, flag: &'static str, key: &'static str, value: Option<&PathBuf>) {
        if let Some(value) = value {
            self.set(flag, key, value.to_string_lossy().into_owned());
        }
    }

    /// Sets the path of an output; `-` is standard output, as without a path.
    pub(super) fn output(&mut self, flag: &'static str, key: &'static str, value: Option<&PathBuf>) {
        match value {
            Some(path) if path.as_os_str() == "-" => self.set(flag, key, ""),
            path => self.path(flag, key, path),
        }
    }

    pub(super) fn number(&mut self, flag: &'static str, key: &'static str, value: Option<u32>) {
        if let Some(value) = value {
            self.set(flag, key, i64::from(value));
        }
    }

    pub(super) fn share(&mut self, flag: &'static str, key: &'static str, value: Option<f64>) {
        if let Some(value) = value {
            self.set(flag, key, value);
        }
    }

    /// A number, or a word that the setting explains when it refuses it.
    pub(super) fn limit(&mut self, flag: &'static str, key: &'static str, value: Option<&String>) {
        if let Some(value) = value {
            self.set(
                flag,
                key,
                value.parse::<i64>().map_or_else(|_| Value::from(value.as_str()), Value::from),
            );
        }
    }

    pub(super) fn list(&mut self, flag: &'static str, key: &'static str, values: &[String]) {
        if !values.is_empty() {
            self.set(flag, key, Value::Array(values.iter().map(|v| Value::from(v.as_str())).collect()));
        }
    }

    pub(super) fn switch(&mut self, flag: &'static str, key: &'static str, given: bool, value: bool) {
        if given {
            self.set(flag, key, value);
        }
    }
}
