//! Conversion of library errors to [`FetchError`].

use super::{
    certificate,
    resolve::{Refused, Unanswered},
    settings::HttpSettings,
};
use crate::error::{FetchError, LocalResource, Phase};
use rustix::io::Errno;
use rustls::AlertDescription;
use std::{error::Error, io, time::Duration};

/// Limits that a timeout reports.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) connect: Duration,
    pub(super) read: Duration,
    pub(super) total: Duration,
    /// Bytes a second; 0: none.
    pub(super) min_rate: u64,
}

impl Limits {
    pub(super) const fn of(settings: &HttpSettings) -> Self {
        Self {
            connect: settings.connect_timeout,
            read: settings.read_timeout,
            total: settings.total_timeout,
            min_rate: settings.min_rate_bytes,
        }
    }
}

/// Classifies an error between the request and the end of the body. `proxy` is the proxy in between, if any.
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
    if let Some(local) = local(error) {
        return local;
    }
    if error.is_connect() {
        let reason = innermost(error);
        if let Some(proxy) = proxy.filter(|_| is_proxy_unreachable(error)) {
            return FetchError::Connect { host: proxy, reason, proxy: true };
        }
        return if error.is_timeout() {
            FetchError::Timeout { phase: Phase::Connect, limit: limits.connect }
        } else if error.is_dns() {
            FetchError::dns(host, reason)
        } else if let Some(rustls::Error::AlertReceived(AlertDescription::InternalError)) = cause(error) {
            // as a status of 5xx, it may pass
            FetchError::ConnectionLost(innermost(error))
        } else if let Some(tls) = cause::<rustls::Error>(error) {
            FetchError::Tls { host, reason: certificate::reason(tls).unwrap_or(reason) }
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
    if let Some(error) = cause::<h2::Error>(error) {
        return of_http2(error);
    }
    match cause::<hyper::Error>(error) {
        Some(e) if e.is_incomplete_message() || e.is_closed() || e.is_canceled() || is_early(e) => {
            FetchError::ConnectionLost(innermost(error))
        }
        Some(_) => FetchError::Protocol(innermost(error)),
        None => FetchError::ConnectionLost(innermost(error)),
    }
}

/// Converts the failure of an HTTP/2 stream or connection. A stream that the server ended without a protocol
/// error may succeed later.
fn of_http2(error: &h2::Error) -> FetchError {
    use h2::Reason;
    let is_passing = match error.reason() {
        Some(
            Reason::NO_ERROR
            | Reason::REFUSED_STREAM
            | Reason::CANCEL
            | Reason::ENHANCE_YOUR_CALM
            | Reason::INTERNAL_ERROR
            | Reason::SETTINGS_TIMEOUT
            | Reason::STREAM_CLOSED
            | Reason::CONNECT_ERROR,
        ) => !error.is_library(),
        Some(_) => false,
        // TLS reports its errors as invalid data
        None => error.get_io().is_some_and(|error| error.kind() != io::ErrorKind::InvalidData),
    };
    let words = error.to_string();
    if is_passing { FetchError::ConnectionLost(words) } else { FetchError::Http2(words) }
}

/// The error of this machine in the chain, if any.
pub(super) fn local(error: &(dyn Error + 'static)) -> Option<FetchError> {
    chain(error).find_map(|error| {
        let resource = match error.downcast_ref::<io::Error>() {
            Some(error) => exhausted(error)?,
            None => error.is::<Unanswered>().then_some(LocalResource::Resolver)?,
        };
        Some(FetchError::Local { resource, reason: error.to_string() })
    })
}

/// The resource that a system call reports as exhausted.
fn exhausted(error: &io::Error) -> Option<LocalResource> {
    match Errno::from_io_error(error)? {
        Errno::MFILE => Some(LocalResource::Descriptors),
        Errno::NFILE => Some(LocalResource::SystemDescriptors),
        Errno::NOMEM | Errno::NOBUFS => Some(LocalResource::Memory),
        Errno::NOSPC => Some(LocalResource::Space),
        _ => None,
    }
}

/// Returns true if the proxy itself was unreachable. An error that the proxy reports is about the host. A TLS
/// error is too, since TLS begins behind the proxy.
fn is_proxy_unreachable(error: &reqwest::Error) -> bool {
    let reached = cause::<rustls::Error>(error).is_some();
    // a SOCKS error hides its cause
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

/// Returns true if a connection ended without the closing message of TLS.
pub(super) fn is_unannounced_end(error: &reqwest::Error) -> bool {
    cause::<io::Error>(error).is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
}

/// Returns true if the server sent bytes before the request. A server that is full, or that ends an idle
/// connection, says so and closes it. Hyper has no other sign of it.
fn is_early(error: &hyper::Error) -> bool {
    error.to_string().contains("unexpected message")
}

/// The first error of a type in the chain.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// An error with its causes. An `io::Error` hides its inner error from `source`, so it is unwrapped.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&current| {
        match current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => current.source(),
        }
    })
}

/// The last message of the chain: the outer ones are generic.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut current = error;
    while let Some(next) = current.source() {
        current = next;
    }
    current.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_resource_errors_are_not_blamed_on_the_host() {
        use LocalResource as R;
        let of = |errno: Errno| {
            // as the libraries below wrap it
            let error = io::Error::other(io::Error::from(errno));
            local(&error).map(|error| match error {
                FetchError::Local { resource, .. } => resource,
                other => panic!("{other}"),
            })
        };
        for (errno, resource) in [
            (Errno::MFILE, R::Descriptors),
            (Errno::NFILE, R::SystemDescriptors),
            (Errno::NOMEM, R::Memory),
            (Errno::NOBUFS, R::Memory),
            (Errno::NOSPC, R::Space),
        ] {
            assert_eq!(of(errno), Some(resource), "{errno}");
        }
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::NETUNREACH, Errno::HOSTUNREACH] {
            assert_eq!(of(errno), None, "{errno}");
        }
    }
}
