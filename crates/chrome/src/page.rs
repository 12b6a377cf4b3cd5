//! A rendered page: the result of [`Renderer::render`](crate::Renderer::render).

use std::time::Duration;
use url::Url;

/// A rendered page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Final document as HTML. Shadow roots are flattened: an element with a shadow root holds the root's
    /// content, with its own children in place of the slots. A declarative shadow root would be a template,
    /// and templates hold no text.
    pub html: String,
    /// The decoded document before any script ran; only if requested and at most 4 MiB.
    pub as_sent: Option<String>,
    /// Final URL, after redirects by servers and scripts, and after client-side routing.
    pub url: Url,
    /// URL of the last loaded document; differs from `url` if a script has changed the address without
    /// loading one.
    pub document: Url,
    /// Status of the response; 0 if the browser did not report one.
    pub status: u16,
    /// Response headers about the page, names in lower case: its type and language, `X-Robots-Tag`, the TDM
    /// headers, `Link`, `Last-Modified`, `Retry-After`. A file that a script led to is a `Refresh` among them.
    pub headers: Vec<(String, String)>,
    /// Duration of each phase.
    pub timings: Timings,
    /// Bytes from servers on the network for the page, with its frames and workers: headers and TLS included.
    pub bytes: u64,
    /// True if network and DOM settled within their budget; else the HTML is the state at its end.
    pub settled: bool,
    /// True if a script exceeded the budgets and was ended; the HTML is the state at that time. Then
    /// `settled` is false too.
    pub stopped: bool,
    /// True if the HTML or the page's loads were cut off.
    pub truncated: bool,
    /// Consent banners that were dismissed.
    pub banners: u32,
    /// Steps that were scrolled.
    pub scrolls: u32,
}

/// Durations of the phases of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Time until the document arrived.
    pub navigate: Duration,
    /// Time until network and DOM settled.
    pub settle: Duration,
    /// Dismissing consent.
    pub consent: Duration,
    /// Scrolling.
    pub scroll: Duration,
    /// Total time, including the transfer of the HTML.
    pub total: Duration,
}
