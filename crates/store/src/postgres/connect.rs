//! Connections: TLS, passwords, the version of the server, and the session.

use super::{
    db::{Db, Link, OwnRuntime, get},
    error::sql,
    migrate::quoted,
    reach,
    url::{PgUrl, TlsMode, chain},
};
use crawl_model::StoreError;
use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider, pki_types::CertificateDer};
use std::{path::Path, sync::Arc, time::Duration};
use tokio_postgres::{NoTls, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Oldest version of a server that prunes partitions of updates at run time.
const OLDEST_SERVER: i32 = 140_000;

/// Maximum wait for an address, and for the answers that begin a session, unless the URL has another one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of the session. Every statement finds a few rows by an index, so plans need no statistics. A change without a
/// transaction of its own is durable with the next durable one.
const SESSION: &str = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; \
                       SET jit = off; SET synchronous_commit = off; SET plan_cache_mode = force_generic_plan; \
                       SET client_min_messages = warning; SET lock_timeout = '30s'; \
                       SET idle_in_transaction_session_timeout = '15s'";

/// Limits of the session that are lifted unless the URL sets them. Those of the role or the database are meant for sessions of
/// people. A migration, a copy and the start of a round take their time.
const LIFTED: [&str; 2] = ["statement_timeout", "idle_session_timeout"];

/// Takes the fastest compression of large values that the server has.
const COMPRESSION: &str = "SELECT set_config('default_toast_compression', 'lz4', false) FROM pg_settings \
                           WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)";

/// A crawl in a database.
#[derive(Clone, Debug)]
pub(super) struct Target {
    url: PgUrl,
    crawl: String,
    schema: String,
}

impl Target {
    /// A crawl by its name: letters, digits, `-`, `_` and `.`, at most 48 of them.
    pub(super) fn new(url: &PgUrl, crawl: &str) -> Result<Self, StoreError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if crawl.is_empty() || crawl.len() > 48 || !crawl.chars().all(is_allowed) {
            return Err(StoreError::Other(format!(
                "\"{crawl}\" cannot name a crawl: use up to 48 letters, digits, '-', '_' and '.'"
            )));
        }
        Ok(Self { url: url.clone(), crawl: crawl.to_owned(), schema: format!("crawl_{crawl}") })
    }

    pub(super) fn crawl(&self) -> &str {
        &self.crawl
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Server and database, without secrets.
    pub(super) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Opens a connection and checks the server.
    pub(super) fn connect(&self) -> Result<Db, StoreError> {
        let (mut config, limit) = (self.url.config().clone(), self.url.connect_timeout(CONNECT_TIMEOUT));
        // TLS and the begin of the session have as much time as the connection itself
        let whole = limit.saturating_mul(2);
        config.connect_timeout(limit).application_name("crawl");
        if let Some(password) = self.url.password()? {
            config.password(password);
        }
        let runtime = OwnRuntime::new()?;
        let connected = match self.url.tls() {
            TlsMode::Disable => {
                config.ssl_mode(SslMode::Disable);
                runtime.wait(reach::connect(&config, NoTls, whole))
            }
            mode => {
                let tls = MakeRustlsConnect::new(tls_config(mode, self.url.root_cert())?);
                config.ssl_mode(SslMode::Require);
                runtime.wait(reach::connect(&config, tls, whole))
            }
        };
        let connected = connected.ok_or_else(|| StoreError::Other("the connection is closed".into()))?;
        let (client, driver) = connected.map_err(|error| match error {
            Some(error) => self.unreachable(error),
            None => StoreError::Unavailable(format!(
                "{}: no answer within {} s; see connect_timeout in docs/postgres.md",
                self.url,
                whole.as_secs()
            )),
        })?;
        let mut db = Db::new(Link::new(runtime, client, driver));
        let version = db.one("SELECT current_setting('server_version_num')::int", &[])?;
        check_version(get(&version, 0)?)?;
        db.batch(&self.session())?;
        db.rows(COMPRESSION, &[])?;
        Ok(db)
    }

    /// Statements that begin a session.
    fn session(&self) -> String {
        let lifted = LIFTED.iter().filter(|limit| !self.sets(limit));
        let lifted: String = lifted.map(|limit| format!("; SET {limit} = 0")).collect();
        format!("SET search_path TO {}; {SESSION}{lifted}", quoted(&self.schema))
    }

    /// Returns true if the `options` of the URL have this setting of the session.
    fn sets(&self, setting: &str) -> bool {
        // the server takes `--statement-timeout=60s` too
        let options = self.url.config().get_options().unwrap_or_default();
        options.replace('-', "_").to_ascii_lowercase().contains(setting)
    }

    fn unreachable(&self, error: tokio_postgres::Error) -> StoreError {
        if error.as_db_error().is_some() {
            return sql(error);
        }
        let words = chain(&error);
        if words.contains("password missing") {
            let account = self.url.account().join(":");
            return StoreError::Unavailable(format!(
                "the server asks for a password: set PGPASSWORD, or add a line {account}:PASSWORD to the file of PGPASSFILE"
            ));
        }
        StoreError::Unavailable(words)
    }
}

fn check_version(found: i32) -> Result<(), StoreError> {
    if found < OLDEST_SERVER {
        let (found, oldest) = (found / 10_000, OLDEST_SERVER / 10_000);
        return Err(StoreError::Other(format!("PostgreSQL {found} is too old: use {oldest} or newer")));
    }
    Ok(())
}

fn tls_config(mode: TlsMode, root_cert: Option<&Path>) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| StoreError::Other(format!("TLS: {e}")))?;
    let builder = match mode {
        TlsMode::VerifyFull => builder.with_root_certificates(roots(root_cert)?),
        TlsMode::Require | TlsMode::Disable => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(any::AnyCertificate(provider)))
        }
    };
    Ok(builder.with_no_client_auth())
}

