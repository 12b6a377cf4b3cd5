//! Reasons for a failed rendering.

use std::{net::IpAddr, path::PathBuf, time::Duration};
use url::Url;

/// A phase of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderPhase {
    /// The browser is started.
    Launch,
    /// The document is requested.
    Navigate,
}

impl RenderPhase {
    const fn words(self) -> &'static str {
        match self {
            Self::Launch => "starting the browser",
            Self::Navigate => "waiting for the document",
        }
    }
}

/// Error of a page that was not rendered. The message says what happened, [`RenderError::hint`] how to react.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The URL cannot be opened in a browser.
    #[error("not a URL that can be rendered ({0})")]
    Url(String),
    /// There is no browser.
    #[error("no browser was found (looked for {0})")]
    Missing(String),
    /// Chromium cannot run with its sandbox here.
    #[error("the browser cannot run as root with its sandbox")]
    Sandbox,
    /// The browser did not start.
    #[error("the browser {path} did not start ({reason})", path = path.display())]
    Launch {
        /// Its executable.
        path: PathBuf,
        /// Its last words.
        reason: String,
    },
    /// The host is, or resolves to, an address that must not be contacted.
    #[error("{}", crawl_fetch::refused_address(host, address))]
    AddressBlocked {
        /// The host of the URL.
        host: String,
        /// Its first address that was refused.
        address: IpAddr,
    },
    /// The document did not load, for a reason of the page.
    #[error("the browser could not load the page ({0})")]
    Navigation(String),
    /// The document did not load, for a possibly temporary reason of the network or the host.
    #[error("the browser could not reach the page ({0})")]
    Network(String),
    /// The response is a download.
    #[error("it is a download")]
    Download,
    /// There is no document: status 204 or 205.
    #[error("the server answers without a document (status {0})")]
    NoContent(u16),
    /// A redirect or a script leads to a document that was not allowed, see
    /// [`Renderer::render_page`](crate::Renderer::render_page).
    #[error("it leads to {to}")]
    NavigatedAway {
        /// The document, which was not loaded.
        to: Url,
        /// HTTP status of the response with the redirect.
        status: u16,
    },
    /// Something took longer than its budget.
    #[error("{what} took longer than {limit:?}", what = phase.words())]
    Timeout {
        /// Phase that exceeded its limit.
        phase: RenderPhase,
        /// The budget that was passed.
        limit: Duration,
    },
    /// A script of the page did not stop; its tab was closed.
    #[error("the page's script did not end; its tab was closed")]
    Hung,
    /// The tab's process died.
    #[error("the page crashed its tab")]
    Crashed,
    /// The page exceeded its memory bound.
    #[error("the page used more than {} MiB of memory and was closed", limit >> 20)]
    Memory {
        /// The bound, in bytes.
        limit: u64,
    },
    /// The browser died or was replaced while it rendered the page.
    #[error("the browser ended while the page was rendered ({0})")]
    BrowserLost(String),
    /// The browser answered otherwise than expected.
    #[error("the browser gave no page ({0})")]
    Protocol(String),
    /// The renderer is being shut down.
    #[error("the renderer is shut down")]
    Closed,
}

impl RenderError {
    /// Stable name for counts and logs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Url(_) => "invalid_url",
            Self::Missing(_) => "browser_missing",
            Self::Sandbox => "browser_sandbox",
            Self::Launch { .. } => "browser_launch",
            Self::AddressBlocked { .. } => "address_blocked",
            Self::Navigation(_) | Self::NavigatedAway { .. } => "navigation",
            Self::Network(_) => "browser_network",
            Self::Download => "attachment",
            Self::NoContent(_) => "no_content",
            Self::Timeout { .. } => "timeout",
            Self::Hung => "page_hung",
            Self::Crashed => "page_crashed",
            Self::Memory { .. } => "page_memory",
            Self::BrowserLost(_) => "browser_lost",
            Self::Protocol(_) => "browser_protocol",
            Self::Closed => "renderer_closed",
        }
    }

    /// Advice to the user, in one sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        let fixed = match self {
            Self::Url(_) => "correct the address: only http and https URLs can be rendered",
            Self::Missing(_) => {
                "install Chromium (Debian: apt-get install chromium-headless-shell, or chromium; Ubuntu: chromium; Fedora: dnf \
                 install chromium), or name it with --chrome PATH"
            }
            Self::Sandbox => {
                "run the crawl as another user, or give --chrome-no-sandbox if the machine holds nothing else"
            }
            Self::Launch { .. } => {
                "start the browser by hand with --headless to see why; in a container without user namespaces it \
                 needs --chrome-no-sandbox"
            }
            Self::AddressBlocked { address, .. } => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                return format!(
                    "if this is intended, add {address}/{bits} to fetch.allow_addresses; a crawl also takes --allow-address {address}/{bits}"
                );
            }
            Self::Navigation(_) => {
                "look at the URL in a browser; the target of the redirect is a page of its own"
            }
            Self::Network(_) => "see whether the host is up, and run the same command again",
            Self::Download => "fetch it with another tool: only pages are rendered",
            Self::NoContent(_) => "nothing: the server has nothing to show there",
            Self::NavigatedAway { .. } => "nothing: the target of the redirect is a page of its own",
            Self::Timeout { .. } => "raise the browser's budgets if the site is merely slow",
            Self::Hung => "the page's owner has to fix its script; the static result stands",
            Self::Crashed => "try the page in a newer browser, or with fewer tabs if memory is short",
            Self::Memory { .. } => "raise chrome.max_page_memory if the page is known to need more",
            Self::BrowserLost(_) => {
                "try again; if it happens often the machine may be short of memory: use fewer tabs"
            }
            Self::Protocol(_) => "use a Chromium of this or last year, and report the message",
            Self::Closed => "nothing: the crawl is ending",
        };
        fixed.to_owned()
    }

    /// Returns true if a retry of the same page may succeed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::BrowserLost(_) | Self::Crashed | Self::Timeout { .. } | Self::Network(_))
    }

    /// Returns true if the host sent nothing: no connection, or no answer over it.
    #[must_use]
    pub const fn is_unanswered(&self) -> bool {
        matches!(self, Self::Network(_) | Self::Timeout { phase: RenderPhase::Navigate, .. })
    }

    /// Returns true if no page can be rendered here.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Sandbox | Self::Launch { .. } | Self::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn render_error_hints_name_the_remedy() {
        assert!(RenderError::Missing("chromium".into()).hint().contains("apt-get install chromium"));
        assert!(RenderError::Sandbox.hint().contains("--chrome-no-sandbox"));
        let blocked = RenderError::AddressBlocked { host: "h".into(), address: "fe80::1".parse().unwrap() };
        assert!(blocked.hint().contains("--allow-address fe80::1/128"), "{}", blocked.hint());
    }
}
