//! Watchdog for the memory of a browser's processes and the disk space of its profile. It ends a page that exceeds
//! its bound. It kills a browser that exceeds its own bound, since the page at fault is unknown.

use crate::{
    process::{Group, Member},
    settings::ChromeSettings,
};
use std::{
    fs, io,
    path::Path,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Pause between two readings. A page can allocate about 100 MB in it.
const PAUSE: Duration = Duration::from_millis(200);
/// Memory readings per disk reading.
const DISK_EVERY: u32 = 10;
/// Memory of the processes without pages: a fixed part, and a part per tab. A tab has a cache, the databases
/// and files of its pages, and HTML in transit.
const BROWSER: u64 = 512 << 20;
const TAB: u64 = 256 << 20;
/// Maximum disk space of a profile. Pages store nothing in it, so it stays below 10 MB.
const DISK: u64 = 512 << 20;
/// Minimum size that a file of the profile counts for.
const FILE: u64 = 4096;

/// Bounds in bytes.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Memory bound of a process with pages.
    page: u64,
    /// Memory of all such processes.
    pages: u64,
    /// Memory of the other processes.
    browser: u64,
}

/// Decision after a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// The process exceeds the bound of a page.
    EndPage(u32),
    /// The pages together exceed their bound; this is the largest.
    EndLargest(u32),
    EndBrowser,
}

/// Maximum number of ended page processes without a claim.
const UNCLAIMED: usize = 64;

/// Record of ended processes.
#[derive(Debug, Default)]
struct Ended {
    /// Time at which each page process was ended, until a page claims it.
    pages: Mutex<Vec<Instant>>,
    browser: OnceLock<&'static str>,
}

impl Ended {
    fn add_page(&self) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() >= UNCLAIMED {
            pages.remove(0);
        }
        pages.push(Instant::now());
    }

    fn claim_page(&self, since: Instant) -> bool {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pages.iter().position(|at| *at >= since);
        found.map(|index| pages.remove(index)).is_some()
    }
}

/// Watchdog that runs until it is dropped.
pub(crate) struct ProcessWatchdog {
    ended: Arc<Ended>,
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProcessWatchdog {
    pub(crate) fn start(group: Group, profile: Option<&Path>, settings: &ChromeSettings) -> io::Result<Self> {
        let page = settings.max_page_memory;
        let tabs = u64::try_from(settings.tabs.max(1)).unwrap_or(u64::MAX);
        let browser = TAB.saturating_mul(tabs).saturating_add(BROWSER);
        let limits = Limits { page, pages: page.saturating_mul(tabs), browser };
        let ended = Arc::new(Ended::default());
        let (stop, stopped) = sync_channel(0);
        let (seen, profile) = (Arc::clone(&ended), profile.map(Path::to_owned));
        let watch = move || watch(group, profile.as_deref(), limits, &seen, &stopped);
        let thread = std::thread::Builder::new().name("chrome-memory".into()).spawn(watch)?;
        Ok(Self { ended, stop: Some(stop), thread: Some(thread) })
    }

    /// Claims an ended process for a page that began at `since` and crashed. Returns true if a process was
    /// ended since then for its memory, and no other page has claimed it. The browser does not report the
    /// process of a tab.
    pub(crate) fn claim_page(&self, since: Instant) -> bool {
        self.ended.claim_page(since)
    }

    /// Reason for killing the browser.
    pub(crate) fn ended_browser(&self) -> Option<&'static str> {
        self.ended.browser.get().copied()
    }
}

impl Drop for ProcessWatchdog {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(group: Group, profile: Option<&Path>, limits: Limits, ended: &Ended, stopped: &Receiver<()>) {
    let mut scan = group.scan();
    let mut readings = 0_u32;
    while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        readings = readings.wrapping_add(1);
        match verdict(&scan.read(), limits) {
            Verdict::Fine => {}
            Verdict::EndPage(pid) => {
                tracing::debug!(pid, "a page that held too much memory was ended");
                ended.add_page();
                group.kill_one(pid);
            }
            Verdict::EndLargest(pid) => {
                tracing::debug!(
                    pid,
                    "the largest of the pages was ended: they held too much memory together"
                );
                ended.add_page();
                group.kill_one(pid);
            }
            Verdict::EndBrowser => end(group, ended, "it held too much memory"),
        }
        let is_full = || profile.is_some_and(|profile| disk(profile) > DISK);
        if readings.is_multiple_of(DISK_EVERY) && is_full() {
            end(group, ended, "its profile took too much disk space");
        }
    }
}

fn end(group: Group, ended: &Ended, reason: &'static str) {
    if ended.browser.set(reason).is_ok() {
        tracing::warn!("the browser was ended: {reason}");
        group.kill();
    }
}

fn verdict(members: &[Member], limits: Limits) -> Verdict {
    let (pages, others): (Vec<&Member>, Vec<&Member>) = members.iter().partition(|member| member.is_renderer);
    let sum = |members: &[&Member]| members.iter().map(|member| member.memory).sum::<u64>();
    match pages.iter().max_by_key(|member| member.memory) {
        Some(largest) if largest.memory > limits.page => Verdict::EndPage(largest.pid),
        Some(largest) if sum(&pages) > limits.pages => Verdict::EndLargest(largest.pid),
        _ if sum(&others) > limits.browser => Verdict::EndBrowser,
        _ => Verdict::Fine,
    }
}

/// Disk space of a folder, in bytes; the count may stop above the bound.
fn disk(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            sum += (meta.blocks() * 512).max(FILE);
            if sum > DISK {
                return sum;
            }
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_page_is_killed_before_the_browser() {
        let limits = Limits { page: 100, pages: 150, browser: 80 };
        let of = |browser, pages: &[u64]| {
            let page = |(pid, &memory): (u32, &u64)| Member { pid, is_renderer: true, memory };
            let mut members = vec![Member { pid: 1, is_renderer: false, memory: browser }];
            members.extend((2..).zip(pages).map(page));
            verdict(&members, limits)
        };
        assert_eq!(of(80, &[100, 50]), Verdict::Fine);
        assert_eq!(of(80, &[20, 101]), Verdict::EndPage(3));
        assert_eq!(of(80, &[40, 60, 51]), Verdict::EndLargest(3));
        assert_eq!(of(81, &[100, 50]), Verdict::EndBrowser);
        assert_eq!(of(0, &[]), Verdict::Fine);
    }

    #[test]
    fn ended_process_is_claimed_by_one_page() {
        let ended = Ended::default();
        let before = Instant::now();
        assert!(!ended.claim_page(before));
        ended.add_page();
        let after = Instant::now() + Duration::from_secs(1);
        assert!(!ended.claim_page(after), "the process ended before the page began");
        assert!(ended.claim_page(before));
        assert!(!ended.claim_page(before), "a page has claimed it");
        (0..100).for_each(|_| ended.add_page());
        assert_eq!((0..100).filter(|_| ended.claim_page(before)).count(), UNCLAIMED);
    }

    #[test]
    fn disk_usage_sums_all_files() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(disk(folder.path()), 0);
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), vec![1; 100_000]).unwrap();
        let sum = disk(folder.path());
        assert!((100_000..150_000).contains(&sum), "{sum}");
    }
}
