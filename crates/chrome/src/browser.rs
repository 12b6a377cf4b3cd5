//! A browser that runs: its process, the connection to it, and the tab that keeps the connection awake.

use crate::{
    error::RenderError,
    process::{Group, Process},
    proxy::Proxy,
    settings::ChromeSettings,
    watch::{Step, Watch},
};
use anyhow::Result;
use headless_chrome::{Browser, Tab, protocol::cdp::Target::CreateTarget};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// The limit of any call, and of the time without an event of the browser after which the crate closes the connection.
/// Calls end sooner, see [`Watch`]; a browser that was idle for half of it is replaced before it is used.
const IDLE: Duration = Duration::from_secs(600);
/// How long the browser may take for a tab of its own.
const OPEN: Duration = Duration::from_secs(20);
/// What the spare tab does: an event every few milliseconds ends the read during which the crate holds the lock of the
/// connection, for which each call would otherwise wait for up to 100 ms.
const TICK: &str = "setInterval(() => tick(''), 8)";

/// A running browser. Dropped, it is dead.
pub(crate) struct Chrome {
    // dropped first: the connection is closed by the death of the process
    process: Process,
    browser: Browser,
    _ticker: Arc<Tab>,
    pages: AtomicU32,
    lost: AtomicBool,
    used: Mutex<Instant>,
}

impl Chrome {
    /// Starts a browser. It dies with the calling thread.
    pub(crate) fn start(
        settings: &ChromeSettings,
        proxy: &Proxy,
        watch: &Watch,
    ) -> Result<Self, RenderError> {
        let process = Process::start(settings, proxy.address())?;
        if let Some(port) = url::Url::parse(&process.debug_url).ok().and_then(|url| url.port()) {
            proxy.close_port(port);
        }
        let _guard = watch.arm(None, process.group(), Step::Kill, OPEN);
        let lost = |error: anyhow::Error| RenderError::BrowserLost(error.to_string());
        let browser = Browser::connect_with_timeout(process.debug_url.clone(), IDLE).map_err(lost)?;
        browser.set_default_timeout(OPEN);
        let ticker = start_ticker(&browser).map_err(lost)?;
        let (pages, lost) = (AtomicU32::new(0), AtomicBool::new(false));
        Ok(Self { process, browser, _ticker: ticker, pages, lost, used: Mutex::new(Instant::now()) })
    }

    /// Opens a tab in a window of its own: a tab behind another is hidden, and hidden pages load nothing lazily.
    pub(crate) fn open_tab(&self) -> Result<Arc<Tab>> {
        self.browser.new_tab_with_options(CreateTarget {
            url: "about:blank".into(),
            left: None,
            top: None,
            width: None,
            height: None,
            window_state: None,
            browser_context_id: None,
            enable_begin_frame_control: None,
            new_window: Some(true),
            background: None,
            for_tab: None,
            hidden: None,
        })
    }

    /// Tabs that pages have, the spare ones left out.
    pub(crate) fn tabs(&self) -> usize {
        let tabs = self.browser.get_tabs().lock().unwrap_or_else(PoisonError::into_inner);
        // the one that the browser begins with, and the one that ticks
        tabs.len().saturating_sub(2)
    }

    pub(crate) const fn group(&self) -> Group {
        self.process.group()
    }

    /// Counts a page; gives how many there were.
    pub(crate) fn count_page(&self) -> u32 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.pages.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Says that the browser is dead or cannot be reached.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }

    /// Whether the browser may be given a page.
    pub(crate) fn is_usable(&self) -> bool {
        let idle = self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        !self.lost.load(Ordering::SeqCst) && idle < IDLE / 2 && self.process.is_alive()
    }
}

fn start_ticker(browser: &Browser) -> Result<Arc<Tab>> {
    let ticker = browser.new_tab()?;
    ticker.expose_function("tick", Arc::new(|_| {}))?;
    ticker.evaluate(TICK, false)?;
    Ok(ticker)
}
