//! Renderer: a queue, a thread per tab, and the shared browser.

use crate::{
    browser::Chrome,
    error::RenderError,
    page::Rendered,
    process,
    proxy::Proxy,
    script::page_script,
    seen::PageRequest,
    settings::ChromeSettings,
    tab::{PageTab, Tools},
    watch::Watch,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};
use tokio::sync::{mpsc, oneshot};
use url::Url;

/// Pages between two checks of the browser's memory. A page that is still running after it was taken triggers a check
/// at once.
const MEMORY_CHECK_PAGES: u32 = 10;

/// Statistics of a renderer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RendererStats {
    /// Pages that were rendered.
    pub pages: u64,
    /// Pages that ended with an error.
    pub errors: u64,
    /// Browsers that were started.
    pub browsers: u64,
    /// Tabs that were opened.
    pub tabs_opened: u64,
    /// Tabs that are open now.
    pub tabs: usize,
    /// Bytes of anonymous and shared memory of all browser processes.
    pub memory: u64,
}

struct Job {
    asked: PageRequest,
    reply: oneshot::Sender<Result<Rendered, RenderError>>,
}

#[derive(Default)]
struct Counts {
    pages: AtomicU64,
    errors: AtomicU64,
    browsers: AtomicU64,
    tabs: AtomicU64,
}

/// State shared by the threads.
struct Shared {
    settings: ChromeSettings,
    script: String,
    proxy: Proxy,
    watch: Watch,
    /// The only lasting reference to the browser: after its replacement it dies with the last page in it.
    chrome: Mutex<Option<Arc<Chrome>>>,
    counts: Counts,
    closed: AtomicBool,
}

/// The running threads and their shared state.
struct Running {
    shared: Arc<Shared>,
    jobs: mpsc::Sender<Job>,
    threads: Vec<JoinHandle<()>>,
}

/// Renders pages in a headless browser. The first page starts threads, the proxy and the browser. Dropping it
/// waits until all its processes and threads have ended.
pub struct Renderer {
    settings: ChromeSettings,
    running: Mutex<Option<Running>>,
}

impl Renderer {
    /// Creates a renderer. The first page starts the browser.
    #[must_use]
    pub fn new(settings: ChromeSettings) -> Self {
        Self { settings, running: Mutex::new(None) }
    }

    /// Ends the browsers of killed crawls and removes their profiles; returns their number. Each start of a
    /// browser does the same.
    pub fn reap(&self) -> usize {
        process::reap(&self.settings.profiles.clone().unwrap_or_else(std::env::temp_dir))
    }

    /// Renders a page: navigates, waits until it settles, dismisses consent, scrolls, and takes the HTML.
    /// Waits for a tab if all are in use. The URL is loaded as it is; scope, robots.txt and politeness are
    /// the caller's.
    ///
    /// # Errors
    /// See [`RenderError`]; the renderer stays usable after each of them.
    pub async fn render(&self, url: &Url) -> Result<Rendered, RenderError> {
        self.queue(PageRequest { url: url.clone(), is_page: None, headers: Vec::new(), as_sent: false }).await
    }

    /// Renders a page as [`render`](Self::render) does, but only documents that `is_page` allows. If a
    /// redirect, a script or a refresh leads to another document, that is not requested, and the page ends as
    /// [`RenderError::NavigatedAway`]. Documents of frames, fragments, and address changes without a load are
    /// exempt. If a script leads to a file, that is not requested either, but the page stays. `is_page` runs on
    /// the thread that reads from the browser, so it should be fast.
    ///
    /// `headers` (names and values) are sent with each request of the page to the origin of `url`, and to no
    /// other. With `as_sent` the result includes the original document ([`Rendered::as_sent`]).
    ///
    /// # Errors
    /// See [`RenderError`]; the renderer stays usable after each of them.
    pub async fn render_page(
        &self,
        url: &Url,
        headers: Vec<(String, String)>,
        as_sent: bool,
        is_page: impl Fn(&Url) -> bool + Send + Sync + 'static,
    ) -> Result<Rendered, RenderError> {
        self.queue(PageRequest { url: url.clone(), is_page: Some(Arc::new(is_page)), headers, as_sent }).await
    }

