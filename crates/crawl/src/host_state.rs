//! What the store keeps of a host between two looks at it: the state of its fingerprint, once that is settled, and what it
//! answers for pages that it does not have, so that nobody asks it twice.
//!
//! Bytes: the length of the witness as JSON (4 bytes, little endian), the witness, the fingerprint; the last is empty
//! while pages of the host are held, from which it is made again.

use crate::soft404::Witness;
use crawl_dedup::Fingerprint;
use crawl_model::StoreError;

/// For the store, with the fingerprint once it is settled.
///
/// # Errors
/// Never: a witness is numbers alone.
pub fn encode(witness: &Witness, fingerprint: Option<&Fingerprint>) -> Result<Vec<u8>, StoreError> {
    let witness = serde_json::to_vec(witness).map_err(|e| StoreError::Other(e.to_string()))?;
    let length = u32::try_from(witness.len()).map_err(|e| StoreError::Other(e.to_string()))?;
    let mut bytes = [&length.to_le_bytes()[..], &witness].concat();
    if let Some(fingerprint) = fingerprint {
        // that of a large site is megabytes long: it is written where it is to stand
        fingerprint.append_to(&mut bytes);
    }
    Ok(bytes)
}

/// From the store: the witness, and the fingerprint's bytes. `None` for bytes that are no such state.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(Witness, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (witness, fingerprint) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((serde_json::from_slice(witness).ok()?, fingerprint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_dedup::{FingerprintSettings, Mode};

    #[test]
    fn what_is_no_state_is_told() {
        let settings = FingerprintSettings::new(0.7, 5, 50).unwrap();
        let fingerprint = Fingerprint::new(Mode::Site, settings);
        let bytes = encode(&Witness::default(), Some(&fingerprint)).unwrap();
        assert_eq!(decode(&bytes).unwrap().1, fingerprint.to_bytes());
        assert_eq!(decode(&encode(&Witness::default(), None).unwrap()).unwrap().1, b"");
        assert!(decode(b"").is_none() && decode(&bytes[..9]).is_none());
        assert!(decode(b"\xff\xff\xff\xffa state of an older version").is_none());
    }
}
