//! The browser of a run: its start, and its availability.

use crate::{
    config::{ChromeSection, Config, StrategyChoice},
    exit::Failure,
};
use crawl_chrome::{
    Blocked, Budgets, ChromeSettings, ConsentRules, RenderError, Rendered, Renderer, find_browser,
};
use crawl_extract::Rules;
use crawl_fetch::{HttpSettings, ProxyChoice, ProxyUrl, browser_user_agent};
use std::{
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};
use url::Url;

/// Failed starts in a row after which the run does without a browser.
const STARTS: u32 = 3;
/// Environment variables that name a proxy.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Reason why no page can be rendered in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// A kind of the error log.
    pub kind: &'static str,
    /// Cause.
    pub message: String,
    /// Remedy for the user.
    pub hint: String,
}

/// A browser that starts when the first page needs it, or the reason why there is none.
pub struct Browser {
    renderer: Renderer,
    sandbox: bool,
    unavailable: OnceLock<Unavailable>,
    failed_starts: AtomicU32,
    rendered: AtomicU64,
    has_warned: AtomicBool,
}

/// Fails if the settings name a browser that is missing, and every page needs one.
///
/// # Errors
/// When it is missing (exit 2).
pub fn check(config: &Config) -> Result<(), Failure> {
    let path = &config.chrome.path;
    if path.is_empty() || config.fetch.strategy != StrategyChoice::Chrome {
        return Ok(());
    }
    match find_browser(Some(Path::new(path))) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::usage(format!(
            "--chrome: {path}: {error}, and --strategy chrome needs it for every page; {}",
            error.hint()
        ))),
    }
}

impl Browser {
    /// A browser with the settings, address policy and consent rules of the run. Its process starts with the first page.
    #[must_use]
    pub fn new(config: &Config, http: &HttpSettings, rules: &Rules, connections: usize) -> Self {
        let unavailable = OnceLock::new();
        let proxy = proxy(&config.fetch.proxy);
        if proxy.is_err() {
            // set once, on a new cell
            let _ = unavailable.set(Unavailable {
                kind: "browser_proxy",
                message: "a proxy is set that the browser cannot use, and it would go around it".into(),
                hint: crate::hints::of("browser_proxy").into(),
            });
        }
        Self {
            renderer: Renderer::new(ChromeSettings {
                proxy: proxy.ok().flatten(),
                max_connections: connections,
                ..settings(config, http, rules)
            }),
            sandbox: config.chrome.sandbox,
            unavailable,
            failed_starts: AtomicU32::new(0),
            rendered: AtomicU64::new(0),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Ends browser processes that killed crawls left running.
    pub fn reap(&self) {
        let reaped = self.renderer.reap();
        if reaped > 0 {
            tracing::info!(reaped, "ended browser processes of killed crawls");
        }
    }

    /// Returns the reason why there is no browser, once it is known.
    #[must_use]
    pub fn unavailable(&self) -> Option<&Unavailable> {
        self.unavailable.get()
    }

    /// Returns true if its sandbox is on.
    #[must_use]
    pub const fn sandbox(&self) -> bool {
        self.sandbox
    }

    /// Pages that were rendered.
    #[must_use]
    pub fn rendered(&self) -> u64 {
        self.rendered.load(Relaxed)
    }

    /// Returns the bytes received since the last call that belong to no rendered page, see
    /// [`Renderer::take_uncharged`].
    pub fn take_uncharged(&self) -> u64 {
        self.renderer.take_uncharged()
    }

    /// Renders a page. `headers` are sent to its origin only, and `as_sent` also returns the document as sent.
    /// `is_page` selects further documents that may be the page, see [`Renderer::render_page`].
    ///
    /// # Errors
    /// See [`RenderError`]. An error that every page would have makes the browser unavailable for the run.
    pub async fn render(
        &self,
        url: &Url,
        headers: Vec<(String, String)>,
        as_sent: bool,
        is_page: impl Fn(&Url) -> bool + Send + Sync + 'static,
    ) -> Result<Rendered, RenderError> {
        let rendered = self.renderer.render_page(url, headers, as_sent, is_page).await;
        match &rendered {
            Ok(_) => {
                self.failed_starts.store(0, Relaxed);
                self.rendered.fetch_add(1, Relaxed);
            }
            Err(error) => self.learn(error),
        }
        if rendered.is_ok() && !self.sandbox && !self.has_warned.swap(true, Relaxed) {
            tracing::warn!("the browser runs without its sandbox (--chrome-no-sandbox)");
        }
        rendered
    }

    fn learn(&self, error: &RenderError) {
        let for_good = match error {
            RenderError::Missing(_) | RenderError::Sandbox => true,
            // the first failure may come from a short lack of memory
            RenderError::Launch { .. } => self.failed_starts.fetch_add(1, Relaxed) + 1 >= STARTS,
            _ => false,
        };
        if !for_good {
            return;
        }
        let why = Unavailable { kind: error.kind(), message: error.to_string(), hint: error.hint() };
        if self.unavailable.set(why).is_ok() {
            tracing::warn!("no page is rendered: {error}; {}", error.hint());
        }
    }
}

/// Proxy of the browser's connections. Fails for a proxy that the browser cannot use: it supports only HTTP proxies,
/// without exceptions.
fn proxy(choice: &ProxyChoice) -> Result<Option<ProxyUrl>, ()> {
    let named = match choice {
        ProxyChoice::Direct => return Ok(None),
        ProxyChoice::Url(url) => url.clone(),
        ProxyChoice::Environment => {
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let mut named: Vec<String> = PROXY_VARIABLES.iter().filter_map(|name| variable(name)).collect();
            named.dedup();
            let Some(first) = named.first() else { return Ok(None) };
            let excepted = variable("NO_PROXY").or_else(|| variable("no_proxy")).is_some();
            if named.len() > 1 || excepted {
                return Err(());
            }
            Url::parse(first).map_err(|_| ())?.into()
        }
    };
    if named.address().scheme() == "http" { Ok(Some(named)) } else { Err(()) }
}

fn settings(config: &Config, http: &HttpSettings, rules: &Rules) -> ChromeSettings {
    let ChromeSection { tabs, sandbox, .. } = config.chrome;
    let banners = rules.consent_banners();
    ChromeSettings {
        path: Some(&config.chrome.path).filter(|path| !path.is_empty()).map(PathBuf::from),
        tabs,
        budgets: Budgets {
            navigate: config.chrome.navigate,
            settle: config.chrome.settle,
            ..Budgets::default()
        },
        blocked: Blocked {
            images: config.chrome.block_images,
            trackers: config.chrome.block_trackers,
            ..Blocked::default()
        },
        user_agent: Some(browser_user_agent(&http.user_agent)),
        sandbox,
        recycle_memory: config.chrome.recycle_memory.as_u64(),
        max_html: usize::try_from(config.fetch.max_body.as_u64()).unwrap_or(usize::MAX),
        max_page_bytes: config.chrome.max_page_bytes.as_u64(),
        max_page_memory: config.chrome.max_page_memory.as_u64(),
        consent: ConsentRules {
            selectors: banners.selectors.iter().map(ToString::to_string).collect(),
            tokens: banners.tokens.to_vec(),
            phrases: banners.phrases.to_vec(),
            max_words: banners.max_words,
            max_share: banners.max_share,
            overlays: banners.overlays.to_vec(),
            max_overlay_words: banners.max_overlay_words,
        },
        addresses: http.addresses.clone(),
        resolve: http.resolve.clone(),
        ..ChromeSettings::default()
    }
}