    async fn queue(&self, asked: PageRequest) -> Result<Rendered, RenderError> {
        let url = &asked.url;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(RenderError::Url(url.to_string()));
        }
        let jobs = self.jobs()?;
        let (reply, answer) = oneshot::channel();
        jobs.send(Job { asked, reply }).await.map_err(|_| RenderError::Closed)?;
        answer.await.unwrap_or(Err(RenderError::Closed))
    }

    /// Statistics so far. It queries the browser and reads its processes, so do not call it for each page.
    #[must_use]
    pub fn stats(&self) -> RendererStats {
        let shared = lock(&self.running).as_ref().map(|running| Arc::clone(&running.shared));
        let Some(shared) = shared else { return RendererStats::default() };
        let counts = &shared.counts;
        let chrome = lock(&shared.chrome).clone();
        RendererStats {
            pages: counts.pages.load(Ordering::Relaxed),
            errors: counts.errors.load(Ordering::Relaxed),
            browsers: counts.browsers.load(Ordering::Relaxed),
            tabs_opened: counts.tabs.load(Ordering::Relaxed),
            tabs: chrome.as_ref().map_or(0, |chrome| chrome.tabs()),
            memory: chrome.as_ref().map_or(0, |chrome| chrome.group().memory()),
        }
    }

    /// Takes the bytes from servers since the last call that are in no [`Rendered::bytes`]: those of failed
    /// pages, and those after a page was taken.
    #[must_use]
    pub fn take_uncharged(&self) -> u64 {
        lock(&self.running).as_ref().map_or(0, |running| running.shared.proxy.take_uncharged())
    }

    fn jobs(&self) -> Result<mpsc::Sender<Job>, RenderError> {
        let mut running = lock(&self.running);
        if let Some(running) = running.as_ref() {
            return Ok(running.jobs.clone());
        }
        let path = process::find_browser(self.settings.path.as_deref())?;
        let started = Running::start(&self.settings)
            .map_err(|error| RenderError::Launch { path, reason: error.to_string() })?;
        Ok(running.insert(started).jobs.clone())
    }
}

