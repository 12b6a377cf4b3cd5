//! Tables of documents in Parquet.
#![no_main]

use crawl_fuzz::Scratch;
use libfuzzer_sys::fuzz_target;
use std::{panic, sync::LazyLock};

/// Input file, created after the panic hook is set. The reader treats a panic of the library as damage, while
/// libFuzzer's hook would end the process.
static FILE: LazyLock<Scratch> = LazyLock::new(|| {
    panic::set_hook(Box::new(|info| {
        let of_library = |file: &str| file.contains("/registry/src/") || file.starts_with("/rustc/");
        let caught = info.location().is_some_and(|place| of_library(place.file()));
        if !caught {
            eprintln!("{info}");
            std::process::abort();
        }
    }));
    Scratch::new("parquet")
});

/// Maximum bytes that the pages of a small file may unpack to: they are compressed, and values are repeated.
const PAGES: usize = 16 << 20;

fuzz_target!(|data: &[u8]| {
    let read = FILE.read(data, PAGES);
    assert_eq!(read.shown, FILE.read(data, PAGES).shown);
});
