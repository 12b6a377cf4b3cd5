//! A browser that runs: its process and the connection to it.

use crate::{
    cdp::{self, CallError, Session},
    error::RenderError,
    process::{Group, Process},
    proxy::Proxy,
    settings::ChromeSettings,
};
use headless_chrome::protocol::cdp::Target;
use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

/// How long the browser may take for what it does itself: opening a tab, closing one.
pub(crate) const OWN: Duration = Duration::from_secs(20);
/// How long counting the tabs may take.
const COUNT: Duration = Duration::from_secs(5);

/// A running browser. Dropped, it is dead.
pub(crate) struct Chrome {
    /// Its death closes the connection.
    process: Process,
    pub(crate) session: Session,
    pages: AtomicU32,
    lost: AtomicBool,
}

impl Chrome {
    /// Starts a browser. It dies with the calling thread.
    pub(crate) fn start(settings: &ChromeSettings, proxy: &Proxy) -> Result<Self, RenderError> {
        let process = Process::start(settings, proxy.address())?;
        if let Some(port) = url::Url::parse(&process.debug_url).ok().and_then(|url| url.port()) {
            proxy.close_port(port);
        }
        // a UTF-16 unit takes up to six bytes of JSON
        let max = settings.max_html.saturating_mul(6).saturating_add(1 << 20);
        let session = cdp::connect(&process.debug_url, max)
            .map_err(|error| RenderError::BrowserLost(error.to_string()))?;
        Ok(Self { process, session, pages: AtomicU32::new(0), lost: AtomicBool::new(false) })
    }

    /// Opens a tab in a window of its own: a tab behind another is drawn once a second at most, and pages load lazily what is
    /// drawn. The window fills its screen, which spares the drawing of bars and buttons that nobody sees. Gives the tab's id
    /// and that of the session with it.
    pub(crate) fn open_tab(&self) -> Result<(String, String), CallError> {
        let tab = self.session.call(
            Target::CreateTarget {
                url: "about:blank".into(),
                left: None,
                top: None,
                width: None,
                height: None,
                window_state: Some(Target::WindowState::Fullscreen),
                browser_context_id: None,
                enable_begin_frame_control: None,
                new_window: Some(true),
                background: None,
                for_tab: None,
                hidden: None,
            },
            OWN,
        )?;
        let target_id = tab.target_id;
        let attach = Target::AttachToTarget { target_id: target_id.clone(), flatten: Some(true) };
        let session = self.session.call(attach, OWN)?.session_id;
        Ok((target_id, session))
    }

    /// Closes a tab and waits until it is gone. A browser that does not manage to is killed.
    pub(crate) fn close_tab(&self, tab: &Session, target_id: String, limit: Duration) {
        let end = tab.end();
        let asked = self.session.call(Target::CloseTarget { target_id }, limit);
        // a browser that refuses knows the tab no more
        let gone =
            matches!(asked, Err(CallError::Refused(_))) || asked.is_ok() && end.recv_timeout(limit).is_ok();
        if !gone {
            self.kill();
        }
    }

    /// Tabs that are open, by whomever, but the one that the browser begins with; 0 where it does not say.
    pub(crate) fn tabs(&self) -> usize {
        let targets = self.session.call(Target::GetTargets { filter: None }, COUNT);
        let pages = targets.map_or(0, |all| all.target_infos.iter().filter(|one| one.Type == "page").count());
        pages.saturating_sub(1)
    }

    pub(crate) const fn group(&self) -> Group {
        self.process.group()
    }

    /// Counts a page; gives how many there were.
    pub(crate) fn count_page(&self) -> u32 {
        self.pages.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Says that the browser is dead or cannot be reached.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }

    /// Ends it.
    pub(crate) fn kill(&self) {
        self.lose();
        self.group().kill();
    }

    /// Whether the browser may be given a page.
    pub(crate) fn is_usable(&self) -> bool {
        !self.lost.load(Ordering::SeqCst) && self.process.is_alive()
    }
}
