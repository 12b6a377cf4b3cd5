//! Settings of a renderer, as plain data.

use crawl_fetch::{AddressPolicy, ProxyUrl, ResolveRule};
use std::{path::PathBuf, time::Duration};

/// Drawing scale. Pages are laid out at full size and do not notice it; drawing costs time per pixel.
pub(crate) const DRAWN_AT: f64 = 0.1;

/// Settings of a [`Renderer`](crate::Renderer).
#[derive(Clone, Debug)]
pub struct ChromeSettings {
    /// The browser's executable; `None`: the first of the usual names in `PATH`.
    pub path: Option<PathBuf>,
    /// Number of tabs, which is the number of pages rendered at a time; at least 1.
    pub tabs: usize,
    /// Time budgets of the phases of a page.
    pub budgets: Budgets,
    /// Resources that are not loaded.
    pub blocked: Blocked,
    /// `User-Agent`; `None`: the browser's own.
    pub user_agent: Option<String>,
    /// `Accept-Language`, as the browser's list of languages; `None`: the browser's own.
    pub accept_language: Option<String>,
    /// Width and height of screen and window in CSS pixels, as pages see them.
    pub viewport: (u32, u32),
    /// Chromium's sandbox. Without it a page that breaks the renderer has the rights of the crawler. Chromium
    /// cannot use it as root.
    pub sandbox: bool,
    /// Number of pages after which a browser is replaced.
    pub recycle_pages: u32,
    /// Memory of all browser processes (anonymous and shared, bytes) above which the browser is replaced.
    pub recycle_memory: u64,
    /// Memory bound (anonymous and shared) of one page, in bytes. All pages together may hold this times the
    /// number of tabs.
    pub max_page_memory: u64,
    /// Maximum HTML of a page, in UTF-16 units; the rest is cut off.
    pub max_html: usize,
    /// Maximum bytes that a page may load. Resources of its own frame count decoded. All connections,
    /// including those of its frames and workers, count as network bytes in both directions. Beyond it
    /// loading stops, and the current state is taken.
    pub max_page_bytes: u64,
    /// Bytes of one connection, each way.
    pub max_connection_bytes: u64,
    /// Maximum connections of the browser. Chromium itself opens 32 per tab.
    pub max_connections: usize,
    /// Scroll steps for lazy content; 0 disables scrolling.
    pub scrolls: u32,
    /// Signs of a consent banner.
    pub consent: ConsentRules,
    /// Addresses that may be contacted.
    pub addresses: AddressPolicy,
    /// Fixed addresses for hosts.
    pub resolve: Vec<ResolveRule>,
    /// Another HTTP proxy (`http://[user:password@]host:port`) for connections. Addresses that the policy
    /// refuses are not sent there. Hosts with an address in `resolve`, or in an allowed network, are reached
    /// directly. `None`: all are direct. Its own address is trusted and may be private.
    pub proxy: Option<ProxyUrl>,
    /// Keys of certificates that are trusted without an authority: SHA-256 of a certificate's
    /// SubjectPublicKeyInfo in base64. The key is that of the server's certificate or of one in its chain.
    /// Print it by `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256
    /// -binary | base64`.
    pub trusted_keys: Vec<String>,
    /// Parent directory of the browser's profiles; `None`: the system's directory for temporary files.
    pub profiles: Option<PathBuf>,
}

impl ChromeSettings {
    /// Drawn width and height, in pixels.
    pub(crate) fn screen(&self) -> (u32, u32) {
        let drawn = |pixels: u32| (f64::from(pixels) * DRAWN_AT).ceil().max(1.0) as u32;
        (drawn(self.viewport.0), drawn(self.viewport.1))
    }
}

impl Default for ChromeSettings {
    fn default() -> Self {
        Self {
            path: None,
            tabs: 2,
            budgets: Budgets::default(),
            blocked: Blocked::default(),
            user_agent: None,
            accept_language: None,
            viewport: (1280, 1024),
            sandbox: true,
            recycle_pages: RECYCLE_PAGES,
            recycle_memory: 2 << 30,
            max_page_memory: 1 << 30,
            max_html: 10 << 20,
            max_page_bytes: 64 << 20,
            max_connection_bytes: 64 << 20,
            max_connections: 64,
            scrolls: SCROLL_STEPS,
            consent: ConsentRules::default(),
            addresses: AddressPolicy::default(),
            resolve: Vec::new(),
            proxy: None,
            trusted_keys: Vec::new(),
            profiles: None,
        }
    }
}

/// Number of pages after which a browser is replaced. Leaks of single pages add up to some hundred megabytes
/// until then, and a start costs a second.
const RECYCLE_PAGES: u32 = 500;

/// Scroll steps for lazy content: screens of 1,024 pixels. Lists without end load no more of their entries.
pub const SCROLL_STEPS: u32 = 12;

/// Time limit of scrolling for lazy content. A step waits for what it loads, mostly less than 300 ms.
pub const SCROLL_TIME: Duration = Duration::from_secs(4);

/// Time limit of dismissing a consent banner and settling after it. A banner that a click removes is gone in
/// some tenths of a second.
pub const CONSENT_TIME: Duration = Duration::from_secs(2);

/// Time budgets of the phases of a page. Only a navigation that exceeds its budget is an error; the other
/// phases end with the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Limit from the request to the first byte of the document.
    pub navigate: Duration,
    /// Limit until network and DOM have settled.
    pub settle: Duration,
    /// Limit of dismissing consent and settling after it.
    pub consent: Duration,
    /// Scrolling for lazy content.
    pub scroll: Duration,
    /// Time without DOM changes and pending work after which a page has settled.
    pub quiet: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            navigate: Duration::from_secs(15),
            settle: Duration::from_secs(8),
            consent: CONSENT_TIME,
            scroll: SCROLL_TIME,
            quiet: Duration::from_millis(100),
        }
    }
}

impl Budgets {
    /// Total budget of the phases inside the page.
    pub(crate) fn inside(&self) -> Duration {
        self.settle + self.consent + self.scroll
    }
}

/// Resources that are not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Images.
    pub images: bool,
    /// Audio and video, by their URLs.
    pub media: bool,
    /// Fonts, known by their URLs.
    pub fonts: bool,
    /// Hosts that measure and advertise (`config/rules/browser.toml`).
    pub trackers: bool,
}

impl Default for Blocked {
    fn default() -> Self {
        Self { images: true, media: true, fonts: true, trackers: true }
    }
}

/// Signs of a consent banner: the rules of the static path (`crawl_extract::Rules::consent_banners`) as data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentRules {
    /// CSS selectors of banners.
    pub selectors: Vec<String>,
    /// Words of a banner's class or id.
    pub tokens: Vec<String>,
    /// Lower-case phrases, one of which the text of such an element must contain.
    pub phrases: Vec<String>,
    /// Maximum words of a banner.
    pub max_words: u32,
    /// Maximum share of the page's words in a banner.
    pub max_share: f32,
    /// CSS selectors of overlays with a button, to which that share does not apply: an overlay may be the
    /// only text of the page.
    pub overlays: Vec<String>,
    /// Maximum words of a banner that is such an overlay.
    pub max_overlay_words: u32,
}
