//! `crawl config` and `crawl check config`: effective settings, defaults, and errors in a settings file.

use super::write_out;
use crate::cli::ConfigArgs;
use crawl_engine::{
    config::{self, DEFAULTS, Effective},
    exit::{Exit, Failure},
    session::check_settings,
};
use std::path::Path;

pub fn run(args: &ConfigArgs) -> Result<Exit, Failure> {
    let text = if args.is_default {
        DEFAULTS.to_owned()
    } else {
        let file = args.run.config.as_deref();
        config::load_with_sources(file, config::environment()?, args.run.overrides())?.to_string()
    };
    write_out(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Checks a settings file alone, without variables and flags. Returns the number of its settings in words.
pub fn check(file: Option<&Path>) -> Result<String, Failure> {
    let file = file.ok_or_else(|| Failure::usage("name a file: crawl check config crawl.toml"))?;
    let Effective { config, values, .. } =
        config::load_with_sources(Some(file), std::iter::empty(), Vec::new())?;
    check_settings(&config)?;
    let set = values.iter().filter(|value| value.place.is_some()).count();
    let all = values.len();
    Ok(format!("{}: no errors; {set} of {all} settings are set\n", file.display()))
}
