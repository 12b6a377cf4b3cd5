//! TLS with an [`Account`] for each connection. The library reqwest exposes the bytes of its connections only
//! to the cryptography provider, so the account hooks into record decryption.

use super::frames::Account;
use rustls::{
    ConnectionTrafficSecrets, ContentType, Error, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
    crypto::{
        CipherSuiteCommon, aws_lc_rs,
        cipher::{
            AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
            MessageEncrypter, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
        },
    },
};
use std::sync::Once;

/// A KeyUpdate message without its last byte (RFC 8446 §4.6.3).
const KEY_UPDATE: [u8; 4] = [24, 0, 0, 1];

/// Makes metered TLS the default of the process, unless a default exists.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let mut provider = aws_lc_rs::default_provider();
        for suite in &mut provider.cipher_suites {
            *suite = metered(*suite);
        }
        if provider.install_default().is_err() {
            tracing::debug!("TLS of another provider is in use: its connections are not metered");
        }
    });
}

/// A suite whose decrypters keep an account. It is leaked, since all suites are static.
fn metered(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: common.hash_provider,
        confidentiality_limit: common.confidentiality_limit,
    };
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
                common: common(&suite.common),
                hkdf_provider: suite.hkdf_provider,
                aead_alg: Box::leak(Box::new(Metered(suite.aead_alg))),
                quic: suite.quic,
            })))
        }
        SupportedCipherSuite::Tls12(suite) => {
            SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
                common: common(&suite.common),
                prf_provider: suite.prf_provider,
                kx: suite.kx,
                sign: suite.sign,
                aead_alg: Box::leak(Box::new(Metered(suite.aead_alg))),
            })))
        }
    }
}

/// An algorithm whose decrypters keep an account.
struct Metered<A: ?Sized + 'static>(&'static A);

impl Tls13AeadAlgorithm for Metered<dyn Tls13AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        self.0.encrypter(key, iv)
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        MeteredDecrypter::boxed(self.0.decrypter(key, iv))
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

impl Tls12AeadAlgorithm for Metered<dyn Tls12AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        self.0.encrypter(key, iv, extra)
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        MeteredDecrypter::boxed(self.0.decrypter(key, iv))
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.0.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv, explicit)
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// Decrypter of a connection with its account. A new decrypter has a new account, so a peer may not update
/// keys: servers do so only after gigabytes, which no request reads.
struct MeteredDecrypter {
    inner: Box<dyn MessageDecrypter>,
    account: Account,
    /// Last bytes of the handshake messages.
    tail: [u8; KEY_UPDATE.len() + 1],
}

impl MeteredDecrypter {
    fn boxed(inner: Box<dyn MessageDecrypter>) -> Box<dyn MessageDecrypter> {
        Box::new(Self { inner, account: Account::new(), tail: Default::default() })
    }

    /// Returns true if the last message of a record is a KeyUpdate; such a message ends its record.
    fn asks_for_keys(&mut self, record: &[u8]) -> bool {
        for byte in record {
            self.tail.rotate_left(1);
            if let Some(last) = self.tail.last_mut() {
                *last = *byte;
            }
        }
        self.tail.starts_with(&KEY_UPDATE)
    }
}

impl MessageDecrypter for MeteredDecrypter {
    fn decrypt<'a>(
        &mut self,
        message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain = self.inner.decrypt(message, sequence)?;
        let has_credit = match plain.typ {
            ContentType::ApplicationData => self.account.charge(plain.payload),
            ContentType::Handshake if self.asks_for_keys(plain.payload) => {
                return Err(Error::General("the server asks for new keys".into()));
            }
            _ => self.account.charge_record(),
        };
        if has_credit {
            Ok(plain)
        } else {
            Err(Error::General("the server sends frames without content".into()))
        }
    }
}