/// The certificates of a file, or those that the system trusts.
fn roots(root_cert: Option<&Path>) -> Result<RootCertStore, StoreError> {
    use rustls::pki_types::pem::PemObject;
    let mut roots = RootCertStore::empty();
    let Some(path) = root_cert else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let damaged = |e: &dyn std::fmt::Display| StoreError::Other(format!("{}: {e}", path.display()));
    for certificate in CertificateDer::pem_file_iter(path).map_err(|e| damaged(&e))? {
        roots.add(certificate.map_err(|e| damaged(&e))?).map_err(|e| damaged(&e))?;
    }
    Ok(roots)
}

/// Encryption without a check of the certificate, for `sslmode=require`.
mod any {
    use super::{Arc, CertificateDer, CryptoProvider};
    use rustls::{
        DigitallySignedStruct, Error, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{verify_tls12_signature, verify_tls13_signature},
        pki_types::{ServerName, UnixTime},
    };

    #[derive(Debug)]
    pub(super) struct AnyCertificate(pub(super) Arc<CryptoProvider>);

    impl ServerCertVerifier for AnyCertificate {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_postgresql_server_is_refused() {
        assert!(check_version(140_000).is_ok() && check_version(170_002).is_ok());
        let error = check_version(130_014).unwrap_err().to_string();
        assert_eq!(error, "storage: PostgreSQL 13 is too old: use 14 or newer");
    }

    #[test]
    fn both_kinds_of_tls_can_be_set_up() {
        assert!(tls_config(TlsMode::Require, None).is_ok());
        assert!(tls_config(TlsMode::VerifyFull, None).is_ok());
        let missing = tls_config(TlsMode::VerifyFull, Some(Path::new("/nonexistent/ca.pem")));
        assert!(missing.unwrap_err().to_string().contains("/nonexistent/ca.pem"));
    }

    /// The error of a connection to this URL.
    fn refusal(text: &str) -> String {
        let target = Target::new(&text.parse().unwrap(), "news").unwrap();
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let connect = move || sender.send(target.connect().err());
        let thread = std::thread::Builder::new().name("connect".into()).spawn(connect).unwrap();
        let error = receiver.recv_timeout(Duration::from_secs(30)).expect("an answer");
        thread.join().unwrap().unwrap();
        let Some(StoreError::Unavailable(words)) = error else { panic!("{error:?}") };
        words
    }

    /// A server that accepts connections and says nothing, and its port.
    fn silent_server() -> (std::net::TcpListener, u16) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    #[test]
    fn silent_server_is_unavailable() {
        let (_listener, port) = silent_server();
        let words = refusal(&format!("postgres://u@127.0.0.1:{port}/db?connect_timeout=1"));
        let place = format!("postgres://u@127.0.0.1:{port}/db");
        assert_eq!(words, format!("{place}: no answer within 2 s; see connect_timeout in docs/postgres.md"));
    }

    #[test]
    fn host_behind_a_silent_one_is_asked() {
        let ((_first, one), (second, two)) = (silent_server(), silent_server());
        let answer =
            std::thread::Builder::new().name("second".into()).spawn(move || second.accept().map(drop));
        let words = refusal(&format!("postgres://u@127.0.0.1:{one},127.0.0.1:{two}/db?connect_timeout=1"));
        assert!(!words.contains("no answer"), "the second host closes the connection: {words}");
        answer.unwrap().join().unwrap().unwrap();
    }

    #[test]
    fn limits_of_the_url_are_not_lifted() {
        let session = |query: &str| {
            let url = format!("postgres://u@h/db{query}").parse().unwrap();
            Target::new(&url, "news").unwrap().session()
        };
        assert!(session("").ends_with("; SET statement_timeout = 0; SET idle_session_timeout = 0"));
        let own = session("?options=-c%20statement_timeout%3D60000");
        assert!(!session("?options=--Statement-Timeout%3D1min").contains("statement_timeout"));
        assert!(
            !own.contains("statement_timeout = 0") && own.contains("SET idle_session_timeout = 0"),
            "{own}"
        );
    }

    #[test]
    fn crawl_name_must_be_a_plain_identifier() {
        let url: PgUrl = "postgres://u@h/db".parse().unwrap();
        assert_eq!(Target::new(&url, "news-2026").unwrap().schema(), "crawl_news-2026");
        for name in ["", "a b", "a\"; DROP SCHEMA x", &"x".repeat(49)] {
            assert!(Target::new(&url, name).is_err(), "{name}");
        }
    }
}
