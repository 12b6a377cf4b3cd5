//! Scan of a group's processes and their memory, several times a second.

use super::group::{group_of, memory_of, processes};
use std::{
    collections::{HashMap, HashSet},
    fs,
};

/// Readings after which other groups' processes are read again, since their ids may be reused.
const FORGET_EVERY: u32 = 64;

/// A process of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pid: u32,
    /// True if the process runs pages.
    pub(crate) is_renderer: bool,
    /// Bytes of memory that the process shares with no file.
    pub(crate) memory: u64,
}

/// Scan of one group. Other groups' processes are cached, so a reading costs little more than a listing of
/// `/proc`.
pub(crate) struct ProcessScan {
    group: i32,
    others: HashSet<u32>,
    renderers: HashMap<u32, bool>,
    readings: u32,
}

impl ProcessScan {
    pub(super) fn new(group: i32) -> Self {
        Self { group, others: HashSet::new(), renderers: HashMap::new(), readings: 0 }
    }

    /// The members of the group now.
    pub(crate) fn read(&mut self) -> Vec<Member> {
        self.readings += 1;
        if self.readings.is_multiple_of(FORGET_EVERY) {
            self.others.clear();
        }
        let mut members = Vec::new();
        for pid in processes() {
            if self.others.contains(&pid) {
                continue;
            }
            match group_of(pid) {
                Some(group) if group == self.group => {
                    let is_renderer = self.is_renderer(pid);
                    members.push(Member { pid, is_renderer, memory: memory_of(pid) });
                }
                Some(_) => {
                    self.others.insert(pid);
                }
                None => {}
            }
        }
        self.renderers.retain(|pid, _| members.iter().any(|member| member.pid == *pid));
        members
    }

    /// Returns true if a process runs pages. It is forked from another, and its new command line marks it.
    fn is_renderer(&mut self, pid: u32) -> bool {
        const KIND: &[u8] = b"--type=renderer";
        if self.renderers.get(&pid) == Some(&true) {
            return true;
        }
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_renderer = line.windows(KIND.len()).any(|part| part == KIND);
        self.renderers.insert(pid, is_renderer);
        is_renderer
    }
}
