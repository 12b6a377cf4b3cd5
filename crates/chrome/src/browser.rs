//! A running browser: its process and the connection to it.

use crate::{
    cdp::{self, CallError, Session},
    error::{RenderError, RenderPhase},
    process::{Group, Process},
    process_watchdog::ProcessWatchdog,
    proxy::Lane,
    settings::ChromeSettings,
};
use headless_chrome::protocol::cdp::{Browser, Target};
use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

/// Deadline of the browser's first answer.
const START: Duration = Duration::from_secs(30);
/// Limit of the browser's own work, such as opening or closing a tab.
pub(crate) const BROWSER_LIMIT: Duration = Duration::from_secs(20);
/// Limit of counting the tabs.
const COUNT: Duration = Duration::from_secs(5);

/// Hosts reached without the proxy: none, not even loopback.
pub(crate) const NO_BYPASS: &str = "<-loopback>";

/// The ids of a tab.
pub(crate) struct OpenTab {
    pub(crate) context_id: String,
    pub(crate) target_id: String,
    pub(crate) session_id: String,
}

/// A running browser, killed when dropped.
pub(crate) struct Chrome {
    /// Watchdog, dropped before the processes that it reads.
    watchdog: ProcessWatchdog,
    /// Its death closes the connection.
    process: Process,
    pub(crate) session: Session,
    pages: AtomicU32,
    lost: AtomicBool,
}

impl Chrome {
    /// Starts a browser and waits for its first answer. It dies with the calling thread.
    pub(crate) fn start(settings: &ChromeSettings) -> Result<Self, RenderError> {
        Self::start_by(settings, true)
    }

    /// Starts a browser by bubblewrap, or without it if `by_bubblewrap` is false or bubblewrap is missing.
    fn start_by(settings: &ChromeSettings, by_bubblewrap: bool) -> Result<Self, RenderError> {
        let (process, connection) = Process::start(settings, by_bubblewrap)?;
        let watchdog = ProcessWatchdog::start(process.group(), process.profile(), settings)
            .map_err(|error| process.failed(error.to_string()))?;
        // a UTF-16 unit takes up to six bytes of JSON
        let max = settings.max_html.saturating_mul(6).saturating_add(1 << 20);
        let session = cdp::connect(connection, max).map_err(|error| process.failed(error.to_string()))?;
        match session.call(Browser::GetVersion(None), START) {
            Ok(_) => {}
            Err(CallError::Late(limit)) => {
                return Err(RenderError::Timeout { phase: RenderPhase::Launch, limit });
            }
            Err(error) => {
                let reason = process.last_line().unwrap_or(error.to_string());
                if !process.is_wrapped() {
                    return Err(process.failed(reason));
                }
                drop((watchdog, process));
                let chrome = Self::start_by(settings, false)?;
                chrome.process.on_bubblewrap_failure(&reason);
                return Ok(chrome);
            }
        }
        Ok(Self { watchdog, process, session, pages: AtomicU32::new(0), lost: AtomicBool::new(false) })
    }

    /// Opens a tab in a window of its own. A hidden tab is drawn at most once a second, and pages load lazy
    /// content on drawing. The window fills its screen, which saves the drawing of bars and buttons. The tab
    /// has a context of its own too: its connections use the lane, it shares no storage, and its pages' data
    /// stays in memory.
    pub(crate) fn open_tab(&self, lane: &Lane) -> Result<OpenTab, CallError> {
        let context = Target::CreateBrowserContext {
            dispose_on_detach: Some(true),
            proxy_server: Some(format!("http://{}", lane.address())),
            proxy_bypass_list: Some(NO_BYPASS.to_owned()),
            origins_with_universal_network_access: None,
        };
        let context_id = self.session.call(context, BROWSER_LIMIT)?.browser_context_id;
        let tab = self.session.call(
            Target::CreateTarget {
                url: "about:blank".into(),
                left: None,
                top: None,
                width: None,
                height: None,
                window_state: Some(Target::WindowState::Fullscreen),
                browser_context_id: Some(context_id.clone()),
                enable_begin_frame_control: None,
                new_window: Some(true),
                background: None,
                for_tab: None,
                hidden: None,
            },
            BROWSER_LIMIT,
        )?;
        let target_id = tab.target_id;
        let attach = Target::AttachToTarget { target_id: target_id.clone(), flatten: Some(true) };
        let session_id = self.session.call(attach, BROWSER_LIMIT)?.session_id;
        Ok(OpenTab { context_id, target_id, session_id })
    }

    /// Closes a tab and waits for its end. A browser that fails to close it is killed.
    pub(crate) fn close_tab(&self, tab: &Session, target_id: String, context_id: String, limit: Duration) {
        let end = tab.end();
        let asked = self.session.call(Target::CloseTarget { target_id }, limit);
        // a browser that refuses has closed the tab
        let gone =
            matches!(asked, Err(CallError::Refused(_))) || asked.is_ok() && end.recv_timeout(limit).is_ok();
        if gone {
            self.session.send(Target::DisposeBrowserContext { browser_context_id: context_id });
        } else {
            self.kill();
        }
    }

    /// Number of open tabs, without the browser's first one; 0 if the browser does not answer.
    pub(crate) fn tabs(&self) -> usize {
        let targets = self.session.call(Target::GetTargets { filter: None }, COUNT);
        let pages = targets.map_or(0, |all| all.target_infos.iter().filter(|one| one.Type == "page").count());
        pages.saturating_sub(1)
    }

    pub(crate) const fn group(&self) -> Group {
        self.process.group()
    }

    pub(crate) const fn watchdog(&self) -> &ProcessWatchdog {
        &self.watchdog
    }

    /// Counts a page; returns the number of earlier ones.
    pub(crate) fn count_page(&self) -> u32 {
        self.pages.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Marks the browser as dead or unreachable.
    pub(crate) fn mark_lost(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }

    /// Kills the browser.
    pub(crate) fn kill(&self) {
        self.mark_lost();
        self.group().kill();
    }

    /// Returns true if the browser can take a page.
    pub(crate) fn is_usable(&self) -> bool {
        !self.lost.load(Ordering::SeqCst) && self.process.is_alive()
    }
}
