//! Memory of the process: the required address space, and the return of freed memory to the system.

use crate::exit::Failure;
use bytesize::ByteSize;
use rustix::process::{Resource, getrlimit};
use std::{
    ffi::c_long,
    sync::{Mutex, PoisonError},
};
use tokio::sync::OwnedSemaphorePermit;

/// Address space that a crawl needs besides that of its threads: the binary, the arenas of the allocator, the database.
const ADDRESSES: u64 = 400 << 20;
/// Address space per thread: the allocator reserves aligned segments of 32 MiB.
const ADDRESSES_A_THREAD: u64 = 100 << 20;

/// Fails if the address space of the process is limited (`ulimit -v`) to less than a crawl needs. `extract_threads`
/// is the number of threads of extraction, 0 for one a core. Otherwise the allocator would abort the process in the
/// middle of a page.
///
/// # Errors
/// A usage error that names the limit.
pub fn check_address_space(extract_threads: usize) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match missing_addresses(getrlimit(Resource::As).current, cores, extract_threads) {
        None => Ok(()),
        Some((limit, needed)) => Err(Failure::usage(format!(
            "the address space of this process is limited to {} (ulimit -v), and a crawl with its threads on {cores} cores needs {}: \
             raise that limit, and bound memory by a control group (MemoryMax of systemd) instead",
            ByteSize(limit),
            ByteSize(needed)
        ))),
    }
}

/// Returns the limit and the bytes needed, if those are more.
fn missing_addresses(limit: Option<u64>, cores: usize, extract_threads: usize) -> Option<(u64, u64)> {
    let threads = cores.saturating_add(if extract_threads == 0 { cores } else { extract_threads });
    let needed = ADDRESSES.saturating_add(ADDRESSES_A_THREAD.saturating_mul(threads as u64));
    limit.filter(|limit| *limit < needed).map(|limit| (limit, needed))
}

/// Returns the freed memory of this thread to the system. By itself the allocator does so late, and only when the
/// thread allocates again. Until then each thread that handled a large page would keep its buffers.
#[expect(unsafe_code, reason = "the allocator's own function, which the crate mimalloc does not wrap")]
pub fn return_freed_memory() {
    // SAFETY: takes no pointers and may be called at any time; in a program with another allocator it has no effect.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

/// Share of a large page in the memory budget, held until the page is written or held in the store. While one exists,
/// freed memory returns to the system at once. A page of 8 MiB passes through about six buffers of its size, which
/// would otherwise exist at the same time. This costs 5 % of the CPU if every page is large, and nothing if large
/// pages are rare.
#[derive(Debug)]
pub struct LargePagePermit {
    _permit: OwnedSemaphorePermit,
}

/// Number of held permits, and the delay before the first.
static HELD: Mutex<(usize, c_long)> = Mutex::new((0, 0));

/// `mi_option_purge_delay` of mimalloc 2, which the crate does not name: milliseconds until freed memory is returned.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

impl LargePagePermit {
    /// Takes the permit that the page waited for.
    #[must_use]
    pub fn new(permit: OwnedSemaphorePermit) -> Self {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.0 == 0 {
            held.1 = purge_delay(0);
        }
        held.0 += 1;
        Self { _permit: permit }
    }
}

impl Drop for LargePagePermit {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 -= 1;
        if held.0 == 0 {
            purge_delay(held.1);
        }
    }
}

/// Milliseconds until freed memory is returned. The allocator's own delay is 10, the time of a few pages: the next page
/// would fault its memory in again. Design: `docs/design/memory.md`.
const PURGE_MILLIS: c_long = 100;

/// Sets the delay until freed memory returns to the system, unless `MIMALLOC_PURGE_DELAY` does.
#[expect(unsafe_code, reason = "the allocator's own function, which the crate mimalloc does not wrap")]
pub fn set_purge_delay() {
    // SAFETY: writes one word of the allocator's settings before any other thread runs.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_MILLIS) }
}

/// Sets the delay and returns the old one.
#[expect(unsafe_code, reason = "the allocator's own functions, which the crate mimalloc does not wrap")]
fn purge_delay(millis: c_long) -> c_long {
    // SAFETY: one word of the allocator's settings, read and written under our lock; the allocator reads it whenever it
    // frees, and either value is a good one.
    unsafe {
        let before = libmimalloc_sys::mi_option_get(PURGE_DELAY);
        libmimalloc_sys::mi_option_set(PURGE_DELAY, millis);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::Semaphore;

    #[test]
    fn address_space_must_fit_all_threads() {
        let (mib, missing) = (1 << 20, missing_addresses);
        assert_eq!(missing(None, 64, 0), None);
        assert_eq!(missing(Some(512 * mib), 1, 0), Some((512 * mib, 600 * mib)));
        assert_eq!([missing(Some(800 * mib), 2, 0), missing(Some(u64::MAX), 512, usize::MAX)], [None, None]);
        assert!(missing(Some(800 * mib), 2, 3).is_some() && missing(Some(900 * mib), 2, 3).is_none());
    }

    #[test]
    fn memory_is_purged_at_once_while_large_pages_exist() {
        let before = purge_delay(10);
        let places = Arc::new(Semaphore::new(2));
        let share = || LargePagePermit::new(Arc::clone(&places).try_acquire_owned().unwrap());
        let (one, two) = (share(), share());
        assert_eq!(purge_delay(0), 0);
        drop(one);
        assert_eq!(purge_delay(0), 0, "the other is still held");
        drop(two);
        assert_eq!(purge_delay(before), 10);
        assert_eq!(places.available_permits(), 2);
    }
}
