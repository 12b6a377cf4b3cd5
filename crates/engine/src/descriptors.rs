//! File descriptors: the limit of the process, and how a run divides it.

use crate::exit::{Exit, Failure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that a run opens besides its connections: state, outputs, archive, project, runtime, pipes, and what SQLite and
/// the outputs open for a moment.
const OWN_DESCRIPTORS: usize = 36;
/// Part of [`OWN_DESCRIPTORS`] that is opened for a moment, or after the connections were planned.
const LATE_DESCRIPTORS: usize = 24;
/// Descriptors of the proxy of a browser: two for each connection of a tab, and the pipes of its processes.
const TAB_CONNECTIONS: usize = 32;
const BROWSER_PIPES: usize = 12;
/// A request has a connection, and for a moment a second one or a socket of the name resolver.
const PER_REQUEST: usize = 2;
/// Idle connections that are kept at the most.
const MAX_IDLE: usize = 4_096;
/// Minimum of idle connections; below it none is kept.
const MIN_IDLE: usize = 64;

/// Raises the soft limit of open files to the hard one. A limit that cannot be raised stays as it is.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// The soft limit of open files.
#[must_use]
pub fn limit() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Number of open descriptors; a guess if the system does not list them.
fn open() -> usize {
    // the listing itself uses one descriptor
    std::fs::read_dir("/dev/fd").map_or(16, |open| open.count().saturating_sub(1))
}

/// Refuses to begin a run that could not open its own files.
///
/// # Errors
/// When there are too few descriptors. The message names the number that is needed.
pub fn check() -> Result<(), Failure> {
    let (limit, needed) = (limit(), open() + OWN_DESCRIPTORS + PER_REQUEST + 2);
    if limit < needed {
        return Err(Failure::new(
            Exit::Storage,
            format!(
                "the limit of open files is {limit}, and a run needs at least {needed}: raise it with ulimit -n {needed}"
            ),
        ));
    }
    Ok(())
}

/// Division of the free descriptors of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Requests at the same time.
    pub requests: usize,
    /// Connections that a generation of the client's pools keeps; 0: none is kept idle. Those of the generation before may
    /// still be closing.
    pub connections: usize,
    /// Connections of a browser.
    pub browser: usize,
}

/// A plan for the present limit. `requests` is the most that the run has use for, `tabs` the number of a browser's tabs; 0 without one.
#[must_use]
pub fn plan(requests: usize, tabs: usize) -> Plan {
    divide(limit().saturating_sub(open()), requests, tabs)
}

fn divide(left: usize, requests: usize, tabs: usize) -> Plan {
    let left = left.saturating_sub(LATE_DESCRIPTORS);
    let connections = tabs.saturating_mul(TAB_CONNECTIONS);
    let for_browser = if tabs == 0 { 0 } else { connections.saturating_mul(2).saturating_add(BROWSER_PIPES) };
    let for_browser = for_browser.min(left / 2);
    let most = connections.max(2);
    let left = left - for_browser;
    let connections = left.saturating_sub(requests.saturating_mul(PER_REQUEST).min(left / 2)) / 2;
    // a new generation costs as much as some handshakes
    let connections = if connections < MIN_IDLE { 0 } else { connections.min(MAX_IDLE) };
    Plan {
        requests: requests.min((left - 2 * connections) / PER_REQUEST).max(1),
        connections,
        browser: (for_browser.saturating_sub(BROWSER_PIPES) / 2).clamp(2, most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptor_plan_stays_within_the_limit() {
        for left in (LATE_DESCRIPTORS + 4..2_000).chain([100_000, usize::MAX]) {
            for tabs in [0, 1, 2, 64, usize::MAX] {
                let plan = divide(left, 64, tabs);
                let used = LATE_DESCRIPTORS + plan.requests * PER_REQUEST + 2 * plan.connections;
                assert!(used <= left, "{left}: {plan:?}");
                assert!(plan.requests >= 1 && plan.browser >= 2);
            }
        }
    }

    #[test]
    fn many_descriptors_limit_only_idle_connections() {
        let few = divide(LATE_DESCRIPTORS + 20, 64, 0);
        assert_eq!((few.requests, few.connections), (10, 0), "idle connections come last");
        let plan = divide(20_000, 64, 2);
        assert_eq!(plan, Plan { requests: 64, connections: MAX_IDLE, browser: 2 * TAB_CONNECTIONS });
    }
}
