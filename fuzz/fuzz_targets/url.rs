//! Canonical URLs: the first line is the URL of a page, the rest a reference on it.
#![no_main]

use crawl_fetch::{Canonicalizer, DEFAULT_MAX_URL_LENGTH, IdnForm};
use crawl_fuzz::{first_line, in_linear_time};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use url::Url;

static CANONICALIZER: LazyLock<Canonicalizer> = LazyLock::new(Canonicalizer::default);

fn check(canonical: &Url) {
    assert_eq!(CANONICALIZER.canonical(canonical), *canonical);
    assert_eq!(CANONICALIZER.parse(canonical.as_str()).as_ref(), Ok(canonical));
    let text = canonical.as_str();
    assert!(text.is_ascii() && text.len() <= DEFAULT_MAX_URL_LENGTH, "{text}");
    assert!(matches!(canonical.scheme(), "http" | "https"));
    assert!(
        canonical.fragment().is_none() && canonical.username().is_empty() && canonical.password().is_none()
    );
    assert!(canonical.query() != Some("") && canonical.host_str().is_some_and(|host| !host.ends_with('.')));
}

fuzz_target!(|data: &[u8]| {
    let (page, reference) = first_line(data);
    let (page, reference) = (String::from_utf8_lossy(page), String::from_utf8_lossy(reference));
    let absolute = in_linear_time(data.len(), || CANONICALIZER.parse(&reference));
    if let Ok(absolute) = &absolute {
        check(absolute);
    }
    if let Ok(page) = CANONICALIZER.parse(&page) {
        check(&page);
        if let Ok(joined) = in_linear_time(data.len(), || CANONICALIZER.join(&page, &reference)) {
            check(&joined);
        }
    }
    let _ = CANONICALIZER.canonical_text(&reference, IdnForm::Unicode);
});
