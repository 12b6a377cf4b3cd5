//! From the errors of the libraries below to [`FetchError`].

use super::{resolve::Refused, settings::HttpSettings};
use crate::error::{FetchError, Phase};
use std::{error::Error, io, time::Duration};

/// The limits that a timeout is reported against.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) connect: Duration,
    pub(super) read: Duration,
    pub(super) total: Duration,
}

impl Limits {
    pub(super) const fn of(settings: &HttpSettings) -> Self {
        Self { connect: settings.connect_timeout, read: settings.read_timeout, total: settings.total_timeout }
    }
}

/// What went wrong between the request and the end of the body. `proxy` is the one that stands between, if one does.
pub(super) fn classify(
    error: &reqwest::Error,
    host: &str,
    proxy: Option<String>,
    limits: Limits,
) -> FetchError {
    let host = host.to_owned();
    if let Some(refused) = cause::<Refused>(error) {
        return FetchError::AddressBlocked { host, address: refused.0 };
    }
    if error.is_connect() {
        let reason = innermost(error);
        if let Some(proxy) = proxy.filter(|_| is_own_trouble(error)) {
            return FetchError::Connect { host: proxy, reason, proxy: true };
        }
        return if error.is_timeout() {
            FetchError::Timeout { phase: Phase::Connect, limit: limits.connect }
        } else if error.is_dns() {
            FetchError::Dns { host, reason }
        } else if cause::<rustls::Error>(error).is_some() {
            FetchError::Tls { host, reason }
        } else {
            FetchError::Connect { host, reason, proxy: false }
        };
    }
    if error.is_timeout() {
        return FetchError::Timeout { phase: Phase::Body, limit: limits.read };
    }
    if error.is_builder() {
        return FetchError::Url(innermost(error));
    }
    if cause::<io::Error>(error).is_some_and(|e| is_lost(e.kind())) {
        return FetchError::ConnectionLost(innermost(error));
    }
    match cause::<hyper::Error>(error) {
        Some(e) if e.is_incomplete_message() || e.is_closed() || e.is_canceled() => {
            FetchError::ConnectionLost(innermost(error))
        }
        Some(_) => FetchError::Protocol(innermost(error)),
        None => FetchError::ConnectionLost(innermost(error)),
    }
}

/// Behind a proxy: whether it could not be reached itself. What it says of the host is an answer, and a TLS error is the
/// host's, since TLS begins behind it.
fn is_own_trouble(error: &reqwest::Error) -> bool {
    let reached = cause::<rustls::Error>(error).is_some();
    // a SOCKS error keeps its cause to itself
    let socks = || innermost(error).contains("failed to create underlying connection");
    !reached && (error.is_timeout() || error.is_dns() || cause::<io::Error>(error).is_some() || socks())
}

const fn is_lost(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as K;
    matches!(
        kind,
        K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe | K::UnexpectedEof | K::NotConnected
    )
}

/// The first error of a type in the chain. An `io::Error` hides what it wraps from `source`, so it is opened.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<T>() {
            return Some(found);
        }
        next = match current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => current.source(),
        };
    }
    None
}

/// The last message of the chain: the outer ones only say that something failed.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(next) = current.source() {
        current = next;
    }
    current.to_string()
}
