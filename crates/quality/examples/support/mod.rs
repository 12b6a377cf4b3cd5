//! Settings and checker with the defaults of `config/crawl.toml`, for examples and benches.

#![allow(clippy::unwrap_used, reason = "examples and benches fail where they stand")]

use crawl_quality::{Checker, LineRules, Settings};
use serde::de::DeserializeOwned;

fn read<T: DeserializeOwned>(table: &toml::Table, key: &str) -> T {
    table[key].clone().try_into().unwrap()
}

/// The settings.
pub fn settings() -> Settings {
    let config: toml::Table = include_str!("../../../../config/crawl.toml").parse().unwrap();
    let quality = config["quality"].as_table().unwrap();
    Settings {
        sets: read(quality, "sets"),
        text: read(quality, "text"),
        gopher_repetition: read(quality, "gopher_repetition"),
        gopher_quality: read(quality, "gopher_quality"),
        c4: read(quality, "c4"),
        fineweb: read(quality, "fineweb"),
    }
}

/// A checker with them.
#[allow(dead_code, reason = "not every example wants all sets")]
pub fn checker() -> Checker {
    Checker::new(settings(), LineRules::built_in().unwrap()).unwrap()
}
