//! The charset of a page: the first line is a Content-Type, the rest the bytes of the page.
#![no_main]

use crawl_extract::charset::{Source, decode};
use crawl_fuzz::{first_line, in_linear_time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (content_type, bytes) = first_line(data);
    let content_type = str::from_utf8(content_type).ok();
    let decoded = in_linear_time(data.len(), || decode(bytes, content_type));
    // in any charset one byte gives at most a character of three octets, such as U+FFFD
    assert!(decoded.text.len() <= 3 * bytes.len() + 3);
    let again = decode(bytes, content_type);
    assert_eq!((&decoded.text, decoded.charset, decoded.source), (&again.text, again.charset, again.source));
    assert!(!decoded.overridden || decoded.source == Source::Guess);
    if decoded.charset == "UTF-8" && !decoded.had_errors && decoded.source != Source::Bom {
        assert_eq!(decoded.text.as_bytes(), bytes);
    }
    // Without a header the page's own declaration applies, unless its bytes contradict it.
    let own = in_linear_time(data.len(), || decode(bytes, None));
    assert_ne!(own.source, Source::Header);
    if own.source == Source::Meta {
        assert_eq!(decode(bytes, Some("text/html; charset=no-such-charset")).charset, own.charset);
    }
    // The decoded text is UTF-8 and does not change when decoded again.
    if !decoded.text.starts_with('\u{feff}') {
        let text = decode(decoded.text.as_bytes(), Some("text/html; charset=utf-8"));
        assert_eq!((&*text.text, text.charset, text.had_errors), (&*decoded.text, "UTF-8", false));
    }
});
