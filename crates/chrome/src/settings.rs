//! What a renderer is built from: plain data.

use crawl_fetch::{AddressPolicy, ProxyUrl, ResolveRule};
use std::{path::PathBuf, time::Duration};

/// The scale at which pages are drawn. They are laid out in full, and do not see it; nobody looks at the drawing, which costs
/// time by its pixels.
pub(crate) const DRAWN_AT: f64 = 0.1;

/// Settings of a [`Renderer`](crate::Renderer).
#[derive(Clone, Debug)]
pub struct ChromeSettings {
    /// The browser's executable; `None`: the first of the usual names in `PATH`.
    pub path: Option<PathBuf>,
    /// Tabs, so pages that are rendered at a time; at least 1.
    pub tabs: usize,
    /// How long each phase of a page may take.
    pub budgets: Budgets,
    /// What is not loaded.
    pub blocked: Blocked,
    /// `User-Agent`; `None`: the browser's own.
    pub user_agent: Option<String>,
    /// `Accept-Language`, as the browser's list of languages; `None`: the browser's own.
    pub accept_language: Option<String>,
    /// Width and height of the screen and of the window in CSS pixels, as pages see them.
    pub viewport: (u32, u32),
    /// Chromium's sandbox. Without it a page that breaks the renderer has the rights of the crawler; as root Chromium
    /// does not start with it.
    pub sandbox: bool,
    /// Pages after which a browser is replaced by a new one.
    pub recycle_pages: u32,
    /// Memory of a browser's processes together (anonymous and shared, bytes) above which it is replaced.
    pub recycle_memory: u64,
    /// Bound on the memory (anonymous and shared) of one page, in bytes. All pages together may hold this times the number of tabs.
    pub max_page_memory: u64,
    /// HTML of a page that is kept, in UTF-16 units; what follows is cut off.
    pub max_html: usize,
    /// Bytes that a page may load: decoded for what its own frame loads, and as they go over the network for all its connections,
    /// those of its frames and workers included, in both directions. Beyond it loading is stopped and what is there is taken.
    pub max_page_bytes: u64,
    /// Bytes of one connection, each way.
    pub max_connection_bytes: u64,
    /// Connections of the browser at a time. Chromium itself makes 32 a tab.
    pub max_connections: usize,
    /// Steps that a page is scrolled for lazy content; 0: it is not.
    pub scrolls: u32,
    /// What consent banners are known by.
    pub consent: ConsentRules,
    /// Which addresses may be contacted.
    pub addresses: AddressPolicy,
    /// Fixed addresses for hosts.
    pub resolve: Vec<ResolveRule>,
    /// Another HTTP proxy (`http://[user:password@]host:port`) that connections go through; what the address policy refuses is not sent
    /// there, and what has an address in `resolve`, or is an address in a network that was allowed, is reached without it.
    /// `None`: all are direct. Its own address is the user's word and may be private.
    pub proxy: Option<ProxyUrl>,
    /// Keys of certificates that are trusted though no authority vouches for them: SHA-256 of a certificate's
    /// SubjectPublicKeyInfo in base64 (as `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256
    /// -binary | base64` prints it), of the server's certificate or of one that it sends along.
    pub trusted_keys: Vec<String>,
    /// Where the browser's profiles are made; `None`: the system's directory for temporary files.
    pub profiles: Option<PathBuf>,
}

impl ChromeSettings {
    /// Width and height, in pixels, of what is really drawn.
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
            recycle_pages: 500,
            recycle_memory: 2 << 30,
            max_page_memory: 1 << 30,
            max_html: 10 << 20,
            max_page_bytes: 64 << 20,
            max_connection_bytes: 64 << 20,
            max_connections: 64,
            scrolls: 12,
            consent: ConsentRules::default(),
            addresses: AddressPolicy::default(),
            resolve: Vec::new(),
            proxy: None,
            trusted_keys: Vec::new(),
            profiles: None,
        }
    }
}

/// How long each phase of a page may take. Only a navigation that takes too long is an error; the others end with what
/// is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// From the request to the first byte of the document.
    pub navigate: Duration,
    /// Until network and DOM have come to rest.
    pub settle: Duration,
    /// Dismissing consent, and the rest after it.
    pub consent: Duration,
    /// Scrolling for lazy content.
    pub scroll: Duration,
    /// How long the DOM has to stay as it is, with nothing under way, to be at rest.
    pub quiet: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            navigate: Duration::from_secs(15),
            settle: Duration::from_secs(8),
            consent: Duration::from_secs(2),
            scroll: Duration::from_secs(4),
            quiet: Duration::from_millis(100),
        }
    }
}

impl Budgets {
    /// What the phases inside the page may take together.
    pub(crate) fn inside(&self) -> Duration {
        self.settle + self.consent + self.scroll
    }
}

/// Resources that are not loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Images.
    pub images: bool,
    /// Audio and video, known by their URLs.
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

/// What consent banners are known by: the rules of the static path (`crawl_extract::Rules::consent_banners`) as data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentRules {
    /// CSS selectors of banners.
    pub selectors: Vec<String>,
    /// Words of a class or id that may be a banner's.
    pub tokens: Vec<String>,
    /// Lower-case phrases, one of which the text of an element with such a name must hold.
    pub phrases: Vec<String>,
    /// More words than this are not a banner.
    pub max_words: u32,
    /// An element with more than this share of the page's words is not a banner,
    pub max_share: f32,
    /// unless it matches one of these CSS selectors: laid over the page, with something to press, it may be all there is.
    pub overlays: Vec<String>,
    /// More words than this are not a banner even then.
    pub max_overlay_words: u32,
}
