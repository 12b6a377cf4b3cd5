//! Rules as data: embedded at build time, parsed once, unknown keys refused.

use serde::de::DeserializeOwned;

/// Parses an embedded file of `config/rules`. A test parses each of them, so a fault cannot reach a user. If
/// it did, the rule set would be empty instead of ending the crawl.
pub(crate) fn embedded<T: DeserializeOwned + Default>(name: &str, text: &str) -> T {
    parse(name, text).unwrap_or_else(|error| {
        debug_assert!(false, "{error}");
        tracing::error!("{error}");
        T::default()
    })
}

/// Parses a rule file.
///
/// # Errors
/// A message that names the file, the position and the key.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| format!("config/rules/{name}: {error}"))
}
