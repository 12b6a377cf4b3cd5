//! Reading a body: streamed, decoded, counted, bounded in bytes and in time.

use super::{
    content::{Declared, SNIFF_BYTES, sniff},
    decode::{Decoder, Pushed},
    failure::{Limits, classify},
    watch::waiting,
};
use crate::{
    budget::Admission,
    error::{FetchError, Phase},
};
use reqwest::{Response, header::CONTENT_ENCODING};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// An announced length of more than this many caps is not even begun: nobody means it, or it is no page.
const HOPELESS: u64 = 128;
/// Bytes of an unwanted body that are read so that its connection can be used again, and how long that may take.
const DRAIN_BYTES: u64 = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Pieces of a body beyond those that hold [`SMALL_PIECE`] bytes on average: each costs CPU, however little it brings.
const SMALL_PIECES: u64 = 1 << 16;
const SMALL_PIECE: u64 = 64;

/// What came of reading.
pub(super) enum Read {
    /// The body; `truncated` if there was or may have been more.
    Body { bytes: Vec<u8>, truncated: bool, wire_bytes: u64 },
    /// Its first bytes, which are those of another format.
    Unwanted { bytes: Vec<u8>, wire_bytes: u64 },
}

/// How to read.
pub(super) struct Plan<'a> {
    pub(super) host: &'a str,
    pub(super) cap: u64,
    pub(super) deadline: Instant,
    pub(super) limits: Limits,
    /// What the type was declared to be, if the bytes are to be held against it.
    pub(super) declared: Option<Declared>,
}

/// Reads the body up to the cap. `admission` accounts every chunk. Where `coded` is given, the bytes of a body that has a
/// content coding are kept in it as they come.
pub(super) async fn read(
    mut response: Response,
    plan: &Plan<'_>,
    mut admission: Option<&mut Admission>,
    coded: Option<&mut Vec<u8>>,
) -> Result<Read, FetchError> {
    let mut decoder = decoder(&response, plan.cap)?;
    if let Some(announced) = response.content_length() {
        if announced > plan.cap.saturating_mul(HOPELESS) {
            return Err(FetchError::TooLarge { announced, cap: plan.cap });
        }
        if decoder.is_identity() {
            // an announcement is believed only as far as the first allocation goes
            decoder.reserve(announced.min(1 << 20));
        }
    }
    let mut judged = plan.declared.is_none();
    let mut coded = coded.filter(|_| !decoder.is_identity());
    let (began, mut pieces) = (Instant::now(), 0_u64);
    loop {
        let too_slow_at = plan.limits.too_slow_at(began, decoder.wire_bytes());
        let chunk = next(&mut response, plan, too_slow_at).await?;
        let pushed = match &chunk {
            Some(chunk) => decoder.push(chunk).map_err(encoding)?,
            None => Pushed::More,
        };
        if let (Some(coded), Some(chunk)) = (coded.as_deref_mut(), &chunk) {
            coded.extend_from_slice(chunk);
        }
        let kept = coded.as_ref().map_or(0, |coded| coded.len()) as u64;
        let wire_bytes = decoder.wire_bytes();
        pieces += 1;
        if pieces > SMALL_PIECES + wire_bytes / SMALL_PIECE {
            return Err(FetchError::Protocol(format!(
                "{wire_bytes} bytes of a body came in {pieces} pieces"
            )));
        }
        let decoded = decoder.decoded();
        if let Some(admission) = admission.as_deref_mut() {
            admission.holds(decoded.len() as u64 + kept);
        }
        let enough = decoded.len() >= SNIFF_BYTES || pushed == Pushed::Full || chunk.is_none();
        if !judged && enough {
            judged = true;
            if plan.declared.is_some_and(|declared| !sniff(declared, decoded)) {
                let (bytes, _) = decoder.finish();
                return Ok(Read::Unwanted { bytes, wire_bytes });
            }
        }
        if pushed == Pushed::Full || chunk.is_none() {
            let (bytes, complete) = decoder.finish();
            return Ok(Read::Body { bytes, truncated: !complete || pushed == Pushed::Full, wire_bytes });
        }
    }
}

fn decoder(response: &Response, cap: u64) -> Result<Decoder, FetchError> {
    let values = response.headers().get_all(CONTENT_ENCODING).into_iter();
    let joined = values.filter_map(|v| v.to_str().ok()).collect::<Vec<_>>().join(",");
    Decoder::new(&joined, cap).map_err(encoding)
}

fn encoding(error: super::decode::DecodeError) -> FetchError {
    FetchError::Encoding { coding: error.coding, reason: error.reason }
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
        Ok(Err(error)) => Err(classify(&error, plan.host, None, plan.limits)),
        Err(_) => Err(late),
    }
}

impl Limits {
    /// The time at which a body that began at `began` and of which so many bytes have come has come too slowly. The read
    /// timeout is always granted. Before the first byte it is the only limit.
    fn too_slow_at(&self, began: Instant, wire_bytes: u64) -> Option<Instant> {
        let seconds = wire_bytes.checked_div(self.min_rate).filter(|_| wire_bytes > 0)?;
        began.checked_add(self.read.max(Duration::from_secs(seconds)))
    }
}

/// Reads a small unwanted body, so that its connection goes back to the pool instead of being closed. What was read, if that
/// is wanted, and whether it is all of it.
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
