//! Lines of a seed file.
#![no_main]

use crawl_fetch::{Canonicalizer, Seed, parse_seed_line};
use crawl_fuzz::in_linear_time;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static CANONICALIZER: LazyLock<Canonicalizer> = LazyLock::new(Canonicalizer::default);

fuzz_target!(|data: &[u8]| {
    for line in data.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        let Ok(seed) = in_linear_time(line.len(), || parse_seed_line(&line)) else { continue };
        let url = &seed.url;
        assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{url}");
        assert!(url.username().is_empty() && url.password().is_none(), "{url}");
        // a bare host is tried over https first
        assert!(!seed.bare || url.scheme() == "https", "{url}");
        assert_eq!(parse_seed_line(url.as_str()), Ok(Seed { url: url.clone(), bare: false }));
        let canonical = CANONICALIZER.canonical(url);
        assert_eq!(CANONICALIZER.canonical(&canonical), canonical);
    }
});
