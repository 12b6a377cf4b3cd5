//! Reading of bodies: streamed, decoded, accounted, bounded in bytes and time.

use super::{
    content::{Declared, SNIFF_BYTES, sniff},
    decode::{Decoder, Pushed, UnknownCheck},
    exchange::Truncated,
    failure::{Limits, classify, is_unannounced_end},
    watch::waiting,
};
use crate::{
    budget::Admission,
    error::{FetchError, Phase},
};
use reqwest::{
    Response, Version,
    header::{CONTENT_ENCODING, TRANSFER_ENCODING},
};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Announced lengths beyond this many caps are refused before the read: they are wrong, or the body is no
/// page.
const MAX_ANNOUNCED_CAPS: u64 = 128;
/// Bytes of an unwanted body that are read so that its connection can be reused, and the time limit for that.
const DRAIN_BYTES: u64 = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Maximum pieces of a body beyond those of [`SMALL_PIECE`] bytes on average: each piece costs CPU, however
/// small.
const SMALL_PIECES: u64 = 1 << 16;
const SMALL_PIECE: u64 = 64;

/// Result of a read.
pub(super) enum Read {
    /// The body; `truncated` if more bytes followed or may have followed.
    Body { bytes: Vec<u8>, truncated: Option<Truncated>, wire_bytes: u64 },
    /// The first bytes, which belong to another format.
    Unwanted { bytes: Vec<u8>, wire_bytes: u64 },
}

/// Limits and expectations of a read.
pub(super) struct Plan<'a> {
    pub(super) host: &'a str,
    pub(super) cap: u64,
    pub(super) deadline: Instant,
    pub(super) limits: Limits,
    /// Declared type, if the bytes are checked against it.
    pub(super) declared: Option<Declared>,
}

/// Reads the body up to the cap; `admission` accounts for every chunk. If `coded` is given, it receives the
/// encoded bytes of a body with a content coding, and the bytes of another body that breaks off.
pub(super) async fn read(
    mut response: Response,
    plan: &Plan<'_>,
    mut admission: Option<&mut Admission>,
    coded: Option<&mut Vec<u8>>,
) -> Result<Read, FetchError> {
    let mut decoder = decoder(&response, plan.cap)?;
    if let Some(announced) = response.content_length() {
        if announced > plan.cap.saturating_mul(MAX_ANNOUNCED_CAPS) {
            return Err(FetchError::TooLarge { announced, cap: plan.cap });
        }
        if decoder.is_identity() {
            // the announced length is trusted only for the first allocation
            decoder.reserve(announced.min(1 << 20));
        }
    }
    let mut judged = false;
    let (mut coded, mut plain) = if decoder.is_identity() { (None, coded) } else { (coded, None) };
    let (began, mut pieces) = (Instant::now(), 0_u64);
    loop {
        let too_slow_at = plan.limits.too_slow_at(began, decoder.wire_bytes());
        let (chunk, lost) = match next(&mut response, plan, too_slow_at).await {
            Ok(chunk) => (chunk, None),
            // a wrong length: each further try would end here too
            Err(error) if ends_document(decoder.decoded()) => (None, Some(Truncated::by(&error))),
            Err(error) => {
                if let Some(plain) = plain.take() {
                    *plain = decoder.finish().0;
                }
                return Err(error);
            }
        };
        let pushed = match &chunk {
            Some(chunk) => decoder.push(chunk).map_err(encoding)?,
            None => Pushed::More,
        };
        if let (Some(coded), Some(chunk)) = (coded.as_deref_mut(), &chunk) {
            coded.extend_from_slice(chunk);
        }
        let kept = coded.as_ref().map_or(0, |coded| coded.len()) as u64;
        let wire_bytes = decoder.wire_bytes();
        count_piece(&mut pieces, wire_bytes)?;
        let decoded = decoder.decoded().len();
        if let Some(admission) = admission.as_deref_mut() {
            admission.holds(decoded as u64 + kept);
        }
        if pushed == Pushed::Full || chunk.is_none() {
            let check = decoder.unknown_check();
            let (bytes, truncated) = whole(decoder, pushed, lost);
            // a decoder may have kept all of a short body until its end
            if !judged && !is_page(plan, &check, &bytes)? {
                return Ok(Read::Unwanted { bytes, wire_bytes });
            }
            return Ok(Read::Body { bytes, truncated, wire_bytes });
        }
        if !judged && decoded >= SNIFF_BYTES {
            judged = true;
            if !is_page(plan, &decoder.unknown_check(), decoder.decoded())? {
                let (bytes, _) = decoder.finish();
                return Ok(Read::Unwanted { bytes, wire_bytes });
            }
        }
    }
}

fn count_piece(pieces: &mut u64, wire_bytes: u64) -> Result<(), FetchError> {
    *pieces += 1;
    if *pieces > SMALL_PIECES + wire_bytes / SMALL_PIECE {
        return Err(FetchError::Protocol(format!("{wire_bytes} bytes of a body came in {pieces} pieces")));
    }
    Ok(())
}

