//! The state of a host as bytes.
//!
//! Two letters for the mode (`HF` exact, `SF` site), the version, a byte that is 1 when settled; then as LEB128 numbers
//! `min_block_chars`, the pages, the undercount, in the mode `site` the sum that names the state, and the number of counts; the
//! counts, ascending by hash, each eight bytes of hash (big endian) and a LEB128 count; at last the first eight bytes of
//! the SHA-256 of all that.

use crate::{
    FingerprintSettings, HostFingerprint, HostState,
    site::{ALGORITHM, SiteFingerprint},
};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

const EXACT: Kind = Kind { magic: b"HF", version: 1 };
const SITE: Kind = Kind { magic: b"SF", version: ALGORITHM };
const CHECK: usize = 8;

/// Which state, and the version of it that is written.
#[derive(Clone, Copy)]
struct Kind {
    magic: &'static [u8; 2],
    version: u8,
}

/// Why saved bytes are not a state that can be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// They are not what was saved.
    #[error("the saved fingerprint is damaged")]
    Damaged,
    /// They were saved in another mode.
    #[error("the saved fingerprint is of another mode")]
    Mode,
    /// Another version of the program saved them.
    #[error("the saved fingerprint has version {found}, this program reads version {known}")]
    Version {
        /// Version of the bytes.
        found: u8,
        /// Version that is read.
        known: u8,
    },
    /// Blocks were counted from another length on, so the counts cannot be gone on with.
    #[error("the saved fingerprint counts blocks of {saved} characters and more, the settings say {wanted}")]
    BlockChars {
        /// `min_block_chars` of the bytes.
        saved: u64,
        /// `min_block_chars` of the settings.
        wanted: u64,
    },
}

impl HostFingerprint {
    /// The state as bytes: nine to twelve a distinct block. The same state gives the same bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(EXACT, &self.state, &[])
    }

    /// The state that [`to_bytes`](Self::to_bytes) gave. `threshold_pct` and `min_pages` may have changed since.
    ///
    /// # Errors
    /// When the bytes are damaged, of another mode or version, or counted with another `min_block_chars`.
    pub fn from_bytes(bytes: &[u8], settings: FingerprintSettings) -> Result<Self, StateError> {
        let mut host = Self::new(settings);
        let [] = decode(EXACT, bytes, &mut host.state)?;
        host.judge_all();
        Ok(host)
    }
}

impl SiteFingerprint {
    /// The state as bytes, as [`HostFingerprint::to_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(SITE, &self.state, &[self.sum])
    }

    /// The state that [`to_bytes`](Self::to_bytes) gave. `threshold_pct` and `min_pages` may have changed since.
    ///
    /// # Errors
    /// As [`HostFingerprint::from_bytes`].
    pub fn from_bytes(bytes: &[u8], settings: FingerprintSettings) -> Result<Self, StateError> {
        let mut host = Self::new(settings);
        [host.sum] = decode(SITE, bytes, &mut host.state)?;
        Ok(host)
    }
}

/// `more` are the numbers that this kind has besides those of every state.
fn encode(kind: Kind, state: &HostState, more: &[u64]) -> Vec<u8> {
    let mut sorted: Vec<(u64, u32)> = state.counts.map.iter().map(|(&hash, &count)| (hash, count)).collect();
    sorted.sort_unstable();
    let mut out = Vec::with_capacity(sorted.len() * 9 + 48);
    out.extend_from_slice(kind.magic);
    out.extend([kind.version, u8::from(state.settled)]);
    for number in [state.settings.min_block_chars() as u64, state.pages, state.undercount()] {
        put_number(&mut out, number);
    }
    for &number in more {
        put_number(&mut out, number);
    }
    put_number(&mut out, sorted.len() as u64);
    for (hash, count) in sorted {
        out.extend(hash.to_be_bytes());
        put_number(&mut out, u64::from(count));
    }
    let check = Sha256::digest(&out);
    out.extend_from_slice(&check[..CHECK]);
    out
}

/// Fills a new state, whose settings say what is wanted; returns the numbers that this kind has besides. After an error
/// the state is of no use.
fn decode<const N: usize>(kind: Kind, bytes: &[u8], state: &mut HostState) -> Result<[u64; N], StateError> {
    let (body, check) = bytes.split_at_checked(bytes.len().wrapping_sub(CHECK)).ok_or(StateError::Damaged)?;
    if Sha256::digest(body)[..CHECK] != *check {
        return Err(StateError::Damaged);
    }
    let (magic, rest) = body.split_at_checked(2).ok_or(StateError::Damaged)?;
    if magic != kind.magic {
        let known = [EXACT, SITE].iter().any(|other| other.magic == magic);
        return Err(if known { StateError::Mode } else { StateError::Damaged });
    }
    let mut reader = Reader(rest);
    let found = reader.byte()?;
    if found != kind.version {
        return Err(StateError::Version { found, known: kind.version });
    }
    state.settled = match reader.byte()? {
        0 => false,
        1 => true,
        _ => return Err(StateError::Damaged),
    };
    let saved = reader.number()?;
    state.pages = reader.number()?;
    state.counts.undercount = reader.number()?;
    let mut more = [0; N];
    for number in &mut more {
        *number = reader.number()?;
    }
    state.counts.map = reader.counts()?;
    let wanted = state.settings.min_block_chars() as u64;
    match () {
        () if !reader.0.is_empty() => Err(StateError::Damaged),
        () if saved != wanted => Err(StateError::BlockChars { saved, wanted }),
        () => Ok(more),
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, StateError> {
        let (&first, rest) = self.0.split_first().ok_or(StateError::Damaged)?;
        self.0 = rest;
        Ok(first)
    }

    fn number(&mut self) -> Result<u64, StateError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(StateError::Damaged)
    }

    fn counts(&mut self) -> Result<FxHashMap<u64, u32>, StateError> {
        let n = usize::try_from(self.number()?).map_err(|_| StateError::Damaged)?;
        // nine bytes a count: a number that the bytes cannot hold must not make a huge table
        if n > self.0.len() / 9 {
            return Err(StateError::Damaged);
        }
        let mut counts = FxHashMap::with_capacity_and_hasher(n, Default::default());
        for _ in 0..n {
            let (hash, rest) = self.0.split_first_chunk().ok_or(StateError::Damaged)?;
            self.0 = rest;
            let count = u32::try_from(self.number()?).map_err(|_| StateError::Damaged)?;
            counts.insert(u64::from_be_bytes(*hash), count);
        }
        if counts.len() == n { Ok(counts) } else { Err(StateError::Damaged) }
    }
}
