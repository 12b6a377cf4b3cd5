//! State of a host in the store: its fingerprint, once it is settled, and its answers for pages that it does
//! not have. So no host gets the same probe twice.
//!
//! Bytes: `HST2`, a byte that is 1 if the host was rebuilt in this round, the length of the profile's JSON (4
//! bytes, little endian). The profile and the fingerprint follow. The fingerprint is empty while the host is
//! not settled. Earlier versions wrote only the bytes behind the fifth.
//!
//! The state of an unsettled host is stored separately, next to its held pages. It consists of the length of
//! [`Unsettled`] as JSON, that, and the fingerprint.

use crate::soft404::ErrorPageProfile;
use crawl_dedup::{Fingerprint, HostStream};
use crawl_model::StoreError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The first bytes of a state; as a length of a profile they would be too many.
const MAGIC: &[u8; 4] = b"HST2";

/// The notes beside the fingerprint of a host that is not settled; `W` is its profile of error pages.
#[derive(Serialize, Deserialize)]
pub struct Unsettled<W = ErrorPageProfile> {
    /// Answers of the host for pages that it does not have.
    #[serde(rename = "witness")]
    pub error_profile: W,
    /// Pages of earlier rounds among those that wait.
    pub changed: u64,
    /// The order of the last held page that was counted.
    pub through: i64,
    /// Orders and sections of the pages that wait.
    pub waiting: Vec<(i64, Option<u64>)>,
}

/// Encodes a state for the store, with the fingerprint once it is settled.
///
/// # Errors
/// Never: a profile is numbers alone.
pub fn encode(
    error_profile: &ErrorPageProfile,
    rebuilt: bool,
    fingerprint: Option<&Fingerprint>,
) -> Result<Vec<u8>, StoreError> {
    let mut bytes = [&MAGIC[..], &[u8::from(rebuilt)]].concat();
    put_json(&mut bytes, error_profile)?;
    if let Some(fingerprint) = fingerprint {
        // that of a large site is megabytes long: it is written where it is to stand
        fingerprint.append_to(&mut bytes);
    }
    Ok(bytes)
}

/// Decodes a state of the store: the profile, true if the host was rebuilt, and the fingerprint's bytes.
/// `None` for bytes that are no such state.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(ErrorPageProfile, bool, &[u8])> {
    let (rebuilt, rest) = match bytes.strip_prefix(MAGIC) {
        Some(rest) => rest.split_first().map(|(flag, rest)| (*flag == 1, rest))?,
        None => (false, bytes),
    };
    let (error_profile, fingerprint) = take_json(rest)?;
    Some((error_profile, rebuilt, fingerprint))
}

/// Returns true for a saved state whose fingerprint is settled.
#[must_use]
pub fn is_settled(bytes: Option<&[u8]>) -> bool {
    bytes.and_then(decode).is_some_and(|(_, _, fingerprint)| !fingerprint.is_empty())
}

/// Encodes the state of a host that is not settled.
///
/// # Errors
/// Never: the notes are numbers alone.
pub fn encode_unsettled(
    notes: &Unsettled<&ErrorPageProfile>,
    stream: &HostStream<i64>,
) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    put_json(&mut bytes, notes)?;
    stream.fingerprint().append_to(&mut bytes);
    Ok(bytes)
}

/// Decodes the notes and the fingerprint's bytes. `None` for bytes that are no such state.
#[must_use]
pub fn decode_unsettled(bytes: &[u8]) -> Option<(Unsettled, &[u8])> {
    take_json(bytes)
}

fn put_json(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<(), StoreError> {
    let json = serde_json::to_vec(value).map_err(|e| StoreError::Other(e.to_string()))?;
    let length = u32::try_from(json.len()).map_err(|e| StoreError::Other(e.to_string()))?;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&json);
    Ok(())
}

fn take_json<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (json, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((serde_json::from_slice(json).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_dedup::{FingerprintSettings, Mode};

    #[test]
    fn unreadable_host_state_decodes_to_none() {
        let settings = FingerprintSettings::new(0.7, 5, 50).unwrap();
        let fingerprint = Fingerprint::new(Mode::Site, settings);
        let bytes = encode(&ErrorPageProfile::default(), true, Some(&fingerprint)).unwrap();
        let (_, rebuilt, read) = decode(&bytes).unwrap();
        assert!(rebuilt && read == fingerprint.to_bytes());
        let (_, rebuilt, read) = decode(&bytes[5..]).unwrap();
        assert!(!rebuilt && read == fingerprint.to_bytes(), "as earlier versions wrote it");
        assert_eq!(decode(&encode(&ErrorPageProfile::default(), false, None).unwrap()).unwrap().2, b"");
        assert!(decode(b"").is_none() && decode(&bytes[..9]).is_none());
        assert!(decode(b"\xff\xff\xff\xffa state of an older version").is_none());
    }
}
