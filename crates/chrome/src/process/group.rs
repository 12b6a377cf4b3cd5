//! Processes as the kernel shows them under `/proc`.

use super::scan::ProcessScan;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

/// Maximum wait for the processes of a killed group.
const MAX_END_WAIT: Duration = Duration::from_secs(5);
/// Pause between two checks of a dying group.
const CHECK_PAUSE: Duration = Duration::from_millis(5);

/// A process group that can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group(pub(super) Pid);

impl Group {
    pub(crate) fn kill(self) {
        // it may have ended already
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Kills the group and waits a few seconds until none of its processes runs.
    #[expect(clippy::disallowed_methods, reason = "the end of processes that are no children is no event")]
    pub(crate) fn end(self) {
        self.kill();
        let begun = Instant::now();
        while self.runs() && begun.elapsed() < MAX_END_WAIT {
            sleep(CHECK_PAUSE);
        }
    }

    /// Returns true if a process of the group runs. Zombies do not count.
    fn runs(self) -> bool {
        let own = self.0.as_raw_nonzero().get();
        processes().any(|pid| group_of(pid) == Some(own) && !is_dead(pid))
    }

    /// Bytes of memory that its processes share with no file: anonymous and shared memory.
    pub(crate) fn memory(self) -> u64 {
        let own = self.0.as_raw_nonzero().get();
        processes().filter(|pid| group_of(*pid) == Some(own)).map(memory_of).sum()
    }

    /// Readings of its processes.
    pub(crate) fn scan(self) -> ProcessScan {
        ProcessScan::new(self.0.as_raw_nonzero().get())
    }

    /// Kills one of its processes.
    pub(crate) fn kill_one(self, pid: u32) {
        let own = self.0.as_raw_nonzero().get();
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
        if let Some(process) = process.filter(|_| group_of(pid) == Some(own)) {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Bytes of anonymous and shared memory of a process.
pub(super) fn memory_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().filter_map(kilobytes).sum::<u64>() << 10
}

/// Amount in a relevant line of `/proc/PID/status`.
fn kilobytes(line: &str) -> Option<u64> {
    let amount = line.strip_prefix("RssAnon:").or_else(|| line.strip_prefix("RssShmem:"))?;
    amount.split_whitespace().next()?.parse().ok()
}

pub(super) fn processes() -> impl Iterator<Item = u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A field of `/proc/PID/stat`, counted from the one after the name (which may hold spaces and parentheses).
pub(super) fn stat_field(pid: u32, index: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(index)?.parse().ok()
}

/// Returns true if the process does not exist or is a zombie.
pub(super) fn is_dead(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, fields)| fields.trim_start().starts_with(['Z', 'X']))
}

pub(super) fn group_of(pid: u32) -> Option<i32> {
    stat_field(pid, 2).and_then(|group| i32::try_from(group).ok())
}

/// Start time of a process, in ticks since boot: together with the id it is unique.
pub(super) fn start_time(pid: u32) -> Option<u64> {
    stat_field(pid, 19)
}
