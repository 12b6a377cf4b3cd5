//! Compressed body of a held page.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use crawl_extract::Input;
use crawl_model::KeptBody;
use std::{cell::RefCell, io};
use zstd::bulk::Compressor;

/// Level of compression: bodies are kept for minutes.
const COMPRESSION_LEVEL: i32 = 1;
/// A body that is larger, compressed, is not kept.
const MAX_KEPT: usize = 1 << 20;
/// A body that is larger is not compressed.
const MAX_BODY: usize = 16 << 20;

thread_local! {
    /// The memory of a compression, which a thread uses again: to prepare it takes longer than to compress a page.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(COMPRESSION_LEVEL)?),
        };
        compressor.compress(bytes)
    })
}

/// Compresses the body of a page; `None` if it is too large to be kept, or has no URL.
#[must_use]
pub fn keep(input: &Input<'_>, is_doubtful: bool) -> Option<KeptBody> {
    let url = input.url.filter(|_| input.bytes.len() <= MAX_BODY)?.clone();
    let packed = compress(input.bytes).ok().filter(|packed| packed.len() <= MAX_KEPT)?;
    let content_type = input.content_type.map(str::to_owned);
    Some(KeptBody { zstd: STANDARD.encode(packed), content_type, url, is_doubtful })
}

/// Returns the bytes of a kept body.
///
/// # Errors
/// When it is damaged.
pub fn bytes(kept: &KeptBody) -> io::Result<Vec<u8>> {
    let packed = STANDARD.decode(&kept.zstd).map_err(io::Error::other)?;
    zstd::bulk::decompress(&packed, MAX_BODY)
}

/// Returns a kept body as the extractor takes it; `bytes` are its [bytes].
#[must_use]
pub fn input<'a>(kept: &'a KeptBody, bytes: &'a [u8]) -> Input<'a> {
    Input::new(bytes).with_url(&kept.url).with_content_type(kept.content_type.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[test]
    fn kept_body_round_trips_and_a_large_one_is_dropped() {
        let url: Url = "https://a.test/1".parse().unwrap();
        let html = "<p>text</p>".repeat(9_000);
        let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
        let kept = keep(&input, false).unwrap();
        assert!(kept.zstd.len() < 1_000 && bytes(&kept).unwrap() == html.as_bytes());
        assert!(bytes(&KeptBody { zstd: "AAAA".into(), ..kept }).is_err());
        assert!(keep(&Input::new(&vec![b' '; MAX_BODY + 1]), false).is_none());
    }
}
