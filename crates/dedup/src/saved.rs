//! Serialisation of a host's state.
//!
//! Layout: two letters for the mode (`HF` exact, `SF` site), the version, a byte that is 1 when settled.
//! Then, as LEB128 numbers, `min_block_chars`, the pages and the undercount.
//!
//! Mode `exact`: the number of counts, and the counts, ascending by hash: eight bytes of hash (big endian)
//! and a LEB128 count.
//!
//! Mode `site`: the sum that identifies the state. The number of page groups, and for each three bytes of
//! name and its pages. The number of features, and for each five bytes of hash, its pages and its two groups.
//!
//! At the end: the first eight bytes of the SHA-256 of all that.

use crate::{
    FingerprintSettings, HostFingerprint, HostState,
    site::{ALGORITHM, FeatureCount, GROUPINGS, Key, NO_GROUP, SiteFingerprint},
};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::hash::Hash;

const EXACT: Kind = Kind { magic: b"HF", version: 1, oldest: 1 };
const SITE: Kind = Kind { magic: b"SF", version: ALGORITHM, oldest: SECTIONS_ONLY };
/// Version of the mode `site` whose features have a section and no other group.
const SECTIONS_ONLY: u8 = 3;
/// The last version of the mode `site` with hashes of eight bytes and names of four.
const WIDE: u8 = 4;
const CHECK: usize = 8;
/// Bytes of the shortest entry of a table: a page group with fewer than 128 pages.
const LEAST_ENTRY: usize = 4;

/// Kind of a state, and its current version.
#[derive(Clone, Copy)]
struct Kind {
    magic: &'static [u8; 2],
    version: u8,
    /// The earliest version that is read.
    oldest: u8,
}

/// Reason why saved bytes cannot be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes are damaged.
    #[error("the saved fingerprint is damaged")]
    Damaged,
    /// Saved in another mode.
    #[error("the saved fingerprint is of another mode")]
    Mode,
    /// Saved by another version of the program.
    #[error("the saved fingerprint has version {found}, this program reads version {known}")]
    Version {
        /// Version of the bytes.
        found: u8,
        /// Version that is read.
        known: u8,
    },
    /// The blocks were counted with another minimum length.
    #[error("the saved fingerprint counts blocks of {saved} characters and more, the settings say {wanted}")]
    BlockChars {
        /// `min_block_chars` of the bytes.
        saved: u64,
        /// `min_block_chars` of the settings.
        wanted: u64,
    },
}

impl HostFingerprint {
    /// Serialises the state: nine to twelve bytes per distinct block. Equal states give equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.append_to(&mut out);
        out
    }

    /// Appends the bytes of [`to_bytes`](Self::to_bytes).
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let counts = &self.counts.map;
        let start = begin(out, EXACT, &self.state, counts.len() * 10);
        put_number(out, counts.len() as u64);
        for_each_in_order(
            counts,
            |hash| hash,
            |hash, count| {
                out.extend(hash.to_be_bytes());
                put_number(out, u64::from(count));
            },
        );
        sign(out, start);
    }

    /// Restores the state that [`to_bytes`](Self::to_bytes) saved. `threshold_pct` and `min_pages` may
    /// differ.
    ///
    /// # Errors
    /// When the bytes are damaged, of another mode or an unknown version, or counted with another
    /// `min_block_chars`.
    pub fn from_bytes(bytes: &[u8], settings: FingerprintSettings) -> Result<Self, StateError> {
        let mut host = Self::new(settings);
        let (_, mut reader) = read(EXACT, bytes, &mut host.state)?;
        host.counts.undercount = host.state.undercount;
        host.counts.map = reader.map(|reader| Ok((u64::from_be_bytes(reader.bytes()?), reader.count()?)))?;
        reader.end()?;
        host.recompute();
        Ok(host)
    }
}

impl SiteFingerprint {
    /// The state as bytes, as [`HostFingerprint::to_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.append_to(&mut out);
        out
    }

    /// Appends the bytes of [`to_bytes`](Self::to_bytes).
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let mut groups: Vec<(u32, u32)> = self.table.groups.iter().map(|(&name, &n)| (name, n)).collect();
        groups.sort_unstable();
        let pieces = &self.table.pieces;
        let start = begin(out, SITE, &self.state, groups.len() * 5 + pieces.len() * 13);
        put_number(out, self.sum);
        put_number(out, groups.len() as u64);
        for (name, pages) in groups {
            out.extend(&name.to_be_bytes()[1..]);
            put_number(out, u64::from(pages));
        }
        put_number(out, pieces.len() as u64);
        for_each_in_order(pieces, Key::number, |key, piece| {
            out.extend_from_slice(&key.to_be_bytes()[..Key::BYTES]);
            put_number(out, u64::from(piece.pages()));
            let [[_, a, b, c], [_, d, e, f]] = piece.groups().map(u32::to_be_bytes);
            out.extend_from_slice(&[a, b, c, d, e, f]);
        });
        sign(out, start);
    }

    /// Restores the state that [`to_bytes`](Self::to_bytes) saved. `threshold_pct` and `min_pages` may
    /// differ. From version 3 or 4 the counts of the host are kept; page groups are counted again from the
    /// next page on.
    ///
    /// # Errors
    /// As [`HostFingerprint::from_bytes`].
    pub fn from_bytes(bytes: &[u8], settings: FingerprintSettings) -> Result<Self, StateError> {
        let mut host = Self::new(settings);
        let (version, mut reader) = read(SITE, bytes, &mut host.state)?;
        host.sum = reader.number()?;
        host.table.undercount = host.state.undercount;
        if version <= WIDE {
            read_wide(&mut host, &mut reader, version)?;
            host.table.shrink();
            host.state.undercount = host.table.undercount;
        } else {
            let name = |reader: &mut Reader<'_>| -> Result<u32, StateError> {
                let [a, b, c] = reader.bytes()?;
                Ok(u32::from_be_bytes([0, a, b, c]))
            };
            host.table.groups = reader.map(|reader| Ok((name(reader)?, reader.count()?)))?;
            host.table.pieces = reader.map(|reader| {
                let (key, pages) = (Key::from_bytes(reader.bytes()?), reader.count()?);
                Ok((key, FeatureCount::new(pages, [name(reader)?, name(reader)?])))
            })?;
        }
        reader.end()?;
        Ok(host)
    }
}

