//! Style sheets and `style` attributes of a page: the first byte selects one of the two, the rest is the CSS.
#![no_main]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_fuzz::{PAGE, in_linear_time, only_words_of_the_page};
use libfuzzer_sys::fuzz_target;
use std::{fs, sync::LazyLock};

/// Extractor with style sheets applied, which the built-in rules disable.
static EXTRACTOR: LazyLock<PageExtractor> = LazyLock::new(|| {
    let overlay = std::env::temp_dir().join(format!("rules-{}", std::process::id()));
    fs::create_dir_all(&overlay).expect("the folder for temporary files can be written");
    fs::write(overlay.join("extraction.toml"), "[visibility]\nstyle_sheets = true\n").expect("written");
    PageExtractor::with_rules(Some(&overlay), Options::default()).expect("the rules are right")
});

fuzz_target!(|data: &[u8]| {
    let Some((choice, css)) = data.split_first() else { return };
    let css = String::from_utf8_lossy(css);
    // the end tag of the sheet would begin other markup
    if css.to_ascii_lowercase().contains("</style") {
        return;
    }
    let html = if choice & 1 == 0 {
        format!("<!doctype html><html lang=en><head><style>{css}</style></head>{PAGE}")
    } else {
        let css = css.replace('&', "&amp;").replace('"', "&quot;");
        let (start, end) = PAGE.split_once("<p id=one").expect("the page has that paragraph");
        format!("<!doctype html><html lang=en>{start}<p style=\"{css}\" id=one{end}")
    };
    let input = Input::new(html.as_bytes()).with_content_type("text/html; charset=utf-8");
    let found = in_linear_time(html.len(), || EXTRACTOR.extract(&input));
    assert_eq!(format!("{found:?}"), format!("{:?}", EXTRACTOR.extract(&input)));
    // style hides text and adds none
    only_words_of_the_page(&found.content);
});
