//! Rules that are data: embedded at build time, parsed once, unknown keys refused.

use serde::de::DeserializeOwned;

/// Parses one of the embedded files of `config/rules`. The file is part of the program and a test parses every one,
/// so a fault in it cannot reach a user; should it all the same, the rule set is empty rather than the crawl dead.
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
/// A message that names the file, the place and the key.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| format!("config/rules/{name}: {error}"))
}