/// Reads the tables of a state of version 3 or 4. Counts of a group have hashes that include its name of four
/// bytes: they stay, but are never found.
fn read_wide(host: &mut SiteFingerprint, reader: &mut Reader<'_>, version: u8) -> Result<(), StateError> {
    let _: FxHashMap<[u8; 4], u32> = reader.map(|reader| Ok((reader.bytes()?, reader.count()?)))?;
    let groups = if version == SECTIONS_ONLY { 1 } else { GROUPINGS };
    host.table.pieces = reader.map(|reader| {
        let (key, pages) = (u64::from_be_bytes(reader.bytes()?), reader.count()?);
        for _ in 0..groups {
            let _: [u8; 4] = reader.bytes()?;
        }
        Ok((Key::of(key), FeatureCount::new(pages, [NO_GROUP; GROUPINGS])))
    })?;
    Ok(())
}

/// Writes the common header and reserves `more` bytes. Returns the header's start.
fn begin(out: &mut Vec<u8>, kind: Kind, state: &HostState, more: usize) -> usize {
    let start = out.len();
    out.reserve(more + 64);
    out.extend_from_slice(kind.magic);
    out.extend([kind.version, u8::from(state.settled)]);
    for number in [state.settings.min_block_chars() as u64, state.pages, state.undercount] {
        put_number(out, number);
    }
    start
}

fn sign(out: &mut Vec<u8>, start: usize) {
    let check = Sha256::digest(&out[start..]);
    out.extend_from_slice(&check[..CHECK]);
}

/// Parts in which a table is sorted, since a sorted copy of a whole large table would take as much memory as
/// the output.
const PARTS: u64 = 8;

/// Visits entries ascending by hash, in parts with the same leading bits. `number` gives the hash of a key as a
/// number, which is faster to compare than its bytes.
fn for_each_in_order<K: Copy, V: Copy>(
    table: &FxHashMap<K, V>,
    number: impl Fn(K) -> u64,
    mut each: impl FnMut(u64, V),
) {
    let mut part: Vec<(u64, V)> = Vec::new();
    for leading in 0..PARTS {
        let of_part = |number: u64| number >> (u64::BITS - PARTS.ilog2()) == leading;
        let entries = table.iter().map(|(key, value)| (number(*key), *value));
        part.extend(entries.filter(|(number, _)| of_part(*number)));
        part.sort_unstable_by_key(|(number, _)| *number);
        part.drain(..).for_each(|(number, value)| each(number, value));
    }
}

/// Reads the common header into a new state with the expected settings. After an error the state is invalid.
/// Returns the version and a reader of the rest.
fn read<'a>(kind: Kind, bytes: &'a [u8], state: &mut HostState) -> Result<(u8, Reader<'a>), StateError> {
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
    let [found, settled] = reader.bytes()?;
    if !(kind.oldest..=kind.version).contains(&found) {
        return Err(StateError::Version { found, known: kind.version });
    }
    state.settled = match settled {
        0 => false,
        1 => true,
        _ => return Err(StateError::Damaged),
    };
    let saved = reader.number()?;
    state.pages = reader.number()?;
    state.undercount = reader.number()?;
    let wanted = state.settings.min_block_chars() as u64;
    if saved == wanted { Ok((found, reader)) } else { Err(StateError::BlockChars { saved, wanted }) }
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
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(StateError::Damaged)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u64, StateError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.bytes()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(StateError::Damaged)
    }

    fn count(&mut self) -> Result<u32, StateError> {
        u32::try_from(self.number()?).map_err(|_| StateError::Damaged)
    }

    /// Reads a length and as many entries, without duplicates.
    fn map<K: Eq + Hash, V>(
        &mut self,
        mut entry: impl FnMut(&mut Self) -> Result<(K, V), StateError>,
    ) -> Result<FxHashMap<K, V>, StateError> {
        let n = usize::try_from(self.number()?).map_err(|_| StateError::Damaged)?;
        // a length that the bytes cannot hold must not allocate a huge table
        if n > self.0.len() / LEAST_ENTRY {
            return Err(StateError::Damaged);
        }
        let mut map = FxHashMap::with_capacity_and_hasher(n, Default::default());
        for _ in 0..n {
            let (key, value) = entry(self)?;
            map.insert(key, value);
        }
        if map.len() == n { Ok(map) } else { Err(StateError::Damaged) }
    }

    const fn end(&self) -> Result<(), StateError> {
        if self.0.is_empty() { Ok(()) } else { Err(StateError::Damaged) }
    }
}
