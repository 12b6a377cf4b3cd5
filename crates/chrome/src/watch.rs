//! Watchdog with escalating deadlines. It ends calls into the browser that block. It first stops the navigation or
//! ends the script, whichever blocks, then ends the tab's process, then kills the browser.

use crate::{cdp::Session, process::Group};
use headless_chrome::protocol::cdp::{Page, Runtime};
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

/// Time that each step has to take effect.
const GRACE: Duration = Duration::from_secs(2);
/// Number of script terminations within that time: a page may start the next script at once.
const TERMINATIONS: u32 = 8;

/// Steps against a page that exceeds its time, each after the previous one had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// No step yet.
    None = 0,
    /// The navigation is stopped.
    Stop = 1,
    /// The script that runs is ended.
    Terminate = 2,
    /// The tab's process is ended.
    Crash = 3,
    /// The browser is killed.
    Kill = 4,
}

impl Step {
    const fn next(self) -> Option<Self> {
        match self {
            Self::None => Some(Self::Stop),
            Self::Stop | Self::Terminate => Some(Self::Crash),
            Self::Crash => Some(Self::Kill),
            Self::Kill => None,
        }
    }
}

struct Entry {
    id: u64,
    at: Instant,
    step: Step,
    terminations: u32,
    tab: Option<Session>,
    group: Group,
    taken: Arc<AtomicU8>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    next_id: u64,
    closed: bool,
}

/// Deadlines of all tabs, served by one thread.
#[derive(Default)]
pub(crate) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

/// A deadline, which dropping it cancels.
pub(crate) struct Guard<'a> {
    watch: &'a Watch,
    id: u64,
    taken: Arc<AtomicU8>,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules `step` and those after it, unless the guard is dropped within `limit`. Without a tab there
    /// is only [`Step::Kill`].
    pub(crate) fn arm(&self, tab: Option<&Session>, group: Group, step: Step, limit: Duration) -> Guard<'_> {
        let taken = Arc::new(AtomicU8::new(Step::None as u8));
        let mut state = self.state();
        state.next_id += 1;
        let id = state.next_id;
        let at = Instant::now() + limit;
        state.entries.push(Entry {
            id,
            at,
            step,
            terminations: 0,
            tab: tab.cloned(),
            group,
            taken: Arc::clone(&taken),
        });
        drop(state);
        self.changed.notify_all();
        Guard { watch: self, id, taken }
    }

    /// Ends the thread of [`Watch::run`].
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// Serves the deadlines until it is closed.
    pub(crate) fn run(&self) {
        let mut state = self.state();
        while !state.closed {
            let now = Instant::now();
            let due: Vec<_> =
                state.entries.iter_mut().filter(|entry| entry.at <= now).map(Entry::take).collect();
            if !due.is_empty() {
                drop(due);
                state.entries.retain(|entry| entry.step != Step::None);
                continue;
            }
            let next = state.entries.iter().map(|entry| entry.at).min();
            let wait = next.map_or(Duration::from_secs(3600), |at| at - now);
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Entry {
    /// Takes the due step and schedules the next.
    fn take(&mut self) {
        let step = self.step;
        self.taken.store(step as u8, Ordering::SeqCst);
        self.terminations += u32::from(step == Step::Terminate);
        if step == Step::Terminate && self.terminations < TERMINATIONS {
            self.at = Instant::now() + GRACE / TERMINATIONS;
        } else {
            self.step = step.next().unwrap_or(Step::None);
            // the death of a process takes time on a busy machine, and a new browser is expensive
            self.at = Instant::now() + if step == Step::Crash { 2 * GRACE } else { GRACE };
        }
        let Some(tab) = self.tab.clone().filter(|_| step != Step::Kill) else {
            self.group.kill();
            self.step = Step::None;
            return;
        };
        match step {
            Step::Stop => tab.send(Page::StopLoading(None)),
            Step::Terminate => tab.send(Runtime::TerminateExecution(None)),
            _ => tab.send(Page::Crash(None)),
        }
    }
}

impl Guard<'_> {
    /// The last step taken.
    pub(crate) fn taken(&self) -> Step {
        match self.taken.load(Ordering::SeqCst) {
            0 => Step::None,
            1 => Step::Stop,
            2 => Step::Terminate,
            3 => Step::Crash,
            _ => Step::Kill,
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.watch.state().entries.retain(|entry| entry.id != self.id);
    }
}
