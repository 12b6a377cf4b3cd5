//! Bytes of pending URLs, and the bounds of a host on them.

use crawl_model::{Discovery, HostBound, NewUrl, Refused};

/// Bytes of a URL's row besides its texts: key, numbers, date, and entries in tables and indexes.
pub(crate) const ROW_BYTES: u64 = 192;

/// Bytes of a pending URL with texts of these lengths.
pub(crate) const fn row_bytes(url: usize, redirects: usize) -> u64 {
    ROW_BYTES + (url + redirects) as u64
}

/// Total length of a redirect chain.
pub(crate) fn chain_len(redirects: &[String]) -> usize {
    redirects.iter().map(String::len).sum()
}

/// Bytes of a new URL while it is pending.
pub(crate) fn bytes_of(url: &NewUrl) -> u64 {
    row_bytes(url.url.len(), chain_len(&url.redirects))
}

/// Returns true if the bounds of a host apply to a new URL. Seeds and redirects are exempt.
pub(crate) const fn is_bounded(discovery: Discovery) -> bool {
    matches!(discovery, Discovery::Link | Discovery::Sitemap)
}

/// Capacity of a host for a new URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Enough,
    Full(HostBound),
    /// The bytes of the host's pending URLs must be counted first: [`Ledger::counted`](super::Ledger::counted).
    Uncounted,
}

/// Adds a URL to the refused ones.
pub(crate) fn refuse(refused: &mut Vec<Refused>, url: &NewUrl, bound: HostBound) {
    match refused.iter_mut().find(|refused| refused.host == url.host) {
        Some(refused) => refused.keys.push(url.key),
        None => {
            let (host, first) = (url.host.clone(), url.url.clone());
            refused.push(Refused { host, bound, first, keys: vec![url.key] });
        }
    }
}
