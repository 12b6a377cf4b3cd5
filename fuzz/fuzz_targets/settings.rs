//! Settings files.
#![no_main]

use crawl_engine::config;
use crawl_fuzz::{Scratch, in_linear_time};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FILE: LazyLock<Scratch> = LazyLock::new(|| Scratch::new("toml"));

fuzz_target!(|data: &[u8]| {
    let path = FILE.write(data);
    let load = || config::load(Some(path), std::iter::empty(), Vec::new());
    let loaded = in_linear_time(data.len() + config::DEFAULTS.len(), load);
    assert_eq!(format!("{loaded:?}"), format!("{:?}", load()));
    let Err(errors) = loaded else { return };
    assert!(!errors.shown.is_empty());
    for error in &errors.shown {
        assert!(!error.to_string().contains(['\n', '\r']), "one line an error: {error:?}");
    }
});