/// Returns true if the first bytes of a body agree with its declared type, if that is checked.
fn is_page(plan: &Plan<'_>, check: &UnknownCheck, head: &[u8]) -> Result<bool, FetchError> {
    check.of_body(head).map_err(encoding)?;
    Ok(plan.declared.is_none_or(|declared| sniff(declared, head)))
}

/// The body after its last chunk, or at the cap.
fn whole(decoder: Decoder, pushed: Pushed, lost: Option<Truncated>) -> (Vec<u8>, Option<Truncated>) {
    let (bytes, complete) = decoder.finish();
    let is_cut = !complete || pushed == Pushed::Full;
    (bytes, lost.or_else(|| is_cut.then_some(Truncated::Length)))
}

/// Last tags of pages, sitemaps and feeds.
const LAST_TAGS: [&[u8]; 5] = [b"</html>", b"</urlset>", b"</sitemapindex>", b"</rss>", b"</feed>"];
/// Comments that may follow the last tag, and bytes of each. Caches write when and how fast they made a page.
const MAX_COMMENTS: usize = 8;
const MAX_COMMENT: usize = 4096;

/// Returns true for a document whose last tag has arrived.
fn ends_document(body: &[u8]) -> bool {
    let mut body = body.trim_ascii_end();
    for _ in 0..MAX_COMMENTS {
        let Some(rest) = body.strip_suffix(b"-->") else { break };
        let start = rest.len().saturating_sub(MAX_COMMENT);
        let Some(at) = memchr::memmem::rfind(&rest[start..], b"<!--") else { return false };
        body = rest[..start + at].trim_ascii_end();
    }
    let ends_with = |tag: &&[u8]| {
        body.len().checked_sub(tag.len()).is_some_and(|at| body[at..].eq_ignore_ascii_case(tag))
    };
    LAST_TAGS.iter().any(ends_with)
}

fn decoder(response: &Response, cap: u64) -> Result<Decoder, FetchError> {
    let values = response.headers().get_all(CONTENT_ENCODING).into_iter();
    let joined = values.filter_map(|v| v.to_str().ok()).collect::<Vec<_>>().join(",");
    Decoder::new(&joined, cap).map_err(encoding)
}

fn encoding(error: super::decode::DecodeError) -> FetchError {
    FetchError::Encoding { coding: error.coding, reason: error.reason }
}

/// Returns true for a body that ends with its connection.
fn ends_by_close(response: &Response) -> bool {
    response.version() <= Version::HTTP_11
        && response.content_length().is_none()
        && !response.headers().contains_key(TRANSFER_ENCODING)
}

async fn next(
    response: &mut Response,
    plan: &Plan<'_>,
    too_slow_at: Option<Instant>,
) -> Result<Option<bytes::Bytes>, FetchError> {
    let Limits { read, total, min_rate, .. } = plan.limits;
    let mut end = (plan.deadline, FetchError::Timeout { phase: Phase::Total, limit: total });
    let pause = (Instant::now() + read, FetchError::Timeout { phase: Phase::Body, limit: read });
    let slow = too_slow_at.map(|at| (at, FetchError::TooSlow { min_rate }));
    for earlier in slow.into_iter().chain([pause]) {
        if earlier.0 < end.0 {
            end = earlier;
        }
    }
    let (until, late) = end;
    match waiting(timeout_at(until, response.chunk())).await {
        Ok(Ok(chunk)) => Ok(chunk),
        // many servers close a TLS connection without saying so first; browsers take what came
        Ok(Err(error)) if is_unannounced_end(&error) && ends_by_close(response) => Ok(None),
        Ok(Err(error)) => Err(classify(&error, plan.host, None, plan.limits)),
        Err(_) => Err(late),
    }
}

impl Limits {
    /// Time at which a body becomes too slow, given its start `began` and the bytes so far. The read timeout
    /// is always granted. Before the first byte it is the only limit.
    fn too_slow_at(&self, began: Instant, wire_bytes: u64) -> Option<Instant> {
        let seconds = wire_bytes.checked_div(self.min_rate).filter(|_| wire_bytes > 0)?;
        began.checked_add(self.read.max(Duration::from_secs(seconds)))
    }
}

/// Reads a small unwanted body, so that its connection returns to the pool. Returns the bytes, if `keep` is
/// set, and true if the body is complete.
pub(super) async fn drain(mut response: Response, keep: bool) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    if response.content_length().is_some_and(|length| length > DRAIN_BYTES) {
        return (bytes, false);
    }
    let deadline = Instant::now() + DRAIN_TIME;
    let mut left = DRAIN_BYTES;
    loop {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                match left.checked_sub(chunk.len() as u64) {
                    Some(rest) => left = rest,
                    None => return (bytes, false),
                }
                if keep {
                    bytes.extend_from_slice(&chunk);
                }
            }
            Ok(Ok(None)) => return (bytes, true),
            Ok(Err(_)) | Err(_) => return (bytes, false),
        }
    }
}
