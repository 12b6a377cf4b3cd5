//! Lines of the error log. A line repeats at most 512 bytes of a URL and adds its key.

use crate::{OutputError, lines::push_line, shown};
use crawl_model::{FailedPage, UrlKey};
use serde::Serialize;
use std::borrow::Cow;

/// Bytes of a URL, and of a message, that a line repeats.
const MAX_QUOTED_BYTES: usize = 512;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorLine<'a> {
    #[serde(flatten)]
    page: Cow<'a, FailedPage>,
    /// Key of the whole URL, if the line has only its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    url_key: Option<String>,
}

/// Appends a failure to lines of the error log.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn push(lines: &mut Vec<u8>, failed: &FailedPage) -> Result<(), OutputError> {
    let is_long = failed.url.len() > MAX_QUOTED_BYTES;
    let page = if is_long || failed.message.len() > MAX_QUOTED_BYTES {
        let (url, message) = (cut(&failed.url), cut(&failed.message));
        Cow::Owned(FailedPage { url, message, ..failed.clone() })
    } else {
        Cow::Borrowed(failed)
    };
    let url_key = is_long.then(|| UrlKey::of(&failed.url).to_string());
    let mut line = Vec::new();
    push_line(&mut line, &ErrorLine { page, url_key })?;
    lines.extend_from_slice(shown::json(&String::from_utf8_lossy(&line)).as_bytes());
    Ok(())
}

/// The beginning of a text, with its length if it is long.
fn cut(text: &str) -> String {
    if text.len() <= MAX_QUOTED_BYTES {
        return text.to_owned();
    }
    let (shown, length) = (&text[..text.floor_char_boundary(MAX_QUOTED_BYTES)], text.len());
    format!("{shown}... ({length} bytes)")
}

/// The key of the URL that a line of the error log names; `None` if the line is damaged.
#[must_use]
pub fn key_of(url: &str, url_key: Option<&str>) -> Option<UrlKey> {
    let Some(hex) = url_key else { return Some(UrlKey::of(url)) };
    let mut key = [0; 16];
    if hex.len() != 2 * key.len() {
        return None;
    }
    for (place, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(UrlKey(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::Stage;
    use serde_json::Value;

    fn failure(url: &str, message: String) -> FailedPage {
        FailedPage {
            url: url.to_owned(),
            stage: Stage::Fetch,
            kind: "trap_repeated_segment",
            status: None,
            attempts: 0,
            message,
            hint: String::new(),
            at: String::new(),
            found_on: None,
            lease: None,
            seed: None,
        }
    }

    #[test]
    fn long_urls_are_cut_and_identified_by_key() {
        let line = |url: &str| {
            let mut lines = Vec::new();
            let message = format!("\"{}\" is repeated too often in the path", "\u{e4}".repeat(2_000));
            push(&mut lines, &failure(url, message)).unwrap();
            (lines.len(), serde_json::from_slice::<Value>(&lines).unwrap())
        };
        let key = |line: &Value| key_of(line["url"].as_str().unwrap(), line["urlKey"].as_str());
        let long = format!("http://a.test/{}", "x".repeat(4_000));
        let (bytes, shown) = line(&long);
        assert!(bytes < 1_600, "{bytes} bytes");
        assert!(shown["url"].as_str().unwrap().ends_with("x... (4014 bytes)"), "{shown}");
        assert!(shown["message"].as_str().unwrap().ends_with(" bytes)"));
        assert_eq!(key(&shown), Some(UrlKey::of(&long)));
        let (_, short) = line("http://a.test/x");
        assert_eq!((&short["url"], short.get("urlKey")), (&"http://a.test/x".into(), None));
        assert_eq!(key(&short), Some(UrlKey::of("http://a.test/x")));
        for damaged in ["", "12", &"g".repeat(32), &"\u{e4}".repeat(16)] {
            assert_eq!(key_of("http://a.test/x", Some(damaged)), None, "{damaged}");
        }
    }
}
