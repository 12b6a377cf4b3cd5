//! Signatures of messages: HMAC-SHA256 as in Standard Webhooks.

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;

/// Bytes of the shortest secret.
const SHORTEST: usize = 16;

/// Prefix of a secret in base 64.
const PREFIX: &str = "whsec_";

/// Key of the signatures. It cannot be printed.
pub(super) struct Secret(SecretSlice<u8>);

impl Secret {
    /// Reads a secret: the bytes of a text, or base 64 behind `whsec_`. No message repeats it.
    pub(super) fn new(text: &SecretString) -> Result<Self, &'static str> {
        let text = text.expose_secret().trim();
        let bytes = match text.strip_prefix(PREFIX) {
            Some(coded) => {
                BASE64_STANDARD.decode(coded).map_err(|_| "the part behind whsec_ is not base 64")?
            }
            None => text.as_bytes().to_vec(),
        };
        if bytes.len() < SHORTEST {
            return Err("the secret has fewer than 16 bytes");
        }
        Ok(Self(bytes.into()))
    }

    /// The header `webhook-signature` of a message.
    pub(super) fn sign(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        // a key of HMAC may have any length
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()) else {
            return String::new();
        };
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of the specification of Standard Webhooks.
    #[test]
    fn signature_follows_standard_webhooks() {
        let secret = Secret::new(&"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into()).unwrap();
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn invalid_webhook_secrets_are_refused_without_repeating_them() {
        for bad in ["s3cret", "whsec_s3cret!!", "whsec_czNjcmV0"] {
            let why = Secret::new(&bad.into()).err().unwrap();
            assert!(!why.contains("s3cret"), "{why}");
        }
    }
}