impl Running {
    fn start(settings: &ChromeSettings) -> std::io::Result<Self> {
        let base = settings.profiles.clone().unwrap_or_else(std::env::temp_dir);
        let reaped = process::reap(&base);
        if reaped > 0 {
            tracing::info!(reaped, "removed temporary folders of killed crawls");
        }
        let tabs = settings.tabs.max(1);
        let (jobs, queue) = mpsc::channel(tabs);
        let shared = Arc::new(Shared {
            settings: settings.clone(),
            script: page_script(settings),
            proxy: Proxy::start(settings)?,
            watch: Watch::default(),
            chrome: Mutex::new(None),
            counts: Counts::default(),
            closed: AtomicBool::new(false),
        });
        let queue = Arc::new(Mutex::new(queue));
        // built first, so that its drop ends the started parts if a thread does not start
        let mut running = Self { shared: Arc::clone(&shared), jobs, threads: Vec::new() };
        let watching = Arc::clone(&shared);
        let watch = std::thread::Builder::new().name("chrome-watch".into());
        running.threads.push(watch.spawn(move || watching.watch.run())?);
        for index in 0..tabs {
            let mut worker = Worker { shared: Arc::clone(&shared), tab: None };
            let queue = Arc::clone(&queue);
            let thread = std::thread::Builder::new().name(format!("chrome-tab-{index}"));
            running.threads.push(thread.spawn(move || worker.run(&queue))?);
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // ends the calls that tabs wait for
        if let Some(chrome) = lock(&self.shared.chrome).take() {
            chrome.kill();
        }
        // ends the threads that wait for a page
        let (closed, _) = mpsc::channel(1);
        self.jobs = closed;
        self.shared.watch.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A thread with a tab.
struct Worker {
    shared: Arc<Shared>,
    tab: Option<(Weak<Chrome>, PageTab)>,
}

impl Worker {
    fn run(&mut self, queue: &Mutex<mpsc::Receiver<Job>>) {
        loop {
            // the holder of the lock waits for a page, so none is waiting
            let mut job = queue.try_lock().ok().and_then(|mut queue| queue.try_recv().ok());
            if job.is_none() && self.tab.as_ref().is_some_and(|(_, tab)| tab.is_still_running()) {
                // no page waits for the tab: end the activity of the last one
                self.leave();
            }
            if job.is_none() {
                job = lock(queue).blocking_recv();
            }
            let Some(job) = job else { return };
            if self.shared.closed.load(Ordering::SeqCst) {
                let _ = job.reply.send(Err(RenderError::Closed));
                continue;
            }
            if job.reply.is_closed() {
                continue;
            }
            let result = self.render(job.asked);
            self.settle(&result);
            let _ = job.reply.send(result);
        }
    }

    /// Counts a page, and drops a tab or browser that it has broken.
    fn settle(&mut self, result: &Result<Rendered, RenderError>) {
        let counts = &self.shared.counts;
        let count = if result.is_ok() { &counts.pages } else { &counts.errors };
        count.fetch_add(1, Ordering::Relaxed);
        let error = match result {
            // a script that blocked the page once may do so again
            Ok(page) if page.stopped => return self.close_tab(),
            Ok(_) => return,
            Err(error) => error,
        };
        match error {
            RenderError::BrowserLost(_) => self.lose_browser(),
            RenderError::Hung
            | RenderError::Crashed
            | RenderError::Memory { .. }
            | RenderError::Protocol(_) => {
                self.close_tab();
            }
            // its scripts would navigate away from the next page too
            _ if self.tab.as_ref().is_some_and(|(_, tab)| tab.is_still_running()) => self.close_tab(),
            _ => {}
        }
    }

    fn lose_browser(&mut self) {
        let Some((chrome, _)) = self.tab.take() else { return };
        if let Some(chrome) = chrome.upgrade() {
            chrome.kill();
        }
    }

    fn close_tab(&mut self) {
        let Some((chrome, tab)) = self.tab.take() else { return };
        if let Some(chrome) = chrome.upgrade() {
            tab.close(&chrome);
        }
    }

    fn leave(&mut self) {
        let left = match &self.tab {
            Some((chrome, tab)) => chrome.upgrade().map(|chrome| tab.leave(&chrome, &self.shared.watch)),
            None => return,
        };
        if let Some(Err(error)) = left {
            tracing::debug!("a tab could not leave its page: {error}");
            self.close_tab();
        }
    }

    fn render(&mut self, asked: PageRequest) -> Result<Rendered, RenderError> {
        let shared = Arc::clone(&self.shared);
        let chrome = shared.chrome()?;
        if self.tab.as_ref().is_some_and(|(_, tab)| tab.is_crashed()) {
            self.close_tab();
        }
        let tab = match self.tab.take() {
            Some((owner, tab)) if std::ptr::eq(owner.as_ptr(), Arc::as_ptr(&chrome)) => tab,
            _ => {
                shared.counts.tabs.fetch_add(1, Ordering::Relaxed);
                let lane = shared
                    .proxy
                    .open_lane()
                    .map_err(|error| RenderError::Protocol(format!("the proxy: {error}")))?;
                PageTab::open(&chrome, lane, &shared.settings, &shared.script).map_err(|error| {
                    chrome.kill();
                    RenderError::BrowserLost(error.to_string())
                })?
            }
        };
        let fresh = self.tab.insert((Arc::downgrade(&chrome), tab));
        let tools =
            Tools { chrome: &chrome, settings: &shared.settings, proxy: &shared.proxy, watch: &shared.watch };
        let result = fresh.1.render(asked, &tools);
        if result.is_err() {
            fresh.1.charge_none();
        }
        shared.recycle(&chrome, fresh.1.is_still_running());
        result
    }
}

impl Shared {
    /// The browser; started if there is no usable one. One thread starts it, the others wait.
    fn chrome(&self) -> Result<Arc<Chrome>, RenderError> {
        let mut slot = lock(&self.chrome);
        if self.closed.load(Ordering::SeqCst) {
            return Err(RenderError::Closed);
        }
        if let Some(chrome) = slot.as_ref().filter(|chrome| chrome.is_usable()) {
            return Ok(Arc::clone(chrome));
        }
        *slot = None;
        let chrome = Arc::new(Chrome::start(&self.settings)?);
        self.counts.browsers.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::clone(slot.insert(chrome)))
    }

    /// Replaces a browser that has rendered its pages or holds too much memory. The next page starts a new
    /// one; the old one ends with its last page.
    fn recycle(&self, chrome: &Arc<Chrome>, still_running: bool) {
        let pages = chrome.count_page();
        let settings = &self.settings;
        let is_due = pages >= settings.recycle_pages
            || ((still_running || pages.is_multiple_of(MEMORY_CHECK_PAGES))
                && chrome.group().memory() > settings.recycle_memory);
        let mut slot = lock(&self.chrome);
        if is_due && slot.as_ref().is_some_and(|current| Arc::ptr_eq(current, chrome)) {
            tracing::debug!(pages, "the browser is replaced");
            *slot = None;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
