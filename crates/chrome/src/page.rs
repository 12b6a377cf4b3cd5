//! A page as the browser shows it: what [`Renderer::render`](crate::Renderer::render) gives.

use std::time::Duration;
use url::Url;

/// A page as the browser shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The document as HTML, as it stood at the end. Shadow roots are laid out flat: an element that has one holds what the root
    /// shows, with the element's own children in the places of the slots. A declarative shadow root would be a template, and
    /// templates hold no text.
    pub html: String,
    /// The document as it was sent, before any script ran, decoded; where it was asked for and has not more than 4 MiB.
    pub as_sent: Option<String>,
    /// Where it stands, after redirects of the server and of scripts, and after client-side routing.
    pub url: Url,
    /// The document that was loaded last: another than `url` where a script has changed the address without loading one.
    pub document: Url,
    /// Status of the response; 0 where the browser told none.
    pub status: u16,
    /// Names in lower case and values of the response headers that say something of the page (its type and language,
    /// `X-Robots-Tag`, the TDM headers, `Link`, `Last-Modified`, `Retry-After`).
    pub headers: Vec<(String, String)>,
    /// How long each phase took.
    pub timings: Timings,
    /// Bytes that servers sent for it, as they came over the network: headers and TLS included, and what its frames and workers asked
    /// for.
    pub bytes: u64,
    /// Whether network and DOM came to rest within their budget; else the HTML is what was there.
    pub settled: bool,
    /// Whether a script of the page had to be ended, since it kept the page beyond its budgets; the HTML is what was there. Then
    /// `settled` is false too.
    pub stopped: bool,
    /// Whether something was cut off: the HTML, or what the page would have loaded.
    pub truncated: bool,
    /// Consent banners that were dismissed.
    pub banners: u32,
    /// Steps that were scrolled.
    pub scrolls: u32,
}

/// How long the phases of a page took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Until the document came.
    pub navigate: Duration,
    /// Until network and DOM were at rest.
    pub settle: Duration,
    /// Dismissing consent.
    pub consent: Duration,
    /// Scrolling.
    pub scroll: Duration,
    /// All of it, taking the HTML out of the browser included.
    pub total: Duration,
}
