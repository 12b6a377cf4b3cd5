//! The state of a host as bytes.
//!
//! Version 1: the letters `HF`, the version, a byte that is 1 when settled; then as LEB128 numbers `min_block_chars`, the
//! pages, the undercount and the number of counts; the counts, ascending by hash, each eight bytes of hash (big endian) and
//! a LEB128 count; at last the first eight bytes of the SHA-256 of all that.

use crate::{FingerprintSettings, HostFingerprint};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 2] = b"HF";
const VERSION: u8 = 1;
const CHECK: usize = 8;

/// Why saved bytes are not a state that can be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// They are not what was saved.
    #[error("the saved fingerprint is damaged")]
    Damaged,
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
        let mut counts: Vec<(u64, u32)> = self.counts.iter().map(|(&hash, &count)| (hash, count)).collect();
        counts.sort_unstable();
        let mut out = Vec::with_capacity(counts.len() * 9 + 32);
        out.extend_from_slice(MAGIC);
        out.extend([VERSION, u8::from(self.settled)]);
        for number in
            [self.settings().min_block_chars() as u64, self.pages, self.undercount, counts.len() as u64]
        {
            put_number(&mut out, number);
        }
        for (hash, count) in counts {
            out.extend(hash.to_be_bytes());
            put_number(&mut out, u64::from(count));
        }
        let check = Sha256::digest(&out);
        out.extend_from_slice(&check[..CHECK]);
        out
    }

    /// The state that [`to_bytes`](Self::to_bytes) gave. `threshold_pct` and `min_pages` may have changed since.
    ///
    /// # Errors
    /// When the bytes are damaged, of another version, or counted with another `min_block_chars`.
    pub fn from_bytes(bytes: &[u8], settings: FingerprintSettings) -> Result<Self, StateError> {
        let (body, check) =
            bytes.split_at_checked(bytes.len().wrapping_sub(CHECK)).ok_or(StateError::Damaged)?;
        if body.get(..2) != Some(MAGIC) || Sha256::digest(body)[..CHECK] != *check {
            return Err(StateError::Damaged);
        }
        let mut reader = Reader(&body[2..]);
        let found = reader.byte()?;
        if found != VERSION {
            return Err(StateError::Version { found, known: VERSION });
        }
        let mut state = Self::new(settings);
        state.settled = match reader.byte()? {
            0 => false,
            1 => true,
            _ => return Err(StateError::Damaged),
        };
        let (saved, wanted) = (reader.number()?, settings.min_block_chars() as u64);
        if saved != wanted {
            return Err(StateError::BlockChars { saved, wanted });
        }
        state.pages = reader.number()?;
        state.undercount = reader.number()?;
        state.counts = reader.counts()?;
        if !reader.0.is_empty() {
            return Err(StateError::Damaged);
        }
        state.judge_all();
        Ok(state)
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
